//===- fold-tables.mlir - Tables that are known at compile time ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rplan-fold-tables \
// RUN:   --verify-diagnostics | FileCheck %s
// RUN: not ringlet-opt %s --split-input-file --rplan-fold-tables \
// RUN:   --remarks-filter=rplan-fold-tables 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

rtile.func @k(%t: memref<?xi64>) grid(%i: index) { rtile.return }

// Two tiles of queries that see one key tile each, the second one in part; two
// places for each list, the length, and the entries.

// CHECK-LABEL: rplan.func @known(
// CHECK:         %[[T:.+]] = rplan.constant dense<[5, 5, 6, 7, 8, 0, 0, 16]> : tensor<8xi64> as memref<?xi64>
// CHECK-NOT:     rplan.tile_index
// CHECK:         rplan.launch @k grid(%{{.+}}) args(%[[T]]) : memref<?xi64>
// REMARK:        Remark="the artefact carries the key tiles that queries see, 8 numbers"
rplan.func @known() outputs() names [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %t = rplan.tile_index queries(%c32 from %c0) keys(%c32)
      lists(%c2, %c1 from %c0) tile = [16, 16] rate = 1 causal
      : memref<?xi64>
  rplan.launch @k grid(%c2) args(%t) : memref<?xi64>
  rplan.return
}

// -----

rtile.func @k(%t: memref<?xi64>) grid(%i: index) { rtile.return }

// What the call has to say, and what is large, is made by the call.

// CHECK-LABEL: rplan.func @open(
// CHECK:         rplan.tile_index
// CHECK:         rplan.tile_index
// CHECK:         rplan.tile_index
rplan.func @open(%x: memref<?xf32>) outputs() names ["x"] {
  %n = rplan.size %x[0] : memref<?xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c65536 = arith.constant 65536 : index
  %c1048577 = arith.constant 1048577 : index
  %open = rplan.tile_index queries(%n from %c0) keys(%c32)
      lists(%c2, %c1 from %c0) tile = [16, 16] rate = 1 : memref<?xi64>
  rplan.launch @k grid(%c2) args(%open) : memref<?xi64>
  %tokens = rplan.tile_index queries(%c1048577 from %c0) keys(%c32)
      lists(%c1, %c1 from %c0) tile = [16, 16] rate = 1 : memref<?xi64>
  rplan.launch @k grid(%c2) args(%tokens) : memref<?xi64>
  %numbers = rplan.tile_index queries(%c65536 from %c0) keys(%c65536)
      lists(%c32, %c1 from %c0) tile = [16, 16] rate = 1 : memref<?xi64>
  rplan.launch @k grid(%c2) args(%numbers) : memref<?xi64>
  rplan.return
}

// -----

rtile.func @k(%t: memref<?xi64>) grid(%i: index) { rtile.return }

rplan.func @off_the_grid() outputs() names [] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c65 = arith.constant 65 : index
  // expected-error@+1 {{expected every position on the grid [8, 8] of 64 cells, found position 64 (B5)}}
  %t = rplan.tile_index queries(%c65 from %c0) keys(%c65)
      lists(%c1, %c1 from %c0) tile = [16, 16] rate = 1 grid = [8, 8]
      reach = [1, 1] : memref<?xi64>
  rplan.launch @k grid(%c1) args(%t) : memref<?xi64>
  rplan.return
}
