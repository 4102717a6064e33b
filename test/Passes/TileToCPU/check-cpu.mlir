//===- check-cpu.mlir - What the CPU lowering refuses ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics --rtile-check-cpu

rtile.func @unknown_function(%X: memref<?xf32, strided<[1]>>) grid(%i: index) {
  %xv = rtile.view %X[*] : memref<?xf32, strided<[1]>> to !rtile.view<8xf32>
  %x = rtile.load %xv[%i] : !rtile.view<8xf32>
  // expected-error @below {{'math.atan' op is an operation on tiles that the CPU lowering does not cover}}
  %y = math.atan %x : tensor<8xf32>
  rtile.store %y, %xv[%i] : !rtile.view<8xf32>
  rtile.return
}

// -----

rtile.func @wide_integers() grid(%i: index) {
  // expected-error @below {{expected tiles of f32, f16, bf16, i32 or i1 on a CPU, found 'tensor<8xi64>'}}
  %x = arith.constant dense<1> : tensor<8xi64>
  rtile.return
}

// -----

rtile.func @table() grid(%i: index) {
  // expected-error @below {{expected the same value in every element of a constant tile on a CPU; pass other tables as a buffer}}
  %x = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  rtile.return
}

// -----

rtile.func @chosen_view(%X: memref<?xf32, strided<[1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %first = arith.cmpi eq, %i, %c0 : index
  %a = rtile.view %X[*] : memref<?xf32, strided<[1]>> to !rtile.view<8xf32>
  %b = rtile.view %X[*] origin(%i) : memref<?xf32, strided<[1]>> to !rtile.view<8xf32>
  // expected-error @below {{expected index, integers of at most 64 bits, f16, bf16, f32 or f64 outside tiles, found '!rtile.view<8xf32>'}}
  %v = arith.select %first, %a, %b : !rtile.view<8xf32>
  // expected-error @below {{expected a view made by rtile.view, found one that passes through a block or an operation}}
  %x = rtile.load %v[%i] : !rtile.view<8xf32>
  rtile.return
}

// -----

rtile.func @foreign_scalar(%X: memref<?xf32, strided<[1]>>) grid(%i: index) {
  // expected-error @below {{'math.absi' op is an operation that the CPU lowering does not cover}}
  %j = math.absi %i : index
  rtile.return
}

// -----

rtile.func @narrow_scalar(%n: index) grid(%i: index) {
  %bits = arith.index_cast %n : index to i64
  // expected-error @below {{outside tiles, found 'f8E4M3FN'}}
  %x = arith.sitofp %bits : i64 to f8E4M3FN
  rtile.return
}

// -----

rtile.func @wide_scalar(%n: index) grid(%i: index) {
  // expected-error @below {{outside tiles, found 'i128'}}
  %x = arith.index_cast %n : index to i128
  rtile.return
}

// -----

rtile.func @unsigned_loop(%n: index) grid(%i: index) {
  // expected-error @below {{expected a loop over signed numbers, found scf.for unsigned}}
  scf.for unsigned %j = %i to %n step %n {
  }
  rtile.return
}

// -----

rtile.func @rounding() grid(%i: index) {
  %x = arith.constant dense<1.0> : tensor<8xf32>
  // expected-error @below {{expected rounding to_nearest_even, found toward_zero (R4)}}
  %y = arith.truncf %x toward_zero : tensor<8xf32> to tensor<8xbf16>
  rtile.return
}

// -----

rtile.func @twice_rounded() grid(%i: index) {
  %x = arith.constant dense<1.0> : tensor<8xbf16>
  // expected-error @below {{expected a result of f32, to be rounded once, found 'tensor<8xbf16>' (R4)}}
  %y = math.fma %x, %x, %x : tensor<8xbf16>
  %n = arith.constant dense<1077936129> : tensor<8xi32>
  // expected-error @below {{expected a result of f32, to be rounded once, found 'tensor<8xbf16>' (R4)}}
  %z = arith.sitofp %n : tensor<8xi32> to tensor<8xbf16>
  rtile.return
}

// -----

// expected-error @below {{'scheduled' is a scheduled kernel; expected a plain one for a CPU}}
rtile.func @scheduled() grid(%i: index) scheduled {
  rtile.role "compute" warps = 4 {
    %x = arith.constant dense<1.0> : tensor<64xf32, #rtile.fragment<4>>
  }
  rtile.return
}

// -----

// A plain kernel that is meant to be scheduled is a kernel like any other; so are
// the operations of the recipes.

rtile.func @recipe() grid(%i: index) recipe = "fa_fwd_lazy" walk = <each> {
  %m = arith.constant dense<0.0> : tensor<16xf32>
  %a = arith.constant dense<1.0> : tensor<16x64xf32>
  %s = rtile.slice %a[0] : tensor<16x64xf32> -> tensor<16x32xf32>
  %j = rtile.join %s, %s : tensor<16x32xf32>, tensor<16x32xf32>
      -> tensor<16x64xf32>
  %l = rtile.fold %j : tensor<16x64xf32> -> tensor<16x8xf32>
  %m1, %l1 = rtile.rebase %m, %l bound = 40 : tensor<16xf32>, tensor<16x8xf32>
  %above = arith.cmpf ogt, %m1, %m : tensor<16xf32>
  %some = rtile.any %above : tensor<16xi1>
  scf.if %some {
  }
  rtile.return
}

// -----

// Elements are read one by one from tables and masks only.

rtile.func @read_of_floats(%X: memref<?xf32>) grid(%i: index) {
  // expected-error @below {{expected a number of i32, i64 or i1, found 'f32'}}
  %x = memref.load %X[%i] : memref<?xf32>
  rtile.return
}

// -----

// No buffer has a size for an axis that it has not.

rtile.func @far_axis(%X: memref<?x4xf32>) grid(%i: index) {
  %c2 = arith.constant 2 : index
  // expected-error @below {{expected an axis in [0, 2), found 2}}
  %n = memref.dim %X, %c2 : memref<?x4xf32>
  rtile.return
}

// -----

rtile.func @negative_axis(%X: memref<?x4xf32>) grid(%i: index) {
  %minus_one = arith.constant -1 : index
  // expected-error @below {{expected an axis in [0, 2), found -1}}
  %n = memref.dim %X, %minus_one : memref<?x4xf32>
  rtile.return
}

// -----

// Nor does code find an axis that follows from the point.

rtile.func @some_axis(%X: memref<?x4xf32>) grid(%i: index) {
  // expected-error @below {{expected a constant axis}}
  %n = memref.dim %X, %i : memref<?x4xf32>
  rtile.return
}
