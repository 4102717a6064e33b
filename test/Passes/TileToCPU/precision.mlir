// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPU code multiplies in f32 what may be coarser, and says so (R7).
// RUN: ringlet-opt %s --rtile-pack-operands=level=x86-64-v3 \
// RUN:   --remarks-filter='rtile-pack.*' --remark-format=emitRemark -o /dev/null \
// RUN:   2>&1 | FileCheck %s

// CHECK: products: products that may be of bf16x3 are of f32, which is more accurate: CPU code has no others (R7)
// CHECK-NOT: exact: products that may be
rtile.func @products() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x16xf32>
  %s = rtile.dot %a, %a precision = bf16x3
      : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  rtile.return
}

rtile.func @exact() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x16xf32>
  %s = rtile.dot %a, %a : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  rtile.return
}
