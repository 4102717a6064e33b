//===- recipe.mlir - Branches with a recipe ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile --canonicalize | FileCheck %s

// The first kernel has the recipe and writes a mark for each row. The second one
// comes after it and reads the marks. Where a device cannot run the first one, the
// second one does the same, for all rows.

// CHECK-LABEL: rplan.func @full(
// CHECK-SAME:    outputs(%[[O:[^:]+]]: memref
// CHECK:         %[[MARKS:.+]] = rplan.workspace(%{{.+}}) : memref<2x4x?xf32>
// CHECK:         rplan.launch @full_attention0_branch0 grid({{.+}}) args(%[[Q:.+]], %[[K:.+]], %[[V:.+]], %[[O]], %[[MARKS]]) otherwise launch @full_attention0_branch0_redo grid(%[[GRID:.+]]) args(%[[Q]], %[[K]], %[[V]], %[[O]], %[[MARKS]], %[[TILES:.+]], %c1{{.*}} : {{.+}}) :
// CHECK-NEXT:    rplan.launch @full_attention0_branch0_redo grid(%[[GRID]]) args(%[[Q]], %[[K]], %[[V]], %[[O]], %[[MARKS]], %[[TILES]], %c0{{.*}}) :
// CHECK-NEXT:    rplan.return

// A row is fine if its sum lies in (2^-60, inf), every element of its accumulator
// is finite, and its maximum is not beyond 2^16 as an exponent.

// CHECK-LABEL: rtile.func @full_attention0_branch0(
// CHECK-SAME:    recipe = "fa_fwd_lazy"
// CHECK-DAG:     %[[LEAST:.+]] = arith.constant dense<8.67361737E-19> : tensor<64xf32>
// CHECK-DAG:     %[[INF:.+]] = arith.constant dense<0x7F800000> : tensor<64xf32>
// CHECK-DAG:     %[[FAR:.+]] = arith.constant dense<256968.797> : tensor<64xf32>
// CHECK-DAG:     %[[BELOW:.+]] = arith.constant dense<-256968.797> : tensor<64xf32>
// CHECK-DAG:     %[[MINUS:.+]] = arith.constant dense<0xFF800000> : tensor<64xf32>
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<64xf32>
// CHECK-DAG:     %[[ONE:.+]] = arith.constant dense<1.000000e+00> : tensor<64xf32>
// CHECK:         %[[ROWS:.+]] = rtile.view %{{.+}}[%{{.+}}, %{{.+}}, *] : memref<2x4x?xf32> to !rtile.view<64xf32>
// CHECK-NOT:     scf.if
// CHECK:         %[[STATE:.+]]:3 = scf.for
// CHECK-DAG:     %[[TOTAL:.+]] = rtile.reduce sum %[[STATE]]#2 : tensor<64x32xf32>
// CHECK-DAG:     %[[A:.+]] = arith.cmpf ogt, %[[TOTAL]], %[[MINUS]]
// CHECK-DAG:     %[[B:.+]] = arith.cmpf olt, %[[TOTAL]], %[[INF]]
// CHECK-DAG:     %[[AB:.+]] = arith.andi %[[A]], %[[B]]
// CHECK-DAG:     %[[C:.+]] = arith.cmpf ogt, %[[STATE]]#1, %[[LEAST]]
// CHECK-DAG:     %[[D:.+]] = arith.cmpf olt, %[[STATE]]#1, %[[INF]]
// CHECK-DAG:     %[[CD:.+]] = arith.andi %[[C]], %[[D]]
// CHECK-DAG:     %[[ABCD:.+]] = arith.andi %[[CD]], %[[AB]]
// CHECK-DAG:     %[[E:.+]] = arith.cmpf ogt, %[[STATE]]#0, %[[BELOW]]
// CHECK-DAG:     %[[F:.+]] = arith.cmpf olt, %[[STATE]]#0, %[[FAR]]
// CHECK-DAG:     %[[EF:.+]] = arith.andi %[[E]], %[[F]]
// CHECK:         %[[FINE:.+]] = arith.andi %[[ABCD]], %[[EF]]
// CHECK:         %[[MARK:.+]] = arith.select %[[FINE]], %[[ZERO]], %[[ONE]]
// CHECK:         rtile.store %[[MARK]], %[[ROWS]][%{{.+}}]

// The second one is plain, has tiles of its own, and works only where a row of
// its tile is marked. A point of its grid looks at the marks of up to 1024 rows
// at once, and at those of each tile only if there are any.

