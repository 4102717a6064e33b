//===- ops.mlir - Kernels are printed as they are read ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --mlir-print-op-generic | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --emit-bytecode | ringlet-opt --allow-bytecode \
// RUN:   | FileCheck %s

// A kernel has parameters and, apart from them, a point of its grid.

// CHECK-LABEL: rtile.func @scale(
// CHECK-SAME:    %[[X:[^:]+]]: memref<?x64xf32, strided<[?, 1]>>, %[[N:[^:]+]]: index)
// CHECK-SAME:    grid(%[[I:[^:]+]]: index, %[[J:[^:]+]]: index)
// CHECK-SAME:    attributes {note = "kept"}
// CHECK:         %[[V:.+]] = rtile.view %[[X]][*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x32xf32>
// CHECK:         %[[T:.+]] = rtile.load %[[V]][%[[I]], %[[J]]] : !rtile.view<16x32xf32>
// CHECK:         %[[U:.+]] = arith.addf %[[T]], %[[T]] : tensor<16x32xf32>
// CHECK:         rtile.store %[[U]], %[[V]][%[[I]], %[[J]]] : !rtile.view<16x32xf32>
// CHECK:         rtile.return
rtile.func @scale(%x: memref<?x64xf32, strided<[?, 1]>>, %n: index)
    grid(%i: index, %j: index) attributes {note = "kept"} {
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>>
      to !rtile.view<16x32xf32>
  %t = rtile.load %v[%i, %j] : !rtile.view<16x32xf32>
  %u = arith.addf %t, %t : tensor<16x32xf32>
  rtile.store %u, %v[%i, %j] : !rtile.view<16x32xf32>
  rtile.return
}

// Views: axes that are fixed, rows that are dilated, shifted or looked up.

