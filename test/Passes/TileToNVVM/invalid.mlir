//===- invalid.mlir - What the GPU lowering refuses ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics \
// RUN:   --rtile-check-gpu --rtile-lower-runs \
// RUN:   --rtile-gpu-choose-dot=arch=sm_61 --rtile-gpu-choose-warps \
// RUN:   --rtile-gpu-assign-shared=arch=sm_61
// RUN: not ringlet-opt %s --split-input-file '--rtile-gpu-choose-dot=arch=sm_1' \
// RUN:   2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: expected a GPU architecture (sm_60, {{.+}}), found 'sm_1'

// 128 rows of 128 columns of f32, padded: more than a block of sm_61 can have.

rtile.func @too_large(%X: memref<?x128xf32, strided<[?, 1]>>,
                      %Y: memref<?x16xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %w = arith.constant dense<1.0> : tensor<16x128xf32>
  %x = rtile.view %X[*, *] : memref<?x128xf32, strided<[?, 1]>> to !rtile.view<128x128xf32>
  %y = rtile.view %Y[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<128x16xf32>
  // expected-error@+1 {{expected tiles that need at most 49152 bytes of shared memory on sm_61, found 76032, of which 67584 for 'tensor<128x128xf32>'; 64 rows of it would fit}}
  %t = rtile.load %x[%i, %c0] : !rtile.view<128x128xf32>
  %p = rtile.dot %t, %w transposed : tensor<128x128xf32>, tensor<16x128xf32> -> tensor<128x16xf32>
  rtile.store %p, %y[%i, %c0] : !rtile.view<128x16xf32>
  rtile.return
}

// -----

rtile.func @wide_integers() grid(%i: index) {
  // expected-error@+1 {{expected tiles of f32, f16, bf16, i32 or i1 on a GPU, found 'tensor<16xi64>'}}
  %x = arith.constant dense<1> : tensor<16xi64>
  rtile.return
}

// -----

rtile.func @table() grid(%i: index) {
  // expected-error@+1 {{expected the same value in every element of a constant tile on a GPU; pass other tables as a buffer}}
  %x = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  rtile.return
}

// -----

rtile.func @no_lowering() grid(%i: index) {
  %x = arith.constant dense<1.0> : tensor<16xf32>
  // expected-error@+1 {{is an operation on tiles that the GPU lowering does not cover}}
  %y = math.atan %x : tensor<16xf32>
  rtile.return
}

// -----

rtile.func @unsigned_loop(%x: memref<64x64xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %xs = rtile.view %x[*, *] : memref<64x64xf32> to !rtile.view<16x64xf32>
  // expected-error@+1 {{expected a loop over signed numbers, found scf.for unsigned}}
  scf.for unsigned %j = %c0 to %i step %c16 {
    %t = rtile.load %xs[%j, %c0] : !rtile.view<16x64xf32>
    rtile.store %t, %xs[%j, %c0] : !rtile.view<16x64xf32>
  }
  rtile.return
}
