//===- pipeline.mlir - Attention, scheduled ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --ringlet-lower-to-rtile=level=sm_90a --rtile-schedule=level=sm_90a --mlir-use-nameloc-as-prefix | FileCheck %s
// RUN: ringlet-compile %s --target=sm_90a --emit=schedule -o - | FileCheck %s
// For an architecture without the instructions, and for a CPU, kernels stay
// plain; the form is printed all the same.
// RUN: ringlet-opt %s --ringlet-lower-to-rtile=level=sm_90a --rtile-schedule=level=sm_80 | FileCheck %s --check-prefix=PLAIN
// RUN: ringlet-opt %s --ringlet-lower-to-rtile=level=sm_90a --rtile-schedule=level=x86-64-v3 | FileCheck %s --check-prefix=PLAIN
// RUN: ringlet-compile %s --target=sm_80 --emit=schedule -o - | FileCheck %s --check-prefix=PLAIN
// RUN: ringlet-compile %s --emit=schedule -o - | FileCheck %s --check-prefix=PLAIN

// PLAIN-LABEL: rtile.func @causal_attention0_branch0(
// PLAIN-NOT:     rtile.role
// PLAIN-LABEL: rtile.func @left_attention0_branch0(
// PLAIN-NOT:     rtile.role
// PLAIN-LABEL: rtile.func @dilated_attention0_branch0(
// PLAIN-NOT:     rtile.role
// PLAIN-LABEL: rtile.func @narrow_attention0_branch0(
// PLAIN-NOT:     rtile.role
// PLAIN-LABEL: rtile.func @wide_attention0_branch0(
// PLAIN-NOT:     rtile.role

// Causal: the last tiles of queries first. Two loops after the first tile, of
// masked steps and of steps without a mask, in both roles.

// CHECK-LABEL: rtile.func @causal_attention0_branch0(
// CHECK-SAME:    scheduled walk = <dynamic, order = [1, 2, 0], reversed = [0], section = 1, rows = 65536, length = [1, 1], per_block = 6> {
// CHECK:         %[[STEP:.+]] = arith.constant 128 : index
// CHECK:         %q_slots = rtile.channel slots = 1 : !rtile.channel<128x128xbf16>
// CHECK:         %k_slots = rtile.channel slots = 2 : !rtile.channel<128x128xbf16>
// CHECK:         %v_slots = rtile.channel slots = 2 : !rtile.channel<128x128xbf16>
// CHECK:         rtile.role "load" warps = 4 registers = 40 {
// CHECK-COUNT-2:   rtile.copy
// CHECK:           %[[MASKED:.+]] = scf.for %{{.+}} = %[[C0:.+]] to %[[HIDDEN_END:.+]] step %[[STEP]] iter_args({{.+}}) -> (index) {
// CHECK-COUNT-2:     rtile.copy
// CHECK:           %[[WHOLE:.+]] = scf.for %{{.+}} = %[[HIDDEN_END]] to %[[WHOLE_END:.+]] step %[[STEP]] iter_args(%{{.+}} = %[[MASKED]]) -> (index) {
// CHECK-COUNT-2:     rtile.copy
// CHECK:           %[[V_SLOT:.+]] = rtile.acquire %v_slots
// CHECK-NEXT:      rtile.copy %v[%[[WHOLE]], %[[C0]]] to %[[V_SLOT]]
// CHECK-NEXT:    }
// CHECK:         rtile.role "compute" warps = 8 registers = 232 {
// CHECK:           rtile.read %{{.+}} -> tensor<128x128xbf16, #rtile.fragment<8>>
// CHECK:           rtile.start_dot
// CHECK:           scf.for %{{.+}} = %[[C0]] to %[[HIDDEN_END]] step %[[STEP]]
// CHECK:             rtile.await %k_slots, %v_slots
// CHECK:             rtile.start_dot %{{.+}} transposed
// CHECK:             rtile.start_dot %{{.+}} init
// CHECK:             rtile.visible
// CHECK:             rtile.finish_dot %{{.+}} : tensor<128x128xf32
// CHECK:             rtile.finish_dot %{{.+}} after(%{{.+}} : tensor<128x8xf32
// CHECK:             rtile.rebase
// CHECK:             arith.truncf
// CHECK-NEXT:        scf.yield
// CHECK:           scf.for %{{.+}} = %[[HIDDEN_END]] to %[[WHOLE_END]] step %[[STEP]]
// CHECK-NOT:         rtile.visible
// CHECK:             rtile.rebase
// CHECK:             scf.yield
// CHECK:           rtile.finish_dot %{{.+}} after(
// CHECK:           rtile.return

// The kernel that repairs marked rows is none to schedule.

// CHECK-LABEL: rtile.func @causal_attention0_branch0_redo(
// CHECK-NOT:     rtile.role
// CHECK:         rtile.return
func.func @causal(%q: tensor<1x?x16x128xbf16>, %k: tensor<1x?x16x128xbf16>, %v: tensor<1x?x16x128xbf16>)
    -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>) {
  %output, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>] causal
      tilings = [#ringlet.tiling<query = 128, key = 128, recipe = "fa_fwd_lazy", redo = <query = 64, key = 64>>]
      : (tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>)
      -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>)
  return %output, %lse : tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>
}

// A left window: a third loop.

