//===- canonicalize.mlir - What folds in a kernel ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --canonicalize | FileCheck %s

// Reads, views and arithmetic that nothing uses are removed; stores stay.

// CHECK-LABEL: rtile.func @dead(
// CHECK-SAME:    %[[X:[^:]+]]: memref<?x64xf32>) grid(%[[I:[^:]+]]: index)
// CHECK-NEXT:    %[[C:.+]] = arith.constant dense<2.000000e+00> : tensor<16x64xf32>
// CHECK-NEXT:    %[[V:.+]] = rtile.view %[[X]][*, *]
// CHECK-NEXT:    rtile.store %[[C]], %[[V]][%[[I]], %[[I]]]
// CHECK-NEXT:    rtile.return
rtile.func @dead(%x: memref<?x64xf32>) grid(%i: index) {
  %one = arith.constant dense<1.0> : tensor<16x64xf32>
  %v = rtile.view %x[*, *] : memref<?x64xf32> to !rtile.view<16x64xf32>
  %w = rtile.view %x[*, *] residue(%i) : memref<?x64xf32>
      to !rtile.view<16x64xf32, rate = 2>
  %t = rtile.load %w[%i, %i] : !rtile.view<16x64xf32, rate = 2>
  %s = rtile.dot %t, %t transposed
      : tensor<16x64xf32>, tensor<16x64xf32> -> tensor<16x16xf32>
  %m = rtile.reduce max %s : tensor<16x16xf32>
  %begin, %end = rtile.bounds %w : !rtile.view<16x64xf32, rate = 2>
  %seen = rtile.visible %w[%begin], %w[%end]
      : !rtile.view<16x64xf32, rate = 2>, !rtile.view<16x64xf32, rate = 2>
      -> tensor<16x16xi1>
  %two = arith.addf %one, %one : tensor<16x64xf32>
  rtile.store %two, %v[%i, %i] : !rtile.view<16x64xf32>
  rtile.return
}

// A load reads what an earlier store wrote: neither moves.

// CHECK-LABEL: rtile.func @order_of_memory(
// CHECK:         %[[A:.+]] = rtile.load
// CHECK-NEXT:    rtile.store %[[A]]
// CHECK-NEXT:    %[[B:.+]] = rtile.load
// CHECK-NEXT:    rtile.store %[[B]]
rtile.func @order_of_memory(%x: memref<?xf32>) grid(%i: index) {
  %c64 = arith.constant 64 : index
  %v = rtile.view %x[*] : memref<?xf32> to !rtile.view<64xf32>
  %a = rtile.load %v[%i] : !rtile.view<64xf32>
  rtile.store %a, %v[%c64] : !rtile.view<64xf32>
  %b = rtile.load %v[%i] : !rtile.view<64xf32>
  rtile.store %b, %v[%i] : !rtile.view<64xf32>
  rtile.return
}

// A slice of a slice and a slice of a join find the columns where they are.

// CHECK-LABEL: rtile.func @slices(
// CHECK-SAME:    grid(%[[I:[^:]+]]: index)
// CHECK:         %[[A:.+]] = rtile.load
// CHECK:         %[[E:.+]] = math.exp2 %[[A]]
// CHECK:         %[[J:.+]] = rtile.join %[[A]], %[[E]] : tensor<16x64xf32>, tensor<16x64xf32> -> tensor<16x128xf32>
// CHECK:         rtile.store %[[E]]
// CHECK:         %[[B:.+]] = rtile.slice %[[A]][40] : tensor<16x64xf32> -> tensor<16x8xf32>
// CHECK:         rtile.store %[[B]]
// CHECK:         %[[C:.+]] = rtile.slice %[[A]][8] : tensor<16x64xf32> -> tensor<16x32xf32>
// CHECK:         rtile.store %[[C]]
// CHECK:         %[[D:.+]] = rtile.slice %[[J]][32] : tensor<16x128xf32> -> tensor<16x64xf32>
// CHECK:         rtile.store %[[D]]
rtile.func @slices(%x: memref<?x64xf32>) grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf32> to !rtile.view<16x64xf32>
  %w8 = rtile.view %x[*, *] : memref<?x64xf32> to !rtile.view<16x8xf32>
  %w32 = rtile.view %x[*, *] : memref<?x64xf32> to !rtile.view<16x32xf32>
  %a = rtile.load %v[%i, %i] : !rtile.view<16x64xf32>
  %e = math.exp2 %a : tensor<16x64xf32>
  %both = rtile.join %a, %e : tensor<16x64xf32>, tensor<16x64xf32>
      -> tensor<16x128xf32>
  // All columns of one operand.
  %right = rtile.slice %both[64] : tensor<16x128xf32> -> tensor<16x64xf32>
  rtile.store %right, %v[%i, %i] : !rtile.view<16x64xf32>
  // Some columns of a slice.
  %half = rtile.slice %a[32] : tensor<16x64xf32> -> tensor<16x32xf32>
  %eighth = rtile.slice %half[8] : tensor<16x32xf32> -> tensor<16x8xf32>
  rtile.store %eighth, %w8[%i, %i] : !rtile.view<16x8xf32>
  // Some columns of one operand.
  %inner = rtile.slice %both[8] : tensor<16x128xf32> -> tensor<16x32xf32>
  rtile.store %inner, %w32[%i, %i] : !rtile.view<16x32xf32>
  // Columns of two operands stay what they are.
  %middle = rtile.slice %both[32] : tensor<16x128xf32> -> tensor<16x64xf32>
  rtile.store %middle, %v[%i, %i] : !rtile.view<16x64xf32>
  rtile.return
}

