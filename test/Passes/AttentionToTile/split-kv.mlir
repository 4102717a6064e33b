//===- split-kv.mlir - Kernels for few queries ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile --canonicalize | FileCheck %s

// The plan picks by the number of queries: grids and memory of what is not for a
// call are empty.

// CHECK-LABEL: rplan.func @any_length(
// CHECK:         %[[SQ:.+]] = rplan.size %{{.+}}[1] : memref<2x?x8x32xf32
// CHECK:         %[[MORE:.+]] = arith.subi %c13, %[[SQ]]
// CHECK:         %[[ONE:.+]] = arith.minsi %[[MORE]], %c1
// CHECK:         %[[SHORT:.+]] = arith.maxsi %[[ONE]], %c0
// CHECK:         rplan.machine multiprocessors
// CHECK:         %[[MOST:.+]] = arith.ceildivsi
// CHECK:         %[[PARTS:.+]] = arith.minsi %[[MOST]], %{{.+}}
// CHECK:         %[[STATES:.+]] = arith.muli %[[MOST]], %[[SHORT]]
// CHECK:         %[[ACC:.+]] = rplan.workspace(%[[STATES]], %{{.+}}) : memref<?x2x?x8x32xf32>
// CHECK:         %[[MAX:.+]] = rplan.workspace({{.+}}) : memref<?x2x8x?xf32>
// CHECK:         %[[SUM:.+]] = rplan.workspace({{.+}}) : memref<?x2x8x?xf32>
// CHECK:         %[[TILES:.+]] = arith.ceildivsi
// CHECK:         %[[POINTS:.+]] = arith.muli %[[TILES]], %[[PARTS]]
// CHECK:         %[[BATCH:.+]] = arith.muli %[[SHORT]], %c2
// CHECK:         rplan.launch @any_length_attention0_parts0 grid(%[[POINTS]], %c2, %[[BATCH]]) args(%{{.+}}, %{{.+}}, %{{.+}}, %[[ACC]], %[[MAX]], %[[SUM]], %{{.+}}, %[[PARTS]], %c0, %[[TILES]])
// CHECK:         rplan.launch @any_length_merge0 grid(%c8, %{{.+}}, %{{.+}}) args(%[[ACC]], %[[MAX]], %[[SUM]], %{{.+}}, %[[PARTS]])
// CHECK:         %[[LONG:.+]] = arith.subi %c1, %[[SHORT]]
// CHECK:         %[[REST:.+]] = arith.muli %[[LONG]], %c2
// CHECK:         rplan.launch @any_length_attention0_branch0 grid(%{{.+}}, %c8, %[[REST]])
// CHECK-NOT:     rplan.launch
// CHECK:         rplan.return

// A tile has rows of all 4 heads of a key head, and sees a part of the keys.

// CHECK-LABEL: rtile.func @any_length_attention0_parts0(
// CHECK-SAME:    %[[PARTS:[^:]+]]: index, %[[FIRST:[^:]+]]: index, %[[TILES:[^:]+]]: index)
// CHECK-SAME:    grid(%[[POINT:[^:]+]]: index, %[[HEAD:[^:]+]]: index, %[[B:[^:]+]]: index)
// CHECK:         %[[TILE:.+]] = arith.remui %[[POINT]], %[[TILES]]
// CHECK:         %[[PART:.+]] = arith.divui %[[POINT]], %[[TILES]]
// CHECK:         %[[STATE:.+]] = arith.addi %[[FIRST]], %[[PART]]
// CHECK:         %[[QH:.+]] = arith.muli %[[HEAD]], %c4
// CHECK:         %[[QV:.+]] = rtile.view %{{.+}}[%[[B]], *, %[[QH]], *] origin(%{{.+}}) group = [2, 4]
// CHECK-SAME:      to !rtile.view<16x32xf32>
// CHECK:         rtile.view %{{.+}}[%[[B]], *, %[[HEAD]], *] :
// CHECK-SAME:      to !rtile.view<32x32xf32>
// CHECK:         rtile.view %{{.+}}[%[[STATE]], %[[B]], *, %[[QH]], *] {{.*}}group = [3, 4]
// CHECK:         rtile.view %{{.+}}[%[[STATE]], %[[B]], %[[QH]], *] {{.*}}group = [2, 4]
// CHECK:         %[[BEGIN:[^,]+]], {{.+}}, %[[END:.+]] = rtile.run %[[QV]][%{{.+}}], %{{.+}} part(%[[PART]], %[[PARTS]]) causal

// Of an empty part nothing is read, and its sum is 0.

