//===- lower-runs.mlir - Runs and bounds as arithmetic ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-lower-runs --canonicalize | FileCheck %s

// Everything is constant here, so that the arithmetic folds to the rows, which
// stand in the brackets: begin, begin and end of whole steps, end.

// Causal: rows 40 to 71 see keys up to 71; the first of them sees 41, which is two
// whole steps of 16.

// CHECK-LABEL: rtile.func @causal(
// CHECK:         rtile.load %{{.+}}[%c0, %c0]
// CHECK:         rtile.load %{{.+}}[%c0, %c0]
// CHECK:         rtile.load %{{.+}}[%c32, %c0]
// CHECK:         rtile.load %{{.+}}[%c72, %c0]
rtile.func @causal(%X: memref<100x8xf32>, %Y: memref<100x8xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c40 = arith.constant 40 : index
  %q = rtile.view %X[*, *] : memref<100x8xf32> to !rtile.view<32x8xf32>
  %k = rtile.view %X[*, *] : memref<100x8xf32> to !rtile.view<16x8xf32>
  %y = rtile.view %Y[*, *] : memref<100x8xf32> to !rtile.view<16x8xf32>
  %b, %wb, %we, %e = rtile.run %q[%c40], %k causal : !rtile.view<32x8xf32>, !rtile.view<16x8xf32>
  %0 = rtile.load %k[%b, %c0] : !rtile.view<16x8xf32>
  rtile.store %0, %y[%b, %c0] : !rtile.view<16x8xf32>
  %1 = rtile.load %k[%wb, %c0] : !rtile.view<16x8xf32>
  rtile.store %1, %y[%wb, %c0] : !rtile.view<16x8xf32>
  %2 = rtile.load %k[%we, %c0] : !rtile.view<16x8xf32>
  rtile.store %2, %y[%we, %c0] : !rtile.view<16x8xf32>
  %3 = rtile.load %k[%e, %c0] : !rtile.view<16x8xf32>
  rtile.store %3, %y[%e, %c0] : !rtile.view<16x8xf32>
  rtile.return
}

// -----

// Rows 50 to 57 with 40 keys to the left and 5 to the right: 10 to 62. All rows
// see 17 to 55, of which the steps from 18 to 49 are whole.

// CHECK-LABEL: rtile.func @window(
// CHECK:         rtile.load %{{.+}}[%c10, %c0]
// CHECK:         rtile.load %{{.+}}[%c18, %c0]
// CHECK:         rtile.load %{{.+}}[%c50, %c0]
// CHECK:         rtile.load %{{.+}}[%c63, %c0]
rtile.func @window(%X: memref<100x8xf32>, %Y: memref<100x8xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c50 = arith.constant 50 : index
  %q = rtile.view %X[*, *] : memref<100x8xf32> to !rtile.view<8x8xf32>
  %y = rtile.view %Y[*, *] : memref<100x8xf32> to !rtile.view<8x8xf32>
  %b, %wb, %we, %e = rtile.run %q[%c50], %q window = [40, 5] : !rtile.view<8x8xf32>, !rtile.view<8x8xf32>
  %0 = rtile.load %q[%b, %c0] : !rtile.view<8x8xf32>
  rtile.store %0, %y[%b, %c0] : !rtile.view<8x8xf32>
  %1 = rtile.load %q[%wb, %c0] : !rtile.view<8x8xf32>
  rtile.store %1, %y[%wb, %c0] : !rtile.view<8x8xf32>
  %2 = rtile.load %q[%we, %c0] : !rtile.view<8x8xf32>
  rtile.store %2, %y[%we, %c0] : !rtile.view<8x8xf32>
  %3 = rtile.load %q[%e, %c0] : !rtile.view<8x8xf32>
  rtile.store %3, %y[%e, %c0] : !rtile.view<8x8xf32>
  rtile.return
}

// -----

// A window beyond every position is none: no sum with it leaves 64 bits.

// CHECK-LABEL: rtile.func @far_window(
// CHECK:         rtile.store %{{.+}}, %{{.+}}[%c0, %c0]
// CHECK:         rtile.store %{{.+}}, %{{.+}}[%c96, %c0]
// CHECK:         rtile.store %{{.+}}, %{{.+}}[%c100, %c0]
rtile.func @far_window(%X: memref<100x8xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c40 = arith.constant 40 : index
  %t = arith.constant dense<1.0> : tensor<16x8xf32>
  %q = rtile.view %X[*, *] : memref<100x8xf32> to !rtile.view<16x8xf32>
  %b, %wb, %we, %e = rtile.run %q[%c40], %q window = [9223372036854775807, 9223372036854775807] : !rtile.view<16x8xf32>, !rtile.view<16x8xf32>
  rtile.store %t, %q[%b, %c0] : !rtile.view<16x8xf32>
  rtile.store %t, %q[%we, %c0] : !rtile.view<16x8xf32>
  rtile.store %t, %q[%e, %c0] : !rtile.view<16x8xf32>
  rtile.return
}

// -----

// No step is whole: both ends of the whole steps are begin. No query exists: all
// four are.

