//===- lengths.mlir - Sequences with lengths of their own ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile | FileCheck %s

// A kernel reads the lengths of its sequence, cut to the padded one (S2), and
// puts the last query on the last key that there is (S1): so its segments are
// counted from that position on, and the grid has one more than 64 rows fill.
// Views of both sides end with the lengths.

// CHECK-LABEL: rplan.func @padded(
// CHECK-SAME:    %{{.+}}, %{{.+}}, %[[QL:[a-z0-9]+]]: memref<2xi64, strided<[1]>>, %[[KL:[a-z0-9]+]]: memref<2xi64, strided<[1]>>) outputs(%[[O:[a-z0-9]+]]: {{.+}}, %[[L:[a-z0-9]+]]: memref<2x3x64xf32
// CHECK:         rplan.launch @padded_attention0_branch0 grid(%c1{{.*}}, %[[SEGMENTS:.+]], %{{.+}}, %{{.+}}) args({{.+}}, %[[QL]], %[[KL]])
// CHECK:         rplan.launch @padded_fill_output_past0 {{.+}} args(%[[O]], %[[QL]])
// CHECK:         rplan.launch @padded_fill_lse_past0 {{.+}} args(%[[L]], %[[QL]])

// CHECK-LABEL: rtile.func @padded_attention0_branch0(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<2x64x3x16xf32, {{[^%]+}}, %[[K:[a-z0-9]+]]: memref<2x?x3x16xf32, {{[^%]+}}, %[[V:[a-z0-9]+]]: {{[^%]+}}, %[[OUT:[a-z0-9]+]]: {{[^%]+}}, %[[LSE:[a-z0-9]+]]: {{[^%]+}}, %[[QLS:[a-z0-9]+]]: memref<2xi64, strided<[1]>>, %[[KLS:[a-z0-9]+]]: memref<2xi64, strided<[1]>>)
// CHECK-SAME:    grid(%[[TILE:[a-z0-9]+]]: index, %[[SEGMENT:[a-z0-9]+]]: index, %[[HEAD:[a-z0-9]+]]: index, %[[BATCH:[a-z0-9]+]]: index)
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C64:.+]] = arith.constant 64 : index
// CHECK-DAG:     %[[C16:.+]] = arith.constant 16 : index
// CHECK:         %[[ROWS:.+]] = memref.dim %[[K]], %[[C1]]
// CHECK:         %[[E:.+]] = memref.load %[[QLS]][%[[BATCH]]]
// CHECK:         %[[R:.+]] = arith.index_cast %[[E]]
// CHECK:         %[[LOW:.+]] = arith.maxsi %[[R]], %[[C0]]
// CHECK:         %[[QLEN:.+]] = arith.minsi %[[LOW]], %[[C64]]
// CHECK:         %[[E:.+]] = memref.load %[[KLS]][%[[BATCH]]]
// CHECK:         %[[R:.+]] = arith.index_cast %[[E]]
// CHECK:         %[[LOW:.+]] = arith.maxsi %[[R]], %[[C0]]
// CHECK:         %[[KLEN:.+]] = arith.minsi %[[LOW]], %[[ROWS]]
// CHECK:         %[[OFFSET:.+]] = arith.subi %[[KLEN]], %[[QLEN]]
// CHECK:         %[[FIRST:.+]] = arith.floordivsi %[[OFFSET]], %[[C16]]
// CHECK:         %[[S:.+]] = arith.addi %[[SEGMENT]], %[[FIRST]]
// CHECK:         rtile.view %[[Q]][%[[BATCH]], *, %[[HEAD]], *] origin(%[[OFFSET]]) segment(%[[S]]) within(%[[C0]], %[[QLEN]])
// CHECK:         rtile.view %[[K]][%[[BATCH]], *, %[[HEAD]], *] segment(%[[S]]) within(%[[C0]], %[[KLEN]])
// CHECK:         rtile.view %[[V]][%[[BATCH]], *, %[[HEAD]], *] segment(%[[S]]) within(%[[C0]], %[[KLEN]])
// CHECK:         rtile.view %[[OUT]][%[[BATCH]], *, %[[HEAD]], *] origin(%[[OFFSET]]) segment(%[[S]]) within(%[[C0]], %[[QLEN]])
// CHECK:         rtile.view %[[LSE]][%[[BATCH]], %[[HEAD]], *] origin(%[[OFFSET]]) segment(%[[S]]) within(%[[C0]], %[[QLEN]])

