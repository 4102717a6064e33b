//===- sequence-rows.mlir - Tables of rows, made on the device ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile --canonicalize --cse \
// RUN:   | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile -o /dev/null --remark-format=emitRemark \
// RUN:   --remarks-filter='ringlet-.*' 2>&1 | FileCheck --check-prefix=REMARK %s

// Where sequences begin and end only the device knows (S2), and an order restarts
// with each (O1, O2): kernels write the tables that the host makes otherwise.

// Along a pattern order each packed sequence has 64 ordinals, and one more for each
// row, which may lie before the grid. A kernel writes the row and the position of
// each, for queries and for keys, whose positions are those of the grid.

// REMARK: "branch 0: query rows from a table, their positions from a table; key rows from a table, their positions from a table"

// CHECK-LABEL: rplan.func @ordinals(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x2x16xf32, {{[^%]+}}, %[[K:[a-z0-9]+]]: {{[^%]+}}, %[[QS:[a-z0-9]+]]: memref<4xi64, strided<[1]>>, %[[KS:[a-z0-9]+]]: memref<4xi64, strided<[1]>>)
// CHECK-DAG:     %[[ALL:.+]] = arith.constant 192 : index
// CHECK-DAG:     %[[LONGEST:.+]] = arith.constant 1073741824 : index
// CHECK:         %[[ROWS:.+]] = rplan.size %[[Q]][0]
// CHECK:         rplan.require le %[[ROWS]], %[[LONGEST]], "expected at most 2^30 rows of sequences under a pattern order" rule "O2"
// CHECK:         %[[CURVE:.+]] = rplan.ordinal_table #rlayout.order<hilbert, grid = [8, 8]> first(%{{.+}}) : memref<?xi64>
// CHECK:         %[[ENTRIES:.+]] = arith.addi %[[ROWS]], %[[ALL]]
// CHECK:         %[[QR:.+]] = rplan.workspace(%[[ENTRIES]]) : memref<?xi64>
// CHECK:         %[[QP:.+]] = rplan.workspace(%[[ENTRIES]]) : memref<?xi64>
// CHECK:         rplan.launch @ordinals_attention0_query_rows grid({{.+}}) args(%[[QS]], %[[KS]], %[[ROWS]], %{{.+}}, %[[CURVE]], %[[QR]], %[[QP]])
// CHECK:         %[[KR:.+]] = rplan.workspace(%[[ALL]]) : memref<?xi64>
// CHECK:         %[[KP:.+]] = rplan.workspace(%[[ALL]]) : memref<?xi64>
// CHECK:         rplan.launch @ordinals_attention0_key_rows grid({{.+}}) args(%[[QS]], %[[KS]], %{{.+}}, %{{.+}}, %[[CURVE]], %[[KR]], %[[KP]])
// CHECK:         rplan.launch @ordinals_attention0_branch0 {{.+}} args({{.+}}, %[[QS]], %[[KS]], %[[QR]], %[[QP]], %[[KR]], %[[KP]], %{{.+}}, %{{.+}})

// An ordinal that no row of the sequence has gets no row: -1.

// CHECK-LABEL: rtile.func @ordinals_attention0_query_rows(
// CHECK-SAME:    %[[QS:[a-z0-9]+]]: memref<4xi64, strided<[1]>>, %[[KS:[a-z0-9]+]]: memref<4xi64, strided<[1]>>, %[[QSIZE:[a-z0-9]+]]: index, %[[KSIZE:[a-z0-9]+]]: index, %[[CURVE:[a-z0-9]+]]: memref<?xi64>, %[[ROWS:[a-z0-9]+]]: memref<?xi64>, %[[POSITIONS:[a-z0-9]+]]: memref<?xi64>)
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C64:.+]] = arith.constant 64 : index
// CHECK-DAG:     %[[NONE:.+]] = arith.constant -1 : index
// CHECK:         rtile.generate %[[ROWS]][%[[PLACE:.+]] = %{{.+}} to %{{.+}}]
// CHECK:           %[[FOUND:.+]]:2 = scf.for
// CHECK:             %[[MORE:.+]] = arith.muli %[[MIDDLE:.+]], %[[C64]]
// CHECK:             %[[BEFORE:.+]] = arith.addi %{{.+}}, %[[MORE]]
// CHECK:             arith.cmpi sle, %[[BEFORE]], %[[PLACE]]
// CHECK:           %[[LENGTH:.+]] = arith.subi %{{.+}}, %[[START:.+]] : index
// CHECK:           %[[OFFSET:.+]] = arith.subi %{{.+}}, %[[LENGTH]]
// CHECK:           %[[MORE:.+]] = arith.muli %[[FOUND]]#0, %[[C64]]
// CHECK:           %[[ENTRY:.+]] = arith.addi %[[START]], %[[MORE]]
// CHECK:           %[[FIRST:.+]] = arith.minsi %[[OFFSET]], %[[C0]]
// CHECK:           %[[NUMBER:.+]] = arith.subi %[[PLACE]], %[[ENTRY]]
// CHECK:           %[[ORDINAL:.+]] = arith.addi %[[NUMBER]], %[[FIRST]]
// CHECK:           memref.load %[[CURVE]]
// CHECK:           %[[POSITION:.+]] = arith.select %{{.+}}, %[[ORDINAL]], %{{.+}}
// CHECK:           %[[TOKEN:.+]] = arith.subi %[[POSITION]], %[[OFFSET]]
// CHECK:           %[[ROW:.+]] = arith.addi %[[TOKEN]], %[[START]]
// CHECK:           %[[RESULT:.+]] = arith.select %{{.+}}, %[[ROW]], %[[NONE]]
// CHECK:           %[[WORD:.+]] = arith.index_cast %[[RESULT]]
// CHECK:           rtile.yield %[[WORD]] : i64
// CHECK:         rtile.generate %[[POSITIONS]]

