#!/bin/bash
# all.sh COMMAND...: runs COMMAND with every backend of the providers started: Compose, Podman, Apptainer, OpenSandbox,
# what rootless engines need, the kit of an agent, and Kubernetes where its programs are. As root, on Debian, with a Docker
# engine that answers. BACKENDS="podman compose" starts those alone.
#
# PYTEST_SWE_KUBE_BIN names the directory of the programs of Kubernetes; ../shared/infra/kube beside the repository is
# taken where it is there.
#
# A backend that does not start ends it all. One whose packages cannot be fetched is left out, the command runs without
# it, and a command that succeeds then ends with status 75: nothing failed, and not everything ran. With
# UNREACHED_IS_FINE=1 it ends with 0 all the same; what did not run is still said.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
beside=$here/../../shared/infra/kube
work=$(mktemp -d -t pytest-swe-all.XXXXXX)
unreached=() notes=()

main() {
  local status=0
  backend apptainer bash "$here/apptainer.sh" || :
  backend rootless bash "$here/rootless.sh" || :
  if ! docker compose version >/dev/null 2>&1 && backend compose bash "$here/compose.sh" "$work/docker-config"; then
    export DOCKER_CONFIG=$work/docker-config
  fi
  if backend podman bash "$here/podman.sh" start "$work/podman"; then
    CONTAINER_HOST=$(cat "$work/podman.out")
    export CONTAINER_HOST
  fi
  if backend opensandbox bash "$here/opensandbox/up.sh" "$work/opensandbox"; then
    PYTEST_SWE_OPENSANDBOX=$(cat "$work/opensandbox/address")
    export PYTEST_SWE_OPENSANDBOX
  fi
  if backend kits bash "$here/kits.sh" "$work/kits"; then export PYTEST_SWE_TEST_KITS=$work/kits; fi
  kubernetes
  "$@" || status=$?
  for note in "${notes[@]}"; do echo "NOT RUN: $note"; done
  [ $status -ne 0 ] || [ ${#unreached[@]} -eq 0 ] || [ "${UNREACHED_IS_FINE:-}" = 1 ] || status=75
  return $status
}

# backend NAME COMMAND...: starts one; what it prints goes to NAME.out. Fails where it is not asked for, and where the
# network is in trouble.
backend() {
  local name=$1 from=$SECONDS status=0
  shift
  case " ${BACKENDS:-$name} " in
    *" $name "*) ;;
    *)
      notes+=("$name: not asked for")
      return 1
      ;;
  esac
  "$@" >"$work/$name.out" || status=$?
  case $status in
    0) echo "$name: ready after $((SECONDS - from)) s" ;;
    75)
      unreached+=("$name")
      notes+=("$name: what it needs could not be fetched (see above); no test of it has failed")
      echo "NOT RUN: ${notes[-1]}"
      return 1
      ;;
    *) echo "$name does not start (status $status)" >&2; exit "$status" ;;
  esac
}

kubernetes() {
  if [ -z "${PYTEST_SWE_KUBE_BIN:-}" ] && [ -d "$beside" ]; then PYTEST_SWE_KUBE_BIN=$(cd "$beside" && pwd); fi
  if [ -z "${PYTEST_SWE_KUBE_BIN:-}" ]; then
    notes+=("kubernetes: PYTEST_SWE_KUBE_BIN names no directory with its programs (.ci/kubernetes.sh says which)")
    echo "NOT RUN: ${notes[-1]}"
    return
  fi
  export PYTEST_SWE_KUBE_BIN
  if backend kubernetes bash "$here/kubernetes.sh" up "$work/kubernetes"; then
    PYTEST_SWE_KUBECONFIG=$(cat "$work/kubernetes.out")
    export PYTEST_SWE_KUBECONFIG
  fi
}

finish() {
  local status=$?
  [ ! -d "$work/kubernetes" ] || bash "$here/kubernetes.sh" down "$work/kubernetes" || :
  [ ! -f "$work/opensandbox/pid" ] || bash "$here/opensandbox/down.sh" "$work/opensandbox" || :
  [ ! -f "$work/podman/pid" ] || bash "$here/podman.sh" stop "$work/podman" || :
  rm -rf --one-file-system "$work" 2>/dev/null || :
  exit $status
}

trap finish EXIT
main "$@"
