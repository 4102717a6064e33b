//===- split-masked-loops.mlir - Steps without a mask ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-split-masked-loops | FileCheck %s

// Causal steps that every row sees come first and lose their mask; the steps
// at the diagonal keep it.

// CHECK-LABEL: rtile.func @causal(
// CHECK:         %[[BEGIN:.+]], %{{.+}}, %[[WHOLE:.+]], %[[END:.+]] = rtile.run
// CHECK:         %[[FIRST:.+]] = scf.for %{{.+}} = %[[BEGIN]] to %[[WHOLE]] step
// CHECK-NOT:       rtile.visible
// CHECK-NOT:       arith.select
// CHECK:           %[[SCORE:.+]] = rtile.load
// CHECK:           rtile.reduce sum %[[SCORE]]
// CHECK:         scf.for %{{.+}} = %[[WHOLE]] to %[[END]] step %{{.+}} iter_args(%{{.+}} = %[[FIRST]])
// CHECK:           %[[SEEN:.+]] = rtile.visible
// CHECK:           arith.select %[[SEEN]]
// CHECK-NOT:     scf.for
// CHECK:         rtile.return
rtile.func @causal(%X: memref<?x64xf32, strided<[?, 1]>>,
                   %Y: memref<?xf32, strided<[1]>>) grid(%row: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %hidden = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = rtile.view %X[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %y = rtile.view %Y[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %b, %wb, %we, %e = rtile.run %x[%row], %x causal : !rtile.view<64x64xf32>, !rtile.view<64x64xf32>
  %sum = scf.for %j = %b to %e step %c64 iter_args(%s = %none) -> (tensor<64xf32>) {
    %t = rtile.load %x[%j, %c0] : !rtile.view<64x64xf32>
    %seen = rtile.visible %x[%row], %x[%j] causal
        : !rtile.view<64x64xf32>, !rtile.view<64x64xf32> -> tensor<64x64xi1>
    %m = arith.select %seen, %t, %hidden : tensor<64x64xi1>, tensor<64x64xf32>
    %r = rtile.reduce sum %m : tensor<64x64xf32>
    %n = arith.addf %s, %r : tensor<64xf32>
    scf.yield %n : tensor<64xf32>
  }
  rtile.store %sum, %y[%row] : !rtile.view<64xf32>
  rtile.return
}

// -----

// A left window hides early keys from late rows: masked steps on both sides.

// CHECK-LABEL: rtile.func @left_window(
// CHECK:         %[[BEGIN:.+]], %[[WB:.+]], %[[WE:.+]], %[[END:.+]] = rtile.run
// CHECK:         scf.for %{{.+}} = %[[BEGIN]] to %[[WB]] step
// CHECK:           rtile.visible
// CHECK:         scf.for %{{.+}} = %[[WB]] to %[[WE]] step
// CHECK-NOT:       rtile.visible
// CHECK:         scf.for %{{.+}} = %[[WE]] to %[[END]] step
// CHECK:           rtile.visible
rtile.func @left_window(%X: memref<?x64xf32, strided<[?, 1]>>,
                        %Y: memref<?xf32, strided<[1]>>) grid(%row: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %hidden = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = rtile.view %X[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %y = rtile.view %Y[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %b, %wb, %we, %e = rtile.run %x[%row], %x window = [200, 0] : !rtile.view<64x64xf32>, !rtile.view<64x64xf32>
  %sum = scf.for %j = %b to %e step %c64 iter_args(%s = %none) -> (tensor<64xf32>) {
    %t = rtile.load %x[%j, %c0] : !rtile.view<64x64xf32>
    %seen = rtile.visible %x[%row], %x[%j] window = [200, 0]
        : !rtile.view<64x64xf32>, !rtile.view<64x64xf32> -> tensor<64x64xi1>
    %m = arith.select %seen, %t, %hidden : tensor<64x64xi1>, tensor<64x64xf32>
    %r = rtile.reduce sum %m : tensor<64x64xf32>
    %n = arith.addf %s, %r : tensor<64xf32>
    scf.yield %n : tensor<64xf32>
  }
  rtile.store %sum, %y[%row] : !rtile.view<64xf32>
  rtile.return
}

// -----

// The mask asks for another relation than the run: it stays, in one loop.

// CHECK-LABEL: rtile.func @other_mask(
// CHECK:         scf.for
// CHECK:           rtile.visible
// CHECK-NOT:     scf.for
// CHECK:         rtile.return
rtile.func @other_mask(%X: memref<?x64xf32, strided<[?, 1]>>) grid(%row: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %x = rtile.view %X[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %b, %wb, %we, %e = rtile.run %x[%row], %x : !rtile.view<64x64xf32>, !rtile.view<64x64xf32>
  %hidden = arith.constant dense<0.0> : tensor<64x64xf32>
  scf.for %j = %b to %e step %c64 {
    %t = rtile.load %x[%j, %c0] : !rtile.view<64x64xf32>
    %seen = rtile.visible %x[%row], %x[%j] causal
        : !rtile.view<64x64xf32>, !rtile.view<64x64xf32> -> tensor<64x64xi1>
    %m = arith.select %seen, %t, %hidden : tensor<64x64xi1>, tensor<64x64xf32>
    rtile.store %m, %x[%row, %c0] : !rtile.view<64x64xf32>
  }
  rtile.return
}

// -----

// Between views with positions no step is whole: one loop, with its mask.

// CHECK-LABEL: rtile.func @positions(
// CHECK:         scf.for
// CHECK:           rtile.visible
// CHECK-NOT:     scf.for
// CHECK:         rtile.return
rtile.func @positions(%X: memref<?x64xf32, strided<[?, 1]>>, %T: memref<?xi64>) grid(%row: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %x = rtile.view %X[*, *] positions(%T : memref<?xi64>) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %b, %wb, %we, %e = rtile.run %x[%row], %x causal : !rtile.view<64x64xf32>, !rtile.view<64x64xf32>
  %hidden = arith.constant dense<0.0> : tensor<64x64xf32>
  scf.for %j = %b to %e step %c64 {
    %t = rtile.load %x[%j, %c0] : !rtile.view<64x64xf32>
    %seen = rtile.visible %x[%row], %x[%j] causal
        : !rtile.view<64x64xf32>, !rtile.view<64x64xf32> -> tensor<64x64xi1>
    %m = arith.select %seen, %t, %hidden : tensor<64x64xi1>, tensor<64x64xf32>
    rtile.store %m, %x[%row, %c0] : !rtile.view<64x64xf32>
  }
  rtile.return
}