// The views of a sequence begin with its first entry. A tile of keys that no
// query sees, as most are whose ordinals have no rows, is not even loaded.

// CHECK-LABEL: rtile.func @ordinals_attention0_branch0(
// CHECK:         %[[Q:.+]] = rtile.view %{{.+}} origin(%[[ORIGIN:.+]]) segment(%[[S:.+]]) residue(%{{.+}}) rows(%{{.+}}) positions(%{{.+}}) within(%[[FIRST:.+]], %[[END:.+]]) : {{.+}} indexed>
// CHECK:         %[[K:.+]] = rtile.view %{{.+}} segment(%[[S]]) residue(%{{.+}}) rows(%{{.+}}) positions(%{{.+}}) within(
// CHECK:         rtile.run %[[Q]][%{{.+}}], %[[K]] causal
// CHECK:           %[[SEEN:.+]] = rtile.visible %[[Q]][%{{.+}}], %[[K]][%{{.+}}] causal
// CHECK:           %[[SOME:.+]] = rtile.any %[[SEEN]]
// CHECK:           scf.if %[[SOME]]
// CHECK:             rtile.load %[[K]]

func.func @ordinals(%q: tensor<?x2x16xf32>, %k: tensor<?x2x16xf32>, %qs: tensor<4xi64>, %ks: tensor<4xi64>) -> tensor<?x2x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 32, r = 2>] causal pattern_order = <hilbert, grid = [8, 8]> packed(%qs, %ks)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<4xi64>, tensor<4xi64>)
      -> (tensor<?x2x16xf32>, tensor<2x?xf32>)
  return %o : tensor<?x2x16xf32>
}

// -----

// The order of packed keys restarts with each sequence. A whole chunk has the
// slots of its curve; of a short tail, those are counted that lie before.

// CHECK-LABEL: rplan.func @slots(
// CHECK-DAG:     %[[CHUNK:.+]] = arith.constant 8 : index
// CHECK:         %[[SLOTS:.+]] = rplan.order_table #rlayout.order<morton, grid = [4, 2], chunk = 8> length(%[[CHUNK]]) inverse : memref<?xi64>
// CHECK:         %[[ROWS:.+]] = rplan.workspace(%{{.+}}) : memref<?xi64>
// CHECK:         rplan.launch @slots_attention0_key_rows grid(%{{.+}}) args(%{{.+}}, %{{.+}}, %[[SLOTS]], %[[ROWS]])
// CHECK:         rplan.launch @slots_attention0_branch0 {{.+}} args({{.+}}, %[[ROWS]])

// CHECK-LABEL: rtile.func @slots_attention0_key_rows(
// CHECK-SAME:    %[[SLOTS:[a-z0-9]+]]: memref<?xi64>, %[[ROWS:[a-z0-9]+]]: memref<?xi64>)
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C8:.+]] = arith.constant 8 : index
// CHECK:         rtile.generate %[[ROWS]][%[[ROW:.+]] = %{{.+}} to %{{.+}}]
// CHECK:           %[[TOKEN:.+]] = arith.subi %[[ROW]], %[[START:.+]] : index
// CHECK:           %[[LENGTH:.+]] = arith.subi %{{.+}}, %[[START]]
// CHECK:           %[[SOME:.+]] = arith.maxsi %[[TOKEN]], %[[C0]]
// CHECK:           %[[NUMBER:.+]] = arith.divui %[[SOME]], %[[C8]]
// CHECK:           %[[BEFORE:.+]] = arith.muli %[[NUMBER]], %[[C8]]
// CHECK:           %[[PLACE:.+]] = arith.subi %[[SOME]], %[[BEFORE]]
// CHECK:           %[[READ:.+]] = memref.load %[[SLOTS]][%[[PLACE]]]
// CHECK:           %[[SLOT:.+]] = arith.index_cast %[[READ]]
// CHECK:           %[[REST:.+]] = arith.subi %[[LENGTH]], %[[BEFORE]]
// CHECK:           %[[SHORT:.+]] = arith.cmpi slt, %[[REST]], %[[C8]]
// CHECK:           %[[COUNTED:.+]] = arith.select %[[SHORT]], %[[REST]], %[[C0]]
// CHECK:           %[[TAIL:.+]] = scf.for %[[OTHER:.+]] = %[[C0]] to %[[COUNTED]] step %[[C1]] iter_args(%[[LOWER:.+]] = %[[C0]])
// CHECK:             memref.load %[[SLOTS]][%[[OTHER]]]
// CHECK:             arith.cmpi slt, %{{.+}}, %[[SLOT]]
// CHECK:           %[[THERE:.+]] = arith.select %[[SHORT]], %[[TAIL]], %[[SLOT]]
// CHECK:           arith.addi %[[BEFORE]], %[[THERE]]

