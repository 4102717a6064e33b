//===- many-keys.mlir - Kernels for calls with many keys ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile --canonicalize | FileCheck %s

// The plan picks by the number of keys: 64 less the last tile of a sum. Grids and
// memory of what is not for a call are empty.

// CHECK-LABEL: rplan.func @any_length(
// CHECK:         %[[EXCESS:.+]] = arith.subi %{{.+}}, %c48
// CHECK:         %[[ONE:.+]] = arith.minsi %[[EXCESS]], %c1
// CHECK:         %[[MANY:.+]] = arith.maxsi %[[ONE]], %c0
// CHECK:         %[[FEW:.+]] = arith.subi %c1, %[[MANY]]
// CHECK:         %[[BATCH:.+]] = arith.muli %[[FEW]], %c2
// CHECK:         rplan.launch @any_length_attention0_branch0 grid(%{{.+}}, %c8, %[[BATCH]])
// CHECK:         %[[ROWS:.+]] = arith.muli %{{.+}}, %[[MANY]]
// CHECK:         %[[ACC:.+]] = rplan.workspace(%[[ROWS]]) : memref<?x128x8x32xf32>
// CHECK:         rplan.launch @any_length_attention0_branch0_many_keys grid(%{{.+}}, %c8, %{{.+}}) args({{.*}}, %[[ACC]], %{{.+}}, %{{.+}}, %{{.+}})
// CHECK-NOT:     rplan.launch
// CHECK:         rplan.return

// CHECK-LABEL: rtile.func @any_length_attention0_branch0(
// CHECK-NOT:     rtile.totals
// CHECK:         rtile.return
// CHECK-LABEL: rtile.func @any_length_attention0_branch0_many_keys(
// CHECK-SAME:    attributes {rtile.beside}
// CHECK:         rtile.view %{{.+}} to !rtile.view<32x32xf32>
// CHECK:         rtile.totals
// CHECK:         rtile.return
func.func @any_length(%q: tensor<2x128x8x32xf32>, %k: tensor<2x?x2x32xf32>)
    -> tensor<2x128x8x32xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 64, key = 48, manyKeys = <query = 32, key = 16, part = 64>>]
      : (tensor<2x128x8x32xf32>, tensor<2x?x2x32xf32>, tensor<2x?x2x32xf32>)
      -> (tensor<2x128x8x32xf32>, tensor<2x8x128xf32>)
  return %o : tensor<2x128x8x32xf32>
}

// -----

// A number of keys that is known leaves no choice.

// CHECK-LABEL: rplan.func @many(
// CHECK:         rplan.launch @many_attention0_branch0_many_keys
// CHECK-NOT:     rplan.launch
// CHECK:         rplan.return
func.func @many(%q: tensor<2x128x8x32xf32>) -> tensor<2x128x8x32xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 64, key = 48, manyKeys = <query = 32, key = 16, part = 64>>]
      : (tensor<2x128x8x32xf32>, tensor<2x128x8x32xf32>, tensor<2x128x8x32xf32>)
      -> (tensor<2x128x8x32xf32>, tensor<2x8x128xf32>)
  return %o : tensor<2x128x8x32xf32>
}

// -----

// Of a chain, only the branches that may have so many have others. Parts of few
// queries are as many as sums of `most` keys ask for.

// CHECK-LABEL: rplan.func @chain(
// CHECK-DAG:     %[[SUMS:.+]] = arith.ceildivsi %{{.+}}, %c128
// CHECK-DAG:     arith.maxsi %{{.+}}, %[[SUMS]]
// CHECK:         rplan.launch @chain_attention0_parts0
// CHECK:         rplan.launch @chain_attention0_parts1
// CHECK:         rplan.launch @chain_merge0
// CHECK:         rplan.launch @chain_attention0_branch1
// CHECK:         rplan.launch @chain_attention0_branch0
// CHECK:         rplan.launch @chain_attention0_branch1_many_keys
// CHECK:         rplan.launch @chain_attention0_branch0 grid
// CHECK:         rplan.return
// CHECK-NOT:   rtile.func @{{.*}}_many_keys
// CHECK:       rtile.func @chain_attention0_branch1_many_keys(
// CHECK:         rtile.totals
// CHECK:         rtile.return
// CHECK-NOT:   rtile.func @{{.*}}_many_keys
func.func @chain(%q: tensor<2x?x8x32xf32>) -> tensor<2x?x8x32xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 32, r = 1>, <w = *, r = 2>]
      tilings = [#ringlet.tiling<query = 64, key = 48>,
                 #ringlet.tiling<query = 64, key = 48, manyKeys = <query = 32, key = 16, part = 64>>]
      split_kv = [<rows = 16, key = 32, heads = 1, part = 256, queries = 12, most = 128>]
      : (tensor<2x?x8x32xf32>, tensor<2x?x8x32xf32>, tensor<2x?x8x32xf32>)
      -> (tensor<2x?x8x32xf32>, tensor<2x8x?xf32>)
  return %o : tensor<2x?x8x32xf32>
}
