//===- logits.mlir - Softcap, sinks, positions by sequence ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile | FileCheck %s

// With a softcap c scores are c * tanh(s / c), before any mask (section 3):
// 1/4 / 2 inside. What tanh gives is measured in units of 2, which becomes an
// exponent by 2 * log2(e) behind the maximum.

// CHECK-LABEL: rtile.func @softcap_attention0_branch0(
// CHECK-DAG:     %[[CAP:.+]] = arith.constant dense<2.885390e+00> : tensor<16x16xf32>
// CHECK-DAG:     %[[SCALE:.+]] = arith.constant dense<1.250000e-01> : tensor<16x16xf32>
// CHECK:         %[[PRODUCT:.+]] = rtile.dot
// CHECK-NEXT:    %[[SCALED:.+]] = arith.mulf %[[PRODUCT]], %[[SCALE]]
// CHECK-NEXT:    %[[CAPPED:.+]] = math.tanh %[[SCALED]]
// CHECK:         %[[SCORES:.+]] = arith.select %{{.+}}, %[[CAPPED]], %{{.+}}
// CHECK:         %[[BELOW:.+]] = arith.subf %[[SCORES]], %{{.+}}
// CHECK-NEXT:    arith.mulf %[[BELOW]], %[[CAP]]
func.func @softcap(%q: tensor<1x64x2x16xf32>) -> tensor<1x64x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] causal
      scale = 0.25 softcap = 2.0
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>) -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x16xf32>
}

// -----

// A cap beyond every score that f32 tells from another changes none.

// CHECK-LABEL: rtile.func @far_softcap_attention0_branch0(
// CHECK-NOT:     math.tanh
// CHECK:         rtile.return
func.func @far_softcap(%q: tensor<1x64x2x16xf32>) -> tensor<1x64x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      softcap = 1.0e38
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>) -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x16xf32>
}

// -----

// A unit is positive: a scale that is not multiplies the product, and scores are
// natural ones.

// CHECK-LABEL: rtile.func @negative_attention0_branch0(
// CHECK-DAG:     %[[SCALE:.+]] = arith.constant dense<-2.500000e-01> : tensor<16x16xf32>
// CHECK-DAG:     %[[UNIT:.+]] = arith.constant dense<1.44269502> : tensor<16x16xf32>
// CHECK:         %[[PRODUCT:.+]] = rtile.dot
// CHECK-NEXT:    %[[SCORES:.+]] = arith.mulf %[[PRODUCT]], %[[SCALE]]
// CHECK:         %[[MASKED:.+]] = arith.select %{{.+}}, %[[SCORES]], %{{.+}}
// CHECK:         %[[BELOW:.+]] = arith.subf %[[MASKED]], %{{.+}}
// CHECK-NEXT:    arith.mulf %[[BELOW]], %[[UNIT]]
func.func @negative(%q: tensor<1x64x2x16xf32>) -> tensor<1x64x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      scale = -0.25
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>) -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x16xf32>
}

// -----

// Under one softmax the sink joins once, in the kernel that comes last (R3):
// each row gets the logit of its head, the sums before it decay, and the lse
// of a row without keys is the sink itself.

// CHECK-LABEL: rplan.func @sink(
// CHECK:         %[[SINKS:.+]] = rplan.workspace() : memref<2x64xf32>
// CHECK:         rplan.launch @sink_sinks0 {{.+}} args(%{{.+}}, %[[SINKS]])
// CHECK:         rplan.launch @sink_attention0_branch1
// CHECK-NOT:     %[[SINKS]]
// CHECK:         rplan.launch @sink_attention0_branch0 {{.+}} args({{.*}}%[[SINKS]])

// CHECK-LABEL: rtile.func @sink_sinks0(
// CHECK:         %[[LOGITS:.+]] = rtile.load
// CHECK:         %[[ROWS:.+]] = rtile.broadcast %[[LOGITS]] : tensor<32xf32> -> tensor<32x64xf32>
// CHECK:         rtile.store %[[ROWS]]

// CHECK-LABEL: rtile.func @sink_attention0_branch1(
// CHECK-NOT:     arith.cmpf oeq
// CHECK:         rtile.return

// CHECK-LABEL: rtile.func @sink_attention0_branch0(
// CHECK:         %[[STATE:.+]]:3 = scf.for
// CHECK:           scf.yield
// CHECK:         %[[SINK:.+]] = rtile.load
// CHECK:         %[[SOME:.+]] = arith.cmpf ogt, %[[STATE]]#1, %{{.+}}
// CHECK:         %[[SCORE:.+]] = arith.mulf %[[STATE]]#0, %{{.+}}
// CHECK:         %[[MAX:.+]] = arith.maximumf %[[SCORE]], %[[SINK]]
// CHECK:         %[[GREATEST:.+]] = arith.cmpf oeq, %[[SCORE]], %[[MAX]]
// CHECK:         %[[BELOW:.+]] = arith.subf %[[SCORE]], %[[MAX]]
// CHECK:         %[[DISTANCE:.+]] = arith.select %[[GREATEST]], %{{.+}}, %[[BELOW]]
// CHECK:         %[[EXPONENT:.+]] = arith.mulf %[[DISTANCE]], %{{.+}}
// CHECK:         %[[DECAY:.+]] = math.exp2 %[[EXPONENT]]
// CHECK-DAG:     %[[SUM:.+]] = arith.mulf %[[STATE]]#1, %[[DECAY]]
// CHECK-DAG:     %[[WEIGHT:.+]] = math.exp2
// CHECK:         arith.addf %[[SUM]], %[[WEIGHT]]
// CHECK:         arith.mulf %[[STATE]]#2, %{{.+}}
// CHECK:         %[[LSE:.+]] = arith.addf
// CHECK:         %[[CHOSEN:.+]] = arith.select %[[SOME]], %[[LSE]], %[[SINK]]
// CHECK:         rtile.store %[[CHOSEN]]
func.func @sink(%q: tensor<1x64x2x16xf32>, %s: tensor<2xf32>) -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>) {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>, <w = 32, r = 2>] sink(%s)
      tilings = [#ringlet.tiling<query = 16, key = 16>, #ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<2xf32>) -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return %o, %l : tensor<1x64x2x16xf32>, tensor<1x2x64xf32>
}

