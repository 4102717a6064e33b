//===- to-cpu.mlir - Kernels as llvm.func ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-lower-runs --rtile-fuse-rows --rtile-pack-operands --rtile-assign-scratch --rtile-to-cpu | FileCheck %s
// RUN: ringlet-opt %s --rtile-lower-to-cpu=level=x86-64-v4 | FileCheck %s --check-prefix=LLVM
// RUN: not ringlet-opt %s --rtile-to-cpu 2>&1 | FileCheck %s --check-prefix=UNDECIDED

// UNDECIDED: error: 'rtile.func' op expected the decisions of rtile-assign-scratch

// A kernel is a function of parameters, a range of points and scratch memory.
// What the artefact has to know of it stands in attributes. Points are taken
// apart with the first axis fastest; the extents of the grid come behind the
// words of the parameters: base, size and stride of %X, then %n.

// CHECK-LABEL: llvm.func @grid(
// CHECK-SAME:    %[[PARAMETERS:[^:]+]]: !llvm.ptr {llvm.noalias}, %[[BEGIN:[^:]+]]: i64, %[[END:[^:]+]]: i64,
// CHECK-SAME:    %{{.+}}: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias})
// CHECK-SAME:    passthrough = {{\[\[}}"target-cpu", "x86-64-v3"], ["prefer-vector-width", "256"], "no-builtins", "nounwind"]
// CHECK-SAME:    rtile.grid_rank = 2 : i64
// CHECK-SAME:    rtile.parameters = [memref<?x8xf32, strided<[?, 1]>>, index]
// CHECK-SAME:    rtile.scratch_bytes = {{[0-9]+}} : i64
// CHECK:         llvm.getelementptr %[[PARAMETERS]][%{{.+}}]
// CHECK:         %[[C32:.+]] = arith.constant 32 : i64
// CHECK:         %[[AT:.+]] = llvm.getelementptr %[[PARAMETERS]][%[[C32]]]
// CHECK:         %[[EXTENT:.+]] = llvm.load %[[AT]]
// CHECK:         scf.for %[[ITEM:.+]] = %[[BEGIN]] to %[[END]]
// CHECK:           arith.remui %[[ITEM]], %[[EXTENT]]
// CHECK:           arith.divui %[[ITEM]], %[[EXTENT]]
// CHECK-NOT:       rtile.{{load|store|view}}
rtile.func @grid(%X: memref<?x8xf32, strided<[?, 1]>>, %n: index)
    grid(%i: index, %j: index) {
  %c0 = arith.constant 0 : index
  %row = arith.addi %i, %n : index
  %xv = rtile.view %X[*, *] : memref<?x8xf32, strided<[?, 1]>> to !rtile.view<8x8xf32>
  %x = rtile.load %xv[%row, %c0] : !rtile.view<8x8xf32>
  rtile.store %x, %xv[%j, %c0] : !rtile.view<8x8xf32>
  rtile.return
}

// A product is a loop over panels of 16 rows, over blocks of 6 columns and over
// the depth, four steps a turn; only a block is unrolled.

// CHECK-LABEL: llvm.func @product(
// CHECK:         scf.for
// CHECK:           scf.for %[[PANEL:.+]] = %c0{{.*}} to %c4
// CHECK:             scf.for %[[COLUMN:.+]] = %{{.+}} to %{{.+}} step %c6
// CHECK:               scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c4{{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-24:        llvm.intr.fma
// CHECK-NOT:             llvm.intr.fma
// CHECK:                 scf.yield

// Nothing is called and nothing is left of other dialects.

