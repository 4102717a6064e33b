//===- absorbed-orders.mlir - Reorders that kernels do without -*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Reorders before an attention that has no order of its own become the way in
// which its kernel reads keys and values; no kernel copies them.

// RUN: ringlet-opt %s --ringlet-lower-to-rtile | FileCheck %s --implicit-check-not="rtile.func {{.*}}reorder"

!x = tensor<1x256x2x64xf32>
!lse = tensor<1x2x256xf32>

// Tokens of one residue lie together: rows at equal distances, without a table.

#residue = #rlayout.layout<order = #rlayout.order<residue<4>>>
!r = tensor<1x256x2x64xf32, #residue>
// CHECK-LABEL: rplan.func @strides(
// CHECK-NOT:     _table
// CHECK:         rplan.return
// CHECK-LABEL: rplan.func @table(
// CHECK:         rplan.order_table #rlayout.order<hilbert, grid = [16, 16]>
// CHECK:         rplan.return
// CHECK-LABEL: rtile.func @strides_attention0_branch0(
// CHECK-COUNT-2: rtile.view {{.*}} order(#rlayout.order<residue<4>>)
func.func @strides(%q: !x, %k: !r, %v: !r) -> !x {
  %kl = ringlet.reorder %k : !r to !x
  %vl = ringlet.reorder %v : !r to !x
  %o, %lse = ringlet.attention %q, %kl, %vl branches [<w = 64, r = 4>] causal : (!x, !x, !x) -> (!x, !lse)
  return %o : !x
}

// Any other order: index reads of the load, from a table.

#hilbert = #rlayout.layout<order = #rlayout.order<hilbert, grid = [16, 16]>>
!h = tensor<1x256x2x64xf32, #hilbert>
// CHECK-LABEL: rtile.func @table_attention0_branch0(
// CHECK-COUNT-2: rtile.view {{.*}} rows(
func.func @table(%q: !x, %k: !h, %v: !h) -> !x {
  %kl = ringlet.reorder %k : !h to !x
  %vl = ringlet.reorder %v : !h to !x
  %o, %lse = ringlet.attention %q, %kl, %vl branches [<w = 64, r = 1>] causal : (!x, !x, !x) -> (!x, !lse)
  return %o : !x
}
