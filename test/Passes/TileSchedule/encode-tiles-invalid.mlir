//===- encode-tiles-invalid.mlir - Tiles that lie in two ways ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-encode-tiles --verify-diagnostics

rtile.func @both(%L: memref<?xf32, strided<[1]>>, %O: memref<?x64xf32, strided<[?, 1]>>)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %l = rtile.view %L[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %o = rtile.view %O[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  rtile.role "compute" warps = 4 {
    // expected-error@+1 {{expected a tile of values of rows or of columns, found one that is used as both: 'tensor<64xf32>'}}
    %values = rtile.load %l[%c0] : !rtile.view<64xf32>
    %wide = rtile.broadcast %values columns : tensor<64xf32> -> tensor<64x64xf32>
    %high = rtile.broadcast %values : tensor<64xf32> -> tensor<64x64xf32>
    %sum = arith.addf %wide, %high : tensor<64x64xf32>
    rtile.store %sum, %o[%c0, %c0] : !rtile.view<64x64xf32>
  }
  rtile.return
}
