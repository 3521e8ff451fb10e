#!/bin/sh
# Pid 1 of a host without systemd: keys on first boot, sshd, DHCP client; then it reaps what is left behind.
# $1: the DHCP client to use, dhclient or udhcpc.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
trap 'exit 0' TERM INT
hostname "$(cat /etc/hostname)"
ip link set lo up
ip link set eth0 up
[ -s /etc/machine-id ] || tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id
[ -e /etc/ssh/ssh_host_ed25519_key ] || ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key
/usr/sbin/sshd -D -e &
case $1 in
  udhcpc) udhcpc -f -i eth0 -t 10 -T 1 -A 1 -x "hostname:$(hostname)" -s /etc/udhcpc/default.script & ;;
  *) dhclient -4 -d -pf /run/dhclient.pid eth0 & ;;
esac
while :; do
  sleep 3600 &
  wait $!
done
