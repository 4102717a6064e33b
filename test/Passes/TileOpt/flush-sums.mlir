//===- flush-sums.mlir - Long sums move to memory now and then ----------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-flush-sums --canonicalize | FileCheck %s
// RUN: ringlet-opt %s --rtile-flush-sums --remarks-filter=rtile-flush-sums \
// RUN:   --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=REMARK

!buffer = memref<?x32xf32, strided<[?, 1]>>
!rows = memref<?xf32>

// REMARK: maximum: sums of 64 keys move to memory
// A running maximum: 4 steps of 16 keys at a time, in two pieces of the columns.
// CHECK-LABEL: rtile.func @maximum(
// CHECK-NOT:     rtile.totals
// CHECK:         %[[LOOP:.+]]:3 = scf.for %[[ROW:.+]] = %[[BEGIN:.+]] to %[[END:.+]] step %c16
// CHECK-SAME:        iter_args(%[[M:.+]] = %{{.+}}, %{{.+}} = %{{.+}}, %{{.+}} = %{{.+}})
// CHECK:           %[[NEW:.+]] = arith.maximumf %[[M]]
// CHECK:           %[[ACC:.+]] = rtile.dot
// CHECK:           %[[DONE:.+]] = arith.subi %[[ROW]], %[[BEGIN]]
// CHECK:           %[[HAS:.+]] = arith.cmpi sge, %[[DONE]], %c64
// CHECK:           %[[OF:.+]] = arith.andi %[[DONE]], %c63
// CHECK:           %[[DUE:.+]] = arith.cmpi sge, %[[OF]], %c48
// CHECK:           %[[REST:.+]]:2 = scf.if %[[DUE]]
// CHECK:             scf.if %[[HAS]] {
// CHECK:               %[[OLD:.+]] = rtile.load %[[MAXIMA:.+]][%[[TILE:.+]]]
// CHECK:               %[[CHANGE:.+]] = arith.subf %[[OLD]], %[[NEW]]
// CHECK:               %[[POWER:.+]] = arith.mulf %[[CHANGE]], %{{.+}}
// CHECK:               math.exp2 %[[POWER]]
// CHECK-COUNT-3:       rtile.store
// CHECK:               rtile.store %[[NEW]], %[[MAXIMA]][%[[TILE]]]
// CHECK:             } else {
// CHECK-NOT:           rtile.load
// CHECK:               rtile.store %[[NEW]], %[[MAXIMA]][%[[TILE]]]
// CHECK:             }
// CHECK:             scf.yield
// CHECK:           } else {
// CHECK-NEXT:        scf.yield %{{.+}}, %[[ACC]]
// CHECK:           scf.yield %[[NEW]], %[[REST]]#0, %[[REST]]#1
// CHECK:         %[[SPAN:.+]] = arith.subi %[[END]], %[[BEGIN]]
// CHECK:         %[[ANY:.+]] = arith.cmpi sgt, %[[SPAN]], %c48
// CHECK:         %[[SUM:.+]]:2 = scf.if %[[ANY]]
// CHECK:         scf.if %[[ANY]]
// CHECK:         %[[WHOLE:.+]] = rtile.join
// CHECK:         rtile.store %[[WHOLE]]
rtile.func @maximum(%Q: !buffer, %K: !buffer, %O: !buffer, %L: !rows,
                    %TA: !buffer, %TM: !rows, %TL: !rows) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %unit = arith.constant dense<0.5> : tensor<16xf32>
  %wide_unit = arith.constant dense<0.5> : tensor<16x16xf32>
  %low = arith.constant dense<-1.0e38> : tensor<16xf32>
  %none = arith.constant dense<0.0> : tensor<16xf32>
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %row = arith.muli %i, %c16 : index
  %q = rtile.view %Q[*, *] : !buffer to !rtile.view<16x32xf32>
  %k = rtile.view %K[*, *] : !buffer to !rtile.view<16x32xf32>
  %o = rtile.view %O[*, *] : !buffer to !rtile.view<16x32xf32>
  %l = rtile.view %L[*] : !rows to !rtile.view<16xf32>
  %ta = rtile.view %TA[*, *] : !buffer to !rtile.view<16x16xf32>
  %tm = rtile.view %TM[*] : !rows to !rtile.view<16xf32>
  %tl = rtile.view %TL[*] : !rows to !rtile.view<16xf32>
  rtile.totals %ta, %tm, %tl[%row] keys = 64 step = 16
      : !rtile.view<16x16xf32>, !rtile.view<16xf32>
  %tile = rtile.load %q[%row, %c0] : !rtile.view<16x32xf32>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k
      : !rtile.view<16x32xf32>, !rtile.view<16x32xf32>
  %state:3 = scf.for %key = %begin to %end step %c16
      iter_args(%m = %low, %sum = %none, %acc = %zero)
      -> (tensor<16xf32>, tensor<16xf32>, tensor<16x32xf32>) {
    %keys = rtile.load %k[%key, %c0] : !rtile.view<16x32xf32>
    %s = rtile.dot %tile, %keys transposed : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<16x16xf32>
    %most = rtile.reduce max %s : tensor<16x16xf32>
    %new = arith.maximumf %m, %most : tensor<16xf32>
    %change = arith.subf %m, %new : tensor<16xf32>
    %power = arith.mulf %change, %unit : tensor<16xf32>
    %alpha = math.exp2 %power : tensor<16xf32>
    %new_wide = rtile.broadcast %new : tensor<16xf32> -> tensor<16x16xf32>
    %below = arith.subf %s, %new_wide : tensor<16x16xf32>
    %scaled = arith.mulf %below, %wide_unit : tensor<16x16xf32>
    %p = math.exp2 %scaled : tensor<16x16xf32>
    %of_tile = rtile.reduce sum %p : tensor<16x16xf32>
    %decayed = arith.mulf %sum, %alpha : tensor<16xf32>
    %sum_new = arith.addf %decayed, %of_tile : tensor<16xf32>
    %alpha_wide = rtile.broadcast %alpha : tensor<16xf32> -> tensor<16x32xf32>
    %acc_decayed = arith.mulf %acc, %alpha_wide : tensor<16x32xf32>
    %acc_new = rtile.dot %p, %keys init(%acc_decayed) : tensor<16x16xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
    scf.yield %new, %sum_new, %acc_new : tensor<16xf32>, tensor<16xf32>, tensor<16x32xf32>
  }
  rtile.store %state#2, %o[%row, %c0] : !rtile.view<16x32xf32>
  rtile.store %state#1, %l[%row] : !rtile.view<16xf32>
  rtile.return
}

