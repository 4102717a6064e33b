//===- ops.mlir - Attention graphs are printed as they are read ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --mlir-print-op-generic | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --emit-bytecode | ringlet-opt --allow-bytecode \
// RUN:   | FileCheck %s

// Branches: every offset rule, unbounded and runtime extents, head ranges.
// Defaults are not printed.

// CHECK-LABEL: func.func @branches(
// CHECK-SAME:    %[[Q:[^:]+]]: tensor<1x?x8x64xbf16>
// CHECK-SAME:    %[[W:[^:]+]]: tensor<i64>, %[[R:[^:]+]]: tensor<i64>
// CHECK:         %{{.+}}, %{{.+}} = ringlet.attention %[[Q]], %[[Q]], %[[Q]]
// CHECK-SAME:      branches [<w = 2048, r = 1>,
// CHECK-SAME:      <w = *, r = 16, offset = block, by = query>,
// CHECK-SAME:      <w = 4096, r = 2, offset = constant<-1>, heads = [0, 4]>,
// CHECK-SAME:      <w = ?, r = ?, heads = [4, 8]>,
// CHECK-SAME:      <w = 9223372036854775807, r = 3>]
// CHECK-SAME:      sizes(%[[W]], %[[R]])
// CHECK-SAME:      : (tensor<1x?x8x64xbf16>, tensor<1x?x8x64xbf16>,
func.func @branches(%q: tensor<1x?x8x64xbf16>, %w: tensor<i64>,
                    %r: tensor<i64>) -> tensor<1x?x8x64xbf16> {
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<r = 1, w = 2048, offset = modulo, by = key>,
                <w = *, r = 16, offset = block, by = query>,
                <w = 4096, r = 2, offset = constant<-1>, heads = [0, 4]>,
                <w = ?, r = ?, heads = [4, 8]>,
                <w = 9223372036854775807, r = 3>]
      sizes(%w, %r)
      : (tensor<1x?x8x64xbf16>, tensor<1x?x8x64xbf16>, tensor<1x?x8x64xbf16>,
         tensor<i64>, tensor<i64>)
      -> (tensor<1x?x8x64xbf16>, tensor<1x8x?xf32>)
  return %o : tensor<1x?x8x64xbf16>
}

// Clauses come in any order and are printed in one.

// CHECK-LABEL: func.func @clauses(
// CHECK-SAME:    %[[Q:[^:]+]]: tensor<2x64x8x16xf32>, %[[K:[^:]+]]: tensor<2x96x2x16xf32>, %[[V:[^:]+]]: tensor<2x96x2x24xf32>
// CHECK-SAME:    %[[P:[^:]+]]: tensor<2xi64>, %[[S:[^:]+]]: tensor<8xf32>, %[[M:[^:]+]]: tensor<4x6xi1>
// CHECK:         ringlet.attention %[[Q]], %[[K]], %[[V]] branches [<w = 32, r = 1>, <w = *, r = 4>]
// CHECK-SAME:      causal
// CHECK-SAME:      window = [128, -1]
// CHECK-SAME:      grid_window = <grid = [8, 12], reach = [3, 0]>
// CHECK-SAME:      pattern_order = <hilbert, grid = [8, 12]>
// CHECK-SAME:      q_offset(%[[P]])
// CHECK-SAME:      sink(%[[S]])
// CHECK-SAME:      block_mask(%[[M]]) of [16, 16]
// CHECK-SAME:      scale = 1.250000e-01
// CHECK-SAME:      softcap = 3.000000e+01
// CHECK-SAME:      mix = sum
// CHECK-SAME:      output_scale = 5.000000e-01
// CHECK-SAME:      tilings = [#ringlet.tiling<query = 64, key = 32>, #ringlet.tiling<query = 1, key = 1024>]
// CHECK-SAME:      -> (tensor<2x64x8x24xf32>, tensor<2x2x8x64xf32>)
func.func @clauses(%q: tensor<2x64x8x16xf32>, %k: tensor<2x96x2x16xf32>,
                   %v: tensor<2x96x2x24xf32>, %p: tensor<2xi64>,
                   %s: tensor<8xf32>, %m: tensor<4x6xi1>) {
  %o, %lse = ringlet.attention %q, %k, %v
      branches [<w = 32, r = 1>, <w = *, r = 4>]
      tilings = [#ringlet.tiling<query = 64, key = 32>,
                 #ringlet.tiling<query = 1, key = 1024>]
      output_scale = 0.5 mix = sum softcap = 30.0 scale = 0.125
      block_mask(%m) of [16, 16]
      sink(%s) q_offset(%p)
      pattern_order = <hilbert, grid = [8, 12]>
      grid_window = <grid = [8, 12], reach = [3, 0]>
      window = [128, -1] causal
      : (tensor<2x64x8x16xf32>, tensor<2x96x2x16xf32>, tensor<2x96x2x24xf32>,
         tensor<2xi64>, tensor<8xf32>, tensor<4x6xi1>)
      -> (tensor<2x64x8x24xf32>, tensor<2x2x8x64xf32>)
  return
}

// The last clause stands in front of the colon of the types.

// CHECK-LABEL: func.func @pattern_order_last(
// CHECK:         pattern_order = <snake, grid = [8, 8]> : (
// CHECK-LABEL: func.func @grid_window_last(
// CHECK:         grid_window = <grid = [64], reach = [1]> : (
func.func @pattern_order_last(%q: tensor<1x64x1x8xf32>) {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>]
      pattern_order = <snake, grid = [8, 8]>
      : (tensor<1x64x1x8xf32>, tensor<1x64x1x8xf32>, tensor<1x64x1x8xf32>)
      -> (tensor<1x64x1x8xf32>, tensor<1x1x64xf32>)
  return
}
func.func @grid_window_last(%q: tensor<1x64x1x8xf32>) {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>]
      grid_window = <grid = [64], reach = [1]>
      : (tensor<1x64x1x8xf32>, tensor<1x64x1x8xf32>, tensor<1x64x1x8xf32>)
      -> (tensor<1x64x1x8xf32>, tensor<1x1x64xf32>)
  return
}

