#!/usr/bin/env bash
#===- install_deps.sh - Install the Debian packages that are missing -------===#
#
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Usage: install_deps.sh build|test
#        install_deps.sh --list build|test|optional
#
#   build   what it takes to build the compiler, the runtime and the tools
#   test    that, and what the tests use
#   --list  print the names of the packages and do nothing; `optional` are those
#           that `test` takes where they are to be had, and lists, too
#
# Does nothing, and asks no registry, when everything is there. Needs apt, and
# root or sudo when something is missing. May be run again after an
# interruption.
#
#===------------------------------------------------------------------------===#
set -euo pipefail

build_packages=(
  cmake ninja-build ccache       # build
  clang-22 g++                   # compiler; g++ has its standard library, too
  libmlir-22-dev mlir-22-tools   # MLIR's libraries and mlir-tblgen
  libzstd-dev zlib1g-dev         # LLVM's archives ask for them
  llvm-22-dev lld-22             # LLVM's; ld.lld links tools and artefacts
  libflatbuffers-dev             # the artefact format
  libfmt-dev                     # headers alone: messages of runtime and tools
  nlohmann-json3-dev             # headers of safetensors files
)
test_packages=(
  llvm-22-tools                  # lit, FileCheck, not
  libgtest-dev                   # unit tests
  flatbuffers-compiler           # is the generated header up to date?
  python3 python3-venv           # scripts, the Python package and its tests
  python3-numpy python3-pytest python3-hypothesis
  python3-psutil                 # stops tests that hang
)
# Tests that need these are skipped without them.
optional_packages=(
  clang-format-22
  liblld-22-dev libpolly-22-dev  # lld inside the static compiler
  libclang-rt-22-dev             # libFuzzer
  python3-torch                  # for CPUs, 50 MB; PyPI's brings CUDA, 3 GB
)

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# The packages among "$@" that are not installed.
missing() {
  local package
  for package in "$@"; do
    case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
    installed) ;;
    *) echo "$package" ;;
    esac
  done
}

list=no
if [ "${1:-}" = --list ]; then
  list=yes
  shift
fi
case ${1:-} in
build) wanted=("${build_packages[@]}") optional=() ;;
test)
  wanted=("${build_packages[@]}" "${test_packages[@]}")
  optional=("${optional_packages[@]}")
  ;;
optional)
  [ $list = yes ] || die "expected 'build' or 'test', found 'optional'"
  wanted=("${optional_packages[@]}") optional=()
  ;;
*) die "expected 'build' or 'test', found '${1:-}'" ;;
esac

if [ $list = yes ]; then
  printf '%s\n' "${wanted[@]}" "${optional[@]}"
  exit 0
fi

command -v dpkg-query >/dev/null ||
  die "expected a Debian system with dpkg and apt-get; elsewhere install" \
    "these by hand and pass --no-install: ${wanted[*]}"

mapfile -t need < <(missing "${wanted[@]}")
mapfile -t nice < <(missing "${optional[@]}")
if [ ${#need[@]} -eq 0 ]; then
  # A missing optional package is asked for once, with the others, not each
  # time.
  exit 0
fi

sudo=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null ||
    die "expected root or sudo to install ${need[*]}; found neither"
  sudo=(sudo)
fi

# Waits for another apt; asks nothing.
apt() {
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q \
    -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@"
}

# What an interrupted installation has left.
if [ -n "$(dpkg --audit 2>/dev/null)" ]; then
  echo "completing an installation that was interrupted"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive dpkg --configure -a
fi

echo "installing ${#need[@]} packages: ${need[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! apt update >"$log" 2>&1; then
  tail -n 5 "$log" >&2
  echo "warning: the package lists could not be renewed; trying with the" \
    "ones that are here" >&2
fi

# Is each package to be had, before anything changes?
available() {
  apt-cache policy "$1" 2>/dev/null |
    awk '/Candidate:/ { found = $2 != "(none)" } END { exit !found }'
}
absent=()
for package in "${need[@]}"; do
  available "$package" || absent+=("$package")
done
if [ ${#absent[@]} -gt 0 ]; then
  die "no package registry of this machine has ${absent[*]} (expected" \
    "Debian 12 with its updates; see /etc/apt/sources.list)"
fi
for package in "${nice[@]}"; do
  if available "$package"; then
    need+=("$package")
  else
    echo "note: $package is not to be had; its tests will be skipped"
  fi
done

if ! apt install -y --no-install-recommends "${need[@]}" >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  die "apt-get could not install ${need[*]}; what it said is above"
fi
mapfile -t still < <(missing "${wanted[@]}")
[ ${#still[@]} -eq 0 ] || die "still missing after installation: ${still[*]}"
