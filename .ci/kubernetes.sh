#!/bin/bash
# A real Kubernetes of one node on a Docker engine, for the tests of that provider.
#
#   .ci/kubernetes.sh up DIR     start it; prints the path of its kubeconfig
#   .ci/kubernetes.sh down DIR   end it, remove its containers and mounts
#
# PYTEST_SWE_KUBE_BIN names a directory with kube-apiserver, kube-controller-manager, kube-scheduler and kubelet (of
# 1.20, whose kubelet talks to a Docker engine by itself), plain or as .zst; Debian 12 has their source, as package
# kubernetes. Needs root and apt (etcd-server, busybox-static and the like are installed where they are missing), and
# DOCKER_HOST as a unix socket if it is not the usual one. Status 75: those could not be installed for want of a network.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

port=${PYTEST_SWE_KUBE_PORT:-17443}
etcd=http://127.0.0.1:$((port + 1))
pause=pytest-swe/pause:1

up() {
  packages >&2
  mkdir -p "$dir"/{bin,pki,log,kubelet}
  binaries
  keys
  pause_image
  start etcd etcd --data-dir "$dir/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
    --listen-peer-urls "http://127.0.0.1:$((port + 2))" --initial-advertise-peer-urls "http://127.0.0.1:$((port + 2))" \
    --initial-cluster "default=http://127.0.0.1:$((port + 2))" --unsafe-no-fsync
  await etcd curl -fs "$etcd/health"
  # Service accounts get no tokens (that needs an issuer and a mount per pod), and a node is usable before all of its
  # conditions are known.
  start kube-apiserver "$dir/bin/kube-apiserver" --etcd-servers="$etcd" --bind-address=127.0.0.1 --secure-port="$port" \
    --insecure-port=0 --cert-dir="$dir/pki" --tls-cert-file="$dir/pki/server.crt" \
    --tls-private-key-file="$dir/pki/server.key" --token-auth-file="$dir/pki/tokens.csv" --authorization-mode=RBAC \
    --allow-privileged=true --service-cluster-ip-range=10.96.0.0/24 \
    --service-account-issuer=https://kubernetes.default.svc --service-account-signing-key-file="$dir/pki/sa.key" \
    --service-account-key-file="$dir/pki/sa.pub" --endpoint-reconciler-type=none \
    --disable-admission-plugins=ServiceAccount,TaintNodesByCondition --kubelet-preferred-address-types=InternalIP
  kubeconfig kubeconfig admin
  kubeconfig runner.kubeconfig runner
  await kube-apiserver api readyz
  start kube-controller-manager "$dir/bin/kube-controller-manager" --kubeconfig="$dir/kubeconfig" \
    --leader-elect=false --service-account-private-key-file="$dir/pki/sa.key" --port=0 --secure-port="$((port + 3))" \
    --cert-dir="$dir/pki"
  start kube-scheduler "$dir/bin/kube-scheduler" --kubeconfig="$dir/kubeconfig" --leader-elect=false --port=0 \
    --secure-port="$((port + 4))" --cert-dir="$dir/pki"
  kubelet
  await kubelet ready
  echo "$dir/kubeconfig"
}

# Nothing is ever evicted or collected for the sake of the host's disk: the engine is not the cluster's own.
kubelet() {
  local address
  address=$(hostname -I | cut -d' ' -f1)
  start kubelet "$dir/bin/kubelet" --kubeconfig="$dir/kubeconfig" --root-dir="$dir/kubelet" --cert-dir="$dir/pki" \
    --hostname-override=node1 --node-ip="$address" --address="$address" --port="$((port + 5))" \
    --container-runtime=docker --docker-endpoint="${DOCKER_HOST:-unix:///var/run/docker.sock}" --cgroup-driver=cgroupfs \
    --pod-infra-container-image="$pause" --fail-swap-on=false --anonymous-auth=true \
    --authorization-mode=AlwaysAllow --authentication-token-webhook=false --oom-score-adj=0 --cgroups-per-qos=false \
    --enforce-node-allocatable= --max-pods=110 --node-status-update-frequency=1s --sync-frequency=10s \
    --kube-api-qps=50 --kube-api-burst=100 --registry-qps=0 --serialize-image-pulls=false \
    --image-gc-high-threshold=100 --eviction-hard= --read-only-port=0 --healthz-port="$((port + 6))" \
    --cluster-domain=cluster.local --resolv-conf=/etc/resolv.conf
}

