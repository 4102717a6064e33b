//===- apart.mlir - Kernels of branches of different heads ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile --canonicalize --cse \
// RUN:   | FileCheck %s

// Each kernel ends its own softmaxes. Without a recipe rows beside those of a
// dilated branch are filled in front.

// CHECK-LABEL: rplan.func @plain(
// CHECK-NOT:     rplan.workspace
// CHECK:         rplan.launch @plain_fill_output0
// CHECK:         rplan.launch @plain_attention0_branch0 grid(%{{.+}}, %{{.+}}, %c2, %c1)
// CHECK:         rplan.launch @plain_attention0_branch1 grid(%{{.+}}, %{{.+}}, %c4, %c1)
// CHECK-NOT:     rplan.launch
// CHECK:         rplan.return
// CHECK-LABEL: rtile.func @plain_attention0_branch1(
// CHECK:         arith.addi %{{.+}}, %c2 : index
// CHECK-NOT:     partial
// CHECK:         rtile.return
func.func @plain(%q: tensor<1x?x6x16xf32>) -> tensor<1x?x6x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 32, r = 1, heads = [0, 2]>, <w = 64, r = 2, heads = [2, 6]>]
      combine = apart
      tilings = [#ringlet.tiling<query = 8, key = 16>, #ringlet.tiling<query = 8, key = 16>]
      : (tensor<1x?x6x16xf32>, tensor<1x?x6x16xf32>, tensor<1x?x6x16xf32>) -> (tensor<1x?x6x16xf32>, tensor<1x6x?xf32>)
  return %o : tensor<1x?x6x16xf32>
}

// -----

// With a recipe the kernel of a branch fills the other rows of its heads, and
// under a sum lse has an entry of each head for each branch.

// CHECK-LABEL: rplan.func @sum(
// CHECK:         rplan.launch @sum_fill_lse0
// CHECK-NOT:     fill_output
// CHECK:         rplan.launch @sum_attention0_branch0 grid
// CHECK:         rplan.launch @sum_attention0_branch0_redo grid
// CHECK:         rplan.launch @sum_attention0_branch1 grid
// CHECK:         rplan.launch @sum_attention0_branch1_redo grid
// CHECK-LABEL: rtile.func @sum_attention0_branch0(
// CHECK-NOT:     to %c4 step %c1
// CHECK:         rtile.return
// CHECK-LABEL: rtile.func @sum_attention0_branch1(
// CHECK:         scf.for %[[DISTANCE:.+]] = %c1 to %c4 step %c1
// CHECK-NEXT:      arith.addi %{{.+}}, %[[DISTANCE]]
// CHECK:           %[[OTHER:.+]] = rtile.view %{{.+}} w = 512, rate = 4>
// CHECK:           rtile.store %{{.+}}, %[[OTHER]][
// CHECK:         rtile.return
!x = tensor<1x?x4x64xbf16>
func.func @sum(%q: !x) -> (!x, tensor<2x1x4x?xf32>) {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 256, r = 1, heads = [0, 2]>, <w = 512, r = 4, heads = [2, 4]>]
      mix = sum output_scale = 0.5 combine = apart
      tilings = [#ringlet.tiling<query = 128, key = 128, recipe = "fa_fwd_lazy", redo = <query = 64, key = 32>>,
                 #ringlet.tiling<query = 128, key = 128, recipe = "fa_fwd_lazy", redo = <query = 64, key = 32>>]
      : (!x, !x, !x) -> (!x, tensor<2x1x4x?xf32>)
  return %o, %l : !x, tensor<2x1x4x?xf32>
}

// -----

// Nobody writes rows of a head that no branch has.

// CHECK-LABEL: rplan.func @some_heads(
// CHECK:         rplan.launch @some_heads_fill_output0
// CHECK-NOT:     fill_lse
// CHECK:         rplan.launch @some_heads_attention0_branch0
func.func @some_heads(%q: tensor<1x?x6x16xf32>) -> tensor<1x?x6x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 32, r = 1, heads = [0, 2]>, <w = 64, r = 1, heads = [3, 6]>]
      combine = apart
      tilings = [#ringlet.tiling<query = 8, key = 16>, #ringlet.tiling<query = 8, key = 16>]
      : (tensor<1x?x6x16xf32>, tensor<1x?x6x16xf32>, tensor<1x?x6x16xf32>) -> (tensor<1x?x6x16xf32>, tensor<1x6x?xf32>)
  return %o : tensor<1x?x6x16xf32>
}
