#!/usr/bin/env bash
#===- check_asan.sh - Unit and Python tests with sanitizers ----------------===#
#
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Usage: tools/scripts/check_asan.sh [--tools=FOLDER] [--build=FOLDER]
#                                    [TEST...] [-- PYTEST_OPTION...]
#
#   --tools=FOLDER  a build of all tools (default: build/), whose compiler makes
#                   the artefacts of the Python tests
#   --build=FOLDER  build here instead of in build-asan/
#   TEST            of the unit tests, or `python` (default: all of them)
#
# Builds the runtime, the libraries without MLIR and their unit tests with
# AddressSanitizer and UndefinedBehaviorSanitizer, by GCC, runs them, and then the
# tests of the Python package with this runtime. The compiler stays as it is in
# FOLDER: MLIR's libraries are not built for sanitizers, and what they share
# with code that is gives reports of its own.
#
# Needs what tools/check installs; takes 20 minutes on two cores.
#
# Example: tools/scripts/check_asan.sh python -- -k lifetimes
#
#===------------------------------------------------------------------------===#
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/tools/scripts/common.sh"

tools=$root/build
build=$root/build-asan
units=(ArchTest CostTest CudaRuntimeTest GraphTest LayoutTest OracleTest PlotTest
  RingRuntimeTest RingTest RuntimeTest ScheduleTest TensorTest TextGuardTest)
chosen=()
while [ $# -gt 0 ]; do
  case $1 in
  --tools=*) tools=$(realpath -m -- "${1#--tools=}") ;;
  --build=*) build=$(realpath -m -- "${1#--build=}") ;;
  -h | --help)
    sed -n '/^# Usage/,/^#===/{/^#===/d; s/^# \{0,1\}//p}' "$0"
    exit 0
    ;;
  --)
    shift
    break
    ;;
  -*)
    printf "error: expected --tools=, --build= or tests, found '%s'\n" "$1" >&2
    exit 2
    ;;
  *) chosen+=("$1") ;;
  esac
  shift
done
[ ${#chosen[@]} -gt 0 ] || chosen=("${units[@]}" python)
for each in "${chosen[@]}"; do
  [[ " ${units[*]} python " == *" $each "* ]] || {
    printf "error: expected tests among %s or python, found '%s'\n" \
      "${units[*]}" "$each" >&2
    exit 2
  }
done
[ -x "$tools/bin/ringlet-compile" ] ||
  die "expected bin/ringlet-compile in $tools; tools/check builds it"

step "configuration"
export CC=gcc CXX=g++
mkdir -p "$build"
log=$build/configure.log
cmake -S "$root" --preset asan -B "$build" >"$log" 2>&1 || {
  tail -n 30 "$log" >&2
  die "the configuration failed; the whole log is $log"
}
targets=()
for each in "${chosen[@]}"; do
  if [ "$each" = python ]; then
    targets+=(RingletRuntime)
  else
    targets+=("$each")
  fi
done
step "build" "${targets[*]}, in $build"
build_targets "$build" "${targets[@]}"

# A fault ends the program: it is a failure of the test that met it.
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
failed=()
for each in "${chosen[@]}"; do
  [ "$each" != python ] || continue
  step "$each"
  "$build/test/Unit/$each" --gtest_brief=1 || failed+=("$each")
done
if [[ " ${chosen[*]} " == *" python "* ]]; then
  step "python"
  mkdir -p "$build/bin"
  # The compiler goes without, as it takes half as long again with the allocator of
  # a sanitizer.
  for tool in ringlet-compile ringlet-run; do
    rm -f "$build/bin/$tool"
    printf '#!/bin/sh\nexec env -u LD_PRELOAD "%s" "$@"\n' "$tools/bin/$tool" \
      >"$build/bin/$tool"
    chmod +x "$build/bin/$tool"
  done
  # A compiler that dies of a signal (crash_leaves) is a shell, whose signal the
  # sanitizer would catch. Python leaks. A test measures that memory is given back,
  # of which a sanitizer holds 256 MB if nobody says less.
  ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=64 \
    RINGLET_PRELOAD=$(gcc -print-file-name=libasan.so) \
    bash "$root/test/Run/python/run.sh" "$build" \
    -k "not test_bench and not test_summary and not crash_leaves" "$@" ||
    failed+=(python)
fi
step_done
[ ${#failed[@]} -eq 0 ] || die "failed: ${failed[*]}"
echo "no faults found by: ${chosen[*]}"
