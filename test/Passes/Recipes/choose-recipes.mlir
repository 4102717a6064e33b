//===- choose-recipes.mlir - Recipes of kernels by hand ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-choose-recipes=level=sm_90a | FileCheck %s
// RUN: ringlet-opt %s '--rtile-choose-recipes=level=sm_90a recipe=pipelined{stages=0}' \
// RUN:   | FileCheck %s --check-prefix=NAMED
// RUN: ringlet-opt %s '--rtile-choose-recipes=level=sm_90a recipe=plain' \
// RUN:   | FileCheck %s --check-prefix=PLAIN
// RUN: ringlet-opt %s --rtile-choose-recipes=level=sm_80 \
// RUN:   | FileCheck %s --check-prefix=PLAIN
// RUN: ringlet-opt %s --rtile-choose-recipes=level=x86-64-v3 \
// RUN:   | FileCheck %s --check-prefix=PLAIN
// One for attention is none for kernels of which nobody says that they are.
// RUN: ringlet-opt %s '--rtile-choose-recipes=level=sm_90a recipe=fa_fwd_lazy' \
// RUN:   | FileCheck %s --check-prefix=PLAIN
// RUN: not ringlet-opt %s '--rtile-choose-recipes=level=sm_90a recipe=pipelined{stages=9}' \
// RUN:   2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: expected stages of recipe pipelined in [0, 3], found '9'

// A kernel with a product gets the general recipe, on a target that runs
// scheduled kernels. One that names a recipe keeps it.

// CHECK-LABEL: rtile.func @product(
// CHECK-SAME:    recipe = "pipelined" {
// NAMED-LABEL: rtile.func @product(
// NAMED-SAME:    recipe = "pipelined{stages=0}" {
// PLAIN-LABEL: rtile.func @product(
// PLAIN-SAME:    grid(%{{.+}}: index) {

!buffer = memref<?x32xbf16, strided<[?, 1]>>
!sums = memref<?x32xf32, strided<[?, 1]>>
rtile.func @product(%X: !buffer, %Y: !sums) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : !buffer to !rtile.view<64x32xbf16>
  %z = rtile.view %X[*, *] : !buffer to !rtile.view<32x32xbf16>
  %y = rtile.view %Y[*, *] : !sums to !rtile.view<64x32xf32>
  %a = rtile.load %x[%i, %c0] : !rtile.view<64x32xbf16>
  %b = rtile.load %z[%i, %c0] : !rtile.view<32x32xbf16>
  %p = rtile.dot %a, %b : tensor<64x32xbf16>, tensor<32x32xbf16> -> tensor<64x32xf32>
  rtile.store %p, %y[%i, %c0] : !rtile.view<64x32xf32>
  rtile.return
}

// No warp group multiplies fewer than 64 rows. Whoever names the recipe hears of
// it later, where the kernel is to be scheduled.

// CHECK:       rtile.func @few_rows({{.*}}) grid(%{{.+}}: index) {
// NAMED:       rtile.func @few_rows(
// NAMED-SAME:    recipe = "pipelined{stages=0}" {
// PLAIN:       rtile.func @few_rows({{.*}}) grid(%{{.+}}: index) {

rtile.func @few_rows(%X: !buffer, %Y: !sums) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : !buffer to !rtile.view<32x32xbf16>
  %y = rtile.view %Y[*, *] : !sums to !rtile.view<32x32xf32>
  %a = rtile.load %x[%i, %c0] : !rtile.view<32x32xbf16>
  %p = rtile.dot %a, %a : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
  rtile.store %p, %y[%i, %c0] : !rtile.view<32x32xf32>
  rtile.return
}

// CHECK:       rtile.func @named(
// CHECK-SAME:    recipe = "fa_fwd_overlap"
// NAMED:       rtile.func @named(
// NAMED-SAME:    recipe = "fa_fwd_overlap"

rtile.func @named() grid(%i: index) recipe = "fa_fwd_overlap" {
  rtile.return
}

// One that did not fit with a recipe stays plain, and nothing is left of it.

// CHECK:       rtile.func @told() grid(%{{.+}}: index) {
// PLAIN:       rtile.func @told() grid(%{{.+}}: index) {

rtile.func @told() grid(%i: index) attributes {ringlet.recipe = "plain"} {
  rtile.return
}

// CHECK:       rtile.func @no_product() grid(%{{.+}}: index) {
// NAMED:       rtile.func @no_product() grid(%{{.+}}: index) {

rtile.func @no_product() grid(%i: index) {
  rtile.return
}