// CHECK-LABEL: rtile.func @slots_attention0_branch0(
// CHECK:         rtile.view %{{.+}}[*, %{{.+}}, *] origin(%{{.+}}) rows(%{{.+}} : memref<?xi64>) within(%{{.+}}, %{{.+}}) : memref<30x2x16xf32

func.func @slots(%q: tensor<20x2x16xf32>, %k: tensor<30x2x16xf32, #rlayout.layout<order = #rlayout.order<morton, grid = [4, 2], chunk = 8>, axis = 0>>, %qs: tensor<4xi64>, %ks: tensor<4xi64>) -> tensor<20x2x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] packed(%qs, %ks)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<20x2x16xf32>, tensor<30x2x16xf32, #rlayout.layout<order = #rlayout.order<morton, grid = [4, 2], chunk = 8>, axis = 0>>, tensor<30x2x16xf32, #rlayout.layout<order = #rlayout.order<morton, grid = [4, 2], chunk = 8>, axis = 0>>, tensor<4xi64>, tensor<4xi64>)
      -> (tensor<20x2x16xf32>, tensor<2x20xf32>)
  return %o : tensor<20x2x16xf32>
}

// -----

// A padded sequence has the entries behind those of the sequences before it. One
// q_offset for all is a number for the kernels.

// CHECK-LABEL: rplan.func @padded(
// CHECK:         %[[OFFSET:.+]] = rplan.read
// CHECK:         rplan.launch @padded_attention0_query_rows {{.+}} args(%{{.+}}, %{{.+}}, %{{.+}}, %[[OFFSET]], %{{.+}}, %{{.+}})
// CHECK:         rplan.launch @padded_attention0_branch0 grid(%{{.+}}, %{{.+}}, %{{.+}}) args({{.+}}, %[[OFFSET]], {{.+}})
// CHECK-LABEL: rtile.func @padded_attention0_branch0(
// CHECK-SAME:    grid(%{{.+}}: index, %{{.+}}: index, %[[BATCH:.+]]: index)
// CHECK-DAG:     %[[C20:.+]] = arith.constant 20 : index
// CHECK-DAG:     %[[C64:.+]] = arith.constant 64 : index
// CHECK:         %[[ROWS:.+]] = arith.muli %[[BATCH]], %[[C20]]
// CHECK:         %[[ORDINALS:.+]] = arith.muli %[[BATCH]], %[[C64]]
// CHECK:         %[[FIRST:.+]] = arith.addi %[[ROWS]], %[[ORDINALS]]
// CHECK:         rtile.view %{{.+}} origin(%{{.+}}) rows(%{{.+}}) positions(%{{.+}}) within(%[[FIRST]], %{{.+}})
// CHECK:         rtile.view %{{.+}} origin(%{{.+}}) rows(%{{.+}}) positions(%{{.+}}) within(%[[ORDINALS]], %{{.+}})

func.func @padded(%q: tensor<3x20x2x16xf32>, %k: tensor<3x30x2x16xf32>, %ql: tensor<3xi64>, %kl: tensor<3xi64>, %p: tensor<i64>) -> tensor<3x20x2x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] pattern_order = <snake, grid = [8, 8]> lengths(%ql, %kl) q_offset(%p)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<3x20x2x16xf32>, tensor<3x30x2x16xf32>, tensor<3x30x2x16xf32>, tensor<i64>, tensor<3xi64>, tensor<3xi64>)
      -> (tensor<3x20x2x16xf32>, tensor<3x2x20xf32>)
  return %o : tensor<3x20x2x16xf32>
}

// -----

// Keys that only queries move by are the same in every sequence: the table of the
// curve has their rows.