// What lies past a length is written by kernels of its own: 0 and -inf. A point is
// for 32 tiles, and begins with the first one that has such a row.

// CHECK-LABEL: rtile.func @padded_fill_output_past0(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: {{.+}}, %[[LIST:[a-z0-9]+]]: memref<2xi64, strided<[1]>>) grid(%{{.+}}: index, %[[HEAD:.+]]: index, %[[BATCH:.+]]: index)
// CHECK-DAG:     %[[C64:.+]] = arith.constant 64 : index
// CHECK:         memref.load %[[LIST]][%[[BATCH]]]
// CHECK:         %[[LEN:.+]] = arith.minsi %{{.+}}, %[[C64]]
// CHECK:         %[[PAST:.+]] = rtile.view %[[X]][%[[BATCH]], *, %[[HEAD]], *] within(%[[LEN]], %[[C64]])
// CHECK:         %[[ZERO:.+]] = arith.constant dense<0.000000e+00>
// CHECK:         scf.for %[[ROW:.+]] = %{{.+}} to %{{.+}} step
// CHECK:           rtile.store %[[ZERO]], %[[PAST]][%[[ROW]], %{{.+}}]

// CHECK-LABEL: rtile.func @padded_fill_lse_past0(
// CHECK:         %[[PAST:.+]] = rtile.view {{.+}} within(%{{.+}}, %{{.+}})
// CHECK:         %[[NONE:.+]] = arith.constant dense<0xFF800000>
// CHECK:         rtile.store %[[NONE]], %[[PAST]]
func.func @padded(%q: tensor<2x64x3x16xf32>, %k: tensor<2x?x3x16xf32>, %ql: tensor<2xi64>, %kl: tensor<2xi64>)
    -> (tensor<2x64x3x16xf32>, tensor<2x3x64xf32>) {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 16, r = 1>] causal lengths(%ql, %kl)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<2x64x3x16xf32>, tensor<2x?x3x16xf32>, tensor<2x?x3x16xf32>, tensor<2xi64>, tensor<2xi64>)
      -> (tensor<2x64x3x16xf32>, tensor<2x3x64xf32>)
  return %o, %l : tensor<2x64x3x16xf32>, tensor<2x3x64xf32>
}

// -----

// With a q_offset, lengths move no position: 0 needs no origin, and the grid
// has the segments of all rows.

// CHECK-LABEL: rtile.func @offset_attention0_branch0(
// CHECK-NOT:     arith.subi
// CHECK-NOT:     origin(
// CHECK:         rtile.return
func.func @offset(%q: tensor<2x64x3x16xf32>, %n: tensor<2xi64>) -> tensor<2x64x3x16xf32> {
  %zero = arith.constant dense<0> : tensor<i64>
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 16, r = 1>] q_offset(%zero) lengths(%n, %n)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<2x64x3x16xf32>, tensor<2x64x3x16xf32>, tensor<2x64x3x16xf32>, tensor<i64>, tensor<2xi64>, tensor<2xi64>)
      -> (tensor<2x64x3x16xf32>, tensor<2x3x64xf32>)
  return %o : tensor<2x64x3x16xf32>
}

// -----

// Under a sum, lse has an axis of branches in front of that of sequences.

// CHECK-LABEL: rtile.func @sum_fill_lse_past0(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: memref<2x3x2x64xf32, {{.+}}>, %[[LIST:[a-z0-9]+]]: memref<3xi64, strided<[1]>>) grid(%{{.+}}: index, %[[HEAD:.+]]: index, %[[BATCH:.+]]: index, %[[BRANCH:.+]]: index)
// CHECK:         memref.load %[[LIST]][%[[BATCH]]]
// CHECK:         rtile.view %[[X]][%[[BRANCH]], %[[BATCH]], %[[HEAD]], *] within
func.func @sum(%q: tensor<3x64x2x16xf32>, %n: tensor<3xi64>) -> tensor<2x3x2x64xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 16, r = 1>, <w = *, r = 2>] lengths(%n, %n) mix = sum
      tilings = [#ringlet.tiling<query = 16, key = 16>, #ringlet.tiling<query = 16, key = 16>]
      : (tensor<3x64x2x16xf32>, tensor<3x64x2x16xf32>, tensor<3x64x2x16xf32>, tensor<3xi64>, tensor<3xi64>)
      -> (tensor<3x64x2x16xf32>, tensor<2x3x2x64xf32>)
  return %l : tensor<2x3x2x64xf32>
}

