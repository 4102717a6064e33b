//===- padding.mlir - Keys of zeros that count ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile --canonicalize --cse \
// RUN:   | FileCheck %s

// A kernel counts them for each row of each head, another one makes logits of
// the counts, and the softmax ends with those as with sinks.

// CHECK-LABEL: rplan.func @union(
// CHECK:         %[[SINKS:.+]] = rplan.workspace(%{{.+}}) : memref<2x?xf32>
// CHECK:         %[[COUNTS:.+]] = rplan.workspace(%{{.+}}) : memref<?xf32>
// CHECK:         rplan.launch @union_padding0 grid(%{{.+}}) args(%[[COUNTS]],
// CHECK:         rplan.launch @union_join_padding0 grid({{.+}}) args(%[[COUNTS]], %[[SINKS]])
// CHECK:         rplan.launch @union_attention0_union grid({{.+}} %[[SINKS]])
// CHECK-LABEL: rtile.func @union_padding0(
// CHECK:         rtile.generate
// CHECK:           arith.sitofp
// CHECK:         : memref<?xf32>
// CHECK-LABEL: rtile.func @union_join_padding0(
// CHECK:         %[[COUNT:.+]] = rtile.load
// CHECK:         %[[LOGIT:.+]] = math.log %[[COUNT]]
// CHECK:         rtile.store %[[LOGIT]]
func.func @union(%q: tensor<1x?x2x16xf32>) -> tensor<1x?x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 32, r = 1, padding = counted>, <w = 64, r = 2, padding = counted>]
      combine = union tilings = [#ringlet.tiling<query = 8, key = 16>]
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> (tensor<1x?x2x16xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x16xf32>
}

// -----

// Under a sum each branch has its own, which one kernel joins.

// CHECK-LABEL: rplan.func @sum(
// CHECK:         rplan.launch @sum_padding0_branch1
// CHECK:         rplan.launch @sum_join_padding0_branch1
// CHECK:         rplan.launch @sum_padding0_branch0
// CHECK:         rplan.launch @sum_join_padding0_branch1
func.func @sum(%q: tensor<1x?x2x16xf32>) -> tensor<1x?x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 32, r = 1, padding = counted>, <w = 64, r = 2, padding = counted>] mix = sum
      tilings = [#ringlet.tiling<query = 8, key = 16>, #ringlet.tiling<query = 8, key = 16>]
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> (tensor<1x?x2x16xf32>, tensor<2x1x2x?xf32>)
  return %o : tensor<1x?x2x16xf32>
}

// -----

// Nothing is counted where there is none: under causality, and in sequences that
// are known to fill their segments.

// CHECK-LABEL: rplan.func @none(
// CHECK-NOT:     padding
// CHECK:         rplan.return
func.func @none(%q: tensor<1x?x2x16xf32>, %k: tensor<1x128x2x16xf32>) -> (tensor<1x?x2x16xf32>, tensor<1x128x2x16xf32>) {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 32, r = 1, padding = counted>] causal
      tilings = [#ringlet.tiling<query = 8, key = 16>]
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>) -> (tensor<1x?x2x16xf32>, tensor<1x2x?xf32>)
  %p, %m = ringlet.attention %k, %k, %k
      branches [<w = 64, r = 2, padding = counted>]
      tilings = [#ringlet.tiling<query = 8, key = 16>]
      : (tensor<1x128x2x16xf32>, tensor<1x128x2x16xf32>, tensor<1x128x2x16xf32>) -> (tensor<1x128x2x16xf32>, tensor<1x2x128xf32>)
  return %o, %p : tensor<1x?x2x16xf32>, tensor<1x128x2x16xf32>
}
