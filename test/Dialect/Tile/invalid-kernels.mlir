//===- invalid-kernels.mlir - Arithmetic and kernels that are refused ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

// Arithmetic.

rtile.func @dot_depth(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x4xf32>
  // expected-error@+1 {{expected operands of one depth, found 4 and 16}}
  %d = rtile.dot %a, %a : tensor<16x4xf32>, tensor<16x4xf32> -> tensor<16x4xf32>
  rtile.return
}

// -----

rtile.func @dot_result(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x4xf32>
  // expected-error@+1 {{expected a result of 16x16, found 'tensor<16x15xf32>'}}
  %d = rtile.dot %a, %a transposed : tensor<16x4xf32>, tensor<16x4xf32> -> tensor<16x15xf32>
  rtile.return
}

// -----

rtile.func @dot_types(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x4xf32>
  %b = arith.constant dense<1.0> : tensor<16x4xbf16>
  // expected-error@+1 {{expected operands of one element type, found 'f32' and 'bf16'}}
  %d = rtile.dot %a, %b transposed : tensor<16x4xf32>, tensor<16x4xbf16> -> tensor<16x16xf32>
  rtile.return
}

// -----

rtile.func @dot_dynamic(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x4xf32>
  %b = builtin.unrealized_conversion_cast %a : tensor<16x4xf32> to tensor<?x4xf32>
  // expected-error@+1 {{expected tiles of static shape}}
  %d = rtile.dot %a, %b transposed : tensor<16x4xf32>, tensor<?x4xf32> -> tensor<16x?xf32>
  rtile.return
}

// -----

rtile.func @dot_half_result(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x4xf32>
  // expected-error@+1 {{result #0 must be 2D tensor of 32-bit float values}}
  %d = "rtile.dot"(%a, %a) <{transposed}> : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x16xf16>
  rtile.return
}

// -----

rtile.func @reduce_row(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16xf32>
  // expected-error@+1 {{operand #0 must be 2D tensor of 32-bit float values}}
  %s = "rtile.reduce"(%a) <{kind = 0 : i32}> : (tensor<16xf32>) -> tensor<16xf32>
  rtile.return
}

// -----

rtile.func @reduce_kind(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x4xf32>
  // expected-error@+1 {{Invalid attribute `kind` in property conversion: 9}}
  %s = "rtile.reduce"(%a) <{kind = 9 : i32}> : (tensor<16x4xf32>) -> tensor<16xf32>
  rtile.return
}

// -----

rtile.func @reduce_without_kind(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x4xf32>
  // expected-error@+1 {{requires attribute 'kind'}}
  %s = "rtile.reduce"(%a) : (tensor<16x4xf32>) -> tensor<16xf32>
  rtile.return
}

// -----

rtile.func @broadcast_rows(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16xf32>
  // expected-error@+1 {{expected an operand of 8 elements, found 16}}
  %s = rtile.broadcast %a : tensor<16xf32> -> tensor<8x16xf32>
  rtile.return
}

// -----

rtile.func @broadcast_columns(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16xf32>
  // expected-error@+1 {{expected an operand of 8 elements, found 16}}
  %s = rtile.broadcast %a columns : tensor<16xf32> -> tensor<16x8xf32>
  rtile.return
}

// -----

rtile.func @broadcast_type(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16xf32>
  // expected-error@+1 {{expected operand and result of one element type, found 'f32' and 'f16'}}
  %s = rtile.broadcast %a : tensor<16xf32> -> tensor<16x8xf16>
  rtile.return
}

// -----

rtile.func @broadcast_dynamic(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16xf32>
  // expected-error@+1 {{expected tiles of static shape}}
  %s = rtile.broadcast %a : tensor<16xf32> -> tensor<?x?xf32>
  rtile.return
}

// -----

// Kernels.

// expected-error@+1 {{attribute 'grid_rank' failed to satisfy constraint}}
rtile.func @no_grid() grid() { rtile.return }

// -----

// expected-error@+1 {{attribute 'grid_rank' failed to satisfy constraint}}
rtile.func @five_axes() grid(%a: index, %b: index, %c: index, %d: index, %e: index) {
  rtile.return
}

// -----

// expected-error@+1 {{expected grid arguments of type index, found 'i64'}}
rtile.func @grid_type() grid(%i: i64) { rtile.return }

// -----

// expected-error@+1 {{expected parameters of type memref or index, found 'f32'}}
rtile.func @parameter(%x: f32) grid(%i: index) { rtile.return }

// -----

// expected-error@+1 {{expected parameters of type memref or index, found 'memref<*xf32>'}}
rtile.func @unranked(%x: memref<*xf32>) grid(%i: index) { rtile.return }

// -----

// expected-error@+1 {{expected a buffer of numbers in the default memory space, found 'memref<4xvector<4xf32>>'}}
rtile.func @vectors(%x: memref<4xvector<4xf32>>) grid(%i: index) { rtile.return }

// -----

// expected-error@+1 {{expected a buffer of numbers in the default memory space, found 'memref<4xf32, 3>'}}
rtile.func @memory_space(%x: memref<4xf32, 3>) grid(%i: index) { rtile.return }

// -----

// expected-error@+1 {{expected a buffer whose last axis has stride 1, found 'memref<4xf32, strided<[2]>>' (section 1)}}
rtile.func @s1_stride(%x: memref<4xf32, strided<[2]>>) grid(%i: index) { rtile.return }

// -----

// expected-error@+1 {{expected a strided buffer with offset 0, found 'memref<4xf32, strided<[1], offset: 4>>'}}
rtile.func @offset(%x: memref<4xf32, strided<[1], offset: 4>>) grid(%i: index) {
  rtile.return
}

// -----

// expected-error@+1 {{expected a strided buffer with offset 0}}
rtile.func @map(%x: memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>>) grid(%i: index) {
  rtile.return
}

// -----

// expected-error@+1 {{expected a body that ends in rtile.return}}
rtile.func @no_return() grid(%i: index) { }

// -----

// expected-error@+1 {{expects parent op 'rtile.func'}}
"rtile.return"() : () -> ()

// -----

// The generic form with parts missing or of the wrong kind.

// expected-error@+1 {{requires attribute 'grid_rank'}}
"rtile.func"() <{sym_name = "k"}> ({ "rtile.return"() : () -> () }) : () -> ()

// -----

// expected-error@+1 {{requires attribute 'sym_name'}}
"rtile.func"() <{grid_rank = 1 : i64}> ({ ^entry(%i: index): "rtile.return"() : () -> () }) : () -> ()

// -----

// expected-error@+1 {{failed to verify constraint: region with 1 blocks}}
"rtile.func"() <{sym_name = "k", grid_rank = 1 : i64}> ({}) : () -> ()

// -----

// expected-error@+1 {{expected 4 index arguments for the grid, found 0 arguments}}
"rtile.func"() <{sym_name = "k", grid_rank = 4 : i64}> ({ "rtile.return"() : () -> () }) : () -> ()

// -----

// expected-error@+1 {{attribute 'grid_rank' failed to satisfy constraint}}
"rtile.func"() <{sym_name = "k", grid_rank = -9223372036854775808 : i64}> ({ "rtile.return"() : () -> () }) : () -> ()
