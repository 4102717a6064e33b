//===- parts.mlir - Products of f32 by matrix instructions ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// DEFINE: %{choose} = --rtile-gpu-choose-dot=arch=sm_80 --rtile-gpu-choose-warps \
// DEFINE:   --rtile-gpu-swizzle-rows=arch=sm_80 --rtile-gpu-assign-shared=arch=sm_80
// RUN: ringlet-opt %s --split-input-file %{choose} | FileCheck %s --check-prefix=CHOOSE
// RUN: ringlet-opt %s --split-input-file %{choose} --rtile-to-nvvm=arch=sm_80 \
// RUN:   | FileCheck %s --check-prefix=EMIT
// RUN: ringlet-opt %s --split-input-file --rtile-gpu-choose-dot=arch=sm_75 \
// RUN:   | FileCheck %s --check-prefix=OLD
// RUN: ringlet-opt %s --split-input-file --rtile-gpu-choose-dot=arch=sm_80 \
// RUN:   --remarks-filter='rtile-gpu.*' --remark-format=emitRemark -o /dev/null \
// RUN:   2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: ringlet-opt %s --split-input-file --rtile-gpu-choose-dot=arch=sm_75 \
// RUN:   --remarks-filter='rtile-gpu.*' --remark-format=emitRemark -o /dev/null \
// RUN:   2>&1 | FileCheck %s --check-prefix=MISSED

// Factors of tf32x3 become a high part and the rest (R7). Lanes get words of Q and K
// by ldmatrix, and those of V, whose depth goes down, by loads. The small products come
// first, each sum begins at 0, and what it adds to is added in f32.

// REMARK: ChooseDot {{.*}}Remark="three_products: products of f32 are of tf32x3, by mma: factors are split in registers"
// MISSED: ChooseDot {{.*}}three_products: products that may be of tf32x3 are of f32: expected an architecture with matrix instructions for them (sm_80, {{.*}}sm_120), found sm_75 (R7)

// CHOOSE-LABEL: rtile.func @three_products(
// CHOOSE:         rtile.load %{{.+}} {rtile.shared = array<i64: {{[0-9]+}}>, rtile.swizzled}
// CHOOSE:         rtile.dot {{.+}} transposed precision = tf32x3 {rtile.dot = "mma_parts"}
// CHOOSE:         rtile.dot {{.+}} precision = tf32x3 init({{.+}}) {rtile.dot = "mma_parts"}
// OLD-LABEL:    rtile.func @three_products(
// OLD-COUNT-2:    {rtile.dot = "simt"}

