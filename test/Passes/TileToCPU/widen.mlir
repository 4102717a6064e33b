//===- widen.mlir - Elements of 8 bits on a CPU ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-lower-to-cpu=level=x86-64-v3 | FileCheck %s

// Elements are widened as they are loaded. Those of f8E4M3FN go by f16, of which
// processors take subnormal numbers as fast as others.

// CHECK-LABEL: llvm.func @e4m3(
// CHECK:         %[[BYTES:.+]] = llvm.load {{.+}} -> vector<8xi8>
// CHECK:         %[[WIDE:.+]] = llvm.zext %[[BYTES]] : vector<8xi8> to vector<8xi16>
// CHECK:         llvm.icmp "eq"
// CHECK:         %[[HALVES:.+]] = llvm.bitcast %{{.+}} : vector<8xi16> to vector<8xf16>
// CHECK:         %[[FLOATS:.+]] = llvm.fpext %[[HALVES]] : vector<8xf16> to vector<8xf32>
// CHECK:         llvm.fmul %[[FLOATS]], %{{.+}} : vector<8xf32>
rtile.func @e4m3(%x: memref<?x64xf8E4M3FN, strided<[?, 1]>>,
                 %y: memref<?x64xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %v = rtile.view %x[*, *] : memref<?x64xf8E4M3FN, strided<[?, 1]>> to !rtile.view<16x64xf32>
  %w = rtile.view %y[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  %t = rtile.load %v[%c0, %c0] : !rtile.view<16x64xf32>
  rtile.store %t, %w[%c0, %c0] : !rtile.view<16x64xf32>
  rtile.return
}

// -----

// CHECK-LABEL: llvm.func @i8(
// CHECK:         %[[BYTES:.+]] = llvm.load {{.+}} -> vector<8xi8>
// CHECK:         %[[WIDE:.+]] = llvm.sext %[[BYTES]] : vector<8xi8> to vector<8xi32>
// CHECK:         llvm.sitofp %[[WIDE]] : vector<8xi32> to vector<8xf32>
rtile.func @i8(%x: memref<?x64xi8, strided<[?, 1]>>,
               %y: memref<?x64xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %v = rtile.view %x[*, *] : memref<?x64xi8, strided<[?, 1]>> to !rtile.view<16x64xf32>
  %w = rtile.view %y[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  %t = rtile.load %v[%c0, %c0] : !rtile.view<16x64xf32>
  rtile.store %t, %w[%c0, %c0] : !rtile.view<16x64xf32>
  rtile.return
}
