//===- attention.mlir - Plans and kernels of attentions ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile --canonicalize | FileCheck %s

// Dense attention is one kernel: no partial results, and no lse if nobody reads
// it. Sizes that types leave open are compared before the launch.

// CHECK-LABEL: rplan.func @dense(
// CHECK-SAME:    %[[Q:[^:]+]]: memref<2x?x4x32xf32, strided<[?, ?, ?, 1]>>
// CHECK-SAME:    names ["q", "arg1", "arg2", "result0"]
// CHECK:         %[[SQ:.+]] = rplan.size %[[Q]][1]
// CHECK:         %[[SK:.+]] = rplan.size %{{.+}}[1]
// CHECK:         rplan.require eq %[[SK]], %{{.+}}, "expected key and value of one length" rule "section 1"
// CHECK:         %[[OFFSET:.+]] = arith.subi %[[SK]], %[[SQ]]
// CHECK-NOT:     rplan.workspace
// CHECK:         rplan.launch @dense_attention0_branch0 grid(%{{.+}}, %{{.+}}, %{{.+}}) args(%[[Q]], %{{.+}}, %{{.+}}, %{{.+}}, %[[OFFSET]])

// CHECK-LABEL: rtile.func @dense_attention0_branch0(
// CHECK-SAME:    grid(%[[TILE:[^:]+]]: index, %[[HEAD:[^:]+]]: index, %[[BATCH:[^:]+]]: index)
// CHECK:         %[[SCALE:.+]] = arith.constant dense<0.255034864> : tensor<64x48xf32>
// CHECK:         %[[QV:.+]] = rtile.view %{{.+}}[%[[BATCH]], *, %[[HEAD]], *] origin(%{{.+}})
// CHECK-SAME:      to !rtile.view<64x32xf32>
// CHECK:         %[[KV:.+]] = rtile.view %{{.+}}[%[[BATCH]], *, %[[HEAD]], *] :
// CHECK-SAME:      to !rtile.view<48x32xf32>
// CHECK:         %[[BEGIN:.+]], %{{.+}}, %{{.+}}, %[[END:.+]] = rtile.run %[[QV]][%[[ROW:.+]]], %[[KV]] causal window = [100, -1]
// CHECK:         scf.for %[[J:.+]] = %[[BEGIN]] to %[[END]] step %{{.+}} iter_args(%[[M:.+]] = %{{.+}}, %[[L:.+]] = %{{.+}}, %[[ACC:.+]] = %{{.+}})
// CHECK:           %[[S:.+]] = rtile.dot %{{.+}}, %{{.+}} transposed
// CHECK:           %[[SEEN:.+]] = rtile.visible %[[QV]][%[[ROW]]], %[[KV]][%[[J]]] causal window = [100, -1]
// CHECK:           %[[MASKED:.+]] = arith.select %[[SEEN]], %[[S]]
// CHECK:           %[[MAX:.+]] = rtile.reduce max %[[MASKED]]
// CHECK:           %[[NEW:.+]] = arith.maximumf %[[M]], %[[MAX]]
// CHECK:           %[[WIDE:.+]] = rtile.broadcast %[[NEW]]
// CHECK:           %[[BELOW:.+]] = arith.subf %[[MASKED]], %[[WIDE]]
// CHECK:           %[[EXPONENT:.+]] = arith.mulf %[[BELOW]], %[[SCALE]]
// CHECK:           %[[P:.+]] = math.exp2 %[[EXPONENT]]
// CHECK:           rtile.reduce sum %[[P]]
// CHECK-NOT:       arith.truncf
// CHECK:           rtile.dot %[[P]], %{{.+}} init(%{{.+}})
// CHECK:         rtile.store
// CHECK-NOT:     rtile.store
// CHECK:         rtile.return
func.func @dense(%q: tensor<2x?x4x32xf32> {ringlet.name = "q"}, %k: tensor<2x?x4x32xf32>, %v: tensor<2x?x4x32xf32>)
    -> tensor<2x?x4x32xf32> {
  %o, %l = ringlet.attention %q, %k, %v branches [<w = *, r = 1>] causal window = [100, -1]
      tilings = [#ringlet.tiling<query = 64, key = 48>]
      : (tensor<2x?x4x32xf32>, tensor<2x?x4x32xf32>, tensor<2x?x4x32xf32>) -> (tensor<2x?x4x32xf32>, tensor<2x4x?xf32>)
  return %o : tensor<2x?x4x32xf32>
}

// -----

// Branches run coarse first through a partial output in f32; the one that
// covers every row comes last and writes the bf16 result. They share one running
// maximum and sum: no kernel but the last divides. Rows that the first kernels
// do not reach start from sum 0.

// CHECK-LABEL: rplan.func @chain(
// CHECK-SAME:    outputs(%[[O:[^:]+]]: memref<1x256x4x16xbf16, {{.+}}>, %[[LSE:[^:]+]]: memref<1x4x256xf32
// CHECK:         %[[WS:.+]] = rplan.workspace() : memref<1x256x4x16xf32>
// CHECK:         %[[MAX:.+]] = rplan.workspace() : memref<1x4x256xf32>
// CHECK:         %[[SUM:.+]] = rplan.workspace() : memref<1x4x256xf32>
// CHECK:         rplan.launch @chain_fill_sum0 grid({{.+}}) args(%[[SUM]])
// CHECK:         rplan.launch @chain_attention0_branch2 grid({{.+}}) args(%{{.+}}, %{{.+}}, %{{.+}}, %[[WS]], %[[MAX]], %[[SUM]])
// CHECK:         rplan.launch @chain_attention0_branch1 grid({{.+}}) args(%{{.+}}, %{{.+}}, %{{.+}}, %[[WS]], %[[MAX]], %[[SUM]])
// CHECK:         rplan.launch @chain_attention0_branch0 grid({{.+}}) args(%{{.+}}, %{{.+}}, %{{.+}}, %[[WS]], %[[O]], %[[MAX]], %[[SUM]], %[[LSE]])
// CHECK-NEXT:    rplan.return

// The residue follows the key head, and P is rounded before the product.

// CHECK-LABEL: rtile.func @chain_attention0_branch2(
// CHECK-SAME:    grid(%{{[^:]+}}: index, %[[SEGMENT:[^:]+]]: index, %[[HEAD:[^:]+]]: index
// CHECK:         %[[KH:.+]] = arith.divui %[[HEAD]]
// CHECK:         %[[RESIDUE:.+]] = arith.remui %[[KH]]
// CHECK:         rtile.view %{{.+}}[%{{.+}}, *, %[[KH]], *] segment(%[[SEGMENT]]) residue(%[[RESIDUE]])
// CHECK-SAME:      to !rtile.view<16x16xbf16, w = 128, rate = 4>
// CHECK:         %[[BEFORE:.+]] = rtile.load %{{.+}} : !rtile.view<16xf32
// CHECK:         %[[SOME:.+]] = arith.cmpf ogt, %[[BEFORE]]
// CHECK:         %[[M:.+]] = arith.select %[[SOME]]
// CHECK:         %[[STATE:.+]]:3 = scf.for {{.+}} iter_args(%{{.+}} = %[[M]], %{{.+}} = %[[BEFORE]], %{{.+}} = %{{.+}})
// CHECK:           %[[P:.+]] = arith.truncf %{{.+}} : tensor<16x16xf32> to tensor<16x16xbf16>
// CHECK:           rtile.dot %[[P]]
// CHECK:         }
// CHECK-NEXT:    rtile.store %[[STATE]]#2
// CHECK-NEXT:    rtile.store %[[STATE]]#0
// CHECK-NEXT:    rtile.store %[[STATE]]#1
// CHECK-NEXT:    rtile.return

// CHECK-LABEL: rtile.func @chain_attention0_branch0(
// CHECK:         arith.divf
// CHECK:         math.log
func.func @chain(%q: tensor<1x256x4x16xbf16>, %k: tensor<1x256x2x16xbf16>)
    -> (tensor<1x256x4x16xbf16>, tensor<1x4x256xf32>) {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 32, r = 1>, <w = 64, r = 2>, <w = 128, r = 4>]
      tilings = [#ringlet.tiling<query = 16, key = 16>, #ringlet.tiling<query = 16, key = 16>, #ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x256x4x16xbf16>, tensor<1x256x2x16xbf16>, tensor<1x256x2x16xbf16>) -> (tensor<1x256x4x16xbf16>, tensor<1x4x256xf32>)
  return %o, %l : tensor<1x256x4x16xbf16>, tensor<1x4x256xf32>
}

// -----

// No branch covers every row: a last kernel divides by the sum and turns rows
// that nothing reached into zeros. Nobody reads lse, so nobody computes it.

// CHECK-LABEL: rplan.func @finish(
// CHECK-SAME:    outputs(%[[O:[^:]+]]:
// CHECK:         %[[MAX:.+]] = rplan.workspace() : memref<1x4x64xf32>
// CHECK:         %[[SUM:.+]] = rplan.workspace() : memref<1x4x64xf32>
// CHECK:         rplan.launch @finish_fill_sum0
// CHECK:         rplan.launch @finish_attention0_branch1
// CHECK:         rplan.launch @finish_attention0_branch0
// CHECK:         rplan.launch @finish_finish0 grid({{.+}}) args(%[[O]], %[[SUM]])
// CHECK-NEXT:    rplan.return

// Head ranges shift the head, and constants fix the residue (B2).

// CHECK-LABEL: rtile.func @finish_attention0_branch1(
// CHECK:         %[[C3:.+]] = arith.constant 3 : index
// CHECK:         residue(%[[C3]])
// CHECK-LABEL: rtile.func @finish_attention0_branch0(
// CHECK:         %[[HEAD:.+]] = arith.addi
// CHECK:         rtile.view %{{.+}}[%{{.+}}, *, %[[HEAD]], *] segment
// CHECK-LABEL: rtile.func @finish_finish0(
// CHECK:         arith.divf
// CHECK:         %[[HAS:.+]] = arith.cmpf ogt
// CHECK:         %[[WIDE:.+]] = rtile.broadcast %[[HAS]]
// CHECK:         arith.select %[[WIDE]]
func.func @finish(%q: tensor<1x64x4x16xf32>) -> tensor<1x64x4x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 32, r = 1, heads = [1, 3]>, <w = 32, r = 4, offset = constant<7>>]
      tilings = [#ringlet.tiling<query = 16, key = 16>, #ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return %o : tensor<1x64x4x16xf32>
}

