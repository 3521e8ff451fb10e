#!/bin/sh
# Runs in the new network, mount, pid, uts and ipc namespaces of a host: lays its disk over the base root,
# makes that the root, and becomes its pid 1.
# $1 base root  $2 disk (upper, work)  $3 empty directory for the root  $4 DHCP client
set -e
base=$1 disk=$2 root=$3 client=$4
mount -t overlay host -o "lowerdir=$base,upperdir=$disk/upper,workdir=$disk/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
# The serial number there is the one of the machine underneath, not of this host.
[ ! -d "$root/sys/class/dmi/id" ] || mount -t tmpfs -o ro,mode=755 dmi "$root/sys/class/dmi/id"
mount -t tmpfs -o mode=755,size=64m run "$root/run"
mkdir "$root/run/sshd" "$root/run/lock"
mount -t tmpfs -o mode=755,size=16m dev "$root/dev"
cd "$root/dev"
mkdir pts shm
mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts pts
mount -t tmpfs -o mode=1777,size=64m shm shm
for node in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
  name=${node%%:*} numbers=${node#*:}
  mknod -m 666 "$name" c "${numbers%:*}" "${numbers#*:}"
done
ln -s pts/ptmx ptmx
ln -s /proc/self/fd fd
ln -s /proc/self/fd/0 stdin
ln -s /proc/self/fd/1 stdout
ln -s /proc/self/fd/2 stderr
cd "$root"
mkdir -p .machine
pivot_root . .machine
cd /
# Lazily: the machine's mounts, other labs' namespaces among them, must not be held by this host.
umount -l /.machine
rmdir /.machine
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin /bin/sh /usr/local/sbin/lab-init "$client"
