//===- masks.mlir - Numbers of tables, masks by element ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-lower-runs --rtile-gpu-choose-warps \
// RUN:   --rtile-gpu-choose-dot=arch=sm_80 --rtile-gpu-assign-shared=arch=sm_80 \
// RUN:   --rtile-to-nvvm=arch=sm_80 | FileCheck %s

// A list is read by loads of 64 bits and a boolean of a mask as a byte, if the
// pair is seen otherwise. Distances on the grid are compared without sign: from
// 0 to twice the reach, of 3 and of 2; only the fast side is divided by.

// CHECK-LABEL: llvm.func ptx_kernelcc @masks(
// CHECK:         llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// CHECK:         arith.remui %{{.+}}, %c64_i32{{.*}} : i32
// CHECK:         %[[SLOW:.+]] = arith.cmpi ule, %{{.+}}, %c6_i32{{.*}} : i32
// CHECK:         %[[FAST:.+]] = arith.cmpi ule, %{{.+}}, %c4_i32{{.*}} : i32
// CHECK:         %[[NEAR:.+]] = arith.andi %[[SLOW]], %[[FAST]] : i1
// CHECK:         %[[SEEN:.+]] = arith.andi %{{.+}}, %[[NEAR]] : i1
// CHECK:         llvm.inline_asm {{.+}} "mov.u32 $0, 0; @$2 ld.global.u8 $0, [$1];", {{.+}} %{{.+}}, %[[SEEN]] :
rtile.func @masks(%X: memref<?x64xf16, strided<[?, 1]>>,
                  %Y: memref<?xf32, strided<[1]>>, %index: memref<?xi64>,
                  %mask: memref<?x?xi1>) grid(%n: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<16x16xf32>
  %none = arith.constant dense<0.0> : tensor<16x16xf32>
  %x = rtile.view %X[*, *] : memref<?x64xf16, strided<[?, 1]>> to !rtile.view<16x64xf16>
  %y = rtile.view %Y[*] : memref<?xf32, strided<[1]>> to !rtile.view<16xf32>
  %entry = memref.load %index[%n] : memref<?xi64>
  %row = arith.index_cast %entry : i64 to index
  %seen = rtile.visible %x[%c0], %x[%row] grid = [32, 64] reach = [3, 2]
      blocks(%mask : memref<?x?xi1>) of [8, 4]
      : !rtile.view<16x64xf16>, !rtile.view<16x64xf16> -> tensor<16x16xi1>
  %w = arith.select %seen, %one, %none : tensor<16x16xi1>, tensor<16x16xf32>
  %s = rtile.reduce sum %w : tensor<16x16xf32>
  rtile.store %s, %y[%c0] : !rtile.view<16xf32>
  rtile.return
}
