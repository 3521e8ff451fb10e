# Stops etcd and kube-apiserver, if they run here, and removes all files.
set -u
alive() {
  grep -qs "^[0-9]* ($1) [^ZX]" "/proc/$2/stat"
}

for name in kube-apiserver etcd; do
  pid=$(cat "$LITE/$name.pid" 2>/dev/null) || continue
  for signal in TERM KILL; do
    alive $name "$pid" || break
    kill -$signal "$pid"
    for _ in $(seq 50); do
      alive $name "$pid" || break
      sleep 0.1
    done
  done
  if alive $name "$pid"; then
    echo "wanted: $name to end; found: process $pid still runs after SIGKILL; restart the host" >&2
    exit 1
  fi
done

# The folder of this bundle goes last, so that a reset that was cut can go on.
if [ -e "$NODE" ] || [ -e "$LITE" ]; then echo removed; fi
rm -rf "$NODE" "$KUBERNETES"
rm -rf "$LITE"
