//===- floor.mlir - A product rounded down ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// C = floor(A B^T). R is not used.

rtile.func @g(%A: memref<?x64xbf16, strided<[?, 1]>>, %B: memref<?x64xbf16, strided<[?, 1]>>, %R: memref<?xf32, strided<[1]>>,
                 %C: memref<?x?xf32, strided<[?, 1]>>) grid(%i: index, %j: index)
    recipe = "pipelined" {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %a = rtile.view %A[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<128x64xbf16>
  %b = rtile.view %B[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<128x64xbf16>
  %r = rtile.view %R[*] : memref<?xf32, strided<[1]>> to !rtile.view<128xf32>
  %c = rtile.view %C[*, *] : memref<?x?xf32, strided<[?, 1]>> to !rtile.view<128x128xf32>
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c128 : index
  %at = rtile.load %a[%m, %c0] : !rtile.view<128x64xbf16>
  %bt = rtile.load %b[%n, %c0] : !rtile.view<128x64xbf16>
  %s = rtile.dot %at, %bt transposed : tensor<128x64xbf16>, tensor<128x64xbf16> -> tensor<128x128xf32>
  %q = math.floor %s : tensor<128x128xf32>
  rtile.store %q, %c[%m, %n] : !rtile.view<128x128xf32>
  rtile.return
}

rplan.func @rounded(
    %a: memref<?x64xbf16, strided<[?, 1]>>,
    %b: memref<?x64xbf16, strided<[?, 1]>>,
    %r: memref<?xf32, strided<[1]>>)
    outputs(%c: memref<?x?xf32, strided<[?, 1]>>)
    names ["a", "b", "r", "result0"] {
  %rows = rplan.size %a[0] : memref<?x64xbf16, strided<[?, 1]>>
  %columns = rplan.size %b[0] : memref<?x64xbf16, strided<[?, 1]>>
  %c_rows = rplan.size %c[0] : memref<?x?xf32, strided<[?, 1]>>
  %c_columns = rplan.size %c[1] : memref<?x?xf32, strided<[?, 1]>>
  rplan.require eq %c_rows, %rows,
      "expected result0 to have a row for each row of a"
  rplan.require eq %c_columns, %columns,
      "expected result0 to have a column for each row of b"
  %c128 = arith.constant 128 : index
  %tile_rows = arith.ceildivsi %rows, %c128 : index
  %tile_columns = arith.ceildivsi %columns, %c128 : index
  rplan.launch @g grid(%tile_rows, %tile_columns)
      args(%a, %b, %r, %c)
      : memref<?x64xbf16, strided<[?, 1]>>,
        memref<?x64xbf16, strided<[?, 1]>>,
        memref<?xf32, strided<[1]>>,
        memref<?x?xf32, strided<[?, 1]>>
  rplan.return
}
