//===- list-ops.mlir - Lists and masks are printed as read ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --mlir-print-op-generic | ringlet-opt | FileCheck %s
// RUN: ringlet-opt %s --emit-bytecode | ringlet-opt --allow-bytecode \
// RUN:   | FileCheck %s

// Every clause of a list, of a mask and of a question about blocks.

// CHECK-LABEL: rtile.func @lists(
// CHECK-SAME:    %[[Q:.+]]: memref<?x8xf32>, %[[INDEX:.+]]: memref<?xi64>, %[[MASK:.+]]: memref<?x?xi1>)
// CHECK-SAME:    grid(%[[N:.+]]: index)
// CHECK:         %[[V:.+]] = rtile.view
// CHECK:         rtile.list %[[INDEX]][%[[N]]], %[[V]][%[[N]]], %[[V]] : memref<?xi64>, !rtile.view<16x8xf32>, !rtile.view<16x8xf32>
// CHECK:         rtile.list %[[INDEX]][%[[N]]], %[[V]][%[[N]]], %[[V]] causal window = [8, -1] grid = [4, 4] reach = [1, 0] : memref<?xi64>, !rtile.view<16x8xf32>, !rtile.view<16x8xf32>
// CHECK:         rtile.visible %[[V]][%[[N]]], %[[V]][%[[N]]] grid = [16] reach = [3] : !rtile.view<16x8xf32>, !rtile.view<16x8xf32> -> tensor<16x16xi1>
// CHECK:         rtile.visible %[[V]][%[[N]]], %[[V]][%[[N]]] causal blocks(%[[MASK]] : memref<?x?xi1>) of [8, 4] : !rtile.view<16x8xf32>, !rtile.view<16x8xf32> -> tensor<16x16xi1>
// CHECK:         rtile.any_block %[[V]][%[[N]]], %[[V]][%[[N]]], %[[MASK]] of [8, 4] : !rtile.view<16x8xf32>, !rtile.view<16x8xf32>, memref<?x?xi1>
rtile.func @lists(%q: memref<?x8xf32>, %index: memref<?xi64>,
                  %mask: memref<?x?xi1>) grid(%n: index) {
  %v = rtile.view %q[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %0:3 = rtile.list %index[%n], %v[%n], %v
      : memref<?xi64>, !rtile.view<16x8xf32>, !rtile.view<16x8xf32>
  %1:3 = rtile.list %index[%n], %v[%n], %v causal window = [8, -1]
      grid = [4, 4] reach = [1, 0]
      : memref<?xi64>, !rtile.view<16x8xf32>, !rtile.view<16x8xf32>
  %2 = rtile.visible %v[%n], %v[%n] grid = [16] reach = [3]
      : !rtile.view<16x8xf32>, !rtile.view<16x8xf32> -> tensor<16x16xi1>
  %3 = rtile.visible %v[%n], %v[%n] causal
      blocks(%mask : memref<?x?xi1>) of [8, 4]
      : !rtile.view<16x8xf32>, !rtile.view<16x8xf32> -> tensor<16x16xi1>
  %4 = rtile.any_block %v[%n], %v[%n], %mask of [8, 4]
      : !rtile.view<16x8xf32>, !rtile.view<16x8xf32>, memref<?x?xi1>
  rtile.return
}

// The results of a list are called by what they are.

// CHECK-LABEL: rtile.func @names(
// CHECK:         %begin, %whole_end, %end = rtile.list
rtile.func @names(%q: memref<?x8xf32>, %index: memref<?xi64>) grid(%n: index) {
  %v = rtile.view %q[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %0, %1, %2 = rtile.list %index[%n], %v[%n], %v
      : memref<?xi64>, !rtile.view<16x8xf32>, !rtile.view<16x8xf32>
  rtile.return
}
