//===- orders.mlir - The orders that docs/Orders.md shows -===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#hilbert = #rlayout.layout<order = #rlayout.order<hilbert, grid = [16, 16]>>
#morton = #rlayout.layout<order = #rlayout.order<morton, grid = [16, 16]>>
#residue = #rlayout.layout<
    order = #rlayout.order<residue<4>, chunk = 16>>

func.func @orders(%x: tensor<1x256x4x64xf32>)
    -> (tensor<1x256x4x64xf32, #hilbert>, tensor<1x256x4x64xf32, #morton>,
        tensor<1x256x4x64xf32, #residue>) {
  %h = ringlet.reorder %x
      : tensor<1x256x4x64xf32> to tensor<1x256x4x64xf32, #hilbert>
  %m = ringlet.reorder %x
      : tensor<1x256x4x64xf32> to tensor<1x256x4x64xf32, #morton>
  %r = ringlet.reorder %x
      : tensor<1x256x4x64xf32> to tensor<1x256x4x64xf32, #residue>
  return %h, %m, %r : tensor<1x256x4x64xf32, #hilbert>,
      tensor<1x256x4x64xf32, #morton>, tensor<1x256x4x64xf32, #residue>
}
