//===- decisions.mlir - Warps, instructions, places in shared memory ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-lower-runs --rtile-gpu-choose-warps \
// RUN:   --rtile-gpu-choose-dot=arch=sm_80 --rtile-gpu-assign-shared=arch=sm_80 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,MMA
// RUN: ringlet-opt %s --rtile-lower-runs --rtile-gpu-choose-warps \
// RUN:   --rtile-gpu-choose-dot=arch=sm_75 --rtile-gpu-assign-shared=arch=sm_75 \
// RUN:   | FileCheck %s --check-prefixes=CHECK,SIMT
// RUN: ringlet-opt %s --rtile-lower-runs --rtile-gpu-choose-warps \
// RUN:   --rtile-gpu-choose-dot=arch=sm_80 --rtile-gpu-assign-shared=arch=sm_80 \
// RUN:   --remarks-filter='rtile-gpu.*' --remark-format=emitRemark -o /dev/null \
// RUN:   2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: ChooseWarps {{.*}}Remark="softmax_step: 4 warps for 64 rows and 48 columns of sums"
// REMARK: AssignShared {{.*}}Remark="softmax_step: 6400 of 166912 bytes of shared memory on

// A warp for each 16 rows. Rows in shared memory are 16 bytes apart more than
// they are long: Q takes 64 * (32 * 2 + 16) bytes. V takes the place of K, which
// nobody reads any more. Without matrix instructions for bf16 the weights lie
// in shared memory too, while V does, and for the product only.

// CHECK-LABEL: rtile.func @softmax_step(
// MMA-SAME:      attributes {rtile.shared_bytes = 6400 : i64, rtile.warps = 4 : i64}
// SIMT-SAME:     attributes {rtile.shared_bytes = 9472 : i64, rtile.warps = 4 : i64}
// CHECK:         rtile.load %{{.+}} {rtile.shared = array<i64: 0>} : !rtile.view<64x32xbf16>
// CHECK:         rtile.load %{{.+}} {rtile.shared = array<i64: 5120>} : !rtile.view<16x32xbf16>
// MMA:           rtile.dot {{.+}} transposed {rtile.dot = "mma"}
// MMA:           rtile.load %{{.+}} {rtile.shared = array<i64: 5120>} : !rtile.view<16x32xbf16>
// MMA:           rtile.dot {{.+}} {rtile.dot = "mma"}
// SIMT:          rtile.dot {{.+}} transposed {rtile.dot = "simt"}
// SIMT:          rtile.load %{{.+}} {rtile.shared = array<i64: 8192>} : !rtile.view<16x32xbf16>
// SIMT:          rtile.dot {{.+}} {rtile.dot = "simt", rtile.shared = array<i64: 5120, -1>}
rtile.func @softmax_step(%Q: memref<?x32xbf16, strided<[?, 1]>>,
                         %K: memref<?x32xbf16, strided<[?, 1]>>,
                         %V: memref<?x32xbf16, strided<[?, 1]>>,
                         %O: memref<?x32xf32, strided<[?, 1]>>)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %q = rtile.view %Q[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<64x32xbf16>
  %k = rtile.view %K[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<16x32xbf16>
  %v = rtile.view %V[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<16x32xbf16>
  %o = rtile.view %O[*, *] : memref<?x32xf32, strided<[?, 1]>> to !rtile.view<64x32xf32>
  %row = arith.muli %i, %c64 : index
  %begin, %end = rtile.bounds %k : !rtile.view<16x32xbf16>
  %qt = rtile.load %q[%row, %c0] : !rtile.view<64x32xbf16>
  %acc = scf.for %j = %begin to %end step %c16 iter_args(%before = %zero) -> (tensor<64x32xf32>) {
    %kt = rtile.load %k[%j, %c0] : !rtile.view<16x32xbf16>
    %s = rtile.dot %qt, %kt transposed : tensor<64x32xbf16>, tensor<16x32xbf16> -> tensor<64x16xf32>
    %p = arith.truncf %s : tensor<64x16xf32> to tensor<64x16xbf16>
    %vt = rtile.load %v[%j, %c0] : !rtile.view<16x32xbf16>
    %after = rtile.dot %p, %vt init(%before) : tensor<64x16xbf16>, tensor<16x32xbf16> -> tensor<64x32xf32>
    scf.yield %after : tensor<64x32xf32>
  }
  rtile.store %acc, %o[%row, %c0] : !rtile.view<64x32xf32>
  rtile.return
}

// Products of f32 are exact everywhere (rule R4): never by matrix instructions.
// The operand of a broadcast along rows goes through shared memory.

// CHECK-LABEL: rtile.func @exact(
// CHECK:         rtile.dot {{.+}} {rtile.dot = "simt", rtile.shared = array<i64: 4608, 0>}
// CHECK:         rtile.broadcast {{.+}} columns {rtile.shared = array<i64: 0>}
rtile.func @exact(%O: memref<?x32xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<2.0> : tensor<16x32xf32>
  %b = arith.constant dense<3.0> : tensor<32x32xf32>
  %w = arith.constant dense<4.0> : tensor<32xf32>
  %c = rtile.dot %a, %b : tensor<16x32xf32>, tensor<32x32xf32> -> tensor<16x32xf32>
  %d = rtile.broadcast %w columns : tensor<32xf32> -> tensor<16x32xf32>
  %e = arith.mulf %c, %d : tensor<16x32xf32>
  %o = rtile.view %O[*, *] : memref<?x32xf32, strided<[?, 1]>> to !rtile.view<16x32xf32>
  rtile.store %e, %o[%i, %c0] : !rtile.view<16x32xf32>
  rtile.return
}

// Warps are for rows that they hold: the right operand is higher, and lies in
// shared memory alone.

// CHECK-LABEL: rtile.func @higher_right_operand(
// CHECK-SAME:      rtile.warps = 2 : i64
rtile.func @higher_right_operand(%A: memref<?x64xbf16>, %B: memref<64x128xbf16>,
                                 %C: memref<?x128xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %row = arith.muli %i, %c32 : index
  %a = rtile.view %A[*, *] : memref<?x64xbf16> to !rtile.view<32x64xbf16>
  %b = rtile.view %B[*, *] : memref<64x128xbf16> to !rtile.view<64x128xbf16>
  %c = rtile.view %C[*, *] : memref<?x128xf32> to !rtile.view<32x128xf32>
  %left = rtile.load %a[%row, %c0] : !rtile.view<32x64xbf16>
  %right = rtile.load %b[%c0, %c0] : !rtile.view<64x128xbf16>
  %product = rtile.dot %left, %right : tensor<32x64xbf16>, tensor<64x128xbf16> -> tensor<32x128xf32>
  rtile.store %product, %c[%row, %c0] : !rtile.view<32x128xf32>
  rtile.return
}
