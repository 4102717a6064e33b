//===- rms.mlir - A norm in front of a product ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// y = (x / sqrt(mean(x * x) + eps) * g) W: the left operand is computed from what
// is loaded, by values of its columns.

// One run makes a 64 x 64 tile of y.
rtile.func @rms_norm_matmul_tile(
    %X: memref<?x256xbf16, strided<[?, 1]>>,
    %G: memref<256xf32, strided<[1]>>,
    %W: memref<256x?xbf16, strided<[?, 1]>>,
    %Y: memref<?x?xbf16, strided<[?, 1]>>)
    grid(%tile_row: index, %tile_column: index) recipe = "pipelined" {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %width = arith.constant dense<256.0> : tensor<64xf32>
  %eps = arith.constant dense<1.0e-5> : tensor<64xf32>
  %no_squares = arith.constant dense<0.0> : tensor<64xf32>
  %no_product = arith.constant dense<0.0> : tensor<64x64xf32>

  // What lies beyond N or M reads as zero and is not written: the last tiles
  // need no code of their own.
  %x = rtile.view %X[*, *] : memref<?x256xbf16, strided<[?, 1]>>
      to !rtile.view<64x64xbf16>
  %g = rtile.view %G[*] : memref<256xf32, strided<[1]>>
      to !rtile.view<64xf32>
  %w = rtile.view %W[*, *] : memref<256x?xbf16, strided<[?, 1]>>
      to !rtile.view<64x64xbf16>
  %y = rtile.view %Y[*, *] : memref<?x?xbf16, strided<[?, 1]>>
      to !rtile.view<64x64xbf16>
  %row = arith.muli %tile_row, %c64 : index
  %column = arith.muli %tile_column, %c64 : index

  %squares, %product = scf.for %i = %c0 to %c256 step %c64
      iter_args(%squares_before = %no_squares, %product_before = %no_product)
      -> (tensor<64xf32>, tensor<64x64xf32>) {
    %x_narrow = rtile.load %x[%row, %i] : !rtile.view<64x64xbf16>
    %x_tile = arith.extf %x_narrow : tensor<64x64xbf16> to tensor<64x64xf32>

    // The norm, from the values as they are.
    %x_squared = arith.mulf %x_tile, %x_tile : tensor<64x64xf32>
    %more = rtile.reduce sum %x_squared : tensor<64x64xf32>
    %squares_after = arith.addf %squares_before, %more : tensor<64xf32>

    // (x * g) @ W: operands are bf16, the sum is f32.
    %g_tile = rtile.load %g[%i] : !rtile.view<64xf32>
    %g_wide = rtile.broadcast %g_tile columns
        : tensor<64xf32> -> tensor<64x64xf32>
    %weighted = arith.mulf %x_tile, %g_wide : tensor<64x64xf32>
    %lhs = arith.truncf %weighted : tensor<64x64xf32> to tensor<64x64xbf16>
    %w_tile = rtile.load %w[%i, %column] : !rtile.view<64x64xbf16>
    %product_after = rtile.dot %lhs, %w_tile init(%product_before)
        : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %squares_after, %product_after
        : tensor<64xf32>, tensor<64x64xf32>
  }

  %mean = arith.divf %squares, %width : tensor<64xf32>
  %mean_eps = arith.addf %mean, %eps : tensor<64xf32>
  %norm = math.sqrt %mean_eps : tensor<64xf32>
  %norm_wide = rtile.broadcast %norm : tensor<64xf32> -> tensor<64x64xf32>
  %y_tile = arith.divf %product, %norm_wide : tensor<64x64xf32>
  %y_narrow = arith.truncf %y_tile : tensor<64x64xf32> to tensor<64x64xbf16>
  rtile.store %y_narrow, %y[%row, %column] : !rtile.view<64x64xbf16>
  rtile.return
}

// What the host does: check that the sizes fit, cover y with tiles.
rplan.func @rms_norm_matmul(
    %x: memref<?x256xbf16, strided<[?, 1]>>,
    %g: memref<256xf32, strided<[1]>>,
    %w: memref<256x?xbf16, strided<[?, 1]>>)
    outputs(%y: memref<?x?xbf16, strided<[?, 1]>>)
    names ["x", "g", "w", "result0"] {
  %rows = rplan.size %x[0] : memref<?x256xbf16, strided<[?, 1]>>
  %columns = rplan.size %w[1] : memref<256x?xbf16, strided<[?, 1]>>
  %y_rows = rplan.size %y[0] : memref<?x?xbf16, strided<[?, 1]>>
  %y_columns = rplan.size %y[1] : memref<?x?xbf16, strided<[?, 1]>>
  rplan.require eq %y_rows, %rows,
      "expected result0 to have a row for each row of x"
  rplan.require eq %y_columns, %columns,
      "expected result0 to have a column for each column of w"

  %c64 = arith.constant 64 : index
  %tile_rows = arith.ceildivsi %rows, %c64 : index
  %tile_columns = arith.ceildivsi %columns, %c64 : index
  rplan.launch @rms_norm_matmul_tile grid(%tile_rows, %tile_columns)
      args(%x, %g, %w, %y)
      : memref<?x256xbf16, strided<[?, 1]>>, memref<256xf32, strided<[1]>>,
        memref<256x?xbf16, strided<[?, 1]>>, memref<?x?xbf16, strided<[?, 1]>>
  rplan.return
}
