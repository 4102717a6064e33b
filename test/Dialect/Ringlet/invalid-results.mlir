//===- invalid-results.mlir - Results, orders and generic forms that are refused ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

// Section 3: results and numbers.

func.func @r4_output_type(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected output of element type 'f32', found 'bf16' (R4)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xbf16>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @output_shape(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x24xf32>) {
  // expected-error@+1 {{expected output of [1, 64, 4, 24], found [1, 64, 4, 16] (section 3)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x24xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @r1_lse_shape(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected lse of [1, 4, 64], found [1, 64, 4] (section 3)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x64x4xf32>)
  return
}

// -----

func.func @r1_lse_type(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{result #1 must be ranked tensor of 32-bit float values}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf64>)
  return
}

// -----

func.func @r2_lse_has_a_branch_axis(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected lse of [2, 1, 4, 64], found [1, 4, 64] (section 3)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>, <w = 16, r = 2>] mix = sum
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @r2_output_scale_under_softmax(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected output_scale only with mix = sum (R2)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] output_scale = 0.5
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @r2_output_scale_infinite(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected output_scale within +-1e38, found INF (R2, R4)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] mix = sum output_scale = 0x7FF0000000000000
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x1x4x64xf32>)
  return
}

// -----

func.func @scale_nan(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected scale within +-1e38, found nan (R4)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] scale = 0x7FF8000000000000
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

// In f32 this factor is infinite, and a score of zero would be NaN.

func.func @r4_scale_huge(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected scale within +-1e38, found -1.000000e+39 (R4)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] scale = -1.0e39
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @softcap_zero(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected a positive finite softcap, found 0.000000e+00 (section 3)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] softcap = 0.0
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @softcap_negative(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected a positive finite softcap, found -1.000000e+00 (section 3)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] softcap = -1.0
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @r3_sink_count(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>, %s: tensor<3xf32>) {
  // expected-error@+1 {{expected one sink for each of the 4 query heads, found 3 (R3)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] sink(%s)
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<3xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @tilings_count(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected one tiling for each of the 1 branches, found 0}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] tilings = []
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @tiling_side(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected tile sides in [1, 1024], found 0}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] tilings = [#ringlet.tiling<query = 0, key = 64>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @tiling_overflow(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected tile sides in [1, 1024], found 9223372036854775807}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] tilings = [#ringlet.tiling<query = 64, key = 9223372036854775807>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @recipe_without_redo(%q: tensor<1x64x4x16xf16>) {
  // expected-error@+1 {{expected recipe and redo together, found recipe alone}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] tilings = [#ringlet.tiling<query = 64, key = 64, recipe = "fa_fwd_lazy">]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @redo_without_recipe(%q: tensor<1x64x4x16xf16>) {
  // expected-error@+1 {{expected recipe and redo together, found redo alone}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] tilings = [#ringlet.tiling<query = 64, key = 64, redo = <query = 16, key = 16>>]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @redo_of_redo(%q: tensor<1x64x4x16xf16>) {
  // expected-error@+1 {{expected the tiles of redo to be plain, found recipe fa_fwd_lazy}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] tilings = [#ringlet.tiling<query = 64, key = 64, recipe = "fa_fwd_lazy", redo = <query = 16, key = 16, recipe = "fa_fwd_lazy", redo = <query = 16, key = 16>>>]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @many_keys_without_part(%q: tensor<1x64x4x16xf16>) {
  // expected-error@+1 {{expected the tiles of manyKeys to be plain ones with a part, found #ringlet.tiling<query = 16, key = 16>}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] tilings = [#ringlet.tiling<query = 64, key = 64, manyKeys = <query = 16, key = 16>>]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @many_keys_of_many_keys(%q: tensor<1x64x4x16xf16>) {
  // expected-error@+1 {{expected the tiles of manyKeys to be plain ones with a part, found}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] tilings = [#ringlet.tiling<query = 64, key = 64, manyKeys = <query = 16, key = 16, manyKeys = <query = 16, key = 16, part = 32>>>]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @many_keys_beside_part(%q: tensor<1x64x4x16xf16>) {
  // expected-error@+1 {{expected manyKeys beside tiles without recipe and part, found a part}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] tilings = [#ringlet.tiling<query = 64, key = 64, part = 64, manyKeys = <query = 16, key = 16, part = 32>>]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @many_keys_beside_recipe(%q: tensor<1x64x4x16xf16>) {
  // expected-error@+1 {{expected manyKeys beside tiles without recipe and part, found a recipe}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] tilings = [#ringlet.tiling<query = 64, key = 64, recipe = "fa_fwd_lazy", redo = <query = 16, key = 16>, manyKeys = <query = 16, key = 16, part = 32>>]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @most_below_a_tile(%q: tensor<1x64x4x16xf16>) {
  // expected-error@+1 {{expected most 0 or at least the 32 keys of a tile, found 16}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] tilings = [#ringlet.tiling<query = 64, key = 64>] split_kv = [<rows = 16, key = 32, heads = 1, part = 256, queries = 16, most = 16>]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @no_points(%q: tensor<1x64x4x16xf16>) {
  // expected-error@+1 {{expected points in [1, 64], found 0}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] tilings = [#ringlet.tiling<query = 64, key = 64>] split_kv = [<rows = 16, key = 32, heads = 1, part = 256, queries = 16, points = 0>]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @unnamed_recipe(%q: tensor<1x64x4x16xf16>) {
  // expected-error@+1 {{expected the name of a recipe, found an empty one}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] split_kv = [<rows = 16, key = 32, heads = 1, part = 256, queries = 16, recipe = "">]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @no_fewest_parts(%q: tensor<1x64x4x16xf16>) {
  // expected-error@+1 {{expected fewestParts in [1, 64], found 0}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] split_kv = [<rows = 16, key = 32, heads = 1, part = 256, queries = 16, fewestParts = 0>]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @splits_in_no_order(%q: tensor<1x64x4x16xf16>) {
  // expected-error@+1 {{expected split_kv for more queries than the 16 of the one before, found 16}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] split_kv = [<rows = 16, key = 32, heads = 1, part = 256, queries = 16>, <rows = 32, key = 32, heads = 1, part = 256, queries = 16>]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @redo_side(%q: tensor<1x64x4x16xf16>) {
  // expected-error@+2 {{expected tile sides in [1, 1024], found 0}}
  // expected-error@+1 {{failed to parse Ringlet_TilingAttr parameter 'redo'}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] tilings = [#ringlet.tiling<query = 64, key = 64, recipe = "fa_fwd_lazy", redo = <query = 16, key = 0>>]
      : (tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>, tensor<1x64x4x16xf16>) -> (tensor<1x64x4x16xf16>, tensor<1x4x64xf32>)
  return
}