// -----

// mix = sum: each branch has its own softmax and its own lse; the partial
// output is a sum, scaled at the end (R2).

// CHECK-LABEL: rplan.func @sum(
// CHECK:         rplan.launch @sum_fill_lse0
// CHECK:         rplan.launch @sum_fill_partial0
// CHECK:         rplan.launch @sum_attention0_branch1
// CHECK:         rplan.launch @sum_attention0_branch0
// CHECK-NEXT:    rplan.return
// CHECK-LABEL: rtile.func @sum_attention0_branch1(
// CHECK:         %[[C1:.+]] = arith.constant 1 : index
// CHECK:         rtile.view %{{.+}}[%[[C1]], %{{.+}}, %{{.+}}, *]
// CHECK-LABEL: rtile.func @sum_attention0_branch0(
// CHECK-DAG:     %[[HALF:.+]] = arith.constant dense<5.000000e-01>
// CHECK:         scf.for
// CHECK:         arith.divf
// CHECK:         %[[SUM:.+]] = arith.addf
// CHECK:         arith.mulf %[[SUM]], %[[HALF]]
func.func @sum(%q: tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<2x1x4x64xf32>) {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>, <w = 32, r = 2, offset = block>]
      mix = sum output_scale = 0.5
      tilings = [#ringlet.tiling<query = 16, key = 16>, #ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<2x1x4x64xf32>)
  return %o, %l : tensor<1x64x4x16xf16>, tensor<2x1x4x64xf32>
}

