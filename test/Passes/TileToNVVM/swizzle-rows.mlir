//===- swizzle-rows.mlir - Which tiles lie swizzled ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-gpu-swizzle-rows=arch=sm_80 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ASYNC,MANY
// RUN: ringlet-opt %s --rtile-gpu-swizzle-rows=arch=sm_90a \
// RUN:   | FileCheck %s --check-prefixes=CHECK,ASYNC,FEW
// RUN: ringlet-opt %s --rtile-gpu-swizzle-rows=arch=sm_75 \
// RUN:   | FileCheck %s --check-prefix=PADDED
// RUN: ringlet-opt %s --rtile-gpu-swizzle-rows=arch=sm_80 \
// RUN:   --remarks-filter='rtile-gpu-swizzle-rows' \
// RUN:   --remark-format=emitRemark -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK

// Without asynchronous copies rows are padded.

// PADDED-NOT: rtile.swizzled
// PADDED:     rtile.func @mixed(
// PADDED:     rtile.load
// PADDED-NOT: rtile.swizzled

// Matrix instructions alone know where pieces lie: a tile that multiply-adds
// read, too, is padded, and the other one of the same product is swizzled.

// REMARK: SwizzleRows {{.*}}Remark="mixed: 1 of 1 {{.*}} 32 of 224
// CHECK-LABEL: rtile.func @mixed(
// ASYNC:         rtile.load {{.+}} {rtile.swizzled} : !rtile.view<16x64xf16>
// CHECK:         rtile.load %{{.+}}[%c0, %c0] : !rtile.view<64x64xf16>
rtile.func @mixed(%A: memref<16x64xf16>, %B: memref<64x64xf16>,
                  %C: memref<16x64xf32>) grid(%i: index)
    attributes {rtile.warps = 4 : i64} {
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

// Rows of 96 bytes are no whole rows of banks.

// CHECK-LABEL: rtile.func @ragged(
// CHECK-NOT:     rtile.swizzled
// CHECK:         rtile.return
rtile.func @ragged(%A: memref<16x48xf16>, %B: memref<16x48xf16>,
                   %C: memref<16x16xf32>) grid(%i: index)
    attributes {rtile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %as = rtile.view %A[*, *] : memref<16x48xf16> to !rtile.view<16x48xf16>
  %bs = rtile.view %B[*, *] : memref<16x48xf16> to !rtile.view<16x48xf16>
  %cs = rtile.view %C[*, *] : memref<16x16xf32> to !rtile.view<16x16xf32>
  %a = rtile.load %as[%c0, %c0] : !rtile.view<16x48xf16>
  %b = rtile.load %bs[%c0, %c0] : !rtile.view<16x48xf16>
  %c = rtile.dot %a, %b transposed {rtile.dot = "mma"}
      : tensor<16x48xf16>, tensor<16x48xf16> -> tensor<16x16xf32>
  rtile.store %c, %cs[%c0, %c0] : !rtile.view<16x16xf32>
  rtile.return
}

// Rows of 512 bytes are swizzled beside sums in 160 registers where these may
// take 224, and padded where they may take 160.

// CHECK-LABEL: rtile.func @long(
// MANY:          rtile.load {{.+}} {rtile.swizzled} : !rtile.view<16x256xf16>
// MANY:          rtile.load {{.+}} {rtile.swizzled} : !rtile.view<320x256xf16>
// FEW-NOT:       rtile.swizzled
// CHECK:         rtile.return
rtile.func @long(%A: memref<16x256xf16>, %B: memref<320x256xf16>,
                 %C: memref<16x320xf32>) grid(%i: index)
    attributes {rtile.warps = 20 : i64} {
  %c0 = arith.constant 0 : index
  %as = rtile.view %A[*, *] : memref<16x256xf16> to !rtile.view<16x256xf16>
  %bs = rtile.view %B[*, *] : memref<320x256xf16> to !rtile.view<320x256xf16>
  %cs = rtile.view %C[*, *] : memref<16x320xf32> to !rtile.view<16x320xf32>
  %a = rtile.load %as[%c0, %c0] : !rtile.view<16x256xf16>
  %b = rtile.load %bs[%c0, %c0] : !rtile.view<320x256xf16>
  %c = rtile.dot %a, %b transposed {rtile.dot = "mma"}
      : tensor<16x256xf16>, tensor<320x256xf16> -> tensor<16x320xf32>
  rtile.store %c, %cs[%c0, %c0] : !rtile.view<16x320xf32>
  rtile.return
}
