// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Precisions that are none, and those of other types than f32 (R7).
// RUN: ringlet-opt -split-input-file -verify-diagnostics %s

func.func @of_bf16(%q: tensor<1x9x4x16xbf16>) {
  // expected-error@+1 {{expected a query of f32 beside precision = bf16x3, found 'bf16' (R7)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] precision = bf16x3
      : (tensor<1x9x4x16xbf16>, tensor<1x9x4x16xbf16>, tensor<1x9x4x16xbf16>) -> (tensor<1x9x4x16xbf16>, tensor<1x4x9xf32>)
  return
}

// -----

func.func @no_precision(%q: tensor<1x9x4x16xf32>) {
  // expected-error@+1 {{expected one of the precisions f32, tf32, tf32x3, bf16x3, found 'bf16' (R7)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] precision = bf16
      : (tensor<1x9x4x16xf32>, tensor<1x9x4x16xf32>, tensor<1x9x4x16xf32>) -> (tensor<1x9x4x16xf32>, tensor<1x4x9xf32>)
  return
}

// -----

rtile.func @product_of_f16() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x16xf16>
  // expected-error@+1 {{expected operands of f32 beside precision = tf32, found 'f16' (R7)}}
  %b = rtile.dot %a, %a precision = tf32 : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
  rtile.return
}