// CHECK-LABEL: rtile.func @full_attention0_branch0_redo(
// CHECK-SAME:    %[[COUNT:[^:]+]]: index, %[[ALL:[^:]+]]: index) grid(%[[POINT:[^:]+]]: index, %{{[^:]+}}: index, %{{[^:]+}}: index) {
// CHECK:         rtile.view %{{.+}} to !rtile.view<16x32xbf16>
// CHECK:         rtile.view %{{.+}} to !rtile.view<24x32xbf16>
// CHECK:         %[[ROWS:.+]] = rtile.view %{{.+}}[%{{.+}}, %{{.+}}, *] : memref<2x4x?xf32> to !rtile.view<16xf32>
// CHECK:         %[[GROUP:.+]] = rtile.view %{{.+}}[%{{.+}}, %{{.+}}, *] : memref<2x4x?xf32> to !rtile.view<1024xf32>
// CHECK:         %[[FIRST:.+]] = arith.muli %[[POINT]], %[[COUNT]]
// CHECK:         %[[END:.+]] = arith.addi %[[FIRST]], %[[COUNT]]
// CHECK:         %[[EVERY:.+]] = arith.cmpi ne, %[[ALL]], %c0
// CHECK-NEXT:    %[[SOME:.+]] = scf.if %[[EVERY]] -> (i1) {
// CHECK-NEXT:      scf.yield %true
// CHECK:           %[[MARKS:.+]] = rtile.load %[[GROUP]]
// CHECK-NEXT:      %[[MARKED:.+]] = arith.cmpf ogt, %[[MARKS]], %{{.+}} : tensor<1024xf32>
// CHECK-NEXT:      %[[ANY:.+]] = rtile.any %[[MARKED]]
// CHECK-NEXT:      scf.yield %[[ANY]]
// CHECK:         scf.if %[[SOME]] {
// CHECK-NEXT:      scf.for %{{.+}} = %[[FIRST]] to %[[END]] step
// CHECK:             %[[MARKS:.+]] = rtile.load %[[ROWS]]
// CHECK-NEXT:        %[[MARKED:.+]] = arith.cmpf ogt, %[[MARKS]], %{{.+}} : tensor<16xf32>
// CHECK-NEXT:        %[[ANY:.+]] = rtile.any %[[MARKED]]
// CHECK:             %[[SOME:.+]] = arith.ori %[[ANY]], %{{.+}} : i1
// CHECK:             scf.if %[[SOME]] {
// CHECK-NEXT:          %[[EVERY:.+]] = arith.cmpi ne, %[[ALL]], %c0
// CHECK-NEXT:          scf.if %[[EVERY]] {
// CHECK-NEXT:            rtile.store %{{.+}}, %[[ROWS]][%{{.+}}] : !rtile.view<16xf32>
// CHECK:               scf.for
// CHECK:               rtile.store %{{.+}} : !rtile.view<16x32xbf16>
// CHECK-NOT:           rtile.store
// CHECK:             }
// CHECK:         rtile.return
func.func @full(%q: tensor<2x?x4x32xbf16>) -> tensor<2x?x4x32xbf16> {
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 64, key = 48, recipe = "fa_fwd_lazy", redo = <query = 16, key = 24>>]
      : (tensor<2x?x4x32xbf16>, tensor<2x?x4x32xbf16>, tensor<2x?x4x32xbf16>) -> (tensor<2x?x4x32xbf16>, tensor<2x4x?xf32>)
  return %o : tensor<2x?x4x32xbf16>
}

// -----

// Marks lie on the same rows as the output and lse do: of the segment, residue
// and origin. Rows of other residues, which no key reaches (R3), are filled at
// the end, where no score is alive. There is no kernel just for that.

// CHECK-LABEL: rplan.func @dilated(
// CHECK-NOT:     rplan.launch @dilated_fill
// CHECK:         rplan.launch @dilated_attention0_branch0 {{.+}} otherwise launch @dilated_attention0_branch0_redo
// CHECK:         rplan.launch @dilated_attention0_branch0_redo

