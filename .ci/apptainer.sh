#!/bin/bash
# Apptainer on a Debian that has none: the package of the newest suite, beside a C library of its own. The system's own
# libraries and sources of packages are left alone. Needs root and apt; does nothing where there is an apptainer.
# Status 75: the archive could not be reached.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1

main() {
  ! command -v apptainer >/dev/null || exit 0
  work=$(mktemp -d -t apptainer.XXXXXX)
  trap 'rm -rf "$work"' EXIT
  fetch apt-get update -qq -o APT::Update::Error-Mode=any
  fetch apt-get install -y -qq --no-install-recommends patchelf squashfs-tools squashfuse fuse2fs e2fsprogs uidmap \
    >/dev/null
  bash "$here/debs.sh" sid "$work/deb" apptainer libc6 libseccomp2 libsqlite3-0
  install_beside
  # Without systemd as init, apptainer can set limits only by itself.
  [ -d /run/systemd/system ] || sed -i 's/^systemd cgroups = yes/systemd cgroups = no/' /etc/apptainer/apptainer.conf
  apptainer --version
}

fetch() { bash "$here/fetch.sh" "$@"; }

install_beside() {
  local deb triplet program
  for deb in "$work"/deb/*.deb; do
    case ${deb##*/} in
      apptainer_*) dpkg -x "$deb" "$work/app" ;;
      *) dpkg -x "$deb" "$work/lib" ;;
    esac
  done
  triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || echo "$(uname -m)-linux-gnu")
  mkdir -p /opt/apptainer/lib /etc/apptainer /var/lib/apptainer/mnt/session
  cp -a "$work/lib/usr/lib/$triplet/." /opt/apptainer/lib/
  rm -rf /opt/apptainer/lib/{gconv,audit}
  cp -L /opt/apptainer/lib/ld-linux-*.so.* /opt/apptainer/ld.so
  # RPATH, not RUNPATH: libraries that these libraries need are to be found beside them as well.
  for program in "$work/app/usr/bin/apptainer" "$work/app/usr/lib/$triplet/apptainer/bin/starter"; do
    patchelf --force-rpath --set-interpreter /opt/apptainer/ld.so --set-rpath /opt/apptainer/lib "$program"
  done
  cp -a "$work/app/usr/lib/$triplet/apptainer" "/usr/lib/$triplet/"
  cp -a "$work/app/etc/apptainer/." /etc/apptainer/
  cp -a "$work/app/usr/bin/apptainer" /usr/bin/
}

main
