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

// Where all rows of an atom are one tile half of what it computes of its own
// segment is hidden: a chain, whose state goes through memory, costs less. With
// rates of which none is so great a union does.

// CHECK-LABEL: func.func @causal(
// CHECK-NOT:     combine
// CHECK-LABEL: func.func @causal_narrow(
// CHECK:         combine = union
func.func @causal(%q: tensor<1x?x16x128xbf16>) -> tensor<1x?x16x128xbf16> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1>, <w = 8192, r = 4>, <w = 32768, r = 16>] causal
      : (tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>) -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>)
  return %o : tensor<1x?x16x128xbf16>
}

func.func @causal_narrow(%q: tensor<1x?x12x64xbf16>) -> tensor<1x?x12x64xbf16> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1>, <w = 4096, r = 2>, <w = 8192, r = 4>] causal
      : (tensor<1x?x12x64xbf16>, tensor<1x?x12x64xbf16>, tensor<1x?x12x64xbf16>) -> (tensor<1x?x12x64xbf16>, tensor<1x12x?xf32>)
  return %o : tensor<1x?x12x64xbf16>
}

// Each head has one branch: kernels of their own have tiles of their own.

// CHECK-LABEL: func.func @grouped(
// CHECK:         combine = apart
func.func @grouped(%q: tensor<1x?x12x64xbf16>) -> tensor<1x?x12x64xbf16> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1, offset = constant<0>, heads = [0, 4]>,
                <w = 4096, r = 2, offset = constant<1>, heads = [4, 8]>,
                <w = 8192, r = 4, offset = constant<2>, heads = [8, 12]>] mix = sum
      : (tensor<1x?x12x64xbf16>, tensor<1x?x12x64xbf16>, tensor<1x?x12x64xbf16>) -> (tensor<1x?x12x64xbf16>, tensor<3x1x12x?xf32>)
  return %o : tensor<1x?x12x64xbf16>
}

// CHECK-LABEL: func.func @window(
// CHECK-NOT:     combine
func.func @window(%q: tensor<1x?x16x128xbf16>) -> tensor<1x?x16x128xbf16> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1>, <w = 8192, r = 4>] window = [300, -1]
      : (tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>) -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>)
  return %o : tensor<1x?x16x128xbf16>
}
