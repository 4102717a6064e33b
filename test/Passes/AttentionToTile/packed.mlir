//===- packed.mlir - Sequences one behind the other ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile --canonicalize --cse \
// RUN:   | FileCheck %s

// The grid has a point for each tile of segments that the rows fill and two more
// for each sequence, which begins and ends within segments (S2). These are at most
// as long as all rows, so that the product below fits in 64 bits. Where there are
// no rows, nothing is launched.

// CHECK-LABEL: rplan.func @segments(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x3x16xf32, {{[^%]+}}, %[[K:[a-z0-9]+]]: {{[^%]+}}, %[[QS:[a-z0-9]+]]: memref<5xi64, strided<[1]>>, %[[KS:[a-z0-9]+]]: memref<5xi64, strided<[1]>>) outputs(%[[O:[a-z0-9]+]]: {{.+}}, %[[L:[a-z0-9]+]]: memref<3x?xf32
// CHECK-DAG:     %[[W:.+]] = arith.constant 100 : index
// CHECK-DAG:     %[[ONE:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[SPARE:.+]] = arith.constant 8 : index
// CHECK:         %[[TOTAL:.+]] = rplan.size %[[Q]][0]
// CHECK:         %[[ROWS:.+]] = arith.minsi %[[TOTAL]], %[[W]]
// CHECK:         %[[TILES:.+]] = arith.ceildivsi %[[ROWS]], %{{.+}}
// CHECK:         %[[SOME:.+]] = arith.maxsi %[[TOTAL]], %[[ONE]]
// CHECK:         %[[SPAN:.+]] = arith.minsi %[[SOME]], %[[W]]
// CHECK:         %[[ALL:.+]] = arith.muli %[[TOTAL]], %[[TILES]]
// CHECK:         %[[FULL:.+]] = arith.floordivsi %[[ALL]], %[[SPAN]]
// CHECK:         %[[POINTS:.+]] = arith.addi %[[FULL]], %[[SPARE]]
// CHECK:         %[[ANY:.+]] = arith.minsi %{{.+}}, %[[ONE]]
// CHECK:         %[[LAUNCHED:.+]] = arith.muli %[[POINTS]], %[[ANY]]
// CHECK:         rplan.launch @segments_attention0_branch0 grid(%[[LAUNCHED]], %c3{{.*}}) args(%[[Q]], %[[K]], %[[K]], %[[O]], %[[L]], %[[QS]], %[[KS]], %[[SPAN]], %[[TILES]])
// CHECK:         rplan.launch @segments_fill_output_past0 {{.+}} args(%[[O]], %[[QS]])
// CHECK:         rplan.launch @segments_fill_lse_past0 {{.+}} args(%[[L]], %[[QS]])

// A kernel finds its sequence by bisection, in fewer steps than there are.

// CHECK-LABEL: rtile.func @segments_attention0_branch0(
// CHECK-SAME:    %[[QS:[a-z0-9]+]]: memref<5xi64, strided<[1]>>, %[[KS:[a-z0-9]+]]: memref<5xi64, strided<[1]>>, %[[SPAN:[a-z0-9]+]]: index, %[[TILES:[a-z0-9]+]]: index)
// CHECK-SAME:    grid(%[[POINT:[a-z0-9]+]]: index, %[[HEAD:[a-z0-9]+]]: index)
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C2:.+]] = arith.constant 2 : index
// CHECK-DAG:     %[[C3:.+]] = arith.constant 3 : index
// CHECK-DAG:     %[[C4:.+]] = arith.constant 4 : index
// CHECK-DAG:     %[[C100:.+]] = arith.constant 100 : index
// CHECK:         %[[TOTAL:.+]] = memref.dim %{{.+}}, %[[C0]]
// CHECK:         %[[FOUND:.+]]:2 = scf.for %{{.+}} = %[[C0]] to %[[C3]] step %[[C1]] iter_args(%[[LOW:.+]] = %[[C0]], %[[HIGH:.+]] = %[[C4]])
// CHECK:           %[[ENDS:.+]] = arith.addi %[[LOW]], %[[HIGH]]
// CHECK:           %[[MIDDLE:.+]] = arith.divui %[[ENDS]], %[[C2]]
// CHECK:           %[[E:.+]] = memref.load %[[QS]][%[[MIDDLE]]]
// CHECK:           %[[READ:.+]] = arith.index_cast %[[E]]
// CHECK:           %[[LEAST:.+]] = arith.maxsi %[[READ]], %[[C0]]
// CHECK:           %[[START:.+]] = arith.minsi %[[LEAST]], %[[TOTAL]]
// CHECK:           %[[BEGIN:.+]] = arith.muli %[[START]], %[[TILES]]
// CHECK:           %[[SPARE:.+]] = arith.muli %[[MIDDLE]], %[[C2]]
// CHECK:           %[[BEFORE:.+]] = arith.subi %[[POINT]], %[[SPARE]]
// CHECK:           %[[NEXT:.+]] = arith.addi %[[BEFORE]], %[[C1]]
// CHECK:           %[[END:.+]] = arith.muli %[[NEXT]], %[[SPAN]]
// CHECK:           %[[BEGINS:.+]] = arith.cmpi slt, %[[BEGIN]], %[[END]]
// CHECK:           %[[NEWLOW:.+]] = arith.select %[[BEGINS]], %[[MIDDLE]], %[[LOW]]
// CHECK:           %[[NEWHIGH:.+]] = arith.select %[[BEGINS]], %[[HIGH]], %[[MIDDLE]]
// CHECK:           scf.yield %[[NEWLOW]], %[[NEWHIGH]]

