//===- split-columns.mlir - Score tiles in two halves ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-split-columns | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-split-columns \
// RUN:   --remarks-filter=rtile-split-columns \
// RUN:   --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// A lazy step: all of the left 48 columns, sums included, then the right 32.
// What needs the whole tile gets both.

// CHECK-LABEL: rtile.func @lazy(
// CHECK:         scf.for {{.*}} iter_args(%{{[^ ]+}} = %{{[^ ]+}}, %[[L:.+]] = %{{[^ ]+}})
// CHECK:           %[[X:.+]] = rtile.dot
// CHECK-NEXT:      %[[SEEN:.+]] = rtile.visible
// CHECK-NEXT:      %[[NEG:.+]] = arith.negf
// CHECK-NEXT:      %[[XL:.+]] = rtile.slice %[[X]][0] : tensor<64x80xf32> -> tensor<64x48xf32>
// CHECK-NEXT:      %[[SCALEL:.+]] = arith.constant dense<2.500000e-01> : tensor<64x48xf32>
// CHECK-NEXT:      %[[NEGL:.+]] = rtile.broadcast %[[NEG]] : tensor<64xf32> -> tensor<64x48xf32>
// CHECK-NEXT:      %[[FMAL:.+]] = math.fma %[[XL]], %[[SCALEL]], %[[NEGL]]
// CHECK-NEXT:      %[[SEENL:.+]] = rtile.slice %[[SEEN]][0] : tensor<64x80xi1> -> tensor<64x48xi1>
// CHECK-NEXT:      %[[HIDDENL:.+]] = arith.constant dense<0xFF800000>
// CHECK-NEXT:      %[[SELL:.+]] = arith.select %[[SEENL]], %[[FMAL]], %[[HIDDENL]]
// CHECK-NEXT:      %[[PL:.+]] = math.exp2 %[[SELL]]
// CHECK-NEXT:      %[[FOLDL:.+]] = rtile.fold %[[PL]] : tensor<64x48xf32> -> tensor<64x8xf32>
// CHECK-NEXT:      %[[SUML:.+]] = arith.addf %[[L]], %[[FOLDL]]
// CHECK-NEXT:      rtile.slice %[[X]][48] : tensor<64x80xf32> -> tensor<64x32xf32>
// CHECK:           %[[PR:.+]] = math.exp2 %{{.+}} : tensor<64x32xf32>
// CHECK-NEXT:      %[[FOLDR:.+]] = rtile.fold %[[PR]] : tensor<64x32xf32> -> tensor<64x8xf32>
// CHECK-NEXT:      %[[SUM:.+]] = arith.addf %[[SUML]], %[[FOLDR]]
// CHECK-NEXT:      %[[P:.+]] = rtile.join %[[PL]], %[[PR]]
// CHECK-NEXT:      rtile.rebase %{{.+}}, %[[SUM]] bound = 40 tiles(%[[P]])
// REMARK: tiles of 80 columns are computed in two parts, of 48 and 32
rtile.func @lazy(%K: memref<?x32xbf16, strided<[?, 1]>>, %O: memref<?x80xbf16, strided<[?, 1]>>,
    %to: index) grid(%row: index) recipe = "fa_fwd_lazy" {
  %m0 = arith.constant dense<0.0> : tensor<64xf32>
  %l0 = arith.constant dense<0.0> : tensor<64x8xf32>
  %scale = arith.constant dense<0.25> : tensor<64x80xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x80xf32>
  %c0 = arith.constant 0 : index
  %step = arith.constant 80 : index
  %q = rtile.view %K[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<64x32xbf16>
  %k = rtile.view %K[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<80x32xbf16>
  %o = rtile.view %O[*, *] : memref<?x80xbf16, strided<[?, 1]>> to !rtile.view<64x80xbf16>
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x32xbf16>
  scf.for %j = %c0 to %to step %step iter_args(%m = %m0, %l = %l0) -> (tensor<64xf32>, tensor<64x8xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<80x32xbf16>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xbf16>, tensor<80x32xbf16> -> tensor<64x80xf32>
    %seen = rtile.visible %q[%row], %k[%j] : !rtile.view<64x32xbf16>, !rtile.view<80x32xbf16> -> tensor<64x80xi1>
    %neg = arith.negf %m : tensor<64xf32>
    %wide = rtile.broadcast %neg : tensor<64xf32> -> tensor<64x80xf32>
    %below = math.fma %product, %scale, %wide : tensor<64x80xf32>
    %masked = arith.select %seen, %below, %hidden : tensor<64x80xi1>, tensor<64x80xf32>
    %p = math.exp2 %masked : tensor<64x80xf32>
    %part = rtile.fold %p : tensor<64x80xf32> -> tensor<64x8xf32>
    %sum = arith.addf %l, %part : tensor<64x8xf32>
    %m1, %l1, %p1 = rtile.rebase %m, %sum bound = 40 tiles(%p) : tensor<64xf32>, tensor<64x8xf32>, tensor<64x80xf32>
    %rounded = arith.truncf %p1 : tensor<64x80xf32> to tensor<64x80xbf16>
    rtile.store %rounded, %o[%j, %c0] : !rtile.view<64x80xbf16>
    scf.yield %m1, %l1 : tensor<64xf32>, tensor<64x8xf32>
  }
  rtile.return
}

// -----

// With a running maximum the weights wait for the maximum of both halves: scores
// and maximum of the left, of the right, then weights of the left, of the right.

// CHECK-LABEL: rtile.func @running_maximum(
// CHECK:         scf.for {{.*}} iter_args(%[[M:.+]] = %{{[^ ]+}}, %{{[^ ]+}} = %{{[^ ]+}}, %{{[^ ]+}} = %{{[^ ]+}})
// CHECK:           %[[X:.+]] = rtile.dot {{.*}} transposed
// CHECK:           %[[XL:.+]] = rtile.slice %[[X]][0] : tensor<64x48xf32> -> tensor<64x32xf32>
// CHECK:           %[[SL:.+]] = arith.mulf %[[XL]]
// CHECK:           %[[MAXL:.+]] = rtile.reduce max %[[SL]]
// CHECK:           %[[ML:.+]] = arith.maximumf %[[M]], %[[MAXL]]
// CHECK:           %[[XR:.+]] = rtile.slice %[[X]][32] : tensor<64x48xf32> -> tensor<64x16xf32>
// CHECK:           %[[SR:.+]] = arith.mulf %[[XR]]
// CHECK:           %[[MAXR:.+]] = rtile.reduce max %[[SR]]
// CHECK:           %[[MN:.+]] = arith.maximumf %[[ML]], %[[MAXR]]
// CHECK:           arith.subf %[[M]], %[[MN]]
// CHECK:           %[[DECAYED:.+]] = arith.mulf
// CHECK:           %[[WL:.+]] = rtile.broadcast %[[MN]] : tensor<64xf32> -> tensor<64x32xf32>
// CHECK:           %[[BL:.+]] = arith.subf %[[SL]], %[[WL]]
// CHECK:           %[[PL:.+]] = math.exp2 %[[BL]]
// CHECK:           %[[SUML:.+]] = rtile.reduce sum %[[PL]]
// CHECK:           %[[L1:.+]] = arith.addf %[[DECAYED]], %[[SUML]]
// CHECK:           %[[PR:.+]] = math.exp2 %{{.+}} : tensor<64x16xf32>
// CHECK:           %[[SUMR:.+]] = rtile.reduce sum %[[PR]]
// CHECK:           %[[L2:.+]] = arith.addf %[[L1]], %[[SUMR]]
// CHECK:           %[[P:.+]] = rtile.join %[[PL]], %[[PR]]
// CHECK:           arith.truncf %[[P]]
// CHECK:           scf.yield %[[MN]], %[[L2]],
// REMARK: in two parts, of 32 and 16
rtile.func @running_maximum(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
    %V: memref<?x16xbf16, strided<[?, 1]>>, %O: memref<?x16xf32, strided<[?, 1]>>,
    %L: memref<?xf32, strided<[1]>>, %M: memref<?xf32, strided<[1]>>,
    %last: index, %from: index, %to: index) grid(%row: index) recipe = "fa_fwd_overlap" {
  %lowest = arith.constant dense<0xFF7FFFFF> : tensor<64xf32>
  %scale = arith.constant dense<0.25> : tensor<64x48xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x48xf32>
  %c0 = arith.constant 0 : index
  %step = arith.constant 48 : index
  %q = rtile.view %Q[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<64x32xbf16>
  %k = rtile.view %K[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<48x32xbf16>
  %v = rtile.view %V[*, *] : memref<?x16xbf16, strided<[?, 1]>> to !rtile.view<48x16xbf16>
  %o = rtile.view %O[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<64x16xf32>
  %ls = rtile.view %L[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %ms = rtile.view %M[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x32xbf16>
  %k_tile0 = rtile.load %k[%last, %c0] : !rtile.view<48x32xbf16>
  %product0 = rtile.dot %q_tile, %k_tile0 transposed : tensor<64x32xbf16>, tensor<48x32xbf16> -> tensor<64x48xf32>
  %scores0 = arith.mulf %product0, %scale : tensor<64x48xf32>
  %seen0 = rtile.visible %q[%row], %k[%last] : !rtile.view<64x32xbf16>, !rtile.view<48x32xbf16> -> tensor<64x48xi1>
  %masked0 = arith.select %seen0, %scores0, %hidden : tensor<64x48xi1>, tensor<64x48xf32>
  %tile_max0 = rtile.reduce max %masked0 : tensor<64x48xf32>
  %m_new0 = arith.maximumf %lowest, %tile_max0 : tensor<64xf32>
  %m_wide0 = rtile.broadcast %m_new0 : tensor<64xf32> -> tensor<64x48xf32>
  %below0 = arith.subf %masked0, %m_wide0 : tensor<64x48xf32>
  %p0 = math.exp2 %below0 : tensor<64x48xf32>
  %tile_sum0 = rtile.reduce sum %p0 : tensor<64x48xf32>
  %p_rounded0 = arith.truncf %p0 : tensor<64x48xf32> to tensor<64x48xbf16>
  %v_tile0 = rtile.load %v[%last, %c0] : !rtile.view<48x16xbf16>
  %acc_new0 = rtile.dot %p_rounded0, %v_tile0 : tensor<64x48xbf16>, tensor<48x16xbf16> -> tensor<64x16xf32>
  %s0:3 = scf.for %j = %c0 to %from step %step iter_args(%m = %m_new0, %l = %tile_sum0, %acc = %acc_new0) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
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
  rtile.store %s0#2, %o[%row, %c0] : !rtile.view<64x16xf32>
  rtile.store %s0#1, %ls[%row] : !rtile.view<64xf32>
  rtile.store %s0#0, %ms[%row] : !rtile.view<64xf32>
  rtile.return
}

// -----

// One matrix instruction is 16 columns wide: a tile of 24 stays whole.

// CHECK-LABEL: rtile.func @narrow(
// CHECK-NOT:     rtile.slice
// CHECK:         rtile.return
// REMARK: expected a tile of at least 32 columns, a multiple of 16, found 24
rtile.func @narrow(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
    %V: memref<?x16xbf16, strided<[?, 1]>>, %O: memref<?x16xf32, strided<[?, 1]>>,
    %L: memref<?xf32, strided<[1]>>, %M: memref<?xf32, strided<[1]>>,
    %last: index, %from: index, %to: index) grid(%row: index) recipe = "fa_fwd_lazy" {
  %lowest = arith.constant dense<0xFF7FFFFF> : tensor<64xf32>
  %scale = arith.constant dense<0.25> : tensor<64x24xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x24xf32>
  %c0 = arith.constant 0 : index
  %step = arith.constant 24 : index
  %q = rtile.view %Q[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<64x32xbf16>
  %k = rtile.view %K[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<24x32xbf16>
  %v = rtile.view %V[*, *] : memref<?x16xbf16, strided<[?, 1]>> to !rtile.view<24x16xbf16>
  %o = rtile.view %O[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<64x16xf32>
  %ls = rtile.view %L[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %ms = rtile.view %M[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x32xbf16>
  %k_tile0 = rtile.load %k[%last, %c0] : !rtile.view<24x32xbf16>
  %product0 = rtile.dot %q_tile, %k_tile0 transposed : tensor<64x32xbf16>, tensor<24x32xbf16> -> tensor<64x24xf32>
  %scores0 = arith.mulf %product0, %scale : tensor<64x24xf32>
  %seen0 = rtile.visible %q[%row], %k[%last] : !rtile.view<64x32xbf16>, !rtile.view<24x32xbf16> -> tensor<64x24xi1>
  %masked0 = arith.select %seen0, %scores0, %hidden : tensor<64x24xi1>, tensor<64x24xf32>
  %tile_max0 = rtile.reduce max %masked0 : tensor<64x24xf32>
  %m_new0 = arith.maximumf %lowest, %tile_max0 : tensor<64xf32>
  %m_wide0 = rtile.broadcast %m_new0 : tensor<64xf32> -> tensor<64x24xf32>
  %below0 = arith.subf %masked0, %m_wide0 : tensor<64x24xf32>
  %p0 = math.exp2 %below0 : tensor<64x24xf32>
  %tile_sum0 = rtile.reduce sum %p0 : tensor<64x24xf32>
  %p_rounded0 = arith.truncf %p0 : tensor<64x24xf32> to tensor<64x24xbf16>
  %v_tile0 = rtile.load %v[%last, %c0] : !rtile.view<24x16xbf16>
  %acc_new0 = rtile.dot %p_rounded0, %v_tile0 : tensor<64x24xbf16>, tensor<24x16xbf16> -> tensor<64x16xf32>
  %s0:3 = scf.for %j = %c0 to %from step %step iter_args(%m = %m_new0, %l = %tile_sum0, %acc = %acc_new0) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<24x32xbf16>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xbf16>, tensor<24x32xbf16> -> tensor<64x24xf32>
    %scores = arith.mulf %product, %scale : tensor<64x24xf32>
    %tile_max = rtile.reduce max %scores : tensor<64x24xf32>
    %m_new = arith.maximumf %m, %tile_max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x24xf32>
    %below = arith.subf %scores, %m_wide : tensor<64x24xf32>
    %p = math.exp2 %below : tensor<64x24xf32>
    %change = arith.subf %m, %m_new : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %tile_sum = rtile.reduce sum %p : tensor<64x24xf32>
    %l_decayed = arith.mulf %l, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_decayed, %tile_sum : tensor<64xf32>
    %p_rounded = arith.truncf %p : tensor<64x24xf32> to tensor<64x24xbf16>
    %v_tile = rtile.load %v[%j, %c0] : !rtile.view<24x16xbf16>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %acc_decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p_rounded, %v_tile init(%acc_decayed) : tensor<64x24xbf16>, tensor<24x16xbf16> -> tensor<64x16xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  }
  rtile.store %s0#2, %o[%row, %c0] : !rtile.view<64x16xf32>
  rtile.store %s0#1, %ls[%row] : !rtile.view<64xf32>
  rtile.store %s0#0, %ms[%row] : !rtile.view<64xf32>
  rtile.return
}

// -----

// Weights that are not rounded: f32, for which no recipe is made.

// CHECK-LABEL: rtile.func @not_rounded(
// CHECK-NOT:     rtile.slice
// CHECK:         rtile.return
// REMARK: expected a product and a rounding of what is made of its tile in the loop, found none
rtile.func @not_rounded(%Q: memref<?x32xf32, strided<[?, 1]>>, %K: memref<?x32xf32, strided<[?, 1]>>,
    %V: memref<?x16xf32, strided<[?, 1]>>, %O: memref<?x16xf32, strided<[?, 1]>>,
    %L: memref<?xf32, strided<[1]>>, %M: memref<?xf32, strided<[1]>>,
    %last: index, %from: index, %to: index) grid(%row: index) recipe = "fa_fwd_lazy" {
  %lowest = arith.constant dense<0xFF7FFFFF> : tensor<64xf32>
  %scale = arith.constant dense<0.25> : tensor<64x48xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x48xf32>
  %c0 = arith.constant 0 : index
  %step = arith.constant 48 : index
  %q = rtile.view %Q[*, *] : memref<?x32xf32, strided<[?, 1]>> to !rtile.view<64x32xf32>
  %k = rtile.view %K[*, *] : memref<?x32xf32, strided<[?, 1]>> to !rtile.view<48x32xf32>
  %v = rtile.view %V[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<48x16xf32>
  %o = rtile.view %O[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<64x16xf32>
  %ls = rtile.view %L[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %ms = rtile.view %M[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x32xf32>
  %k_tile0 = rtile.load %k[%last, %c0] : !rtile.view<48x32xf32>
  %product0 = rtile.dot %q_tile, %k_tile0 transposed : tensor<64x32xf32>, tensor<48x32xf32> -> tensor<64x48xf32>
  %scores0 = arith.mulf %product0, %scale : tensor<64x48xf32>
  %seen0 = rtile.visible %q[%row], %k[%last] : !rtile.view<64x32xf32>, !rtile.view<48x32xf32> -> tensor<64x48xi1>
  %masked0 = arith.select %seen0, %scores0, %hidden : tensor<64x48xi1>, tensor<64x48xf32>
  %tile_max0 = rtile.reduce max %masked0 : tensor<64x48xf32>
  %m_new0 = arith.maximumf %lowest, %tile_max0 : tensor<64xf32>
  %m_wide0 = rtile.broadcast %m_new0 : tensor<64xf32> -> tensor<64x48xf32>
  %below0 = arith.subf %masked0, %m_wide0 : tensor<64x48xf32>
  %p0 = math.exp2 %below0 : tensor<64x48xf32>
  %tile_sum0 = rtile.reduce sum %p0 : tensor<64x48xf32>
  %v_tile0 = rtile.load %v[%last, %c0] : !rtile.view<48x16xf32>
  %acc_new0 = rtile.dot %p0, %v_tile0 : tensor<64x48xf32>, tensor<48x16xf32> -> tensor<64x16xf32>
  %s0:3 = scf.for %j = %c0 to %from step %step iter_args(%m = %m_new0, %l = %tile_sum0, %acc = %acc_new0) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<48x32xf32>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xf32>, tensor<48x32xf32> -> tensor<64x48xf32>
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
    %v_tile = rtile.load %v[%j, %c0] : !rtile.view<48x16xf32>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %acc_decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p, %v_tile init(%acc_decayed) : tensor<64x48xf32>, tensor<48x16xf32> -> tensor<64x16xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  }
  rtile.store %s0#2, %o[%row, %c0] : !rtile.view<64x16xf32>
  rtile.store %s0#1, %ls[%row] : !rtile.view<64xf32>
  rtile.store %s0#0, %ms[%row] : !rtile.view<64xf32>
  rtile.return
}
