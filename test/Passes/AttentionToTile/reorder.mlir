//===- reorder.mlir - Kernels that move tokens ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --ringlet-to-rtile --canonicalize | FileCheck %s

#hilbert = #rlayout.layout<order = #rlayout.order<hilbert, grid = [8, 8]>>
#residue = #rlayout.layout<order = #rlayout.order<residue<4>>>

// From linear order, slot m takes token pi(m).

// CHECK-LABEL: rplan.func @to_hilbert(
// CHECK:         %[[TABLE:.+]] = rplan.order_table #rlayout.order<hilbert, grid = [8, 8]> length(%{{.+}}) : memref<?xi64>
// CHECK:         rplan.launch @to_hilbert_reorder0 grid({{.+}}) args({{.+}}, %[[TABLE]])
// CHECK-LABEL: rtile.func @to_hilbert_reorder0(
// CHECK:         %[[X:.+]] = rtile.view {{.+}} rows({{.+}}) {{.+}} to !rtile.view<32x16xf32, indexed>
// CHECK:         %[[Y:.+]] = rtile.view {{.+}} to !rtile.view<32x16xf32>
// CHECK:         %[[T:.+]] = rtile.load %[[X]]
// CHECK:         rtile.store %[[T]], %[[Y]]
func.func @to_hilbert(%x: tensor<1x64x2x16xf32>) -> tensor<1x64x2x16xf32, #hilbert> {
  %y = ringlet.reorder %x : tensor<1x64x2x16xf32> to tensor<1x64x2x16xf32, #hilbert>
  return %y : tensor<1x64x2x16xf32, #hilbert>
}

// -----

#hilbert = #rlayout.layout<order = #rlayout.order<hilbert, grid = [8, 8]>>
#residue = #rlayout.layout<order = #rlayout.order<residue<4>>>

// From one order to another, a row of the kernel is a token and each side says
// in which slot it lies.

// CHECK-LABEL: rplan.func @between(
// CHECK:         rplan.order_table #rlayout.order<hilbert, grid = [8, 8]> length(%{{.+}}) inverse
// CHECK:         rplan.order_table #rlayout.order<residue<4>> length(%{{.+}}) inverse
// CHECK-LABEL: rtile.func @between_reorder0(
// CHECK-COUNT-2: indexed
func.func @between(%x: tensor<1x64x48xf16, #hilbert>) -> tensor<1x64x48xf16, #residue> {
  %y = ringlet.reorder %x : tensor<1x64x48xf16, #hilbert> to tensor<1x64x48xf16, #residue>
  return %y : tensor<1x64x48xf16, #residue>
}

// -----

// An argument that is returned as it came is copied: results are the caller's
// memory.

// CHECK-LABEL: rplan.func @copy(
// CHECK:         rplan.launch @copy_copy0 grid({{.+}}) args(%{{.+}}, %{{.+}})
func.func @copy(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  return %x : tensor<3x5xf32>
}
