//===- trim-rows.mlir - Leave out panels without rows ---------*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-fuse-rows --rtile-pack-operands=level=x86-64-v4 \
// RUN:   --rtile-trim-rows | FileCheck %s
// RUN: ringlet-opt %s --rtile-fuse-rows --rtile-pack-operands=level=x86-64-v4 \
// RUN:   --rtile-trim-rows --remarks-filter=rtile-trim-rows -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: ringlet-opt %s --rtile-fuse-rows --rtile-pack-operands=level=x86-64-v4 \
// RUN:   --rtile-trim-rows --rtile-assign-scratch \
// RUN:   --rtile-to-cpu=level=x86-64-v4 | FileCheck %s --check-prefix=CODE

// Of a tile's four panels of 32 rows, those with rows are worked on.

// REMARK:      [Passed] TrimRows {{.*}}double{{.*}}panels without rows are left out
// REMARK-NOT:  TrimRows

// CHECK-LABEL: rtile.func @double(
// CHECK-SAME:    rtile.trimmed_rows = array<i64: 128>

// CODE-LABEL:  llvm.func @double(
// CODE:          %[[SOME:.+]] = arith.maxsi %{{.+}}, %{{.+}} : i64
// CODE-NEXT:     arith.constant 32 : i64
// CODE-NEXT:     %[[PANELS:.+]] = arith.ceildivsi %[[SOME]], %{{.+}}
// CODE:          %[[COUNT:.+]] = arith.minsi %[[PANELS]], %{{.+}}
// CODE:          scf.for %{{.+}} = %{{.+}} to %[[COUNT]] step
rtile.func @double(%X: memref<?x16xf32>, %Y: memref<?x16xf32>)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %row = arith.muli %i, %c128 : index
  %x = rtile.view %X[*, *] : memref<?x16xf32> to !rtile.view<128x16xf32>
  %y = rtile.view %Y[*, *] : memref<?x16xf32> to !rtile.view<128x16xf32>
  %t = rtile.load %x[%row, %c0] : !rtile.view<128x16xf32>
  %u = arith.addf %t, %t : tensor<128x16xf32>
  rtile.store %u, %y[%row, %c0] : !rtile.view<128x16xf32>
  rtile.return
}

// One panel, rows that meet in an operation, stores at several rows, and one of
// which it is known too late which rows it has.

// CHECK-LABEL: rtile.func @one_panel(
// CHECK-NOT:     rtile.trimmed_rows
rtile.func @one_panel(%X: memref<?x16xf32>) grid(%row: index) {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x16xf32> to !rtile.view<32x16xf32>
  %t = rtile.load %x[%row, %c0] : !rtile.view<32x16xf32>
  %u = arith.addf %t, %t : tensor<32x16xf32>
  rtile.store %u, %x[%row, %c0] : !rtile.view<32x16xf32>
  rtile.return
}

// CHECK-LABEL: rtile.func @right_operand(
// CHECK-NOT:     rtile.trimmed_rows
rtile.func @right_operand(%X: memref<?x64xf32>) grid(%row: index) {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x64xf32> to !rtile.view<64x64xf32>
  %t = rtile.load %x[%row, %c0] : !rtile.view<64x64xf32>
  %u = arith.addf %t, %t : tensor<64x64xf32>
  %d = rtile.dot %t, %u : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  rtile.store %d, %x[%row, %c0] : !rtile.view<64x64xf32>
  rtile.return
}

// CHECK-LABEL: rtile.func @two_rows(
// CHECK-NOT:     rtile.trimmed_rows
rtile.func @two_rows(%X: memref<?x16xf32>) grid(%row: index, %other: index) {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x16xf32> to !rtile.view<64x16xf32>
  %t = rtile.load %x[%row, %c0] : !rtile.view<64x16xf32>
  %u = arith.addf %t, %t : tensor<64x16xf32>
  rtile.store %u, %x[%row, %c0] : !rtile.view<64x16xf32>
  rtile.store %u, %x[%other, %c0] : !rtile.view<64x16xf32>
  rtile.return
}

// CHECK-LABEL: rtile.func @late(
// CHECK-NOT:     rtile.trimmed_rows
rtile.func @late(%X: memref<?x16xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x16xf32> to !rtile.view<64x16xf32>
  %t = rtile.load %x[%i, %c0] : !rtile.view<64x16xf32>
  %c64 = arith.constant 64 : index
  %row = arith.muli %i, %c64 : index
  rtile.store %t, %x[%row, %c0] : !rtile.view<64x16xf32>
  rtile.return
}