// EMIT-LABEL:   llvm.func {{.*}}@three_products(
// EMIT:           nvvm.ldmatrix %{{.+}} {{.*}}layout = #nvvm.mma_layout<row>
// EMIT:           %[[NUMBER:.+]] = arith.bitcast %{{.+}} : i32 to f32
// EMIT:           %[[BITS:.+]] = arith.bitcast %{{.+}} : f32 to i32
// EMIT:           %[[HALF:.+]] = arith.constant 4096 : i32
// EMIT-NEXT:      %[[UP:.+]] = arith.addi %[[BITS]], %[[HALF]] : i32
// EMIT:           %[[DIGITS:.+]] = arith.constant -8192 : i32
// EMIT-NEXT:      %[[HIGH:.+]] = arith.andi %[[UP]], %[[DIGITS]] : i32
// EMIT-NEXT:      %[[HIGH_NUMBER:.+]] = arith.bitcast %[[HIGH]] : i32 to f32
// EMIT-NEXT:      arith.subf %{{.+}}, %[[HIGH_NUMBER]] : f32
// EMIT:           nvvm.mma.sync {{.+}} C[%[[ZERO:.+]], %[[ZERO]], %[[ZERO]], %[[ZERO]]] {{.*}}mma_type<tf32>{{.*}}k = 8
// EMIT-NOT:       convert.float.to.tf32
// EMIT:           arith.addf
// EMIT:           llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
// EMIT:           nvvm.mma.sync
// EMIT:           arith.addf
rtile.func @three_products(%Q: memref<?x32xf32, strided<[?, 1]>>,
                           %K: memref<?x32xf32, strided<[?, 1]>>,
                           %V: memref<?x16xf32, strided<[?, 1]>>,
                           %O: memref<?x16xf32, strided<[?, 1]>>)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %q = rtile.view %Q[*, *] : memref<?x32xf32, strided<[?, 1]>> to !rtile.view<16x32xf32>
  %k = rtile.view %K[*, *] : memref<?x32xf32, strided<[?, 1]>> to !rtile.view<16x32xf32>
  %v = rtile.view %V[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<16x16xf32>
  %o = rtile.view %O[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<16x16xf32>
  %a = rtile.load %q[%c0, %c0] : !rtile.view<16x32xf32>
  %b = rtile.load %k[%c0, %c0] : !rtile.view<16x32xf32>
  %c = rtile.load %v[%c0, %c0] : !rtile.view<16x16xf32>
  %s = rtile.dot %a, %b transposed precision = tf32x3
      : tensor<16x32xf32>, tensor<16x32xf32> -> tensor<16x16xf32>
  %r = rtile.dot %s, %c precision = tf32x3 init(%s)
      : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  rtile.store %r, %o[%c0, %c0] : tensor<16x16xf32>, !rtile.view<16x16xf32>
  rtile.return
}

// -----

// Two numbers of bf16x3 share a word, and so do the rests.

// REMARK: pairs: products of f32 are of bf16x3, by mma: factors are split in registers
// EMIT-LABEL:   llvm.func {{.*}}@pairs(
// EMIT:           %[[WORD:.+]] = nvvm.convert.f32x2.to.bf16x2 %[[SECOND:[0-9]+]], %[[FIRST:[0-9]+]]
// EMIT:           arith.shli
// EMIT:           arith.subf %[[FIRST]],
// EMIT:           arith.subf %[[SECOND]],
// EMIT:           nvvm.convert.f32x2.to.bf16x2
// EMIT:           nvvm.mma.sync {{.*}}mma_type<bf16>{{.*}}k = 16
rtile.func @pairs(%Q: memref<?x16xf32, strided<[?, 1]>>,
                  %O: memref<?x16xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %q = rtile.view %Q[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<16x16xf32>
  %o = rtile.view %O[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<16x16xf32>
  %a = rtile.load %q[%c0, %c0] : !rtile.view<16x16xf32>
  %s = rtile.dot %a, %a transposed precision = bf16x3
      : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  rtile.store %s, %o[%c0, %c0] : tensor<16x16xf32>, !rtile.view<16x16xf32>
  rtile.return
}

// -----

// One product of rounded factors.

// REMARK: one_product: products of f32 are of tf32, by mma: factors are rounded in registers
// EMIT-LABEL:   llvm.func {{.*}}@one_product(
// EMIT:           nvvm.convert.float.to.tf32 %{{.+}} {rnd = #nvvm.fp_rnd_mode<rna>}
// EMIT-COUNT-4:   nvvm.mma.sync
// EMIT-NOT:       nvvm.mma.sync
// EMIT:           llvm.return
rtile.func @one_product(%Q: memref<?x16xf32, strided<[?, 1]>>,
                        %O: memref<?x16xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %q = rtile.view %Q[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<16x16xf32>
  %o = rtile.view %O[*, *] : memref<?x16xf32, strided<[?, 1]>> to !rtile.view<16x16xf32>
  %a = rtile.load %q[%c0, %c0] : !rtile.view<16x16xf32>
  %s = rtile.dot %a, %a precision = tf32
      : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  rtile.store %s, %o[%c0, %c0] : tensor<16x16xf32>, !rtile.view<16x16xf32>
  rtile.return
}

// -----

// Exact products are of multiply-adds.

// REMARK-NOT:   exact
// CHOOSE-LABEL: rtile.func @exact(
// CHOOSE:         precision = f32 {rtile.dot = "simt"
rtile.func @exact() grid(%i: index) {
  %a = arith.constant dense<1.0> : tensor<16x16xf32>
  %s = rtile.dot %a, %a precision = f32
      : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  rtile.return
}
