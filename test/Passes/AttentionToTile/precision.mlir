// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both products of an attention have its precision (R7), in kernels for many
// queries and for few.
// RUN: ringlet-opt %s --ringlet-to-rtile | FileCheck %s

// CHECK-LABEL: rtile.func @attend_attention0_branch0(
// CHECK:         rtile.dot %{{.+}}, %{{.+}} transposed precision = tf32x3 :
// CHECK:         rtile.dot %{{.+}}, %{{.+}} precision = tf32x3 init(
func.func @attend(%q: tensor<1x64x2x16xf32>) -> tensor<1x64x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      precision = tf32x3 tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>)
      -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x16xf32>
}

// CHECK-LABEL: rtile.func @exact_attention0_branch0(
// CHECK-NOT:     precision
// CHECK:         rtile.return
func.func @exact(%q: tensor<1x64x2x16xf32>) -> tensor<1x64x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      precision = f32 tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>)
      -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x16xf32>
}
