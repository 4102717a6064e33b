//===- divide-rows.mlir - Division of rows on a GPU ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-gpu-divide-rows | FileCheck %s

// CHECK-LABEL: rtile.func @bounded(
// CHECK:         %[[ROWS:.+]] = arith.maximumf
// CHECK-NEXT:    %[[ONE:.+]] = arith.constant dense<1.000000e+00> : tensor<16xf32>
// CHECK-NEXT:    %[[INVERSE:.+]] = arith.divf %[[ONE]], %[[ROWS]] fastmath<afn> : tensor<16xf32>
// CHECK-NEXT:    %[[WIDE:.+]] = rtile.broadcast %[[INVERSE]]
// CHECK-NEXT:    arith.mulf %{{.+}}, %[[WIDE]] : tensor<16x8xf32>
// CHECK-NOT:     arith.divf
rtile.func @bounded(%X: memref<?x8xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %tiny = arith.constant dense<1.17549435E-38> : tensor<16xf32>
  %x = rtile.view %X[*, *] : memref<?x8xf32, strided<[?, 1]>> to !rtile.view<16x8xf32>
  %t = rtile.load %x[%i, %c0] : !rtile.view<16x8xf32>
  %sum = rtile.reduce sum %t : tensor<16x8xf32>
  %divisor = arith.maximumf %sum, %tiny : tensor<16xf32>
  %wide = rtile.broadcast %divisor : tensor<16xf32> -> tensor<16x8xf32>
  %y = arith.divf %t, %wide : tensor<16x8xf32>
  rtile.store %y, %x[%i, %c0] : !rtile.view<16x8xf32>
  rtile.return
}

// The reciprocal of a subnormal number would be infinite.

// CHECK-LABEL: rtile.func @unbounded(
// CHECK:         arith.divf %{{.+}}, %{{.+}} : tensor<16x8xf32>
// CHECK-LABEL: rtile.func @too_small(
// CHECK:         arith.divf %{{.+}}, %{{.+}} : tensor<16x8xf32>
rtile.func @unbounded(%X: memref<?x8xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x8xf32, strided<[?, 1]>> to !rtile.view<16x8xf32>
  %t = rtile.load %x[%i, %c0] : !rtile.view<16x8xf32>
  %sum = rtile.reduce sum %t : tensor<16x8xf32>
  %wide = rtile.broadcast %sum : tensor<16xf32> -> tensor<16x8xf32>
  %y = arith.divf %t, %wide : tensor<16x8xf32>
  rtile.store %y, %x[%i, %c0] : !rtile.view<16x8xf32>
  rtile.return
}
rtile.func @too_small(%X: memref<?x8xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %tiny = arith.constant dense<1.0E-40> : tensor<16xf32>
  %x = rtile.view %X[*, *] : memref<?x8xf32, strided<[?, 1]>> to !rtile.view<16x8xf32>
  %t = rtile.load %x[%i, %c0] : !rtile.view<16x8xf32>
  %sum = rtile.reduce sum %t : tensor<16x8xf32>
  %divisor = arith.maximumf %sum, %tiny : tensor<16xf32>
  %wide = rtile.broadcast %divisor : tensor<16xf32> -> tensor<16x8xf32>
  %y = arith.divf %t, %wide : tensor<16x8xf32>
  rtile.store %y, %x[%i, %c0] : !rtile.view<16x8xf32>
  rtile.return
}
