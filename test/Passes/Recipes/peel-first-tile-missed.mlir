//===- peel-first-tile-missed.mlir - Loops that keep their order ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-peel-first-tile | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-peel-first-tile \
// RUN:   --remarks-filter=rtile-peel-first-tile \
// RUN:   --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// Nobody says that the steps may run in another order.

// CHECK-LABEL: rtile.func @ordered(
// CHECK:         scf.for %{{.+}} = %{{.+}} to
// CHECK:         scf.for
// REMARK: expected loops that are rtile.unordered, found one whose steps have an order
rtile.func @ordered(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
    %V: memref<?x16xbf16, strided<[?, 1]>>, %O: memref<?x16xf32, strided<[?, 1]>>,
    %L: memref<?xf32, strided<[1]>>) grid(%row: index) recipe = "fa_fwd_lazy" {
  %lowest = arith.constant dense<0xFF7FFFFF> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x16xf32>
  %scale = arith.constant dense<0.25> : tensor<64x48xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x48xf32>
  %c0 = arith.constant 0 : index
  %step = arith.constant 48 : index
  %q = rtile.view %Q[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<64x32xbf16>
  %k = rtile.view %K[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<48x32xbf16>
  %v = rtile.view %V[*, *] : memref<?x16xbf16, strided<[?, 1]>> to !rtile.view<48x16xbf16>
  %o = rtile.view %O[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<64x16xf32>
  %ls = rtile.view %L[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %before = rtile.load %ls[%row] : !rtile.view<64xf32>
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x32xbf16>
  %b, %wb, %we, %e = rtile.run %q[%row], %k : !rtile.view<64x32xbf16>, !rtile.view<48x32xbf16>
  %s0:3 = scf.for %j = %b to %we step %step iter_args(%m = %lowest, %l = %before, %acc = %zero) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<48x32xbf16>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xbf16>, tensor<48x32xbf16> -> tensor<64x48xf32>
    %scores = arith.mulf %product, %scale : tensor<64x48xf32>
    %tile_max = rtile.reduce max %scores : tensor<64x48xf32>
    %m_new = arith.maximumf %m, %tile_max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x48xf32>
    %below = arith.subf %scores, %m_wide : tensor<64x48xf32>
    %p = math.exp2 %below : tensor<64x48xf32>
    %change = arith.subf %m, %m_new : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %tile_sum = rtile.reduce sum %p : tensor<64x48xf32>
    %l_decayed = arith.mulf %l, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_decayed, %tile_sum : tensor<64xf32>
    %p_rounded = arith.truncf %p : tensor<64x48xf32> to tensor<64x48xbf16>
    %v_tile = rtile.load %v[%j, %c0] : !rtile.view<48x16xbf16>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %acc_decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p_rounded, %v_tile init(%acc_decayed) : tensor<64x48xbf16>, tensor<48x16xbf16> -> tensor<64x16xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  }
  %s1:3 = scf.for %j = %we to %e step %step iter_args(%m = %s0#0, %l = %s0#1, %acc = %s0#2) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<48x32xbf16>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xbf16>, tensor<48x32xbf16> -> tensor<64x48xf32>
    %scores = arith.mulf %product, %scale : tensor<64x48xf32>
    %seen = rtile.visible %q[%row], %k[%j] : !rtile.view<64x32xbf16>, !rtile.view<48x32xbf16> -> tensor<64x48xi1>
    %masked = arith.select %seen, %scores, %hidden : tensor<64x48xi1>, tensor<64x48xf32>
    %tile_max = rtile.reduce max %masked : tensor<64x48xf32>
    %m_new = arith.maximumf %m, %tile_max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x48xf32>
    %below = arith.subf %masked, %m_wide : tensor<64x48xf32>
    %p = math.exp2 %below : tensor<64x48xf32>
    %change = arith.subf %m, %m_new : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %tile_sum = rtile.reduce sum %p : tensor<64x48xf32>
    %l_decayed = arith.mulf %l, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_decayed, %tile_sum : tensor<64xf32>
    %p_rounded = arith.truncf %p : tensor<64x48xf32> to tensor<64x48xbf16>
    %v_tile = rtile.load %v[%j, %c0] : !rtile.view<48x16xbf16>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %acc_decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p_rounded, %v_tile init(%acc_decayed) : tensor<64x48xbf16>, tensor<48x16xbf16> -> tensor<64x16xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  }
  rtile.store %s1#2, %o[%row, %c0] : !rtile.view<64x16xf32>
  rtile.store %s1#1, %ls[%row] : !rtile.view<64xf32>
  rtile.return
}

// -----

// Another step than the height of the key tile: no key belongs to one step.

// CHECK-LABEL: rtile.func @other_step(
// CHECK-NOT:     arith.ceildivsi
// CHECK:         rtile.return
// REMARK: expected steps of 48, the height of the key tile, found another step
rtile.func @other_step(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
    %V: memref<?x16xbf16, strided<[?, 1]>>, %O: memref<?x16xf32, strided<[?, 1]>>,
    %L: memref<?xf32, strided<[1]>>) grid(%row: index) recipe = "fa_fwd_lazy" {
  %lowest = arith.constant dense<0xFF7FFFFF> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x16xf32>
  %scale = arith.constant dense<0.25> : tensor<64x48xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x48xf32>
  %c0 = arith.constant 0 : index
  %step = arith.constant 96 : index
  %q = rtile.view %Q[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<64x32xbf16>
  %k = rtile.view %K[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<48x32xbf16>
  %v = rtile.view %V[*, *] : memref<?x16xbf16, strided<[?, 1]>> to !rtile.view<48x16xbf16>
  %o = rtile.view %O[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<64x16xf32>
  %ls = rtile.view %L[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x32xbf16>
  %b, %wb, %we, %e = rtile.run %q[%row], %k : !rtile.view<64x32xbf16>, !rtile.view<48x32xbf16>
  %s0:3 = scf.for %j = %b to %we step %step iter_args(%m = %lowest, %l = %none, %acc = %zero) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<48x32xbf16>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xbf16>, tensor<48x32xbf16> -> tensor<64x48xf32>
    %scores = arith.mulf %product, %scale : tensor<64x48xf32>
    %tile_max = rtile.reduce max %scores : tensor<64x48xf32>
    %m_new = arith.maximumf %m, %tile_max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x48xf32>
    %below = arith.subf %scores, %m_wide : tensor<64x48xf32>
    %p = math.exp2 %below : tensor<64x48xf32>
    %change = arith.subf %m, %m_new : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %tile_sum = rtile.reduce sum %p : tensor<64x48xf32>
    %l_decayed = arith.mulf %l, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_decayed, %tile_sum : tensor<64xf32>
    %p_rounded = arith.truncf %p : tensor<64x48xf32> to tensor<64x48xbf16>
    %v_tile = rtile.load %v[%j, %c0] : !rtile.view<48x16xbf16>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %acc_decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p_rounded, %v_tile init(%acc_decayed) : tensor<64x48xbf16>, tensor<48x16xbf16> -> tensor<64x16xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  } {rtile.unordered}
  %s1:3 = scf.for %j = %we to %e step %step iter_args(%m = %s0#0, %l = %s0#1, %acc = %s0#2) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<48x32xbf16>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xbf16>, tensor<48x32xbf16> -> tensor<64x48xf32>
    %scores = arith.mulf %product, %scale : tensor<64x48xf32>
    %seen = rtile.visible %q[%row], %k[%j] : !rtile.view<64x32xbf16>, !rtile.view<48x32xbf16> -> tensor<64x48xi1>
    %masked = arith.select %seen, %scores, %hidden : tensor<64x48xi1>, tensor<64x48xf32>
    %tile_max = rtile.reduce max %masked : tensor<64x48xf32>
    %m_new = arith.maximumf %m, %tile_max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x48xf32>
    %below = arith.subf %masked, %m_wide : tensor<64x48xf32>
    %p = math.exp2 %below : tensor<64x48xf32>
    %change = arith.subf %m, %m_new : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %tile_sum = rtile.reduce sum %p : tensor<64x48xf32>
    %l_decayed = arith.mulf %l, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_decayed, %tile_sum : tensor<64xf32>
    %p_rounded = arith.truncf %p : tensor<64x48xf32> to tensor<64x48xbf16>
    %v_tile = rtile.load %v[%j, %c0] : !rtile.view<48x16xbf16>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %acc_decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p_rounded, %v_tile init(%acc_decayed) : tensor<64x48xbf16>, tensor<48x16xbf16> -> tensor<64x16xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  } {rtile.unordered}
  rtile.store %s1#2, %o[%row, %c0] : !rtile.view<64x16xf32>
  rtile.store %s1#1, %ls[%row] : !rtile.view<64xf32>
  rtile.return
}

// -----

// What is written in one order may be read in that order.

// CHECK-LABEL: rtile.func @stores(
// CHECK-NOT:     arith.ceildivsi
// CHECK:         rtile.return
// REMARK: expected loops that write nothing, found rtile.store
rtile.func @stores(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
    %V: memref<?x16xbf16, strided<[?, 1]>>, %O: memref<?x16xf32, strided<[?, 1]>>,
    %L: memref<?xf32, strided<[1]>>) grid(%row: index) recipe = "fa_fwd_lazy" {
  %lowest = arith.constant dense<0xFF7FFFFF> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x16xf32>
  %scale = arith.constant dense<0.25> : tensor<64x48xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x48xf32>
  %c0 = arith.constant 0 : index
  %step = arith.constant 48 : index
  %q = rtile.view %Q[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<64x32xbf16>
  %k = rtile.view %K[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<48x32xbf16>
  %v = rtile.view %V[*, *] : memref<?x16xbf16, strided<[?, 1]>> to !rtile.view<48x16xbf16>
  %o = rtile.view %O[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<64x16xf32>
  %ls = rtile.view %L[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x32xbf16>
  %b, %wb, %we, %e = rtile.run %q[%row], %k : !rtile.view<64x32xbf16>, !rtile.view<48x32xbf16>
  %s0:3 = scf.for %j = %b to %we step %step iter_args(%m = %lowest, %l = %none, %acc = %zero) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<48x32xbf16>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xbf16>, tensor<48x32xbf16> -> tensor<64x48xf32>
    %scores = arith.mulf %product, %scale : tensor<64x48xf32>
    %tile_max = rtile.reduce max %scores : tensor<64x48xf32>
    %m_new = arith.maximumf %m, %tile_max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x48xf32>
    %below = arith.subf %scores, %m_wide : tensor<64x48xf32>
    %p = math.exp2 %below : tensor<64x48xf32>
    %change = arith.subf %m, %m_new : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %tile_sum = rtile.reduce sum %p : tensor<64x48xf32>
    %l_decayed = arith.mulf %l, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_decayed, %tile_sum : tensor<64xf32>
    %p_rounded = arith.truncf %p : tensor<64x48xf32> to tensor<64x48xbf16>
    %v_tile = rtile.load %v[%j, %c0] : !rtile.view<48x16xbf16>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %acc_decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p_rounded, %v_tile init(%acc_decayed) : tensor<64x48xbf16>, tensor<48x16xbf16> -> tensor<64x16xf32>
    rtile.store %m, %ls[%j] : !rtile.view<64xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  } {rtile.unordered}
  %s1:3 = scf.for %j = %we to %e step %step iter_args(%m = %s0#0, %l = %s0#1, %acc = %s0#2) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<48x32xbf16>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xbf16>, tensor<48x32xbf16> -> tensor<64x48xf32>
    %scores = arith.mulf %product, %scale : tensor<64x48xf32>
    %seen = rtile.visible %q[%row], %k[%j] : !rtile.view<64x32xbf16>, !rtile.view<48x32xbf16> -> tensor<64x48xi1>
    %masked = arith.select %seen, %scores, %hidden : tensor<64x48xi1>, tensor<64x48xf32>
    %tile_max = rtile.reduce max %masked : tensor<64x48xf32>
    %m_new = arith.maximumf %m, %tile_max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x48xf32>
    %below = arith.subf %masked, %m_wide : tensor<64x48xf32>
    %p = math.exp2 %below : tensor<64x48xf32>
    %change = arith.subf %m, %m_new : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %tile_sum = rtile.reduce sum %p : tensor<64x48xf32>
    %l_decayed = arith.mulf %l, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_decayed, %tile_sum : tensor<64xf32>
    %p_rounded = arith.truncf %p : tensor<64x48xf32> to tensor<64x48xbf16>
    %v_tile = rtile.load %v[%j, %c0] : !rtile.view<48x16xbf16>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %acc_decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p_rounded, %v_tile init(%acc_decayed) : tensor<64x48xbf16>, tensor<48x16xbf16> -> tensor<64x16xf32>
    rtile.store %m, %ls[%j] : !rtile.view<64xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  } {rtile.unordered}
  rtile.store %s1#2, %o[%row, %c0] : !rtile.view<64x16xf32>
  rtile.store %s1#1, %ls[%row] : !rtile.view<64xf32>
  rtile.return
}
