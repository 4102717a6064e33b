//===- dq2.mlir - The same, used in another order ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// One tile of queries stays, keys and values pass: P = exp2(scale Q K^T - lse),
// dQ = (P * (dO V^T - delta)) K.
// What is started second is used first.

!mem = memref<?x128xbf16, strided<[?, 1]>>
!row = memref<?xf32, strided<[1]>>
rtile.func @dq(%Q: !mem, %K: !mem, %V: !mem, %dO: !mem, %LSE: !row, %D: !row,
               %dQ: memref<?x128xf32, strided<[?, 1]>>, %n: index) grid(%i: index) recipe = "pipelined" {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %scale = arith.constant dense<0.18> : tensor<128x64xf32>
  %q = rtile.view %Q[*, *] : !mem to !rtile.view<128x128xbf16>
  %do = rtile.view %dO[*, *] : !mem to !rtile.view<128x128xbf16>
  %k = rtile.view %K[*, *] : !mem to !rtile.view<64x128xbf16>
  %v = rtile.view %V[*, *] : !mem to !rtile.view<64x128xbf16>
  %lse = rtile.view %LSE[*] : !row to !rtile.view<128xf32>
  %d = rtile.view %D[*] : !row to !rtile.view<128xf32>
  %dqv = rtile.view %dQ[*, *] : memref<?x128xf32, strided<[?, 1]>> to !rtile.view<128x128xf32>
  %r = arith.muli %i, %c128 : index
  %qt = rtile.load %q[%r, %c0] : !rtile.view<128x128xbf16>
  %dot_ = rtile.load %do[%r, %c0] : !rtile.view<128x128xbf16>
  %l = rtile.load %lse[%r] : !rtile.view<128xf32>
  %dl = rtile.load %d[%r] : !rtile.view<128xf32>
  %lw = rtile.broadcast %l : tensor<128xf32> -> tensor<128x64xf32>
  %dw = rtile.broadcast %dl : tensor<128xf32> -> tensor<128x64xf32>
  %s = scf.for %m = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %kt = rtile.load %k[%m, %c0] : !rtile.view<64x128xbf16>
    %vt = rtile.load %v[%m, %c0] : !rtile.view<64x128xbf16>
    %st = rtile.dot %qt, %kt transposed : tensor<128x128xbf16>, tensor<64x128xbf16> -> tensor<128x64xf32>
    %dp = rtile.dot %dot_, %vt transposed : tensor<128x128xbf16>, tensor<64x128xbf16> -> tensor<128x64xf32>
    %x = arith.subf %dp, %dw : tensor<128x64xf32>
    %ss = arith.mulf %st, %scale : tensor<128x64xf32>
    %e = arith.subf %ss, %lw : tensor<128x64xf32>
    %p = math.exp2 %e : tensor<128x64xf32>
    %ds = arith.mulf %p, %x : tensor<128x64xf32>
    %dsb = arith.truncf %ds : tensor<128x64xf32> to tensor<128x64xbf16>
    %nq = rtile.dot %dsb, %kt init(%acc) : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
    scf.yield %nq : tensor<128x128xf32>
  }
  rtile.store %s, %dqv[%r, %c0] : !rtile.view<128x128xf32>
  rtile.return
}

rplan.func @gradients(
    %q: memref<?x128xbf16, strided<[?, 1]>>,
    %k: memref<?x128xbf16, strided<[?, 1]>>,
    %v: memref<?x128xbf16, strided<[?, 1]>>,
    %do: memref<?x128xbf16, strided<[?, 1]>>,
    %lse: memref<?xf32, strided<[1]>>,
    %delta: memref<?xf32, strided<[1]>>)
    outputs(%dq: memref<?x128xf32, strided<[?, 1]>>)
    names ["q", "k", "v", "do", "lse", "delta", "result0"] {
  %k_rows = rplan.size %k[0] : memref<?x128xbf16, strided<[?, 1]>>
  %q_rows = rplan.size %q[0] : memref<?x128xbf16, strided<[?, 1]>>
  %dq_rows = rplan.size %dq[0] : memref<?x128xf32, strided<[?, 1]>>
  rplan.require eq %dq_rows, %q_rows,
      "expected result0 to have a row for each row of q"
  %c128 = arith.constant 128 : index
  %tiles = arith.ceildivsi %q_rows, %c128 : index
  rplan.launch @dq grid(%tiles)
      args(%q, %k, %v, %do, %lse, %delta, %dq, %k_rows)
      : memref<?x128xbf16, strided<[?, 1]>>,
        memref<?x128xbf16, strided<[?, 1]>>,
        memref<?x128xbf16, strided<[?, 1]>>,
        memref<?x128xbf16, strided<[?, 1]>>,
        memref<?xf32, strided<[1]>>,
        memref<?xf32, strided<[1]>>,
        memref<?x128xf32, strided<[?, 1]>>,
        index
  rplan.return
}