// CHECK-LABEL: rtile.func @views(
// CHECK-SAME:    %[[X:[^:]+]]: memref<2x?x8x64xbf16>, %[[TABLE:[^:]+]]: memref<?xi64>
// CHECK-SAME:    %[[B:[^:]+]]: index, %[[S:[^:]+]]: index, %[[H:[^:]+]]: index)
// CHECK:         rtile.view %[[X]][%[[B]], *, %[[H]], *] :
// CHECK-SAME:      to !rtile.view<64x64xbf16>
// CHECK:         rtile.view %[[X]][%[[B]], *, %[[H]], %[[S]]] : {{.*}} to !rtile.view<1024xbf16>
// CHECK:         rtile.view %[[X]][%[[B]], *, %[[H]], *] transposed within(%[[B]], %[[S]]) :
// CHECK-SAME:      to !rtile.view<32x16xbf16>
// CHECK:         rtile.view %[[X]][%[[B]], *, %[[H]], *] segment(%[[S]]) :
// CHECK-SAME:      to !rtile.view<64x64xbf16, w = 4096>
// CHECK:         rtile.view %[[X]][%[[B]], *, %[[H]], *] residue(%[[H]]) :
// CHECK-SAME:      to !rtile.view<64x64xbf16, rate = 4>
// CHECK:         rtile.view %[[X]][%[[B]], *, %[[H]], *] origin(%[[S]]) segment(%[[S]]) residue(%[[H]]) :
// CHECK-SAME:      to !rtile.view<64x64xbf16, w = 9223372036854775807, rate = 4>
// CHECK:         rtile.view %[[X]][%[[B]], *, %[[H]], *] rows(%[[TABLE]] : memref<?xi64>) :
// CHECK-SAME:      to !rtile.view<64x64xbf16, indexed>
// CHECK:         rtile.view %[[X]][%[[B]], *, %[[H]], *] origin(%[[S]]) residue(%[[H]]) order(#rlayout.order<residue<2>>) :
// CHECK-SAME:      to !rtile.view<64x64xbf16, rate = 4>
// CHECK:         rtile.view %[[X]][%[[B]], *, %[[H]], *] segment(%[[S]]) residue(%[[H]]) rows(%[[TABLE]] : memref<?xi64>) positions(%[[TABLE]] : memref<?xi64>) :
// CHECK-SAME:      to !rtile.view<64x64xbf16, w = 8, rate = 4, indexed>
// CHECK:         rtile.view %[[X]][%[[B]], *, %[[H]], *] segment(%[[S]]) residue(%[[H]]) w(%[[S]]) rate(%[[B]]) :
// CHECK-SAME:      to !rtile.view<64x64xbf16, w = ?, rate = ?>
// CHECK:         rtile.view %[[X]][%[[B]], *, %[[H]], *] residue(%[[H]]) rate(%[[B]]) rows(%[[TABLE]] : memref<?xi64>) :
// CHECK-SAME:      to !rtile.view<64x64xbf16, rate = ?, indexed>
// CHECK:         rtile.view %[[X]][%[[B]], *, %[[H]], *] origin(%[[S]]) within(%[[B]], %[[S]]) :
// CHECK-SAME:      to !rtile.view<64x64xbf16>
// CHECK:         rtile.view %[[X]][%[[B]], *, %[[H]], *] residue(%[[H]]) order(#rlayout.order<residue<2>>) within(%[[B]], %[[S]]) :
// CHECK-SAME:      to !rtile.view<64x64xbf16, rate = 4>
rtile.func @views(%x: memref<2x?x8x64xbf16>, %table: memref<?xi64>)
    grid(%b: index, %s: index, %h: index) {
  %0 = rtile.view %x[%b, *, %h, *] : memref<2x?x8x64xbf16>
      to !rtile.view<64x64xbf16>
  %1 = rtile.view %x[%b, *, %h, %s] : memref<2x?x8x64xbf16>
      to !rtile.view<1024xbf16>
  %transposed = rtile.view %x[%b, *, %h, *] transposed within(%b, %s)
      : memref<2x?x8x64xbf16> to !rtile.view<32x16xbf16>
  %2 = rtile.view %x[%b, *, %h, *] segment(%s) : memref<2x?x8x64xbf16>
      to !rtile.view<64x64xbf16, w = 4096, rate = 1>
  %3 = rtile.view %x[%b, *, %h, *] residue(%h) : memref<2x?x8x64xbf16>
      to !rtile.view<64x64xbf16, rate = 4>
  %4 = rtile.view %x[%b, *, %h, *] origin(%s) segment(%s) residue(%h)
      : memref<2x?x8x64xbf16>
      to !rtile.view<64x64xbf16, rate = 4, w = 9223372036854775807>
  %5 = rtile.view %x[%b, *, %h, *] rows(%table : memref<?xi64>)
      : memref<2x?x8x64xbf16> to !rtile.view<64x64xbf16, indexed>
  %6 = rtile.view %x[%b, *, %h, *] origin(%s) residue(%h)
      order(#rlayout.order<residue<2>>)
      : memref<2x?x8x64xbf16> to !rtile.view<64x64xbf16, rate = 4>
  %7 = rtile.view %x[%b, *, %h, *] segment(%s) residue(%h)
      rows(%table : memref<?xi64>) positions(%table : memref<?xi64>)
      : memref<2x?x8x64xbf16> to !rtile.view<64x64xbf16, w = 8, rate = 4, indexed>
  %r0 = rtile.view %x[%b, *, %h, *] segment(%s) residue(%h) w(%s) rate(%b)
      : memref<2x?x8x64xbf16> to !rtile.view<64x64xbf16, w = ?, rate = ?>
  %r1 = rtile.view %x[%b, *, %h, *] residue(%h) rate(%b)
      rows(%table : memref<?xi64>)
      : memref<2x?x8x64xbf16> to !rtile.view<64x64xbf16, rate = ?, indexed>
  %8 = rtile.view %x[%b, *, %h, *] origin(%s) within(%b, %s)
      : memref<2x?x8x64xbf16> to !rtile.view<64x64xbf16>
  %9 = rtile.view %x[%b, *, %h, *] residue(%h) order(#rlayout.order<residue<2>>)
      within(%b, %s)
      : memref<2x?x8x64xbf16> to !rtile.view<64x64xbf16, rate = 4>
  rtile.return
}

// Which keys a query sees.

// CHECK-LABEL: rtile.func @visibility(
// CHECK:         %[[Q:.+]] = rtile.view
// CHECK:         %[[K:.+]] = rtile.view
// CHECK:         %{{.+}}, %{{.+}} = rtile.bounds %[[Q]] : !rtile.view<64x64xf32>
// CHECK:         %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} = rtile.run %[[Q]][%[[I:.+]]], %[[K]] : !rtile.view<64x64xf32>, !rtile.view<32x64xf32>
// CHECK:         rtile.run %[[Q]][%[[I]]], %[[K]] causal window = [128, -1] :
// CHECK:         rtile.visible %[[Q]][%[[I]]], %[[K]][%{{.+}}] window = [0, 9223372036854775807] : !rtile.view<64x64xf32>, !rtile.view<32x64xf32> -> tensor<64x32xi1>
rtile.func @visibility(%x: memref<?x64xf32, strided<[?, 1]>>)
    grid(%i: index, %j: index) {
  %q = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>>
      to !rtile.view<64x64xf32>
  %k = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>>
      to !rtile.view<32x64xf32>
  %begin, %end = rtile.bounds %q : !rtile.view<64x64xf32>
  %r:4 = rtile.run %q[%i], %k : !rtile.view<64x64xf32>, !rtile.view<32x64xf32>
  %c:4 = rtile.run %q[%i], %k causal window = [128, -1]
      : !rtile.view<64x64xf32>, !rtile.view<32x64xf32>
  %m = rtile.visible %q[%i], %k[%j] window = [0, 9223372036854775807]
      : !rtile.view<64x64xf32>, !rtile.view<32x64xf32> -> tensor<64x32xi1>
  rtile.return
}

// Products, reductions and broadcasts.

// CHECK-LABEL: rtile.func @arithmetic(
// CHECK:         %[[A:.+]] = arith.constant
// CHECK:         %[[S:.+]] = rtile.dot %[[A]], %[[A]] transposed : tensor<16x32xf16>, tensor<16x32xf16> -> tensor<16x16xf32>
// CHECK:         %[[T:.+]] = rtile.dot %[[S]], %[[S]] init(%[[S]]) : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
// CHECK:         %[[M:.+]] = rtile.reduce max %[[T]] : tensor<16x16xf32>
// CHECK:         rtile.reduce sum %[[T]] : tensor<16x16xf32>
// CHECK:         rtile.reduce min %[[T]] : tensor<16x16xf32>
// CHECK:         rtile.broadcast %[[M]] : tensor<16xf32> -> tensor<16x8xf32>
// CHECK:         rtile.broadcast %[[M]] columns : tensor<16xf32> -> tensor<8x16xf32>
rtile.func @arithmetic() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x32xf16>
  %s = rtile.dot %a, %a transposed
      : tensor<16x32xf16>, tensor<16x32xf16> -> tensor<16x16xf32>
  %t = rtile.dot %s, %s init(%s)
      : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %m = rtile.reduce max %t : tensor<16x16xf32>
  %u = rtile.reduce sum %t : tensor<16x16xf32>
  %v = rtile.reduce min %t : tensor<16x16xf32>
  %x = rtile.broadcast %m : tensor<16xf32> -> tensor<16x8xf32>
  %y = rtile.broadcast %m columns : tensor<16xf32> -> tensor<8x16xf32>
  rtile.return
}

// Tiles are values of loops and conditions.

// CHECK-LABEL: rtile.func @loop(
// CHECK:         scf.for {{.*}} iter_args(%[[ACC:.+]] = %{{.+}}) -> (tensor<16xf32>) {
// CHECK:           scf.yield %{{.+}} : tensor<16xf32>
// CHECK:         rtile.return
rtile.func @loop(%n: index) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero)
      -> (tensor<16xf32>) {
    %next = arith.addf %acc, %acc : tensor<16xf32>
    scf.yield %next : tensor<16xf32>
  }
  rtile.return
}

// A buffer of 8 bits is read as what holds its numbers (S6).

// CHECK-LABEL: rtile.func @widen(
// CHECK:         rtile.view %{{.+}}[*, *] : memref<?x64xf8E4M3FN> to !rtile.view<16x64xbf16>
// CHECK:         rtile.view %{{.+}}[*] : memref<?xi8> to !rtile.view<16xf32>
rtile.func @widen(%x: memref<?x64xf8E4M3FN>, %y: memref<?xi8>) grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf8E4M3FN> to !rtile.view<16x64xbf16>
  %w = rtile.view %y[*] : memref<?xi8> to !rtile.view<16xf32>
  rtile.return
}
