//===- fit-rows.mlir - Lower tiles where few rows exist -------*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-cpu-fit-rows=level=x86-64-v4 | FileCheck %s
// RUN: ringlet-opt %s --rtile-cpu-fit-rows=level=x86-64-v4 \
// RUN:   --remarks-filter=rtile-cpu-fit-rows -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: ringlet-opt %s --rtile-cpu-fit-rows=level=x86-64-v4 \
// RUN:   --rtile-lower-runs --rtile-fuse-rows \
// RUN:   --rtile-pack-operands=level=x86-64-v4 --rtile-assign-scratch \
// RUN:   --rtile-to-cpu=level=x86-64-v4 | FileCheck %s --check-prefix=CODE

// A query has 4 rows of the 16 of a tile: where no more exist, tiles have 4.

// REMARK:      [Passed] FitRows {{.*}}scores{{.*}}where no more exist, tiles of 4 rows: 16 cycles a key by the cost model with lanes along depth and columns, 38 with lanes along rows
// REMARK:      [Missed] FitRows {{.*}}short_depth{{.*}}no lower tiles for 8 rows: 19 cycles a key by the cost model with lanes along depth and columns, 10 with lanes along rows
// REMARK:      [Missed] FitRows {{.*}}values_of_columns{{.*}}no tiles of 4 rows: there is no form of values of columns for so few

// CHECK-LABEL: rtile.func @scores(
// CHECK-SAME:    rtile.narrow = 4 : i64
// CHECK:         %[[WHOLE:.+]] = rtile.view %{{.+}} group = [1, 4] {{.*}} to !rtile.view<16x32xf32>
// CHECK:         %[[LIMIT:.+]] = arith.addi %[[ROW:.+]], %c4
// CHECK:         rtile.bounds %[[WHOLE]]
// CHECK:         %[[FEW:.+]] = arith.cmpi sle, %{{.+}}, %[[LIMIT]] : index
// CHECK:         scf.if %[[FEW]] {
// CHECK:           rtile.view %{{.+}} group = [1, 4] {{.*}} to !rtile.view<4x32xf32>
// CHECK:           rtile.dot {{.*}} -> tensor<4x32xf32>
// CHECK:           rtile.store %{{.+}}, %{{.+}}[%[[ROW]], %{{.+}}] : !rtile.view<4x32xf32>
// CHECK:         } else {
// CHECK:           rtile.dot {{.*}} -> tensor<16x32xf32>
// CHECK:           rtile.store %{{.+}}, %[[WHOLE]][%[[ROW]], %{{.+}}] : !rtile.view<16x32xf32>

// 16 sums of 4 keys times 4 rows, over 4 vectors of the depth, become one vector
// of the result's panel. Keys that all exist are read where they are.

// CODE-LABEL:  llvm.func @scores(
// CODE:          scf.if
// CODE:            %[[KEYS:.+]] = scf.if %{{.+}} -> (!llvm.ptr)
// CODE:            llvm.getelementptr %[[KEYS]]
// CODE-COUNT-64:   llvm.intr.fma({{.*}}) : (vector<16xf32>
// CODE-COUNT-15:   arith.addf %{{.+}}, %{{.+}} : vector<16xf32>
// CODE-NOT:        arith.addf %{{.+}}, %{{.+}} : vector<16xf32>
// CODE:          } else {
rtile.func @scores(%Q: memref<?x64xf32>, %K: memref<?x64xf32>,
                   %S: memref<?x4x32xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %q = rtile.view %Q[*, *] : memref<?x64xf32> to !rtile.view<16x64xf32>
  %k = rtile.view %K[*, *] : memref<?x64xf32> to !rtile.view<32x64xf32>
  %s = rtile.view %S[*, %c0, *] group = [1, 4] : memref<?x4x32xf32>
      to !rtile.view<16x32xf32>
  %row = arith.muli %i, %c16 : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<16x64xf32>
  %k_tile = rtile.load %k[%c0, %c0] : !rtile.view<32x64xf32>
  %product = rtile.dot %q_tile, %k_tile transposed
      : tensor<16x64xf32>, tensor<32x64xf32> -> tensor<16x32xf32>
  rtile.store %product, %s[%row, %c0] : !rtile.view<16x32xf32>
  rtile.return
}

// Sums across lanes cost more than the lanes that rows leave empty.

// CHECK-LABEL: rtile.func @short_depth(
// CHECK-NOT:     scf.if
rtile.func @short_depth(%Q: memref<?x8xf32>, %K: memref<?x8xf32>,
                        %S: memref<?x8x32xf32>) grid(%i: index, %h: index) {
  %c0 = arith.constant 0 : index
  %q = rtile.view %Q[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %k = rtile.view %K[*, *] : memref<?x8xf32> to !rtile.view<32x8xf32>
  %s = rtile.view %S[*, %c0, *] group = [1, 8] : memref<?x8x32xf32>
      to !rtile.view<16x32xf32>
  %q_tile = rtile.load %q[%i, %c0] : !rtile.view<16x8xf32>
  %k_tile = rtile.load %k[%c0, %c0] : !rtile.view<32x8xf32>
  %product = rtile.dot %q_tile, %k_tile transposed
      : tensor<16x8xf32>, tensor<32x8xf32> -> tensor<16x32xf32>
  rtile.store %product, %s[%i, %c0] : !rtile.view<16x32xf32>
  rtile.return
}

// CHECK-LABEL: rtile.func @values_of_columns(
// CHECK-NOT:     scf.if
rtile.func @values_of_columns(%Q: memref<?x64xf32>, %K: memref<?x64xf32>,
                              %B: memref<?xf32>, %S: memref<?x4x32xf32>)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %q = rtile.view %Q[*, *] : memref<?x64xf32> to !rtile.view<16x64xf32>
  %k = rtile.view %K[*, *] : memref<?x64xf32> to !rtile.view<32x64xf32>
  %b = rtile.view %B[*] : memref<?xf32> to !rtile.view<32xf32>
  %s = rtile.view %S[*, %c0, *] group = [1, 4] : memref<?x4x32xf32>
      to !rtile.view<16x32xf32>
  %q_tile = rtile.load %q[%i, %c0] : !rtile.view<16x64xf32>
  %k_tile = rtile.load %k[%c0, %c0] : !rtile.view<32x64xf32>
  %b_tile = rtile.load %b[%c0] : !rtile.view<32xf32>
  %wide = rtile.broadcast %b_tile columns : tensor<32xf32> -> tensor<16x32xf32>
  %product = rtile.dot %q_tile, %k_tile transposed init(%wide)
      : tensor<16x64xf32>, tensor<32x64xf32> -> tensor<16x32xf32>
  rtile.store %product, %s[%i, %c0] : !rtile.view<16x32xf32>
  rtile.return
}
