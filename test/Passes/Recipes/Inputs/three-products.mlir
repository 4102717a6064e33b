//===- three-products.mlir - A gradient of queries ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

!mem = memref<?x64xbf16, strided<[?, 1]>>
!row = memref<?xf32, strided<[1]>>
!sums = memref<?x64xf32, strided<[?, 1]>>
rtile.func @queries(%Q: !mem, %K: !mem, %V: !mem, %dO: !mem, %LSE: !row,
                    %D: !row, %dQ: !sums, %n: index)
    grid(%i: index) recipe = "pipelined" {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = rtile.view %Q[*, *] : !mem to !rtile.view<64x64xbf16>
  %do = rtile.view %dO[*, *] : !mem to !rtile.view<64x64xbf16>
  %k = rtile.view %K[*, *] : !mem to !rtile.view<32x64xbf16>
  %v = rtile.view %V[*, *] : !mem to !rtile.view<32x64xbf16>
  %lse = rtile.view %LSE[*] : !row to !rtile.view<64xf32>
  %d = rtile.view %D[*] : !row to !rtile.view<64xf32>
  %dq = rtile.view %dQ[*, *] : !sums to !rtile.view<64x64xf32>
  %r = arith.muli %i, %c64 : index
  %qt = rtile.load %q[%r, %c0] : !rtile.view<64x64xbf16>
  %dot = rtile.load %do[%r, %c0] : !rtile.view<64x64xbf16>
  %l = rtile.load %lse[%r] : !rtile.view<64xf32>
  %dl = rtile.load %d[%r] : !rtile.view<64xf32>
  %lw = rtile.broadcast %l : tensor<64xf32> -> tensor<64x32xf32>
  %dw = rtile.broadcast %dl : tensor<64xf32> -> tensor<64x32xf32>
  %s = scf.for %m = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %kt = rtile.load %k[%m, %c0] : !rtile.view<32x64xbf16>
    %vt = rtile.load %v[%m, %c0] : !rtile.view<32x64xbf16>
    %scores = rtile.dot %qt, %kt transposed : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
    %dp = rtile.dot %dot, %vt transposed : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
    %e = arith.subf %scores, %lw : tensor<64x32xf32>
    %p = math.exp2 %e : tensor<64x32xf32>
    %x = arith.subf %dp, %dw : tensor<64x32xf32>
    %ds = arith.mulf %p, %x : tensor<64x32xf32>
    %rounded = arith.truncf %ds : tensor<64x32xf32> to tensor<64x32xbf16>
    %next = rtile.dot %rounded, %kt init(%acc) : tensor<64x32xbf16>, tensor<32x64xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  rtile.store %s, %dq[%r, %c0] : !rtile.view<64x64xf32>
  rtile.return
}
