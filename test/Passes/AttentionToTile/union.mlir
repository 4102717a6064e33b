//===- union.mlir - One kernel for all branches ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile --canonicalize --cse \
// RUN:   | FileCheck %s

// One launch and no workspace: points are tiles of each of 4 residues in
// segments of 32.

// CHECK-LABEL: rplan.func @longnet(
// CHECK-NOT:     rplan.workspace
// CHECK:         %[[POINTS:.+]] = arith.muli %{{.+}}, %c4
// CHECK:         rplan.launch @longnet_attention0_union grid(%[[POINTS]], %{{.+}}, %c2, %c1)
// CHECK-NOT:     rplan.launch
// CHECK:         rplan.return
// CHECK-LABEL: rtile.func @longnet_attention0_union(
// CHECK-SAME:    %[[Q:[A-Za-z0-9]+]]: memref<1x?x2x16xf32
// CHECK-SAME:    %[[K:[A-Za-z0-9]+]]: memref<1x?x2x16xf32
// CHECK-SAME:    grid(%[[POINT:[a-z0-9]+]]: index
// CHECK:         %[[PLACE:.+]] = arith.remui %[[POINT]], %c4
// CHECK:         arith.divui %[[POINT]], %c4
// CHECK:         arith.index_cast %[[PLACE]]
// CHECK:         %[[RESIDUE:.+]] = arith.index_cast %{{.+}} : i32 to index
// CHECK:         rtile.view %[[Q]][{{.+}} residue(%[[RESIDUE]])
// CHECK-SAME:      w = 32, rate = 4>

// One list of key tiles: the segment and residue of each follow from its place.
// Keys of m branches have weights that are m times as large. An atom of 8 rows
// fills no key tile, so each step has a mask.

// CHECK:         scf.for %[[AT:.+]] = %c0 to %{{.+}} step %c1 iter_args(%[[M:[a-z0-9]+]] =
// CHECK:           arith.index_cast %[[AT]] : index to i32
// CHECK:           %[[SHIFT:.+]] = arith.select {{.+}} : tensor<8xf32>
// CHECK:           %[[KEYS:.+]] = rtile.view %[[K]][{{.+}} segment(%{{.+}}) residue(%{{.+}}) : {{.+}} w = 32, rate = 4>
// CHECK:           %[[SEEN:.+]] = rtile.visible %{{.+}}, %[[KEYS]][%c0]
// CHECK:           arith.select %[[SEEN]]
// CHECK:           %[[MAX:.+]] = arith.maximumf %[[M]]
// CHECK:           arith.subf %[[MAX]], %{{.+}} : tensor<8xf32>
// CHECK:         {rtile.unordered}
// CHECK:         rtile.store
func.func @longnet(%q: tensor<1x?x2x16xf32>) -> tensor<1x?x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 32, r = 1>, <w = 64, r = 2>, <w = 128, r = 4>]
      combine = union tilings = [#ringlet.tiling<query = 8, key = 16>]
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> (tensor<1x?x2x16xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x16xf32>
}

// -----

// Atoms of 16 rows are whole tiles, but in the last segment: only there are
// masks.

// CHECK-LABEL: rtile.func @whole_attention0_union(
// CHECK:         %[[STATE:.+]]:3 = scf.for %{{.+}} = %c0 to %[[WHOLE:.+]] step %c1
// CHECK-NOT:       rtile.visible
// CHECK:         {rtile.unordered}
// CHECK:         scf.for %[[AT:.+]] = %[[WHOLE]] to %{{.+}} step %c1 iter_args(%{{.+}} = %[[STATE]]#0,
// CHECK:           arith.cmpi slt, %[[AT]], %[[WHOLE]] : index
// CHECK:           rtile.visible
// CHECK:         {rtile.unordered}
func.func @whole(%q: tensor<1x?x2x16xf32>) -> tensor<1x?x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 32, r = 1>, <w = 64, r = 2>]
      combine = union tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> (tensor<1x?x2x16xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x16xf32>
}

// -----

// Segments of 12 and 18 have those of 6 in common, dilations of 2 and 3 residues
// modulo 6. Heads outside of a branch take no part, and sinks join once. In a
// window an atom has a run of key tiles.

