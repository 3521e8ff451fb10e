# Takes a host back to what it was before cluster.yml. Each step may find its
# work done already: by an earlier reset, or because an install never got so far.
set -u
containerd=/run/containerd/containerd.sock

was_here=no
for path in "$STATE_DIR" /etc/kubernetes /var/lib/etcd /etc/sysctl.d/99-kubernetes.conf; do
  [ -e "$path" ] && was_here=yes
done

# An install that was cut may still be running here.
pkill -x kubeadm
systemctl disable --quiet --now kubelet.service bpa-pod-routes.timer bpa-pod-routes.service 2>/dev/null

if [ -S $containerd ]; then
  # The member of etcd is not taken off its peers: they are reset as well.
  [ -x "$BIN_DIR/kubeadm" ] && timeout 90 "$BIN_DIR/kubeadm" reset --force --skip-phases=remove-etcd-member \
    --cri-socket=unix://$containerd >/dev/null 2>&1
  # What kubeadm could not stop, because it died half-way or is not here.
  ctr --namespace k8s.io tasks ls --quiet 2>/dev/null |
    xargs --no-run-if-empty -n 1 ctr --namespace k8s.io tasks kill --signal SIGKILL 2>/dev/null
fi
systemctl disable --quiet --now containerd.service 2>/dev/null
pkill -KILL -x containerd-shim

# Deepest mounts first; pods' volumes and root file systems hang here.
awk '$2 ~ "^/(var/lib/kubelet|run/containerd|var/lib/containerd|run/netns/cni-)." {print $2}' /proc/mounts | sort -r |
  while read -r mount; do umount --lazy "$mount"; done

if [ -x "$BIN_DIR/bpa-pod-routes" ]; then
  sed -n 's/^ip route replace \([^ ]*\) .*/\1/p' "$BIN_DIR/bpa-pod-routes" |
    while read -r block; do ip route del "$block" 2>/dev/null; done
fi
ip link delete cni0 2>/dev/null
for name in $(ip -o link show type veth | sed -n 's/^[0-9]*: \(veth[0-9a-f]\{8\}\)@.*/\1/p'); do
  ip link delete "$name"
done
rm -f /run/netns/cni-*

if [ "$FLUSH" = true ]; then
  for family in iptables ip6tables; do
    # The rules of Kubernetes and of its network plugins, and no others.
    command -v $family >/dev/null && $family-save 2>/dev/null | grep -Ev 'KUBE-|CNI-' | $family-restore
  done
fi

# The first two may be mount points of their own: only what is in them goes.
for directory in /var/lib/kubelet /var/lib/containerd; do
  [ -d $directory ] && find $directory -mindepth 1 -delete
done
rm -rf /etc/kubernetes /var/lib/etcd /etc/cni/net.d /opt/cni/bin /var/lib/cni /run/containerd /var/log/pods /var/log/containers
rm -f "$BIN_DIR/kubeadm" "$BIN_DIR/kubelet" "$BIN_DIR/kubectl" "$BIN_DIR/bpa-pod-routes"
rm -f /etc/systemd/system/kubelet.service /etc/systemd/system/bpa-pod-routes.service /etc/systemd/system/bpa-pod-routes.timer
rm -f /etc/sysctl.d/99-kubernetes.conf /etc/modules-load.d/kubernetes.conf
sed -i '/^# BEGIN hosts of cluster /,/^# END hosts of cluster /d' /etc/hosts
systemctl daemon-reload
systemctl reset-failed kubelet.service containerd.service 2>/dev/null

# Last, so that a reset that was cut is known to be one.
rm -rf "$STATE_DIR"
[ $was_here = no ] || echo removed
