# Makes the certificates with kubeadm and starts etcd and kube-apiserver, as
# processes of their own session: there is no systemd here. Prints "started" when
# it had to start anything. Safe to run again, also while an earlier call runs.
set -eu
exec 9>"$LITE/lock"
flock -w 60 9 || { echo "another start has been running on this host for 60 s" >&2; exit 1; }
pki=$KUBERNETES/pki

# Killed processes can stay as zombies in a container: those do not count.
alive() {
  [ -s "$LITE/$1.pid" ] && grep -qs "^[0-9]* ($1) [^ZX]" "/proc/$(cat "$LITE/$1.pid")/stat"
}

start() {
  name=$1
  shift
  # Not the lock: it is ours, not the daemon's.
  setsid sh -c 'echo $$ >"$0"; exec "$@"' "$LITE/$name.pid" "$@" >>"$LITE/$name.log" 2>&1 </dev/null 9>&- &
  echo started
}

# ready NAME COMMAND... : waits for up to 60 s, and no longer than the process lives.
ready() {
  name=$1
  shift
  for _ in $(seq 300); do
    "$@" && return
    sleep 0.2
    alive "$name" || break
  done
  echo "wanted: $name to answer within 60 s; found: it does not; the end of its log:" >&2
  tail -n 15 "$LITE/$name.log" >&2
  exit 1
}

answers() {
  python3 - "$@" <<'END'
import ssl, sys, urllib.request
url, ca = sys.argv[1:3]
context = ssl.create_default_context(cafile=ca)
if len(sys.argv) > 3:
    context.load_cert_chain(sys.argv[3], sys.argv[4])
try:
    sys.exit(urllib.request.urlopen(url, timeout=5, context=context).status != 200)
except OSError:
    sys.exit(1)
END
}

kubeadm() {
  "$LITE/bin/kubeadm" init phase "$@" --config="$LITE/kubeadm.yaml" >"$LITE/kubeadm.log" 2>&1 ||
    { tail -n 15 "$LITE/kubeadm.log" >&2; exit 1; }
}

kubeadm certs all
kubeadm kubeconfig admin
kubeadm kubeconfig super-admin

if ! alive etcd; then
  mkdir -p -m 700 "$LITE/etcd"
  start etcd "$LITE/bin/etcd" --name=lite --data-dir="$LITE/etcd" --unsafe-no-fsync \
    --listen-client-urls=https://127.0.0.1:2379 --advertise-client-urls=https://127.0.0.1:2379 \
    --listen-peer-urls=https://127.0.0.1:2380 --initial-advertise-peer-urls=https://127.0.0.1:2380 \
    --initial-cluster=lite=https://127.0.0.1:2380 \
    --client-cert-auth --trusted-ca-file="$pki/etcd/ca.crt" --cert-file="$pki/etcd/server.crt" --key-file="$pki/etcd/server.key" \
    --peer-client-cert-auth --peer-trusted-ca-file="$pki/etcd/ca.crt" --peer-cert-file="$pki/etcd/peer.crt" --peer-key-file="$pki/etcd/peer.key"
fi
if ! alive kube-apiserver; then
  start kube-apiserver "$LITE/bin/kube-apiserver" --advertise-address="$ADDRESS" --secure-port="$PORT" \
    --etcd-servers=https://127.0.0.1:2379 --etcd-cafile="$pki/etcd/ca.crt" \
    --etcd-certfile="$pki/apiserver-etcd-client.crt" --etcd-keyfile="$pki/apiserver-etcd-client.key" \
    --client-ca-file="$pki/ca.crt" --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
    --authorization-mode=Node,RBAC --service-cluster-ip-range="$SERVICES" \
    --service-account-issuer="https://kubernetes.default.svc.$DNS_DOMAIN" \
    --service-account-key-file="$pki/sa.pub" --service-account-signing-key-file="$pki/sa.key"
fi
ready etcd answers https://127.0.0.1:2379/health "$pki/etcd/ca.crt" "$pki/etcd/healthcheck-client.crt" "$pki/etcd/healthcheck-client.key"
ready kube-apiserver answers "https://127.0.0.1:$PORT/readyz" "$pki/ca.crt"
# Gives the administrators of admin.conf their role, and notes the configuration.
kubeadm upload-config kubeadm
