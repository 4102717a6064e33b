//===- union.mlir - Several branches in one scheduled kernel ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-compile %s --target=sm_90a --emit=schedule --require-recipe \
// RUN:   --recipe=fa_fwd_lazy | FileCheck %s
// RUN: ringlet-compile %s --target=sm_90a --emit=schedule --explain -o %t.mlir \
// RUN:   2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: FileCheck %s --check-prefix=PLAN < %t.mlir

// EXPLAIN: ringlet-choose-combine: union {{.+}} ms, {{[0-9]+}} scores a row, {{.+}}; chain {{.+}} ms
// EXPLAIN: ringlet-to-rtile: one kernel for 3 branches that computes rows of 1 of them once more, behind one for the others
// EXPLAIN: rtile-peel-first-tile: the first key tile of the list stands before 2 loops
// EXPLAIN: rtile-pipeline-loops: {{[0-9]+}} operations of a step run in the next one; the first step stands in front
// EXPLAIN: rtile-guard-masks: {{.+}}: the mask of the first key tile is skipped
// EXPLAIN: rtile-choose-schedule: {{.+}} 3 slots, {{.+}}; tiles have lists of keys of different lengths
// EXPLAIN: rtile-verify-schedule: no role waits for ever

// Each channel serves the step in front and both loops, whose views are made in
// each step; what runs late takes its place along as numbers of 32 bits.

// CHECK-LABEL: rtile.func @longnet_attention0_union(
// CHECK-SAME:    scheduled walk = <dynamic, order = [1, 2, 3, 0], section = 32>
// CHECK:         %[[K:.+]] = rtile.channel slots = 3 : !rtile.channel<128x128xbf16>
// CHECK-NEXT:    %[[V:.+]] = rtile.channel slots = 3 : !rtile.channel<128x128xbf16>
// CHECK-NOT:     rtile.channel
// CHECK:         rtile.role "load"
// CHECK:           rtile.acquire %[[K]]
// CHECK:           scf.for %{{.+}} iter_args({{.+}}) -> (i32, i32) {
// CHECK:             rtile.view
// CHECK:             rtile.acquire %[[K]]
// CHECK:             rtile.view
// CHECK:             rtile.acquire %[[V]]
// CHECK:           scf.for %{{.+}} iter_args({{.+}}) -> (i32, i32) {
// CHECK:           rtile.acquire %[[V]]
// CHECK:         rtile.role "compute"
// CHECK:           scf.for
// CHECK-NOT:         rtile.visible
// CHECK:             arith.select {{.+}} : tensor<128xf32
// CHECK:             rtile.await %[[K]], %[[V]]
// CHECK:           scf.for
// CHECK:             rtile.visible
// CHECK-LABEL: rtile.func @longnet_attention0_union_redo(
func.func @longnet(%q: tensor<1x?x16x128xbf16>) -> tensor<1x?x16x128xbf16> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1>, <w = 8192, r = 4>, <w = 32768, r = 16>]
      : (tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>) -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>)
  return %o : tensor<1x?x16x128xbf16>
}

// Under causality the last tiles of a section are the longest.

// CHECK-LABEL: rtile.func @causal_attention0_union(
// CHECK-SAME:    scheduled walk = <dynamic, order = [1, 2, 3, 0], reversed = [0], section = 64>
// CHECK:         rtile.role "compute"
// CHECK:           scf.for
// CHECK-NOT:         rtile.visible
// CHECK:             rtile.await
// CHECK:           scf.for
// CHECK:             rtile.visible {{.+}} causal
// CHECK-LABEL: rtile.func @causal_attention0_union_redo(
func.func @causal(%q: tensor<1x?x12x64xbf16>) -> tensor<1x?x12x64xbf16> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1>, <w = 4096, r = 2>, <w = 8192, r = 4>] causal
      : (tensor<1x?x12x64xbf16>, tensor<1x?x12x64xbf16>, tensor<1x?x12x64xbf16>) -> (tensor<1x?x12x64xbf16>, tensor<1x12x?xf32>)
  return %o : tensor<1x?x12x64xbf16>
}

// Each head has one branch: each branch has a kernel that is scheduled by itself.

// PLAN-LABEL: rplan.func @grouped(
// PLAN:         rplan.launch @grouped_attention0_branch0 grid(
// PLAN-NEXT:    rplan.launch @grouped_attention0_branch0_redo
// PLAN-NEXT:    rplan.launch @grouped_attention0_branch1 grid(
// PLAN-NEXT:    rplan.launch @grouped_attention0_branch1_redo
// PLAN-NEXT:    rplan.launch @grouped_attention0_branch2 grid(
// PLAN-NEXT:    rplan.launch @grouped_attention0_branch2_redo
// PLAN-NOT:     rplan.launch
// CHECK-LABEL: rtile.func @grouped_attention0_branch0(
// CHECK-SAME:    scheduled walk
// CHECK-LABEL: rtile.func @grouped_attention0_branch1(
// CHECK-SAME:    scheduled walk
// CHECK-LABEL: rtile.func @grouped_attention0_branch2(
// CHECK-SAME:    scheduled walk
func.func @grouped(%q: tensor<1x?x12x64xbf16>) -> tensor<1x?x12x64xbf16> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1, heads = [0, 4]>, <w = 4096, r = 2, heads = [4, 8]>, <w = 8192, r = 4, heads = [8, 12]>]
      mix = sum
      : (tensor<1x?x12x64xbf16>, tensor<1x?x12x64xbf16>, tensor<1x?x12x64xbf16>) -> (tensor<1x?x12x64xbf16>, tensor<3x1x12x?xf32>)
  return %o : tensor<1x?x12x64xbf16>
}

// Where all rows of an atom are one tile, half of what a tile computes of its
// own segment is hidden. One kernel leaves the branch of the greatest rate out,
// for atoms of four tiles, and another computes the rows that it has once more.

// PLAN-LABEL: rplan.func @cut(
// PLAN:         rplan.launch @cut_attention0_union grid(
// PLAN-NEXT:    rplan.launch @cut_attention0_union_redo
// PLAN-NEXT:    rplan.launch @cut_attention0_union_rows2 grid(
// PLAN-NEXT:    rplan.launch @cut_attention0_union_rows2_redo
// PLAN-NOT:     rplan.launch
// CHECK-LABEL: rtile.func @cut_attention0_union(
// CHECK:         w = 2048, rate = 4>
// CHECK-LABEL: rtile.func @cut_attention0_union_rows2(
// CHECK:         w = 2048, rate = 16>
func.func @cut(%q: tensor<1x?x16x128xbf16>) -> tensor<1x?x16x128xbf16> {
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 2048, r = 1>, <w = 8192, r = 4>, <w = 32768, r = 16>] combine = union causal
      : (tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>) -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>)
  return %o : tensor<1x?x16x128xbf16>
}
