#!/bin/sh
# First thing in a booted node: give Kubernetes the kernel settings and cgroups that a whole machine would have.

# The container manager mounts version 1 hierarchies read-only; runc and kubelet must write there.
if [ -d /sys/fs/cgroup/memory ]; then
  mount -o remount,rw /sys/fs/cgroup
  for hierarchy in /sys/fs/cgroup/*/; do
    mount -o remount,rw,bind "$hierarchy"
  done
fi

# The serial number there is the one of the machine underneath, not of this host.
[ ! -d /sys/class/dmi/id ] || mount -t tmpfs -o ro,mode=755 dmi /sys/class/dmi/id || :

# kubelet sets these, but they belong to the machine underneath: let it set copies.
mkdir -p /run/machine-settings
for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
  kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  [ -e "/proc/sys/$setting" ] || continue
  copy=/run/machine-settings/$(echo "$setting" | tr / _)
  cat "/proc/sys/$setting" >"$copy"
  mount --bind "$copy" "/proc/sys/$setting"
done

# Pods see mounts that appear later, as on a machine that booted by itself.
mount --make-rshared /
exit 0
