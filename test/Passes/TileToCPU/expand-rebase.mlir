//===- expand-rebase.mlir - Rebased rows, row by row ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-expand-rebase --canonicalize | FileCheck %s
// RUN: ringlet-opt %s --rtile-expand-rebase -o /dev/null \
// RUN:   --remarks-filter=rtile-expand-rebase --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// REMARK: {{.*}}expand-rebase.mlir{{.*}}Remark="3 tiles multiplied at every step instead of where rows are above the bound"

// The greatest sum of a row is compared with the bound (2^40) and with infinity,
// which has no exponent. The exponent is a field of its bits; so is that of the
// factor, but for 2^-127, which has none.

// CHECK-LABEL: rtile.func @wide(
// CHECK-DAG:     %[[BOUND:.+]] = arith.constant dense<1.09951163E+12> : tensor<16xf32>
// CHECK-DAG:     %[[INF:.+]] = arith.constant dense<0x7F800000> : tensor<16xf32>
// CHECK-DAG:     %[[LEAST:.+]] = arith.constant dense<5.87747175E-39> : tensor<16xf32>
// CHECK-DAG:     %[[C23:.+]] = arith.constant dense<23> : tensor<16xi32>
// CHECK-DAG:     %[[C127:.+]] = arith.constant dense<127> : tensor<16xi32>
// CHECK-DAG:     %[[C0:.+]] = arith.constant dense<0> : tensor<16xi32>
// CHECK:         %[[M:.+]] = rtile.load
// CHECK:         %[[L:.+]] = rtile.load
// CHECK:         %[[A:.+]] = rtile.load
// CHECK-DAG:     %[[TOP:.+]] = rtile.reduce max %[[L]]
// CHECK-DAG:     %[[LARGE:.+]] = arith.cmpf ogt, %[[TOP]], %[[BOUND]]
// CHECK-DAG:     %[[FINITE:.+]] = arith.cmpf olt, %[[TOP]], %[[INF]]
// CHECK-DAG:     %[[BITS:.+]] = arith.bitcast %[[TOP]] : tensor<16xf32> to tensor<16xi32>
// CHECK-DAG:     %[[FIELD:.+]] = arith.shrui %[[BITS]], %[[C23]]
// CHECK:         %[[E:.+]] = arith.select %{{.+}}, %{{.+}}, %[[C0]]
// CHECK-DAG:     %[[MOVE:.+]] = arith.sitofp %[[E]]
// CHECK-DAG:     %[[M1:.+]] = arith.addf %[[M]], %[[MOVE]]
// CHECK-DAG:     %[[FACTOR:.+]] = arith.subi %[[C127]], %[[E]]
// CHECK:         %[[SCALE:.+]] = arith.select %{{.+}}, %[[LEAST]], %{{.+}} : tensor<16xi1>, tensor<16xf32>
// CHECK:         %[[S8:.+]] = rtile.broadcast %[[SCALE]] : tensor<16xf32> -> tensor<16x8xf32>
// CHECK:         %[[L1:.+]] = arith.mulf %[[L]], %[[S8]]
// CHECK:         %[[S64:.+]] = rtile.broadcast %[[SCALE]] : tensor<16xf32> -> tensor<16x64xf32>
// CHECK:         %[[A1:.+]] = arith.mulf %[[A]], %[[S64]]
// CHECK-NOT:     rtile.rebase
// CHECK:         rtile.store %[[M1]]
// CHECK:         rtile.store %[[L1]]
// CHECK:         rtile.store %[[A1]]
rtile.func @wide(%X: memref<?x64xf32>, %Y: memref<?xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %mv = rtile.view %Y[*] : memref<?xf32> to !rtile.view<16xf32>
  %lv = rtile.view %X[*, *] : memref<?x64xf32> to !rtile.view<16x8xf32>
  %av = rtile.view %X[*, *] : memref<?x64xf32> to !rtile.view<16x64xf32>
  %m = rtile.load %mv[%c0] : !rtile.view<16xf32>
  %l = rtile.load %lv[%c0, %c0] : !rtile.view<16x8xf32>
  %a = rtile.load %av[%i, %c0] : !rtile.view<16x64xf32>
  %m1, %l1, %a1, %b1 = rtile.rebase %m, %l bound = 40 tiles(%a, %a)
      : tensor<16xf32>, tensor<16x8xf32>, tensor<16x64xf32>, tensor<16x64xf32>
  rtile.store %m1, %mv[%c0] : !rtile.view<16xf32>
  rtile.store %l1, %lv[%c0, %c0] : !rtile.view<16x8xf32>
  rtile.store %a1, %av[%i, %c0] : !rtile.view<16x64xf32>
  rtile.return
}

// Sums of one axis are their own maximum, and no row is made wide.

// CHECK-LABEL: rtile.func @narrow(
// CHECK-NOT:     rtile.reduce
// CHECK-NOT:     rtile.broadcast
// CHECK:         rtile.return
rtile.func @narrow(%Y: memref<?xf32>) grid(%i: index) {
  %mv = rtile.view %Y[*] : memref<?xf32> to !rtile.view<16xf32>
  %m = rtile.load %mv[%i] : !rtile.view<16xf32>
  %m1, %l1 = rtile.rebase %m, %m bound = 0 : tensor<16xf32>, tensor<16xf32>
  rtile.store %l1, %mv[%i] : !rtile.view<16xf32>
  rtile.return
}

// Rows above the limit are multiplied by infinity.

// CHECK-LABEL: rtile.func @limited(
// CHECK-DAG:     %[[INF:.+]] = arith.constant dense<0x7F800000> : tensor<16xf32>
// CHECK-DAG:     %[[LIMIT:.+]] = arith.constant dense<6.553600e+04> : tensor<16xf32>
// CHECK:         %[[L:.+]] = rtile.load
// CHECK:         %[[SCALE:.+]] = arith.select %{{.+}}, %{{.+}}, %{{.+}} : tensor<16xi1>, tensor<16xf32>
// CHECK:         %[[BEYOND:.+]] = arith.cmpf ogt, %[[L]], %[[LIMIT]]
// CHECK:         %[[FACTOR:.+]] = arith.select %[[BEYOND]], %[[INF]], %[[SCALE]]
// CHECK:         arith.mulf %[[L]], %[[FACTOR]]
rtile.func @limited(%Y: memref<?xf32>) grid(%i: index) {
  %mv = rtile.view %Y[*] : memref<?xf32> to !rtile.view<16xf32>
  %m = rtile.load %mv[%i] : !rtile.view<16xf32>
  %m1, %l1 = rtile.rebase %m, %m bound = 14 limit = 16
      : tensor<16xf32>, tensor<16xf32>
  rtile.store %l1, %mv[%i] : !rtile.view<16xf32>
  rtile.return
}
