//===- choose-recipe.mlir - Recipes and their tiles ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file '--ringlet-choose-tiling=level=sm_90a' | FileCheck %s
// RUN: ringlet-opt %s --split-input-file '--ringlet-choose-tiling=level=sm_90a recipe=plain' | FileCheck %s --check-prefix=PLAIN
// RUN: ringlet-opt %s --split-input-file '--ringlet-choose-tiling=level=sm_80' --remarks-filter='ringlet-.*' --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: ringlet-opt %s --split-input-file '--ringlet-choose-tiling=level=sm_90a' --remarks-filter='ringlet-.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Without a request for recipes there are none, and nothing is said about them.

// PLAIN-NOT: {{no recipe|recipe =|recipe fa_}}
// PLAIN:     func.func @full(
// PLAIN:     tilings = [#ringlet.tiling<query =
// PLAIN-NOT: {{no recipe|recipe =|recipe fa_}}

// Full attention gets the tiles that were fastest, and the tiles of plain
// kernels for rows that have to be computed again.

// REMARK: [Passed] ChooseTiling {{.+}}"branch 0 on sm_90a: recipe fa_fwd_lazy, tiles of 128 queries x 128 keys: {{.+}} 2 groups of 64 rows with about 232 of 232 registers a thread, Q in registers, {{.+}}; rows that it marks are computed again in tiles of [[Q:[0-9]+]] x [[K:[0-9]+]]"

