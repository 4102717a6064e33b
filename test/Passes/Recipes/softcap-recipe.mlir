//===- softcap-recipe.mlir - Capped scores keep their recipe ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --ringlet-choose-tiling=level=sm_90a --ringlet-to-rtile \
// RUN:   --rtile-split-masked-loops --rtile-scale-scores \
// RUN:   --rtile-peel-first-tile --rtile-lazy-reference | FileCheck %s

// What lies between product and scale is part of a softmax step, whatever it is
// called: the last key tile is peeled, its maximum is the reference of all, and
// the distance from it is one multiply-add on what the cap leaves.

// CHECK-LABEL: rtile.func @softcap_attention0_branch0(
// CHECK:         rtile.dot
// CHECK:         math.tanh
// CHECK:         %[[MAX:.+]] = rtile.reduce max
// CHECK:         arith.select %{{.+}}, %{{.+}}, %[[MAX]]
// CHECK:         scf.for
// CHECK:           %[[PRODUCT:.+]] = rtile.dot
// CHECK:           %[[SCALED:.+]] = arith.mulf %[[PRODUCT]], %{{.+}}
// CHECK:           %[[CAPPED:.+]] = math.tanh %[[SCALED]]
// CHECK-NOT:       rtile.reduce max
// CHECK:           %[[BELOW:.+]] = math.fma %[[CAPPED]], %{{.+}}, %{{.+}}
// CHECK:           math.exp2 %[[BELOW]]
// CHECK:           rtile.rebase
func.func @softcap(%q: tensor<1x?x2x64xbf16>) -> tensor<1x?x2x64xbf16> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] softcap = 30.0
      : (tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>) -> (tensor<1x?x2x64xbf16>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x64xbf16>
}