// Variable lengths: padded sequences have lengths, packed ones starts.

// CHECK-LABEL: func.func @padded(
// CHECK-SAME:    %[[Q:[^:]+]]: tensor<3x?x1x8xf16>, %[[NQ:[^:]+]]: tensor<3xi64>, %[[NK:[^:]+]]: tensor<?xi64>, %[[P:[^:]+]]: tensor<i64>
// CHECK:         ringlet.attention %[[Q]], %[[Q]], %[[Q]] branches [<w = *, r = 1>]
// CHECK-SAME:      q_offset(%[[P]]) lengths(%[[NQ]], %[[NK]])
// CHECK-LABEL: func.func @packed(
// CHECK-SAME:    %[[Q:[^:]+]]: tensor<?x1x8xf16>, %[[NQ:[^:]+]]: tensor<4xi64>
// CHECK:         ringlet.attention %[[Q]], %[[Q]], %[[Q]] branches [<w = *, r = 1>]
// CHECK-SAME:      packed(%[[NQ]], %[[NQ]])
func.func @padded(%q: tensor<3x?x1x8xf16>, %nq: tensor<3xi64>,
                  %nk: tensor<?xi64>, %p: tensor<i64>) {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      lengths(%nq, %nk) q_offset(%p)
      : (tensor<3x?x1x8xf16>, tensor<3x?x1x8xf16>, tensor<3x?x1x8xf16>,
         tensor<i64>, tensor<3xi64>, tensor<?xi64>)
      -> (tensor<3x?x1x8xf16>, tensor<3x1x?xf32>)
  return
}
func.func @packed(%q: tensor<?x1x8xf16>, %n: tensor<4xi64>) {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      packed(%n, %n)
      : (tensor<?x1x8xf16>, tensor<?x1x8xf16>, tensor<?x1x8xf16>,
         tensor<4xi64>, tensor<4xi64>)
      -> (tensor<?x1x8xf16>, tensor<1x?xf32>)
  return
}

// Memory orders: Q, O and lse share one, K and V another.

