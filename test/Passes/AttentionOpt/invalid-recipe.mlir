//===- invalid-recipe.mlir - Recipes that are not possible ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics '--ringlet-choose-tiling=level=sm_90a recipe=fa_fwd_lazy'
// RUN: not ringlet-opt %s '--ringlet-choose-tiling=level=sm_80 recipe=fa_fwd_lazy' 2>&1 | FileCheck %s --check-prefix=OLD
// RUN: not ringlet-opt %s '--ringlet-choose-tiling=level=x86-64-v3 recipe=fa_fwd_overlap' 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not ringlet-opt %s '--ringlet-choose-tiling=level=sm_90a recipe=fast' 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// A recipe that was asked for by name and is not possible is refused with the
// condition that failed. The architecture comes first.

// OLD: error: 'ringlet.attention' op recipe fa_fwd_lazy is not possible: expected an architecture with products of warp groups and a copy engine (sm_90a), found sm_80
// CPU: error: 'ringlet.attention' op recipe fa_fwd_overlap is not possible: expected an architecture with products of warp groups and a copy engine (sm_90a), found x86-64-v3
// UNKNOWN: error: expected one of auto, plain, fa_fwd_lazy, fa_fwd_overlap, pipelined, found 'fast'

func.func @element(%x: tensor<1x64x2x64xf32>) {
  // expected-error@+1 {{recipe fa_fwd_lazy is not possible: expected elements of f16 or bf16, found f32}}
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      : (tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>) -> (tensor<1x64x2x64xf32>, tensor<1x2x64xf32>)
  return
}

// -----

func.func @depth(%x: tensor<1x64x2x20xf16>, %v: tensor<1x64x2x64xf16>) {
  // expected-error@+1 {{expected D a multiple of 8 from 16 to 256, found 20; nearest 24}}
  %o, %l = ringlet.attention %x, %x, %v branches [<w = *, r = 1>]
      : (tensor<1x64x2x20xf16>, tensor<1x64x2x20xf16>, tensor<1x64x2x64xf16>) -> (tensor<1x64x2x64xf16>, tensor<1x2x64xf32>)
  return
}

// -----

func.func @width(%x: tensor<1x64x2x64xf16>, %v: tensor<1x64x2x512xf16>) {
  // expected-error@+1 {{expected Dv a multiple of 8 from 16 to 256, found 512; nearest 256}}
  %o, %l = ringlet.attention %x, %x, %v branches [<w = *, r = 1>]
      : (tensor<1x64x2x64xf16>, tensor<1x64x2x64xf16>, tensor<1x64x2x512xf16>) -> (tensor<1x64x2x512xf16>, tensor<1x2x64xf32>)
  return
}

// -----

func.func @mix(%x: tensor<1x64x2x64xf16>) {
  // expected-error@+1 {{expected mix = softmax, found mix = sum (R2)}}
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] mix = sum
      : (tensor<1x64x2x64xf16>, tensor<1x64x2x64xf16>, tensor<1x64x2x64xf16>) -> (tensor<1x64x2x64xf16>, tensor<1x1x2x64xf32>)
  return
}

// -----

func.func @runtime(%x: tensor<1x?x2x64xf16>, %w: tensor<i64>) {
  // expected-error@+1 {{expected w and r that are known, found runtime ones (B1)}}
  %o, %l = ringlet.attention %x, %x, %x branches [<w = ?, r = 1>] sizes(%w)
      : (tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>, tensor<i64>) -> (tensor<1x?x2x64xf16>, tensor<1x2x?xf32>)
  return
}
