//===- order-grid.mlir - Which axes of a grid run fastest -----*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-cpu-order-grid | FileCheck %s
// RUN: ringlet-opt %s --rtile-cpu-order-grid \
// RUN:   --remarks-filter=rtile-cpu-order-grid -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: ringlet-opt %s --rtile-fuse-rows --rtile-pack-operands \
// RUN:   --rtile-cpu-order-grid --rtile-assign-scratch --rtile-to-cpu \
// RUN:   | FileCheck %s --check-prefix=CODE

// A token has its heads beside each other, so heads run before segments; batches
// lie far apart and stay the last.

// CHECK-LABEL: rtile.func @tokens(
// CHECK-SAME:    rtile.grid_order = array<i64: 0, 2, 1, 3>
// REMARK:      [Passed] OrderGrid {{.*}}tokens: what lies within a row runs before
// REMARK-NOT:  OrderGrid

// The words behind the buffer's are the extents; the remainder by the extent of
// heads is taken before that of segments.

// CODE-LABEL:  llvm.func @tokens(
// CODE:          scf.for %[[ITEM:.+]] =
// CODE:            arith.remui %[[ITEM]], %[[TILES:.+]] :
// CODE:            %[[OFTILES:.+]] = arith.divui %[[ITEM]], %[[TILES]]
// CODE:            %[[HEAD:.+]] = arith.remui %[[OFTILES]], %[[HEADS:.+]] :
// CODE:            %[[OFHEADS:.+]] = arith.divui %[[OFTILES]], %[[HEADS]]
// CODE:            %[[SEGMENT:.+]] = arith.remui %[[OFHEADS]], %[[SEGMENTS:.+]] :
// CODE:            %[[BATCH:.+]] = arith.divui %[[OFHEADS]], %[[SEGMENTS]]
// CODE:            arith.muli %[[BATCH]]
// CODE:            arith.muli %[[HEAD]]
rtile.func @tokens(%X: memref<?x?x4x16xf32>)
    grid(%tile: index, %segment: index, %head: index, %batch: index) {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[%batch, *, %head, *] segment(%segment) : memref<?x?x4x16xf32> to !rtile.view<16x16xf32, w = 64>
  %tile_x = rtile.load %x[%tile, %c0] : !rtile.view<16x16xf32, w = 64>
  rtile.store %tile_x, %x[%tile, %c0] : !rtile.view<16x16xf32, w = 64>
  rtile.return
}

// Where a head has all of its tokens together, the order stays as it is, also if
// another view would have it otherwise.

// CHECK-LABEL: rtile.func @heads(
// CHECK-NOT:     rtile.grid_order
// CHECK:         rtile.return
rtile.func @heads(%X: memref<?x4x?x16xf32>, %Y: memref<?x?x4x16xf32>)
    grid(%tile: index, %segment: index, %head: index, %batch: index) {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[%batch, %head, *, *] segment(%segment) : memref<?x4x?x16xf32> to !rtile.view<16x16xf32, w = 64>
  %y = rtile.view %Y[%batch, *, %head, *] segment(%segment) : memref<?x?x4x16xf32> to !rtile.view<16x16xf32, w = 64>
  %tile_x = rtile.load %x[%tile, %c0] : !rtile.view<16x16xf32, w = 64>
  rtile.store %tile_x, %y[%tile, %c0] : !rtile.view<16x16xf32, w = 64>
  rtile.return
}
