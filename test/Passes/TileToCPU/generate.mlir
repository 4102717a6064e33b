//===- generate.mlir - Entries of lists on a CPU ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-check-cpu --rtile-lower-runs --rtile-fuse-rows \
// RUN:   --rtile-pack-operands --rtile-assign-scratch --rtile-to-cpu | FileCheck %s
// RUN: ringlet-opt %s --rtile-lower-to-cpu | mlir-translate --mlir-to-llvmir \
// RUN:   | opt -mtriple=x86_64-linux-gnu -S -O2 | FileCheck %s --check-prefix=VECTOR

// One loop over the places that lie in the list, which LLVM is free to change.

// CHECK-LABEL: llvm.func @doubled(
// CHECK:         %[[LIST:.+]] = llvm.load %arg0 {{.+}} -> !llvm.ptr
// CHECK:         %[[TABLE:.+]] = llvm.load %{{.+}} : !llvm.ptr -> !llvm.ptr
// CHECK:         %[[SIZE:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i64
// CHECK:         %[[BEGIN:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i64
// CHECK:         %[[END:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i64
// CHECK:         %[[AT_LEAST:.+]] = arith.maxsi %[[BEGIN]], %c0_i64
// CHECK:         %[[FIRST:.+]] = arith.minsi %[[AT_LEAST]], %[[SIZE]]
// CHECK:         %[[STOP:.+]] = arith.minsi %[[END]], %[[SIZE]]
// CHECK:         %[[STEP:.+]] = arith.constant 1 : i64
// CHECK:         scf.for %[[PLACE:.+]] = %[[FIRST]] to %[[STOP]] step %[[STEP]]
// CHECK:           %[[NUMBER:.+]] = llvm.load
// CHECK:           %[[ENTRY:.+]] = arith.addi %[[NUMBER]], %[[NUMBER]] : i64
// CHECK:           %[[ADDRESS:.+]] = llvm.getelementptr %[[TABLE]]
// CHECK:           llvm.store %[[ENTRY]], %[[ADDRESS]] {alignment = 8 : i64}
// CHECK-NEXT:    }{{$}}

// Entries that follow from numbers beside them come several at a time.

// VECTOR-LABEL: @doubled(
// VECTOR:         shl <4 x i64>
// VECTOR:         store <4 x i64>
rtile.func @doubled(%list: memref<?xi64>, %table: memref<?xi64>, %begin: index,
                    %end: index) grid(%i: index) {
  rtile.generate %table[%place = %begin to %end] {
    %number = memref.load %list[%place] : memref<?xi64>
    %entry = arith.addi %number, %number : i64
    rtile.yield %entry : i64
  } : memref<?xi64>
  rtile.return
}

// Beside tiles, and in a loop around it: what a run finds is a scalar, too.

// CHECK-LABEL: llvm.func @beside_tiles(
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             llvm.store %{{.+}}, %{{.+}} {alignment = 8 : i64} : i64
rtile.func @beside_tiles(%x: memref<?x8xf32>, %y: memref<?x8xf32>,
                         %table: memref<?xi64>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %xs = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<4x8xf32>
  %ys = rtile.view %y[*, *] : memref<?x8xf32> to !rtile.view<4x8xf32>
  scf.for %n = %c0 to %c4 step %c1 {
    %tile = rtile.load %xs[%n, %c0] : !rtile.view<4x8xf32>
    rtile.generate %table[%place = %n to %c4] {
      %first, %whole, %whole_end, %end = rtile.run %xs[%place], %xs causal
          : !rtile.view<4x8xf32>, !rtile.view<4x8xf32>
      %entry = arith.index_cast %end : index to i64
      rtile.yield %entry : i64
    } : memref<?xi64>
    rtile.store %tile, %ys[%n, %c0] : !rtile.view<4x8xf32>
  }
  rtile.return
}
