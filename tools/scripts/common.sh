# shellcheck shell=bash
#===- common.sh - What tools/check and tools/quickstart share ------------===#
#
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# Sourced, not run. Expects `root`, the source tree.
# shellcheck disable=SC2154

# Prints one line of progress: the step's name, then its time when it ends.
step_name=
step_start=0
step_done() {
  if [ -n "$step_name" ]; then
    printf '   %s: %d s\n' "$step_name" "$((SECONDS - step_start))"
  fi
  step_name=
}
step() {
  step_done
  step_name=$1
  step_start=$SECONDS
  printf '== %s%s\n' "$1" "${2:+ ($2)}"
}

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# configure BUILD_FOLDER OPTION...: runs CMake unless that has been done; ninja
# runs it again by itself when its input changes.
configure() {
  local build=$1 log
  shift
  if [ -f "$build/build.ninja" ]; then
    return
  fi
  mkdir -p "$build"
  log=$build/configure.log
  if ! cmake -S "$root" -B "$build" -G Ninja "$@" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    # A cache of a failed run may hold what was not found yet.
    rm -f "$build/CMakeCache.txt"
    die "the configuration failed; the whole log is $log"
  fi
}

# Whether two processes' worth of a compiler fit into memory; else one at a
# time. A file that includes MLIR's headers takes up to 1.5 GiB.
build_jobs() {
  local cores kibibytes fit
  cores=$(nproc)
  kibibytes=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo 2>/dev/null)
  fit=$(( ${kibibytes:-4194304} / 1572864 ))
  if [ "$fit" -lt 1 ]; then
    fit=1
  fi
  echo $((cores < fit ? cores : fit))
}
