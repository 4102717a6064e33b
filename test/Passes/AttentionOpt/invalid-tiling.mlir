//===- invalid-tiling.mlir - Given recipes that cannot be ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics '--ringlet-choose-tiling=level=sm_90a'
// RUN: ringlet-opt %s --split-input-file '--ringlet-choose-tiling=level=x86-64-v3' | FileCheck %s --check-prefix=OTHER
// RUN: ringlet-opt %s --split-input-file '--ringlet-choose-tiling=level=sm_80' | FileCheck %s --check-prefix=OTHER

// A recipe that stands in the graph has been chosen by somebody, who is told
// where a GPU with recipes cannot follow it. Others take the tiles.

// OTHER-LABEL: func.func @registers
// OTHER: recipe = "fa_fwd_lazy"
func.func @registers(%x: tensor<1x?x2x256xf16>) {
  // expected-error@+1 {{recipe fa_fwd_lazy is not possible: expected at most 160 registers a thread, 3 groups of 64 rows, found 256: 224 for tiles, 32 for the rest}}
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 192, key = 128, recipe = "fa_fwd_lazy", redo = <query = 64, key = 64>>]
      : (tensor<1x?x2x256xf16>, tensor<1x?x2x256xf16>, tensor<1x?x2x256xf16>) -> (tensor<1x?x2x256xf16>, tensor<1x2x?xf32>)
  return
}

// -----

func.func @query_rows(%x: tensor<1x?x2x64xf16>) {
  // expected-error@+1 {{expected query tiles of a multiple of 64 rows up to 256, found 100; nearest 128}}
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 100, key = 64, recipe = "fa_fwd_lazy", redo = <query = 64, key = 64>>]
      : (tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>) -> (tensor<1x?x2x64xf16>, tensor<1x2x?xf32>)
  return
}

// -----

// What the copy engine takes at once.
func.func @many_rows(%x: tensor<1x?x2x64xf16>) {
  // expected-error@+1 {{expected key tiles of a multiple of 16 rows up to 256, found 272; nearest 256}}
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 64, key = 272, recipe = "fa_fwd_lazy", redo = <query = 64, key = 64>>]
      : (tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>) -> (tensor<1x?x2x64xf16>, tensor<1x2x?xf32>)
  return
}

// -----

func.func @key_rows(%x: tensor<1x?x2x64xf16>) {
  // expected-error@+1 {{expected key tiles of a multiple of 16 rows up to 256, found 7; nearest 16}}
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 64, key = 7, recipe = "fa_fwd_lazy", redo = <query = 64, key = 64>>]
      : (tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>, tensor<1x?x2x64xf16>) -> (tensor<1x?x2x64xf16>, tensor<1x2x?xf32>)
  return
}

// -----

// The attention, not its tiles.
func.func @element(%x: tensor<1x?x2x64xf32>) {
  // expected-error@+1 {{expected elements of f16 or bf16, found f32}}
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 64, key = 64, recipe = "fa_fwd_lazy", redo = <query = 64, key = 64>>]
      : (tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>) -> (tensor<1x?x2x64xf32>, tensor<1x2x?xf32>)
  return
}
