//===- pipelined.mlir - Any kernel with products ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The kernel of an attention whose recipe was taken away gets the general one,
// and with it the work in the same order, once its scores are scaled as well.

// RUN: ringlet-opt %s '--ringlet-lower-to-rtile=level=sm_90a recipe=fa_fwd_overlap' -o %t.rtile
// RUN: ringlet-opt %t.rtile --rtile-apply-recipes | sed 's/ recipe = "fa_fwd_overlap"//' > %t.of-attention
// RUN: sed 's/ recipe = "fa_fwd_overlap"//' %t.rtile | ringlet-opt \
// RUN:   --rtile-choose-recipes=level=sm_90a --rtile-apply-recipes \
// RUN:   | FileCheck %s --check-prefix=GENERAL
// RUN: sed 's/ recipe = "fa_fwd_overlap"/ recipe = "pipelined"/' %t.rtile \
// RUN:   | ringlet-opt --rtile-scale-scores --rtile-apply-recipes \
// RUN:   | sed 's/ recipe = "pipelined"//' \
// RUN:   | diff %t.of-attention -
// GENERAL-LABEL: rtile.func @attend_attention0_branch0(
// GENERAL-SAME:    recipe = "pipelined" {
// GENERAL:         rtile.dot {{.*}} transposed
// GENERAL-NOT:     rtile.dot
// GENERAL:         scf.for {{.*}} -> (tensor<128xf32>, tensor<128xf32>, tensor<128x128xf32>, tensor<128x128xbf16>, index)
// GENERAL:           rtile.dot {{.*}} transposed
// GENERAL-NEXT:      rtile.load
// GENERAL-NEXT:      rtile.dot

!q = tensor<1x?x8x128xbf16>
func.func @attend(%q: !q, %k: !q, %v: !q) -> !q {
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 128, key = 128, recipe = "fa_fwd_overlap", redo = <query = 64, key = 64>>]
      : (!q, !q, !q) -> (!q, tensor<1x8x?xf32>)
  return %o : !q
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

// Three products: the third one is behind the first two. Its right operand is
// read by the first one as well, so it waits for a tile of its own, or for none.

// RUN: ringlet-opt %S/Inputs/three-products.mlir --rtile-apply-recipes \
// RUN:   | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/"pipelined"/"pipelined{reload=1 parts=1}"/' %S/Inputs/three-products.mlir \
// RUN:   | ringlet-opt --rtile-apply-recipes | FileCheck %s --check-prefix=RELOAD
// WHOLE:         scf.for {{.*}} -> (tensor<64x64xf32>)
// WHOLE:           rtile.join
// RELOAD:        %[[ANY:.+]] = arith.cmpi sgt
// RELOAD:        scf.if %[[ANY]]
// RELOAD-COUNT-2:  rtile.dot {{.*}} transposed
// RELOAD-NOT:      rtile.dot
// RELOAD:          scf.for {{.*}} -> (tensor<64x64xf32>, tensor<64x32xbf16>, index)
// RELOAD-COUNT-2:    rtile.dot {{.*}} transposed
// RELOAD-NEXT:       rtile.load
// RELOAD-NEXT:       rtile.dot {{.*}} init(
// RELOAD-NOT:        rtile.join
// RELOAD:          rtile.load
// RELOAD-NEXT:     rtile.dot {{.*}} init(
// RELOAD:        } else {
