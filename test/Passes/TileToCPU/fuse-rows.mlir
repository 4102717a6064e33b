//===- fuse-rows.mlir - What runs panel by panel ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-fuse-rows | FileCheck %s

// One turn of a streaming softmax is one group: product, maximum, then rows,
// then weights and their sum. What is broadcast or masked is repeated where it is
// used and belongs to no phase. The decay of the accumulator runs inside the
// second product, as its initial value.

// CHECK-LABEL: rtile.func @attention(
// CHECK:         scf.for
// CHECK:           %[[S:.+]] = rtile.dot {{.*}} {rtile.group = 0 : i64, rtile.phase = 0 : i64}
// CHECK:           %[[SEEN:.+]] = rtile.visible
// CHECK-NOT:       rtile.group
// CHECK-SAME:      -> tensor<32x16xi1>
// CHECK:           %[[M:.+]] = arith.select %[[SEEN]], %[[S]], {{.*}} {rtile.group = 0 : i64, rtile.phase = 1 : i64}
// CHECK:           rtile.reduce max %[[M]] {rtile.group = 0 : i64, rtile.phase = 1 : i64}
// CHECK:           arith.maximumf {{.*}} {rtile.group = 0 : i64, rtile.phase = 2 : i64}
// CHECK:           rtile.broadcast %{{[0-9]+}} : tensor<32xf32>
// CHECK:           arith.subf {{.*}} {rtile.group = 0 : i64, rtile.phase = 3 : i64}
// CHECK:           math.exp2 {{.*}} {rtile.group = 0 : i64, rtile.phase = 3 : i64} : tensor<32x16xf32>
// CHECK:           rtile.reduce sum {{.*}} {rtile.group = 0 : i64, rtile.phase = 3 : i64}
// CHECK:           math.exp2 {{.*}} {rtile.group = 0 : i64, rtile.phase = 2 : i64} : tensor<32xf32>
// CHECK:           arith.addf {{.*}} {rtile.group = 0 : i64, rtile.phase = 4 : i64}
// CHECK:           %[[D:.+]] = arith.mulf {{.*}} {rtile.group = 0 : i64, rtile.phase = 5 : i64} : tensor<32x8xf32>
// CHECK:           rtile.dot {{.*}} init(%[[D]]) {rtile.group = 0 : i64, rtile.phase = 5 : i64}
rtile.func @attention(%Q: memref<?x8xf32, strided<[?, 1]>>,
                      %K: memref<?x8xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %low = arith.constant dense<-3.0e38> : tensor<32xf32>
  %none = arith.constant dense<0.0> : tensor<32xf32>
  %zero = arith.constant dense<0.0> : tensor<32x8xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<32x16xf32>
  %qv = rtile.view %Q[*, *] : memref<?x8xf32, strided<[?, 1]>> to !rtile.view<32x8xf32>
  %kv = rtile.view %K[*, *] : memref<?x8xf32, strided<[?, 1]>> to !rtile.view<16x8xf32>
  %q = rtile.load %qv[%i, %c0] : !rtile.view<32x8xf32>
  %r:3 = scf.for %j = %c0 to %c64 step %c16 iter_args(%m = %low, %l = %none, %acc = %zero)
      -> (tensor<32xf32>, tensor<32xf32>, tensor<32x8xf32>) {
    %k = rtile.load %kv[%j, %c0] : !rtile.view<16x8xf32>
    %s = rtile.dot %q, %k transposed : tensor<32x8xf32>, tensor<16x8xf32> -> tensor<32x16xf32>
    %seen = rtile.visible %qv[%i], %kv[%j] causal
        : !rtile.view<32x8xf32>, !rtile.view<16x8xf32> -> tensor<32x16xi1>
    %sm = arith.select %seen, %s, %hidden : tensor<32x16xi1>, tensor<32x16xf32>
    %mt = rtile.reduce max %sm : tensor<32x16xf32>
    %mn = arith.maximumf %m, %mt : tensor<32xf32>
    %mw = rtile.broadcast %mn : tensor<32xf32> -> tensor<32x16xf32>
    %d = arith.subf %sm, %mw : tensor<32x16xf32>
    %p = math.exp2 %d : tensor<32x16xf32>
    %ps = rtile.reduce sum %p : tensor<32x16xf32>
    %md = arith.subf %m, %mn : tensor<32xf32>
    %a = math.exp2 %md : tensor<32xf32>
    %ld = arith.mulf %l, %a : tensor<32xf32>
    %ln = arith.addf %ld, %ps : tensor<32xf32>
    %aw = rtile.broadcast %a : tensor<32xf32> -> tensor<32x8xf32>
    %ad = arith.mulf %acc, %aw : tensor<32x8xf32>
    %an = rtile.dot %p, %k init(%ad) : tensor<32x16xf32>, tensor<16x8xf32> -> tensor<32x8xf32>
    scf.yield %mn, %ln, %an : tensor<32xf32>, tensor<32xf32>, tensor<32x8xf32>
  }
  rtile.store %r#2, %qv[%i, %c0] : !rtile.view<32x8xf32>
  rtile.return
}

// -----

// A new group begins where the height changes, behind a store, and where an
// operation reads as a whole what the open group makes: the right operand of a
// product, a tile that is repeated along columns.

