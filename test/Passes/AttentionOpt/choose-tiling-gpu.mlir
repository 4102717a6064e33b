//===- choose-tiling-gpu.mlir - Tile shapes of GPUs ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --ringlet-choose-tiling=level=sm_80 | FileCheck %s
// RUN: ringlet-opt %s --ringlet-lower-to-nvvm=level=sm_80 \
// RUN:   --remarks-filter=rtile-gpu-prefetch-loads \
// RUN:   --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=AHEAD

// Tiles of 128 keys would need fewer steps, but K and V would have to share a
// place, and each step would wait for both: 96 keys leave room to load ahead.

// CHECK-LABEL: func.func @wide_heads(
// CHECK:         tilings = [#ringlet.tiling<query = 128, key = 96, manyKeys = <query = {{[0-9]+}}, key = {{[0-9]+}}, part = 16384>>]
// AHEAD: the first operand is loaded a turn ahead
func.func @wide_heads(%x: tensor<1x?x2x256xbf16>)
    -> (tensor<1x?x2x256xbf16>, tensor<1x2x?xf32>) {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      : (tensor<1x?x2x256xbf16>, tensor<1x?x2x256xbf16>, tensor<1x?x2x256xbf16>)
      -> (tensor<1x?x2x256xbf16>, tensor<1x2x?xf32>)
  return %o, %l : tensor<1x?x2x256xbf16>, tensor<1x2x?xf32>
}

// Sums over more than 2^14 keys move to memory. Where the call may have fewer,
// there are tiles for both; where it has more, one kind; where it cannot, none.

// CHECK-LABEL: func.func @any_keys(
// CHECK:         tilings = [#ringlet.tiling<query = {{[0-9]+}}, key = {{[0-9]+}}, manyKeys = <query = {{[0-9]+}}, key = {{[0-9]+}}, part = 16384>>]
func.func @any_keys(%q: tensor<1x4096x2x128xf32>, %k: tensor<1x?x2x128xf32>)
    -> tensor<1x4096x2x128xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      : (tensor<1x4096x2x128xf32>, tensor<1x?x2x128xf32>, tensor<1x?x2x128xf32>)
      -> (tensor<1x4096x2x128xf32>, tensor<1x2x4096xf32>)
  return %o : tensor<1x4096x2x128xf32>
}

// CHECK-LABEL: func.func @many_keys(
// CHECK:         tilings = [#ringlet.tiling<query = {{[0-9]+}}, key = {{[0-9]+}}, part = 16384>]
func.func @many_keys(%q: tensor<1x4096x2x128xf32>, %k: tensor<1x32768x2x128xf32>)
    -> tensor<1x4096x2x128xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      : (tensor<1x4096x2x128xf32>, tensor<1x32768x2x128xf32>, tensor<1x32768x2x128xf32>)
      -> (tensor<1x4096x2x128xf32>, tensor<1x2x4096xf32>)
  return %o : tensor<1x4096x2x128xf32>
}

// CHECK-LABEL: func.func @segments(
// CHECK:         tilings = [#ringlet.tiling<query = {{[0-9]+}}, key = {{[0-9]+}}>]
func.func @segments(%q: tensor<1x?x2x128xf32>) -> tensor<1x?x2x128xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 16384, r = 1>]
      : (tensor<1x?x2x128xf32>, tensor<1x?x2x128xf32>, tensor<1x?x2x128xf32>)
      -> (tensor<1x?x2x128xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x128xf32>
}
