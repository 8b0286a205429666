#!/bin/bash
# podman.sh start DIR: a Podman service of root's with everything in DIR, and the test image in it; prints its address.
# podman.sh serve DIR: the same without the image.
# podman.sh stop DIR: ends it. As root, on Debian; images come from the Docker engine.
# Status 75: it could not be installed for want of a network.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
what=${1:?start, serve or stop} dir=${2:?a directory}
image=${PYTEST_SWE_TEST_IMAGE:-pytest-swe/test-base:1}
export CONTAINERS_CONF=$dir/containers.conf CONTAINERS_STORAGE_CONF=$dir/storage.conf
address=unix://$dir/podman.sock
unset CONTAINER_HOST # with it podman only speaks to a service, and starts none

start() {
  serve >/dev/null
  docker save "$image" | podman --url "$address" load >>"$dir/log" 2>&1 || { tail -30 "$dir/log" >&2; return 1; }
  echo "$address"
}

serve() {
  if ! command -v podman >/dev/null; then
    bash "$here/fetch.sh" apt-get update -qq -o APT::Update::Error-Mode=any
    DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 bash "$here/fetch.sh" \
      apt-get install -y -qq --no-install-recommends podman netavark aardvark-dns runc >/dev/null
  fi
  mkdir -p "$dir"
  configure
  let_neighbours_meet
  # Podman 4 leaves a file `oom` where it was started: https://github.com/containers/conmon/issues/504
  cd "$dir"
  setsid podman system service --time=0 "$address" >"$dir/log" 2>&1 </dev/null &
  echo $! >"$dir/pid"
  for _ in $(seq 100); do
    if [ -S "$dir/podman.sock" ]; then break; fi
    sleep 0.1
  done
  echo "$address"
}

# runc where there is no systemd and cgroups are v1 or mixed (crun refuses those); limits that need no further rights;
# and seconds, not five minutes, for which two processes outlive each command.
configure() {
  local files processes
  files=$(ulimit -Hn) processes=$(ulimit -Hu)
  [ "$files" != unlimited ] || files=1048576
  [ "$processes" != unlimited ] && [ "$processes" -lt 32768 ] || processes=32768
  cat >"$dir/containers.conf" <<END
[containers]
default_ulimits = ["nofile=$files:$files", "nproc=$processes:$processes"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
exit_command_delay = 10
[network]
network_backend = "netavark"
END
  cat >"$dir/storage.conf" <<END
[storage]
driver = "overlay"
graphroot = "$dir/storage"
runroot = "$dir/run"
END
}

# A Docker engine on this host has what goes between two containers of a closed network dropped, whoever they belong to.
let_neighbours_meet() {
  local rule=(DOCKER-USER -i podman+ -m physdev --physdev-is-bridged -j ACCEPT)
  if iptables -S DOCKER-USER >/dev/null 2>&1; then
    iptables -C "${rule[@]}" 2>/dev/null || iptables -I "${rule[@]}"
  fi
}

stop() {
  kill "$(cat "$dir/pid" 2>/dev/null)" 2>/dev/null || :
  # What outlives the last commands mounts the store again.
  for _ in $(seq 60); do
    pgrep -f "conmon .*$dir/" >/dev/null || break
    sleep 0.5
  done
  umount "$dir/storage/overlay" 2>/dev/null || :
}

"$what"