// CHECK-LABEL: rtile.func @none(
// CHECK:         rtile.store %{{.+}}, %{{.+}}[%c30, %c0]
// CHECK:         rtile.store %{{.+}}, %{{.+}}[%c30, %c0]
// CHECK:         rtile.store %{{.+}}, %{{.+}}[%c72, %c0]
// CHECK:         rtile.store %{{.+}}, %{{.+}}[%c0, %c0]
// CHECK:         rtile.store %{{.+}}, %{{.+}}[%c0, %c0]
rtile.func @none(%X: memref<100x8xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c40 = arith.constant 40 : index
  %c100 = arith.constant 100 : index
  %t = arith.constant dense<1.0> : tensor<32x8xf32>
  %q = rtile.view %X[*, *] : memref<100x8xf32> to !rtile.view<32x8xf32>
  %b, %wb, %we, %e = rtile.run %q[%c40], %q window = [10, 0] : !rtile.view<32x8xf32>, !rtile.view<32x8xf32>
  rtile.store %t, %q[%wb, %c0] : !rtile.view<32x8xf32>
  rtile.store %t, %q[%we, %c0] : !rtile.view<32x8xf32>
  rtile.store %t, %q[%e, %c0] : !rtile.view<32x8xf32>
  %b1, %wb1, %we1, %e1 = rtile.run %q[%c100], %q : !rtile.view<32x8xf32>, !rtile.view<32x8xf32>
  rtile.store %t, %q[%we1, %c0] : !rtile.view<32x8xf32>
  rtile.store %t, %q[%e1, %c0] : !rtile.view<32x8xf32>
  rtile.return
}

// -----

// Bounds. Segment 1 of 40 with residue 1 and rate 3 holds positions 41, 44, ...;
// the buffer ends at position 75, behind row 11. Positions before the origin do
// not exist: with base 2 and rate 4 the first at -7 or later is -6, row -2.

// CHECK-LABEL: rtile.func @bounds(
// CHECK:         rtile.store %{{.+}}, %{{.+}}[%c0]
// CHECK:         rtile.store %{{.+}}, %{{.+}}[%c12]
// CHECK:         rtile.store %{{.+}}, %{{.+}}[%c-2]
// CHECK:         rtile.store %{{.+}}, %{{.+}}[%c16]
rtile.func @bounds(%X: memref<70xf32>) grid(%i: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %cm7 = arith.constant -7 : index
  %t = arith.constant dense<1.0> : tensor<8xf32>
  %x = rtile.view %X[*] origin(%c5) segment(%c1) residue(%c1)
      : memref<70xf32> to !rtile.view<8xf32, w = 40, rate = 3>
  %b, %e = rtile.bounds %x : !rtile.view<8xf32, w = 40, rate = 3>
  rtile.store %t, %x[%b] : !rtile.view<8xf32, w = 40, rate = 3>
  rtile.store %t, %x[%e] : !rtile.view<8xf32, w = 40, rate = 3>
  %y = rtile.view %X[*] origin(%cm7) residue(%c2)
      : memref<70xf32> to !rtile.view<8xf32, rate = 4>
  %b1, %e1 = rtile.bounds %y : !rtile.view<8xf32, rate = 4>
  rtile.store %t, %y[%b1] : !rtile.view<8xf32, rate = 4>
  rtile.store %t, %y[%e1] : !rtile.view<8xf32, rate = 4>
  rtile.return
}

// -----

// Between views with positions the run is the whole key view, here rows 0 to 4
// of a table of nine entries, and no step is whole.

// CHECK-LABEL: rtile.func @positions(
// CHECK:         rtile.load %{{.+}}[%c0, %c0]
// CHECK:         rtile.load %{{.+}}[%c0, %c0]
// CHECK:         rtile.load %{{.+}}[%c0, %c0]
// CHECK:         rtile.load %{{.+}}[%c5, %c0]
rtile.func @positions(%X: memref<100x8xf32>, %Y: memref<100x8xf32>, %T: memref<9xi64>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %q = rtile.view %X[*, *] residue(%c0) rows(%T : memref<9xi64>) positions(%T : memref<9xi64>) : memref<100x8xf32> to !rtile.view<32x8xf32, rate = 2, indexed>
  %k = rtile.view %X[*, *] residue(%c0) positions(%T : memref<9xi64>) : memref<100x8xf32> to !rtile.view<2x8xf32, rate = 2>
  %y = rtile.view %Y[*, *] : memref<100x8xf32> to !rtile.view<2x8xf32>
  %b, %wb, %we, %e = rtile.run %q[%c0], %k causal : !rtile.view<32x8xf32, rate = 2, indexed>, !rtile.view<2x8xf32, rate = 2>
  %0 = rtile.load %k[%b, %c0] : !rtile.view<2x8xf32, rate = 2>
  rtile.store %0, %y[%b, %c0] : !rtile.view<2x8xf32>
  %1 = rtile.load %k[%wb, %c0] : !rtile.view<2x8xf32, rate = 2>
  rtile.store %1, %y[%wb, %c0] : !rtile.view<2x8xf32>
  %2 = rtile.load %k[%we, %c0] : !rtile.view<2x8xf32, rate = 2>
  rtile.store %2, %y[%we, %c0] : !rtile.view<2x8xf32>
  %3 = rtile.load %k[%e, %c0] : !rtile.view<2x8xf32, rate = 2>
  rtile.store %3, %y[%e, %c0] : !rtile.view<2x8xf32>
  rtile.return
}