// Whatever starts say, rows of the sequence are rows of the tensor.

// CHECK:         %[[E:.+]] = memref.load %[[QS]][%[[FOUND]]#0]
// CHECK:         %[[READ:.+]] = arith.index_cast %[[E]]
// CHECK:         %[[LEAST:.+]] = arith.maxsi %[[READ]], %[[C0]]
// CHECK:         %[[QFIRST:.+]] = arith.minsi %[[LEAST]], %[[TOTAL]]
// CHECK:         %[[BEGIN:.+]] = arith.muli %[[QFIRST]], %[[TILES]]
// CHECK:         %[[SPARE:.+]] = arith.muli %[[FOUND]]#0, %[[C2]]
// CHECK:         %[[BEFORE:.+]] = arith.divui %[[BEGIN]], %[[SPAN]]
// CHECK:         %[[FIRST:.+]] = arith.addi %[[BEFORE]], %[[SPARE]]
// CHECK:         %[[TILE:.+]] = arith.subi %[[POINT]], %[[FIRST]]
// CHECK:         %[[SECOND:.+]] = arith.addi %[[FOUND]]#0, %[[C1]]
// CHECK:         %[[E:.+]] = memref.load %[[QS]][%[[SECOND]]]
// CHECK:         %[[READ:.+]] = arith.index_cast %[[E]]
// CHECK:         %[[LEAST:.+]] = arith.maxsi %[[READ]], %[[QFIRST]]
// CHECK:         %[[QEND:.+]] = arith.minsi %[[LEAST]], %[[TOTAL]]
// CHECK:         memref.load %[[KS]][%[[FOUND]]#0]
// CHECK:         %[[KFIRST:.+]] = arith.minsi
// CHECK:         memref.load %[[KS]][%[[SECOND]]]
// CHECK:         %[[KEND:.+]] = arith.minsi

// The last query is put on the last key (S1). So the first segment may have fewer
// tiles, and the others have as many as a whole one. Ordinals count from the
// sequence's first position, which is 0 for keys.

