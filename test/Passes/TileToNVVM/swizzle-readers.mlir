//===- swizzle-readers.mlir - Who reads swizzled tiles ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-gpu-assign-shared=arch=sm_80 | FileCheck %s

// Matrix instructions alone know where pieces lie: a tile that multiply-adds
// read, too, is padded, and the other one of the same product is swizzled.

// CHECK-LABEL: rtile.func @mixed(
// CHECK:         rtile.load {{.+}} {rtile.shared = array<i64: {{[0-9]+}}>, rtile.swizzled} : !rtile.view<16x64xf16>
// CHECK:         rtile.load {{.+}} {rtile.shared = array<i64: {{[0-9]+}}>} : !rtile.view<64x64xf16>
rtile.func @mixed(%A: memref<16x64xf16>, %B: memref<64x64xf16>,
                  %C: memref<16x64xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %as = rtile.view %A[*, *] : memref<16x64xf16> to !rtile.view<16x64xf16>
  %bs = rtile.view %B[*, *] : memref<64x64xf16> to !rtile.view<64x64xf16>
  %cs = rtile.view %C[*, *] : memref<16x64xf32> to !rtile.view<16x64xf32>
  %a = rtile.load %as[%c0, %c0] : !rtile.view<16x64xf16>
  %b = rtile.load %bs[%c0, %c0] : !rtile.view<64x64xf16>
  %c = rtile.dot %a, %b {rtile.dot = "mma"}
      : tensor<16x64xf16>, tensor<64x64xf16> -> tensor<16x64xf32>
  %d = arith.truncf %c : tensor<16x64xf32> to tensor<16x64xf16>
  %e = rtile.dot %d, %b {rtile.dot = "simt"}
      : tensor<16x64xf16>, tensor<64x64xf16> -> tensor<16x64xf32>
  rtile.store %e, %cs[%c0, %c0] : !rtile.view<16x64xf32>
  rtile.return
}