// -----

// A w and a rate that are operands give what those of a type would: of segment
// 1 of 32, residue 2, ten rows exist. Rows 4 to 7 see keys up to 7, of which a
// step of 4 is whole.

// CHECK-LABEL: rtile.func @runtime_sizes(
// CHECK:         rtile.load %{{.+}}[%c0, %c0]
// CHECK:         rtile.load %{{.+}}[%c0, %c0]
// CHECK:         rtile.load %{{.+}}[%c4, %c0]
// CHECK:         rtile.load %{{.+}}[%c8, %c0]
// CHECK:         rtile.load %{{.+}}[%c10, %c0]
rtile.func @runtime_sizes(%X: memref<100x8xf32>, %Y: memref<100x8xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %k = rtile.view %X[*, *] segment(%c1) residue(%c2) w(%c32) rate(%c3) : memref<100x8xf32> to !rtile.view<4x8xf32, w = ?, rate = ?>
  %y = rtile.view %Y[*, *] : memref<100x8xf32> to !rtile.view<4x8xf32>
  %b, %wb, %we, %e = rtile.run %k[%c4], %k causal : !rtile.view<4x8xf32, w = ?, rate = ?>, !rtile.view<4x8xf32, w = ?, rate = ?>
  %first, %last = rtile.bounds %k : !rtile.view<4x8xf32, w = ?, rate = ?>
  %0 = rtile.load %k[%b, %c0] : !rtile.view<4x8xf32, w = ?, rate = ?>
  rtile.store %0, %y[%b, %c0] : !rtile.view<4x8xf32>
  %1 = rtile.load %k[%wb, %c0] : !rtile.view<4x8xf32, w = ?, rate = ?>
  rtile.store %1, %y[%wb, %c0] : !rtile.view<4x8xf32>
  %2 = rtile.load %k[%we, %c0] : !rtile.view<4x8xf32, w = ?, rate = ?>
  rtile.store %2, %y[%we, %c0] : !rtile.view<4x8xf32>
  %3 = rtile.load %k[%e, %c0] : !rtile.view<4x8xf32, w = ?, rate = ?>
  rtile.store %3, %y[%e, %c0] : !rtile.view<4x8xf32>
  %4 = rtile.load %k[%last, %c0] : !rtile.view<4x8xf32, w = ?, rate = ?>
  rtile.store %4, %y[%last, %c0] : !rtile.view<4x8xf32>
  rtile.return
}

// -----

// Numbers 20 to 59 of an axis of 100 whose number 0 has the ordinal 7: ordinals
// 27 to 66. Bounds beyond the axis are those of the axis, however far.

// CHECK-LABEL: rtile.func @within(
// CHECK:         rtile.load %{{.+}}[%c27, %c0]
// CHECK:         rtile.load %{{.+}}[%c67, %c0]
// CHECK:         rtile.load %{{.+}}[%c7, %c0]
// CHECK:         rtile.load %{{.+}}[%c107, %c0]
rtile.func @within(%X: memref<100x8xf32>, %Y: memref<100x8xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c7 = arith.constant 7 : index
  %c20 = arith.constant 20 : index
  %c60 = arith.constant 60 : index
  %least = arith.constant -9223372036854775808 : index
  %most = arith.constant 9223372036854775807 : index
  %y = rtile.view %Y[*, *] : memref<100x8xf32> to !rtile.view<8x8xf32>
  %v = rtile.view %X[*, *] origin(%c7) within(%c20, %c60) : memref<100x8xf32> to !rtile.view<8x8xf32>
  %b, %e = rtile.bounds %v : !rtile.view<8x8xf32>
  %0 = rtile.load %v[%b, %c0] : !rtile.view<8x8xf32>
  rtile.store %0, %y[%b, %c0] : !rtile.view<8x8xf32>
  %1 = rtile.load %v[%e, %c0] : !rtile.view<8x8xf32>
  rtile.store %1, %y[%e, %c0] : !rtile.view<8x8xf32>
  %w = rtile.view %X[*, *] origin(%c7) within(%least, %most) : memref<100x8xf32> to !rtile.view<8x8xf32>
  %b1, %e1 = rtile.bounds %w : !rtile.view<8x8xf32>
  %2 = rtile.load %w[%b1, %c0] : !rtile.view<8x8xf32>
  rtile.store %2, %y[%b1, %c0] : !rtile.view<8x8xf32>
  %3 = rtile.load %w[%e1, %c0] : !rtile.view<8x8xf32>
  rtile.store %3, %y[%e1, %c0] : !rtile.view<8x8xf32>
  rtile.return
}
