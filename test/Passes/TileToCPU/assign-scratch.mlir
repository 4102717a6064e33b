//===- assign-scratch.mlir - Places by lifetime ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-fuse-rows --rtile-pack-operands --rtile-assign-scratch | FileCheck %s

// What a loop carries stays in one place: the accumulator that goes in, the
// product that is added to it and the result of the loop. The tile of scores
// lives inside a group: it has room for one panel only, and the weights take the
// place of the scores. What a phase alone uses has no place.

// CHECK-LABEL: rtile.func @in_place(
// CHECK:         scf.for {{.*}} iter_args(%[[ACC:.+]] = %{{.+}})
// CHECK:           rtile.dot {{.*}} rtile.local, rtile.phase = 0 : i64, rtile.slots = array<i64: [[S:[0-9]+]]>
// CHECK:           arith.mulf {{.*}} rtile.slots = array<i64: -1>
// CHECK:           math.exp2 {{.*}} rtile.local, rtile.phase = 1 : i64, rtile.slots = array<i64: [[S]]>
// CHECK:           rtile.dot {{.*}} init(%[[ACC]]) {{.*}} rtile.slots = array<i64: [[A:[0-9]+]]>
// CHECK:         } {rtile.slots = array<i64: [[A]], -1>}
rtile.func @in_place(%X: memref<?x16xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %half = arith.constant dense<0.5> : tensor<32x16xf32>
  %xv = rtile.view %X[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<32x16xf32>
  %yv = rtile.view %X[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<16x16xf32>
  %x = rtile.load %xv[%i, %c0] : !rtile.view<32x16xf32>
  %r = scf.for %j = %c0 to %c16 step %c16 iter_args(%acc = %zero) -> (tensor<32x16xf32>) {
    %y = rtile.load %yv[%j, %c0] : !rtile.view<16x16xf32>
    %s = rtile.dot %x, %y transposed : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    %h = arith.mulf %s, %half : tensor<32x16xf32>
    %p = math.exp2 %h : tensor<32x16xf32>
    %n = rtile.dot %p, %y init(%acc) : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    scf.yield %n : tensor<32x16xf32>
  }
  rtile.store %r, %xv[%i, %c0] : !rtile.view<32x16xf32>
  rtile.return
}

// -----

// A loop that swaps what it carries needs two places and one in between.

// CHECK-LABEL: rtile.func @swap(
// CHECK:         } {rtile.slots = array<i64: [[A:[0-9]+]], [[B:[0-9]+]], [[TA:[0-9]+]], [[TB:[0-9]+]]>}
rtile.func @swap(%X: memref<?xf32, strided<[1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %two = arith.constant dense<2.0> : tensor<8xf32>
  %xv = rtile.view %X[*] : memref<?xf32, strided<[1]>> to !rtile.view<8xf32>
  %r:2 = scf.for %j = %c0 to %i step %c1 iter_args(%a = %one, %b = %two)
      -> (tensor<8xf32>, tensor<8xf32>) {
    scf.yield %b, %a : tensor<8xf32>, tensor<8xf32>
  }
  rtile.store %r#0, %xv[%c0] : !rtile.view<8xf32>
  rtile.store %r#1, %xv[%i] : !rtile.view<8xf32>
  rtile.return
}

// -----

// A value that is read again after the loop keeps its place: the loop gets a
// copy.

// CHECK-LABEL: rtile.func @read_again(
// CHECK:         rtile.load {{.*}}rtile.slots = array<i64: [[X:[0-9]+]], -1>
// CHECK-NOT:     rtile.slots = array<i64: [[X]], -1>}
// CHECK:         rtile.return
rtile.func @read_again(%X: memref<?xf32, strided<[1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %xv = rtile.view %X[*] : memref<?xf32, strided<[1]>> to !rtile.view<8xf32>
  %x = rtile.load %xv[%c0] : !rtile.view<8xf32>
  %r = scf.for %j = %c0 to %i step %c1 iter_args(%a = %x) -> (tensor<8xf32>) {
    %n = arith.addf %a, %a : tensor<8xf32>
    scf.yield %n : tensor<8xf32>
  }
  rtile.store %r, %xv[%c0] : !rtile.view<8xf32>
  rtile.store %x, %xv[%i] : !rtile.view<8xf32>
  rtile.return
}

// -----

// Two tiles that do not live at the same time take the same bytes: the kernel
// needs room for one, in rows and in panels.

// CHECK-LABEL: rtile.func @reuse(
// CHECK-SAME:    rtile.scratch_bytes = 2304 : i64
rtile.func @reuse(%X: memref<?x16xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %xv = rtile.view %X[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<16x16xf32>
  %x = rtile.load %xv[%i, %c0] : !rtile.view<16x16xf32>
  %a = arith.negf %x : tensor<16x16xf32>
  rtile.store %a, %xv[%i, %c0] : !rtile.view<16x16xf32>
  %y = rtile.load %xv[%c0, %c0] : !rtile.view<16x16xf32>
  %b = arith.negf %y : tensor<16x16xf32>
  rtile.store %b, %xv[%c0, %c0] : !rtile.view<16x16xf32>
  rtile.return
}

// -----

// What the input says of places is not believed: a tile that is stored does not
// live inside its group.

// CHECK-LABEL: rtile.func @stale(
// CHECK-NOT:     rtile.local
// CHECK:         arith.negf {{.*}} rtile.slots = array<i64: [[S:[0-9]+]]>
// CHECK-NOT:     rtile.local
// CHECK-NOT:     77
// CHECK:         rtile.return
rtile.func @stale(%X: memref<?x16xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %xv = rtile.view %X[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<64x16xf32>
  %x = rtile.load %xv[%i, %c0] : !rtile.view<64x16xf32>
  %a = arith.negf %x {rtile.local, rtile.slots = array<i64: 77>} : tensor<64x16xf32>
  rtile.store %a, %xv[%i, %c0] : !rtile.view<64x16xf32>
  rtile.return {rtile.slots = array<i64: 77>}
}
