//===- lists.mlir - Key tiles from an index, blocks of a mask ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-split-masked-loops | FileCheck %s --check-prefix=SPLIT
// RUN: ringlet-opt %s --rtile-lower-runs | FileCheck %s --check-prefix=LOWER

// The entries of whole tiles come first and need no mask; a list is three
// numbers of the table.

// SPLIT-LABEL: rtile.func @list(
// SPLIT:         %[[BEGIN:.+]], %[[WHOLE:.+]], %[[END:.+]] = rtile.list
// SPLIT:         %[[FIRST:.+]] = scf.for %[[I:.+]] = %[[BEGIN]] to %[[WHOLE]] step
// SPLIT:           memref.load %{{.+}}[%[[I]]]
// SPLIT-NOT:       rtile.visible
// SPLIT-NOT:       arith.select
// SPLIT:         scf.for %{{.+}} = %[[WHOLE]] to %[[END]] step %{{.+}} iter_args(%{{.+}} = %[[FIRST]])
// SPLIT:           %[[SEEN:.+]] = rtile.visible
// SPLIT:           arith.select %[[SEEN]]
// SPLIT-NOT:     scf.for
// SPLIT:         rtile.return

// LOWER-LABEL: rtile.func @list(
// LOWER-SAME:    %[[INDEX:[a-z0-9]+]]: memref<?xi64>) grid(%[[N:.+]]: index)
// LOWER-NOT:     rtile.list
// LOWER:         %[[PLACE:.+]] = arith.muli %[[N]], %{{.+}} : index
// LOWER:         %[[E0:.+]] = memref.load %[[INDEX]][%[[PLACE]]]
// LOWER:         %[[B:.+]] = arith.index_cast %[[E0]]
// LOWER:         memref.load %[[INDEX]]
// LOWER:         %[[E2:.+]] = memref.load %[[INDEX]]
// LOWER:         %[[E:.+]] = arith.index_cast %[[E2]]
// LOWER:         scf.for %{{.+}} = %[[B]] to %[[E]]
rtile.func @list(%X: memref<?x64xf32, strided<[?, 1]>>,
                 %Y: memref<?xf32, strided<[1]>>, %index: memref<?xi64>)
    grid(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %hidden = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = rtile.view %X[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %y = rtile.view %Y[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %b, %w, %e = rtile.list %index[%n], %x[%n], %x grid = [32, 32] reach = [2, 2]
      : memref<?xi64>, !rtile.view<64x64xf32>, !rtile.view<64x64xf32>
  %sum = scf.for %j = %b to %e step %c1 iter_args(%s = %none) -> (tensor<64xf32>) {
    %entry = memref.load %index[%j] : memref<?xi64>
    %row = arith.index_cast %entry : i64 to index
    %t = rtile.load %x[%row, %c0] : !rtile.view<64x64xf32>
    %seen = rtile.visible %x[%n], %x[%row] grid = [32, 32] reach = [2, 2]
        : !rtile.view<64x64xf32>, !rtile.view<64x64xf32> -> tensor<64x64xi1>
    %m = arith.select %seen, %t, %hidden : tensor<64x64xi1>, tensor<64x64xf32>
    %r = rtile.reduce sum %m : tensor<64x64xf32>
    %a = arith.addf %s, %r : tensor<64xf32>
    scf.yield %a : tensor<64xf32>
  }
  rtile.store %sum, %y[%n] : !rtile.view<64xf32>
  rtile.return
}

// An index knows nothing of where a sequence ends that only the kernel knows the
// length of: no tile is whole.

// SPLIT-LABEL: rtile.func @length(
// SPLIT:         %[[BEGIN:.+]], %{{.+}}, %[[END:.+]] = rtile.list
// SPLIT:         scf.for %{{.+}} = %[[BEGIN]] to %[[END]] step
// SPLIT:           rtile.visible
// SPLIT-NOT:     scf.for
// SPLIT:         rtile.return
rtile.func @length(%X: memref<?x64xf32, strided<[?, 1]>>,
                   %Y: memref<?xf32, strided<[1]>>, %index: memref<?xi64>,
                   %lengths: memref<?xi64>) grid(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %hidden = arith.constant dense<0.0> : tensor<64x64xf32>
  %number = memref.load %lengths[%c0] : memref<?xi64>
  %length = arith.index_cast %number : i64 to index
  %x = rtile.view %X[*, *] within(%c0, %length) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %y = rtile.view %Y[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %b, %w, %e = rtile.list %index[%n], %x[%n], %x grid = [32, 32] reach = [2, 2]
      : memref<?xi64>, !rtile.view<64x64xf32>, !rtile.view<64x64xf32>
  %sum = scf.for %j = %b to %e step %c1 iter_args(%s = %none) -> (tensor<64xf32>) {
    %entry = memref.load %index[%j] : memref<?xi64>
    %row = arith.index_cast %entry : i64 to index
    %t = rtile.load %x[%row, %c0] : !rtile.view<64x64xf32>
    %seen = rtile.visible %x[%n], %x[%row] grid = [32, 32] reach = [2, 2]
        : !rtile.view<64x64xf32>, !rtile.view<64x64xf32> -> tensor<64x64xi1>
    %m = arith.select %seen, %t, %hidden : tensor<64x64xi1>, tensor<64x64xf32>
    %r = rtile.reduce sum %m : tensor<64x64xf32>
    %a = arith.addf %s, %r : tensor<64xf32>
    scf.yield %a : tensor<64xf32>
  }
  rtile.store %sum, %y[%n] : !rtile.view<64xf32>
  rtile.return
}

// A mask of other conditions than the list's, and one that speaks of blocks,
// may hide something in whole tiles: the loop stays as it is.

// SPLIT-LABEL: rtile.func @other_masks(
// SPLIT:         scf.for
// SPLIT:           rtile.visible {{.+}} causal
// SPLIT:           rtile.visible {{.+}} blocks
// SPLIT-NOT:     scf.for
// SPLIT:         rtile.return
rtile.func @other_masks(%X: memref<?x64xf32, strided<[?, 1]>>,
                        %Y: memref<?xf32, strided<[1]>>, %index: memref<?xi64>,
                        %mask: memref<?x?xi1>) grid(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %hidden = arith.constant dense<0.0> : tensor<64x64xf32>
  %x = rtile.view %X[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %y = rtile.view %Y[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %b, %w, %e = rtile.list %index[%n], %x[%n], %x
      : memref<?xi64>, !rtile.view<64x64xf32>, !rtile.view<64x64xf32>
  %sum = scf.for %j = %b to %e step %c1 iter_args(%s = %none) -> (tensor<64xf32>) {
    %entry = memref.load %index[%j] : memref<?xi64>
    %row = arith.index_cast %entry : i64 to index
    %t = rtile.load %x[%row, %c0] : !rtile.view<64x64xf32>
    %causal = rtile.visible %x[%n], %x[%row] causal
        : !rtile.view<64x64xf32>, !rtile.view<64x64xf32> -> tensor<64x64xi1>
    %set = rtile.visible %x[%n], %x[%row] blocks(%mask : memref<?x?xi1>) of [16, 16]
        : !rtile.view<64x64xf32>, !rtile.view<64x64xf32> -> tensor<64x64xi1>
    %seen = arith.andi %causal, %set : tensor<64x64xi1>
    %m = arith.select %seen, %t, %hidden : tensor<64x64xi1>, tensor<64x64xf32>
    %r = rtile.reduce sum %m : tensor<64x64xf32>
    %a = arith.addf %s, %r : tensor<64xf32>
    scf.yield %a : tensor<64xf32>
  }
  rtile.store %sum, %y[%n] : !rtile.view<64xf32>
  rtile.return
}

// All blocks between those of the first and of the last row that exists.

// LOWER-LABEL: rtile.func @blocks(
// LOWER-SAME:    %[[MASK:[a-z0-9]+]]: memref<?x?xi1>)
// LOWER-NOT:     rtile.any_block
// LOWER:         %[[NONE:.+]] = arith.constant false
// LOWER:         %[[SOME:.+]] = scf.for %[[Q:.+]] = %{{.+}} to %{{.+}} step %{{.+}} iter_args(%[[OUTER:.+]] = %[[NONE]])
// LOWER:           %[[ROW:.+]] = scf.for %[[K:.+]] = %{{.+}} to %{{.+}} step %{{.+}} iter_args(%[[INNER:.+]] = %[[OUTER]])
// LOWER:             %[[SET:.+]] = memref.load %[[MASK]][%[[Q]], %[[K]]]
// LOWER:             %[[OR:.+]] = arith.ori %[[INNER]], %[[SET]]
// LOWER:             scf.yield %[[OR]]
// LOWER:           scf.yield %[[ROW]]
// LOWER:         scf.if %[[SOME]]
rtile.func @blocks(%X: memref<?x64xf32, strided<[?, 1]>>,
                   %Y: memref<?x64xf32, strided<[?, 1]>>,
                   %mask: memref<?x?xi1>) grid(%i: index, %j: index) {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %y = rtile.view %Y[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %some = rtile.any_block %x[%i], %x[%j], %mask of [16, 48]
      : !rtile.view<64x64xf32>, !rtile.view<64x64xf32>, memref<?x?xi1>
  scf.if %some {
    %t = rtile.load %x[%j, %c0] : !rtile.view<64x64xf32>
    rtile.store %t, %y[%i, %c0] : !rtile.view<64x64xf32>
  }
  rtile.return
}
