//===- pages.mlir - Keys and values in pages ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile | FileCheck %s

// The batch is that of the queries and of the table, keys are as many as its pages
// have rows (S4), which is what lengths are cut to (S2), and a view of keys has the
// number of its sequence where that would be its index in a batch.

// CHECK-LABEL: rplan.func @padded(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<?x?x4x16xf32, {{[^%]+}}, %[[K:[a-z0-9]+]]: memref<?x10x2x16xf32, {{[^%]+}}, %[[V:[a-z0-9]+]]: memref<?x10x2x24xf32, {{[^%]+}}, %[[T:[a-z0-9]+]]: memref<?x?xi32
// CHECK-DAG:     %[[B:.+]] = rplan.size %[[Q]][0]
// CHECK-DAG:     %[[POOL:.+]] = rplan.size %[[K]][0]
// CHECK-DAG:     %[[POOL_V:.+]] = rplan.size %[[V]][0]
// CHECK-DAG:     %[[SEQUENCES:.+]] = rplan.size %[[T]][0]
// CHECK-DAG:     %[[PAGES:.+]] = rplan.size %[[T]][1]
// CHECK:         rplan.require eq %[[SEQUENCES]], %[[B]], "expected pages of each sequence" rule "S4"
// CHECK:         rplan.require eq %[[POOL]], %[[POOL_V]], "expected as many pages of key as of value" rule "S4"
// CHECK:         %[[ALL:.+]] = arith.muli %[[SEQUENCES]], %[[PAGES]]
// CHECK:         %[[SOME:.+]] = arith.minsi %[[ALL]], %{{.+}}
// CHECK:         rplan.require le %[[SOME]], %[[POOL]], "expected at least one page where sequences have some" rule "S4"
// CHECK:         rplan.launch @padded_attention0_branch0 {{.+}} args(%[[Q]], %[[K]], %[[V]], %{{.+}}, %[[T]], %{{.+}}, %{{.+}})

// CHECK-LABEL: rtile.func @padded_attention0_branch0(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: {{[^%]+}}, %[[K:[a-z0-9]+]]: {{[^%]+}}, %[[V:[a-z0-9]+]]: {{[^%]+}}, %{{.+}}: {{[^%]+}}, %[[T:[a-z0-9]+]]: memref<?x?xi32, {{[^%]+}}, %{{.+}}: {{[^%]+}}, %[[KLS:[a-z0-9]+]]: memref<?xi64
// CHECK-SAME:    grid(%{{.+}}: index, %{{.+}}: index, %[[BATCH:[a-z0-9]+]]: index)
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C10:.+]] = arith.constant 10 : index
// CHECK:         %[[PAGES:.+]] = memref.dim %[[T]], %[[C1]]
// CHECK:         %[[ROWS:.+]] = arith.muli %[[PAGES]], %[[C10]]
// CHECK:         memref.load %[[KLS]][%[[BATCH]]]
// CHECK:         %[[LENGTH:.+]] = arith.minsi %{{.+}}, %[[ROWS]]
// CHECK:         rtile.view %[[Q]][%[[BATCH]], *, %{{.+}}, *]
// CHECK-NOT:       pages
// CHECK:         rtile.view %[[K]][%[[BATCH]], *, %[[HEAD:[a-z_0-9]+]], *] within(%[[C0]], %[[LENGTH]]) pages(%[[T]] : memref<?x?xi32, strided<[?, 1]>>)
// CHECK:         rtile.view %[[V]][%[[BATCH]], *, %[[HEAD]], *] within(%[[C0]], %[[LENGTH]]) pages(%[[T]] : memref<?x?xi32, strided<[?, 1]>>)
func.func @padded(%q: tensor<?x?x4x16xf32>, %k: tensor<?x10x2x16xf32>,
                  %v: tensor<?x10x2x24xf32>, %t: tensor<?x?xi32>,
                  %ql: tensor<?xi64>, %kl: tensor<?xi64>)
    -> tensor<?x?x4x24xf32> {
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
      lengths(%ql, %kl) pages(%t) tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<?x?x4x16xf32>, tensor<?x10x2x16xf32>, tensor<?x10x2x24xf32>,
         tensor<?xi64>, tensor<?xi64>, tensor<?x?xi32>)
      -> (tensor<?x?x4x24xf32>, tensor<?x4x?xf32>)
  return %o : tensor<?x?x4x24xf32>
}

// -----

// Of packed queries starts of keys, cut to no tensor, say how many keys there are;
// their rows begin at 0 in each sequence. Dilated rows are those of the table's order.

// CHECK-LABEL: rtile.func @packed_attention0_branch0(
// CHECK-SAME:    %{{.+}}: {{[^%]+}}, %[[K:[a-z0-9]+]]: memref<?x16x2x16xf32, {{[^%]+}}, %{{.+}}: {{[^%]+}}, %{{.+}}: {{[^%]+}}, %[[T:[a-z0-9]+]]: memref<?x?xi32
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[FAR:.+]] = arith.constant 1152921504606846976 : index
// CHECK:         %[[PAGES:.+]] = memref.dim %[[T]]
// CHECK:         %[[ROWS:.+]] = arith.muli %[[PAGES]]
// CHECK:         arith.minsi %{{.+}}, %[[FAR]]
// CHECK:         %[[KEYS:.+]] = arith.subi
// CHECK:         %[[LENGTH:.+]] = arith.minsi %[[KEYS]], %[[ROWS]]
// CHECK:         rtile.view %[[K]][%[[SEQUENCE:.+]], *, %[[HEAD:[a-z_0-9]+]], *] residue(%{{.+}}) within(%[[C0]], %[[LENGTH]]) pages(%[[T]] : memref<?x?xi32, strided<[?, 1]>>)
// CHECK-SAME:      to !rtile.view<16x16xf32, rate = 3>
func.func @packed(%q: tensor<?x4x16xf32>, %k: tensor<?x16x2x16xf32>,
                  %t: tensor<?x?xi32>, %qs: tensor<?xi64>, %ks: tensor<?xi64>)
    -> tensor<?x4x16xf32> {
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 3>]
      packed(%qs, %ks) pages(%t) tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<?x4x16xf32>, tensor<?x16x2x16xf32>, tensor<?x16x2x16xf32>,
         tensor<?xi64>, tensor<?xi64>, tensor<?x?xi32>)
      -> (tensor<?x4x16xf32>, tensor<4x?xf32>)
  return %o : tensor<?x4x16xf32>
}
