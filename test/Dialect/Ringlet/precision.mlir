// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What products of f32 become (R7), in graphs and in tile programs.
// RUN: ringlet-opt %s | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s -mlir-print-op-generic | ringlet-opt | FileCheck %s

// CHECK-LABEL: func.func @attention(
// CHECK:         precision = tf32x3
func.func @attention(%q: tensor<1x9x4x16xf32>) -> tensor<1x9x4x16xf32> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      precision = tf32x3
      : (tensor<1x9x4x16xf32>, tensor<1x9x4x16xf32>, tensor<1x9x4x16xf32>)
      -> (tensor<1x9x4x16xf32>, tensor<1x4x9xf32>)
  return %o : tensor<1x9x4x16xf32>
}

// CHECK-LABEL: func.func @beside_8_bits(
// CHECK:         precision = bf16x3
func.func @beside_8_bits(%q: tensor<1x9x4x16xf32>, %k: tensor<1x9x4x16xi8>)
    -> tensor<1x9x4x16xf32> {
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      precision = bf16x3
      : (tensor<1x9x4x16xf32>, tensor<1x9x4x16xi8>, tensor<1x9x4x16xi8>)
      -> (tensor<1x9x4x16xf32>, tensor<1x4x9xf32>)
  return %o : tensor<1x9x4x16xf32>
}

// CHECK-LABEL: rtile.func @products(
// CHECK:         rtile.dot %{{.+}}, %{{.+}} transposed precision = tf32 : tensor<16x8xf32>
// CHECK:         rtile.dot %{{.+}}, %{{.+}} precision = f32 init(%{{.+}}) :
rtile.func @products() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x8xf32>
  %b = arith.constant dense<1.0> : tensor<16x16xf32>
  %c = rtile.dot %a, %a transposed precision = tf32
      : tensor<16x8xf32>, tensor<16x8xf32> -> tensor<16x16xf32>
  %d = rtile.dot %b, %b precision = f32 init(%c)
      : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  rtile.return
}
