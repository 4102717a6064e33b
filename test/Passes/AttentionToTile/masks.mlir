//===- masks.mlir - Grid windows and block masks ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile --canonicalize | FileCheck %s

// A grid window (B5): an index of key tiles, with a list for each tile of
// queries of each residue and segment. Positions have to lie on the grid.

// CHECK-LABEL: rplan.func @near(
// CHECK-DAG:     %[[C96:.+]] = arith.constant 96 : index
// CHECK:         rplan.require le %{{.+}}, %[[C96]], "expected every position on the grid [8, 12]" rule "B5"
// CHECK:         %[[INDEX:.+]] = rplan.tile_index queries(%[[S:.+]] from %{{.+}}) keys(%[[S]])
// CHECK-SAME:      tile = [16, 32] w = 32 rate = 2 causal grid = [8, 12] reach = [1, 2]
// CHECK:         rplan.launch @near_attention0_branch0 {{.+}} args({{.+}}, %[[INDEX]], %{{.+}}, %{{.+}})
// CHECK-LABEL: rtile.func @near_attention0_branch0(
// CHECK-SAME:    %[[TABLE:[a-z0-9]+]]: memref<?xi64>, %[[TILES:[a-z0-9]+]]: index, %[[SEGMENTS:[a-z0-9]+]]: index)
// CHECK-SAME:    grid(%[[TILE:.+]]: index, %[[SEGMENT:.+]]: index, %[[HEAD:.+]]: index, %{{.+}}: index)
// CHECK:         %[[RESIDUE:.+]] = arith.remui
// CHECK:         %[[PLANES:.+]] = arith.muli %[[RESIDUE]], %[[SEGMENTS]]
// CHECK:         %[[PLANE:.+]] = arith.addi %[[PLANES]], %[[SEGMENT]]
// CHECK:         %[[FIRST:.+]] = arith.muli %[[PLANE]], %[[TILES]]
// CHECK:         %[[LIST:.+]] = arith.addi %[[FIRST]], %[[TILE]]
// CHECK:         %[[BEGIN:.+]], %{{.+}}, %[[END:.+]] = rtile.list %[[TABLE]][%[[LIST]]], %{{.+}} causal grid = [8, 12] reach = [1, 2]
// CHECK:         scf.for %[[PLACE:.+]] = %[[BEGIN]] to %[[END]] step %c1
// CHECK:           %[[ENTRY:.+]] = memref.load %[[TABLE]][%[[PLACE]]]
// CHECK:           %[[ROW:.+]] = arith.index_cast %[[ENTRY]]
// CHECK:           rtile.load %{{.+}}[%[[ROW]], %c0]
// CHECK:           rtile.visible %{{.+}}, %{{.+}}[%[[ROW]]] causal grid = [8, 12] reach = [1, 2]
func.func @near(%q: tensor<1x?x2x16xf32>) -> tensor<1x?x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 32, r = 2>] causal
      grid_window = <grid = [8, 12], reach = [1, 2]>
      tilings = [#ringlet.tiling<query = 16, key = 32>]
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> (tensor<1x?x2x16xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x16xf32>
}

// -----

// A block mask (B6) whose blocks tiles fill: the kernel asks once a tile, and
// what the blocks say is no part of the mask of a tile. Known sizes need no
// condition.

// CHECK-LABEL: rplan.func @blocks(
// CHECK-NOT:     rplan.require
// CHECK-NOT:     rplan.tile_index
// CHECK-LABEL: rtile.func @blocks_attention0_branch0(
// CHECK-SAME:    %[[MASK:[a-z0-9]+]]: memref<2x4xi1, strided<[?, 1]>>)
// CHECK:         rtile.run
// CHECK:         scf.for %[[ROW:.+]] = %{{.+}} iter_args(%[[M:.+]] = %{{.+}}, %[[L:.+]] = %{{.+}}, %[[ACC:.+]] = %{{.+}})
// CHECK:           %[[SOME:.+]] = rtile.any_block %{{.+}}, %{{.+}}[%[[ROW]]], %[[MASK]] of [32, 16]
// CHECK:           scf.if %[[SOME]]
// CHECK:             rtile.visible
// CHECK-NOT:           blocks
// CHECK:           } else {
// CHECK-NEXT:        scf.yield %[[M]], %[[L]], %[[ACC]]
func.func @blocks(%q: tensor<1x64x2x16xf32>, %m: tensor<2x4xi1>) -> tensor<1x64x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      block_mask(%m) of [32, 16]
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<2x4xi1>) -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x16xf32>
}

// -----

// Where a tile may reach over several blocks, the mask asks for each element;
// sizes that nobody knows are checked.

// CHECK-LABEL: rplan.func @split_blocks(
// CHECK:         rplan.require le %{{.+}}, %{{.+}}, "expected a block mask with a block for every ordinal on axis 0" rule "B6"
// CHECK:         rplan.require le %{{.+}}, %{{.+}}, "expected a block mask with a block for every ordinal on axis 1" rule "B6"
// CHECK-LABEL: rtile.func @split_blocks_attention0_branch0(
// CHECK:         rtile.any_block {{.+}} of [24, 16]
// CHECK:         rtile.visible {{.+}} blocks(%{{.+}} : memref<?x?xi1, strided<[?, 1]>>) of [24, 16]
func.func @split_blocks(%q: tensor<1x?x2x16xf32>, %m: tensor<?x?xi1>) -> tensor<1x?x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      block_mask(%m) of [24, 16]
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<?x?xi1>) -> (tensor<1x?x2x16xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x16xf32>
}

