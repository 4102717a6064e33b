//===- invalid-window.mlir - Windows have two sides ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

func.func @b4_one_side(%q: tensor<1x8x2x16xf32>) {
  // expected-error@+1 {{expected two window sides, left and right, found 1 (B4)}}
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] window = [1]
      : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
      -> (tensor<1x8x2x16xf32>, tensor<1x2x8xf32>)
  return
}

// -----

rtile.func @b4_three_sides(%X: memref<64x64xf32>) grid(%i: index) {
  %x = rtile.view %X[*, *] : memref<64x64xf32> to !rtile.view<16x64xf32>
  // expected-error@+1 {{expected two window sides, left and right, found 3 (B4)}}
  %b, %wb, %we, %e = rtile.run %x[%i], %x window = [1, 2, 3]
      : !rtile.view<16x64xf32>, !rtile.view<16x64xf32>
  rtile.return
}