// CHECK:         %[[KEYS:.+]] = arith.subi %[[KEND]], %[[KFIRST]]
// CHECK:         %[[QUERIES:.+]] = arith.subi %[[QEND]], %[[QFIRST]]
// CHECK:         %[[OFFSET:.+]] = arith.subi %[[KEYS]], %[[QUERIES]]
// CHECK:         %[[FIRST:.+]] = arith.floordivsi %[[OFFSET]], %[[C100]]
// CHECK:         %[[SECOND:.+]] = arith.addi %[[FIRST]], %[[C1]]
// CHECK:         %[[SBEGIN:.+]] = arith.muli %[[SECOND]], %[[C100]]
// CHECK:         %[[REST:.+]] = arith.subi %[[SBEGIN]], %[[OFFSET]]
// CHECK:         %[[ROWS:.+]] = arith.minsi %[[REST]], %[[QUERIES]]
// CHECK:         %[[FEWER:.+]] = arith.ceildivsi %[[ROWS]], %c16
// CHECK:         %[[ISFIRST:.+]] = arith.cmpi slt, %[[TILE]], %[[FEWER]]
// CHECK:         %[[AFTER:.+]] = arith.subi %[[TILE]], %[[FEWER]]
// CHECK:         %[[WHOLE:.+]] = arith.divui %[[AFTER]], %[[TILES]]
// CHECK:         %[[FURTHER:.+]] = arith.addi %[[WHOLE]], %[[C1]]
// CHECK:         %[[DISTANCE:.+]] = arith.select %[[ISFIRST]], %[[C0]], %[[FURTHER]]
// CHECK:         %[[S:.+]] = arith.addi %[[FIRST]], %[[DISTANCE]]
// CHECK:         %[[THERE:.+]] = arith.remui %[[AFTER]], %[[TILES]]
// CHECK:         %[[TILE2:.+]] = arith.select %[[ISFIRST]], %[[TILE]], %[[THERE]]
// CHECK:         %[[KORIGIN:.+]] = arith.subi %[[C0]], %[[KFIRST]]
// CHECK:         %[[QORIGIN:.+]] = arith.subi %[[OFFSET]], %[[QFIRST]]
// CHECK:         %[[QVIEW:.+]] = rtile.view %{{.+}}[*, %[[HEAD]], *] origin(%[[QORIGIN]]) segment(%[[S]]) within(%[[QFIRST]], %[[QEND]])
// CHECK:         rtile.view %{{.+}}[*, %[[HEAD]], *] origin(%[[KORIGIN]]) segment(%[[S]]) within(%[[KFIRST]], %[[KEND]])
// CHECK:         rtile.view %{{.+}}[*, %[[HEAD]], *] origin(%[[KORIGIN]]) segment(%[[S]]) within(%[[KFIRST]], %[[KEND]])
// CHECK:         rtile.view %{{.+}}[*, %[[HEAD]], *] origin(%[[QORIGIN]]) segment(%[[S]]) within(%[[QFIRST]], %[[QEND]])
// CHECK:         rtile.view %{{.+}}[%[[HEAD]], *] origin(%[[QORIGIN]]) segment(%[[S]]) within(%[[QFIRST]], %[[QEND]])
// CHECK:         %[[DOWN:.+]] = arith.muli %[[TILE2]], %c16
// CHECK:         %[[TOP:.+]], %{{.+}} = rtile.bounds %[[QVIEW]]
// CHECK:         arith.addi %[[TOP]], %[[DOWN]]

// What no sequence owns lies from the last start on.

// CHECK-LABEL: rtile.func @segments_fill_output_past0(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: {{[^%]+}}, %[[STARTS:[a-z0-9]+]]: memref<5xi64, strided<[1]>>)
// CHECK:         %[[LAST:.+]] = arith.constant 4 : index
// CHECK:         %[[TOTAL:.+]] = memref.dim %[[X]]
// CHECK:         memref.load %[[STARTS]][%[[LAST]]]
// CHECK:         %[[PAST:.+]] = arith.minsi %{{.+}}, %[[TOTAL]]
// CHECK:         rtile.view %[[X]][*, %{{.+}}, *] within(%[[PAST]], %[[TOTAL]])
// CHECK-LABEL: rtile.func @segments_fill_lse_past0(
func.func @segments(%q: tensor<?x3x16xf32>, %k: tensor<?x3x16xf32>, %qs: tensor<5xi64>, %ks: tensor<5xi64>)
    -> (tensor<?x3x16xf32>, tensor<3x?xf32>) {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 100, r = 1>] causal packed(%qs, %ks)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<?x3x16xf32>, tensor<?x3x16xf32>, tensor<?x3x16xf32>, tensor<5xi64>, tensor<5xi64>)
      -> (tensor<?x3x16xf32>, tensor<3x?xf32>)
  return %o, %l : tensor<?x3x16xf32>, tensor<3x?xf32>
}

// -----

// Where there is one segment, a tile covers 48 rows, 16 of each residue. How many sequences there are the call says, and of none nothing is
// launched; so it says how often to halve them, too. Queries of one position
// in every sequence begin at another ordinal of the tensor in each.