// CHECK:         %[[KEYS:.+]] = arith.cmpi slt, %[[BEGIN]], %[[END]]
// CHECK:         scf.if %[[KEYS]] {
// CHECK:           rtile.load %[[QV]]
// CHECK:           scf.for %{{.+}} = %[[BEGIN]] to %[[END]]
// CHECK:           rtile.store
// CHECK:         } else {
// CHECK-NEXT:      rtile.store %{{.+}} : !rtile.view<16xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    rtile.return

// Each row of a tile is an element of one row of the output, each column a part,
// as many as are read at a time. Parts whose sum is 0 count for nothing.

// CHECK-LABEL: rtile.func @any_length_merge0(
// CHECK-SAME:    %[[O:[^:]+]]: memref<2x?x8x32xf32, {{[^:]+}}>, %[[STATES:[^:]+]]: index)
// CHECK-SAME:    grid(%[[HEAD:[^:]+]]: index, %[[QUERY:[^:]+]]: index, %[[B:[^:]+]]: index)
// CHECK:         rtile.view %[[O]][%[[B]], %[[QUERY]], %[[HEAD]], *]
// CHECK-SAME:      to !rtile.view<32xf32>
// CHECK:         scf.for %[[NUMBER:.+]] = %c0 to %[[STATES]] step %c4
// CHECK:           rtile.view %{{.+}}[*, %[[B]], %[[QUERY]], %[[HEAD]], *] transposed
// CHECK-SAME:        to !rtile.view<32x4xf32>
// CHECK:           rtile.view %{{.+}}[*, %[[B]], %[[HEAD]], %[[QUERY]]] within(%c0, %[[STATES]])
// CHECK-SAME:        to !rtile.view<4xf32>
// CHECK:           %[[L:.+]] = rtile.broadcast %{{.+}} columns : tensor<4xf32> -> tensor<32x4xf32>
// CHECK:           %[[SOME:.+]] = arith.cmpf une, %[[L]]
// CHECK:           arith.select %[[SOME]]
// CHECK:           arith.select %[[SOME]]
// CHECK:           arith.maximumf
// CHECK:         arith.divf
// CHECK:         rtile.store
func.func @any_length(%q: tensor<2x?x8x32xf32>, %k: tensor<2x?x2x32xf32>)
    -> tensor<2x?x8x32xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] causal
      tilings = [#ringlet.tiling<query = 64, key = 48>]
      split_kv = [<rows = 16, key = 32, heads = 4, part = 256, queries = 12, mergeStates = 4>]
      : (tensor<2x?x8x32xf32>, tensor<2x?x2x32xf32>, tensor<2x?x2x32xf32>)
      -> (tensor<2x?x8x32xf32>, tensor<2x8x?xf32>)
  return %o : tensor<2x?x8x32xf32>
}

// -----

// A length that is known leaves no choice.

// CHECK-LABEL: rplan.func @short(
// CHECK:         rplan.launch @short_attention0_parts0
// CHECK-NEXT:    rplan.launch @short_merge0
// CHECK-NEXT:    rplan.return
func.func @short(%q: tensor<1x1x8x32xf32>, %k: tensor<1x512x2x32xf32>)
    -> tensor<1x1x8x32xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] causal
      tilings = [#ringlet.tiling<query = 64, key = 48>]
      split_kv = [<rows = 16, key = 32, heads = 4, part = 256, queries = 12>]
      : (tensor<1x1x8x32xf32>, tensor<1x512x2x32xf32>, tensor<1x512x2x32xf32>)
      -> (tensor<1x1x8x32xf32>, tensor<1x8x1xf32>)
  return %o : tensor<1x1x8x32xf32>
}

// CHECK-LABEL: rplan.func @long(
// CHECK:         rplan.launch @long_attention0_branch0
// CHECK-NEXT:    rplan.return
func.func @long(%q: tensor<1x13x8x32xf32>, %k: tensor<1x512x2x32xf32>)
    -> tensor<1x13x8x32xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] causal
      tilings = [#ringlet.tiling<query = 64, key = 48>]
      split_kv = [<rows = 16, key = 32, heads = 4, part = 256, queries = 12>]
      : (tensor<1x13x8x32xf32>, tensor<1x512x2x32xf32>, tensor<1x512x2x32xf32>)
      -> (tensor<1x13x8x32xf32>, tensor<1x8x13xf32>)
  return %o : tensor<1x13x8x32xf32>
}

// -----

// Several branches share one kernel, which is told their sizes: all parts of all
// of them are merged at once. Rows that a branch does not reach have sums of 0.