// CHECK-LABEL: rtile.func @borders(
// CHECK:         arith.negf {{.*}} {rtile.group = 0 : i64, rtile.phase = 0 : i64} : tensor<8x8xf32>
// CHECK:         rtile.dot {{.*}} {rtile.group = 1 : i64, rtile.phase = 0 : i64}
// CHECK:         rtile.store
// CHECK:         %[[R:.+]] = rtile.reduce sum {{.*}} {rtile.group = 2 : i64, rtile.phase = 0 : i64}
// CHECK:         %[[W:.+]] = rtile.broadcast %[[R]] columns
// CHECK:         arith.addf {{.*}} {rtile.group = 3 : i64, rtile.phase = 0 : i64} : tensor<8x8xf32>
// CHECK:         arith.negf {{.*}} {rtile.group = 4 : i64, rtile.phase = 0 : i64} : tensor<4xf32>
rtile.func @borders(%X: memref<?x8xf32, strided<[?, 1]>>,
                    %Y: memref<?xf32, strided<[1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %xv = rtile.view %X[*, *] : memref<?x8xf32, strided<[?, 1]>> to !rtile.view<8x8xf32>
  %yv = rtile.view %Y[*] : memref<?xf32, strided<[1]>> to !rtile.view<4xf32>
  %x = rtile.load %xv[%i, %c0] : !rtile.view<8x8xf32>
  %n = arith.negf %x : tensor<8x8xf32>
  %d = rtile.dot %x, %n : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  rtile.store %d, %xv[%i, %c0] : !rtile.view<8x8xf32>
  %r = rtile.reduce sum %d : tensor<8x8xf32>
  %w = rtile.broadcast %r columns : tensor<8xf32> -> tensor<8x8xf32>
  %a = arith.addf %d, %w : tensor<8x8xf32>
  %y = rtile.load %yv[%i] : !rtile.view<4xf32>
  %z = arith.negf %y : tensor<4xf32>
  rtile.store %a, %xv[%i, %c0] : !rtile.view<8x8xf32>
  rtile.store %z, %yv[%i] : !rtile.view<4xf32>
  rtile.return
}

// -----

// A constant that goes to memory, and a broadcast that is the operand of a
// product, must be written down: they become members of a group.

// CHECK-LABEL: rtile.func @wanted_in_memory(
// CHECK:         arith.constant {rtile.group = 0 : i64, rtile.phase = 0 : i64} dense<1.000000e+00> : tensor<8x8xf32>
// CHECK:         rtile.broadcast {{.*}} {rtile.group = 1 : i64, rtile.phase = 0 : i64}
// CHECK:         rtile.dot {{.*}} {rtile.group = 1 : i64, rtile.phase = 1 : i64}
rtile.func @wanted_in_memory(%X: memref<?x8xf32, strided<[?, 1]>>,
                             %Y: memref<?xf32, strided<[1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<8x8xf32>
  %xv = rtile.view %X[*, *] : memref<?x8xf32, strided<[?, 1]>> to !rtile.view<8x8xf32>
  %yv = rtile.view %Y[*] : memref<?xf32, strided<[1]>> to !rtile.view<8xf32>
  rtile.store %one, %xv[%i, %c0] : !rtile.view<8x8xf32>
  %x = rtile.load %xv[%i, %c0] : !rtile.view<8x8xf32>
  %y = rtile.load %yv[%i] : !rtile.view<8xf32>
  %w = rtile.broadcast %y : tensor<8xf32> -> tensor<8x8xf32>
  %d = rtile.dot %w, %x : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  rtile.store %d, %xv[%i, %c0] : !rtile.view<8x8xf32>
  rtile.return
}

// -----

// What moves columns reads tiles as a whole and runs alone: it ends a group.

// CHECK-LABEL: rtile.func @columns(
// CHECK:         %[[X:.+]] = math.exp2 {{.*}} {rtile.group = 0 : i64, rtile.phase = 0 : i64}
// CHECK-NOT:     rtile.group
// CHECK:         %[[S:.+]] = rtile.slice %[[X]][8] : tensor
// CHECK-NEXT:    %[[Y:.+]] = arith.negf %[[S]] {rtile.group = 1 : i64, rtile.phase = 0 : i64}
// CHECK-NEXT:    %[[J:.+]] = rtile.join %[[Y]], %[[S]] : tensor
// CHECK-NEXT:    %[[F:.+]] = rtile.fold %[[J]] : tensor
// CHECK-NEXT:    %[[M:.+]] = arith.cmpf {{.*}} {rtile.group = 2 : i64, rtile.phase = 0 : i64}
// CHECK-NEXT:    rtile.any %[[M]] : tensor
rtile.func @columns(%X: memref<?x16xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %v = rtile.view %X[*, *] : memref<?x16xf32> to !rtile.view<16x16xf32>
  %w = rtile.view %X[*, *] : memref<?x16xf32> to !rtile.view<16x4xf32>
  %a = rtile.load %v[%i, %c0] : !rtile.view<16x16xf32>
  %x = math.exp2 %a : tensor<16x16xf32>
  %s = rtile.slice %x[8] : tensor<16x16xf32> -> tensor<16x8xf32>
  %y = arith.negf %s : tensor<16x8xf32>
  %j = rtile.join %y, %s : tensor<16x8xf32>, tensor<16x8xf32>
      -> tensor<16x16xf32>
  %f = rtile.fold %j : tensor<16x16xf32> -> tensor<16x4xf32>
  %m = arith.cmpf ogt, %f, %f : tensor<16x4xf32>
  %some = rtile.any %m : tensor<16x4xi1>
  scf.if %some {
    rtile.store %f, %w[%i, %c0] : !rtile.view<16x4xf32>
  }
  rtile.return
}