// CHECK-LABEL: rplan.func @crossed(
// CHECK:         rplan.launch @crossed_sinks0
// CHECK-NEXT:    rplan.launch @crossed_attention0_union
// CHECK-NEXT:    rplan.return
// CHECK-LABEL: rtile.func @crossed_attention0_union(
// CHECK:         w = 6, rate = 6>
// CHECK:         arith.cmpi {{.+}} %{{.+}}, %c1 : index
// CHECK:         scf.for
// CHECK:           rtile.run
// CHECK:           scf.for
func.func @crossed(%q: tensor<1x60x4x16xf32>, %s: tensor<4xf32>) -> (tensor<1x60x4x16xf32>, tensor<1x4x60xf32>) {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 12, r = 2, heads = [1, 3]>, <w = 18, r = 3>] causal window = [5, -1]
      sink(%s) combine = union tilings = [#ringlet.tiling<query = 8, key = 16>]
      : (tensor<1x60x4x16xf32>, tensor<1x60x4x16xf32>, tensor<1x60x4x16xf32>, tensor<4xf32>) -> (tensor<1x60x4x16xf32>, tensor<1x4x60xf32>)
  return %o, %l : tensor<1x60x4x16xf32>, tensor<1x4x60xf32>
}

// -----

// Causal queries see the tiles in front of theirs without a mask, of segments
// before their own all and of that as many as stand in front, and one beside
// theirs through a mask. The last points of the grid are the longest: residues
// are named backwards.

// CHECK-LABEL: rtile.func @causal_attention0_union(
// CHECK:         %[[PLACE:.+]] = arith.remui %{{.+}}, %c2 : index
// CHECK:         %[[NARROW:.+]] = arith.index_cast %[[PLACE]] : index to i32
// CHECK:         arith.subi %c1_i32, %[[NARROW]] : i32
// CHECK:         %[[STATE:.+]]:3 = scf.for %{{.+}} = %c0 to %[[WHOLE:.+]] step %c1
// CHECK-NOT:       rtile.visible
// CHECK:         {rtile.unordered}
// CHECK:         scf.for %[[AT:.+]] = %[[WHOLE]] to %{{.+}} step %c1 iter_args(%{{.+}} = %[[STATE]]#0,
// CHECK:           arith.cmpi slt, %[[AT]], %[[WHOLE]] : index
// CHECK:           rtile.visible {{.+}} causal
// CHECK:         {rtile.unordered}
func.func @causal(%q: tensor<1x?x2x16xf32>) -> tensor<1x?x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 32, r = 1>, <w = 64, r = 2>] causal
      combine = union tilings = [#ringlet.tiling<query = 4, key = 4>]
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> (tensor<1x?x2x16xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x16xf32>
}

// -----

// Branches of different heads may be added up: the lse of a row is that of the
// branch of its head.

// CHECK-LABEL: rplan.func @grouped(
// CHECK:         rplan.launch @grouped_fill_lse0
// CHECK-NEXT:    rplan.launch @grouped_attention0_union
// CHECK-NEXT:    rplan.return
// CHECK-LABEL: rtile.func @grouped_attention0_union(
// CHECK-SAME:    %[[LSE:[a-z0-9]+]]: memref<2x1x4x60xf32
// CHECK-SAME:    %[[HEAD:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index)
// CHECK:         %[[BEHIND:.+]] = arith.cmpi sge, %[[HEAD]], %c2 : index
// CHECK:         %[[BEFORE:.+]] = arith.cmpi slt, %[[HEAD]], %c4 : index
// CHECK:         %[[HAS:.+]] = arith.andi %[[BEHIND]], %[[BEFORE]] : i1
// CHECK:         %[[BRANCH:.+]] = arith.select %[[HAS]], %c1, %c0 : index
// CHECK:         rtile.view %[[LSE]][%[[BRANCH]],
func.func @grouped(%q: tensor<1x60x4x16xf32>) -> (tensor<1x60x4x16xf32>, tensor<2x1x4x60xf32>) {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 12, r = 1, heads = [0, 2]>, <w = 24, r = 2, heads = [2, 4]>]
      mix = sum combine = union tilings = [#ringlet.tiling<query = 8, key = 16>]
      : (tensor<1x60x4x16xf32>, tensor<1x60x4x16xf32>, tensor<1x60x4x16xf32>) -> (tensor<1x60x4x16xf32>, tensor<2x1x4x60xf32>)
  return %o, %l : tensor<1x60x4x16xf32>, tensor<2x1x4x60xf32>
}
