//===- dense.mlir - Ordinary attention, full and causal ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dense attention is one branch whose one segment holds every position. Two
// entries: `ringlet-run --entry=full` or `--entry=causal` chooses.
//
//===----------------------------------------------------------------------===//

func.func @full(%q: tensor<1x?x16x128xbf16>, %k: tensor<1x?x16x128xbf16>,
                %v: tensor<1x?x16x128xbf16>)
    -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>) {
  %output, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
      : (tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>,
         tensor<1x?x16x128xbf16>)
      -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>)
  return %output, %lse : tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>
}

func.func @causal(%q: tensor<1x?x16x128xbf16>, %k: tensor<1x?x16x128xbf16>,
                  %v: tensor<1x?x16x128xbf16>)
    -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>) {
  %output, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>] causal
      : (tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>,
         tensor<1x?x16x128xbf16>)
      -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>)
  return %output, %lse : tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>
}
