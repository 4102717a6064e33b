//===- propagate-orders-remarks.mlir - What moved, in words ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --ringlet-propagate-orders --remarks-filter='.*' \
// RUN:   --remark-format=emitRemark -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --implicit-check-not=remark:

// Each operation that takes another order, each reorder that goes and each that
// comes, at its place.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
!t = tensor<1x4x8xf32>
!h = tensor<1x4x8xf32, #h>
// CHECK-DAG: :[[#@LINE+1]]:{{.*}}PlaceReorder {{.*}}"a reorder to #rlayout.order<hilbert, grid = [2, 2]>"
func.func @f(%x: !t) -> (!h, !h) {
  // CHECK-DAG: :[[#@LINE+1]]:{{.*}}MoveReorder {{.*}}"math.exp takes operand #0 in #rlayout.order<hilbert, grid = [2, 2]>, no longer in linear order"
  %a = math.exp %x : !t
  // CHECK-DAG: :[[#@LINE+1]]:{{.*}}MoveReorder {{.*}}"math.sin takes operand #0 in #rlayout.order<hilbert, grid = [2, 2]>, no longer in linear order"
  %b = math.sin %x : !t
  // CHECK-DAG: :[[#@LINE+1]]:{{.*}}CancelReorder {{.*}}"a reorder to #rlayout.order<hilbert, grid = [2, 2]> is not needed any more"
  %ah = ringlet.reorder %a : !t to !h
  // CHECK-DAG: :[[#@LINE+1]]:{{.*}}CancelReorder {{.*}}"a reorder to #rlayout.order<hilbert, grid = [2, 2]> is not needed any more"
  %bh = ringlet.reorder %b : !t to !h
  return %ah, %bh : !h, !h
}
