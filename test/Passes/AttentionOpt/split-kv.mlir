//===- split-kv.mlir - Kernels for few queries ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-choose-tiling=level=x86-64-v4 | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --ringlet-choose-tiling=level=x86-64-v4 \
// RUN:   --remarks-filter='ringlet-.*' --remark-format=emitRemark -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: ringlet-opt %s --split-input-file --ringlet-choose-tiling=level=sm_90a | FileCheck %s --check-prefix=GPU

// A length that only the call knows may be short: the 4 heads of a key head share
// a tile, which has the rows of one vector.

// REMARK: few queries on x86-64-v4: up to [[UP:[0-9]+]] queries in tiles of 16 rows (4 heads together) x {{[0-9]+}} keys, split over keys among processors, 4 points for each, in parts of at least 256: one query takes {{[0-9]+}} cycles a key by the cost model, {{[0-9]+}} in tiles for many

// CHECK-LABEL: func.func @any_length(
// CHECK:         split_kv = [<rows = 16, key = {{[0-9]+}}, heads = 4, part = 256, queries = {{[0-9]+}}>]
// GPU-LABEL:   func.func @any_length(
// GPU:           split_kv = [<rows = 16, key = {{[0-9]+}}, heads = 4, part = 128, queries = {{[0-9]+}}, manyParts = 64, fewestKeys = 256, mergeColumns = 32, mergeStates = 16, most = 16384
func.func @any_length(%q: tensor<1x?x8x64xf32>, %k: tensor<1x?x2x64xf32>)
    -> tensor<1x?x8x64xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      : (tensor<1x?x8x64xf32>, tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>)
      -> (tensor<1x?x8x64xf32>, tensor<1x8x?xf32>)
  return %o : tensor<1x?x8x64xf32>
}

// -----

// One that is known to be long has nothing of that.

// REMARK: no kernels for few queries on x86-64-v4: up to {{[0-9]+}} queries

// CHECK-LABEL: func.func @long(
// CHECK-NOT:     split_kv
// CHECK:         return
// GPU-LABEL:   func.func @long(
// GPU-NOT:       split_kv
// GPU:           return
func.func @long(%q: tensor<1x4096x8x64xf32>, %k: tensor<1x?x2x64xf32>)
    -> tensor<1x4096x8x64xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      : (tensor<1x4096x8x64xf32>, tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>)
      -> (tensor<1x4096x8x64xf32>, tensor<1x8x4096xf32>)
  return %o : tensor<1x4096x8x64xf32>
}

// -----

// More heads of a key head than one vector has lanes get a taller tile; heads
// that lie in different residues, or not all in a branch, tiles of their own.

// CHECK-LABEL: func.func @one_key_head(
// CHECK:         split_kv = [<rows = 32, key = {{[0-9]+}}, heads = 32,
func.func @one_key_head(%q: tensor<1x1x32x64xf32>, %k: tensor<1x?x1x64xf32>)
    -> tensor<1x1x32x64xf32> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      : (tensor<1x1x32x64xf32>, tensor<1x?x1x64xf32>, tensor<1x?x1x64xf32>)
      -> (tensor<1x1x32x64xf32>, tensor<1x32x1xf32>)
  return %o : tensor<1x1x32x64xf32>
}