// -----

// Causality speaks of positions, which a pattern order (O2) scatters: an index,
// with the order, and masks along with it.

// CHECK-LABEL: rplan.func @curve(
// CHECK:         rplan.tile_index {{.+}} rate = 1 order(#rlayout.order<hilbert, grid = [8, 8]>) causal : memref<?xi64>
// CHECK-LABEL: rtile.func @curve_attention0_branch0(
// CHECK:         rtile.list
// CHECK:         rtile.any_block
// CHECK:         rtile.visible
func.func @curve(%q: tensor<1x64x2x16xf32>, %m: tensor<4x4xi1>) -> tensor<1x64x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] causal
      pattern_order = <hilbert, grid = [8, 8]> block_mask(%m) of [16, 16]
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<4x4xi1>) -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x16xf32>
}

// -----

// An index has lists for the residues that heads have, however many the rate is.

// CHECK-LABEL: rplan.func @wide(
// CHECK:         rplan.tile_index {{.+}} w = 268435456 rate = 268435456 residues = [0, 2] grid = [8, 8]
// CHECK-LABEL: rtile.func @wide_attention0_branch0(
// CHECK:         %[[RESIDUE:.+]] = arith.remui %{{.+}}, %c268435456
// CHECK:         arith.muli %[[RESIDUE]], %{{.+}}
// CHECK:         rtile.list
func.func @wide(%q: tensor<1x?x2x16xf32>) -> tensor<1x?x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 268435456, r = 268435456>]
      grid_window = <grid = [8, 8], reach = [1, 1]>
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> (tensor<1x?x2x16xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x16xf32>
}

// -----

// Heads 2 and 3 have the residues 2 and 0, which are the places 0 and 1 of lists;
// heads of one residue have its lists alone.

// CHECK-LABEL: rplan.func @some_heads(
// CHECK-DAG:     rplan.tile_index {{.+}} rate = 3 residues = [2, 2] order
// CHECK-DAG:     rplan.tile_index {{.+}} rate = 4 residues = [1, 1] order
// CHECK-DAG:     rplan.tile_index {{.+}} rate = 5 residues = [2, 2] order
// CHECK-LABEL: rtile.func @some_heads_attention0_branch2(
// CHECK:         %[[RESIDUE:.+]] = arith.remui %{{.+}}, %c5
// CHECK:         %[[PLACE:.+]] = arith.addi %[[RESIDUE]], %c-2
// CHECK:         arith.muli %[[PLACE]], %{{.+}}
// CHECK:         rtile.list
// CHECK-LABEL: rtile.func @some_heads_attention0_branch1(
// CHECK-SAME:    grid(%[[TILE:[a-z0-9]+]]: index
// CHECK:         rtile.list %{{.+}}[%[[TILE]]]
// CHECK-LABEL: rtile.func @some_heads_attention0_branch0(
// CHECK:         %[[RESIDUE:.+]] = arith.remui %{{.+}}, %c3
// CHECK:         %[[TURNED:.+]] = arith.addi %[[RESIDUE]], %c1
// CHECK:         %[[PLACE:.+]] = arith.remui %[[TURNED]], %c3
// CHECK:         %[[FIRST:.+]] = arith.muli %[[PLACE]], %c2
// CHECK:         %[[LIST:.+]] = arith.addi %[[FIRST]], %{{.+}}
// CHECK:         rtile.list %{{.+}}[%[[LIST]]]
func.func @some_heads(%q: tensor<1x64x4x16xf32>) -> tensor<1x64x4x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = *, r = 3, heads = [2, 4]>,
                <w = *, r = 4, offset = constant<5>>,
                <w = *, r = 5, heads = [2, 4]>] causal
      pattern_order = <hilbert, grid = [8, 8]>
      tilings = [#ringlet.tiling<query = 16, key = 16>,
                 #ringlet.tiling<query = 16, key = 16>,
                 #ringlet.tiling<query = 8, key = 16>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return %o : tensor<1x64x4x16xf32>
}

// -----

// Where sequences have positions of their own, views of queries end with the
// mask; keys are all ordinals of the curve, however few of them have a row.

// CHECK-LABEL: rtile.func @own_positions_attention0_branch0(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C8:.+]] = arith.constant 8 : index
// CHECK:         %[[BLOCKS:.+]] = memref.dim
// CHECK:         %[[END:.+]] = arith.minsi %{{.+}}, %[[C8]]
// CHECK:         rtile.view %{{.+}} within(%[[C0]], %[[END]])
func.func @own_positions(%q: tensor<1x5x1x1xf32>, %k: tensor<1x5x1x1xf32>, %v: tensor<1x5x1x5xf32>, %p: tensor<1xi64>, %m: tensor<?x?xi1>)
    -> tensor<1x5x1x5xf32> {
  %o, %l = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
      pattern_order = <snake, grid = [2, 4]> q_offset(%p)
      block_mask(%m) of [1, 1] tilings = [#ringlet.tiling<query = 4, key = 4>]
      : (tensor<1x5x1x1xf32>, tensor<1x5x1x1xf32>, tensor<1x5x1x5xf32>, tensor<1xi64>, tensor<?x?xi1>)
      -> (tensor<1x5x1x5xf32>, tensor<1x1x5xf32>)
  return %o : tensor<1x5x1x5xf32>
}