// -----

// A runtime offset is read once by the host and shifts the first segment.

// CHECK-LABEL: rplan.func @offset(
// CHECK:         %[[P:.+]] = rplan.read %{{.+}} : memref<i64>
// CHECK:         rplan.launch {{.+}} args({{.+}}, %[[P]])
// CHECK-LABEL: rtile.func @offset_attention0_branch0(
// CHECK:         %[[FIRST:.+]] = arith.floordivsi
// CHECK:         %[[SEGMENT:.+]] = arith.addi %{{.+}}, %[[FIRST]]
// CHECK:         origin(%{{.+}}) segment(%[[SEGMENT]])
func.func @offset(%q: tensor<1x8x4x16xf16>, %k: tensor<1x64x4x16xf16>, %p: tensor<i64>) -> tensor<1x8x4x16xf16> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 32, r = 1>] q_offset(%p)
      tilings = [#ringlet.tiling<query = 8, key = 16>]
      : (tensor<1x8x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<i64>) -> (tensor<1x8x4x16xf16>, tensor<1x4x8xf32>)
  return %o : tensor<1x8x4x16xf16>
}

// -----

// An intermediate result whose type promises a length that the inputs leave
// open: the host compares them. A range that names every head covers every row.

// CHECK-LABEL: rplan.func @intermediate(
// CHECK:         %[[LENGTH:.+]] = rplan.size %{{.+}}[1]
// CHECK:         rplan.require eq %[[LENGTH]], %c64, "expected axis 1 of the graph's result of type tensor<1x64x4x16xf32> to have the size of its type" rule "section 3"
// CHECK:         %[[WS:.+]] = rplan.workspace() : memref<1x64x4x16xf32>
// CHECK:         rplan.launch @intermediate_attention0_branch0 {{.+}} args({{.+}}, %[[WS]]
// CHECK-NOT:     finish
// CHECK:         rplan.launch @intermediate_attention1_branch0 {{.+}} args(%[[WS]], %[[WS]], %[[WS]]
// CHECK:         rplan.return
func.func @intermediate(%q: tensor<1x?x4x16xf32>) -> tensor<1x64x4x16xf32> {
  %x, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1, heads = [0, 4]>]
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x?x4x16xf32>, tensor<1x?x4x16xf32>, tensor<1x?x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x?xf32>)
  %o, %m = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return %o : tensor<1x64x4x16xf32>
}