// CHECK-LABEL: rplan.func @offsets(
// CHECK:         %[[CURVE:.+]] = rplan.ordinal_table #rlayout.order<snake, grid = [8, 8]>
// CHECK:         rplan.launch @offsets_attention0_query_rows
// CHECK-NOT:     key_rows
// CHECK:         rplan.launch @offsets_attention0_branch0 {{.+}} args({{.+}}, %{{.+}}, %{{.+}}, %[[CURVE]])

func.func @offsets(%q: tensor<3x20x2x16xf32>, %k: tensor<3x30x2x16xf32>, %p: tensor<3xi64>) -> tensor<3x20x2x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 16, r = 1>] pattern_order = <snake, grid = [8, 8]> q_offset(%p)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<3x20x2x16xf32>, tensor<3x30x2x16xf32>, tensor<3x30x2x16xf32>, tensor<3xi64>)
      -> (tensor<3x20x2x16xf32>, tensor<3x2x20xf32>)
  return %o : tensor<3x20x2x16xf32>
}

// -----

// Where only the device knows positions, no index lists the key tiles. Keys that
// are at most 1, 4 and 2 cells away on a grid of 4 x 5 x 6 are at most 56 positions
// away, which narrows the run.

// CHECK-LABEL: rtile.func @grid_window_attention0_branch0(
// CHECK:         rtile.run {{.+}} window = [3, 56]
// CHECK:         rtile.visible {{.+}} window = [3, -1] grid = [4, 5, 6] reach = [1, 9, 2]

func.func @grid_window(%q: tensor<20x2x16xf32>, %k: tensor<30x2x16xf32>, %qs: tensor<4xi64>, %ks: tensor<4xi64>) -> tensor<20x2x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] packed(%qs, %ks) window = [3, -1] grid_window = <grid = [4, 5, 6], reach = [1, 9, 2]>
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<20x2x16xf32>, tensor<30x2x16xf32>, tensor<30x2x16xf32>, tensor<4xi64>, tensor<4xi64>)
      -> (tensor<20x2x16xf32>, tensor<2x20xf32>)
  return %o : tensor<20x2x16xf32>
}

// -----

// Ordinals that the mask of 5 x 6 blocks of 16 x 8 ordinals has no block for do
// not exist, so that nothing is read beyond it.

// CHECK-LABEL: rtile.func @block_mask_attention0_branch0(
// CHECK-DAG:     %[[QUERIES:.+]] = arith.constant 80 : index
// CHECK:         %[[LIMIT:.+]] = arith.subi %[[QUERIES]], %[[ORIGIN:.+]] : index
// CHECK:         %[[FIRST:.+]] = arith.maxsi %{{.+}}, %{{.+}}
// CHECK:         %[[END:.+]] = arith.minsi %{{.+}}, %[[LIMIT]]
// CHECK:         rtile.view %{{.+}} origin(%[[ORIGIN]]) within(%[[FIRST]], %[[END]]) : memref<20x2x16xf32

func.func @block_mask(%q: tensor<20x2x16xf32>, %k: tensor<30x2x16xf32>, %qs: tensor<4xi64>, %ks: tensor<4xi64>, %m: tensor<5x6xi1>) -> tensor<20x2x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] packed(%qs, %ks) block_mask(%m) of [16, 8]
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<20x2x16xf32>, tensor<30x2x16xf32>, tensor<30x2x16xf32>, tensor<4xi64>, tensor<4xi64>, tensor<5x6xi1>)
      -> (tensor<20x2x16xf32>, tensor<2x20xf32>)
  return %o : tensor<20x2x16xf32>
}

// -----

// A row may have any ordinal of its segment: of two rows, too, all tiles of a
// segment are visited, here 4. The grid has (2 + 2 * 64) * 4 / 16 points and 2
// more for each sequence.

// CHECK-LABEL: rplan.func @few_rows(
// CHECK:         rplan.launch @few_rows_attention0_branch0 grid(%c36,
// CHECK-LABEL: rtile.func @few_rows_attention0_branch0(
// CHECK:         %[[FIRST:.+]] = arith.ceildivsi
// CHECK:         %[[AFTER:.+]] = arith.subi %{{.+}}, %[[FIRST]]
// CHECK:         arith.divui %[[AFTER]], %c4
// CHECK:         arith.remui %[[AFTER]], %c4
func.func @few_rows(%q: tensor<2x1x16xf32>, %k: tensor<64x1x16xf32>, %s: tensor<3xi64>, %t: tensor<3xi64>) -> tensor<2x1x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 16, r = 1>] pattern_order = <hilbert, grid = [8, 8]> packed(%s, %t)
      tilings = [#ringlet.tiling<query = 4, key = 16>]
      : (tensor<2x1x16xf32>, tensor<64x1x16xf32>, tensor<64x1x16xf32>, tensor<3xi64>, tensor<3xi64>) -> (tensor<2x1x16xf32>, tensor<1x2xf32>)
  return %o : tensor<2x1x16xf32>
}