// -----

// Under a grid window or a block mask, one q_offset keeps rows at the positions
// that the host knows: lists of key tiles are those of whole sequences, and what
// lies past a length is hidden in each tile.

// CHECK-LABEL: rplan.func @masked(
// CHECK:         %[[INDEX:.+]] = rplan.tile_index
// CHECK:         rplan.launch @masked_attention0_branch0 {{.+}} args({{.+}}, %[[INDEX]]
// CHECK-LABEL: rtile.func @masked_attention0_branch0(
// CHECK:         %[[LENGTH:.+]] = arith.minsi
// CHECK:         %[[Q:.+]] = rtile.view {{.+}} within(
// CHECK:         %[[K:.+]] = rtile.view {{.+}} within(
// CHECK:         %[[B:.+]], %{{.+}}, %[[E:.+]] = rtile.list %{{.+}}, %[[Q]][%{{.+}}], %[[K]] grid
// CHECK:         scf.for %{{.+}} = %[[B]] to %[[E]]
// CHECK:           rtile.any_block %[[Q]][%{{.+}}], %[[K]]
func.func @masked(%q: tensor<2x64x3x16xf32>, %n: tensor<2xi64>, %m: tensor<4x4xi1>) -> tensor<2x64x3x16xf32> {
  %zero = arith.constant dense<0> : tensor<i64>
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] q_offset(%zero) lengths(%n, %n)
      grid_window = <grid = [8, 8], reach = [1, 1]> block_mask(%m) of [16, 16]
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<2x64x3x16xf32>, tensor<2x64x3x16xf32>, tensor<2x64x3x16xf32>, tensor<i64>, tensor<2xi64>, tensor<2xi64>, tensor<4x4xi1>)
      -> (tensor<2x64x3x16xf32>, tensor<2x3x64xf32>)
  return %o : tensor<2x64x3x16xf32>
}

// -----

// A memory order is that of all slots of a sequence, and lengths count tokens:
// views know the numbers of tokens that there are, whether a table says where they
// lie or, for residues that lie together, the order itself. The rows of tokens past
// a length are found by the same table.

