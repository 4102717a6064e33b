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

# The compiler that install_deps.sh brings takes half as long as GCC for files
# with a large precompiled header. CC and CXX name another one.
choose_compiler() {
  if [ -z "${CC:-}${CXX:-}" ] && command -v clang++-22 >/dev/null; then
    export CC=clang-22 CXX=clang++-22
  fi
}

# configure BUILD_FOLDER OPTION...: runs CMake unless that has been done with
# these options; ninja runs it again by itself when its input changes. A folder
# keeps the compiler that it began with, but for one of tools/quickstart: most of
# it is built anew for other options, so that it takes the compiler that a folder
# made by these options has.
configure() {
  local build=$1 log fresh=()
  shift
  if [ -f "$build/build.ninja" ] &&
    [ "$(cat "$build/configure.options" 2>/dev/null)" = "$*" ]; then
    return
  fi
  mkdir -p "$build"
  log=$build/configure.log
  if grep -q BUILD_TESTS=OFF "$build/configure.options" 2>/dev/null; then
    fresh=(--fresh)
  fi
  if ! cmake "${fresh[@]}" -S "$root" -B "$build" -G Ninja "$@" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    # A cache of a failed run may hold what was not found yet.
    rm -f "$build/CMakeCache.txt"
    die "the configuration failed; the whole log is $log"
  fi
  echo "$*" >"$build/configure.options"
}

# How many compilers run at once: one for each core, but no more than fit into
# memory. A file that includes MLIR's headers takes up to 1.5 GiB.
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

# build_targets BUILD_FOLDER NINJA_ARGUMENT...: builds, with a line of progress
# every 20 seconds. Prints the errors and fails if something could not be built.
build_targets() {
  local build=$1 log ninja line
  shift
  log=$build/build.log
  NINJA_STATUS='[%f/%t %e s] ' \
    ninja -C "$build" -j "$(build_jobs)" "$@" >"$log" 2>&1 &
  ninja=$!
  # shellcheck disable=SC2064
  trap "kill $ninja 2>/dev/null; exit 130" INT TERM
  while kill -0 "$ninja" 2>/dev/null; do
    for _ in {1..100}; do
      kill -0 "$ninja" 2>/dev/null || break
      sleep 0.2
    done
    line=$(grep -o '^\[[0-9/]* [0-9.]* s\]' "$log" | tail -n 1) || line=
    [ -z "$line" ] || echo "   $line"
  done
  trap - INT TERM
  if ! wait "$ninja"; then
    # The start of the first errors: what follows is mostly their echo.
    grep -A 15 '^FAILED:' "$log" | cut -c -400 | head -n 40 >&2 ||
      tail -n 20 "$log" >&2
    echo "error: the build failed; the whole log is $log" >&2
    return 1
  fi
}
