//===- ring.mlir - Sharded attention becomes the plan of a rank ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --ringlet-partition-ring | FileCheck %s

#ring = #rlayout.layout<ring = #rlayout.ring<?, zigzag>>
#rows = #rlayout.layout<ring = #rlayout.ring<?, zigzag>, axis = 2>

// One dense branch: a plan for all pieces. The rank brings its part, whatever
// the length of the whole; the softmax begins with sums of 0 and is ended by
// small kernels.

// CHECK-LABEL: rplan.func @dense(
// CHECK-SAME:    %[[Q:[^:]+]]: memref<1x?x4x16xf32, strided<[?, ?, ?, 1]>>, %[[K:[^:]+]]: {{.+}}, %[[V:[^:]+]]: {{.+}}) outputs(%[[O:[^:]+]]: memref<1x?x4x16xf32, strided<[?, ?, ?, 1]>>, %[[L:[^:]+]]: memref<1x4x?xf32, strided<[?, ?, 1]>>)
// CHECK:         %[[M:.+]] = rplan.workspace
// CHECK:         %[[S:.+]] = rplan.workspace
// CHECK:         rplan.launch @dense_fill_sum0 {{.+}} args(%[[S]])
// CHECK:         %[[C:.+]] = rplan.exchange keys(%[[K]], %[[V]]) queries(%[[Q]]) ring(#rlayout.ring<?, zigzag>) branches [#rplan.ring_branch<begin = 0, end = 4>] rows = [4096, 4096] causal
// CHECK:         rplan.attend %[[C]] queries(%[[Q]]) state(%[[O]], %[[M]], %[[S]]) whole [@dense_whole0_branch0] part [@dense_whole0_branch0]
// CHECK:         rplan.launch @dense_finish0
// CHECK:         rplan.launch @dense_finish_lse0
// CHECK-LABEL: rplan.func @dense_whole0_branch0(
// CHECK-SAME:    memref<?x?x4x16xf32, strided<[?, ?, ?, 1]>>
// CHECK-SAME:    memref<i64>
// CHECK-SAME:    outputs({{.+}}: memref<?x?x4x16xf32, strided<[?, ?, ?, 1]>>, {{.+}}: memref<?x4x?x1xf32, strided<[?, ?, ?, 1]>>, {{.+}}: memref<?x4x?x1xf32, strided<[?, ?, ?, 1]>>)
// CHECK:         rplan.launch @dense_whole0_branch0_kernel
func.func @dense(%q: tensor<1x4096x4x16xf32, #ring>,
                 %k: tensor<1x4096x4x16xf32, #ring>,
                 %v: tensor<1x4096x4x16xf32, #ring>)
    -> (tensor<1x4096x4x16xf32, #ring>, tensor<1x4x4096xf32, #rows>) {
  %o, %l = ringlet.attention %q, %k, %v branches [<w = *, r = 1>] causal
      tilings = [#ringlet.tiling<query = 32, key = 32>]
      : (tensor<1x4096x4x16xf32, #ring>, tensor<1x4096x4x16xf32, #ring>,
         tensor<1x4096x4x16xf32, #ring>)
      -> (tensor<1x4096x4x16xf32, #ring>, tensor<1x4x4096xf32, #rows>)
  return %o, %l : tensor<1x4096x4x16xf32, #ring>, tensor<1x4x4096xf32, #rows>
}

// Two branches of grouped heads, one of them dilated: two plans each, those of the
// branch that covers every row last. A part has one key head and its two query
// heads, and a window of rows that are 4 positions apart.

// CHECK-LABEL: rplan.func @longnet(
// CHECK:         rplan.exchange {{.+}} branches [#rplan.ring_branch<w = 1024, rate = 4, begin = 0, end = 4>, #rplan.ring_branch<w = 64, begin = 0, end = 4>] rows = [-1, -1] window = [200, 0]
// CHECK:         rplan.attend {{.+}} whole [@longnet_whole0_branch1, @longnet_whole0_branch0] part [@longnet_part0_branch1, @longnet_part0_branch0]
// CHECK-LABEL: rplan.func @longnet_part0_branch1(
// CHECK-SAME:    memref<?x?x2x16xbf16, strided<[?, ?, ?, 1]>>, %{{[^:]+}}: memref<?x?x1x16xbf16, strided<[?, ?, ?, 1]>>
func.func @longnet(%q: tensor<2x?x4x16xbf16, #ring>,
                   %k: tensor<2x?x2x16xbf16, #ring>,
                   %v: tensor<2x?x2x16xbf16, #ring>)
    -> tensor<2x?x4x16xbf16, #ring> {
  %o, %l = ringlet.attention %q, %k, %v
      branches [<w = 64, r = 1>, <w = 1024, r = 4>] window = [200, 0]
      tilings = [#ringlet.tiling<query = 32, key = 32>,
                 #ringlet.tiling<query = 16, key = 16>]
      : (tensor<2x?x4x16xbf16, #ring>, tensor<2x?x2x16xbf16, #ring>,
         tensor<2x?x2x16xbf16, #ring>)
      -> (tensor<2x?x4x16xbf16, #ring>, tensor<2x4x?xf32, #rows>)
  return %o : tensor<2x?x4x16xbf16, #ring>
}

// Padded sequences, each with lengths and a position of its own: the host reads
// them, and kernels take what rows there are.

// CHECK-LABEL: rplan.func @padded(
// CHECK:         rplan.exchange {{.+}} lengths(%{{.+}} : memref<2xi64{{.*}}>, %{{.+}} : memref<2xi64{{.*}}>) offsets(%{{.+}} : memref<2xi64{{.*}}>)
// CHECK-LABEL: rplan.func @padded_whole0_branch0(
// CHECK-NOT:     lengths
// CHECK:         rplan.return
func.func @padded(%q: tensor<2x?x4x16xbf16, #ring>, %p: tensor<2xi64>,
                  %n: tensor<2xi64>, %m: tensor<2xi64>)
    -> tensor<2x?x4x16xbf16, #ring> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      q_offset(%p) lengths(%n, %m)
      tilings = [#ringlet.tiling<query = 32, key = 32>]
      : (tensor<2x?x4x16xbf16, #ring>, tensor<2x?x4x16xbf16, #ring>,
         tensor<2x?x4x16xbf16, #ring>, tensor<2xi64>, tensor<2xi64>,
         tensor<2xi64>)
      -> (tensor<2x?x4x16xbf16, #ring>, tensor<2x4x?xf32, #rows>)
  return %o : tensor<2x?x4x16xbf16, #ring>
}

// Rows that may have many keys, whatever a piece has of them: its sums begin with 0,
// move to memory within a long chunk, and what was there before joins behind them.

// CHECK-LABEL: rplan.func @many_keys_whole0_branch0(
// CHECK:         %[[EXCESS:.+]] = arith.subi %{{.+}}, %{{.+}}
// CHECK:         rplan.launch @many_keys_whole0_branch0_kernel grid
// CHECK:         %[[TOTALS:.+]] = rplan.workspace(%{{.+}}) : memref<?x?x4x16xf32>
// CHECK:         rplan.launch @many_keys_whole0_branch0_kernel_many_keys grid
// CHECK-SAME:      %[[TOTALS]]
func.func @many_keys(%q: tensor<1x?x4x16xbf16, #ring>) -> tensor<1x?x4x16xbf16, #ring> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 32, key = 32, manyKeys = <query = 32, key = 16, part = 64>>]
      : (tensor<1x?x4x16xbf16, #ring>, tensor<1x?x4x16xbf16, #ring>,
         tensor<1x?x4x16xbf16, #ring>)
      -> (tensor<1x?x4x16xbf16, #ring>, tensor<1x4x?xf32, #rows>)
  return %o : tensor<1x?x4x16xbf16, #ring>
}

// With a recipe, in the kernel that has it and in the one that computes rows again.

// CHECK-LABEL: rplan.func @recipe_whole0_branch0(
// CHECK:         rplan.launch @recipe_whole0_branch0_kernel grid
// CHECK:         rplan.launch @recipe_whole0_branch0_kernel_redo grid
func.func @recipe(%q: tensor<1x?x4x64xbf16, #ring>) -> tensor<1x?x4x64xbf16, #ring> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 128, key = 64, recipe = "fa_fwd_lazy",
                                 redo = <query = 32, key = 16, part = 256>, part = 256>]
      : (tensor<1x?x4x64xbf16, #ring>, tensor<1x?x4x64xbf16, #ring>,
         tensor<1x?x4x64xbf16, #ring>)
      -> (tensor<1x?x4x64xbf16, #ring>, tensor<1x4x?xf32, #rows>)
  return %o : tensor<1x?x4x64xbf16, #ring>
}

// The kernels of these.

// CHECK-LABEL: rtile.func @many_keys_whole0_branch0_kernel(
// CHECK-NOT:     rtile.totals
// CHECK:         scf.for
// CHECK:         rtile.load {{.+}} : !rtile.view<32x16xf32>
// CHECK:         rtile.return
// CHECK-LABEL: rtile.func @many_keys_whole0_branch0_kernel_many_keys(
// CHECK:         rtile.totals {{.+}} keys = 64 step = 16
// CHECK:         scf.for
// CHECK:         rtile.load {{.+}} : !rtile.view<32x16xf32>
// CHECK:         rtile.return
// CHECK-LABEL: rtile.func @recipe_whole0_branch0_kernel(
// CHECK:         rtile.totals {{.+}} keys = 256 step = 64
// CHECK:         rtile.return
// CHECK-LABEL: rtile.func @recipe_whole0_branch0_kernel_redo(
// CHECK:         rtile.totals {{.+}} keys = 256 step = 16
// CHECK:         rtile.return
