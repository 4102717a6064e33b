//===- invalid-ring.mlir - What has no plan on a ring ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --ringlet-partition-ring --split-input-file \
// RUN:   --verify-diagnostics

#ring = #rlayout.layout<ring = #rlayout.ring<?, zigzag>>
#other = #rlayout.layout<ring = #rlayout.ring<?, contiguous>>
!x = tensor<1x?x2x8xf32, #ring>
!y = tensor<1x?x2x8xf32, #other>
func.func @two_rings(%q: !x, %k: !y, %v: !y) -> !x {
  // expected-error@+1 {{expected query, key, value and output on one ring (G1)}}
  %o, %l = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 32, key = 32>]
      : (!x, !y, !y) -> (!x, tensor<1x2x?xf32>)
  return %o : !x
}

// -----

#ring = #rlayout.layout<ring = #rlayout.ring<?, zigzag>>
!x = tensor<1x?x2x8xf32, #ring>
func.func @lse(%q: !x, %k: !x, %v: !x) -> (!x, tensor<1x2x?xf32>) {
  // expected-error@+1 {{expected an lse on the ring of the output, along its last axis (G1)}}
  %o, %l = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 32, key = 32>]
      : (!x, !x, !x) -> (!x, tensor<1x2x?xf32>)
  return %o, %l : !x, tensor<1x2x?xf32>
}

// -----

#ring = #rlayout.layout<ring = #rlayout.ring<?, zigzag>>
!x = tensor<1x?x2x8xf32, #ring>
func.func @sum(%q: !x, %k: !x, %v: !x) -> !x {
  // expected-error@+1 {{expected one softmax on a ring, found mix = sum (R2)}}
  %o, %l = ringlet.attention %q, %k, %v branches [<w = *, r = 1>] mix = sum
      tilings = [#ringlet.tiling<query = 32, key = 32>]
      : (!x, !x, !x) -> (!x, tensor<1x1x2x?xf32>)
  return %o : !x
}

// -----

#ring = #rlayout.layout<ring = #rlayout.ring<?, zigzag>>
!x = tensor<1x?x2x8xf32, #ring>
func.func @sizes(%q: !x, %k: !x, %v: !x, %w: tensor<i64>) -> !x {
  // expected-error@+1 {{expected branches of known w and r on a ring (B1)}}
  %o, %l = ringlet.attention %q, %k, %v branches [<w = ?, r = 1>] sizes(%w)
      tilings = [#ringlet.tiling<query = 32, key = 32>]
      : (!x, !x, !x, tensor<i64>) -> (!x, tensor<1x2x?xf32>)
  return %o : !x
}
