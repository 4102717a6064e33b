//===- swizzle.mlir - Rows of banks in shared memory ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-gpu-choose-dot=arch=sm_80 \
// RUN:   --rtile-gpu-choose-warps --rtile-gpu-swizzle-rows=arch=sm_80 \
// RUN:   --rtile-gpu-assign-shared=arch=sm_80 --rtile-to-nvvm=arch=sm_80 --cse | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-gpu-choose-dot=arch=sm_75 \
// RUN:   --rtile-gpu-choose-warps --rtile-gpu-swizzle-rows=arch=sm_75 \
// RUN:   --rtile-gpu-assign-shared=arch=sm_75 --rtile-to-nvvm=arch=sm_75 --cse | FileCheck %s --check-prefix=PADDED

// Rows of 128 bytes lie side by side; a piece is found at its number with the
// bits of the row turned over: where it is copied to, and where a lane reads
// it. Along a row of 128 bytes lanes turn bits of their address, four times two
// pieces. Without asynchronous copies rows are padded instead.

// CHECK-LABEL: llvm.func ptx_kernelcc @swizzled(
// CHECK:         %[[ROW:.+]] = arith.divui %[[THREAD:.+]], %c8_i32{{.*}} : i32
// CHECK:         %[[PIECE:.+]] = arith.remui %[[THREAD]], %c8_i32{{.*}} : i32
// CHECK:         %[[PLACE:.+]] = arith.muli %[[PIECE]], %c16_i32{{.*}} : i32
// CHECK:         %[[TURN:.+]] = arith.remui %[[ROW]], %c8_i32{{.*}} : i32
// CHECK-NEXT:    %[[BITS:.+]] = arith.muli %[[TURN]], %c16_i32{{.*}} : i32
// CHECK-NEXT:    %[[AT:.+]] = arith.xori %[[PLACE]], %[[BITS]] : i32
// CHECK:         %[[ROWS:.+]] = arith.muli %[[ROW]], %c128_i32{{.*}} : i32
// CHECK-NEXT:    arith.addi %[[ROWS]], %[[AT]] : i32
// CHECK:         nvvm.cp.async.shared.global
// CHECK:         %[[FIRST:.+]] = nvvm.ldmatrix %[[LANE:.+]] {{{.*}}<row>
// CHECK:         %[[WORD:.+]] = llvm.ptrtoint %[[LANE]]
// CHECK-NEXT:    %[[SHORT:.+]] = arith.trunci %[[WORD]]
// CHECK-NEXT:    %[[NEXT:.+]] = arith.xori %[[SHORT]], %c32_i32{{.*}} : i32
// CHECK-NEXT:    %[[THERE:.+]] = llvm.inttoptr %[[NEXT]]
// CHECK-NEXT:    {{.+}} nvvm.ldmatrix %[[THERE]] {{.*}}<row>
// CHECK:         arith.xori %[[SHORT]], %c64_i32{{.*}} : i32
// CHECK:         arith.xori %[[SHORT]], %c96_i32{{.*}} : i32
// PADDED-LABEL: llvm.func ptx_kernelcc @swizzled(
// PADDED-NOT:    arith.xori
// PADDED:       llvm.func ptx_kernelcc @padded(
rtile.func @swizzled(%A: memref<16x64xf16>, %B: memref<16x64xf16>,
                     %C: memref<16x16xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %as = rtile.view %A[*, *] : memref<16x64xf16> to !rtile.view<16x64xf16>
  %bs = rtile.view %B[*, *] : memref<16x64xf16> to !rtile.view<16x64xf16>
  %cs = rtile.view %C[*, *] : memref<16x16xf32> to !rtile.view<16x16xf32>
  %a = rtile.load %as[%c0, %c0] : !rtile.view<16x64xf16>
  %b = rtile.load %bs[%c0, %c0] : !rtile.view<16x64xf16>
  %c = rtile.dot %a, %b transposed
      : tensor<16x64xf16>, tensor<16x64xf16> -> tensor<16x16xf32>
  rtile.store %c, %cs[%c0, %c0] : !rtile.view<16x16xf32>
  rtile.return
}

// Rows of 96 bytes are padded.

// CHECK-LABEL: llvm.func ptx_kernelcc @padded(
// CHECK-NOT:     arith.xori
// CHECK:         llvm.return
rtile.func @padded(%A: memref<16x48xf16>, %B: memref<16x48xf16>,
                   %C: memref<16x16xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %as = rtile.view %A[*, *] : memref<16x48xf16> to !rtile.view<16x48xf16>
  %bs = rtile.view %B[*, *] : memref<16x48xf16> to !rtile.view<16x48xf16>
  %cs = rtile.view %C[*, *] : memref<16x16xf32> to !rtile.view<16x16xf32>
  %a = rtile.load %as[%c0, %c0] : !rtile.view<16x48xf16>
  %b = rtile.load %bs[%c0, %c0] : !rtile.view<16x48xf16>
  %c = rtile.dot %a, %b transposed
      : tensor<16x48xf16>, tensor<16x48xf16> -> tensor<16x16xf32>
  rtile.store %c, %cs[%c0, %c0] : !rtile.view<16x16xf32>
  rtile.return
}

// -----

// A tile that was computed is padded where a loaded one of its type lay swizzled:
// a warp's rows are not at the same bytes, and all warps wait before it is
// written.

// CHECK-LABEL: llvm.func ptx_kernelcc @reused(
// CHECK:         nvvm.mma.sync
// CHECK:         nvvm.barrier
// CHECK:         llvm.store {{.+}} !llvm.ptr<3>
rtile.func @reused(%A: memref<64x64xf16>, %B: memref<64x64xf16>,
                   %C: memref<64x64xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %as = rtile.view %A[*, *] : memref<64x64xf16> to !rtile.view<64x64xf16>
  %bs = rtile.view %B[*, *] : memref<64x64xf16> to !rtile.view<64x64xf16>
  %cs = rtile.view %C[*, *] : memref<64x64xf32> to !rtile.view<64x64xf32>
  %a = rtile.load %as[%c0, %c0] : !rtile.view<64x64xf16>
  %b = rtile.load %bs[%c0, %c0] : !rtile.view<64x64xf16>
  %c = rtile.dot %a, %b transposed
      : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  %d = arith.truncf %c : tensor<64x64xf32> to tensor<64x64xf16>
  %e = rtile.dot %d, %d
      : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  rtile.store %e, %cs[%c0, %c0] : !rtile.view<64x64xf32>
  rtile.return
}
