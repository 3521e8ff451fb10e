#!/bin/sh
# Runs in the network namespace and a private mount namespace of a node: enters the node's cgroups, lays its
# disk over the base root and boots it with systemd.
# $1 base root  $2 disk (upper, work, containerd, kubelet)  $3 empty directory for the root
# $4 machine name  $5 host name  $6 cgroup version: v1 or v2  $7... cgroup directories to enter
set -e
base=$1 disk=$2 root=$3 machine=$4 host=$5 version=$6
shift 6
for group; do
  echo $$ >"$group/cgroup.procs"
done
# Whatever this node holds open must not keep the namespaces of other hosts alive.
umount -R -l /run/netns 2>/dev/null || true
# The container manager's own notes go away with the node.
mkdir -p /run/systemd/nspawn
mount -t tmpfs -o mode=755 notes /run/systemd/nspawn
if [ "$version" = v1 ]; then
  # Only version 1 hierarchies carry the controllers here; the node must not see the other.
  [ ! -d /sys/fs/cgroup/unified ] || umount -l /sys/fs/cgroup/unified
  export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=0
else
  if [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
    umount -R -l /sys/fs/cgroup
    mount -t cgroup2 none /sys/fs/cgroup
  fi
  export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1
fi
mount -t overlay host -o "lowerdir=$base,upperdir=$disk/upper,workdir=$disk/work" "$root"
kmsg=
[ ! -c /dev/kmsg ] || kmsg=--bind=/dev/kmsg
# Without a seccomp filter (it denies keyctl), with the network settings writable; containerd's and kubelet's
# directories lie on the disk itself, because an overlay can't lie on an overlay.
export SYSTEMD_SECCOMP=0 SYSTEMD_NSPAWN_LOCK=0 SYSTEMD_NSPAWN_API_VFS_WRITABLE=network
exec systemd-nspawn --quiet --settings=no --keep-unit --register=no --console=pipe --capability=all \
  --resolv-conf=off --timezone=off --link-journal=no --network-namespace-path=/proc/self/ns/net \
  --directory="$root" --machine="$machine" --hostname="$host" $kmsg \
  --bind="$disk/containerd:/var/lib/containerd" --bind="$disk/kubelet:/var/lib/kubelet" --boot
