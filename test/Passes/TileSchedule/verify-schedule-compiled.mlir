//===- verify-schedule-compiled.mlir - What the passes make ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Every schedule that the compiler makes is verified on its way.

// RUN: ringlet-compile %s --target=sm_90a --recipe=fa_fwd_lazy \
// RUN:   --emit=schedule --explain -o %t.mlir 2>&1 | FileCheck %s
// RUN: ringlet-compile %s --target=sm_90a --recipe=fa_fwd_overlap \
// RUN:   --emit=schedule --explain -o %t.mlir 2>&1 | FileCheck %s

// CHECK-COUNT-13: rtile-verify-schedule: no role waits for ever
// CHECK-NOT:     rtile-verify-schedule

!short = tensor<1x?x4x64xf16>
!middle = tensor<1x?x4x128xbf16>
!long = tensor<1x?x4x256xbf16>

func.func @full(%x: !short) -> !short {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      : (!short, !short, !short) -> (!short, tensor<1x4x?xf32>)
  return %o : !short
}

func.func @causal(%x: !middle) -> !middle {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] causal
      : (!middle, !middle, !middle) -> (!middle, tensor<1x4x?xf32>)
  return %o : !middle
}

func.func @window(%x: !middle) -> !middle {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      window = [300, 77]
      : (!middle, !middle, !middle) -> (!middle, tensor<1x4x?xf32>)
  return %o : !middle
}

func.func @long(%x: !long) -> !long {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] causal
      : (!long, !long, !long) -> (!long, tensor<1x4x?xf32>)
  return %o : !long
}

func.func @dilated(%x: !middle) -> !middle {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = 4096, r = 2>] causal
      : (!middle, !middle, !middle) -> (!middle, tensor<1x4x?xf32>)
  return %o : !middle
}
