//===- runtime-sizes.mlir - w and r that the call gives ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile \
// RUN:   --remarks-filter='ringlet-.*' --remark-format=emitRemark \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The host checks both sizes before it divides by them (B1), and cuts a huge w,
// by whole dilations, to what is beyond every position all the same. The kernel
// gets them as parameters: they stand in for the `?` of its views, and make the
// residue of its head.

// CHECK-LABEL: rplan.func @both(
// CHECK-SAME:    %{{[a-z0-9]+}}: memref<1x?x4x16xf32, {{[^%]+}}, %[[WS:[a-z0-9]+]]: memref<i64>, %[[RS:[a-z0-9]+]]: memref<i64>)
// CHECK:         %[[N:.+]] = rplan.size
// CHECK:         %[[WIDE:.+]] = rplan.read %[[WS]]
// CHECK:         %[[R:.+]] = rplan.read %[[RS]]
// CHECK:         rplan.require le %c1{{.*}}, %[[WIDE]], "expected w of branch 0 of at least 1" rule "B1"
// CHECK:         rplan.require le %c1{{.*}}, %[[R]], "expected r of branch 0 of at least 1" rule "B1"
// CHECK:         rplan.require le %[[R]], %[[WIDE]], "expected r of branch 0 of at most its w" rule "B1"
// CHECK:         rplan.require le %[[R]], %c1099511627776{{.*}}, "expected r of branch 0 of at most 2^40" rule "B1"
// CHECK:         %[[MORE:.+]] = arith.subi %[[WIDE]], %c1729382256910270464
// CHECK:         %[[EXCESS:.+]] = arith.maxsi %[[MORE]], %{{.+}}
// CHECK:         %[[COUNT:.+]] = arith.ceildivsi %[[EXCESS]], %[[R]]
// CHECK:         %[[CUT:.+]] = arith.muli %[[COUNT]], %[[R]]
// CHECK:         %[[W:.+]] = arith.subi %[[WIDE]], %[[CUT]]
// CHECK:         %[[ALL:.+]] = arith.ceildivsi %[[N]], %[[R]]
// CHECK:         %[[PART:.+]] = arith.ceildivsi %[[W]], %[[R]]
// CHECK:         %[[ROWS:.+]] = arith.minsi %[[ALL]], %[[PART]]
// CHECK:         %[[TILES:.+]] = arith.ceildivsi %[[ROWS]], %c32
// CHECK:         %[[LAST:.+]] = arith.floordivsi %{{.+}}, %[[W]]
// CHECK:         %[[SEGMENTS:.+]] = arith.addi
// CHECK:         rplan.launch @both_attention0_branch0 grid(%[[TILES]], %[[SEGMENTS]], %{{.+}}, %{{.+}}) args({{.+}}, %[[W]], %[[R]])

// CHECK-LABEL: rtile.func @both_attention0_branch0(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: memref<1x?x4x16xf32, {{.+}}, %[[W:[a-z0-9]+]]: index, %[[R:[a-z0-9]+]]: index) grid(%{{.+}}: index, %[[SEGMENT:.+]]: index, %[[HEAD:.+]]: index, %{{.+}}: index)
// CHECK:         %[[O:.+]] = arith.remui %[[HEAD]], %[[R]] : index
// CHECK:         %[[QS:.+]] = rtile.view %[[Q]][{{.+}}] segment(%[[SEGMENT]]) residue(%[[O]]) w(%[[W]]) rate(%[[R]]) : {{.+}} to !rtile.view<32x16xf32, w = ?, rate = ?>
// CHECK:         %[[KS:.+]] = rtile.view {{.+}} w(%[[W]]) rate(%[[R]]) : {{.+}} to !rtile.view<48x16xf32, w = ?, rate = ?>
// CHECK:         rtile.run %[[QS]][%{{.+}}], %[[KS]] causal
func.func @both(%q: tensor<1x?x4x16xf32>, %w: tensor<i64>, %r: tensor<i64>)
    -> tensor<1x?x4x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = ?, r = ?>] causal sizes(%w, %r)
      tilings = [#ringlet.tiling<query = 32, key = 48>]
      : (tensor<1x?x4x16xf32>, tensor<1x?x4x16xf32>, tensor<1x?x4x16xf32>, tensor<i64>, tensor<i64>)
      -> (tensor<1x?x4x16xf32>, tensor<1x4x?xf32>)
  return %o : tensor<1x?x4x16xf32>
}

// -----

// Each `?` stands for itself: a branch whose w is known has it in its type, and
// the other sizes are checked against it. The branch that covers every row
// for certain still comes last, and one that only may cover them before it.

// CHECK-LABEL: rplan.func @several(
// CHECK:         %[[R:.+]] = rplan.read
// CHECK-NOT:     of branch 0 of at least 1
// CHECK:         rplan.require le %[[R]], %c64{{.*}}, "expected r of branch 2 of at most its w" rule "B1"
// CHECK:         rplan.launch @several_attention0_branch1
// CHECK:         rplan.launch @several_attention0_branch2 {{.+}} args({{.+}}, %[[R]])
// CHECK:         rplan.launch @several_attention0_branch0

