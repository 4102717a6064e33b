//===- explain.mlir - Choices with their places ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// --explain gives each choice a line: where, which pass, what and why. It is
// apart from the output, whichever of the two goes to stdout.

// RUN: ringlet-compile %s -o %t.rla --explain | FileCheck %s
// RUN: ringlet-compile %s -o %t.rla --explain --target=cpu:x86-64-v4 \
// RUN:   | FileCheck %s --check-prefix=ONE
// RUN: ringlet-compile %s --emit=rplan --explain 2>&1 >/dev/null \
// RUN:   | FileCheck %s --check-prefix=STDERR

// CHECK:      for x86-64-v3:
// CHECK:      [[@LINE+18]]:19: ringlet-choose-tiling: branch 0 on x86-64-v3: tiles of
// CHECK-SAME:   cycles a score
// CHECK:      ringlet-choose-tiling: branch 1 on x86-64-v3
// CHECK:      ringlet-to-rtile: 2 branch kernels
// CHECK:      for x86-64-v4:
// CHECK:      ringlet-choose-tiling: branch 0 on x86-64-v4

// ONE-NOT:    x86-64-v3
// ONE:        for x86-64-v4:
// ONE-NOT:    x86-64-v3

// STDERR:     for x86-64-v3:
// STDERR-NEXT: ringlet-choose-order: no order: its 2 branches may want different ones
// STDERR-NEXT: ringlet-choose-combine: chain; union is not taken: expected branches with segments whose keys can be counted; apart is not possible: expected branches of different heads, found heads of several
// STDERR-NEXT: ringlet-choose-tiling: branch 0

func.func @attend(%q: tensor<1x?x2x16xf32>, %k: tensor<1x?x2x16xf32>)
    -> tensor<1x?x2x16xf32> {
  %output, %lse = ringlet.attention %q, %k, %k
      branches [<w = 128, r = 1>, <w = *, r = 4>]
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>)
      -> (tensor<1x?x2x16xf32>, tensor<1x2x?xf32>)
  return %output : tensor<1x?x2x16xf32>
}