// -----

// Rows that no branch reaches have output 0, and under one softmax the sink as
// lse; where each branch has its own softmax, they have -inf.

// CHECK-LABEL: rplan.func @unreached(
// CHECK:         %[[SINKS:.+]] = rplan.workspace() : memref<2x64xf32>
// CHECK:         rplan.launch @unreached_fill_lse0 {{.+}} args(%[[SINKS]], %{{.+}})
// CHECK:         rplan.launch @unreached_fill_output0
// CHECK:         rplan.launch @unreached_attention0_branch0
// CHECK-LABEL: rplan.func @unreached_of_sum(
// CHECK:         rplan.launch @unreached_of_sum_sinks0 {{.+}} args(%{{.+}}, %[[SUM_SINKS:[a-z0-9]+]])
// CHECK:         rplan.launch @unreached_of_sum_fill_lse0 {{.+}} args(%{{[a-z0-9]+}})
// CHECK:         rplan.launch @unreached_of_sum_attention0_branch0 {{.+}} args({{.*}}, %[[SUM_SINKS]])
func.func @unreached(%q: tensor<1x64x2x16xf32>, %s: tensor<2xf32>) -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>) {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 32, r = 2>] sink(%s)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<2xf32>) -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return %o, %l : tensor<1x64x2x16xf32>, tensor<1x2x64xf32>
}

func.func @unreached_of_sum(%q: tensor<1x64x2x16xf32>, %s: tensor<2xf32>) -> (tensor<1x64x2x16xf32>, tensor<1x1x2x64xf32>) {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 32, r = 2>] sink(%s) mix = sum
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<2xf32>) -> (tensor<1x64x2x16xf32>, tensor<1x1x2x64xf32>)
  return %o, %l : tensor<1x64x2x16xf32>, tensor<1x1x2x64xf32>
}

// -----

// A q_offset for each sequence lies where only the kernel reads it (S1). It is
// clamped, so that no number in it leads out of memory, and the grid has as many
// segments as a sequence can lie in: 3 of 32 for 64 rows.

// CHECK-LABEL: rplan.func @offsets(
// CHECK-SAME:    %[[P:.+]]: memref<?xi64, strided<[1]>>
// CHECK:         rplan.require eq %{{.+}}, %{{.+}}, "expected a q_offset for each sequence" rule "S1"
// CHECK:         rplan.launch @offsets_attention0_branch0 grid(%{{.+}}, %[[SEGMENTS:.+]], %{{.+}}, %{{.+}}) args(
// CHECK-LABEL: rtile.func @offsets_attention0_branch0(
// CHECK-SAME:    %[[LIST:[a-z0-9_]+]]: memref<?xi64, strided<[1]>>
// CHECK-SAME:    grid(%{{.+}}: index, %[[SEGMENT:.+]]: index, %{{.+}}: index, %[[BATCH:.+]]: index)
// CHECK-DAG:     %[[HIGH:.+]] = arith.constant 1152921504606846976 : index
// CHECK-DAG:     %[[LOW:.+]] = arith.constant -1152921504606846976 : index
// CHECK:         %[[ENTRY:.+]] = memref.load %[[LIST]][%[[BATCH]]]
// CHECK:         %[[READ:.+]] = arith.index_cast %[[ENTRY]]
// CHECK:         %[[ABOVE:.+]] = arith.maxsi %[[READ]], %[[LOW]]
// CHECK:         %[[OFFSET:.+]] = arith.minsi %[[ABOVE]], %[[HIGH]]
// CHECK:         %[[FIRST:.+]] = arith.floordivsi %[[OFFSET]], %{{.+}}
// CHECK:         arith.addi %[[SEGMENT]], %[[FIRST]]
// CHECK:         rtile.view {{.+}} origin(%[[OFFSET]])
func.func @offsets(%q: tensor<?x64x2x16xf32>, %p: tensor<?xi64>) -> tensor<?x64x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 32, r = 1>] causal q_offset(%p)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<?x64x2x16xf32>, tensor<?x64x2x16xf32>, tensor<?x64x2x16xf32>, tensor<?xi64>) -> (tensor<?x64x2x16xf32>, tensor<?x2x64xf32>)
  return %o : tensor<?x64x2x16xf32>
}
