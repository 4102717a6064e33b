//===- explain-recipe.mlir - Why a kernel is scheduled ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// --explain gives the recipe, tiles, groups, registers, slots and walk of a
// scheduled kernel with the figures behind them; the same tiles are in both
// lines. A recipe that is asked for is honoured or refused with the condition.

// RUN: ringlet-compile %s --target=sm_90a --emit=schedule --explain 2>&1 \
// RUN:   >/dev/null | FileCheck %s
// RUN: ringlet-compile %s --target=sm_90a --recipe=plain --emit=schedule \
// RUN:   --explain 2>&1 >/dev/null | FileCheck %s --check-prefix=PLAIN
// RUN: ringlet-compile %s --target=sm_90a --recipe=fa_fwd_overlap \
// RUN:   --emit=ringlet | FileCheck %s --check-prefix=OVERLAP
// RUN: not ringlet-compile %s --target=sm_90a,sm_80 --recipe=fa_fwd_lazy \
// RUN:   -o %t.rla 2>&1 | FileCheck %s --check-prefix=REFUSED

// CHECK:      for sm_90a:
// CHECK-NEXT: ringlet-choose-order: no order: tiles are counted where lengths are known, found a dynamic number of queries
// CHECK-NEXT: ringlet-choose-tiling: branch 0 on sm_90a: recipe fa_fwd_lazy, tiles of [[Q:[0-9]+]] queries x [[K:[0-9]+]] keys: {{.+}} cycles a score by the cost model {{.+}}; rows that it marks are computed again in tiles of
// CHECK:      rtile-choose-schedule: attend_attention0_branch0: {{[0-9]+}} warps compute, 4 for every 64 of [[Q]] rows, with {{[0-9]+}} registers a thread {{.+}} slots, {{[0-9]+}} of {{[0-9]+}} bytes of shared memory
// CHECK:      rtile-verify-schedule: no role waits for ever

// PLAIN:      ringlet-choose-tiling: branch 0 on sm_90a: tiles of
// PLAIN-NOT:  recipe
// PLAIN-NOT:  rtile-choose-schedule

// OVERLAP:    recipe = "fa_fwd_overlap", redo = <

// REFUSED:    error: 'ringlet.attention' op recipe fa_fwd_lazy is not possible: expected an architecture with {{.+}} (sm_90a), found sm_80

func.func @attend(%q: tensor<1x?x2x128xbf16>) -> tensor<1x?x2x128xbf16> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] causal
      : (tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16>)
      -> (tensor<1x?x2x128xbf16>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x128xbf16>
}