// -----

// An lse that somebody reads comes from a small kernel of its own, in tiles of more
// rows than those of several columns have.

// CHECK-LABEL: rplan.func @finish_both(
// CHECK-SAME:    outputs(%[[O:[^:]+]]: memref<1x64x4x16xf16, {{.+}}>, %[[LSE:[^:]+]]: memref<1x4x64xf32
// CHECK:         rplan.launch @finish_both_finish0 grid({{.+}}) args(%{{.+}}, %[[O]], %[[SUM:.+]])
// CHECK:         rplan.launch @finish_both_finish_lse0 grid({{.+}}) args(%{{.+}}, %[[SUM]], %[[LSE]])
// CHECK-NEXT:    rplan.return
// CHECK-LABEL: rtile.func @finish_both_finish0(
// CHECK:         rtile.load {{.+}} : !rtile.view<32x16xf32>
// CHECK-LABEL: rtile.func @finish_both_finish_lse0(
// CHECK:         rtile.load {{.+}} : !rtile.view<256xf32>
// CHECK:         %[[LOG:.+]] = math.log
// CHECK:         %[[SUM:.+]] = arith.addf %{{.+}}, %[[LOG]]
// CHECK:         %[[TOTAL:.+]] = arith.select %{{.+}}, %[[SUM]]
// CHECK:         rtile.store %[[TOTAL]]
func.func @finish_both(%q: tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>) {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 32, r = 2>, <w = 64, r = 4>]
      tilings = [#ringlet.tiling<query = 16, key = 16>, #ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>)
  return %o, %l : tensor<1x64x4x16xf16>, tensor<1x4x64xf32>
}

// -----

// A segment and a window that reach beyond every position become ones whose ends
// can be computed in 64 bits, and a runtime offset is checked for the same reason.

// CHECK-LABEL: rplan.func @extremes(
// CHECK:         %[[P:.+]] = rplan.read
// CHECK:         rplan.require le %[[P]], %c1152921504606846976{{.*}}, "expected q_offset within +-2^60" rule "S1"
// CHECK:         rplan.require le %c-1152921504606846976{{.*}}, %[[P]], "expected q_offset within +-2^60" rule "S1"
// CHECK-LABEL: rtile.func @extremes_attention0_branch0(
// CHECK:         !rtile.view<16x16xf32, w = 1729382256910270464>
// CHECK:         rtile.run {{.+}} window = [-1, 3]
func.func @extremes(%q: tensor<1x64x4x16xf32>, %p: tensor<i64>) -> tensor<1x64x4x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 9223372036854775807, r = 1>]
      window = [9223372036854775807, 3] q_offset(%p)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<i64>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return %o : tensor<1x64x4x16xf32>
}

// -----

// It gets shorter by whole dilations: queries before position 0 lie at the end
// of the segment before, and w mod r says which of them are in the branch (B3).
// 2^63 - 1 and 2^61 - 1 leave 3, as 2^61 would not.

// CHECK-LABEL: rtile.func @before_the_keys_attention0_branch0(
// CHECK:         !rtile.view<16x16xf32, w = 1729382256910270463, rate = 4>
func.func @before_the_keys(%q: tensor<1x?x4x16xf32>, %k: tensor<1x?x4x16xf32>) -> tensor<1x?x4x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 9223372036854775807, r = 4>]
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x?x4x16xf32>, tensor<1x?x4x16xf32>, tensor<1x?x4x16xf32>) -> (tensor<1x?x4x16xf32>, tensor<1x4x?xf32>)
  return %o : tensor<1x?x4x16xf32>
}
