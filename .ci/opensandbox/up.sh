#!/bin/bash
# up.sh FOLDER [SERVER]: a real opensandbox-server on the Docker engine, on a free port of this host.
# SERVER is its program; without one it is installed from PyPI into FOLDER/venv. Only the daemon inside sandboxes is a
# stand-in (execd.py), because its image is on no registry that can be counted on; it needs python3 in a sandbox's image.
# Status 75: it could not be installed for want of a network.
# Leaves FOLDER/address (for PYTEST_SWE_OPENSANDBOX), FOLDER/pid and FOLDER/log; down.sh FOLDER ends it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:?folder} program=${2:-}
base=${PYTEST_SWE_TEST_IMAGE:-pytest-swe/test-base:1}
execd=pytest-swe/execd-stand-in:1
mkdir -p "$folder"

if [ -z "$program" ]; then
  bash "$here/../fetch.sh" bash "$here/../venv.sh" "${PYTHON:-python3}" "$folder/venv" 'opensandbox-server>=1.1,<2'
  program=$folder/venv/bin/opensandbox-server
fi

# The server copies two files out of this image, from a container that runs `tail`.
container=$(docker create --entrypoint true "$base")
trap 'docker rm -f "$container" >/dev/null' EXIT
install -m 755 "$here/execd.py" "$folder/execd"
install -m 755 "$here/bootstrap.sh" "$folder/bootstrap.sh"
docker cp -q "$folder/execd" "$container:/execd" 2>/dev/null || docker cp "$folder/execd" "$container:/execd"
docker cp -q "$folder/bootstrap.sh" "$container:/bootstrap.sh" 2>/dev/null ||
  docker cp "$folder/bootstrap.sh" "$container:/bootstrap.sh"
docker commit -c 'ENTRYPOINT []' "$container" "$execd" >/dev/null

port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
cat >"$folder/config.toml" <<CONFIG
[server]
host = "127.0.0.1"
port = $port
[log]
level = "WARNING"
[runtime]
type = "docker"
execd_image = "$execd"
[store]
type = "sqlite"
path = "$folder/store.db"
[docker]
network_mode = "bridge"
publish_host = "127.0.0.1"
CONFIG
OPENSANDBOX_INSECURE_SERVER=YES setsid "$program" --config "$folder/config.toml" >"$folder/log" 2>&1 </dev/null &
pid=$!
echo $pid >"$folder/pid"
for _ in $(seq 240); do
  if python3 -c "import urllib.request as r; r.urlopen('http://127.0.0.1:$port/health', timeout=5)" 2>/dev/null; then
    echo "127.0.0.1:$port" >"$folder/address"
    echo "started opensandbox-server at 127.0.0.1:$port, pid $pid"
    exit
  fi
  kill -0 $pid 2>/dev/null || break
  sleep 0.25
done
tail -30 "$folder/log" >&2
exit 1
