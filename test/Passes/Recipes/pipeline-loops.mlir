//===- pipeline-loops.mlir - Products in later steps ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-assign-stages \
// RUN:   --rtile-pipeline-loops | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-assign-stages \
// RUN:   --rtile-pipeline-loops \
// RUN:   --remarks-filter='rtile-(assign-stages|pipeline-loops)' \
// RUN:   --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// The product of weights and values moves behind the first product of the next
// step: loops carry its weights, what it is added to, and the row of its tile.
// What the step did with its result it does with that of the step before.

// CHECK-LABEL: rtile.func @running_maximum(
// CHECK-SAME:    %[[LAST:[^ :]+]]: index, %{{[^ :]+}}: index, %{{[^ :]+}}: index) grid
// CHECK:         %[[V:.+]] = rtile.view {{.*}} to !rtile.view<48x16xbf16>
// CHECK:         %[[P0:.+]] = arith.truncf
// CHECK-NOT:     rtile.dot
// CHECK:         %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<64x16xf32>
// CHECK:         %[[S0:.+]]:5 = scf.for %[[J:.+]] = {{.*}} iter_args(%{{[^ ]+}} = %{{[^ ]+}}, %{{[^ ]+}} = %{{[^ ]+}}, %[[ACC:.+]] = %[[ZERO]], %[[P:.+]] = %[[P0]], %[[ROW:.+]] = %[[LAST]])
// CHECK:           rtile.dot {{.*}} transposed
// CHECK-NEXT:      %[[VT:.+]] = rtile.load %[[V]][%[[ROW]], %{{.+}}]
// CHECK-NEXT:      %[[NEW:.+]] = rtile.dot %[[P]], %[[VT]] init(%[[ACC]])
// CHECK:           %[[P1:.+]] = arith.truncf
// CHECK:           %[[DECAYED:.+]] = arith.mulf %[[NEW]]
// CHECK-NOT:       rtile.dot
// CHECK:           scf.yield %{{.+}}, %{{.+}}, %[[DECAYED]], %[[P1]], %[[J]]
// CHECK:         %[[S1:.+]]:5 = scf.for {{.*}} iter_args(%{{[^ ]+}} = %[[S0]]#0, %{{[^ ]+}} = %[[S0]]#1, %{{[^ ]+}} = %[[S0]]#2, %{{[^ ]+}} = %[[S0]]#3, %{{[^ ]+}} = %[[S0]]#4)
// CHECK:         %[[VL:.+]] = rtile.load %[[V]][%[[S1]]#4, %{{.+}}]
// CHECK:         %[[OUT:.+]] = rtile.dot %[[S1]]#3, %[[VL]] init(%[[S1]]#2)
// CHECK:         rtile.store %[[OUT]]
// REMARK: a product of each step runs one step late, beside the first product of the next step
// REMARK: 2 operations of a step run in the next one; the first step stands in front
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
  %s1:3 = scf.for %j = %from to %to step %step iter_args(%m = %s0#0, %l = %s0#1, %acc = %s0#2) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
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
  rtile.store %s1#2, %o[%row, %c0] : !rtile.view<64x16xf32>
  rtile.store %s1#1, %ls[%row] : !rtile.view<64xf32>
  rtile.store %s1#0, %ms[%row] : !rtile.view<64xf32>
  rtile.return
}

// -----

// A loop that writes what a later load could read: no load may move.

// CHECK-LABEL: rtile.func @writes(
// CHECK:         scf.for {{.*}} -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>)
// REMARK: expected loops that write nothing, found rtile.store
rtile.func @writes(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
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

// No step stands in front: each loop begins with one of its own, if it has one,
// and ends with the product of its last step.

// CHECK-LABEL: rtile.func @no_product(
// CHECK:         %[[B:.+]], %{{.+}}, %[[WE:.+]], %[[E:.+]] = rtile.run
// CHECK:         %[[ANY:.+]] = arith.cmpi slt, %[[B]], %[[WE]]
// CHECK:         %[[IF:.+]]:3 = scf.if %[[ANY]]
// CHECK:           rtile.load %{{.+}}[%[[B]],
// CHECK:           rtile.dot {{.*}} transposed
// CHECK-NOT:       rtile.dot
// CHECK:           %[[SECOND:.+]] = arith.addi %[[B]], %{{.+}}
// CHECK:           %[[S:.+]]:5 = scf.for %{{.+}} = %[[SECOND]] to %[[WE]]
// CHECK:             rtile.dot {{.*}} transposed
// CHECK:             rtile.dot
// CHECK:           %[[V:.+]] = rtile.load %{{.+}}[%[[S]]#4,
// CHECK:           %[[ACC:.+]] = rtile.dot %[[S]]#3, %[[V]] init(%[[S]]#2)
// CHECK:           scf.yield %[[S]]#0, %[[S]]#1, %[[ACC]]
// CHECK:         } else {
// CHECK:           scf.yield
// CHECK:         arith.cmpi slt, %[[WE]], %[[E]]
// CHECK:         scf.if
// REMARK: a product of each step runs one step late
// REMARK: 2 operations of a step run in the next one; prologue and epilogue run if there is a step
// REMARK: 2 operations of a step run in the next one; prologue and epilogue run if there is a step
rtile.func @no_product(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
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

// The accumulator is needed before the first product: nothing to move behind.

// CHECK-LABEL: rtile.func @needed_early(
// CHECK:         scf.for {{.*}} -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>)
// REMARK: expected another product ahead of all that needs the one to delay, found arith.addf ahead of it
rtile.func @needed_early(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
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
    %twice = arith.addf %acc, %acc : tensor<64x16xf32>
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
    %acc_decayed = arith.mulf %twice, %alpha_wide : tensor<64x16xf32>
    %acc_new = rtile.dot %p_rounded, %v_tile init(%acc_decayed) : tensor<64x48xbf16>, tensor<48x16xbf16> -> tensor<64x16xf32>
    scf.yield %m_new, %l_new, %acc_new : tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>
  }
  rtile.store %s0#2, %o[%row, %c0] : !rtile.view<64x16xf32>
  rtile.store %s0#1, %ls[%row] : !rtile.view<64xf32>
  rtile.store %s0#0, %ms[%row] : !rtile.view<64xf32>
  rtile.return
}