// CHECK-LABEL: rtile.func @left_attention0_branch0(
// CHECK-SAME:    scheduled walk = <dynamic
// CHECK:         rtile.role "load"
// CHECK-COUNT-3:   scf.for
// CHECK:         rtile.role "compute"
// CHECK-COUNT-3:   scf.for
// CHECK:         rtile.return
func.func @left(%q: tensor<1x?x16x128xbf16>, %k: tensor<1x?x16x128xbf16>, %v: tensor<1x?x16x128xbf16>)
    -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>) {
  %output, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>] window = [1024, 256]
      tilings = [#ringlet.tiling<query = 128, key = 128, recipe = "fa_fwd_overlap", redo = <query = 64, key = 64>>]
      : (tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>, tensor<1x?x16x128xbf16>)
      -> (tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>)
  return %output, %lse : tensor<1x?x16x128xbf16>, tensor<1x16x?xf32>
}

// One dilated branch: every tile of a segment sees the same keys, and no key
// tile crosses its end.

// CHECK-LABEL: rtile.func @dilated_attention0_branch0(
// CHECK-SAME:    scheduled walk = <strided> {
// CHECK:         %k = rtile.view {{.+}} segment(%segment{{.*}}) residue(%residue) : {{.+}} to !rtile.view<128x128xf16, w = 8192, rate = 4>
// CHECK:         rtile.role "load"
// CHECK:         rtile.role "compute"
// CHECK:           bound = 10
// CHECK:         rtile.return
func.func @dilated(%q: tensor<1x131072x16x128xf16>, %k: tensor<1x131072x16x128xf16>, %v: tensor<1x131072x16x128xf16>)
    -> (tensor<1x131072x16x128xf16>, tensor<1x16x131072xf32>) {
  %output, %lse = ringlet.attention %q, %k, %v branches [<w = 8192, r = 4>]
      tilings = [#ringlet.tiling<query = 128, key = 128, recipe = "fa_fwd_lazy", redo = <query = 64, key = 64>>]
      : (tensor<1x131072x16x128xf16>, tensor<1x131072x16x128xf16>, tensor<1x131072x16x128xf16>)
      -> (tensor<1x131072x16x128xf16>, tensor<1x16x131072xf32>)
  return %output, %lse : tensor<1x131072x16x128xf16>, tensor<1x16x131072xf32>
}

// Three groups of 64 rows; the query tile stays in its slot, which is given back
// after the last product of scores.

// CHECK-LABEL: rtile.func @narrow_attention0_branch0(
// CHECK:         rtile.role "load" warps = 4 registers = 32 {
// CHECK:         rtile.role "compute" warps = 12 registers = 160 {
// CHECK:           %[[Q_SLOT:.+]] = rtile.await %q_slots
// CHECK-NEXT:      rtile.read %[[Q_SLOT]] : !rtile.slot<192x64xbf16> -> tensor<192x64xbf16, #rtile.swizzled>
// CHECK:           scf.for
// CHECK-NOT:         rtile.release %[[Q_SLOT]]
// CHECK:             scf.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      rtile.release %[[Q_SLOT]]
// CHECK-NEXT:      rtile.await %v_slots
func.func @narrow(%q: tensor<1x?x32x64xbf16>, %k: tensor<1x?x32x64xbf16>, %v: tensor<1x?x32x64xbf16>)
    -> (tensor<1x?x32x64xbf16>, tensor<1x32x?xf32>) {
  %output, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 192, key = 128, recipe = "fa_fwd_lazy", redo = <query = 64, key = 64>>]
      : (tensor<1x?x32x64xbf16>, tensor<1x?x32x64xbf16>, tensor<1x?x32x64xbf16>)
      -> (tensor<1x?x32x64xbf16>, tensor<1x32x?xf32>)
  return %output, %lse : tensor<1x?x32x64xbf16>, tensor<1x32x?xf32>
}

// 256 columns: key tiles of 80 rows, in parts of 48 and 32 columns.

// CHECK-LABEL: rtile.func @wide_attention0_branch0(
// CHECK:         rtile.channel slots = 2 : !rtile.channel<80x256xbf16>
// CHECK:         rtile.role "compute" warps = 8 registers = 232 {
// CHECK:           rtile.read %{{.+}} : !rtile.slot<128x256xbf16> -> tensor<128x256xbf16, #rtile.swizzled>
// CHECK:           scf.for
// CHECK:             rtile.slice %[[S:.+]][0] : {{.+}} -> tensor<128x48xf32
// CHECK:             rtile.finish_dot %{{.+}} after
// CHECK:             rtile.slice %[[S]][48] : {{.+}} -> tensor<128x32xf32
func.func @wide(%q: tensor<1x?x8x256xbf16>, %k: tensor<1x?x8x256xbf16>, %v: tensor<1x?x8x256xbf16>)
    -> (tensor<1x?x8x256xbf16>, tensor<1x8x?xf32>) {
  %output, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 128, key = 80, recipe = "fa_fwd_lazy", redo = <query = 64, key = 64>>]
      : (tensor<1x?x8x256xbf16>, tensor<1x?x8x256xbf16>, tensor<1x?x8x256xbf16>)
      -> (tensor<1x?x8x256xbf16>, tensor<1x8x?xf32>)
  return %output, %lse : tensor<1x?x8x256xbf16>, tensor<1x8x?xf32>
}
