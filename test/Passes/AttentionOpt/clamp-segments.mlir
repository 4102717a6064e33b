//===- clamp-segments.mlir - Segments that hold the whole sequence ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-clamp-segments | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --ringlet-clamp-segments --remarks-filter='ringlet-.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A segment beyond every position loses its bound; one that is shorter, or as
// long as the last position only, keeps it.

// REMARK: segment of 4096 holds all 1000 positions: unbounded

// CHECK-LABEL: func.func @overshooting(
// CHECK:         branches [<w = *, r = 2>, <w = 999, r = 3>, <w = *, r = 1>]
func.func @overshooting(%x: tensor<1x1000x2x64xf32>)
    -> (tensor<1x1000x2x64xf32>, tensor<1x2x1000xf32>) {
  %o, %l = ringlet.attention %x, %x, %x
      branches [<w = 4096, r = 2>, <w = 999, r = 3>, <w = 1000, r = 1>]
      : (tensor<1x1000x2x64xf32>, tensor<1x1000x2x64xf32>, tensor<1x1000x2x64xf32>)
      -> (tensor<1x1000x2x64xf32>, tensor<1x2x1000xf32>)
  return %o, %l : tensor<1x1000x2x64xf32>, tensor<1x2x1000xf32>
}

// -----

// A dynamic length proves nothing.

// CHECK-LABEL: func.func @dynamic(
// CHECK:         branches [<w = 4096, r = 2>]
func.func @dynamic(%x: tensor<1x?x2x64xf32>)
    -> (tensor<1x?x2x64xf32>, tensor<1x2x?xf32>) {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = 4096, r = 2>]
      : (tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>)
      -> (tensor<1x?x2x64xf32>, tensor<1x2x?xf32>)
  return %o, %l : tensor<1x?x2x64xf32>, tensor<1x2x?xf32>
}

// -----

// More queries than keys put rows at negative positions, in segment -1, which
// holds no key; an unbounded segment would hold them all (S1, B3).

// CHECK-LABEL: func.func @negative_positions(
// CHECK:         branches [<w = 4096, r = 1>]
func.func @negative_positions(%q: tensor<1x20x2x64xf32>, %k: tensor<1x10x2x64xf32>)
    -> (tensor<1x20x2x64xf32>, tensor<1x2x20xf32>) {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 4096, r = 1>]
      : (tensor<1x20x2x64xf32>, tensor<1x10x2x64xf32>, tensor<1x10x2x64xf32>)
      -> (tensor<1x20x2x64xf32>, tensor<1x2x20xf32>)
  return %o, %l : tensor<1x20x2x64xf32>, tensor<1x2x20xf32>
}

// -----

// A runtime offset may put queries into any segment.

// CHECK-LABEL: func.func @runtime_offset(
// CHECK:         branches [<w = 4096, r = 1>]
func.func @runtime_offset(%x: tensor<1x20x2x64xf32>, %p: tensor<i64>)
    -> (tensor<1x20x2x64xf32>, tensor<1x2x20xf32>) {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = 4096, r = 1>] q_offset(%p)
      : (tensor<1x20x2x64xf32>, tensor<1x20x2x64xf32>, tensor<1x20x2x64xf32>, tensor<i64>)
      -> (tensor<1x20x2x64xf32>, tensor<1x2x20xf32>)
  return %o, %l : tensor<1x20x2x64xf32>, tensor<1x2x20xf32>
}