// CHECK-LABEL: func.func @full(
// CHECK:         tilings = [#ringlet.tiling<query = 128, key = 128, recipe = "fa_fwd_lazy", redo = <query = {{[0-9]+}}, key = {{[0-9]+}}, part = 16384>, part = 16384>]
func.func @full(%x: tensor<1x?x2x128xbf16>) -> tensor<1x?x2x128xbf16> {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      : (tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16>)
      -> (tensor<1x?x2x128xbf16>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x128xbf16>
}

// -----

// Short heads have three groups of warps, and causal attention of long ones key
// tiles that divide the query tile.

// REMARK: [Passed] {{.+}} 3 groups of 64 rows {{.+}} Q in shared memory
// REMARK: [Passed] {{.+}} tiles of 128 queries x 64 keys

// CHECK-LABEL: func.func @dims(
// CHECK:         tilings = [#ringlet.tiling<query = 192, key = 128, recipe = "fa_fwd_lazy"
// CHECK:         tilings = [#ringlet.tiling<query = 128, key = 64, recipe = "fa_fwd_lazy"
func.func @dims(%x: tensor<1x16384x2x64xf16>, %y: tensor<1x16384x2x256xbf16>)
    -> (tensor<1x16384x2x64xf16>, tensor<1x16384x2x256xbf16>) {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      : (tensor<1x16384x2x64xf16>, tensor<1x16384x2x64xf16>, tensor<1x16384x2x64xf16>)
      -> (tensor<1x16384x2x64xf16>, tensor<1x2x16384xf32>)
  %p, %m = ringlet.attention %y, %y, %y branches [<w = *, r = 1>] causal
      : (tensor<1x16384x2x256xbf16>, tensor<1x16384x2x256xbf16>, tensor<1x16384x2x256xbf16>)
      -> (tensor<1x16384x2x256xbf16>, tensor<1x2x16384xf32>)
  return %o, %p : tensor<1x16384x2x64xf16>, tensor<1x16384x2x256xbf16>
}

// -----

// Segments may end inside of a key tile (962 = 7 * 137 + 3) and have a window
// that begins anywhere in them.

// REMARK: [Passed] {{.+}}"branch 0 on sm_90a: recipe fa_fwd_lazy

// CHECK-LABEL: func.func @segments(
// CHECK:         tilings = [#ringlet.tiling<query = {{[0-9]+}}, key = {{[0-9]+}}, recipe = "fa_fwd_lazy"
func.func @segments(%x: tensor<1x?x2x128xbf16>) -> tensor<1x?x2x128xbf16> {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = 962, r = 7>]
      window = [100, 0]
      : (tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16>)
      -> (tensor<1x?x2x128xbf16>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x128xbf16>
}

// -----

// Segments of a few rows are better off with small plain tiles.

// REMARK: [Passed] {{.+}}"branch 0 on sm_90a: tiles of 16 queries x 16 keys
// REMARK: [Missed] {{.+}}"branch 0 on sm_90a: no recipe: plain tiles are expected to cost less than tiles of 64 queries x 16 keys

// CHECK-LABEL: func.func @short(
// CHECK:         tilings = [#ringlet.tiling<query = 16, key = 16>]
func.func @short(%x: tensor<1x?x2x64xbf16>) -> tensor<1x?x2x64xbf16> {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = 64, r = 4>]
      : (tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>)
      -> (tensor<1x?x2x64xbf16>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x64xbf16>
}

// -----

// Each branch of a chain has a recipe: what is before it joins its own state.

// CHECK-LABEL: func.func @chain(
// CHECK:         tilings = [#ringlet.tiling<{{[^<]*}}recipe = "fa_fwd_lazy", redo = <{{[^>]*}}>, part = 16384>, #ringlet.tiling<query = 128, key = 128, recipe = "fa_fwd_lazy", redo = <{{[^>]*}}>>]
func.func @chain(%x: tensor<1x?x2x64xbf16>) -> tensor<1x?x2x64xbf16> {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 2>, <w = 1024, r = 1>]
      : (tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>, tensor<1x?x2x64xbf16>)
      -> (tensor<1x?x2x64xbf16>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x64xbf16>
}

// -----

// Roles read lists of sequences and sinks besides what they multiply; a softcap is
// arithmetic on scores. What is read besides takes registers where rows are redone,
// so tiles are smaller there.

// REMARK-COUNT-5: [Passed] {{.+}}"branch 0 on sm_90a: recipe fa_fwd_lazy

// CHECK-LABEL: func.func @read_by_kernels(
// CHECK:         sink(%{{.+}}) tilings = [#ringlet.tiling<query = {{[0-9]+}}, key = {{[0-9]+}}, recipe = "fa_fwd_lazy", redo = <query = 64,
// CHECK:         q_offset(%{{.+}}) tilings = [#ringlet.tiling<query = {{[0-9]+}}, key = {{[0-9]+}}, recipe = "fa_fwd_lazy", redo = <query = 64,
// CHECK:         softcap = 3.000000e+01 tilings = [#ringlet.tiling<query = {{[0-9]+}}, key = {{[0-9]+}}, recipe = "fa_fwd_lazy"
// CHECK:         lengths(%{{.+}}, %{{.+}}) tilings = [#ringlet.tiling<query = {{[0-9]+}}, key = {{[0-9]+}}, recipe = "fa_fwd_lazy", redo = <query = 64,
// CHECK:         packed(%{{.+}}, %{{.+}}) tilings = [#ringlet.tiling<query = {{[0-9]+}}, key = {{[0-9]+}}, recipe = "fa_fwd_lazy", redo = <query = 64,
func.func @read_by_kernels(%x: tensor<3x4096x2x64xbf16>, %sink: tensor<2xf32>, %p: tensor<3xi64>, %y: tensor<4096x2x64xbf16>)
    -> (tensor<3x4096x2x64xbf16>, tensor<3x4096x2x64xbf16>, tensor<3x4096x2x64xbf16>, tensor<3x4096x2x64xbf16>, tensor<4096x2x64xbf16>) {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] sink(%sink)
      : (tensor<3x4096x2x64xbf16>, tensor<3x4096x2x64xbf16>, tensor<3x4096x2x64xbf16>, tensor<2xf32>)
      -> (tensor<3x4096x2x64xbf16>, tensor<3x2x4096xf32>)
  %o2, %l2 = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] q_offset(%p)
      : (tensor<3x4096x2x64xbf16>, tensor<3x4096x2x64xbf16>, tensor<3x4096x2x64xbf16>, tensor<3xi64>)
      -> (tensor<3x4096x2x64xbf16>, tensor<3x2x4096xf32>)
  %o3, %l3 = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] softcap = 30.0
      : (tensor<3x4096x2x64xbf16>, tensor<3x4096x2x64xbf16>, tensor<3x4096x2x64xbf16>)
      -> (tensor<3x4096x2x64xbf16>, tensor<3x2x4096xf32>)
  %o4, %l4 = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] lengths(%p, %p)
      : (tensor<3x4096x2x64xbf16>, tensor<3x4096x2x64xbf16>, tensor<3x4096x2x64xbf16>, tensor<3xi64>, tensor<3xi64>)
      -> (tensor<3x4096x2x64xbf16>, tensor<3x2x4096xf32>)
  %o5, %l5 = ringlet.attention %y, %y, %y branches [<w = *, r = 1>] packed(%p, %p)
      : (tensor<4096x2x64xbf16>, tensor<4096x2x64xbf16>, tensor<4096x2x64xbf16>, tensor<3xi64>, tensor<3xi64>)
      -> (tensor<4096x2x64xbf16>, tensor<2x4096xf32>)
  return %o, %o2, %o3, %o4, %o5 : tensor<3x4096x2x64xbf16>, tensor<3x4096x2x64xbf16>, tensor<3x4096x2x64xbf16>, tensor<3x4096x2x64xbf16>, tensor<4096x2x64xbf16>
}

