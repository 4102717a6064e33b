//===- longnet-bf16.mlir - Branches that a GPU computes at once ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// A union is taken where a recipe makes a scheduled kernel of it.

// CHECK-LABEL: func.func @longnet(
// CHECK:         combine = union
func.func @longnet(%q: tensor<1x?x16x128xbf16>) -> tensor<1x?x16x128xbf16> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1>, <w = 8192, r = 4>, <w = 32768, r = 16>]
      : (tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>) -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>)
  return %o : tensor<1x?x16x128xbf16>
}

// CHECK-LABEL: func.func @causal(
// CHECK-NOT:     combine
func.func @causal(%q: tensor<1x?x16x128xbf16>) -> tensor<1x?x16x128xbf16> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1>, <w = 8192, r = 4>, <w = 32768, r = 16>] causal
      : (tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>) -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>)
  return %o : tensor<1x?x16x128xbf16>
}
