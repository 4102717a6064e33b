//===- orders.mlir - Attention along orders ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile --canonicalize | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile --remarks-filter='ringlet-.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#hilbert = #rlayout.layout<order = #rlayout.order<hilbert, grid = [8, 8]>>

// A memory order (O1) that follows no stride: a table says where keys lie. The
// length is that of the grid, and queries stay as they are.

// REMARK: [Passed] RowOrder {{.+}}"branch 0: query rows by ordinal; key rows from a table"

// CHECK-LABEL: rplan.func @keys_by_table(
// CHECK-DAG:     %[[C64:.+]] = arith.constant 64 : index
// CHECK:         rplan.require eq %{{.+}}, %[[C64]], "expected a length of the volume of the order" rule "O1"
// CHECK:         %[[TABLE:.+]] = rplan.order_table #rlayout.order<hilbert, grid = [8, 8]> length(%[[C64]]) inverse
// CHECK:         rplan.launch @keys_by_table_attention0_branch0 {{.+}} args({{.+}}, %[[TABLE]])
// CHECK-LABEL: rtile.func @keys_by_table_attention0_branch0(
// CHECK:         %[[Q:.+]] = rtile.view %{{.+}} to !rtile.view<16x16xf32, w = 32, rate = 2>
// CHECK:         %[[K:.+]] = rtile.view %{{.+}} segment(%{{.+}}) residue(%{{.+}}) rows(%[[ROWS:.+]] : memref<?xi64>) : {{.+}} to !rtile.view<16x16xf32, w = 32, rate = 2, indexed>
// CHECK:         rtile.view %{{.+}} rows(%[[ROWS]] : memref<?xi64>)
// CHECK:         rtile.run %[[Q]][%{{.+}}], %[[K]] causal
func.func @keys_by_table(%q: tensor<1x?x2x16xf32>, %k: tensor<1x?x2x16xf32, #hilbert>) -> tensor<1x?x2x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 32, r = 2>] causal tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32, #hilbert>, tensor<1x?x2x16xf32, #hilbert>) -> (tensor<1x?x2x16xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x16xf32>
}

// -----

#residue = #rlayout.layout<order = #rlayout.order<residue<2>>>
#residue_lse = #rlayout.layout<order = #rlayout.order<residue<2>>, axis = 2>

// Rows of one residue at equal distances need no table, in the branch whose
// dilation is a multiple of the order's; the other one has tables.

// REMARK: "branch 0: query rows at equal distances in #rlayout.order<residue<2>>; key rows at equal distances in #rlayout.order<residue<2>>"
// REMARK: "branch 1: query rows from a table; key rows from a table"

