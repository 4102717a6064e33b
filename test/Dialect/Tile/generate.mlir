//===- generate.mlir - Entries of lists are printed as read ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --mlir-print-op-generic | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --emit-bytecode | ringlet-opt --allow-bytecode \
// RUN:   | FileCheck %s
// RUN: ringlet-opt %s --cse --canonicalize --loop-invariant-code-motion \
// RUN:   | FileCheck %s --check-prefix=KEPT

// A body reads other lists and sizes, also that of its own, in loops and
// branches. The place is called by what it is where the text has no name.

// CHECK-LABEL: rtile.func @entries(
// CHECK-SAME:    %[[LIST:[a-z0-9]+]]: memref<?xi64>, %[[TABLE:[a-z0-9]+]]: memref<?xi64>, %[[N:[a-z0-9]+]]: index) grid
// CHECK:         rtile.generate %[[TABLE]][%place = %[[N]] to %{{.+}}] {
// CHECK-NEXT:      %[[ENTRY:.+]] = memref.load %[[LIST]][%place]
// CHECK:           %[[SUM:.+]] = scf.for
// CHECK:           %[[RESULT:.+]] = scf.if
// CHECK:           rtile.yield %[[RESULT]] : i64
// CHECK-NEXT:    } {note = "kept"} : memref<?xi64>
rtile.func @entries(%list: memref<?xi64>, %table: memref<?xi64>, %n: index)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = memref.dim %table, %c0 : memref<?xi64>
  rtile.generate %table[%0 = %n to %size] {
    %entry = memref.load %list[%0] : memref<?xi64>
    %sum = scf.for %k = %c0 to %0 step %c1 iter_args(%x = %entry) -> (i64) {
      %y = memref.load %list[%k] : memref<?xi64>
      %z = arith.addi %x, %y : i64
      scf.yield %z : i64
    }
    %last = arith.subi %size, %c1 : index
    %is_last = arith.cmpi eq, %0, %last : index
    %result = scf.if %is_last -> (i64) {
      scf.yield %entry : i64
    } else {
      scf.yield %sum : i64
    }
    rtile.yield %result : i64
  } {note = "kept"} : memref<?xi64>
  rtile.return
}

// Upstream passes know what is written: twice the same stays, in front of and
// behind what reads other lists, and in a loop.

// KEPT-LABEL: rtile.func @written(
// KEPT:         scf.for
// KEPT:           rtile.generate
// KEPT:           rtile.generate
// KEPT:         rtile.return
rtile.func @written(%table: memref<?xi64>, %n: index) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %k = %c0 to %n step %c1 {
    rtile.generate %table[%p = %c0 to %n] {
      %entry = arith.index_cast %p : index to i64
      rtile.yield %entry : i64
    } : memref<?xi64>
    rtile.generate %table[%p = %c0 to %n] {
      %entry = arith.index_cast %p : index to i64
      rtile.yield %entry : i64
    } : memref<?xi64>
  }
  rtile.return
}
