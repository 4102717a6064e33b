//===- canonicalize.mlir - What folds in a plan ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --canonicalize | FileCheck %s

// A static size is a constant, and so is what is computed from it.

// CHECK-LABEL: rplan.func @static_size(
// CHECK-NEXT:    %[[TILES:.+]] = arith.constant 2 : index
// CHECK-NEXT:    rplan.require le %[[TILES]], %[[TILES]], "tiles"
// CHECK-NEXT:    rplan.return
rplan.func @static_size(%x: memref<100x4xf32>) outputs() names ["x"] {
  %n = rplan.size %x[0] : memref<100x4xf32>
  %c64 = arith.constant 64 : index
  %tiles = arith.ceildivsi %n, %c64 : index
  rplan.require le %tiles, %tiles, "tiles"
  rplan.return
}

// A dynamic size is read where it is used, and not at all if it is not.

// CHECK-LABEL: rplan.func @dynamic_size(
// CHECK-SAME:    %[[X:[^:]+]]: memref<?x?xf32>
// CHECK-NEXT:    %[[N:.+]] = rplan.size %[[X]][1] : memref<?x?xf32>
// CHECK-NEXT:    rplan.require eq %[[N]], %[[N]], "n"
// CHECK-NEXT:    rplan.return
rplan.func @dynamic_size(%x: memref<?x?xf32>) outputs() names ["x"] {
  %m = rplan.size %x[0] : memref<?x?xf32>
  %n = rplan.size %x[1] : memref<?x?xf32>
  rplan.require eq %n, %n, "n"
  rplan.return
}

// A workspace or table that no launch uses is not made; a requirement and a
// launch always stay.

// CHECK-LABEL: rplan.func @unused(
// CHECK-NOT:     rplan.workspace
// CHECK-NOT:     rplan.order_table
// CHECK-NOT:     rplan.read
// CHECK:         rplan.launch @nothing
// CHECK-NEXT:    rplan.return
rtile.func @nothing() grid(%i: index) { rtile.return }
rplan.func @unused(%n: memref<i64>) outputs() names ["n"] {
  %c1 = arith.constant 1 : index
  %v = rplan.read %n : memref<i64>
  %w = rplan.workspace(%c1) : memref<?xf32>
  %t = rplan.order_table #rlayout.order<residue<4>> length(%c1) : memref<?xi64>
  rplan.launch @nothing grid(%c1) args()
  rplan.return
}

// What depends on the machine stays, and is asked for once.

// CHECK-LABEL: rplan.func @machine(
// CHECK-NEXT:    %[[TWO:.+]] = arith.constant 2 : index
// CHECK-NEXT:    %[[M:.+]] = rplan.machine multiprocessors
// CHECK-NEXT:    %[[N:.+]] = arith.muli %[[M]], %[[TWO]] : index
// CHECK-NEXT:    rplan.require le %[[M]], %[[N]], "n"
rplan.func @machine() outputs() names [] {
  %c2 = arith.constant 2 : index
  %rank = rplan.machine rank
  %m = rplan.machine multiprocessors
  %n = arith.muli %m, %c2 : index
  rplan.require le %m, %n, "n"
  rplan.return
}
