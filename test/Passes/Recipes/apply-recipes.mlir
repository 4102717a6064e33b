//===- apply-recipes.mlir - Recipes by their names ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics --rtile-apply-recipes | FileCheck %s
// RUN: not ringlet-opt %s --split-input-file --rtile-apply-recipes --remarks-filter='rtile-apply-recipes' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// A recipe says itself what it is for; the kernel of a product that names one of
// attention stays as it is.

// REMARK: [Missed] ApplyRecipes {{.*}}product stays plain: expected loops over tiles, found none

// CHECK-LABEL: rtile.func @product(
// CHECK-SAME:    grid(%{{.+}}: index) {
// CHECK:         rtile.dot

!buffer = memref<?x32xbf16, strided<[?, 1]>>
!sums = memref<?x32xf32, strided<[?, 1]>>
rtile.func @product(%X: !buffer, %Y: !sums) grid(%i: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : !buffer to !rtile.view<32x32xbf16>
  %y = rtile.view %Y[*, *] : !sums to !rtile.view<32x32xf32>
  %a = rtile.load %x[%i, %c0] : !rtile.view<32x32xbf16>
  %p = rtile.dot %a, %a : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
  rtile.store %p, %y[%i, %c0] : !rtile.view<32x32xf32>
  rtile.return
}

// -----

// expected-error@+1 {{recipe: expected one of fa_fwd_lazy, fa_fwd_overlap, pipelined, found 'fast'}}
rtile.func @unknown() grid(%i: index) recipe = "fast" {
  rtile.return
}

// -----

// expected-error@+1 {{recipe: expected one of stages, parts of recipe fa_fwd_lazy, found 'depth'}}
rtile.func @parameter() grid(%i: index) recipe = "fa_fwd_lazy{depth=2}" {
  rtile.return
}

// -----

// expected-error@+1 {{recipe: expected NAME or NAME{parameter=value ...}, found 'fa_fwd_lazy{'}}
rtile.func @open() grid(%i: index) recipe = "fa_fwd_lazy{" {
  rtile.return
}
