//===- fit-rows-compiled.mlir - Lower tiles of a graph -------*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Kernels for few queries, as the compiler makes them, have a form for the rows
// of one query.

// RUN: ringlet-compile %s --target=x86-64-v4 --explain -o %t.rla 2>&1 | FileCheck %s

// CHECK: rtile-cpu-fit-rows: attend_attention0_parts0: where no more exist, tiles of 4 rows: {{[0-9]+}} cycles a key by the cost model with lanes along depth and columns

func.func @attend(%q: tensor<?x?x8x64xf32>, %k: tensor<?x?x2x64xf32>)
    -> tensor<?x?x8x64xf32> {
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      : (tensor<?x?x8x64xf32>, tensor<?x?x2x64xf32>, tensor<?x?x2x64xf32>)
      -> (tensor<?x?x8x64xf32>, tensor<?x8x?xf32>)
  return %o : tensor<?x?x8x64xf32>
}
