//===- scales.mlir - Keys and values of 8 bits ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile | FileCheck %s

// Views widen elements of 8 bits, so that no tile has them. The scale of the point's
// head of keys, or of its sequence and that head, is read once. That of keys multiplies
// products, that of values the sum of values in front of the division (S6).

// CHECK-LABEL: rplan.func @heads_and_sequences(
// CHECK:         rplan.launch @heads_and_sequences_attention0_branch0
// CHECK-LABEL: rtile.func @heads_and_sequences_attention0_branch0(
// CHECK-SAME:    %[[KS:[a-z0-9]+]]: memref<2xf32, strided<[1]>>, %[[VS:[a-z0-9]+]]: memref<2x2xf32, strided<[?, 1]>>) grid(%{{.+}}: index, %[[HEAD:.+]]: index, %[[BATCH:.+]]: index)
// CHECK-DAG:     %[[C2:.+]] = arith.constant 2 : index
// CHECK:         %[[KEY_HEAD:.+]] = arith.divui %[[HEAD]], %[[C2]]
// CHECK:         %[[OF_HEADS:.+]] = rtile.view %[[KS]][*]
// CHECK:         %[[K1:.+]] = rtile.load %[[OF_HEADS]][%[[KEY_HEAD]]] : !rtile.view<1xf32>
// CHECK:         %[[K2:.+]] = rtile.broadcast %[[K1]] columns
// CHECK:         %[[K:.+]] = rtile.reduce sum %[[K2]] : tensor<16x1xf32>
// CHECK:         %[[OF_SEQUENCES:.+]] = rtile.view %[[VS]][*, %[[KEY_HEAD]]]
// CHECK:         %[[V1:.+]] = rtile.load %[[OF_SEQUENCES]][%[[BATCH]]] : !rtile.view<1xf32>
// CHECK:         %[[V2:.+]] = rtile.broadcast %[[V1]] columns
// CHECK:         %[[V:.+]] = rtile.reduce sum %[[V2]] : tensor<16x1xf32>
// CHECK:         rtile.view {{.+}} : memref<2x?x2x16xf8E4M3FN, {{.+}}> to !rtile.view<16x16xbf16>
// CHECK:         rtile.view {{.+}} : memref<2x?x2x16xf8E4M3FN, {{.+}}> to !rtile.view<16x16xbf16>
// CHECK:         %[[STATE:.+]]:3 = scf.for
// CHECK:           %[[PRODUCT:.+]] = rtile.dot {{.+}} transposed
// CHECK:           %[[KW:.+]] = rtile.broadcast %[[K]]
// CHECK:           arith.mulf %[[PRODUCT]], %[[KW]]
// CHECK:         %[[VW:.+]] = rtile.broadcast %[[V]]
// CHECK:         %[[ACC:.+]] = arith.mulf %[[STATE]]#2, %[[VW]]
// CHECK:         arith.divf %[[ACC]]
func.func @heads_and_sequences(
    %q: tensor<2x64x4x16xbf16>, %k: tensor<2x?x2x16xf8E4M3FN>,
    %s: tensor<2xf32>, %t: tensor<2x2xf32>) -> tensor<2x64x4x16xbf16> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      causal k_scale(%s) v_scale(%t)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<2x64x4x16xbf16>, tensor<2x?x2x16xf8E4M3FN>,
         tensor<2x?x2x16xf8E4M3FN>, tensor<2xf32>, tensor<2x2xf32>)
      -> (tensor<2x64x4x16xbf16>, tensor<2x4x64xf32>)
  return %o : tensor<2x64x4x16xbf16>
}

// -----

// As many scales as sequences, where types do not say so.

// CHECK-LABEL: rplan.func @dynamic(
// CHECK:         rplan.require eq {{.+}}, "expected k_scale of each sequence" rule "S6"
func.func @dynamic(%q: tensor<?x64x4x16xf16>, %k: tensor<?x?x4x16xi8>,
                   %s: tensor<?x4xf32>) -> tensor<?x64x4x16xf16> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] k_scale(%s)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<?x64x4x16xf16>, tensor<?x?x4x16xi8>, tensor<?x?x4x16xi8>,
         tensor<?x4xf32>) -> (tensor<?x64x4x16xf16>, tensor<?x4x64xf32>)
  return %o : tensor<?x64x4x16xf16>
}

// -----

// States between kernels are of values, whatever each kernel scales: what others left
// joins when a kernel has scaled its own.

// CHECK-LABEL: rtile.func @chain_attention0_branch1(
// CHECK:         %[[STATE:.+]]:3 = scf.for
// CHECK:         %[[ACC:.+]] = arith.mulf %[[STATE]]#2, %{{.+}} : tensor<16x16xf32>
// CHECK:         rtile.store
// CHECK-LABEL: rtile.func @chain_attention0_branch0(
// CHECK:         %[[STATE:.+]]:3 = scf.for
// CHECK:         %[[ACC:.+]] = arith.mulf %[[STATE]]#2, %{{.+}} : tensor<16x16xf32>
// CHECK:         rtile.load {{.+}} : !rtile.view<16xf32, w = 16>
// CHECK:         rtile.rebase
// CHECK:         %[[BEFORE:.+]] = rtile.load {{.+}} : !rtile.view<16x16xf32, w = 16>
// CHECK:         %[[JOINED:.+]] = arith.addf %{{.+}}, %{{.+}} : tensor<16x16xf32>
// CHECK:         arith.divf %[[JOINED]]
func.func @chain(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xi8>,
                 %s: tensor<4xf32>) -> tensor<1x64x4x16xf32> {
  %o, %l = ringlet.attention %q, %k, %k
      branches [<w = 16, r = 1>, <w = 64, r = 2>] v_scale(%s)
      tilings = [#ringlet.tiling<query = 16, key = 16>,
                 #ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xi8>, tensor<1x64x4x16xi8>,
         tensor<4xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return %o : tensor<1x64x4x16xf32>
}