// Slices of one tile, put together again, are the tile: but only in order.

// CHECK-LABEL: rtile.func @joins(
// CHECK:         %[[A:.+]] = rtile.load
// CHECK:         %[[L:.+]] = rtile.slice %[[A]][0]
// CHECK:         %[[R:.+]] = rtile.slice %[[A]][32]
// CHECK:         rtile.store %[[A]]
// CHECK:         rtile.store %[[A]]
// CHECK:         %[[S:.+]] = rtile.join %[[R]], %[[L]]
// CHECK:         rtile.store %[[S]]
rtile.func @joins(%x: memref<?x64xf32>) grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf32> to !rtile.view<16x64xf32>
  %a = rtile.load %v[%i, %i] : !rtile.view<16x64xf32>
  %left = rtile.slice %a[0] : tensor<16x64xf32> -> tensor<16x32xf32>
  %right = rtile.slice %a[32] : tensor<16x64xf32> -> tensor<16x32xf32>
  %b = rtile.join %left, %right : tensor<16x32xf32>, tensor<16x32xf32>
      -> tensor<16x64xf32>
  rtile.store %b, %v[%i, %i] : !rtile.view<16x64xf32>
  %c = rtile.join %a : tensor<16x64xf32> -> tensor<16x64xf32>
  rtile.store %c, %v[%i, %i] : !rtile.view<16x64xf32>
  %d = rtile.join %right, %left : tensor<16x32xf32>, tensor<16x32xf32>
      -> tensor<16x64xf32>
  rtile.store %d, %v[%i, %i] : !rtile.view<16x64xf32>
  rtile.return
}

// Constants: slices and joins of one value, masks of which something is known.

// CHECK-LABEL: rtile.func @constants(
// CHECK-DAG:     %[[TWO:.+]] = arith.constant dense<2.000000e+00> : tensor<16x64xf32>
// CHECK-NOT:     rtile.slice
// CHECK:         rtile.store %[[TWO]]
// CHECK-NEXT:    %[[J:.+]] = rtile.join
// CHECK-NEXT:    rtile.store %[[J]]
// CHECK-NEXT:    rtile.store %[[TWO]]
// CHECK-NEXT:    rtile.return
rtile.func @constants(%x: memref<?x64xf32>) grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf32> to !rtile.view<16x64xf32>
  %wide = arith.constant dense<2.0> : tensor<16x256xf32>
  %one = arith.constant dense<1.0> : tensor<16x32xf32>
  %none = arith.constant dense<false> : tensor<16xi1>
  %some = arith.constant dense<[false, true]> : tensor<2xi1>
  %a = rtile.slice %wide[100] : tensor<16x256xf32> -> tensor<16x32xf32>
  %b = rtile.join %a, %a : tensor<16x32xf32>, tensor<16x32xf32>
      -> tensor<16x64xf32>
  rtile.store %b, %v[%i, %i] : !rtile.view<16x64xf32>
  %c = rtile.join %a, %one : tensor<16x32xf32>, tensor<16x32xf32>
      -> tensor<16x64xf32>
  rtile.store %c, %v[%i, %i] : !rtile.view<16x64xf32>
  %f = rtile.any %none : tensor<16xi1>
  %t = rtile.any %some : tensor<2xi1>
  scf.if %f {
    rtile.store %c, %v[%i, %i] : !rtile.view<16x64xf32>
  }
  scf.if %t {
    rtile.store %b, %v[%i, %i] : !rtile.view<16x64xf32>
  }
  rtile.return
}

// A fold to the width that is there already adds nothing.

// CHECK-LABEL: rtile.func @folds(
// CHECK:         %[[A:.+]] = rtile.load
// CHECK-NEXT:    rtile.store %[[A]]
// CHECK-NEXT:    %[[F:.+]] = rtile.fold %[[A]] : tensor<16x64xf32> -> tensor<16x32xf32>
// CHECK-NEXT:    rtile.store %[[F]]
rtile.func @folds(%x: memref<?x64xf32>) grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf32> to !rtile.view<16x64xf32>
  %w = rtile.view %x[*, *] : memref<?x64xf32> to !rtile.view<16x32xf32>
  %a = rtile.load %v[%i, %i] : !rtile.view<16x64xf32>
  %b = rtile.fold %a : tensor<16x64xf32> -> tensor<16x64xf32>
  rtile.store %b, %v[%i, %i] : !rtile.view<16x64xf32>
  %c = rtile.fold %a : tensor<16x64xf32> -> tensor<16x32xf32>
  rtile.store %c, %w[%i, %i] : !rtile.view<16x32xf32>
  rtile.return
}
