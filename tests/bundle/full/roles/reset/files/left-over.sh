# Fails, and says why, when a reset host is not clean.
found=
for path in /etc/kubernetes /var/lib/etcd /etc/cni/net.d; do
  [ -e $path ] && found="$found $path;"
done
ip link show cni0 >/dev/null 2>&1 && found="$found the bridge cni0;"
pgrep -x 'kubelet|kube-apiserver|etcd|containerd-shim' >/dev/null && found="$found processes of Kubernetes;"
grep -q ' /var/lib/kubelet/' /proc/mounts && found="$found mounts below /var/lib/kubelet;"
if [ -n "$found" ]; then
  echo "wanted: a clean host; found:$found run reset.yml again, or restart the host" >&2
  exit 1
fi
