//===- invalid-aligned.mlir - Illegal aligned inputs ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

rtile.func @k(%x: memref<4xf32>, %y: memref<4xf32>) grid(%i: index) { rtile.return }

rplan.func @aligns_an_output() outputs(%y: memref<4xf32>) names ["y"] {
  %c = arith.constant 4 : index
  %worth = arith.constant true
  // expected-error@+1 {{expected an input of the plan, found an output}}
  %z = rplan.aligned %y by @k grid(%c) if %worth : memref<4xf32>
  rplan.return
}

// -----

rtile.func @k(%x: memref<4xf32>, %y: memref<4xf32>) grid(%i: index) { rtile.return }

rplan.func @aligns_workspace() outputs() names [] {
  %c = arith.constant 4 : index
  %worth = arith.constant true
  %w = rplan.workspace() : memref<4xf32>
  // expected-error@+1 {{expected an input of the plan, found another buffer}}
  %z = rplan.aligned %w by @k grid(%c) if %worth : memref<4xf32>
  rplan.return
}

// -----

rtile.func @k(%x: memref<i64>, %y: memref<i64>) grid(%i: index) { rtile.return }

rplan.func @aligns_a_scalar(%x: memref<i64>) outputs() names ["x"] {
  %c = arith.constant 4 : index
  %worth = arith.constant true
  // expected-error@+1 {{expected a buffer with rows, found 'memref<i64>'}}
  %z = rplan.aligned %x by @k grid(%c) if %worth : memref<i64>
  rplan.return
}

// -----

rtile.func @k(%x: memref<4xf32>) grid(%i: index) { rtile.return }

rplan.func @copies_by_another_kernel(%x: memref<4xf32>) outputs() names ["x"] {
  %c = arith.constant 4 : index
  %worth = arith.constant true
  // expected-error@+1 {{expected arguments of types ('memref<4xf32>') for @k, found ('memref<4xf32>', 'memref<4xf32>')}}
  %z = rplan.aligned %x by @k grid(%c) if %worth : memref<4xf32>
  rplan.return
}