// LLVM-LABEL: llvm.func @product(
// LLVM-SAME:    "target-cpu", "x86-64-v4"
// LLVM-NOT:     {{llvm.call|scf\.|arith\.|cf\.|unrealized}}
// LLVM:         llvm.intr.fma({{.*}}) : (vector<32xf32>, vector<32xf32>, vector<32xf32>) -> vector<32xf32>
// LLVM-NOT:     {{llvm.call|scf\.|arith\.|cf\.|unrealized}}
// LLVM:         llvm.return
rtile.func @product(%X: memref<?x64xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %xv = rtile.view %X[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %x = rtile.load %xv[%i, %c0] : !rtile.view<64x64xf32>
  %d = rtile.dot %x, %x : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  rtile.store %d, %xv[%i, %c0] : !rtile.view<64x64xf32>
  rtile.return
}

// 16-bit tiles hold f32: bf16 is read and written by shifts and rounded to even,
// with NaNs set aside.

// CHECK-LABEL: llvm.func @narrow(
// CHECK:         %[[WORDS:.+]] = llvm.load {{.*}} -> vector<8xi16>
// CHECK:         %[[WIDE:.+]] = arith.extui %[[WORDS]]
// CHECK:         arith.shli %[[WIDE]]
// CHECK:         %[[SUM:.+]] = arith.addf {{.*}} : vector<16xf32>
// CHECK:         %[[BITS:.+]] = arith.bitcast %[[SUM]]
// CHECK:         arith.shrui %[[BITS]]
// CHECK:         %[[NAN:.+]] = arith.cmpf uno, %[[SUM]], %[[SUM]]
// CHECK:         arith.select %[[NAN]]
// CHECK:         arith.trunci {{.*}} : vector<8xi32> to vector<8xi16>
rtile.func @narrow(%X: memref<?x16xbf16, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %xv = rtile.view %X[*, *] : memref<?x16xbf16, strided<[?, 1]>> to !rtile.view<16x16xbf16>
  %x = rtile.load %xv[%i, %c0] : !rtile.view<16x16xbf16>
  %y = arith.addf %x, %x : tensor<16x16xbf16>
  rtile.store %y, %xv[%i, %c0] : !rtile.view<16x16xbf16>
  rtile.return
}

// The columns that a row sees are an interval: two comparisons a column.

// CHECK-LABEL: llvm.func @mask(
// CHECK:         scf.for %{{.+}} = %{{.+}} to %{{.+}} step %{{.+}} iter_args(%{{.+}} = %{{.+}}) -> (vector<8xf32>)
// CHECK-DAG:       %[[LOW:.+]] = arith.cmpi sle, {{.*}} : vector<8xi32>
// CHECK-DAG:       %[[HIGH:.+]] = arith.cmpi slt, {{.*}} : vector<8xi32>
// CHECK:           %[[SEEN:.+]] = arith.andi %[[LOW]], %[[HIGH]] : vector<8xi1>
// CHECK:           arith.select %[[SEEN]]
// CHECK:           scf.yield
rtile.func @mask(%X: memref<?x8xf32, strided<[?, 1]>>,
                 %Y: memref<?xf32, strided<[1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %xv = rtile.view %X[*, *] : memref<?x8xf32, strided<[?, 1]>> to !rtile.view<8x8xf32>
  %yv = rtile.view %Y[*] : memref<?xf32, strided<[1]>> to !rtile.view<8xf32>
  %x = rtile.load %xv[%i, %c0] : !rtile.view<8x8xf32>
  %seen = rtile.visible %xv[%i], %xv[%c0] causal window = [5, 0]
      : !rtile.view<8x8xf32>, !rtile.view<8x8xf32> -> tensor<8x8xi1>
  %m = arith.select %seen, %x, %zero : tensor<8x8xi1>, tensor<8x8xf32>
  %r = rtile.reduce sum %m : tensor<8x8xf32>
  rtile.store %r, %yv[%i] : !rtile.view<8xf32>
  rtile.return
}

// A mask is joined panel by panel; of the last panel only rows of the tile count,
// as what lies below them is anything. Then its lanes are joined.

// CHECK-LABEL: llvm.func @any(
// CHECK:         %[[FOUND:.+]] = scf.for %[[PANEL:.+]] = %{{.+}} to %c2{{.*}} step %{{.+}} iter_args(%[[BEFORE:[^ ]+]] = %{{.+}}) -> (vector<16xi32>) : i64 {
// CHECK:           %[[HERE:.+]] = arith.extsi %{{.+}} : vector<16xi1> to vector<16xi32>
// CHECK:           %[[C20:.+]] = arith.constant 20 : i64
// CHECK:           %[[LEFT:.+]] = arith.subi %[[C20]], %{{.+}} : i64
// CHECK:           %[[LEFT32:.+]] = arith.trunci %[[LEFT]] : i64 to i32
// CHECK:           arith.cmpi slt
// CHECK:           %[[EXISTS:.+]] = arith.extsi
// CHECK:           %[[ROWS:.+]] = arith.andi %[[HERE]], %[[EXISTS]] : vector<16xi32>
// CHECK:           %[[SOME:.+]] = arith.ori %[[BEFORE]], %[[ROWS]] : vector<16xi32>
// CHECK:           scf.yield %[[SOME]]
// CHECK:         %[[BITS:.+]] = "llvm.intr.vector.reduce.or"(%[[FOUND]])
// CHECK:         %[[ANY:.+]] = arith.cmpi ne, %[[BITS]]
// CHECK:         scf.if %[[ANY]] {
rtile.func @any(%X: memref<?xf32, strided<[1]>>) grid(%i: index) {
  %xv = rtile.view %X[*] : memref<?xf32, strided<[1]>> to !rtile.view<20xf32>
  %x = rtile.load %xv[%i] : !rtile.view<20xf32>
  %zero = arith.constant dense<0.0> : tensor<20xf32>
  %positive = arith.cmpf ogt, %x, %zero : tensor<20xf32>
  %some = rtile.any %positive : tensor<20xi1>
  scf.if %some {
    rtile.store %zero, %xv[%i] : !rtile.view<20xf32>
  }
  rtile.return
}

// A fold adds the columns of one remainder; a slice and a join copy columns.

// CHECK-LABEL: llvm.func @columns(
// CHECK:         scf.for {{.*}} {
// CHECK:           scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>) : i64 {
// CHECK:             arith.addf {{.*}} : vector<16xf32>
rtile.func @columns(%X: memref<?x32xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %xv = rtile.view %X[*, *] : memref<?x32xf32, strided<[?, 1]>> to !rtile.view<16x32xf32>
  %x = rtile.load %xv[%i, %c0] : !rtile.view<16x32xf32>
  %f = rtile.fold %x : tensor<16x32xf32> -> tensor<16x8xf32>
  %s = rtile.slice %x[8] : tensor<16x32xf32> -> tensor<16x24xf32>
  %j = rtile.join %f, %s : tensor<16x8xf32>, tensor<16x24xf32> -> tensor<16x32xf32>
  rtile.store %j, %xv[%i, %c0] : !rtile.view<16x32xf32>
  rtile.return
}

// Rows that are neighbours in memory are read column by column, a vector of them
// at a time; where some do not exist, one after the other.

// CHECK-LABEL: llvm.func @transposed(
// CHECK:         scf.for %{{.+}} = %c0{{.*}} to %c2
// CHECK:           scf.for %{{.+}} = %c0{{.*}} to %c4
// CHECK:             scf.if
// CHECK:               llvm.load {{.+}} {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
// CHECK:             } else {
// CHECK:               scf.for
// CHECK:                 scf.if
// CHECK:                   llvm.load {{.+}} {alignment = 4 : i64} : !llvm.ptr -> f32
rtile.func @transposed(%X: memref<?x64xf32>, %Y: memref<32xf32>)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %v = rtile.view %X[*, *] transposed : memref<?x64xf32> to !rtile.view<32x4xf32>
  %t = rtile.load %v[%c0, %i] : !rtile.view<32x4xf32>
  %s = rtile.reduce sum %t : tensor<32x4xf32>
  %y = rtile.view %Y[*] : memref<32xf32> to !rtile.view<32xf32>
  rtile.store %s, %y[%c0] : !rtile.view<32xf32>
  rtile.return
}
