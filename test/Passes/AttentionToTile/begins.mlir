//===- begins.mlir - Keys that begin later ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile | FileCheck %s

// A begin of keys is cut to the end of the sequence, as its length to the axis (S5).
// It is position 0, from which segments and the default q_offset count: the views of
// keys have it as their origin and have no row before, so that runs of keys begin
// with it.

// CHECK-LABEL: rplan.func @begins(
// CHECK:         rplan.require eq {{.+}}, "expected a begin of keys for each sequence" rule "S5"
// CHECK-LABEL: rtile.func @begins_attention0_branch0(
// CHECK-SAME:    %[[QLS:[a-z0-9]+]]: memref<2xi64, strided<[1]>>, %[[KLS:[a-z0-9]+]]: memref<2xi64, strided<[1]>>, %[[KBS:[a-z0-9]+]]: memref<?xi32, strided<[1]>>) grid(%{{.+}}: index, %[[SEGMENT:.+]]: index, %{{.+}}: index, %[[BATCH:.+]]: index)
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C16:.+]] = arith.constant 16 : index
// CHECK:         memref.load %[[QLS]][%[[BATCH]]]
// CHECK:         %[[QUERIES:.+]] = arith.minsi
// CHECK:         memref.load %[[KLS]][%[[BATCH]]]
// CHECK:         %[[END:.+]] = arith.minsi
// CHECK:         %[[ENTRY:.+]] = memref.load %[[KBS]][%[[BATCH]]] : memref<?xi32
// CHECK:         %[[READ:.+]] = arith.index_cast %[[ENTRY]] : i32 to index
// CHECK:         %[[LOW:.+]] = arith.maxsi %[[READ]], %[[C0]]
// CHECK:         %[[BEGIN:.+]] = arith.minsi %[[LOW]], %[[END]]
// CHECK:         %[[KEYS:.+]] = arith.subi %[[END]], %[[BEGIN]]
// CHECK:         %[[OFFSET:.+]] = arith.subi %[[KEYS]], %[[QUERIES]]
// CHECK:         %[[FIRST:.+]] = arith.floordivsi %[[OFFSET]], %[[C16]]
// CHECK:         %[[S:.+]] = arith.addi %[[SEGMENT]], %[[FIRST]]
// CHECK:         %[[ORIGIN:.+]] = arith.subi %[[C0]], %[[BEGIN]]
// CHECK:         rtile.view {{.+}} origin(%[[OFFSET]]) segment(%[[S]]) {{.+}} within(%[[C0]], %[[QUERIES]])
// CHECK:         rtile.view {{.+}} origin(%[[ORIGIN]]) segment(%[[S]]) {{.+}} within(%[[BEGIN]], %[[END]])
// CHECK:         rtile.view {{.+}} origin(%[[ORIGIN]]) segment(%[[S]]) {{.+}} within(%[[BEGIN]], %[[END]])
func.func @begins(%q: tensor<2x64x4x16xf32>, %k: tensor<2x?x2x16xf32>,
                  %n: tensor<2xi64>, %m: tensor<2xi64>, %b: tensor<?xi32>)
    -> tensor<2x64x4x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 16, r = 2>]
      causal lengths(%n, %m) key_begins(%b)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<2x64x4x16xf32>, tensor<2x?x2x16xf32>, tensor<2x?x2x16xf32>,
         tensor<2xi64>, tensor<2xi64>, tensor<?xi32>)
      -> (tensor<2x64x4x16xf32>, tensor<2x4x64xf32>)
  return %o : tensor<2x64x4x16xf32>
}

// -----

// Without lengths keys end with the axis, queries are all that there are, and nothing
// is written past their end. Values behind what a query sees are not read, and what
// it sees counts from the begin, too.

// CHECK-LABEL: rtile.func @seen_attention0_branch0(
// CHECK:         %[[ROWS:.+]] = memref.dim
// CHECK:         memref.load %{{.+}} : memref<2xi64
// CHECK:         %[[BEGIN:.+]] = arith.minsi %{{.+}}, %[[ROWS]]
// CHECK:         %[[LAST:.+]] = arith.addi %{{.+}}, %[[BEGIN]]
// CHECK:         %[[SEEN:.+]] = arith.minsi %[[ROWS]], %[[LAST]]
// CHECK:         rtile.view {{.+}} within(%[[BEGIN]], %[[ROWS]])
// CHECK:         rtile.view {{.+}} within(%[[BEGIN]], %[[SEEN]])
// CHECK-NOT:     rtile.func {{.+}}past
func.func @seen(%q: tensor<2x64x4x16xf32>, %k: tensor<2x?x2x16xf32>,
                %b: tensor<2xi64>, %p: tensor<i64>) -> tensor<2x64x4x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      causal q_offset(%p) key_begins(%b)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<2x64x4x16xf32>, tensor<2x?x2x16xf32>, tensor<2x?x2x16xf32>,
         tensor<i64>, tensor<2xi64>)
      -> (tensor<2x64x4x16xf32>, tensor<2x4x64xf32>)
  return %o : tensor<2x64x4x16xf32>
}

// -----

// Rows of pages, too, are counted from the begin.

// CHECK-LABEL: rtile.func @pages_attention0_branch0(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK:         memref.load %{{.+}} : memref<2xi32
// CHECK:         %[[BEGIN:.+]] = arith.minsi
// CHECK:         %[[ORIGIN:.+]] = arith.subi %[[C0]], %[[BEGIN]]
// CHECK:         rtile.view {{.+}} origin(%[[ORIGIN]]) within(%[[BEGIN]], %{{.+}}) pages(
func.func @pages(%q: tensor<2x64x4x16xf32>, %k: tensor<?x8x2x16xf32>,
                 %t: tensor<2x?xi32>, %b: tensor<2xi32>) -> tensor<2x64x4x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      pages(%t) key_begins(%b) tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<2x64x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>,
         tensor<2x?xi32>, tensor<2xi32>)
      -> (tensor<2x64x4x16xf32>, tensor<2x4x64xf32>)
  return %o : tensor<2x64x4x16xf32>
}

// -----

// Along a pattern order a table has the row of each position, and a memory order is
// one of the whole axis: its slots are those of rows, not of keys.

// CHECK-LABEL: rtile.func @pattern_attention0_key_rows(
// CHECK:         memref.load %{{.+}} : memref<2xi32
// CHECK:         %[[LOW:.+]] = arith.maxsi
// CHECK:         %[[BEGIN:.+]] = arith.minsi %[[LOW]]
// CHECK:         %[[TOKEN:.+]] = arith.addi %{{.+}}, %[[BEGIN]]
// CHECK:         %[[LOW:.+]] = arith.maxsi %[[TOKEN]]
// CHECK:         %[[THERE:.+]] = arith.minsi %[[LOW]]
// CHECK:         memref.load %{{.+}}[%[[THERE]]]
#morton = #rlayout.layout<order = <morton, grid = [8, 8]>>
func.func @pattern(%q: tensor<2x64x2x16xf32>, %k: tensor<2x64x2x16xf32, #morton>,
                   %b: tensor<2xi32>) -> tensor<2x64x2x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 16, r = 1>]
      pattern_order = <hilbert, grid = [8, 8]> key_begins(%b)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<2x64x2x16xf32>, tensor<2x64x2x16xf32, #morton>,
         tensor<2x64x2x16xf32, #morton>, tensor<2xi32>)
      -> (tensor<2x64x2x16xf32>, tensor<2x2x64xf32>)
  return %o : tensor<2x64x2x16xf32>
}
