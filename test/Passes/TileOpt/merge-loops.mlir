//===- merge-loops.mlir - One loop for two that do the same -------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-merge-loops | FileCheck %s

!q = !rtile.view<64x16xf32>
!k = !rtile.view<32x16xf32>
!buffer = memref<?x16xf32, strided<[?, 1]>>

// What copies tiles from the last to the first: those behind the whole ones, and
// the whole ones.
// CHECK-LABEL: rtile.func @reversed(
// CHECK:         %[[LAST:.+]] = arith.addi %begin
// CHECK:         %[[REST:.+]] = arith.subi %[[LAST]], %begin
// CHECK:         %{{.+}} = scf.for %{{.+}} = %c0 to %[[REST]] step %c32
// CHECK-SAME:      iter_args(%{{.+}} = %[[LAST]])
// CHECK-NOT:     scf.for
// CHECK:       rtile.return
rtile.func @reversed(%Q: !buffer, %K: !buffer, %X: !buffer) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %row = arith.muli %i, %c64 : index
  %q = rtile.view %Q[*, *] : !buffer to !q
  %k = rtile.view %K[*, *] : !buffer to !k
  %x = rtile.view %X[*, *] : !buffer to !k
  %begin, %whole_begin, %whole_end, %end = rtile.run %q[%row], %k causal : !q, !k
  %span = arith.subi %end, %begin : index
  %steps = arith.ceildivsi %span, %c32 : index
  %rows = arith.muli %steps, %c32 : index
  %last_row = arith.addi %begin, %rows : index
  %rest_rows = arith.subi %last_row, %begin : index
  %before_tail = arith.minsi %whole_end, %last_row : index
  %tail_rows = arith.subi %last_row, %before_tail : index
  %tail = scf.for %later = %c0 to %tail_rows step %c32
      iter_args(%from = %last_row) -> (index) {
    %key_row = arith.subi %from, %c32 : index
    %tile = rtile.load %k[%key_row, %c0] : !k -> tensor<32x16xf32>
    rtile.store %tile, %x[%key_row, %c0] : tensor<32x16xf32>, !k
    scf.yield %key_row : index
  }
  %all = scf.for %later = %tail_rows to %rest_rows step %c32
      iter_args(%from = %tail) -> (index) {
    %key_row = arith.subi %from, %c32 : index
    %tile = rtile.load %k[%key_row, %c0] : !k -> tensor<32x16xf32>
    rtile.store %tile, %x[%key_row, %c0] : tensor<32x16xf32>, !k
    scf.yield %key_row : index
  }
  rtile.return
}

// Upwards: no whole step is below the first one.
// CHECK-LABEL: rtile.func @upwards(
// CHECK:         scf.for %{{.+}} = %begin to %end step %c32
// CHECK-NOT:     scf.for
// CHECK:       rtile.return
rtile.func @upwards(%Q: !buffer, %K: !buffer, %X: !buffer) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %row = arith.muli %i, %c64 : index
  %q = rtile.view %Q[*, *] : !buffer to !q
  %k = rtile.view %K[*, *] : !buffer to !k
  %x = rtile.view %X[*, *] : !buffer to !k
  %begin, %whole_begin, %whole_end, %end = rtile.run %q[%row], %k
      window = [40, 0] : !q, !k
  scf.for %key_row = %begin to %whole_begin step %c32 {
    %tile = rtile.load %k[%key_row, %c0] : !k -> tensor<32x16xf32>
    rtile.store %tile, %x[%key_row, %c0] : tensor<32x16xf32>, !k
  }
  scf.for %key_row = %whole_begin to %whole_end step %c32 {
    %tile = rtile.load %k[%key_row, %c0] : !k -> tensor<32x16xf32>
    rtile.store %tile, %x[%key_row, %c0] : tensor<32x16xf32>, !k
  }
  scf.for %key_row = %whole_end to %end step %c32 {
    %tile = rtile.load %k[%key_row, %c0] : !k -> tensor<32x16xf32>
    rtile.store %tile, %x[%key_row, %c0] : tensor<32x16xf32>, !k
  }
  rtile.return
}

// Three that stay: another body, a bound of which nothing is known, and steps
// that are not those of the run.
// CHECK-LABEL: rtile.func @others(
// CHECK:         scf.for %{{.+}} = %begin to %whole_end step %c32
// CHECK:         scf.for %{{.+}} = %whole_end to %[[N:.+]] step %c32
// CHECK:         scf.for %{{.+}} = %[[N]] to %end step %c32
// CHECK:         scf.for %{{.+}} = %begin to %whole_end step %c64
// CHECK:         scf.for %{{.+}} = %whole_end to %end step %c64
rtile.func @others(%Q: !buffer, %K: !buffer, %X: !buffer, %n: index)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %row = arith.muli %i, %c64 : index
  %q = rtile.view %Q[*, *] : !buffer to !q
  %k = rtile.view %K[*, *] : !buffer to !k
  %x = rtile.view %X[*, *] : !buffer to !k
  %begin, %whole_begin, %whole_end, %end = rtile.run %q[%row], %k causal : !q, !k
  scf.for %key_row = %begin to %whole_end step %c32 {
    %tile = rtile.load %k[%key_row, %c0] : !k -> tensor<32x16xf32>
    rtile.store %tile, %x[%key_row, %c0] : tensor<32x16xf32>, !k
  }
  scf.for %key_row = %whole_end to %n step %c32 {
    %tile = rtile.load %k[%row, %c0] : !k -> tensor<32x16xf32>
    rtile.store %tile, %x[%key_row, %c0] : tensor<32x16xf32>, !k
  }
  scf.for %key_row = %n to %end step %c32 {
    %tile = rtile.load %k[%row, %c0] : !k -> tensor<32x16xf32>
    rtile.store %tile, %x[%key_row, %c0] : tensor<32x16xf32>, !k
  }
  scf.for %key_row = %begin to %whole_end step %c64 {
    %tile = rtile.load %k[%key_row, %c0] : !k -> tensor<32x16xf32>
    rtile.store %tile, %x[%key_row, %c0] : tensor<32x16xf32>, !k
  }
  scf.for %key_row = %whole_end to %end step %c64 {
    %tile = rtile.load %k[%key_row, %c0] : !k -> tensor<32x16xf32>
    rtile.store %tile, %x[%key_row, %c0] : tensor<32x16xf32>, !k
  }
  rtile.return
}
