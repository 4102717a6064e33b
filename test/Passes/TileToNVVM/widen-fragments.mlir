//===- widen-fragments.mlir - Products that widen what they read -*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// DEFINE: %{choose} = --rtile-gpu-choose-dot=arch=sm_80 --rtile-gpu-choose-warps \
// DEFINE:   --rtile-gpu-widen-fragments=arch=sm_80 --rtile-gpu-swizzle-rows=arch=sm_80 \
// DEFINE:   --rtile-gpu-prefetch-loads=arch=sm_80 --rtile-gpu-assign-shared=arch=sm_80
// RUN: ringlet-opt %s --split-input-file %{choose} | FileCheck %s --check-prefix=CHOOSE
// RUN: ringlet-opt %s --split-input-file %{choose} --rtile-to-nvvm=arch=sm_80 \
// RUN:   | FileCheck %s --check-prefix=EMIT
// RUN: not ringlet-opt %s --split-input-file --rtile-gpu-choose-dot=arch=sm_80 \
// RUN:   --rtile-gpu-widen-fragments=arch=sm_80 2>&1 | FileCheck %s --check-prefix=EARLY

// EARLY: error: 'rtile.func' op expected the decisions of rtile-gpu-choose-warps

// K takes 64 rows of 128 bytes, Q 16 of 256: nothing is written beside them. A lane
// reads its row of Q, four columns at a time, and what a matrix of K gives it is four
// numbers along the depth; V, read across, gives it two of each of two keys.

// CHOOSE-LABEL: rtile.func @decode(
// CHOOSE-SAME:  rtile.adjacent = 4 : i64, rtile.shared_bytes = 20480 : i64, rtile.warps = 1
// CHOOSE:         rtile.load %{{.+}} {rtile.narrow, rtile.shared = array<i64: {{[0-9]+}}>, rtile.swizzled}
// CHOOSE:         scf.for
// CHOOSE:           rtile.load %{{.+}} {rtile.narrow, rtile.shared = array<i64: {{[0-9]+}}>, rtile.swizzled}
// CHOOSE-NOT:     rtile.staged
// CHOOSE:         rtile.return

// EMIT-LABEL:  llvm.func {{.*}}@decode(
// EMIT:          scf.for
// EMIT:            llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
// EMIT:            %[[KEYS:.+]] = nvvm.ldmatrix %{{.+}} {{.*}}layout = #nvvm.mma_layout<row>
// EMIT:            %[[WORD:.+]] = llvm.extractvalue %[[KEYS]][0]
// EMIT:            %[[BYTES:.+]] = arith.constant 1128481603 : i32
// EMIT:            %[[NEXT:.+]] = arith.constant 16704 : i32
// EMIT:            llvm.call_intrinsic "llvm.nvvm.prmt"(%[[WORD]], %[[BYTES]], %[[NEXT]])
// EMIT:            nvvm.mma.sync
// EMIT:            nvvm.ldmatrix %{{.+}} {{.*}}layout = #nvvm.mma_layout<col>
// EMIT:            %[[SECOND:.+]] = arith.constant 16960 : i32
// EMIT:            llvm.call_intrinsic "llvm.nvvm.prmt"(%{{.+}}, %{{.+}}, %[[SECOND]])
rtile.func @decode(%Q: memref<?x128xbf16, strided<[?, 1]>>,
                   %K: memref<?x128xi8, strided<[?, 1]>>,
                   %V: memref<?x128xi8, strided<[?, 1]>>,
                   %O: memref<?x128xf32, strided<[?, 1]>>, %n: index)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<16x128xf32>
  %q = rtile.view %Q[*, *] : memref<?x128xbf16, strided<[?, 1]>> to !rtile.view<16x128xbf16>
  %k = rtile.view %K[*, *] : memref<?x128xi8, strided<[?, 1]>> to !rtile.view<64x128xbf16>
  %v = rtile.view %V[*, *] : memref<?x128xi8, strided<[?, 1]>> to !rtile.view<64x128xbf16>
  %o = rtile.view %O[*, *] : memref<?x128xf32, strided<[?, 1]>> to !rtile.view<16x128xf32>
  %x = rtile.load %q[%c0, %c0] : !rtile.view<16x128xbf16>
  %sum = scf.for %r = %c0 to %n step %c64 iter_args(%s = %zero) -> (tensor<16x128xf32>) {
    %y = rtile.load %k[%r, %c0] : !rtile.view<64x128xbf16>
    %p = rtile.dot %x, %y transposed : tensor<16x128xbf16>, tensor<64x128xbf16> -> tensor<16x64xf32>
    %w = arith.truncf %p : tensor<16x64xf32> to tensor<16x64xbf16>
    %z = rtile.load %v[%r, %c0] : !rtile.view<64x128xbf16>
    %next = rtile.dot %w, %z init(%s) : tensor<16x64xbf16>, tensor<64x128xbf16> -> tensor<16x128xf32>
    scf.yield %next : tensor<16x128xf32>
  }
  rtile.store %sum, %o[%c0, %c0] : !rtile.view<16x128xf32>
  rtile.return
}

