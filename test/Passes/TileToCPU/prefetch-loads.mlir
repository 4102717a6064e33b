//===- prefetch-loads.mlir - Fetch what the next turn loads ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-cpu-prefetch-loads | FileCheck %s
// RUN: ringlet-opt %s --rtile-cpu-prefetch-loads \
// RUN:   --remarks-filter=rtile-cpu-prefetch-loads -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: ringlet-opt %s --rtile-fuse-rows --rtile-pack-operands \
// RUN:   --rtile-cpu-prefetch-loads --rtile-assign-scratch --rtile-to-cpu \
// RUN:   | FileCheck %s --check-prefix=CODE

// Only the load at the row that the loop counts has a row to fetch: the same
// row of the turn after, 3 * 16 of the view's rows farther on, in lines of 64
// bytes. A row of 40 elements takes three of them.

// CHECK-LABEL: rtile.func @rows(
// CHECK:         scf.for
// CHECK-NEXT:      rtile.load {{.*}} {rtile.ahead = 48 : i64}
// CHECK-NEXT:      rtile.load %{{[^{]+$}}
// REMARK:      [Passed] PrefetchLoads {{.*}}"fetches rows 48 ahead"
// REMARK-NOT:  PrefetchLoads
// CODE-LABEL:  llvm.func @rows(
// CODE:          %[[AHEAD:.+]] = arith.muli %{{.+}}, %c48_i64
// CODE-NEXT:     %[[ROW:.+]] = llvm.getelementptr %{{.+}}[%[[AHEAD]]]
// CODE:          %[[NEXT:.+]] = llvm.getelementptr %[[ROW]]
// CODE-NEXT:     "llvm.intr.prefetch"(%[[NEXT]]) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
// CODE:          "llvm.intr.prefetch"
// CODE:          "llvm.intr.prefetch"
// CODE-NOT:      llvm.intr.prefetch
// CODE:          llvm.return
rtile.func @rows(%X: memref<?x40xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : index
  %zero = arith.constant dense<0.0> : tensor<16x40xf32>
  %x = rtile.view %X[*, *] : memref<?x40xf32, strided<[?, 1]>> to !rtile.view<16x40xf32>
  %sum = scf.for %row = %c0 to %i step %c48 iter_args(%so = %zero) -> (tensor<16x40xf32>) {
    %next = rtile.load %x[%row, %c0] : !rtile.view<16x40xf32>
    %same = rtile.load %x[%i, %c0] : !rtile.view<16x40xf32>
    %both = arith.addf %next, %same : tensor<16x40xf32>
    %more = arith.addf %so, %both : tensor<16x40xf32>
    scf.yield %more : tensor<16x40xf32>
  }
  rtile.store %sum, %x[%i, %c0] : !rtile.view<16x40xf32>
  rtile.return
}

// Where a table has the rows, or a row has its elements in different lines,
// nothing is fetched.

// CHECK-LABEL: rtile.func @elsewhere(
// CHECK-NOT:     rtile.ahead
// CHECK:         rtile.return
rtile.func @elsewhere(%X: memref<?x40xf32, strided<[?, 1]>>,
                      %Y: memref<?x40x?xf32, strided<[?, ?, 1]>>,
                      %at: memref<?xi64>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<16x40xf32>
  %x = rtile.view %X[*, *] rows(%at : memref<?xi64>) : memref<?x40xf32, strided<[?, 1]>> to !rtile.view<16x40xf32, indexed>
  %y = rtile.view %Y[*, *, %i] : memref<?x40x?xf32, strided<[?, ?, 1]>> to !rtile.view<16x40xf32>
  %sum = scf.for %row = %c0 to %i step %c16 iter_args(%so = %zero) -> (tensor<16x40xf32>) {
    %a = rtile.load %x[%row, %c0] : !rtile.view<16x40xf32, indexed>
    %b = rtile.load %y[%row, %c0] : !rtile.view<16x40xf32>
    %both = arith.addf %a, %b : tensor<16x40xf32>
    %more = arith.addf %so, %both : tensor<16x40xf32>
    scf.yield %more : tensor<16x40xf32>
  }
  rtile.store %sum, %y[%i, %c0] : !rtile.view<16x40xf32>
  rtile.return
}
