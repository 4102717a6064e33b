//===- peel-first-tile.mlir - Key tiles from last to first ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-peel-first-tile | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-peel-first-tile \
// RUN:   --remarks-filter=rtile-peel-first-tile \
// RUN:   --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// Every row sees every key, so only the last step may need its mask: it stands
// first, starts from what the loops started from, and one loop walks the others
// backwards. Its steps have the order of the pass: no other one is promised.

// CHECK-LABEL: rtile.func @full(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[LOWEST:.+]] = arith.constant dense<-3.40282347E+38>
// CHECK:         %[[B:.+]], %{{.+}}, %{{.+}}, %[[E:.+]] = rtile.run
// CHECK-DAG:     %[[C48:.+]] = arith.constant 48 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK:         %[[SPAN:.+]] = arith.subi %[[E]], %[[B]]
// CHECK:         %[[CEIL:.+]] = arith.ceildivsi %[[SPAN]], %[[C48]]
// CHECK:         %[[STEPS:.+]] = arith.maxsi %[[CEIL]], %[[C1]]
// CHECK:         %[[REST:.+]] = arith.subi %[[STEPS]], %[[C1]]
// CHECK:         %[[ROWS:.+]] = arith.muli %[[REST]], %[[C48]]
// CHECK:         %[[LAST:.+]] = arith.addi %[[B]], %[[ROWS]]
// CHECK:         rtile.load %{{.+}}[%[[LAST]],
// CHECK:         %[[SEEN:.+]] = rtile.visible %{{.+}}[%{{.+}}], %{{.+}}[%[[LAST]]]
// CHECK:         %[[MASKED:.+]] = arith.select %[[SEEN]]
// CHECK:         %[[MAX:.+]] = rtile.reduce max %[[MASKED]]
// CHECK:         %[[M:.+]] = arith.maximumf %[[LOWEST]], %[[MAX]]
// CHECK:         %[[TILE_SUM:.+]] = rtile.reduce sum
// CHECK:         %[[L:.+]] = arith.addf %{{.+}}, %[[TILE_SUM]]
// CHECK:         %[[ACC:.+]] = rtile.dot %{{[^ ]+}}, %{{[^ ]+}} init(
// CHECK:         scf.for %[[LATER:.+]] = %{{.+}} to %[[ROWS]] step %[[C48]] iter_args(%{{.+}} = %[[M]], %{{.+}} = %[[L]], %{{.+}} = %[[ACC]])
// CHECK:           %[[UP:.+]] = arith.addi %[[LATER]], %[[C48]]
// CHECK:           %[[ROW:.+]] = arith.subi %[[LAST]], %[[UP]]
// CHECK:           rtile.load %{{.+}}[%[[ROW]],
// CHECK-NOT:       rtile.visible
// CHECK:           rtile.load %{{.+}}[%[[ROW]],
// CHECK-NOT:     scf.for
// CHECK:         rtile.return
// REMARK: key tiles run from the last to the first; the last stands before 1 loop over the others
rtile.func @full(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
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

// Causal steps at the diagonal keep their mask: a loop from the end of the whole
// steps up to the last one comes first, but not before that step.

// CHECK-LABEL: rtile.func @causal(
// CHECK:         %[[B:.+]], %{{.+}}, %[[WE:.+]], %[[E:.+]] = rtile.run
// CHECK:         %[[ROWS:.+]] = arith.muli
// CHECK:         %[[LAST:.+]] = arith.addi %[[B]], %[[ROWS]]
// CHECK:         %[[FIRST:.+]] = arith.minsi %[[WE]], %[[LAST]]
// CHECK:         %[[TAIL:.+]] = arith.subi %[[LAST]], %[[FIRST]]
// CHECK:         %[[S:.+]]:3 = scf.for %{{.+}} = %{{.+}} to %[[TAIL]] step
// CHECK:           rtile.visible
// CHECK:         scf.for %{{.+}} = %[[TAIL]] to %[[ROWS]] step %{{.+}} iter_args(%{{.+}} = %[[S]]#0, %{{.+}} = %[[S]]#1, %{{.+}} = %[[S]]#2)
// CHECK-NOT:       rtile.visible
// CHECK-NOT:     scf.for
// CHECK:         rtile.return
// REMARK: the last stands before 2 loops over the others
rtile.func @causal(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
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
  %b, %wb, %we, %e = rtile.run %q[%row], %k causal : !rtile.view<64x32xbf16>, !rtile.view<48x32xbf16>
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
    %seen = rtile.visible %q[%row], %k[%j] causal : !rtile.view<64x32xbf16>, !rtile.view<48x32xbf16> -> tensor<64x48xi1>
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

// A left window hides keys of early steps: they come last, masked.

// CHECK-LABEL: rtile.func @left_window(
// CHECK:         %{{.+}}, %[[WB:.+]], %[[WE:.+]], %{{.+}} = rtile.run
// CHECK:         %[[ROWS:.+]] = arith.muli
// CHECK:         arith.minsi %[[WE]]
// CHECK:         %[[TAIL:.+]] = arith.subi
// CHECK:         arith.minsi %[[WB]]
// CHECK:         %[[WHOLE:.+]] = arith.subi
// CHECK:         scf.for %{{.+}} = %{{.+}} to %[[TAIL]] step
// CHECK:           rtile.visible
// CHECK:         scf.for %{{.+}} = %[[TAIL]] to %[[WHOLE]] step
// CHECK-NOT:       rtile.visible
// CHECK:         scf.for %{{.+}} = %[[WHOLE]] to %[[ROWS]] step
// CHECK:           rtile.visible
// CHECK:         rtile.return
// REMARK: the last stands before 3 loops over the others
rtile.func @left_window(%Q: memref<?x32xbf16, strided<[?, 1]>>, %K: memref<?x32xbf16, strided<[?, 1]>>,
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
  %b, %wb, %we, %e = rtile.run %q[%row], %k window = [100, -1] : !rtile.view<64x32xbf16>, !rtile.view<48x32xbf16>
  %s0:3 = scf.for %j = %b to %wb step %step iter_args(%m = %lowest, %l = %none, %acc = %zero) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<48x32xbf16>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xbf16>, tensor<48x32xbf16> -> tensor<64x48xf32>
    %scores = arith.mulf %product, %scale : tensor<64x48xf32>
    %seen = rtile.visible %q[%row], %k[%j] window = [100, -1] : !rtile.view<64x32xbf16>, !rtile.view<48x32xbf16> -> tensor<64x48xi1>
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
  %s1:3 = scf.for %j = %wb to %we step %step iter_args(%m = %s0#0, %l = %s0#1, %acc = %s0#2) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
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
  %s2:3 = scf.for %j = %we to %e step %step iter_args(%m = %s1#0, %l = %s1#1, %acc = %s1#2) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
    %k_tile = rtile.load %k[%j, %c0] : !rtile.view<48x32xbf16>
    %product = rtile.dot %q_tile, %k_tile transposed : tensor<64x32xbf16>, tensor<48x32xbf16> -> tensor<64x48xf32>
    %scores = arith.mulf %product, %scale : tensor<64x48xf32>
    %seen = rtile.visible %q[%row], %k[%j] window = [100, -1] : !rtile.view<64x32xbf16>, !rtile.view<48x32xbf16> -> tensor<64x48xi1>
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
  rtile.store %s2#2, %o[%row, %c0] : !rtile.view<64x16xf32>
  rtile.store %s2#1, %ls[%row] : !rtile.view<64xf32>
  rtile.return
}