// -----

// Four warps read the same rows: they widen them once, together.

// CHOOSE-LABEL: rtile.func @many_warps(
// CHOOSE-NOT:     rtile.narrow
// CHOOSE:         rtile.staged
rtile.func @many_warps(%Q: memref<?x64xbf16, strided<[?, 1]>>,
                       %K: memref<?x64xi8, strided<[?, 1]>>,
                       %O: memref<?x64xf32, strided<[?, 1]>>, %n: index)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = rtile.view %Q[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<64x64xbf16>
  %k = rtile.view %K[*, *] : memref<?x64xi8, strided<[?, 1]>> to !rtile.view<64x64xbf16>
  %o = rtile.view %O[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %x = rtile.load %q[%c0, %c0] : !rtile.view<64x64xbf16>
  %sum = scf.for %r = %c0 to %n step %c64 iter_args(%s = %zero) -> (tensor<64x64xf32>) {
    %y = rtile.load %k[%r, %c0] : !rtile.view<64x64xbf16>
    %next = rtile.dot %x, %y transposed init(%s) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  rtile.store %sum, %o[%c0, %c0] : !rtile.view<64x64xf32>
  rtile.return
}

// -----

// Eight columns are none that threads hold four at a time of, and one product has a
// right operand of 16 bits.

// CHOOSE-LABEL: rtile.func @eight_columns(
// CHOOSE-NOT:     rtile.narrow
// CHOOSE:         rtile.return
rtile.func @eight_columns(%Q: memref<?x64xbf16, strided<[?, 1]>>,
                          %K: memref<?x64xi8, strided<[?, 1]>>,
                          %O: memref<?x8xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %q = rtile.view %Q[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<16x64xbf16>
  %k = rtile.view %K[*, *] : memref<?x64xi8, strided<[?, 1]>> to !rtile.view<8x64xbf16>
  %o = rtile.view %O[*, *] : memref<?x8xf32, strided<[?, 1]>> to !rtile.view<16x8xf32>
  %x = rtile.load %q[%c0, %c0] : !rtile.view<16x64xbf16>
  %y = rtile.load %k[%c0, %c0] : !rtile.view<8x64xbf16>
  %sum = rtile.dot %x, %y transposed : tensor<16x64xbf16>, tensor<8x64xbf16> -> tensor<16x8xf32>
  rtile.store %sum, %o[%c0, %c0] : !rtile.view<16x8xf32>
  rtile.return
}

// CHOOSE-LABEL: rtile.func @one_of_two(
// CHOOSE-NOT:     rtile.narrow
// CHOOSE:         rtile.return
rtile.func @one_of_two(%Q: memref<?x64xbf16, strided<[?, 1]>>,
                       %K: memref<?x64xi8, strided<[?, 1]>>,
                       %V: memref<?x64xbf16, strided<[?, 1]>>,
                       %O: memref<?x64xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %q = rtile.view %Q[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<16x64xbf16>
  %k = rtile.view %K[*, *] : memref<?x64xi8, strided<[?, 1]>> to !rtile.view<32x64xbf16>
  %v = rtile.view %V[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<32x64xbf16>
  %o = rtile.view %O[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  %x = rtile.load %q[%c0, %c0] : !rtile.view<16x64xbf16>
  %y = rtile.load %k[%c0, %c0] : !rtile.view<32x64xbf16>
  %z = rtile.load %v[%c0, %c0] : !rtile.view<32x64xbf16>
  %p = rtile.dot %x, %y transposed : tensor<16x64xbf16>, tensor<32x64xbf16> -> tensor<16x32xf32>
  %w = arith.truncf %p : tensor<16x32xf32> to tensor<16x32xbf16>
  %sum = rtile.dot %w, %z : tensor<16x32xbf16>, tensor<32x64xbf16> -> tensor<16x64xf32>
  rtile.store %sum, %o[%c0, %c0] : !rtile.view<16x64xf32>
  rtile.return
}
