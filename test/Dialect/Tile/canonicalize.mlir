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