// CHECK-LABEL: rtile.func @several_attention0_branch1(
// CHECK:         to !rtile.view<16x16xf32, w = 32, rate = 4>
// CHECK-LABEL: rtile.func @several_attention0_branch2(
// CHECK:         residue(%{{.+}}) rate(%{{.+}}) : {{.+}} to !rtile.view<16x16xf32, w = 64, rate = ?>
// CHECK-LABEL: rtile.func @several_attention0_branch0(
// CHECK:         to !rtile.view<16x16xf32>
func.func @several(%q: tensor<1x128x4x16xf32>, %r: tensor<i64>)
    -> tensor<1x128x4x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>, <w = 32, r = 4>, <w = 64, r = ?>] sizes(%r)
      tilings = [#ringlet.tiling<query = 16, key = 16>, #ringlet.tiling<query = 16, key = 16>, #ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x128x4x16xf32>, tensor<1x128x4x16xf32>, tensor<1x128x4x16xf32>, tensor<i64>)
      -> (tensor<1x128x4x16xf32>, tensor<1x4x128xf32>)
  return %o : tensor<1x128x4x16xf32>
}

// -----

// Residues of the other offset rules (B2): how many heads share one is divided
// on the host, and a constant below zero is rounded down.

// CHECK-LABEL: rplan.func @offsets(
// CHECK:         %[[R0:.+]] = rplan.read
// CHECK:         %[[R1:.+]] = rplan.read
// CHECK:         %[[SHARE:.+]] = arith.ceildivsi %c4{{.*}}, %[[R0]]
// CHECK:         rplan.launch @offsets_attention0_branch0 {{.+}} args({{.+}}, %[[R0]], %[[SHARE]])

// CHECK-LABEL: rtile.func @offsets_attention0_branch0(
// CHECK-SAME:    %[[SHARE:[a-z0-9]+]]: index) grid(%{{.+}}: index, %[[HEAD:.+]]: index, %{{.+}}: index)
// CHECK:         arith.divui %[[HEAD]], %[[SHARE]] : index

// CHECK-LABEL: rtile.func @offsets_attention0_branch1(
// CHECK-SAME:    %[[R:[a-z0-9]+]]: index) grid
// CHECK-DAG:     %[[C2:.+]] = arith.constant 2 : index
// CHECK-DAG:     %[[LESS:.+]] = arith.constant -1 : index
// CHECK:         %[[BELOW:.+]] = arith.remui %[[C2]], %[[R]] : index
// CHECK:         %[[LAST:.+]] = arith.addi %[[R]], %[[LESS]] : index
// CHECK:         %[[O:.+]] = arith.subi %[[LAST]], %[[BELOW]] : index
// CHECK:         residue(%[[O]]) rate(%[[R]])
func.func @offsets(%q: tensor<1x64x4x16xf32>, %r0: tensor<i64>, %r1: tensor<i64>)
    -> tensor<1x64x4x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = ?, offset = block>, <w = *, r = ?, offset = constant<-3>>] sizes(%r0, %r1)
      tilings = [#ringlet.tiling<query = 16, key = 16>, #ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<i64>, tensor<i64>)
      -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return %o : tensor<1x64x4x16xf32>
}

// -----

// No order is known to put rows of any dilation at equal distances: a table
// says where they lie.

// REMARK: branch 0: query rows from a table; key rows from a table

// CHECK-LABEL: rtile.func @memory_order_attention0_branch0(
// CHECK:         rtile.view {{.+}} rate(%{{.+}}) rows(%{{.+}}) : {{.+}} to !rtile.view<16x16xf32, rate = ?, indexed>
#residue = #rlayout.layout<order = <residue<2>>>
#rows = #rlayout.layout<order = <residue<2>>, axis = 2>
func.func @memory_order(%q: tensor<1x64x2x16xf32, #residue>, %r: tensor<i64>)
    -> tensor<1x64x2x16xf32, #residue> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = ?>] sizes(%r)
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32, #residue>, tensor<1x64x2x16xf32, #residue>, tensor<1x64x2x16xf32, #residue>, tensor<i64>)
      -> (tensor<1x64x2x16xf32, #residue>, tensor<1x2x64xf32, #rows>)
  return %o : tensor<1x64x2x16xf32, #residue>
}

// -----

// A grid window finds its keys by masks: an index of key tiles would need the
// sizes before the call.

// CHECK-LABEL: rplan.func @grid_window(
// CHECK-NOT:     rplan.tile_index
// CHECK:         rplan.return
// CHECK-LABEL: rtile.func @grid_window_attention0_branch0(
// CHECK:         rtile.run
// CHECK:         rtile.visible {{.+}} grid = [8, 8] reach = [1, 1]
func.func @grid_window(%q: tensor<1x64x2x16xf32>, %w: tensor<i64>)
    -> tensor<1x64x2x16xf32> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = ?, r = 1>] sizes(%w)
      grid_window = <grid = [8, 8], reach = [1, 1]>
      tilings = [#ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<i64>)
      -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x16xf32>
}
