//===- split-sums.mlir - Long sums as sums of parts ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile \
// RUN:   --rtile-split-masked-loops --rtile-split-sums | FileCheck %s

// The loop over whole tiles goes on from the maximum of the part before it, and
// sums from 0 on: 16380 keys in tiles of 60. What came before is decayed. The
// loop over the rest has few keys, and adds to what the other one leaves.

// CHECK-LABEL: rtile.func @any_length_attention0_branch0(
// CHECK-DAG:     %[[LOWEST:.+]] = arith.constant dense<-3.40282347E+38> : tensor<16xf32>
// CHECK-DAG:     %[[ROWS:.+]] = arith.constant dense<0.000000e+00> : tensor<16xf32>
// CHECK-DAG:     %[[WIDE:.+]] = arith.constant dense<0.000000e+00> : tensor<16x32xf32>
// CHECK:         %[[BEGIN:.+]], %{{.+}}, %[[END:.+]], %{{.+}} = rtile.run
// CHECK:         %[[PART:.+]] = arith.constant 16380 : index
// CHECK:         %[[SUM:.+]]:3 = scf.for %[[FIRST:.+]] = %[[BEGIN]] to %[[END]] step %[[PART]] iter_args(%[[M:.+]] = %[[LOWEST]], %[[L:.+]] = %{{.+}}, %[[ACC:.+]] = %{{.+}})
// CHECK-NEXT:      %[[NEXT:.+]] = arith.addi %[[FIRST]], %[[PART]]
// CHECK-NEXT:      %[[LAST:.+]] = arith.minsi %[[NEXT]], %[[END]]
// CHECK-NEXT:      %[[OF_PART:.+]]:3 = scf.for %{{.+}} = %[[FIRST]] to %[[LAST]] step %{{.+}} iter_args(%{{.+}} = %[[M]], %{{.+}} = %{{.+}}, %{{.+}} = %{{.+}})
// CHECK:           } {rtile.unordered}
// CHECK-NEXT:      %[[BELOW:.+]] = arith.subf %[[M]], %[[OF_PART]]#0
// CHECK:           %[[EXPONENT:.+]] = arith.mulf %[[BELOW]], %{{.+}}
// CHECK-NEXT:      %[[DECAY:.+]] = math.exp2 %[[EXPONENT]]
// CHECK-NEXT:      %[[DECAYS:.+]] = rtile.broadcast %[[DECAY]]
// CHECK-NEXT:      %[[OLD_L:.+]] = arith.mulf %[[L]], %[[DECAY]]
// CHECK-NEXT:      %[[NEW_L:.+]] = arith.addf %[[OLD_L]], %[[OF_PART]]#1
// CHECK-NEXT:      %[[OLD_ACC:.+]] = arith.mulf %[[ACC]], %[[DECAYS]]
// CHECK-NEXT:      %[[NEW_ACC:.+]] = arith.addf %[[OLD_ACC]], %[[OF_PART]]#2
// CHECK-NEXT:      scf.yield %[[OF_PART]]#0, %[[NEW_L]], %[[NEW_ACC]]
// CHECK:         scf.for {{.*}} iter_args(%{{.+}} = %[[SUM]]#0, %{{.+}} = %[[SUM]]#1, %{{.+}} = %[[SUM]]#2)
// CHECK-NOT:     scf.for
// CHECK:         rtile.return
func.func @any_length(%q: tensor<1x?x2x32xf32>) -> tensor<1x?x2x32xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] causal
      tilings = [#ringlet.tiling<query = 16, key = 60>]
      : (tensor<1x?x2x32xf32>, tensor<1x?x2x32xf32>, tensor<1x?x2x32xf32>) -> (tensor<1x?x2x32xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x32xf32>
}

// -----

// Where types say that there are no more keys than a part has, sums are what
// they are: in segments, and in tensors.

// CHECK-LABEL: rtile.func @segments_attention0_branch0(
// CHECK-NOT:     arith.constant 16384 : index
// CHECK:         rtile.return
func.func @segments(%q: tensor<1x?x2x32xf32>) -> tensor<1x?x2x32xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 32768, r = 2>]
      tilings = [#ringlet.tiling<query = 16, key = 64>]
      : (tensor<1x?x2x32xf32>, tensor<1x?x2x32xf32>, tensor<1x?x2x32xf32>) -> (tensor<1x?x2x32xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x32xf32>
}

// CHECK-LABEL: rtile.func @short_attention0_branch0(
// CHECK-NOT:     arith.constant 16384 : index
// CHECK:         rtile.return
func.func @short(%q: tensor<1x16384x2x32xf32>) -> tensor<1x16384x2x32xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 16, key = 64>]
      : (tensor<1x16384x2x32xf32>, tensor<1x16384x2x32xf32>, tensor<1x16384x2x32xf32>) -> (tensor<1x16384x2x32xf32>, tensor<1x2x16384xf32>)
  return %o : tensor<1x16384x2x32xf32>
}

// -----

// A loop whose steps look for keys in a block mask has the sums in a condition.

// CHECK-LABEL: rtile.func @blocks_attention0_branch0(
// CHECK:         arith.constant 16384 : index
// CHECK:         scf.for
// CHECK-NEXT:      arith.addi
// CHECK-NEXT:      arith.minsi
// CHECK-NEXT:      scf.for
// CHECK:             scf.if
// CHECK:         rtile.return
func.func @blocks(%q: tensor<1x?x2x32xf32>, %mask: tensor<?x?xi1>) -> tensor<1x?x2x32xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      block_mask(%mask) of [48, 48]
      tilings = [#ringlet.tiling<query = 16, key = 64>]
      : (tensor<1x?x2x32xf32>, tensor<1x?x2x32xf32>, tensor<1x?x2x32xf32>, tensor<?x?xi1>) -> (tensor<1x?x2x32xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x32xf32>
}

// -----

// Memory for sums, which a tiling of a GPU asks for, is of no use.

// CHECK-LABEL: rtile.func @totals_attention0_branch0(
// CHECK-NOT:     rtile.totals
// CHECK:         arith.constant 16384 : index
// CHECK-NOT:     rtile.totals
// CHECK:         rtile.return
func.func @totals(%q: tensor<1x32768x2x32xf32>) -> tensor<1x32768x2x32xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 16, key = 64, part = 16384>]
      : (tensor<1x32768x2x32xf32>, tensor<1x32768x2x32xf32>, tensor<1x32768x2x32xf32>) -> (tensor<1x32768x2x32xf32>, tensor<1x2x32768xf32>)
  return %o : tensor<1x32768x2x32xf32>
}
