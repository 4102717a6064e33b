//===- pipelines.mlir - The pipelines by name ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The pipelines that people name are those that the compiler runs. This locks
// what they consist of, and that their option arrives.

// RUN: ringlet-opt %s --ringlet-lower-to-rtile --dump-pass-pipeline 2>&1 \
// RUN:   >/dev/null | FileCheck %s --check-prefix=RTILE
// RTILE:      ringlet-clamp-segments
// RTILE:      ringlet-choose-order{level=x86-64-v3 order=auto}
// RTILE:      ringlet-propagate-orders
// RTILE:      ringlet-choose-combine{combine=auto level=x86-64-v3
// RTILE:      ringlet-choose-tiling{level=x86-64-v3 recipe=auto
// RTILE:      rtile-choose-recipes{level=x86-64-v3 recipe=auto}
// RTILE:      ringlet-to-rtile
// RTILE:      rtile-split-masked-loops
// RTILE-NOT:  rtile-to-cpu

// RUN: ringlet-opt %s --ringlet-lower-to-cpu="level=x86-64-v4" \
// RUN:   --dump-pass-pipeline 2>&1 >/dev/null \
// RUN:   | FileCheck %s --check-prefix=CPU
// CPU-NOT:    x86-64-v3
// CPU:        ringlet-choose-tiling{level=x86-64-v4 recipe=auto
// CPU:        ringlet-to-rtile
// CPU:        level=x86-64-v4
// CPU-NOT:    x86-64-v3

// One after the other they make the third.
// RUN: ringlet-opt %s --ringlet-lower-to-rtile --rtile-lower-to-cpu -o %t.a
// RUN: ringlet-opt %s --ringlet-lower-to-cpu -o %t.b
// RUN: diff %t.a %t.b
// RUN: FileCheck %s --check-prefix=CODE < %t.b
// CODE:       rplan.func @attend
// CODE:       llvm.func @attend
// CODE-SAME:    rtile.grid_rank
// CODE-NOT:   rtile.func

// An unknown level is refused with the known ones.
// RUN: not ringlet-opt %s --ringlet-decide="level=x86-64-v9" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LEVEL
// LEVEL:      error: expected a CPU level (x86-64-v3, x86-64-v4, x86-64-v4-bf16, x86-64-v4-amx){{.*}}, found 'x86-64-v9'

func.func @attend(%q: tensor<1x?x2x16xf32>) -> tensor<1x?x2x16xf32> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 64, r = 1>] causal
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>)
      -> (tensor<1x?x2x16xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x16xf32>
}