#hilbert = #rlayout.layout<order = <hilbert, grid = [8, 8]>>
#hilbert_lse = #rlayout.layout<order = <hilbert, grid = [8, 8]>, axis = 2>
#residue = #rlayout.layout<order = <residue<4>>>
// CHECK-LABEL: func.func @orders(
// CHECK-SAME:    %[[Q:[^:]+]]: tensor<1x64x1x8xf32>, %[[K:[^:]+]]:
// CHECK:         %[[H:.+]] = ringlet.reorder %[[Q]] : tensor<1x64x1x8xf32>
// CHECK-SAME:      to tensor<1x64x1x8xf32, #rlayout.layout<order = <hilbert, grid = [8, 8]>>>
// CHECK:         %{{.+}}, %[[LSE:.+]] = ringlet.attention %[[H]], %[[K]], %[[K]]
// CHECK-SAME:      tensor<1x1x64xf32, #rlayout.layout<order = <hilbert, grid = [8, 8]>, axis = 2>>)
// CHECK:         ringlet.reorder %[[LSE]]
// CHECK-SAME:      to tensor<1x1x64xf32>{{$}}
func.func @orders(%q: tensor<1x64x1x8xf32>, %k: tensor<1x64x1x8xf32, #residue>) {
  %h = ringlet.reorder %q : tensor<1x64x1x8xf32> to tensor<1x64x1x8xf32, #hilbert>
  %o, %lse = ringlet.attention %h, %k, %k branches [<w = 8, r = 1>]
      : (tensor<1x64x1x8xf32, #hilbert>, tensor<1x64x1x8xf32, #residue>,
         tensor<1x64x1x8xf32, #residue>)
      -> (tensor<1x64x1x8xf32, #hilbert>, tensor<1x1x64xf32, #hilbert_lse>)
  %b = ringlet.reorder %lse
      : tensor<1x1x64xf32, #hilbert_lse> to tensor<1x1x64xf32>
  return
}

// Linear order is linear order, however it is written: of no axis on tensors, and
// of no rule about patterns that are in another one.

#linear = #rlayout.layout<>
#linear_too = #rlayout.layout<order = <residue<1>>>
// CHECK-LABEL: func.func @linear(
// CHECK:         ringlet.reorder
// CHECK-SAME:      to tensor<1x1x64xf32, #rlayout.layout<order = <residue<4>>, axis = 2>>
// CHECK:         pattern_order = <linear, grid = [8, 8]>
// CHECK:         pattern_order = <linear> combine = union
func.func @linear(%q: tensor<1x64x1x8xf32, #linear>, %k: tensor<1x64x1x8xf32>,
                  %v: tensor<1x64x1x8xf32, #linear_too>) {
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x1x8xf32, #linear>, tensor<1x64x1x8xf32>,
         tensor<1x64x1x8xf32, #linear_too>)
      -> (tensor<1x64x1x8xf32, #linear>, tensor<1x1x64xf32, #linear_too>)
  %r = ringlet.reorder %lse : tensor<1x1x64xf32, #linear_too>
      to tensor<1x1x64xf32, #rlayout.layout<order = <residue<4>>, axis = 2>>
  %p, %lsp = ringlet.attention %q, %k, %v
      branches [<w = 24, r = 1, padding = counted>]
      pattern_order = <linear, grid = [8, 8]>
      : (tensor<1x64x1x8xf32, #linear>, tensor<1x64x1x8xf32>,
         tensor<1x64x1x8xf32, #linear_too>)
      -> (tensor<1x64x1x8xf32>, tensor<1x1x64xf32>)
  %u, %lsu = ringlet.attention %q, %k, %v
      branches [<w = 8, r = 1>, <w = *, r = 4>]
      pattern_order = <linear> combine = union
      : (tensor<1x64x1x8xf32, #linear>, tensor<1x64x1x8xf32>,
         tensor<1x64x1x8xf32, #linear_too>)
      -> (tensor<1x64x1x8xf32>, tensor<1x1x64xf32>)
  return
}

// Calls with many keys, and with few queries, may have kernels of their own.

// CHECK-LABEL: func.func @sets(
// CHECK:         tilings = [#ringlet.tiling<query = 128, key = 64, manyKeys = <query = 64, key = 64, part = 16384>>]
// CHECK-SAME:    split_kv = [<rows = 16, key = 64, heads = 1, part = 256, queries = 16, most = 16384, points = 7>]
func.func @sets(%q: tensor<1x?x4x128xbf16>) -> tensor<1x?x4x128xbf16> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 128, key = 64, manyKeys = <query = 64, key = 64, part = 16384>>]
      split_kv = [<rows = 16, key = 64, heads = 1, part = 256, queries = 16, most = 16384, points = 7>]
      : (tensor<1x?x4x128xbf16>, tensor<1x?x4x128xbf16>, tensor<1x?x4x128xbf16>)
      -> (tensor<1x?x4x128xbf16>, tensor<1x4x?xf32>)
  return %o : tensor<1x?x4x128xbf16>
}

// A tiling with a recipe keeps the tile shape of its second kernel.

// CHECK-LABEL: func.func @recipe(
// CHECK:         tilings = [#ringlet.tiling<query = 128, key = 112, recipe = "fa_fwd_lazy", redo = <query = 64, key = 32>>]
func.func @recipe(%q: tensor<1x64x4x128xbf16>) -> tensor<1x64x4x128xbf16> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 128, key = 112, recipe = "fa_fwd_lazy", redo = <query = 64, key = 32>>]
      : (tensor<1x64x4x128xbf16>, tensor<1x64x4x128xbf16>, tensor<1x64x4x128xbf16>)
      -> (tensor<1x64x4x128xbf16>, tensor<1x4x64xf32>)
  return %o : tensor<1x64x4x128xbf16>
}

// One kernel for several branches has one tiling.

// CHECK-LABEL: func.func @union(
// CHECK:         branches [<w = 32, r = 1>, <w = *, r = 4>]
// CHECK-SAME:      combine = union
// CHECK-SAME:      tilings = [#ringlet.tiling<query = 64, key = 32>]
// CHECK:         branches [<w = 32, r = 1>, <w = *, r = 4>]
// CHECK-SAME:      combine = chain
func.func @union(%q: tensor<1x64x8x16xf32>) {
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<w = 32, r = 1>, <w = *, r = 4>]
      tilings = [#ringlet.tiling<query = 64, key = 32>] combine = union
      : (tensor<1x64x8x16xf32>, tensor<1x64x8x16xf32>, tensor<1x64x8x16xf32>)
      -> (tensor<1x64x8x16xf32>, tensor<1x8x64xf32>)
  %p, %lsp = ringlet.attention %q, %q, %q
      branches [<w = 32, r = 1>, <w = *, r = 4>] combine = chain
      : (tensor<1x64x8x16xf32>, tensor<1x64x8x16xf32>, tensor<1x64x8x16xf32>)
      -> (tensor<1x64x8x16xf32>, tensor<1x8x64xf32>)
  return
}

// Keys of zeros that count (B7), and the default, which is not printed.

// CHECK-LABEL: func.func @padding(
// CHECK:         branches [<w = 8, r = 1>, <w = 32, r = 4, offset = block, heads = [0, 4], padding = counted>]
func.func @padding(%q: tensor<1x61x8x16xf32>) {
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<w = 8, r = 1, padding = none>,
                <w = 32, r = 4, padding = counted, offset = block, heads = [0, 4]>]
      : (tensor<1x61x8x16xf32>, tensor<1x61x8x16xf32>, tensor<1x61x8x16xf32>)
      -> (tensor<1x61x8x16xf32>, tensor<1x8x61xf32>)
  return
}

