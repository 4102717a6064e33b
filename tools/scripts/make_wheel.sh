#!/usr/bin/env bash
#===- make_wheel.sh - A Python wheel that needs no LLVM ------------------===#
#
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# Usage: tools/scripts/make_wheel.sh [--build=FOLDER] [--out=FOLDER]
#                                    [--compiler=FILE --runtime=FILE]
#
#   --build=FOLDER   build here (default: build-wheel/)
#   --out=FOLDER     where the wheel goes (default: dist/)
#   --compiler=FILE --runtime=FILE
#                    a statically linked ringlet-compile and a
#                    libringlet_runtime.so.1 that are there already
#
# Builds the runtime and a compiler with LLVM and lld inside, strips both and
# makes a wheel of them and the package in python-bindings. It installs on
# Linux with the same processor architecture and a C library of at least this
# machine's version:
#
#   python3 -m venv venv && venv/bin/pip install dist/ringlet-*.whl
#
# Prints the path of the wheel last.
#
#===----------------------------------------------------------------------===#
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/tools/scripts/common.sh"

build=$root/build-wheel
out=$root/dist
compiler=
runtime=
for argument in "$@"; do
  case $argument in
  --build=*) build=$(realpath -m -- "${argument#--build=}") ;;
  --out=*) out=$(realpath -m -- "${argument#--out=}") ;;
  --compiler=*) compiler=${argument#--compiler=} ;;
  --runtime=*) runtime=${argument#--runtime=} ;;
  -h | --help)
    sed -n '/^# Usage/,/^#===/{/^#===/d; s/^# \{0,1\}//p}' "$0"
    exit 0
    ;;
  *)
    echo "error: expected --build=, --out=, --compiler= or --runtime=, found" \
      "'$argument'" >&2
    exit 2
    ;;
  esac
done

if [ -z "$compiler" ] || [ -z "$runtime" ]; then
  step "configuration"
  configure "$build" -DRINGLET_STATIC_LLVM=ON -DRINGLET_BUILD_TESTS=OFF
  step "build" "ringlet-compile and the runtime, in $build"
  build_targets "$build" ringlet-compile RingletRuntime
  compiler=$build/bin/ringlet-compile
  runtime=$build/lib/libringlet_runtime.so.1
fi
if ldd "$compiler" | grep -qi 'LLVM\|MLIR'; then
  die "expected a compiler with LLVM inside, found one that loads" \
    "$(ldd "$compiler" | grep -i -m1 -o 'lib\(LLVM\|MLIR\)[^ ]*'): $compiler"
fi

step "wheel" "in $out"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/build/bin" "$stage/build/lib" "$out"
strip -o "$stage/build/bin/ringlet-compile" "$compiler"
strip --strip-unneeded -o "$stage/build/lib/libringlet_runtime.so.1" \
  "$(realpath "$runtime")"
# The backend of the package needs nothing but Python.
wheel=$(cd "$root/python-bindings" && PYTHONPATH=build_backend python3 -c '
import sys, backend
print(backend.build_wheel(sys.argv[1], {"build-dir": sys.argv[2]}))
' "$stage" "$stage/build")
# At once, so that no half wheel is ever there.
mv -f "$stage/$wheel" "$out/$wheel"
step_done
printf '%s: %d MB\n' "$out/$wheel" \
  $(($(stat -c %s "$out/$wheel") / 1000000))
echo "$out/$wheel"