// CHECK-LABEL: rplan.func @residues(
// CHECK-COUNT-2: rplan.order_table #rlayout.order<residue<2>> length(%{{.+}}) inverse
// CHECK-NOT:     rplan.order_table
// CHECK-LABEL: rtile.func @residues_attention0_branch0(
// CHECK-COUNT-5: order(#rlayout.order<residue<2>>)
// CHECK-NOT:     indexed
// CHECK-LABEL: rtile.func @residues_attention0_branch1(
// CHECK-NOT:     order(
// CHECK:         rows(%{{.+}} : memref<?xi64>) : {{.+}} w = 32, indexed>
func.func @residues(%q: tensor<1x?x2x16xf32, #residue>) -> (tensor<1x?x2x16xf32, #residue>, tensor<1x2x?xf32, #residue_lse>) {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 4>, <w = 32, r = 1>]
      tilings = [#ringlet.tiling<query = 16, key = 16>, #ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x?x2x16xf32, #residue>, tensor<1x?x2x16xf32, #residue>, tensor<1x?x2x16xf32, #residue>)
      -> (tensor<1x?x2x16xf32, #residue>, tensor<1x2x?xf32, #residue_lse>)
  return %o, %l : tensor<1x?x2x16xf32, #residue>, tensor<1x2x?xf32, #residue_lse>
}

// -----

#line = #rlayout.layout<order = #rlayout.order<hilbert, grid = [1, 64]>>
#line_lse = #rlayout.layout<order = #rlayout.order<hilbert, grid = [1, 64]>, axis = 2>

// Every curve walks a line straight: tokens lie by ordinal, as in linear order.

// CHECK-LABEL: rplan.func @line(
// CHECK-NOT:     rplan.order_table
// CHECK-LABEL: rtile.func @line_attention0_branch0(
// CHECK-NOT:     order(
// CHECK-NOT:     indexed
// CHECK:         rtile.return
func.func @line(%q: tensor<1x64x2x16xf32, #line>) -> (tensor<1x64x2x16xf32, #line>, tensor<1x2x64xf32, #line_lse>) {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 32, r = 2>]
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32, #line>, tensor<1x64x2x16xf32, #line>, tensor<1x64x2x16xf32, #line>)
      -> (tensor<1x64x2x16xf32, #line>, tensor<1x2x64xf32, #line_lse>)
  return %o, %l : tensor<1x64x2x16xf32, #line>, tensor<1x2x64xf32, #line_lse>
}

// -----

// A pattern order (O2): ordinals count along the curve, from the first query's
// position where that is negative, and tables say where each of them is. The
// curve has to have room for all positions.

// REMARK: "branch 0: query rows from a table, their positions from a table; key rows from a table, their positions from a table"

// CHECK-LABEL: rplan.func @pattern(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C64:.+]] = arith.constant 64 : index
// CHECK:         %[[FIRST:.+]] = arith.minsi %[[OFFSET:.+]], %[[C0]]
// CHECK:         rplan.require le %{{.+}}, %[[OFFSET]], "expected a q_offset of at least -2^24 under a pattern order" rule "S1"
// CHECK:         rplan.require le %{{.+}}, %[[C64]], "expected a pattern order whose volume exceeds every position" rule "O2"
// CHECK:         rplan.require le %{{.+}}, %[[C64]], "expected a pattern order whose volume exceeds every position" rule "O2"
// CHECK-DAG:     %[[QP:.+]] = rplan.ordinal_table #rlayout.order<hilbert, grid = [8, 8]> first(%[[FIRST]]) : memref<?xi64>
// CHECK-DAG:     %[[QR:.+]] = rplan.ordinal_table #rlayout.order<hilbert, grid = [8, 8]> first(%[[FIRST]]) rows(%{{.+}} from %[[OFFSET]]) : memref<?xi64>
// CHECK-DAG:     %[[KP:.+]] = rplan.ordinal_table #rlayout.order<hilbert, grid = [8, 8]> first(%[[C0]]) : memref<?xi64>
// CHECK-LABEL: rtile.func @pattern_attention0_branch0(
// CHECK:         %[[Q:.+]] = rtile.view %{{.+}} origin(%{{.+}}) segment(%{{.+}}) rows(%{{.+}}) positions(%{{.+}})
// CHECK:         %[[K:.+]] = rtile.view %{{.+}} segment(%{{.+}}) rows(%[[ROWS:.+]] : memref<?xi64>) positions(%[[ROWS]] : memref<?xi64>)
// CHECK:         rtile.list %{{.+}}[%{{.+}}], %[[Q]][%{{.+}}], %[[K]] causal
func.func @pattern(%q: tensor<1x?x2x16xf32>, %k: tensor<1x?x2x16xf32>) -> tensor<1x?x2x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 16, r = 1>] causal pattern_order = <hilbert, grid = [8, 8]>
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> (tensor<1x?x2x16xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x16xf32>
}

// -----

#hilbert = #rlayout.layout<order = #rlayout.order<hilbert, grid = [8, 8]>>

// Tokens that lie in the pattern's own order: rows are where their ordinals are,
// and without causality or window nobody asks for positions.

// REMARK-NOT: RowOrder

// CHECK-LABEL: rplan.func @contiguous(
// CHECK-NOT:     table
// CHECK-LABEL: rtile.func @contiguous_attention0_branch0(
// CHECK-NOT:     rows(
// CHECK-NOT:     positions(
// CHECK:         rtile.return
func.func @contiguous(%q: tensor<1x?x2x16xf32, #hilbert>) -> tensor<1x?x2x16xf32, #hilbert> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 16, r = 1>] pattern_order = <hilbert, grid = [8, 8]>
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x?x2x16xf32, #hilbert>, tensor<1x?x2x16xf32, #hilbert>, tensor<1x?x2x16xf32, #hilbert>)
      -> (tensor<1x?x2x16xf32, #hilbert>, tensor<1x2x?xf32, #rlayout.layout<order = #rlayout.order<hilbert, grid = [8, 8]>, axis = 2>>)
  return %o : tensor<1x?x2x16xf32, #hilbert>
}

// -----

#hilbert = #rlayout.layout<order = #rlayout.order<hilbert, grid = [8, 8]>>

// With causality, rows are still where their ordinals are; positions come from a
// table.

// REMARK: RowOrder {{.+}}"branch 0: query rows by ordinal, their positions from a table; key rows by ordinal, their positions from a table"

// CHECK-LABEL: rtile.func @contiguous_causal_attention0_branch0(
// CHECK-NOT:     rows(
// CHECK:         rtile.view %{{.+}} positions(%[[TABLE:.+]] : memref<?xi64>)
// CHECK-NOT:     rows(
// CHECK:         rtile.return
func.func @contiguous_causal(%q: tensor<1x64x2x16xf32, #hilbert>) -> tensor<1x64x2x16xf32, #hilbert> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 16, r = 1>] causal pattern_order = <hilbert, grid = [8, 8]>
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32, #hilbert>, tensor<1x64x2x16xf32, #hilbert>, tensor<1x64x2x16xf32, #hilbert>)
      -> (tensor<1x64x2x16xf32, #hilbert>, tensor<1x2x64xf32, #rlayout.layout<order = #rlayout.order<hilbert, grid = [8, 8]>, axis = 2>>)
  return %o : tensor<1x64x2x16xf32, #hilbert>
}
