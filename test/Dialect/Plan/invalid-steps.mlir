//===- invalid-steps.mlir - Steps that are refused ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

rtile.func @k() grid(%i: index) { rtile.return }

rplan.func @otherwise_the_same() outputs() names [] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected another kernel to launch otherwise, found the same, @k}}
  rplan.launch @k grid(%c) args() otherwise launch @k grid(%c) args()
  rplan.return
}

// -----

rtile.func @k() grid(%i: index) { rtile.return }

rplan.func @otherwise_nobody() outputs() names [] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected a kernel to launch otherwise, found only 1 operands for one}}
  "rplan.launch"(%c, %c) <{kernel = @k, operandSegmentSizes = array<i32: 1, 0, 0, 1, 0>}> : (index, index) -> ()
  rplan.return
}

// -----

rtile.func @k() grid(%i: index) { rtile.return }

rplan.func @otherwise_unknown() outputs() names [] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected a kernel, found no symbol @l}}
  rplan.launch @k grid(%c) args() otherwise launch @l grid(%c) args()
  rplan.return
}

// -----

rtile.func @k() grid(%i: index) { rtile.return }
rtile.func @l(%x: memref<4xf32>) grid(%i: index) { rtile.return }

rplan.func @otherwise_arguments() outputs() names [] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected arguments of types ('memref<4xf32>') for @l, found ()}}
  rplan.launch @k grid(%c) args() otherwise launch @l grid(%c) args()
  rplan.return
}

// -----

rtile.func @k() grid(%i: index) { rtile.return }

rplan.func @on_another_queue() outputs() names [] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected string or keyword containing one of the following enum values}}
  rplan.launch @k grid(%c) args() on copies
  rplan.return
}

// -----

rtile.func @k() grid(%i: index) { rtile.return }

rplan.func @after_itself() outputs() names [] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{operand #1 does not dominate this use}}
  %0 = rplan.launch @k grid(%c) args() after(%1) -> !rplan.event
  // expected-note@+1 {{operand defined here}}
  %1 = rplan.launch @k grid(%c) args() after(%0) -> !rplan.event
  rplan.return
}

// -----

// Copies.

rplan.func @copy_of_others(%x: memref<4xf32>) outputs(%y: memref<4xf16>)
    names ["x", "y"] {
  // expected-error@+1 {{expected buffers of one element type and the same sizes, found 'memref<4xf32>' and 'memref<4xf16>'}}
  rplan.copy %x to %y : memref<4xf32>, memref<4xf16>
  rplan.return
}

// -----

rplan.func @copy_of_sizes(%x: memref<?x4xf32>) outputs(%y: memref<?x5xf32>)
    names ["x", "y"] {
  // expected-error@+1 {{expected buffers of one element type and the same sizes, found}}
  rplan.copy %x to %y : memref<?x4xf32>, memref<?x5xf32>
  rplan.return
}

// -----

rplan.func @copy_to_an_input(%x: memref<4xf32>, %z: memref<4xf32>) outputs()
    names ["x", "z"] {
  // expected-error@+1 {{expected an output or a workspace as the destination, found an input}}
  rplan.copy %x to %z : memref<4xf32>, memref<4xf32>
  rplan.return
}

// -----

rplan.func @copy_to_itself(%x: memref<4xf32>) outputs(%y: memref<4xf32>)
    names ["x", "y"] {
  // expected-error@+1 {{expected two buffers, found one}}
  rplan.copy %y to %y : memref<4xf32>, memref<4xf32>
  rplan.return
}

// -----

// Constants.

rplan.func @constant_size() outputs() names [] {
  // expected-error@+1 {{expected a contiguous buffer with the elements and sizes of}}
  %t = rplan.constant dense<[1, 2]> : tensor<2xi64> as memref<3xi64>
  rplan.return
}

// -----

rplan.func @constant_type() outputs() names [] {
  // expected-error@+1 {{found 'memref<?xi32>'}}
  %t = rplan.constant dense<[1, 2]> : tensor<2xi64> as memref<?xi32>
  rplan.return
}
