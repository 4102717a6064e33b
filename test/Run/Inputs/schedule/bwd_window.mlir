//===- bwd_window.mlir - Gradients of keys and values, in a window ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// As bwd.mlir, where a query at position p sees the keys at p - 70 to p: `rtile.run`
// and `rtile.visible` with the view of keys first, so that a key at position u has the
// queries at u to u + 70.

!mem = memref<?x64xbf16, strided<[?, 1]>>
!row = memref<?xf32, strided<[1]>>
rtile.func @dkv_window(%Q: !mem, %K: !mem, %V: !mem, %dO: !mem, %LSE: !row, %D: !row,
                %dK: memref<?x64xf32, strided<[?, 1]>>, %dV: memref<?x64xf32, strided<[?, 1]>>)
    grid(%i: index) recipe = "pipelined" {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %scale = arith.constant dense<0.18> : tensor<128x64xf32>
  %q = rtile.view %Q[*, *] : !mem to !rtile.view<64x64xbf16>
  %do = rtile.view %dO[*, *] : !mem to !rtile.view<64x64xbf16>
  %k = rtile.view %K[*, *] : !mem to !rtile.view<128x64xbf16>
  %v = rtile.view %V[*, *] : !mem to !rtile.view<128x64xbf16>
  %lse = rtile.view %LSE[*] : !row to !rtile.view<64xf32>
  %d = rtile.view %D[*] : !row to !rtile.view<64xf32>
  %dk = rtile.view %dK[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<128x64xf32>
  %dv = rtile.view %dV[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<128x64xf32>
  %r = arith.muli %i, %c128 : index
  %kt = rtile.load %k[%r, %c0] : !rtile.view<128x64xbf16>
  %vt = rtile.load %v[%r, %c0] : !rtile.view<128x64xbf16>
  %hidden = arith.constant dense<0xFF800000> : tensor<128x64xf32>
  %begin, %whole_begin, %whole_end, %end = rtile.run %k[%r], %q window = [0, 70]
      : !rtile.view<128x64xbf16>, !rtile.view<64x64xbf16>
  %s:2 = scf.for %m = %begin to %end step %c64 iter_args(%accv = %zero, %acck = %zero) -> (tensor<128x64xf32>, tensor<128x64xf32>) {
    %qt = rtile.load %q[%m, %c0] : !rtile.view<64x64xbf16>
    %dot_ = rtile.load %do[%m, %c0] : !rtile.view<64x64xbf16>
    %l = rtile.load %lse[%m] : !rtile.view<64xf32>
    %dl = rtile.load %d[%m] : !rtile.view<64xf32>
    %st = rtile.dot %kt, %qt transposed : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %ss = arith.mulf %st, %scale : tensor<128x64xf32>
    %lw = rtile.broadcast %l columns : tensor<64xf32> -> tensor<128x64xf32>
    %seen = rtile.visible %k[%r], %q[%m] window = [0, 70]
        : !rtile.view<128x64xbf16>, !rtile.view<64x64xbf16> -> tensor<128x64xi1>
    %some = arith.select %seen, %ss, %hidden : tensor<128x64xi1>, tensor<128x64xf32>
    %e = arith.subf %some, %lw : tensor<128x64xf32>
    %p = math.exp2 %e : tensor<128x64xf32>
    %pb = arith.truncf %p : tensor<128x64xf32> to tensor<128x64xbf16>
    %nv = rtile.dot %pb, %dot_ init(%accv) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %dp = rtile.dot %vt, %dot_ transposed : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    %dw = rtile.broadcast %dl columns : tensor<64xf32> -> tensor<128x64xf32>
    %x = arith.subf %dp, %dw : tensor<128x64xf32>
    %ds = arith.mulf %p, %x : tensor<128x64xf32>
    %dsb = arith.truncf %ds : tensor<128x64xf32> to tensor<128x64xbf16>
    %nk = rtile.dot %dsb, %qt init(%acck) : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
    scf.yield %nv, %nk : tensor<128x64xf32>, tensor<128x64xf32>
  }
  rtile.store %s#0, %dv[%r, %c0] : !rtile.view<128x64xf32>
  rtile.store %s#1, %dk[%r, %c0] : !rtile.view<128x64xf32>
  rtile.return
}

rplan.func @gradients_in_window(
    %q: memref<?x64xbf16, strided<[?, 1]>>,
    %k: memref<?x64xbf16, strided<[?, 1]>>,
    %v: memref<?x64xbf16, strided<[?, 1]>>,
    %do: memref<?x64xbf16, strided<[?, 1]>>,
    %lse: memref<?xf32, strided<[1]>>,
    %delta: memref<?xf32, strided<[1]>>)
    outputs(%dk: memref<?x64xf32, strided<[?, 1]>>, %dv: memref<?x64xf32, strided<[?, 1]>>)
    names ["q", "k", "v", "do", "lse", "delta", "result0", "result1"] {
  %k_rows = rplan.size %k[0] : memref<?x64xbf16, strided<[?, 1]>>
  %dk_rows = rplan.size %dk[0] : memref<?x64xf32, strided<[?, 1]>>
  rplan.require eq %dk_rows, %k_rows,
      "expected result0 to have a row for each row of k"
  %dv_rows = rplan.size %dv[0] : memref<?x64xf32, strided<[?, 1]>>
  rplan.require eq %dv_rows, %k_rows,
      "expected result1 to have a row for each row of k"
  %c128 = arith.constant 128 : index
  %tiles = arith.ceildivsi %k_rows, %c128 : index
  rplan.launch @dkv_window grid(%tiles)
      args(%q, %k, %v, %do, %lse, %delta, %dk, %dv)
      : memref<?x64xbf16, strided<[?, 1]>>,
        memref<?x64xbf16, strided<[?, 1]>>,
        memref<?x64xbf16, strided<[?, 1]>>,
        memref<?x64xbf16, strided<[?, 1]>>,
        memref<?xf32, strided<[1]>>,
        memref<?xf32, strided<[1]>>,
        memref<?x64xf32, strided<[?, 1]>>,
        memref<?x64xf32, strided<[?, 1]>>
  rplan.return
}
