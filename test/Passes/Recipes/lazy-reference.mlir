//===- lazy-reference.mlir - A softmax without a running maximum ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-lazy-reference | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-lazy-reference \
// RUN:   --remarks-filter=rtile-lazy-reference \
// RUN:   --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// The maximum of the first tile measures the whole row, 0 where the row sees no
// key in it. Loops keep no maximum and decay nothing: one fma an element, sums
// that stay in 8 columns, and a rebase before the weights are rounded.

// CHECK-LABEL: rtile.func @whole(
// CHECK-DAG:     %[[NONE:.+]] = arith.constant dense<0.000000e+00> : tensor<64xf32>
// CHECK-DAG:     %[[NO:.+]] = arith.constant dense<0xFF800000> : tensor<64xf32>
// CHECK-DAG:     %[[SCALE:.+]] = arith.constant dense<2.500000e-01>
// CHECK:         %[[MAX:.+]] = rtile.reduce max
// CHECK:         %[[HIDDEN:.+]] = arith.cmpf oeq, %[[MAX]], %[[NO]]
// CHECK:         %[[M0:.+]] = arith.select %[[HIDDEN]], %[[NONE]], %[[MAX]]
// CHECK:         rtile.broadcast %[[M0]]
// CHECK:         %[[P0:.+]] = math.exp2
// CHECK:         %[[L0:.+]] = rtile.fold %[[P0]] : tensor<64x48xf32> -> tensor<64x8xf32>
// CHECK:         %[[ACC0:.+]] = rtile.dot
// CHECK:         %[[S:.+]]:3 = scf.for {{.*}} iter_args(%[[M:.+]] = %[[M0]], %[[L:.+]] = %[[L0]], %[[ACC:.+]] = %[[ACC0]])
// CHECK:           %[[X:.+]] = rtile.dot {{.*}} transposed
// CHECK-NEXT:      %[[NEG:.+]] = arith.negf %[[M]]
// CHECK-NEXT:      %[[WIDE:.+]] = rtile.broadcast %[[NEG]]
// CHECK-NEXT:      %[[BELOW:.+]] = math.fma %[[X]], %[[SCALE]], %[[WIDE]]
// CHECK-NEXT:      %[[P:.+]] = math.exp2 %[[BELOW]]
// CHECK-NEXT:      %[[PART:.+]] = rtile.fold %[[P]]
// CHECK-NEXT:      %[[SUM:.+]] = arith.addf %[[L]], %[[PART]]
// CHECK-NEXT:      %[[M1:.+]], %[[L1:.+]], %[[TILES:.+]]:2 = rtile.rebase %[[M]], %[[SUM]] bound = 16 limit = 64 tiles(%[[ACC]], %[[P]])
// CHECK-NEXT:      %[[ROUNDED:.+]] = arith.truncf %[[TILES]]#1
// CHECK-NEXT:      rtile.load
// CHECK-NEXT:      %[[ACC1:.+]] = rtile.dot %[[ROUNDED]], %{{.+}} init(%[[TILES]]#0)
// CHECK-NEXT:      scf.yield %[[M1]], %[[L1]], %[[ACC1]]
// CHECK:         %[[ALL:.+]] = rtile.reduce sum %[[S]]#1 : tensor<64x8xf32>
// CHECK:         rtile.store %[[S]]#2
// CHECK:         rtile.store %[[ALL]]
// CHECK:         rtile.store %[[S]]#0
// REMARK: weights of a row are measured by the maximum of its first tile; they move where their sum exceeds 2^16
rtile.func @whole(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
    %V: memref<?x16xbf16, strided<[?, 1]>>, %O: memref<?x16xf32, strided<[?, 1]>>,
    %L: memref<?xf32, strided<[1]>>, %M: memref<?xf32, strided<[1]>>,
    %last: index, %from: index, %to: index) grid(%row: index) recipe = "fa_fwd_lazy" {
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

// A hidden score is -inf whatever the reference is. Weights of f16 stay below
// 2^10, and a row whose sum is below what the first tile gives ends as one
// without keys, so that it is computed again.

// CHECK-LABEL: rtile.func @masked_f16(
// CHECK-DAG:     %[[HIDDEN:.+]] = arith.constant dense<0xFF800000> : tensor<64x48xf32>
// CHECK-DAG:     %[[LEAST:.+]] = arith.constant dense<5.000000e-01>
// CHECK-DAG:     %[[NONE:.+]] = arith.constant dense<0.000000e+00> : tensor<64xf32>
// CHECK:         %[[S0:.+]]:3 = scf.for
// CHECK:           %[[SEEN:.+]] = rtile.visible
// CHECK:           %[[BELOW:.+]] = math.fma
// CHECK-NEXT:      %[[MASKED:.+]] = arith.select %[[SEEN]], %[[BELOW]], %[[HIDDEN]]
// CHECK-NEXT:      math.exp2 %[[MASKED]]
// CHECK:           rtile.rebase {{.*}} bound = 10 limit = 64
// CHECK:         %[[S1:.+]]:3 = scf.for {{.*}} iter_args(%{{.+}} = %[[S0]]#0, %{{.+}} = %[[S0]]#1, %{{.+}} = %[[S0]]#2)
// CHECK:         %[[SUM:.+]] = rtile.reduce sum %[[S1]]#1
// CHECK:         %[[FINE:.+]] = arith.cmpf oge, %[[SUM]], %[[LEAST]]
// CHECK:         %[[L:.+]] = arith.select %[[FINE]], %[[SUM]], %[[NONE]]
// CHECK:         rtile.store %[[L]]
// REMARK: their sum exceeds 2^10
rtile.func @masked_f16(%Q: memref<?x32xf16, strided<[?, 1]>>, %K: memref<?x32xf16, strided<[?, 1]>>,
    %V: memref<?x16xf16, strided<[?, 1]>>, %O: memref<?x16xf32, strided<[?, 1]>>,
    %L: memref<?xf32, strided<[1]>>, %M: memref<?xf32, strided<[1]>>,
    %last: index, %from: index, %to: index) grid(%row: index) recipe = "fa_fwd_lazy" {
  %lowest = arith.constant dense<0xFF7FFFFF> : tensor<64xf32>
  %scale = arith.constant dense<0.25> : tensor<64x48xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x48xf32>
  %c0 = arith.constant 0 : index
  %step = arith.constant 48 : index
  %q = rtile.view %Q[*, *] : memref<?x32xf16, strided<[?, 1]>> to !rtile.view<64x32xf16>
  %k = rtile.view %K[*, *] : memref<?x32xf16, strided<[?, 1]>> to !rtile.view<48x32xf16>
  %v = rtile.view %V[*, *] : memref<?x16xf16, strided<[?, 1]>> to !rtile.view<48x16xf16>
  %o = rtile.view %O[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<64x16xf32>
  %ls = rtile.view %L[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %ms = rtile.view %M[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x32xf16>
  %k_tile0 = rtile.load %k[%last, %c0] : !rtile.view<48x32xf16>
  %product0 = rtile.dot %q_tile, %k_tile0 transposed : tensor<64x32xf16>, tensor<48x32xf16> -> tensor<64x48xf32>
  %scores0 = arith.mulf %product0, %scale : tensor<64x48xf32>
  %seen0 = rtile.visible %q[%row], %k[%last] : !rtile.view<64x32xf16>, !rtile.view<48x32xf16> -> tensor<64x48xi1>
  %masked0 = arith.select %seen0, %scores0, %hidden : tensor<64x48xi1>, tensor<64x48xf32>
  %tile_max0 = rtile.reduce max %masked0 : tensor<64x48xf32>
  %m_new0 = arith.maximumf %lowest, %tile_max0 : tensor<64xf32>
  %m_wide0 = rtile.broadcast %m_new0 : tensor<64xf32> -> tensor<64x48xf32>
  %below0 = arith.subf %masked0, %m_wide0 : tensor<64x48xf32>
  %p0 = math.exp2 %below0 : tensor<64x48xf32>
  %tile_sum0 = rtile.reduce sum %p0 : tensor<64x48xf32>
  %p_rounded0 = arith.truncf %p0 : tensor<64x48xf32> to tensor<64x48xf16>
  %v_tile0 = rtile.load %v[%last, %c0] : !rtile.view<48x16xf16>
  %acc_new0 = rtile.dot %p_rounded0, %v_tile0 : tensor<64x48xf16>, tensor<48x16xf16> -> tensor<64x16xf32>
  %s0:3 = scf.for %j = %c0 to %from step %step iter_args(%m = %m_new0, %l = %tile_sum0, %acc = %acc_new0) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<48x32xf16>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xf16>, tensor<48x32xf16> -> tensor<64x48xf32>
    %scores = arith.mulf %product, %scale : tensor<64x48xf32>
    %seen = rtile.visible %q[%row], %k[%j] : !rtile.view<64x32xf16>, !rtile.view<48x32xf16> -> tensor<64x48xi1>
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
    %p_rounded = arith.truncf %p : tensor<64x48xf32> to tensor<64x48xf16>
    %v_tile = rtile.load %v[%j, %c0] : !rtile.view<48x16xf16>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %acc_decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p_rounded, %v_tile init(%acc_decayed) : tensor<64x48xf16>, tensor<48x16xf16> -> tensor<64x16xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  }
  %s1:3 = scf.for %j = %from to %to step %step iter_args(%m = %s0#0, %l = %s0#1, %acc = %s0#2) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<48x32xf16>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xf16>, tensor<48x32xf16> -> tensor<64x48xf32>
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
    %p_rounded = arith.truncf %p : tensor<64x48xf32> to tensor<64x48xf16>
    %v_tile = rtile.load %v[%j, %c0] : !rtile.view<48x16xf16>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %acc_decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p_rounded, %v_tile init(%acc_decayed) : tensor<64x48xf16>, tensor<48x16xf16> -> tensor<64x16xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  }
  rtile.store %s1#2, %o[%row, %c0] : !rtile.view<64x16xf32>
  rtile.store %s1#1, %ls[%row] : !rtile.view<64xf32>
  rtile.store %s1#0, %ms[%row] : !rtile.view<64xf32>
  rtile.return
}

// -----

// Reference and logarithm could cancel each other: the sum goes below 2 first,
// and the reference takes its exponent. What else reads the sum gets it as it is.

// CHECK-LABEL: rtile.func @lse(
// CHECK:         %[[S:.+]]:3 = scf.for
// CHECK:         %[[SUM:.+]] = rtile.reduce sum %[[S]]#1
// CHECK-NEXT:    %[[M:.+]], %[[L:.+]] = rtile.rebase %[[S]]#0, %[[SUM]] bound = 0 : tensor<64xf32>, tensor<64xf32>
// CHECK:         rtile.store %[[SUM]]
// CHECK:         arith.mulf %[[M]]
// CHECK:         math.log %[[L]]
// REMARK: their sum exceeds 2^16
rtile.func @lse(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
    %V: memref<?x16xbf16, strided<[?, 1]>>, %O: memref<?x16xf32, strided<[?, 1]>>,
    %L: memref<?xf32, strided<[1]>>, %M: memref<?xf32, strided<[1]>>,
    %last: index, %from: index, %to: index) grid(%row: index) recipe = "fa_fwd_lazy" {
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
  %ln2 = arith.constant dense<0.6931472> : tensor<64xf32>
  %natural = arith.mulf %s0#0, %ln2 : tensor<64xf32>
  %log = math.log %s0#1 : tensor<64xf32>
  %lse = arith.addf %natural, %log : tensor<64xf32>
  rtile.store %lse, %ms[%row] : !rtile.view<64xf32>
  rtile.return
}

// -----

// A use of the running maximum beside the step: it has to stay.

// CHECK-LABEL: rtile.func @stray_use(
// CHECK-NOT:     rtile.rebase
// CHECK:         rtile.return
// REMARK: in a loop expected the values of a step to stay in it, found a use by rtile.store
rtile.func @stray_use(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
    %V: memref<?x16xbf16, strided<[?, 1]>>, %O: memref<?x16xf32, strided<[?, 1]>>,
    %L: memref<?xf32, strided<[1]>>, %M: memref<?xf32, strided<[1]>>,
    %last: index, %from: index, %to: index) grid(%row: index) recipe = "fa_fwd_lazy" {
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
    rtile.store %m_new, %ms[%j] : !rtile.view<64xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  }
  rtile.store %s0#2, %o[%row, %c0] : !rtile.view<64x16xf32>
  rtile.store %s0#1, %ls[%row] : !rtile.view<64xf32>
  rtile.store %s0#0, %ms[%row] : !rtile.view<64xf32>
  rtile.return
}

// -----

// Sums of 8 columns need a key tile of a multiple of 8.

// CHECK-LABEL: rtile.func @narrow(
// CHECK-NOT:     rtile.fold
// CHECK:         rtile.return
// REMARK: expected a key tile of a multiple of 8 rows, found 12
rtile.func @narrow(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
    %V: memref<?x16xbf16, strided<[?, 1]>>, %O: memref<?x16xf32, strided<[?, 1]>>,
    %L: memref<?xf32, strided<[1]>>, %M: memref<?xf32, strided<[1]>>,
    %last: index, %from: index, %to: index) grid(%row: index) recipe = "fa_fwd_lazy" {
  %lowest = arith.constant dense<0xFF7FFFFF> : tensor<64xf32>
  %scale = arith.constant dense<0.25> : tensor<64x12xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x12xf32>
  %c0 = arith.constant 0 : index
  %step = arith.constant 12 : index
  %q = rtile.view %Q[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<64x32xbf16>
  %k = rtile.view %K[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<12x32xbf16>
  %v = rtile.view %V[*, *] : memref<?x16xbf16, strided<[?, 1]>> to !rtile.view<12x16xbf16>
  %o = rtile.view %O[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<64x16xf32>
  %ls = rtile.view %L[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %ms = rtile.view %M[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x32xbf16>
  %k_tile0 = rtile.load %k[%last, %c0] : !rtile.view<12x32xbf16>
  %product0 = rtile.dot %q_tile, %k_tile0 transposed : tensor<64x32xbf16>, tensor<12x32xbf16> -> tensor<64x12xf32>
  %scores0 = arith.mulf %product0, %scale : tensor<64x12xf32>
  %seen0 = rtile.visible %q[%row], %k[%last] : !rtile.view<64x32xbf16>, !rtile.view<12x32xbf16> -> tensor<64x12xi1>
  %masked0 = arith.select %seen0, %scores0, %hidden : tensor<64x12xi1>, tensor<64x12xf32>
  %tile_max0 = rtile.reduce max %masked0 : tensor<64x12xf32>
  %m_new0 = arith.maximumf %lowest, %tile_max0 : tensor<64xf32>
  %m_wide0 = rtile.broadcast %m_new0 : tensor<64xf32> -> tensor<64x12xf32>
  %below0 = arith.subf %masked0, %m_wide0 : tensor<64x12xf32>
  %p0 = math.exp2 %below0 : tensor<64x12xf32>
  %tile_sum0 = rtile.reduce sum %p0 : tensor<64x12xf32>
  %p_rounded0 = arith.truncf %p0 : tensor<64x12xf32> to tensor<64x12xbf16>
  %v_tile0 = rtile.load %v[%last, %c0] : !rtile.view<12x16xbf16>
  %acc_new0 = rtile.dot %p_rounded0, %v_tile0 : tensor<64x12xbf16>, tensor<12x16xbf16> -> tensor<64x16xf32>
  %s0:3 = scf.for %j = %c0 to %from step %step iter_args(%m = %m_new0, %l = %tile_sum0, %acc = %acc_new0) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<12x32xbf16>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xbf16>, tensor<12x32xbf16> -> tensor<64x12xf32>
    %scores = arith.mulf %product, %scale : tensor<64x12xf32>
    %tile_max = rtile.reduce max %scores : tensor<64x12xf32>
    %m_new = arith.maximumf %m, %tile_max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x12xf32>
    %below = arith.subf %scores, %m_wide : tensor<64x12xf32>
    %p = math.exp2 %below : tensor<64x12xf32>
    %change = arith.subf %m, %m_new : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %tile_sum = rtile.reduce sum %p : tensor<64x12xf32>
    %l_decayed = arith.mulf %l, %alpha : tensor<64xf32>
    %l_new = arith.addf %l_decayed, %tile_sum : tensor<64xf32>
    %p_rounded = arith.truncf %p : tensor<64x12xf32> to tensor<64x12xbf16>
    %v_tile = rtile.load %v[%j, %c0] : !rtile.view<12x16xbf16>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x16xf32>
    %acc_decayed = arith.mulf %acc, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p_rounded, %v_tile init(%acc_decayed) : tensor<64x12xbf16>, tensor<12x16xbf16> -> tensor<64x16xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  }
  rtile.store %s0#2, %o[%row, %c0] : !rtile.view<64x16xf32>
  rtile.store %s0#1, %ls[%row] : !rtile.view<64xf32>
  rtile.store %s0#0, %ms[%row] : !rtile.view<64xf32>
  rtile.return
}

// -----

// Loops that begin with no state are not what the first tile leaves.

// CHECK-LABEL: rtile.func @not_peeled(
// CHECK-NOT:     rtile.rebase
// CHECK:         rtile.return
// REMARK: before the loops expected rtile.dot as the new accumulator, found arith.constant
rtile.func @not_peeled(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
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

// A softmax that goes on from what others left: its maximum takes part in the
// reference, each of the columns of the sum gets a part of what was there, and
// the accumulator is read behind the first product, which hides how long that
// takes.

// CHECK-LABEL: rtile.func @goes_on(
// CHECK-DAG:     %[[LOWEST:.+]] = arith.constant dense<-3.40282347E+38> : tensor<64xf32>
// CHECK-DAG:     %[[EIGHTH:.+]] = arith.constant dense<1.250000e-01> : tensor<64xf32>
// CHECK:         %[[LEFT:.+]] = rtile.load %{{.+}}[%{{.+}}] : !rtile.view<64xf32>
// CHECK:         %[[BEFORE:.+]] = arith.select {{.+}} : tensor<64xi1>, tensor<64xf32>
// CHECK:         %[[X:.+]] = rtile.dot {{.*}} transposed
// CHECK-NEXT:    %[[PARTIAL:.+]] = rtile.load %{{.+}} : !rtile.view<64x16xf32>
// CHECK-NEXT:    %[[WIDE:.+]] = rtile.broadcast
// CHECK-NEXT:    %[[ACC:.+]] = arith.select %[[WIDE]], %[[PARTIAL]],
// CHECK:         %[[MAX:.+]] = rtile.reduce max
// CHECK:         %[[NEW:.+]] = arith.maximumf %[[BEFORE]], %[[MAX]]
// CHECK-NEXT:    %[[HIDDEN:.+]] = arith.cmpf ole, %[[NEW]], %[[LOWEST]]
// CHECK-NEXT:    %[[M0:.+]] = arith.select %[[HIDDEN]], %{{.+}}, %[[NEW]]
// CHECK:         %[[P0:.+]] = math.exp2
// CHECK:         %[[CHANGE:.+]] = arith.subf %[[BEFORE]], %[[M0]]
// CHECK:         %[[ALPHA:.+]] = math.exp2 %[[CHANGE]]
// CHECK:         %[[FOLD:.+]] = rtile.fold %[[P0]] : tensor<64x48xf32> -> tensor<64x8xf32>
// CHECK:         %[[DECAYED:.+]] = arith.mulf %[[LEFT]], %[[ALPHA]]
// CHECK-NEXT:    %[[PART:.+]] = arith.mulf %[[DECAYED]], %[[EIGHTH]]
// CHECK-NEXT:    %[[PARTS:.+]] = rtile.broadcast %[[PART]] : tensor<64xf32> -> tensor<64x8xf32>
// CHECK-NEXT:    %[[L0:.+]] = arith.addf %[[PARTS]], %[[FOLD]]
// CHECK:         %[[OLD:.+]] = arith.mulf %[[ACC]],
// CHECK-NEXT:    %[[ACC0:.+]] = rtile.dot %{{.+}}, %{{.+}} init(%[[OLD]])
// CHECK:         scf.for {{.*}} iter_args(%{{.+}} = %[[M0]], %{{.+}} = %[[L0]], %{{.+}} = %[[ACC0]])
// CHECK-NOT:       arith.maximumf
// CHECK:         rtile.return
rtile.func @goes_on(%Q: memref<?x32xbf16>, %K: memref<?x32xbf16>, %V: memref<?x16xbf16>, %O: memref<?x16xf32>, %M: memref<?xf32>, %L: memref<?xf32>, %e: index) grid(%t: index) {
  %c0 = arith.constant 0 : index
  %step = arith.constant 48 : index
  %lowest = arith.constant dense<-3.40282347E+38> : tensor<64xf32>
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x16xf32>
  %c64 = arith.constant 64 : index
  %row = arith.muli %t, %c64 : index
  %q = rtile.view %Q[*, *] : memref<?x32xbf16> to !rtile.view<64x32xbf16>
  %k = rtile.view %K[*, *] : memref<?x32xbf16> to !rtile.view<48x32xbf16>
  %v = rtile.view %V[*, *] : memref<?x16xbf16> to !rtile.view<48x16xbf16>
  %o = rtile.view %O[*, *] : memref<?x16xf32> to !rtile.view<64x16xf32>
  %ms = rtile.view %M[*] : memref<?xf32> to !rtile.view<64xf32>
  %ls = rtile.view %L[*] : memref<?xf32> to !rtile.view<64xf32>
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x32xbf16>
  %l_before = rtile.load %ls[%row] : !rtile.view<64xf32>
  %some = arith.cmpf ogt, %l_before, %none : tensor<64xf32>
  %maxima = rtile.load %ms[%row] : !rtile.view<64xf32>
  %m_before = arith.select %some, %maxima, %lowest : tensor<64xi1>, tensor<64xf32>
  %partial = rtile.load %o[%row, %c0] : !rtile.view<64x16xf32>
  %some_wide = rtile.broadcast %some : tensor<64xi1> -> tensor<64x16xi1>
  %acc_before = arith.select %some_wide, %partial, %zero : tensor<64x16xi1>, tensor<64x16xf32>
  %k0 = rtile.load %k[%c0, %c0] : !rtile.view<48x32xbf16>
  %x0 = rtile.dot %q_tile, %k0 transposed : tensor<64x32xbf16>, tensor<48x32xbf16> -> tensor<64x48xf32>
  %max0 = rtile.reduce max %x0 : tensor<64x48xf32>
  %m0 = arith.maximumf %m_before, %max0 : tensor<64xf32>
  %m0_wide = rtile.broadcast %m0 : tensor<64xf32> -> tensor<64x48xf32>
  %below0 = arith.subf %x0, %m0_wide : tensor<64x48xf32>
  %p0 = math.exp2 %below0 : tensor<64x48xf32>
  %change0 = arith.subf %m_before, %m0 : tensor<64xf32>
  %alpha0 = math.exp2 %change0 : tensor<64xf32>
  %sum0 = rtile.reduce sum %p0 : tensor<64x48xf32>
  %l_decayed0 = arith.mulf %l_before, %alpha0 : tensor<64xf32>
  %l0 = arith.addf %l_decayed0, %sum0 : tensor<64xf32>
  %p_rounded0 = arith.truncf %p0 : tensor<64x48xf32> to tensor<64x48xbf16>
  %v0 = rtile.load %v[%c0, %c0] : !rtile.view<48x16xbf16>
  %alpha_wide0 = rtile.broadcast %alpha0 : tensor<64xf32> -> tensor<64x16xf32>
  %acc_decayed0 = arith.mulf %acc_before, %alpha_wide0 : tensor<64x16xf32>
  %acc0 = rtile.dot %p_rounded0, %v0 init(%acc_decayed0) : tensor<64x48xbf16>, tensor<48x16xbf16> -> tensor<64x16xf32>
  %s:3 = scf.for %j = %step to %e step %step iter_args(%m = %m0, %l = %l0, %acc = %acc0) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<48x32xbf16>
    %x = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xbf16>, tensor<48x32xbf16> -> tensor<64x48xf32>
    %tile_max = rtile.reduce max %x : tensor<64x48xf32>
    %m_new = arith.maximumf %m, %tile_max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x48xf32>
    %below = arith.subf %x, %m_wide : tensor<64x48xf32>
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
  rtile.store %s#2, %o[%row, %c0] : !rtile.view<64x16xf32>
  rtile.store %s#1, %ls[%row] : !rtile.view<64xf32>
  rtile.return
}
