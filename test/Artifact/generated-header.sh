#!/bin/sh
#===- generated-header.sh - Is ArtifactGenerated.h what flatc makes? --------===#
#
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
#
# Usage: generated-header.sh            compare; exit 1 on a difference
#        generated-header.sh --update   write the header anew
# Exits 77 (skipped) where flatc 2.0.8 is not installed: the text differs from
# version to version.
#
#===------------------------------------------------------------------------===#
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
schema=$root/include/ringlet/abi/artifact.fbs
header=$root/include/ringlet/abi/ArtifactGenerated.h

if ! version=$(flatc --version 2>/dev/null); then
  echo "skipped: flatc is not installed (apt-get install flatbuffers-compiler)"
  exit 77
fi
if [ "$version" != "flatc version 2.0.8" ]; then
  echo "skipped: expected flatc version 2.0.8, found '$version'"
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flatc --cpp --cpp-std c++11 --scoped-enums --gen-object-api \
  --filename-suffix Generated -o "$work" "$schema"
{
  cat <<'HEADER'
//===- ArtifactGenerated.h - Made from artifact.fbs ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
HEADER
  cat "$work/artifactGenerated.h"
} >"$work/new.h"

if [ "${1:-}" = --update ]; then
  cp "$work/new.h" "$header"
  echo "wrote $header"
elif cmp -s "$work/new.h" "$header"; then
  echo "ArtifactGenerated.h is up to date"
else
  echo "error: ArtifactGenerated.h is not what artifact.fbs makes; run" >&2
  echo "  test/Artifact/generated-header.sh --update" >&2
  exit 1
fi