// CHECK-LABEL: rtile.func @dilated_attention0_branch0(
// CHECK-SAME:    recipe = "fa_fwd_overlap"
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<64x16xf16>
// CHECK-DAG:     %[[NONE:.+]] = arith.constant dense<0xFF800000> : tensor<64xf32>
// CHECK:         %[[RES:.+]] = arith.remui
// CHECK:         rtile.view %[[MARKS:.+]][%{{.+}}, %{{.+}}, *] origin(%[[P:.+]]) segment(%[[S:.+]]) residue(%[[RES]]) : memref<1x4x?xf32> to !rtile.view<64xf32, w = 256, rate = 3>
// CHECK-NEXT:    rtile.view %[[LSE:.+]][%{{.+}}, %{{.+}}, *] origin(%[[P]]) segment(%[[S]]) residue(%[[RES]]) : memref<1x4x?xf32, strided<[?, ?, 1]>> to !rtile.view<64xf32, w = 256, rate = 3>
// CHECK:         scf.for
// CHECK:         scf.for %[[I:.+]] = %c1 to %c3 step %c1 {
// CHECK-NEXT:      %[[NEXT:.+]] = arith.addi %[[RES]], %[[I]]
// CHECK-NEXT:      %[[OTHER:.+]] = arith.remui %[[NEXT]], %c3
// CHECK-NEXT:      %[[O:.+]] = rtile.view %{{.+}} residue(%[[OTHER]]) : {{.+}} to !rtile.view<64x16xf16, w = 256, rate = 3>
// CHECK:           %[[BEGIN:.+]], %{{.+}} = rtile.bounds %[[O]]
// CHECK:           %[[ROW:.+]] = arith.addi %[[BEGIN]]
// CHECK:           rtile.store %[[ZERO]], %[[O]][%[[ROW]], %{{.+}}]
// CHECK:           %[[L:.+]] = rtile.view %[[LSE]]{{.+}} residue(%[[OTHER]])
// CHECK:           rtile.store %[[NONE]], %[[L]][%[[ROW]]]

// The second kernel fills them where the first one may not have run: all rows
// count as marked then, and a tile without rows has no marks. It does so in a loop
// over the tiles that comes before the one that computes.

// CHECK-LABEL: rtile.func @dilated_attention0_branch0_redo(
// CHECK:         rtile.view %{{.+}} : memref<1x4x?xf32> to !rtile.view<32xf32, w = 256, rate = 3>
// CHECK:         rtile.any
// CHECK:         arith.ori
// CHECK-NEXT:    scf.if
// CHECK-NEXT:    scf.for
// CHECK:           %[[ANY:.+]] = rtile.any
// CHECK:           %[[SOME:.+]] = arith.ori %[[ANY]]
// CHECK:           %{{.+}}, %[[END:.+]] = rtile.bounds
// CHECK:           %[[EMPTY:.+]] = arith.cmpi sge, %{{.+}}, %[[END]]
// CHECK:           %[[FILL:.+]] = arith.ori %[[SOME]], %[[EMPTY]]
// CHECK:           scf.if %[[FILL]] {
// CHECK:             rtile.store
// CHECK:             rtile.store
// CHECK:         scf.for
// CHECK-NOT:       rtile.store
// CHECK:           %[[ANY:.+]] = rtile.any
// CHECK:           %[[AGAIN:.+]] = arith.ori %[[ANY]]
// CHECK-NEXT:      scf.if %[[AGAIN]] {
// CHECK:             scf.for
func.func @dilated(%q: tensor<1x?x4x16xf16>, %k: tensor<1x?x2x16xf16>)
    -> (tensor<1x?x4x16xf16>, tensor<1x4x?xf32>) {
  %o, %l = ringlet.attention %q, %k, %k branches [<w = 256, r = 3>] causal
      tilings = [#ringlet.tiling<query = 64, key = 64, recipe = "fa_fwd_overlap", redo = <query = 32, key = 16>>]
      : (tensor<1x?x4x16xf16>, tensor<1x?x2x16xf16>, tensor<1x?x2x16xf16>) -> (tensor<1x?x4x16xf16>, tensor<1x4x?xf32>)
  return %o, %l : tensor<1x?x4x16xf16>, tensor<1x4x?xf32>
}

// -----

// There are as many residues as r says, however few rows the call has: a loop
// over 2^40 of them would not end. Rows of other residues have a kernel then.

// CHECK-LABEL: rplan.func @sparse(
// CHECK:         rplan.launch @sparse_fill_output0
// CHECK:         rplan.launch @sparse_attention0_branch0

// CHECK-LABEL: rtile.func @sparse_attention0_branch0(
// CHECK-NOT:     to %c1099511627776
// CHECK:         rtile.return
// CHECK-LABEL: rtile.func @sparse_attention0_branch0_redo(
// CHECK-NOT:     to %c1099511627776

func.func @sparse(%q: tensor<1x?x1x16xf16>) -> tensor<1x?x1x16xf16> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1099511627776>]
      tilings = [#ringlet.tiling<query = 64, key = 16, recipe = "fa_fwd_lazy", redo = <query = 16, key = 16>>]
      : (tensor<1x?x1x16xf16>, tensor<1x?x1x16xf16>, tensor<1x?x1x16xf16>)
      -> (tensor<1x?x1x16xf16>, tensor<1x1x?xf32>)
  return %o : tensor<1x?x1x16xf16>
}
