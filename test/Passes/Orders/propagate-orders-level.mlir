//===- propagate-orders-level.mlir - What a target does better -*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --ringlet-propagate-orders \
// RUN:   | FileCheck %s --check-prefixes=CHECK,FOLLOWS
// RUN: ringlet-opt %s --ringlet-propagate-orders="level=sm_80" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,FOLLOWS
// RUN: ringlet-opt %s --ringlet-propagate-orders="level=sm_90a" \
// RUN:   | FileCheck %s --check-prefixes=CHECK,STAYS

// RUN: not ringlet-opt %s --ringlet-propagate-orders="level=sm_1" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: {{.*}}sm_1

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [64, 64]>>
!q = tensor<1x4096x2x128xbf16>
!qh = tensor<1x4096x2x128xbf16, #h>
!lse = tensor<1x2x4096xf32>

// A kernel with a recipe takes linear order alone, and is worth two reorders.

// CHECK-LABEL:     func @recipe(
// CHECK-SAME:          %[[Q:[^:]+]]: {{[^%]*}}, %[[K:[^:]+]]: {{[^%]*}}, %[[V:[^:]+]]:
// FOLLOWS-NEXT:      ringlet.attention %[[Q]], %[[K]], %[[V]]
// STAYS-COUNT-2:     ringlet.reorder
// STAYS:             ringlet.attention
func.func @recipe(%q: !q, %k: !qh, %v: !qh) -> !q {
  %kl = ringlet.reorder %k : !qh to !q
  %vl = ringlet.reorder %v : !qh to !q
  %o, %lse = ringlet.attention %q, %kl, %vl branches [<w = *, r = 1>] : (!q, !q, !q) -> (!q, !lse)
  return %o : !q
}

// So it is for two branches of one softmax, not for such that are added up.

// CHECK-LABEL:     func @two_branches(
// FOLLOWS-NEXT:      ringlet.attention
// STAYS-COUNT-2:     ringlet.reorder
// STAYS:             ringlet.attention
// CHECK-NOT:       ringlet.reorder
// CHECK:           ringlet.attention {{.*}} mix = sum
func.func @two_branches(%q: !q, %k: !qh, %v: !qh) -> !q {
  %kl = ringlet.reorder %k : !qh to !q
  %vl = ringlet.reorder %v : !qh to !q
  %o, %lse = ringlet.attention %q, %kl, %vl branches [<w = 512, r = 1>, <w = 2048, r = 4>] : (!q, !q, !q) -> (!q, !lse)
  %kl2 = ringlet.reorder %k : !qh to !q
  %vl2 = ringlet.reorder %v : !qh to !q
  %o2, %lse2 = ringlet.attention %o, %kl2, %vl2 branches [<w = 512, r = 1>, <w = 2048, r = 4>] mix = sum : (!q, !q, !q) -> (!q, tensor<2x1x2x4096xf32>)
  return %o2 : !q
}
