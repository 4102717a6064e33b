#!/usr/bin/env bash
#===- fresh_machine.sh - Build and test in a Debian that has nothing else --===#
#
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Usage: tools/scripts/fresh_machine.sh [--root=FOLDER] [--filter=REGEX]
#                                       [--ccache=FOLDER] [COMMAND...]
#
#   --root=FOLDER    where the system goes (default: /var/tmp/ringlet-root);
#                    kept, and begun anew by the next run
#   --filter=REGEX   tests to run there (default: one of each kind)
#   --ccache=FOLDER  a compiler cache of this machine to take objects from; headers
#                    and libraries have to be there all the same
#   COMMAND...       what to run in the tree there, instead of the two below
#
# Makes the smallest Debian 12 with mmdebstrap, puts what git tracks into it, at
# the path that it has here, runs tools/quickstart and tools/check in it without a
# compiler cache, and prints what each took. What a machine only happens to have is
# missing there. Needs root, mmdebstrap, 8 GB below FOLDER and a package registry;
# takes a quarter of an hour on two cores.
#
# Example: sudo tools/scripts/fresh_machine.sh --filter=.
#
#===------------------------------------------------------------------------===#
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/tools/scripts/common.sh"

system=/var/tmp/ringlet-root
cache=
# A text test of a pass, of a dialect, of a tool, compiled code that runs, a unit
# test, the Python package, the static link, and the lists of packages.
filter='(canonicalize|longnet|dense|LayoutTest|static-llvm|Run/python|packages)'
for argument in "$@"; do
  case $argument in
  --root=*) system=$(realpath -m -- "${argument#--root=}") ;;
  --filter=*) filter=${argument#--filter=} ;;
  --ccache=*) cache=$(realpath -- "${argument#--ccache=}") ;;
  -h | --help)
    sed -n '/^# Usage/,/^#===/{/^#===/d; s/^# \{0,1\}//p}' "$0"
    exit 0
    ;;
  -*)
    printf "error: expected --root=, --filter= or --ccache=, found '%s'\n" \
      "$argument" >&2
    exit 2
    ;;
  *) break ;;
  esac
  shift
done
[ "$(id -u)" -eq 0 ] || die "expected root, which mmdebstrap and chroot need"
command -v mmdebstrap >/dev/null ||
  die "expected mmdebstrap, found none; apt-get install mmdebstrap"
# Removed below: not somebody's home.
if [ -d "$system" ] && [ ! -f "$system/.ringlet-root" ] &&
  [ -n "$(ls -A "$system")" ]; then
  die "expected an empty folder or one of an earlier run, found $system"
fi

leave() {
  local mount
  for mount in proc dev sys ccache; do
    mountpoint -q "$system/$mount" && umount -l "$system/$mount"
  done
  return 0
}
trap leave EXIT

step "system" "Debian 12 in $system"
leave
rm -rf --one-file-system "$system"
log=$(mktemp)
mmdebstrap --variant=apt --mode=root --format=directory \
  --include=ca-certificates bookworm "$system" >"$log" 2>&1 ||
  { tail -n 20 "$log" >&2; die "mmdebstrap could not make a system"; }
touch "$system/.ringlet-root"
cp /etc/resolv.conf /etc/hosts "$system/etc/"
# How this machine reaches its registries: certificates, and the lists and
# settings of pip.
cp -L /etc/ssl/certs/ca-certificates.crt "$system/etc/ssl/certs/"
[ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$system/etc/"
mkdir -p "$system$root"
git -C "$root" ls-files -z |
  tar -C "$root" --null -T - -cf - | tar -C "$system$root" -xf -
mount --bind /dev "$system/dev"
mount -t proc proc "$system/proc"
mount -t sysfs sysfs "$system/sys"
compiler_cache=CCACHE_DISABLE=1
if [ -n "$cache" ]; then
  mkdir "$system/ccache"
  mount --bind "$cache" "$system/ccache"
  compiler_cache=CCACHE_DIR=/ccache
fi

# inside COMMAND...: runs it in the system, in the source tree, with nothing of
# this machine's environment but how to reach registries.
inside() {
  chroot "$system" /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 TERM=dumb \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin "$compiler_cache" \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    ${http_proxy:+http_proxy="$http_proxy"} \
    ${https_proxy:+https_proxy="$https_proxy"} \
    sh -c 'cd "$0" && exec "$@"' "$root" "$@"
}
# What the processor did says more than a clock where others use it, too.
TIMEFORMAT='   %R s, of the processors %U s and %S s for the system'
status=0
if [ $# -gt 0 ]; then
  step "command" "$*"
  time inside "$@" || status=$?
else
  step "quickstart"
  time inside tools/quickstart
  step "check" "tests that match $filter"
  time inside tools/check --filter="$filter" || status=$?
fi
step_done
exit $status