// CHECK-LABEL: func.func @residues(
// CHECK:         split_kv = [<rows = 16, key = {{[0-9]+}}, heads = 4,
// CHECK:         split_kv = [<rows = 16, key = {{[0-9]+}}, heads = 1,
// CHECK:         split_kv = [<rows = 16, key = {{[0-9]+}}, heads = 1,
func.func @residues(%q: tensor<1x1x8x64xf32>, %k: tensor<1x?x2x64xf32>)
    -> (tensor<1x1x8x64xf32>, tensor<1x1x8x64xf32>, tensor<1x1x8x64xf32>) {
  %a, %l = ringlet.attention %q, %k, %k branches [<w = 4096, r = 2>]
      : (tensor<1x1x8x64xf32>, tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>)
      -> (tensor<1x1x8x64xf32>, tensor<1x8x1xf32>)
  %b, %m = ringlet.attention %q, %k, %k branches [<w = 4096, r = 2, by = query>]
      : (tensor<1x1x8x64xf32>, tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>)
      -> (tensor<1x1x8x64xf32>, tensor<1x8x1xf32>)
  %c, %n = ringlet.attention %q, %k, %k branches [<w = *, r = 1, heads = [0, 2]>]
      : (tensor<1x1x8x64xf32>, tensor<1x?x2x64xf32>, tensor<1x?x2x64xf32>)
      -> (tensor<1x1x8x64xf32>, tensor<1x8x1xf32>)
  return %a, %b, %c : tensor<1x1x8x64xf32>, tensor<1x1x8x64xf32>, tensor<1x1x8x64xf32>
}

// -----

// What has no split says why.

// REMARK: no kernels for few queries on x86-64-v4: keys follow a window on a grid (B5)

// CHECK-LABEL: func.func @on_a_grid(
// CHECK-NOT:     split_kv
// CHECK:         return
func.func @on_a_grid(%x: tensor<1x64x2x64xf32>) -> tensor<1x64x2x64xf32> {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      grid_window = <grid = [8, 8], reach = [1, 1]>
      : (tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>, tensor<1x64x2x64xf32>)
      -> (tensor<1x64x2x64xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x64xf32>
}

// -----

// A card with roles has tiles of one and two groups of warps beside: for as many
// rows as those have, for up to 64 queries, and for up to 512 whose tiles leave
// multiprocessors without work. Wide heads leave no registers for rows that
// threads load; a known number of queries is for one of them.

// GPU-LABEL: func.func @with_recipe(
// GPU:         split_kv = [<rows = 16, key = {{[0-9]+}}, heads = 4, part = 128, queries = 4,
// GPU-SAME:      <rows = 64, key = {{[0-9]+}}, heads = 4, part = 128, queries = 16, {{[^>]*}}points = 1, recipe = "fa_fwd_overlap">,
// GPU-SAME:      <rows = 128, key = {{[0-9]+}}, heads = 4, part = 128, queries = 64, {{[^>]*}}points = 1, recipe = "fa_fwd_overlap">,
// GPU-SAME:      <rows = 128, key = {{[0-9]+}}, heads = 4, part = 1024, queries = 512, {{[^>]*}}fewestKeys = 2048, {{[^>]*}}recipe = "fa_fwd_overlap", fewestParts = 2>]
func.func @with_recipe(%q: tensor<1x?x8x128xbf16>, %k: tensor<1x?x2x128xbf16>)
    -> tensor<1x?x8x128xbf16> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      : (tensor<1x?x8x128xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16>)
      -> (tensor<1x?x8x128xbf16>, tensor<1x8x?xf32>)
  return %o : tensor<1x?x8x128xbf16>
}

// GPU-LABEL: func.func @wide(
// GPU:         split_kv = [<rows = 16, {{[^>]*}}>]
func.func @wide(%q: tensor<1x?x8x256xbf16>, %k: tensor<1x?x2x256xbf16>)
    -> tensor<1x?x8x256xbf16> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      : (tensor<1x?x8x256xbf16>, tensor<1x?x2x256xbf16>, tensor<1x?x2x256xbf16>)
      -> (tensor<1x?x8x256xbf16>, tensor<1x8x?xf32>)
  return %o : tensor<1x?x8x256xbf16>
}

// GPU-LABEL: func.func @ten(
// GPU:         split_kv = [<rows = 64, {{[^>]*}}queries = 16, {{[^>]*}}>]
func.func @ten(%q: tensor<1x10x8x128xbf16>, %k: tensor<1x?x2x128xbf16>)
    -> tensor<1x10x8x128xbf16> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      : (tensor<1x10x8x128xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16>)
      -> (tensor<1x10x8x128xbf16>, tensor<1x8x10xf32>)
  return %o : tensor<1x10x8x128xbf16>
}