// CHECK-LABEL: rplan.func @ordered(
// CHECK:         %[[SLOTS:.+]] = rplan.order_table #rlayout.order<hilbert, grid = [8, 8]> length(%{{.+}}) inverse
// CHECK-NOT:     rplan.order_table
// CHECK:         rplan.launch @ordered_attention0_branch0 {{.+}}, %[[SLOTS]])
// CHECK:         rplan.launch @ordered_fill_output_past0 {{.+}}, %[[SLOTS]])
// CHECK:         rplan.launch @ordered_fill_lse_past0 {{.+}}, %[[SLOTS]])
// CHECK-LABEL: rtile.func @ordered_attention0_branch0(
// CHECK:         %[[QLEN:.+]] = arith.minsi
// CHECK:         %[[KLEN:.+]] = arith.minsi
// CHECK:         %[[OFFSET:.+]] = arith.subi %[[KLEN]], %[[QLEN]]
// CHECK:         rtile.view {{.+}} origin(%[[OFFSET]]) {{.+}} rows(%{{.+}}) within(%{{.+}}, %[[QLEN]])
// CHECK:         rtile.view {{.+}} order(#rlayout.order<residue<4>, chunk = 16>) within(%{{.+}}, %[[KLEN]])
// CHECK-LABEL: rtile.func @ordered_fill_output_past0(
// CHECK:         %[[LEN:.+]] = arith.minsi
// CHECK:         rtile.view {{.+}} rows(%{{.+}}) within(%[[LEN]], %{{.+}})
// CHECK-LABEL: rtile.func @ordered_fill_lse_past0(
// CHECK:         %[[LEN:.+]] = arith.minsi
// CHECK:         rtile.view {{.+}} rows(%{{.+}}) within(%[[LEN]], %{{.+}})
#q = #rlayout.layout<order = <hilbert, grid = [8, 8]>>
#l = #rlayout.layout<axis = 2, order = <hilbert, grid = [8, 8]>>
#k = #rlayout.layout<order = <residue<4>, chunk = 16>>
func.func @ordered(%q: tensor<2x64x3x16xf32, #q>, %k: tensor<2x64x3x16xf32, #k>, %ql: tensor<2xi64>, %kl: tensor<2xi64>)
    -> (tensor<2x64x3x16xf32, #q>, tensor<2x3x64xf32, #l>) {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 16, r = 4>] lengths(%ql, %kl)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<2x64x3x16xf32, #q>, tensor<2x64x3x16xf32, #k>, tensor<2x64x3x16xf32, #k>, tensor<2xi64>, tensor<2xi64>)
      -> (tensor<2x64x3x16xf32, #q>, tensor<2x3x64xf32, #l>)
  return %o, %l : tensor<2x64x3x16xf32, #q>, tensor<2x3x64xf32, #l>
}

// -----

// Where lengths move the positions of queries, these begin anywhere in a segment,
// and an order that restarts with segments leaves them at no equal distances.

// CHECK-LABEL: rtile.func @moved_attention0_branch0(
// CHECK:         rtile.view {{.+}} origin(%{{.+}}) segment(%{{.+}}) residue(%{{.+}}) rows(
// CHECK:         rtile.view {{.+}} order(
#x = #rlayout.layout<order = <residue<4>, chunk = 16>>
#l = #rlayout.layout<axis = 2, order = <residue<4>, chunk = 16>>
func.func @moved(%q: tensor<2x64x3x16xf32, #x>, %ql: tensor<2xi64>, %kl: tensor<2xi64>) -> tensor<2x64x3x16xf32, #x> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 16, r = 4>] lengths(%ql, %kl)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<2x64x3x16xf32, #x>, tensor<2x64x3x16xf32, #x>, tensor<2x64x3x16xf32, #x>, tensor<2xi64>, tensor<2xi64>)
      -> (tensor<2x64x3x16xf32, #x>, tensor<2x3x64xf32, #l>)
  return %o : tensor<2x64x3x16xf32, #x>
}

// -----

// So does a q_offset for each sequence; one that is 0 for all does not.

// CHECK-LABEL: rtile.func @offsets_attention0_branch0(
// CHECK:         rtile.view {{.+}} origin(%{{.+}}) segment(%{{.+}}) residue(%{{.+}}) rows(
// CHECK-LABEL: rtile.func @zero_attention0_branch0(
// CHECK-NOT:     rows(
// CHECK:         rtile.view {{.+}} order(#rlayout.order<residue<4>, chunk = 16>) within(
// CHECK:         rtile.return
#x = #rlayout.layout<order = <residue<4>, chunk = 16>>
#l = #rlayout.layout<axis = 2, order = <residue<4>, chunk = 16>>
func.func @offsets(%q: tensor<2x64x3x16xf32, #x>, %p: tensor<2xi64>) -> tensor<2x64x3x16xf32, #x> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 16, r = 4>] q_offset(%p)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<2x64x3x16xf32, #x>, tensor<2x64x3x16xf32, #x>, tensor<2x64x3x16xf32, #x>, tensor<2xi64>)
      -> (tensor<2x64x3x16xf32, #x>, tensor<2x3x64xf32, #l>)
  return %o : tensor<2x64x3x16xf32, #x>
}
func.func @zero(%q: tensor<2x64x3x16xf32, #x>, %n: tensor<2xi64>) -> tensor<2x64x3x16xf32, #x> {
  %zero = arith.constant dense<0> : tensor<i64>
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 16, r = 4>] q_offset(%zero) lengths(%n, %n)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<2x64x3x16xf32, #x>, tensor<2x64x3x16xf32, #x>, tensor<2x64x3x16xf32, #x>, tensor<i64>, tensor<2xi64>, tensor<2xi64>)
      -> (tensor<2x64x3x16xf32, #x>, tensor<2x3x64xf32, #l>)
  return %o : tensor<2x64x3x16xf32, #x>
}
