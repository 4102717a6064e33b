//===- invalid-columns.mlir - Columns and references that are refused ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

// The width of a fold divides that of its operand.

rtile.func @fold_width() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x64xf32>
  // expected-error@+1 {{expected a result of 16 rows whose width divides 64, found 'tensor<16x24xf32>'}}
  %f = rtile.fold %a : tensor<16x64xf32> -> tensor<16x24xf32>
  rtile.return
}

// -----

// A fold keeps the rows.

rtile.func @fold_rows() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x64xf32>
  // expected-error@+1 {{expected a result of 16 rows whose width divides 64, found 'tensor<8x8xf32>'}}
  %f = rtile.fold %a : tensor<16x64xf32> -> tensor<8x8xf32>
  rtile.return
}

// -----

// No width at all divides nothing, and does not divide by zero.

rtile.func @fold_nothing() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x64xf32>
  // expected-error@+1 {{expected a result of 16 rows whose width divides 64, found 'tensor<16x0xf32>'}}
  %f = rtile.fold %a : tensor<16x64xf32> -> tensor<16x0xf32>
  rtile.return
}

// -----

// No column has a sum: there is no tile of that.

rtile.func @fold_empty() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x0xf32>
  // expected-error@+1 {{expected a result of 16 rows whose width divides 0, found 'tensor<16x8xf32>'}}
  %f = rtile.fold %a : tensor<16x0xf32> -> tensor<16x8xf32>
  rtile.return
}

// -----

// Tiles have static shape.

rtile.func @fold_dynamic() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x64xf32>
  // expected-error@+1 {{expected tiles of static shape}}
  %f = rtile.fold %a : tensor<16x64xf32> -> tensor<16x?xf32>
  rtile.return
}

// -----

// Only sums of f32 exist.

rtile.func @fold_half() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x64xf16>
  // expected-error@+1 {{operand #0 must be 2D tensor of 32-bit float values, but got 'tensor<16x64xf16>'}}
  %f = rtile.fold %a : tensor<16x64xf16> -> tensor<16x8xf16>
  rtile.return
}

// -----

// A mask has elements of i1.

rtile.func @any_number() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x64xf32>
  // expected-error@+1 {{operand #0 must be statically shaped tensor of 1-bit signless integer values, but got 'tensor<16x64xf32>'}}
  %f = rtile.any %a : tensor<16x64xf32>
  rtile.return
}

// -----

// The columns of a slice lie in the tile: the last one does not.

rtile.func @slice_end() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x64xf32>
  // expected-error@+1 {{expected columns of a tile with 64 of them, found 33 to 64}}
  %f = rtile.slice %a[33] : tensor<16x64xf32> -> tensor<16x32xf32>
  rtile.return
}

// -----

// The columns of a slice lie in the tile: neither does the first one.

rtile.func @slice_begin() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x64xf32>
  // expected-error@+1 {{expected columns of a tile with 64 of them, found 9223372036854775807 to}}
  %f = rtile.slice %a[9223372036854775807] : tensor<16x64xf32> -> tensor<16x1xf32>
  rtile.return
}

// -----

// There is no column before the first one.

rtile.func @slice_negative() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x64xf32>
  // expected-error@+1 {{attribute 'begin' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %f = "rtile.slice"(%a) <{begin = -1 : i64}> : (tensor<16x64xf32>) -> tensor<16x1xf32>
  rtile.return
}

// -----

// A slice keeps rows and element type.

rtile.func @slice_type() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x64xf32>
  // expected-error@+1 {{expected a result of 16 rows of 'f32', found 'tensor<16x32xf16>'}}
  %f = rtile.slice %a[0] : tensor<16x64xf32> -> tensor<16x32xf16>
  rtile.return
}

// -----

// A join has all columns of its operands.

rtile.func @join_width() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x64xf32>
  // expected-error@+1 {{expected a result of 128 columns, found 'tensor<16x64xf32>'}}
  %f = rtile.join %a, %a : tensor<16x64xf32>, tensor<16x64xf32> -> tensor<16x64xf32>
  rtile.return
}

// -----

// A join of nothing has no columns.

rtile.func @join_nothing() grid(%i: index) {
  // expected-error@+1 {{expected a result of 0 columns, found 'tensor<16x64xf32>'}}
  %f = "rtile.join"() : () -> tensor<16x64xf32>
  rtile.return
}

// -----

// Tiles side by side have one height.

rtile.func @join_rows() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x64xf32>
  %b = arith.constant dense<1.0> : tensor<8x64xf32>
  // expected-error@+1 {{expected operands of 16 rows of 'f32', found 'tensor<8x64xf32>'}}
  %f = rtile.join %a, %b : tensor<16x64xf32>, tensor<8x64xf32> -> tensor<16x128xf32>
  rtile.return
}

// -----

// Sums have a value for each reference.

rtile.func @rebase_sums() grid(%i: index) {
  %m = arith.constant dense<0.0> : tensor<16xf32>
  %l = arith.constant dense<1.0> : tensor<8x8xf32>
  // expected-error@+1 {{expected sums of 16 rows, found 'tensor<8x8xf32>'}}
  %n, %k = rtile.rebase %m, %l bound = 40 : tensor<16xf32>, tensor<8x8xf32>
  rtile.return
}

// -----

// So have the tiles that depend on it.

rtile.func @rebase_tiles() grid(%i: index) {
  %m = arith.constant dense<0.0> : tensor<16xf32>
  %a = arith.constant dense<1.0> : tensor<32x64xf32>
  // expected-error@+1 {{expected tiles of 16 rows, found 'tensor<32x64xf32>'}}
  %n, %k, %b = rtile.rebase %m, %m bound = 40 tiles(%a) : tensor<16xf32>, tensor<16xf32>, tensor<32x64xf32>
  rtile.return
}

// -----

// 2^101 times two tiles of it leaves the range of f32 early.

rtile.func @rebase_bound() grid(%i: index) {
  %m = arith.constant dense<0.0> : tensor<16xf32>
  // expected-error@+1 {{attribute 'bound' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative whose maximum value is 100}}
  %n, %k = rtile.rebase %m, %m bound = 101 : tensor<16xf32>, tensor<16xf32>
  rtile.return
}

// -----

// A row that is not moved would never be found.

rtile.func @rebase_limit() grid(%i: index) {
  %m = arith.constant dense<0.0> : tensor<16xf32>
  // expected-error@+1 {{expected a limit of at least the bound 14, found 13}}
  %n, %k = rtile.rebase %m, %m bound = 14 limit = 13 : tensor<16xf32>, tensor<16xf32>
  rtile.return
}