// What is rescaled by something else than the reference moves by is no sum.
// REMARK: other: sums of all keys stay in registers: expected loops that carry a sum and an accumulator
// CHECK-LABEL: rtile.func @other(
// CHECK-NOT:     scf.if
// CHECK:         rtile.return
rtile.func @other(%K: !buffer, %O: !buffer, %TA: !buffer, %TM: !rows,
                  %TL: !rows) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %half = arith.constant dense<0.5> : tensor<16x32xf32>
  %low = arith.constant dense<-1.0e38> : tensor<16xf32>
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %row = arith.muli %i, %c16 : index
  %k = rtile.view %K[*, *] : !buffer to !rtile.view<16x32xf32>
  %o = rtile.view %O[*, *] : !buffer to !rtile.view<16x32xf32>
  %ta = rtile.view %TA[*, *] : !buffer to !rtile.view<16x16xf32>
  %tm = rtile.view %TM[*] : !rows to !rtile.view<16xf32>
  %tl = rtile.view %TL[*] : !rows to !rtile.view<16xf32>
  rtile.totals %ta, %tm, %tl[%row] keys = 64 step = 16
      : !rtile.view<16x16xf32>, !rtile.view<16xf32>
  %begin, %wb, %we, %end = rtile.run %k[%row], %k
      : !rtile.view<16x32xf32>, !rtile.view<16x32xf32>
  %state:2 = scf.for %key = %begin to %end step %c16
      iter_args(%m = %low, %acc = %zero)
      -> (tensor<16xf32>, tensor<16x32xf32>) {
    %keys = rtile.load %k[%key, %c0] : !rtile.view<16x32xf32>
    %most = rtile.reduce max %keys : tensor<16x32xf32>
    %new = arith.maximumf %m, %most : tensor<16xf32>
    %decayed = arith.mulf %acc, %half : tensor<16x32xf32>
    %acc_new = arith.addf %decayed, %keys : tensor<16x32xf32>
    scf.yield %new, %acc_new : tensor<16xf32>, tensor<16x32xf32>
  }
  rtile.store %state#1, %o[%row, %c0] : !rtile.view<16x32xf32>
  rtile.return
}
