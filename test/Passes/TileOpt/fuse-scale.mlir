//===- fuse-scale.mlir - Scale and subtract at once ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-fuse-scale | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-fuse-scale --remarks-filter='rtile-.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The maximum is looked for among products, hidden ones included, and scaled as
// one number a row; weights take one operation up to the exponential.

// REMARK: [Passed] FuseScale {{.*}}Remark="masked: 1 differences of scaled scores are one multiply-add each"
// REMARK: [Passed] FuseScale {{.*}}Remark="other_use:
// REMARK-NOT: remark:

// CHECK-LABEL: rtile.func @masked(
// CHECK-DAG:     %[[SCALE:.+]] = arith.constant dense<2.500000e-01> : tensor<64x32xf32>
// CHECK-DAG:     %[[HIDDEN:.+]] = arith.constant dense<0xFF800000> : tensor<64x32xf32>
// CHECK:         %[[PRODUCT:.+]] = rtile.load
// CHECK:         %[[SEEN:.+]] = rtile.visible
// CHECK-NEXT:    %[[MASKED:.+]] = arith.select %[[SEEN]], %[[PRODUCT]], %[[HIDDEN]]
// CHECK-NEXT:    %[[GREATEST:.+]] = rtile.reduce max %[[MASKED]]
// CHECK-NEXT:    %[[ROW_SCALE:.+]] = arith.constant dense<2.500000e-01> : tensor<64xf32>
// CHECK-NEXT:    %[[MAX:.+]] = arith.mulf %[[GREATEST]], %[[ROW_SCALE]]
// CHECK-NEXT:    %[[M:.+]] = arith.maximumf %[[MAX]]
// CHECK-NEXT:    %[[NEGATED:.+]] = arith.negf %[[M]]
// CHECK-NEXT:    %[[WIDE:.+]] = rtile.broadcast %[[NEGATED]]
// CHECK-NEXT:    %[[BELOW:.+]] = math.fma %[[MASKED]], %[[SCALE]], %[[WIDE]]
// CHECK-NEXT:    math.exp2 %[[BELOW]]

!buffer = memref<?x32xf32, strided<[?, 1]>>
rtile.func @masked(%X: !buffer) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %scale = arith.constant dense<0.25> : tensor<64x32xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %lowest = arith.constant dense<-3.40282347E+38> : tensor<64xf32>
  %x = rtile.view %X[*, *] : !buffer to !rtile.view<64x32xf32>
  %k = rtile.view %X[*, *] : !buffer to !rtile.view<32x32xf32>
  %product = rtile.load %x[%i, %c0] : !rtile.view<64x32xf32>
  %scores = arith.mulf %scale, %product : tensor<64x32xf32>
  %seen = rtile.visible %x[%i], %k[%c0] causal : !rtile.view<64x32xf32>, !rtile.view<32x32xf32> -> tensor<64x32xi1>
  %masked = arith.select %seen, %scores, %hidden : tensor<64x32xi1>, tensor<64x32xf32>
  %max = rtile.reduce max %masked : tensor<64x32xf32>
  %m = arith.maximumf %max, %lowest : tensor<64xf32>
  %wide = rtile.broadcast %m : tensor<64xf32> -> tensor<64x32xf32>
  %below = arith.subf %masked, %wide : tensor<64x32xf32>
  %p = math.exp2 %below : tensor<64x32xf32>
  rtile.store %p, %x[%i, %c0] : !rtile.view<64x32xf32>
  rtile.return
}

// -----

// With a scale below 0 the greatest score comes from the least product.

// CHECK-LABEL: rtile.func @negative(
// CHECK-NOT:     math.fma
// CHECK:         rtile.return

!buffer = memref<?x32xf32, strided<[?, 1]>>
rtile.func @negative(%X: !buffer) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %scale = arith.constant dense<-0.25> : tensor<64x32xf32>
  %x = rtile.view %X[*, *] : !buffer to !rtile.view<64x32xf32>
  %product = rtile.load %x[%i, %c0] : !rtile.view<64x32xf32>
  %scores = arith.mulf %product, %scale : tensor<64x32xf32>
  %max = rtile.reduce max %scores : tensor<64x32xf32>
  %wide = rtile.broadcast %max : tensor<64xf32> -> tensor<64x32xf32>
  %below = arith.subf %scores, %wide : tensor<64x32xf32>
  rtile.store %below, %x[%i, %c0] : !rtile.view<64x32xf32>
  rtile.return
}

// -----

// Scores that something else uses are there beside.

// CHECK-LABEL: rtile.func @other_use(
// CHECK:         %[[SCORES:.+]] = arith.mulf
// CHECK:         rtile.reduce max
// CHECK:         math.fma
// CHECK:         rtile.store %[[SCORES]]

!buffer = memref<?x32xf32, strided<[?, 1]>>
rtile.func @other_use(%X: !buffer) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %scale = arith.constant dense<0.25> : tensor<64x32xf32>
  %x = rtile.view %X[*, *] : !buffer to !rtile.view<64x32xf32>
  %product = rtile.load %x[%i, %c0] : !rtile.view<64x32xf32>
  %scores = arith.mulf %product, %scale : tensor<64x32xf32>
  %max = rtile.reduce max %scores : tensor<64x32xf32>
  %wide = rtile.broadcast %max : tensor<64xf32> -> tensor<64x32xf32>
  %below = arith.subf %scores, %wide : tensor<64x32xf32>
  rtile.store %below, %x[%i, %c0] : !rtile.view<64x32xf32>
  rtile.store %scores, %x[%i, %c0] : !rtile.view<64x32xf32>
  rtile.return
}

// -----

// A mask that hides with another number than -inf does not survive the scale.

// CHECK-LABEL: rtile.func @other_mask(
// CHECK-NOT:     math.fma
// CHECK:         rtile.return

!buffer = memref<?x32xf32, strided<[?, 1]>>
rtile.func @other_mask(%X: !buffer) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %scale = arith.constant dense<0.25> : tensor<64x32xf32>
  %hidden = arith.constant dense<-100.0> : tensor<64x32xf32>
  %x = rtile.view %X[*, *] : !buffer to !rtile.view<64x32xf32>
  %k = rtile.view %X[*, *] : !buffer to !rtile.view<32x32xf32>
  %product = rtile.load %x[%i, %c0] : !rtile.view<64x32xf32>
  %scores = arith.mulf %product, %scale : tensor<64x32xf32>
  %seen = rtile.visible %x[%i], %k[%c0] causal : !rtile.view<64x32xf32>, !rtile.view<32x32xf32> -> tensor<64x32xi1>
  %masked = arith.select %seen, %scores, %hidden : tensor<64x32xi1>, tensor<64x32xf32>
  %max = rtile.reduce max %masked : tensor<64x32xf32>
  %wide = rtile.broadcast %max : tensor<64xf32> -> tensor<64x32xf32>
  %below = arith.subf %masked, %wide : tensor<64x32xf32>
  rtile.store %below, %x[%i, %c0] : !rtile.view<64x32xf32>
  rtile.return
}