// -----

#hilbert = #rlayout.layout<order = #rlayout.order<hilbert, grid = [64, 64]>>
#hilbert_lse = #rlayout.layout<order = #rlayout.order<hilbert, grid = [64, 64]>, axis = 2>

// Tokens that lie in the pattern's own order are as good as any.

// REMARK: [Passed] {{.+}}"branch 0 on sm_90a: recipe

// CHECK-LABEL: func.func @along_curve(
// CHECK:         recipe = "fa_fwd_lazy"
func.func @along_curve(%x: tensor<1x4096x2x64xbf16, #hilbert>) -> tensor<1x4096x2x64xbf16, #hilbert> {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = 1024, r = 1>] pattern_order = <hilbert, grid = [64, 64]>
      : (tensor<1x4096x2x64xbf16, #hilbert>, tensor<1x4096x2x64xbf16, #hilbert>, tensor<1x4096x2x64xbf16, #hilbert>)
      -> (tensor<1x4096x2x64xbf16, #hilbert>, tensor<1x2x4096xf32, #hilbert_lse>)
  return %o : tensor<1x4096x2x64xbf16, #hilbert>
}

// -----

#hilbert = #rlayout.layout<order = #rlayout.order<hilbert, grid = [64, 64]>>

// Elsewhere rows come from tables, which no recipe reads.

// REMARK: [Missed] {{.+}}"branch 0 on sm_90a: no recipe: expected key in linear order, found #rlayout.order<hilbert, grid = [64, 64]> (O1)"
// REMARK: [Missed] {{.+}}"branch 0 on sm_90a: no recipe: expected no pattern order, or one that query and key lie in, without causality, window and lengths, found #rlayout.order<hilbert, grid = [64, 64]> (O2)"

// CHECK-LABEL: func.func @by_table(
// CHECK-NOT:     recipe
func.func @by_table(%x: tensor<1x4096x2x64xbf16>, %y: tensor<1x4096x2x64xbf16, #hilbert>)
    -> (tensor<1x4096x2x64xbf16>, tensor<1x4096x2x64xbf16>) {
  %o, %l = ringlet.attention %x, %y, %y branches [<w = 1024, r = 1>]
      : (tensor<1x4096x2x64xbf16>, tensor<1x4096x2x64xbf16, #hilbert>, tensor<1x4096x2x64xbf16, #hilbert>)
      -> (tensor<1x4096x2x64xbf16>, tensor<1x2x4096xf32>)
  %p, %m = ringlet.attention %x, %x, %x branches [<w = 1024, r = 1>] causal pattern_order = <hilbert, grid = [64, 64]>
      : (tensor<1x4096x2x64xbf16>, tensor<1x4096x2x64xbf16>, tensor<1x4096x2x64xbf16>)
      -> (tensor<1x4096x2x64xbf16>, tensor<1x2x4096xf32>)
  return %o, %p : tensor<1x4096x2x64xbf16>, tensor<1x4096x2x64xbf16>
}

// -----

#residue = #rlayout.layout<order = #rlayout.order<residue<4>>>

// The memory order of the branch's dilation puts its rows side by side; one that
// leaves distances between them is for plain kernels.

// REMARK: [Passed] {{.+}}"branch 0 on sm_90a: recipe
// REMARK: [Missed] {{.+}}"branch 0 on sm_90a: no recipe: expected key in linear order or residue<8>, found #rlayout.order<residue<4>> (O1)"

// CHECK-LABEL: func.func @residues(
// CHECK:         r = 4>] tilings = [#ringlet.tiling<query = 128, key = 128, recipe = "fa_fwd_lazy"
// CHECK:         r = 8>] tilings = [#ringlet.tiling<query = {{[0-9]+}}, key = {{[0-9]+}}, manyKeys = <{{[^>]*}}part = 16384>>]
func.func @residues(%x: tensor<1x?x2x128xbf16>, %y: tensor<1x?x2x128xbf16, #residue>)
    -> (tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16>) {
  %o, %l = ringlet.attention %x, %y, %y branches [<w = *, r = 4>]
      : (tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16, #residue>, tensor<1x?x2x128xbf16, #residue>)
      -> (tensor<1x?x2x128xbf16>, tensor<1x2x?xf32>)
  %p, %m = ringlet.attention %x, %y, %y branches [<w = *, r = 8>]
      : (tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16, #residue>, tensor<1x?x2x128xbf16, #residue>)
      -> (tensor<1x?x2x128xbf16>, tensor<1x2x?xf32>)
  return %o, %p : tensor<1x?x2x128xbf16>, tensor<1x?x2x128xbf16>
}

// -----

// Where types say that a row has more keys, sums are those of parts, those
// of wide heads, too.

// CHECK-LABEL: func.func @many_keys(
// CHECK:         tilings = [#ringlet.tiling<query = 128, key = {{[0-9]+}}, recipe = "fa_fwd_lazy", redo = <query = {{[0-9]+}}, key = {{[0-9]+}}, part = 16384>, part = 16384>]
// CHECK:         tilings = [#ringlet.tiling<query = {{[0-9]+}}, key = {{[0-9]+}}, recipe = "fa_fwd_lazy", redo = <query = {{[0-9]+}}, key = {{[0-9]+}}, part = 16384>, part = 16384>]
func.func @many_keys(%x: tensor<1x16385x2x128xbf16>, %y: tensor<1x16385x2x256xbf16>) -> (tensor<1x16385x2x128xbf16>, tensor<1x16385x2x256xbf16>) {
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      : (tensor<1x16385x2x128xbf16>, tensor<1x16385x2x128xbf16>, tensor<1x16385x2x128xbf16>)
      -> (tensor<1x16385x2x128xbf16>, tensor<1x2x16385xf32>)
  %p, %m = ringlet.attention %y, %y, %y branches [<w = *, r = 1>]
      : (tensor<1x16385x2x256xbf16>, tensor<1x16385x2x256xbf16>, tensor<1x16385x2x256xbf16>)
      -> (tensor<1x16385x2x256xbf16>, tensor<1x2x16385xf32>)
  return %o, %p : tensor<1x16385x2x128xbf16>, tensor<1x16385x2x256xbf16>
}

// -----

// The copy engine does not widen.

// REMARK: no recipe: expected keys and values of bf16, found f8E4M3FN (S6)

// CHECK-LABEL: func.func @narrow(
// CHECK-NOT:     recipe
func.func @narrow(%q: tensor<1x?x2x128xbf16>, %k: tensor<1x?x2x128xf8E4M3FN>)
    -> tensor<1x?x2x128xbf16> {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      : (tensor<1x?x2x128xbf16>, tensor<1x?x2x128xf8E4M3FN>,
         tensor<1x?x2x128xf8E4M3FN>)
      -> (tensor<1x?x2x128xbf16>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x128xbf16>
}
