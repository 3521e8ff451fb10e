# Prints what the preflight needs to know of this machine, one key=value a line. Reads only.
say() { printf 'bpa.%s=%s\n' "$1" "$2"; }
first() { sed -n "s/^$2=//p" "$1" 2>/dev/null | head -n 1 | tr -d "\"'"; }

say begin probe
say clock "$(date +%s.%N)"
say hostname "$(cat /proc/sys/kernel/hostname 2>/dev/null)"
say machine_id "$(cat /etc/machine-id 2>/dev/null)"
say kernel "$(uname -r)"
say arch "$(uname -m)"
release=/etc/os-release
[ -r "$release" ] || release=/usr/lib/os-release
say os_id "$(first "$release" ID)"
say os_version "$(first "$release" VERSION_ID)"
say os_name "$(first "$release" PRETTY_NAME)"
say python "$(python3 -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null)"
say memory_kb "$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo 2>/dev/null)"
say cpus "$(nproc 2>/dev/null || grep -c '^processor' /proc/cpuinfo)"
# Name and size in KiB of each swap area.
if [ -r /proc/swaps ]; then
  say swap_read yes
  sed 1d /proc/swaps | while read -r name _ size _; do say swap "$size $name"; done
fi
if command -v ip >/dev/null 2>&1; then
  ip -o addr show 2>/dev/null | sed -n 's/^.* inet6\{0,1\} \([^ /]*\).*$/\1/p' |
    while read -r address; do say address "$address"; done
elif hostname -I >/dev/null 2>&1; then
  for address in $(hostname -I); do say address "$address"; done
fi
# Free and whole size in KiB of the file system that holds a path.
for path in /var /tmp; do
  say "disk$path" "$(df -Pk "$path" 2>/dev/null | sed 1d | awk '{ print $4, $2 }')"
done
say init "$(cat /proc/1/comm 2>/dev/null)"
[ -d /run/systemd/system ] && say systemd yes
case $(stat -fc %T /sys/fs/cgroup 2>/dev/null) in
  cgroup2fs) say cgroup 2 ;;
  tmpfs) say cgroup 1 ;;
esac
say clock_end "$(date +%s.%N)"
say end probe
