//===- gemm1.mlir - A product without a loop ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// C = A B^T with a depth of one tile.

rtile.func @gemm(%A: memref<?x256xbf16, strided<[?, 1]>>, %B: memref<?x256xbf16, strided<[?, 1]>>,
                 %C: memref<?x?xf32, strided<[?, 1]>>) grid(%i: index, %j: index)
    recipe = "pipelined" {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %a = rtile.view %A[*, *] : memref<?x256xbf16, strided<[?, 1]>> to !rtile.view<128x256xbf16>
  %b = rtile.view %B[*, *] : memref<?x256xbf16, strided<[?, 1]>> to !rtile.view<128x256xbf16>
  %c = rtile.view %C[*, *] : memref<?x?xf32, strided<[?, 1]>> to !rtile.view<128x128xf32>
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c128 : index
  %at = rtile.load %a[%m, %c0] : !rtile.view<128x256xbf16>
  %bt = rtile.load %b[%n, %c0] : !rtile.view<128x256xbf16>
  %next = rtile.dot %at, %bt transposed : tensor<128x256xbf16>, tensor<128x256xbf16> -> tensor<128x128xf32>
  rtile.store %next, %c[%m, %n] : !rtile.view<128x128xf32>
  rtile.return
}

rplan.func @product(
    %a: memref<?x256xbf16, strided<[?, 1]>>,
    %b: memref<?x256xbf16, strided<[?, 1]>>)
    outputs(%c: memref<?x?xf32, strided<[?, 1]>>)
    names ["a", "b", "result0"] {
  %rows = rplan.size %a[0] : memref<?x256xbf16, strided<[?, 1]>>
  %columns = rplan.size %b[0] : memref<?x256xbf16, strided<[?, 1]>>
  %c_rows = rplan.size %c[0] : memref<?x?xf32, strided<[?, 1]>>
  %c_columns = rplan.size %c[1] : memref<?x?xf32, strided<[?, 1]>>
  rplan.require eq %c_rows, %rows,
      "expected result0 to have a row for each row of a"
  rplan.require eq %c_columns, %columns,
      "expected result0 to have a column for each row of b"
  %c128 = arith.constant 128 : index
  %tile_rows = arith.ceildivsi %rows, %c128 : index
  %tile_columns = arith.ceildivsi %columns, %c128 : index
  rplan.launch @gemm grid(%tile_rows, %tile_columns)
      args(%a, %b, %c)
      : memref<?x256xbf16, strided<[?, 1]>>,
        memref<?x256xbf16, strided<[?, 1]>>,
        memref<?x?xf32, strided<[?, 1]>>
  rplan.return
}
