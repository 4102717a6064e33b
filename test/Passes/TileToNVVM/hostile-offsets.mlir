//===- hostile-offsets.mlir - Offsets at the end of 64 bits ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-lower-to-nvvm=level=sm_80 | FileCheck %s

// The tile's last column is past 2^63: it must not count as inside the 64
// columns. Every column of the view ends far to the left of the tile, so that
// each element is read under a condition that fails.

// CHECK-LABEL: llvm.func ptx_kernelcc @far_column(
// CHECK:         %[[END:.+]] = llvm.mlir.constant(-1048576 : i32)
// CHECK:         %[[EXISTS:.+]] = llvm.icmp "slt" %{{.+}}, %[[END]]
// CHECK:         ld.global
// CHECK:         llvm.icmp "slt" %{{.+}}, %[[END]]
// CHECK:         ld.global
rtile.func @far_column(%x: memref<64x64xf32>, %y: memref<64x64xf32>)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %far = arith.constant 9223372036854775800 : index
  %xs = rtile.view %x[*, *] : memref<64x64xf32> to !rtile.view<16x64xf32>
  %ys = rtile.view %y[*, *] : memref<64x64xf32> to !rtile.view<16x64xf32>
  %t = rtile.load %xs[%c0, %far] : !rtile.view<16x64xf32>
  rtile.store %t, %ys[%c0, %c0] : !rtile.view<16x64xf32>
  rtile.return
}

// A tile inside the columns is read under conditions on its rows alone.

// CHECK-LABEL: llvm.func ptx_kernelcc @near_column(
// CHECK-NOT:     -1048576
// CHECK:         ld.global
rtile.func @near_column(%x: memref<64x128xf32>, %y: memref<64x64xf32>)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %xs = rtile.view %x[*, *] : memref<64x128xf32> to !rtile.view<16x64xf32>
  %ys = rtile.view %y[*, *] : memref<64x64xf32> to !rtile.view<16x64xf32>
  %t = rtile.load %xs[%c0, %c64] : !rtile.view<16x64xf32>
  rtile.store %t, %ys[%c0, %c0] : !rtile.view<16x64xf32>
  rtile.return
}
