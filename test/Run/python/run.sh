#!/usr/bin/env bash
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# run.sh BUILD_DIR [pytest options]: tests the Python package of this tree with
# the runtime and the compiler of BUILD_DIR, in a virtual environment that stays
# in BUILD_DIR/venv.
set -euo pipefail

if [ $# -lt 1 ] || [ ! -d "$1" ]; then
  echo "usage: run.sh BUILD_DIR [pytest options]" >&2
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

venv=$build/venv
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
if ! "$python" -c "$needed" 2>/dev/null; then
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
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-index \
  --force-reinstall --config-settings build-dir="$build" "$root/python-bindings"

# Not from the source folder: what is tested is what was installed.
cd "$build"
exec "$python" -m pytest -q -p no:cacheprovider --rootdir "$here" "$here" "$@"
