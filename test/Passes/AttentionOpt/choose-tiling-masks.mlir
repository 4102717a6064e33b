//===- choose-tiling-masks.mlir - Tile shapes and masks ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --ringlet-choose-tiling=level=sm_80 | FileCheck %s

// What a mask by element compares takes registers beside the sums, whether it
// follows from a curve, ...

// CHECK-LABEL: func.func @curve(
// CHECK:         tilings = [#ringlet.tiling<query = 128, key = 32>]
func.func @curve(%x: tensor<1x1024x2x64xbf16>) -> tensor<1x1024x2x64xbf16> {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] causal
      pattern_order = <hilbert, grid = [32, 32]>
      : (tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16>)
      -> (tensor<1x1024x2x64xbf16>, tensor<1x2x1024xf32>)
  return %o : tensor<1x1024x2x64xbf16>
}

// ... a grid, ...

// CHECK-LABEL: func.func @near(
// CHECK:         tilings = [#ringlet.tiling<query = 128, key = 32>]
func.func @near(%x: tensor<1x1024x2x64xbf16>) -> tensor<1x1024x2x64xbf16> {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      grid_window = <grid = [32, 32], reach = [2, 2]>
      : (tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16>)
      -> (tensor<1x1024x2x64xbf16>, tensor<1x2x1024xf32>)
  return %o : tensor<1x1024x2x64xbf16>
}

// ... or blocks that tiles do not fill.

// CHECK-LABEL: func.func @small_blocks(
// CHECK:         tilings = [#ringlet.tiling<query = 128, key = 32>]
func.func @small_blocks(%x: tensor<1x1024x2x64xbf16>, %m: tensor<32x32xi1>)
    -> tensor<1x1024x2x64xbf16> {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      block_mask(%m) of [32, 32]
      : (tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16>, tensor<32x32xi1>)
      -> (tensor<1x1024x2x64xbf16>, tensor<1x2x1024xf32>)
  return %o : tensor<1x1024x2x64xbf16>
}

// Within large blocks, tiles are those of an attention without a mask.

// CHECK-LABEL: func.func @large_blocks(
// CHECK:         tilings = [#ringlet.tiling<query = [[$Q:[0-9]+]], key = [[$K:96|128]]>]
// CHECK-LABEL: func.func @dense(
// CHECK:         tilings = [#ringlet.tiling<query = [[$Q]], key = [[$K]]>]
func.func @large_blocks(%x: tensor<1x1024x2x64xbf16>, %m: tensor<4x8xi1>)
    -> tensor<1x1024x2x64xbf16> {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      block_mask(%m) of [256, 128]
      : (tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16>, tensor<4x8xi1>)
      -> (tensor<1x1024x2x64xbf16>, tensor<1x2x1024xf32>)
  return %o : tensor<1x1024x2x64xbf16>
}
func.func @dense(%x: tensor<1x1024x2x64xbf16>) -> tensor<1x1024x2x64xbf16> {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      : (tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16>, tensor<1x1024x2x64xbf16>)
      -> (tensor<1x1024x2x64xbf16>, tensor<1x2x1024xf32>)
  return %o : tensor<1x1024x2x64xbf16>
}