down() {
  local name
  for name in kubelet kube-scheduler kube-controller-manager kube-apiserver etcd; do
    [ ! -f "$dir/$name.pid" ] || kill "$(cat "$dir/$name.pid")" 2>/dev/null || :
  done
  sleep 2
  # The kubelet's own label; the names of its pods are in none of our other containers.
  docker ps -aq --filter label=io.kubernetes.docker.type | xargs -r docker rm -f >/dev/null
  awk -v below="$dir/kubelet" 'index($2, below) == 1 {print $2}' /proc/mounts | xargs -r umount
}

packages() {
  local pair missing=()
  for pair in etcd-server:etcd openssl:openssl curl:curl busybox-static:busybox zstd:zstd; do
    command -v "${pair#*:}" >/dev/null || missing+=("${pair%%:*}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  bash "$here/fetch.sh" apt-get update -qq -o APT::Update::Error-Mode=any
  DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 bash "$here/fetch.sh" \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

binaries() {
  local name from=${PYTEST_SWE_KUBE_BIN:?a directory with kube-apiserver, kubelet and so on}
  for name in kube-apiserver kube-controller-manager kube-scheduler kubelet; do
    [ ! -x "$dir/bin/$name" ] || continue
    if [ -f "$from/$name.zst" ]; then zstd -dqf "$from/$name.zst" -o "$dir/bin/$name"; else cp "$from/$name" "$dir/bin/"; fi
    chmod +x "$dir/bin/$name"
  done
}

# A certificate of our own authority, and a token for the administrator and for the account of deploy/.
keys() {
  cd "$dir/pki"
  [ ! -f tokens.csv ] || return 0
  openssl genrsa -out sa.key 2048 2>/dev/null
  openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
  openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 30 -subj /CN=pytest-swe-ca \
    -addext keyUsage=critical,keyCertSign,cRLSign 2>/dev/null
  openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=kube-apiserver 2>/dev/null
  openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt -days 30 \
    -extfile <(echo "subjectAltName=IP:127.0.0.1
authorityKeyIdentifier=keyid
extendedKeyUsage=serverAuth") 2>/dev/null
  umask 077
  echo "$(openssl rand -hex 16),admin,admin,system:masters" >tokens.csv
  echo "$(openssl rand -hex 16),system:serviceaccount:pytest-swe:pytest-swe,runner" >>tokens.csv
}

# kubeconfig FILE USER-ID
kubeconfig() {
  umask 077
  cat >"$dir/$1" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:$port", certificate-authority: "$dir/pki/ca.crt"}}]
users: [{name: u, user: {token: $(awk -F, -v id="$2" '$3 == id {print $1}' "$dir/pki/tokens.csv")}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
YAML
}

# The first process of a pod, which holds its network: idle, and gone at once when it is asked to go.
pause_image() {
  docker image inspect "$pause" >/dev/null 2>&1 && return
  mkdir -p "$dir/pause"
  cp "$(command -v busybox)" "$dir/pause/busybox"
  cat >"$dir/pause/Dockerfile" <<'DOCKER'
FROM scratch
COPY busybox /busybox
ENTRYPOINT ["/busybox", "sh", "-c", "trap 'exit 0' TERM INT; while :; do /busybox sleep 3600 & wait; done"]
DOCKER
  docker build -q -t "$pause" "$dir/pause" >/dev/null 2>&1
}

# start NAME COMMAND...
start() {
  local name=$1
  shift
  setsid "$@" >"$dir/log/$name" 2>&1 &
  echo $! >"$dir/$name.pid"
}

# await NAME COMMAND...: until the command succeeds, while the process lives.
await() {
  local name=$1
  shift
  for _ in $(seq 300); do
    "$@" >/dev/null 2>&1 && return
    kill -0 "$(cat "$dir/$name.pid")" 2>/dev/null || break
    sleep 0.2
  done
  tail -20 "$dir/log/$name" >&2
  echo "$name does not answer" >&2
  return 1
}

api() {
  curl -fs --cacert "$dir/pki/ca.crt" -H "Authorization: Bearer $(head -n 1 "$dir/pki/tokens.csv" | cut -d, -f1)" \
    "https://127.0.0.1:$port/$1"
}

ready() { api api/v1/nodes/node1 | grep -A2 '"reason": "KubeletReady"'; }

mkdir -p "${2:?up|down and a directory}"
dir=$(cd "$2" && pwd)
case $1 in up | down) "$1" ;; *) echo "up or down, not $1" >&2; exit 2 ;; esac