// CHECK-LABEL: rplan.func @tiles(
// CHECK-SAME:    %[[S:[a-z0-9]+]]: memref<?xi64, strided<[1]>>
// CHECK:         %[[COUNT:.+]] = rplan.size %[[S]][0]
// CHECK:         rplan.require le %c1{{.*}}, %[[COUNT]], "expected one start more than there are sequences" rule "S2"
// CHECK:         %[[SEQUENCES:.+]] = arith.subi %[[COUNT]], %c1
// CHECK:         %[[POINTS:.+]] = arith.addi %[[COUNT]], %c9
// CHECK:         %[[FEW:.+]] = arith.minsi %[[SEQUENCES]], %c500
// CHECK:         %[[SOME:.+]] = arith.minsi %[[FEW]], %c1
// CHECK:         %[[LAUNCHED:.+]] = arith.muli %[[POINTS]], %[[SOME]]
// CHECK:         %[[BOUND:.+]] = arith.addi %{{.+}}, %c11
// CHECK:         %[[HALVINGS:.+]] = arith.minsi %{{.+}}, %[[BOUND]]
// CHECK-NEXT:    rplan.launch @tiles_attention0_branch0 grid(%[[LAUNCHED]], %c4{{.*}}) args({{.+}}, %[[S]], %[[S]], %[[HALVINGS]])

// CHECK-LABEL: rtile.func @tiles_attention0_branch0(
// CHECK-SAME:    %[[P:[a-z0-9]+]]: index, %[[QS:[a-z0-9]+]]: memref<?xi64, strided<[1]>>, %[[KS:[a-z0-9]+]]: memref<?xi64, strided<[1]>>, %[[HALVINGS:[a-z0-9]+]]: index)
// CHECK-SAME:    grid(%[[POINT:[a-z0-9]+]]: index, %[[HEAD:[a-z0-9]+]]: index)
// CHECK:         scf.for %{{.+}} = %{{.+}} to %[[HALVINGS]]
// CHECK:         %[[WHOLE:.+]] = arith.divui %[[FIRST:.+]], %c48
// CHECK:         %[[BEFORE:.+]] = arith.addi %[[WHOLE]], %{{.+}}#0
// CHECK:         %[[TILE:.+]] = arith.subi %[[POINT]], %[[BEFORE]]
// CHECK:         %[[ORIGIN:.+]] = arith.subi %[[P]], %[[FIRST]]
// CHECK:         %[[Q:.+]] = rtile.view %{{.+}}[*, %[[HEAD]], *] origin(%[[ORIGIN]]) residue
// CHECK:         %[[DISTANCE:.+]] = arith.muli %[[TILE]], %c16
// CHECK:         %[[BEGIN:.+]], %{{.+}} = rtile.bounds %[[Q]]
// CHECK:         arith.addi %[[BEGIN]], %[[DISTANCE]]
func.func @tiles(%q: tensor<500x4x16xf32>, %s: tensor<?xi64>, %p: tensor<i64>) -> tensor<500x4x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 3>] q_offset(%p) packed(%s, %s)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<500x4x16xf32>, tensor<500x4x16xf32>, tensor<500x4x16xf32>, tensor<i64>, tensor<?xi64>, tensor<?xi64>)
      -> (tensor<500x4x16xf32>, tensor<4x500xf32>)
  return %o : tensor<500x4x16xf32>
}

// -----

// A q_offset for each sequence has as many entries as there are sequences.

// CHECK-LABEL: rplan.func @offsets(
// CHECK-SAME:    %[[S:[a-z0-9]+]]: memref<?xi64, strided<[1]>>, %[[P:[a-z0-9]+]]: memref<?xi64
// CHECK-DAG:     %[[STARTS:.+]] = rplan.size %[[S]][0]
// CHECK-DAG:     %[[OFFSETS:.+]] = rplan.size %[[P]][0]
// CHECK:         %[[SEQUENCES:.+]] = arith.subi %[[STARTS]], %c1
// CHECK:         rplan.require eq %[[OFFSETS]], %[[SEQUENCES]], "expected a q_offset for each sequence" rule "S1"
// CHECK-LABEL: rtile.func @offsets_attention0_branch0(
// CHECK:         %[[FOUND:.+]]:2 = scf.for
// CHECK:         memref.load %{{.+}}[%[[FOUND]]#0]
// CHECK:         memref.load %[[P:.+]][%[[FOUND]]#0]
// CHECK:         rtile.view
func.func @offsets(%q: tensor<500x4x16xf32>, %s: tensor<?xi64>, %p: tensor<?xi64>) -> tensor<500x4x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] q_offset(%p) packed(%s, %s)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<500x4x16xf32>, tensor<500x4x16xf32>, tensor<500x4x16xf32>, tensor<?xi64>, tensor<?xi64>, tensor<?xi64>)
      -> (tensor<500x4x16xf32>, tensor<4x500xf32>)
  return %o : tensor<500x4x16xf32>
}