// Keys and values in pages (S4), of padded and of packed queries. Queries may lie in
// an order, and the batch of the pools is that of nothing.

// CHECK-LABEL: func.func @pages(
// CHECK:         causal lengths(%{{.+}}, %{{.+}}) pages(%{{.+}}) : (
// CHECK-SAME:      tensor<3x?xi32>)
// CHECK:         packed(%{{.+}}, %{{.+}}) pages(%{{.+}}) : (
func.func @pages(%q: tensor<3x64x8x16xf32, #rlayout.layout<order = <residue<4>>>>,
                 %p: tensor<99x8x16xf32>, %k: tensor<?x7x2x16xf32>,
                 %v: tensor<?x7x2x24xf32>, %n: tensor<3xi64>, %s: tensor<4xi64>,
                 %t: tensor<3x?xi32>) {
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
      pages(%t) causal lengths(%n, %n)
      : (tensor<3x64x8x16xf32, #rlayout.layout<order = <residue<4>>>>,
         tensor<?x7x2x16xf32>, tensor<?x7x2x24xf32>, tensor<3xi64>, tensor<3xi64>,
         tensor<3x?xi32>)
      -> (tensor<3x64x8x24xf32, #rlayout.layout<order = <residue<4>>>>,
          tensor<3x8x64xf32, #rlayout.layout<order = <residue<4>>, axis = 2>>)
  %o2, %lse2 = ringlet.attention %p, %k, %v branches [<w = 8, r = 2>]
      packed(%s, %s) pages(%t)
      : (tensor<99x8x16xf32>, tensor<?x7x2x16xf32>, tensor<?x7x2x24xf32>,
         tensor<4xi64>, tensor<4xi64>, tensor<3x?xi32>)
      -> (tensor<99x8x24xf32>, tensor<8x99xf32>)
  return
}

// Keys that begin later (S5), in either type of numbers.

// CHECK-LABEL: func.func @begins(
// CHECK:         causal key_begins(%{{.+}}) : (
// CHECK-SAME:      tensor<?xi32>)
// CHECK:         lengths(%{{.+}}, %{{.+}}) pages(%{{.+}}) key_begins(%{{.+}}) : (
// CHECK-SAME:      tensor<3xi64>)
func.func @begins(%q: tensor<3x64x8x16xf32>, %k: tensor<3x?x2x16xf32>,
                  %pool: tensor<?x7x2x16xf32>, %n: tensor<3xi64>,
                  %b: tensor<?xi32>, %w: tensor<3xi64>, %t: tensor<3x?xi32>) {
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      key_begins(%b) causal
      : (tensor<3x64x8x16xf32>, tensor<3x?x2x16xf32>, tensor<3x?x2x16xf32>,
         tensor<?xi32>)
      -> (tensor<3x64x8x16xf32>, tensor<3x8x64xf32>)
  %o2, %lse2 = ringlet.attention %q, %pool, %pool branches [<w = 8, r = 2>]
      lengths(%n, %n) key_begins(%w) pages(%t)
      : (tensor<3x64x8x16xf32>, tensor<?x7x2x16xf32>, tensor<?x7x2x16xf32>,
         tensor<3xi64>, tensor<3xi64>, tensor<3x?xi32>, tensor<3xi64>)
      -> (tensor<3x64x8x16xf32>, tensor<3x8x64xf32>)
  return
}

// Keys and values of 8 bits, with scales of heads, and of sequences and heads.

// CHECK-LABEL: func.func @scales(
// CHECK:         ringlet.attention %{{.+}}, %{{.+}}, %{{.+}} branches [<w = *, r = 1>] k_scale(%{{.+}}) v_scale(%{{.+}}) : (tensor<3x1x4x16xbf16>, tensor<3x9x2x16xf8E4M3FN>, tensor<3x9x2x16xf8E4M3FN>, tensor<2xf32>, tensor<3x2xf32>)
// CHECK:         ringlet.attention %{{.+}}, %{{.+}}, %{{.+}} branches [<w = *, r = 1>] : (tensor<3x1x4x16xf32>, tensor<3x9x2x16xi8>, tensor<3x9x2x16xi8>)
func.func @scales(%q: tensor<3x1x4x16xbf16>, %k: tensor<3x9x2x16xf8E4M3FN>,
                  %s: tensor<2xf32>, %t: tensor<3x2xf32>,
                  %x: tensor<3x1x4x16xf32>, %y: tensor<3x9x2x16xi8>) {
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      v_scale(%t) k_scale(%s)
      : (tensor<3x1x4x16xbf16>, tensor<3x9x2x16xf8E4M3FN>,
         tensor<3x9x2x16xf8E4M3FN>, tensor<2xf32>, tensor<3x2xf32>)
      -> (tensor<3x1x4x16xbf16>, tensor<3x4x1xf32>)
  %o2, %lse2 = ringlet.attention %x, %y, %y branches [<w = *, r = 1>]
      : (tensor<3x1x4x16xf32>, tensor<3x9x2x16xi8>, tensor<3x9x2x16xi8>)
      -> (tensor<3x1x4x16xf32>, tensor<3x4x1xf32>)
  return
}
