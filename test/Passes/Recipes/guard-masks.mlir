//===- guard-masks.mlir - Masks that are needed now and then ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-guard-masks | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-guard-masks --remarks-filter='rtile-.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A tile among the whole steps needs no mask; whether it is one shows when the
// kernel runs.

// REMARK: [Passed] GuardMasks {{.*}}"full: the mask of the last key tile is skipped if all of its rows exist"
// REMARK-NOT: remark:

// CHECK-LABEL: rtile.func @full(
// CHECK:         %[[BEGIN:.+]], %{{.+}}, %[[WHOLE_END:.+]], %{{.+}} = rtile.run
// CHECK:         %[[LAST:.+]] = arith.addi %[[BEGIN]]
// CHECK:         %[[SCORES:.+]] = rtile.load
// CHECK-NEXT:    %[[BEGUN:.+]] = arith.cmpi sge, %[[LAST]], %[[BEGIN]]
// CHECK-NEXT:    %[[BEFORE:.+]] = arith.cmpi slt, %[[LAST]], %[[WHOLE_END]]
// CHECK-NEXT:    %[[IS_WHOLE:.+]] = arith.andi %[[BEGUN]], %[[BEFORE]]
// CHECK-NEXT:    %[[RESULT:.+]] = scf.if %[[IS_WHOLE]] -> (tensor<64x32xf32>) {
// CHECK-NEXT:      scf.yield %[[SCORES]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[SEEN:.+]] = rtile.visible %{{.+}}[%{{.+}}], %{{.+}}[%[[LAST]]]
// CHECK-NEXT:      %[[MASKED:.+]] = arith.select %[[SEEN]], %[[SCORES]]
// CHECK-NEXT:      scf.yield %[[MASKED]]
// CHECK-NEXT:    }
// CHECK-NEXT:    rtile.store %[[RESULT]]

!buffer = memref<?x32xf32, strided<[?, 1]>>
!query = !rtile.view<64x32xf32>
!key = !rtile.view<32x32xf32>
rtile.func @full(%X: !buffer, %n: index) grid(%i: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %hidden = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %x = rtile.view %X[*, *] : !buffer to !query
  %k = rtile.view %X[*, *] : !buffer to !key
  %begin, %wb, %we, %end = rtile.run %x[%i], %k : !query, !key
  %rest = arith.muli %n, %c32 : index
  %last = arith.addi %begin, %rest : index
  %scores = rtile.load %x[%i, %c0] : !query
  %seen = rtile.visible %x[%i], %k[%last] : !query, !key -> tensor<64x32xi1>
  %masked = arith.select %seen, %scores, %hidden : tensor<64x32xi1>, tensor<64x32xf32>
  rtile.store %masked, %x[%i, %c0] : !query
  rtile.return
}

// -----

// At the diagonal a mask is always needed.

// CHECK-LABEL: rtile.func @causal(
// CHECK-NOT:     scf.if
// CHECK:         rtile.return

!buffer = memref<?x32xf32, strided<[?, 1]>>
!query = !rtile.view<64x32xf32>
!key = !rtile.view<32x32xf32>
rtile.func @causal(%X: !buffer, %n: index) grid(%i: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %hidden = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %x = rtile.view %X[*, *] : !buffer to !query
  %k = rtile.view %X[*, *] : !buffer to !key
  %begin, %wb, %we, %end = rtile.run %x[%i], %k causal : !query, !key
  %rest = arith.muli %n, %c32 : index
  %last = arith.addi %begin, %rest : index
  %scores = rtile.load %x[%i, %c0] : !query
  %seen = rtile.visible %x[%i], %k[%last] causal : !query, !key -> tensor<64x32xi1>
  %masked = arith.select %seen, %scores, %hidden : tensor<64x32xi1>, tensor<64x32xf32>
  rtile.store %masked, %x[%i, %c0] : !query
  rtile.return
}

// -----

// A tile that may begin between two steps is none of the run's.

// CHECK-LABEL: rtile.func @other_row(
// CHECK-NOT:     scf.if
// CHECK:         rtile.return

!buffer = memref<?x32xf32, strided<[?, 1]>>
!query = !rtile.view<64x32xf32>
!key = !rtile.view<32x32xf32>
rtile.func @other_row(%X: !buffer, %n: index) grid(%i: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %hidden = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %x = rtile.view %X[*, *] : !buffer to !query
  %k = rtile.view %X[*, *] : !buffer to !key
  %begin, %wb, %we, %end = rtile.run %x[%i], %k : !query, !key
  %rest = arith.muli %n, %c16 : index
  %last = arith.addi %begin, %rest : index
  %scores = rtile.load %x[%i, %c0] : !query
  %seen = rtile.visible %x[%i], %k[%last] : !query, !key -> tensor<64x32xi1>
  %masked = arith.select %seen, %scores, %hidden : tensor<64x32xi1>, tensor<64x32xf32>
  rtile.store %masked, %x[%i, %c0] : !query
  rtile.return
}
