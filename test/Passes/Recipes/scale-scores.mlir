//===- scale-scores.mlir - Scores that are exponents of 2 ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile \
// RUN:   --rtile-split-masked-loops --rtile-scale-scores | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile \
// RUN:   --rtile-scale-scores --remarks-filter=rtile-scale-scores \
// RUN:   --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

// Scores are multiplied in front of the maximum, in each loop, and distances no
// longer. Behind the loops one product makes the maximum a score, and another
// one brings it back to its unit for the mark.

// CHECK-LABEL: rtile.func @scaled_attention0_branch0(
// CHECK-DAG:     %[[EXPONENT:.+]] = arith.constant dense<0.360673755> : tensor<16x16xf32>
// CHECK:         scf.for {{.*}} iter_args(%[[M:.+]] = %{{.+}}, %{{.+}} = %{{.+}}, %{{.+}} = %{{.+}})
// CHECK:           %[[PRODUCT:.+]] = rtile.dot {{.*}} transposed
// CHECK-NEXT:      %[[SCORES:.+]] = arith.mulf %[[PRODUCT]], %[[EXPONENT]]
// CHECK-NEXT:      %[[TILE:.+]] = rtile.reduce max %[[SCORES]]
// CHECK-NEXT:      %[[NEW:.+]] = arith.maximumf %[[M]], %[[TILE]]
// CHECK-NEXT:      %[[WIDE:.+]] = rtile.broadcast %[[NEW]]
// CHECK-NEXT:      %[[BELOW:.+]] = arith.subf %[[SCORES]], %[[WIDE]]
// CHECK-NEXT:      math.exp2 %[[BELOW]]
// CHECK-NEXT:      %[[CHANGE:.+]] = arith.subf %[[M]], %[[NEW]]
// CHECK-NEXT:      math.exp2 %[[CHANGE]]
// CHECK:         %[[STATE:.+]]:3 = scf.for
// CHECK:           rtile.dot {{.*}} transposed
// CHECK-NEXT:      %[[SCORES:.+]] = arith.mulf
// CHECK-NEXT:      %[[SEEN:.+]] = rtile.visible
// CHECK-NEXT:      arith.select %[[SEEN]], %[[SCORES]], %{{.+}}
// CHECK:         %[[UNIT:.+]] = arith.constant dense<2.77258873> : tensor<16xf32>
// CHECK-NEXT:    %[[MAX:.+]] = arith.mulf %[[STATE]]#0, %[[UNIT]]
// CHECK:         arith.cmpf ogt, %[[MAX]]
// CHECK:         arith.cmpf olt, %[[MAX]]
// CHECK:         %[[LN2:.+]] = arith.constant dense<0.693147182> : tensor<16xf32>
// CHECK-NEXT:    %[[SCORE:.+]] = arith.mulf %[[STATE]]#0, %[[LN2]]
// CHECK:         arith.addf %[[SCORE]], %{{.+}}
// The kernel that does marked rows once more has loops in a condition.
// CHECK-LABEL: rtile.func @scaled_attention0_branch0_redo(
// CHECK:         rtile.dot {{.*}} transposed
// CHECK-NEXT:    rtile.reduce max
// REMARK:      remark: {{.*}}expected loops over the keys, found none
func.func @scaled(%q: tensor<1x64x2x16xbf16>) -> (tensor<1x64x2x16xbf16>, tensor<1x2x64xf32>) {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 16, key = 16, recipe = "fa_fwd_lazy", redo = <query = 16, key = 16>>]
      : (tensor<1x64x2x16xbf16>, tensor<1x64x2x16xbf16>, tensor<1x64x2x16xbf16>) -> (tensor<1x64x2x16xbf16>, tensor<1x2x64xf32>)
  return %o, %l : tensor<1x64x2x16xbf16>, tensor<1x2x64xf32>
}

// -----

// What a product is multiplied by already, for a scale that is not positive, is
// multiplied with the exponent.

// CHECK-LABEL: rtile.func @negative_attention0_branch0(
// CHECK-DAG:     %[[EXPONENT:.+]] = arith.constant dense<-0.360673755> : tensor<16x16xf32>
// CHECK:         %[[PRODUCT:.+]] = rtile.dot {{.*}} transposed
// CHECK-NEXT:    arith.mulf %[[PRODUCT]], %[[EXPONENT]]
// CHECK-NEXT:    rtile.reduce max
func.func @negative(%q: tensor<1x64x2x16xbf16>) -> tensor<1x64x2x16xbf16> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] scale = -0.25
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xbf16>, tensor<1x64x2x16xbf16>, tensor<1x64x2x16xbf16>) -> (tensor<1x64x2x16xbf16>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x16xbf16>
}

// -----

// A softmax that goes on from the state of another kernel measures its maximum
// in the same way; where that left nothing, it is the lowest one.

// CHECK-LABEL: rtile.func @chain_attention0_branch1(
// CHECK-DAG:     %[[LOWEST:.+]] = arith.constant dense<-3.40282347E+38> : tensor<16xf32>
// CHECK:         %[[SOME:.+]] = arith.cmpf ogt
// CHECK-NEXT:    %[[LEFT:.+]] = rtile.load
// CHECK:         %[[EXPONENT:.+]] = arith.mulf %[[LEFT]], %{{.+}} : tensor<16xf32>
// CHECK-NEXT:    %[[BEFORE:.+]] = arith.select %[[SOME]], %[[EXPONENT]], %[[LOWEST]]
// CHECK:         scf.for {{.*}} iter_args(%{{.+}} = %[[BEFORE]],
// CHECK:         %[[PRODUCT:.+]] = rtile.dot {{.*}} transposed
// CHECK-NEXT:    arith.mulf %[[PRODUCT]]
// CHECK-NEXT:    rtile.reduce max
// CHECK:         rtile.return
func.func @chain(%q: tensor<1x64x2x16xbf16>) -> tensor<1x64x2x16xbf16> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>, <w = 16, r = 1>]
      tilings = [#ringlet.tiling<query = 16, key = 16>, #ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xbf16>, tensor<1x64x2x16xbf16>, tensor<1x64x2x16xbf16>) -> (tensor<1x64x2x16xbf16>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x16xbf16>
}
