//===- gemm.mlir - A product with a loop over its depth ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// C = A B^T, B as rows of its columns.

rtile.func @gemm(%A: memref<?x?xbf16, strided<[?, 1]>>, %B: memref<?x?xbf16, strided<[?, 1]>>,
                 %C: memref<?x?xf32, strided<[?, 1]>>) grid(%i: index, %j: index)
    recipe = "pipelined" {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %a = rtile.view %A[*, *] : memref<?x?xbf16, strided<[?, 1]>> to !rtile.view<128x64xbf16>
  %b = rtile.view %B[*, *] : memref<?x?xbf16, strided<[?, 1]>> to !rtile.view<128x64xbf16>
  %c = rtile.view %C[*, *] : memref<?x?xf32, strided<[?, 1]>> to !rtile.view<128x128xf32>
  %m = arith.muli %i, %c128 : index
  %n = arith.muli %j, %c128 : index
  %depth = memref.dim %A, %c1 : memref<?x?xbf16, strided<[?, 1]>>
  %sum = scf.for %k = %c0 to %depth step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %at = rtile.load %a[%m, %k] : !rtile.view<128x64xbf16>
    %bt = rtile.load %b[%n, %k] : !rtile.view<128x64xbf16>
    %next = rtile.dot %at, %bt transposed init(%acc) : tensor<128x64xbf16>, tensor<128x64xbf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  rtile.store %sum, %c[%m, %n] : !rtile.view<128x128xf32>
  rtile.return
}

rplan.func @product(
    %a: memref<?x?xbf16, strided<[?, 1]>>,
    %b: memref<?x?xbf16, strided<[?, 1]>>)
    outputs(%c: memref<?x?xf32, strided<[?, 1]>>)
    names ["a", "b", "result0"] {
  %rows = rplan.size %a[0] : memref<?x?xbf16, strided<[?, 1]>>
  %columns = rplan.size %b[0] : memref<?x?xbf16, strided<[?, 1]>>
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
      : memref<?x?xbf16, strided<[?, 1]>>,
        memref<?x?xbf16, strided<[?, 1]>>,
        memref<?x?xf32, strided<[?, 1]>>
  rplan.return
}
