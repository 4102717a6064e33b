#!/usr/bin/env bash
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# run.sh BUILD_DIR [--torch] [pytest options]: tests the Python package of this
# tree with the runtime and the compiler of BUILD_DIR, in a virtual environment
# that stays in BUILD_DIR/venv; with --torch what it does for tensors of torch, in
# BUILD_DIR/venv-torch, beside the torch that Python has here.
#
# What is freed is overwritten, by Python's allocator and by the C library's, so
# that whoever reads it afterwards reads something else. With RINGLET_PRELOAD, the
# library of a sanitizer, that watches all memory instead (check_asan.sh).
set -euo pipefail

if [ $# -lt 1 ] || [ ! -d "$1" ]; then
  echo "usage: run.sh BUILD_DIR [--torch] [pytest options]" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
build=$(cd "$1" && pwd)
shift
for file in bin/ringlet-compile lib/libringlet_runtime.so.1; do
  if [ ! -e "$build/$file" ]; then
    echo "run.sh: expected $file in $build, found none" >&2
    exit 1
  fi
done

if [ "${1:-}" = --torch ]; then
  shift
  kind=torch
  venv=$build/venv-torch
elif [ "${1:-}" = --wheel ]; then
  shift
  kind=wheel
  venv=$build/venv
else
  kind=all
  venv=$build/venv
fi
python=$venv/bin/python
packages=(numpy pytest hypothesis ml_dtypes)
needed='import numpy, pytest, hypothesis'
debian="$needed, venv, ensurepip"

make_venv() {
  if ! "$@" --clear "$venv"; then
    echo "run.sh: $* failed (apt-get install python3-venv)" >&2
    exit 1
  fi
}
make_torch_venv() {
  # PyPI's torch for x86-64 brings 3 GB of CUDA's libraries. Debian's is small,
  # and made for Debian's Python.
  local each
  for each in python3 /usr/bin/python3; do
    if "$each" -c "$debian, torch" 2>/dev/null; then
      make_venv "$each" -m venv --system-site-packages
      return
    fi
  done
  echo "run.sh: no Python here has torch (apt-get install python3-torch)" >&2
  exit 1
}
make_plain_venv() {
  echo "run.sh: making $venv with ${packages[*]}"
  make_venv python3 -m venv
  if ! "$venv/bin/pip" install --quiet --disable-pip-version-check \
    --retries 1 "${packages[@]}"; then
    # Debian's packages are older, and a few tests are skipped with them.
    if ! /usr/bin/python3 -c "$debian"; then
      echo "run.sh: neither PyPI nor Debian has given ${packages[*]}" >&2
      exit 1
    fi
    echo "run.sh: PyPI cannot be reached; using Debian's numpy and pytest"
    make_venv /usr/bin/python3 -m venv --system-site-packages
  fi
}
if [ $kind = torch ]; then
  "$python" -c "$needed, torch" 2>/dev/null || make_torch_venv
  set -- -m torch "$@"
else
  "$python" -c "$needed" 2>/dev/null || make_plain_venv
fi
install=("$venv/bin/pip" install --quiet --disable-pip-version-check --no-index
  --force-reinstall)
hide=()
if [ $kind = wheel ]; then
  # The wheel for machines without LLVM. Where that can be done, this one seems
  # to be such a machine.
  wheel=$("$root/tools/scripts/make_wheel.sh" --out="$build/wheel" \
    --compiler="$build/test/StaticLLVM/ringlet-compile" \
    --runtime="$build/lib/libringlet_runtime.so.1" | tail -n 1)
  "${install[@]}" "$wheel"
  llvm=/usr/lib/llvm-22
  # shellcheck disable=SC2016
  if [ -d $llvm ] && unshare -m mount -t tmpfs none $llvm 2>/dev/null; then
    hide=(unshare -m sh -c 'mount -t tmpfs none "$0" && exec "$@"' $llvm)
    echo "run.sh: a wheel, without $llvm"
  fi
else
  "${install[@]}" --config-settings build-dir="$build" "$root/python-bindings"
fi

# Not from the source folder: what is tested is what was installed.
cd "$build"
if [ -n "${RINGLET_PRELOAD:-}" ]; then
  export PYTHONMALLOC=malloc LD_PRELOAD=$RINGLET_PRELOAD
else
  export PYTHONMALLOC=debug MALLOC_PERTURB_=165
fi
exec "${hide[@]}" "$python" -m pytest -q -p no:cacheprovider \
  --rootdir "$here" "$here" "$@"
