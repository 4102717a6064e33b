// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What has 8 bits is read, and never a result (S6).
// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile --verify-diagnostics

// expected-error@+1 {{expected results of f16, bf16 or f32, found 'tensor<1x64x4x16xf8E4M3FN>'}}
func.func @returned(%q: tensor<1x64x4x16xf16>, %k: tensor<1x64x4x16xf8E4M3FN>)
    -> tensor<1x64x4x16xf8E4M3FN> {
  return %k : tensor<1x64x4x16xf8E4M3FN>
}