// -----

// O1: memory orders.

func.func @o1_key_and_value_orders(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32, #rlayout.layout<order = <residue<4>>>>) {
  // expected-error@+1 {{expected key and value in the same order (O1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32, #rlayout.layout<order = <residue<4>>>>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @o1_output_order(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected output and lse in the order of query (O1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32, #rlayout.layout<order = <residue<4>>>>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @o1_foreign_encoding(%q: tensor<1x64x4x16xf32, #rlayout.order<linear>>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected an #rlayout.layout encoding of query, found #rlayout.order<linear> (O1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32, #rlayout.order<linear>>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32, #rlayout.order<linear>>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @o1_wrong_axis(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32, #rlayout.layout<order = <residue<4>>, axis = 2>>, %v: tensor<1x64x4x16xf32, #rlayout.layout<order = <residue<4>>, axis = 2>>) {
  // expected-error@+1 {{expected the layout of key on its sequence axis, 1, found axis 2 (O1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32, #rlayout.layout<order = <residue<4>>, axis = 2>>, tensor<1x64x4x16xf32, #rlayout.layout<order = <residue<4>>, axis = 2>>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @o1_wrong_lse_axis(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected the layout of lse on its sequence axis, 2, found axis 1 (O1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32, #rlayout.layout<order = <residue<4>>>>)
  return
}

// -----

// An order restarts with each packed sequence, whose length only the device
// knows: without a chunk it would fit sequences of one length.

#hilbert = #rlayout.layout<order = #rlayout.order<hilbert, grid = [4, 2]>, axis = 0>
func.func @packed_along_a_curve(%q: tensor<8x2x16xf32>, %k: tensor<8x2x16xf32, #hilbert>, %c: tensor<3xi64>) {
  // expected-error@+1 {{expected an order with a chunk of packed key and value, found #rlayout.order<hilbert, grid = [4, 2]> (O1, S2); nearest legal choice: chunk = 8}}
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] packed(%c, %c)
      : (tensor<8x2x16xf32>, tensor<8x2x16xf32, #hilbert>, tensor<8x2x16xf32, #hilbert>, tensor<3xi64>, tensor<3xi64>)
      -> (tensor<8x2x16xf32>, tensor<2x8xf32>)
  return
}

// -----

