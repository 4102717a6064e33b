//===- branches.mlir - The attention that docs/Orders.md shows -===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

func.func @branches(%q: tensor<1x64x4x64xf32>, %k: tensor<1x64x4x64xf32>,
                    %v: tensor<1x64x4x64xf32>) -> tensor<1x64x4x64xf32> {
  %o, %lse = ringlet.attention %q, %k, %v
      branches [<w = 16, r = 1>, <w = 32, r = 2>, <w = *, r = 4>] causal
      : (tensor<1x64x4x64xf32>, tensor<1x64x4x64xf32>, tensor<1x64x4x64xf32>)
      -> (tensor<1x64x4x64xf32>, tensor<1x4x64xf32>)
  return %o : tensor<1x64x4x64xf32>
}