// CHECK-LABEL: rplan.func @branches(
// CHECK:         rplan.launch @branches_fill_sum0_parts
// CHECK-NEXT:    rplan.launch @branches_attention0_parts0 {{.*}}%c64, %c1
// CHECK-NEXT:    rplan.launch @branches_attention0_parts0 {{.*}}%c128, %c2
// CHECK-NEXT:    rplan.launch @branches_merge0
// CHECK-NEXT:    rplan.return

// CHECK-LABEL: rtile.func @branches_attention0_parts0(
// CHECK:         rtile.view {{.*}}w(%{{.+}}) rate(%{{.+}}) group = [2, 4]
// CHECK-SAME:      !rtile.view<16x32xf32, w = ?, rate = ?>
// CHECK-NOT:   rtile.func @branches_attention0_parts1(
func.func @branches(%q: tensor<1x2x8x32xf32>, %k: tensor<1x512x2x32xf32>)
    -> tensor<1x2x8x32xf32> {
  %o, %l = ringlet.attention %q, %k, %k
      branches [<w = 64, r = 1>, <w = 128, r = 2>] causal
      tilings = [#ringlet.tiling<query = 64, key = 48>, #ringlet.tiling<query = 64, key = 48>]
      split_kv = [<rows = 16, key = 32, heads = 4, part = 256, queries = 12>]
      : (tensor<1x2x8x32xf32>, tensor<1x512x2x32xf32>, tensor<1x512x2x32xf32>)
      -> (tensor<1x2x8x32xf32>, tensor<1x8x2xf32>)
  return %o : tensor<1x2x8x32xf32>
}

// -----

// Each call runs one of several sets. The kernel of one with a recipe has never
// more parts than run at once, and where tensors are such that it cannot be
// scheduled, the plain one runs on as many parts. Sets of one tile share a kernel.

// CHECK-LABEL: rplan.func @several(
// CHECK:         %[[SQ:.+]] = rplan.size %{{.+}}[1] : memref<2x?x8x64xbf16
// CHECK-DAG:     arith.subi %c3, %[[SQ]]
// CHECK-DAG:     arith.subi %c17, %[[SQ]]
// CHECK-DAG:     arith.subi %[[SQ]], %c2
// CHECK-DAG:     arith.subi %c301, %[[SQ]]
// CHECK-DAG:     arith.subi %[[SQ]], %c16
// CHECK:         rplan.launch @several_attention0_parts0 grid(
// CHECK:         rplan.launch @several_merge0 grid(
// CHECK:         rplan.launch @several_attention0_parts0_to16 grid(%[[POINTS:[^,]+]], %c2, %[[BATCH:[^)]+]]) args({{.*}}, %[[PARTS:[^,]+]], %c0, %[[TALL:[^,)]+]])
// CHECK-SAME:      otherwise launch @several_attention0_parts0 grid(%[[LOW_POINTS:[^,]+]], %c2, %{{[^)]+}}) args({{.*}}, %[[PARTS]], %c0, %{{[^, ]+}} :
// CHECK:         rplan.launch @several_merge0 grid(
// CHECK:         rplan.launch @several_attention0_parts0_to16 grid({{.*}} otherwise launch @several_attention0_parts0 grid(
// CHECK:         rplan.launch @several_merge0 grid(
// CHECK:         rplan.launch @several_attention0_branch0
// CHECK:         rplan.return
// CHECK:       rtile.func @several_attention0_parts0(
// CHECK-NOT:     recipe
// CHECK:       rtile.func @several_merge0(
// CHECK:       rtile.func @several_attention0_parts0_to16({{.*}} recipe = "fa_fwd_overlap"
// CHECK-NOT:   rtile.func @several_attention0_parts0
// CHECK:       rtile.func @several_attention0_branch0
func.func @several(%q: tensor<2x?x8x64xbf16>, %k: tensor<2x?x2x64xbf16>)
    -> tensor<2x?x8x64xbf16> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 64, key = 48>]
      split_kv = [<rows = 16, key = 32, heads = 4, part = 256, queries = 2>,
                  <rows = 64, key = 32, heads = 4, part = 256, queries = 16, points = 1, recipe = "fa_fwd_overlap">,
                  <rows = 64, key = 32, heads = 4, part = 1024, queries = 300, points = 1, recipe = "fa_fwd_overlap", fewestParts = 2>]
      : (tensor<2x?x8x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x64xbf16>)
      -> (tensor<2x?x8x64xbf16>, tensor<2x8x?xf32>)
  return %o : tensor<2x?x8x64xbf16>
}