#residue = #rlayout.layout<order = #rlayout.order<residue<3>>, axis = 0>
#residue1 = #rlayout.layout<order = #rlayout.order<residue<3>>, axis = 1>
func.func @packed_by_residues(%q: tensor<16x2x16xf32, #residue>, %k: tensor<16x2x16xf32>, %c: tensor<3xi64>) {
  // expected-error@+1 {{expected an order with a chunk of packed query, found #rlayout.order<residue<3>> (O1, S2); nearest legal choice: a chunk of the longest sequence}}
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] packed(%c, %c)
      : (tensor<16x2x16xf32, #residue>, tensor<16x2x16xf32>, tensor<16x2x16xf32>, tensor<3xi64>, tensor<3xi64>)
      -> (tensor<16x2x16xf32, #residue>, tensor<2x16xf32, #residue1>)
  return
}

// -----

// The generic form with parts missing or of the wrong kind.

func.func @generic_no_branches(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{requires attribute 'branches'}}
  %o, %lse = "ringlet.attention"(%q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @generic_branches_of_numbers(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{attribute 'branches' failed to satisfy constraint: list of branches}}
  %o, %lse = "ringlet.attention"(%q, %q, %q) <{branches = [3], operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @generic_branches_is_a_number(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{Invalid attribute `branches` in property conversion}}
  %o, %lse = "ringlet.attention"(%q, %q, %q) <{branches = 3, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @generic_negative_segment(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{'operandSegmentSizes' attribute cannot have negative elements}}
  %o, %lse = "ringlet.attention"(%q, %q, %q) <{branches = [#ringlet.branch<w = 8, r = 1>], operandSegmentSizes = array<i32: 1, 1, -1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0>}>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @generic_few_segments(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{size mismatch in attribute conversion: 3 vs 15}}
  %o, %lse = "ringlet.attention"(%q, %q, %q) <{branches = [#ringlet.branch<w = 8, r = 1>], operandSegmentSizes = array<i32: 1, 1, 1>}>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @generic_window_empty(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{attribute 'window' failed to satisfy constraint}}
  %o, %lse = "ringlet.attention"(%q, %q, %q) <{branches = [#ringlet.branch<w = 8, r = 1>], window = array<i64>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @generic_window_minimum(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected window sides of at least 0, or -1 for no limit, found -9223372036854775808 (B4)}}
  %o, %lse = "ringlet.attention"(%q, %q, %q) <{branches = [#ringlet.branch<w = 8, r = 1>], window = array<i64: -9223372036854775808, 0>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @generic_tilings_mixed(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{attribute 'tilings' failed to satisfy constraint: tilings}}
  %o, %lse = "ringlet.attention"(%q, %q, %q) <{branches = [#ringlet.branch<w = 8, r = 1>], tilings = [5], operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

// Reorders.

func.func @reorder_type(%x: tensor<1x64xf32>) {
  // expected-error@+1 {{expected a result of element type 'f32', found 'bf16'}}
  %y = ringlet.reorder %x : tensor<1x64xf32> to tensor<1x64xbf16>
  return
}

// -----

func.func @reorder_shape(%x: tensor<1x64xf32>) {
  // expected-error@+1 {{expected a result of the operand's shape}}
  %y = ringlet.reorder %x : tensor<1x64xf32> to tensor<64x1xf32>
  return
}

// -----

func.func @o1_reorder_encoding(%x: tensor<1x64xf32>) {
  // expected-error@+1 {{expected an #rlayout.layout encoding, found #rlayout.order<linear> (O1)}}
  %y = ringlet.reorder %x : tensor<1x64xf32> to tensor<1x64xf32, #rlayout.order<linear>>
  return
}

// -----

func.func @o1_reorder_axes(%x: tensor<64x64xf32, #rlayout.layout<order = <hilbert, grid = [8, 8]>>>) {
  // expected-error@+1 {{expected one sequence axis, found 1 and 0 (O1)}}
  %y = ringlet.reorder %x : tensor<64x64xf32, #rlayout.layout<order = <hilbert, grid = [8, 8]>>> to tensor<64x64xf32, #rlayout.layout<order = <residue<4>>, axis = 0>>
  return
}

// -----

func.func @g1_reorder_ring(%x: tensor<1x64xf32>) {
  // expected-error@+1 {{expected the same ring on both sides: a reorder moves no token to another rank (G1)}}
  %y = ringlet.reorder %x : tensor<1x64xf32> to tensor<1x64xf32, #rlayout.layout<ring = <4, zigzag>>>
  return
}

// -----

func.func @o1_reorder_scalar(%x: tensor<f32>) {
  // expected-error@+1 {{expected rank of at least 2, found 0 (O1)}}
  %y = ringlet.reorder %x : tensor<f32> to tensor<f32>
  return
}
