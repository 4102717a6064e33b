//===- ahead.mlir - Loops of matrix products on a GPU ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-fuse-scale | FileCheck %s --check-prefix=FUSE
// RUN: ringlet-opt %s --rtile-gpu-choose-dot=arch=sm_80 \
// RUN:   --rtile-gpu-skip-rescale --rtile-gpu-prefetch-loads=arch=sm_80 \
// RUN:   --rtile-lower-runs --rtile-gpu-choose-warps \
// RUN:   --rtile-gpu-assign-shared=arch=sm_80 | FileCheck %s --check-prefix=AHEAD
// RUN: ringlet-opt %s --rtile-gpu-choose-dot=arch=sm_80 \
// RUN:   --rtile-gpu-skip-rescale --rtile-gpu-prefetch-loads=arch=sm_80 \
// RUN:   --rtile-lower-runs --rtile-gpu-choose-warps \
// RUN:   --rtile-gpu-assign-shared=arch=sm_80 --rtile-to-nvvm=arch=sm_80 \
// RUN:   | FileCheck %s --check-prefix=EMIT
// Without asynchronous copies, or matrix instructions, nothing is ahead.
// RUN: ringlet-opt %s --rtile-gpu-choose-dot=arch=sm_75 \
// RUN:   --rtile-gpu-prefetch-loads=arch=sm_75 | FileCheck %s --check-prefix=NONE
// RUN: ringlet-opt %s --rtile-gpu-prefetch-loads=arch=sm_80 \
// RUN:   | FileCheck %s --check-prefix=NONE
// NONE-NOT:     rtile.ahead
// NONE:         rtile.func @attend(
// NONE:         rtile.load
// NONE-NOT:     rtile.ahead

// Scores are not scaled but in the subtraction of the maximum, and the greatest
// score of a row once. A masked score is -inf, scaled or not.

// FUSE-LABEL:   rtile.func @attend(
// FUSE:         %[[SCALE:.+]] = arith.constant dense<2.500000e-01> : tensor<64x16xf32>
// FUSE:         scf.for
// FUSE:           %[[S:.+]] = rtile.dot
// FUSE-NEXT:      %[[MAX:.+]] = rtile.reduce max %[[S]]
// FUSE:           arith.mulf %[[MAX]], %{{.+}} : tensor<64xf32>
// FUSE:           %[[M:.+]] = arith.maximumf
// FUSE-NEXT:      %[[NEG:.+]] = arith.negf %[[M]] : tensor<64xf32>
// FUSE-NEXT:      %[[WIDE:.+]] = rtile.broadcast %[[NEG]]
// FUSE-NEXT:      math.fma %[[S]], %[[SCALE]], %[[WIDE]]
// FUSE:         scf.for
// FUSE:           %[[S:.+]] = rtile.dot
// FUSE:           %[[KEPT:.+]] = arith.select %{{.+}}, %[[S]], %{{.+}}
// FUSE-NEXT:      rtile.reduce max %[[KEPT]]
// FUSE:           math.fma %[[KEPT]], %[[SCALE]]
// FUSE-NOT:     arith.mulf %{{.+}} : tensor<64x16xf32>

// K comes a turn ahead, to one place whichever loop it is for, V at the turn's
// beginning. The second loop takes over the K that is under way.

// AHEAD-LABEL:  rtile.func @attend(
// AHEAD-SAME:     rtile.shared_bytes = 7680 : i64
// AHEAD:        %[[Q:.+]] = rtile.load {{.+}} {rtile.shared = array<i64: 0>} : !rtile.view<64x32xbf16>
// AHEAD-NEXT:   %[[FIRST:.+]] = rtile.load %{{.+}}[%[[BEGIN:.+]], %c0] {rtile.shared = array<i64: 5120>}
// AHEAD-NEXT:   %[[WHOLE:.+]]:3 = scf.for %[[J:.+]] = %[[BEGIN]] to %[[END:.+]] step %c16 iter_args({{.+}}, %[[K:.+]] = %[[FIRST]])
// AHEAD-NEXT:     %[[V:.+]] = rtile.load %{{.+}}[%[[J]], %c0] {rtile.shared = array<i64: 6400>}
// AHEAD-NEXT:     rtile.dot %[[Q]], %[[K]] transposed
// AHEAD-NEXT:     %[[ROW:.+]] = arith.addi %[[J]], %c16
// AHEAD-NEXT:     %[[NEXT:.+]] = rtile.load %{{.+}}[%[[ROW]], %c0] {rtile.shared = array<i64: 5120>}
// AHEAD:          arith.mulf %{{.+}}, %{{.+}} {rtile.skip_ones} : tensor<64x32xf32>
// AHEAD-NEXT:     rtile.dot %{{.+}}, %[[V]] init
// AHEAD-NEXT:     scf.yield %{{.+}}, %{{.+}}, %[[NEXT]]
// AHEAD-NEXT:   } {rtile.ahead = array<i64: 2>}
// AHEAD-NEXT:   scf.for %{{.+}} = %[[END]] to %{{.+}} step %c16 iter_args({{.+}} = %[[WHOLE]]#2)

// Two barriers a turn, each after the copies that came before it. Warps rescale
// their sums only where a factor is not 1. Copies end before the kernel does.

// EMIT-LABEL:   llvm.func ptx_kernelcc @attend(
// EMIT:         scf.for {{.+}} -> (f32,
// EMIT:           "llvm.nvvm.cp.async.wait.all"
// EMIT-NEXT:      nvvm.barrier
// EMIT-NOT:       nvvm.barrier
// EMIT:           nvvm.mma.sync {{.*}}<bf16>{{.*}}k = 16
// EMIT-NOT:       nvvm.barrier
// EMIT:           "llvm.nvvm.cp.async.wait.all"
// EMIT-NEXT:      nvvm.barrier
// EMIT-NOT:       nvvm.barrier
// EMIT:           cp.async.cg.shared.global
// EMIT:           %[[ANY:.+]] = nvvm.vote.sync
// EMIT-NEXT:      scf.if %[[ANY]]
// EMIT:           arith.truncf {{.+}} : vector<2xf32> to vector<2xbf16>
// EMIT:           nvvm.ldmatrix {{.*}}<col>
// EMIT-NOT:       nvvm.barrier
// EMIT:         scf.for {{.+}} -> (f32,
// EMIT-COUNT-2:   nvvm.barrier
// EMIT-NOT:       nvvm.barrier
// EMIT:         st.global.v2
// EMIT:         "llvm.nvvm.cp.async.wait.all"
// EMIT-NEXT:    llvm.return

rtile.func @attend(%Q: memref<?x32xbf16, strided<[?, 1]>>,
                   %K: memref<?x32xbf16, strided<[?, 1]>>,
                   %V: memref<?x32xbf16, strided<[?, 1]>>,
                   %O: memref<?x32xf32, strided<[?, 1]>>)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %lowest = arith.constant dense<-1.0e38> : tensor<64xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<64x16xf32>
  %scale = arith.constant dense<0.25> : tensor<64x16xf32>
  %q = rtile.view %Q[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<64x32xbf16>
  %k = rtile.view %K[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<16x32xbf16>
  %v = rtile.view %V[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<16x32xbf16>
  %o = rtile.view %O[*, *] : memref<?x32xf32, strided<[?, 1]>> to !rtile.view<64x32xf32>
  %row = arith.muli %i, %c64 : index
  %begin, %wb, %we, %end = rtile.run %q[%row], %k causal : !rtile.view<64x32xbf16>, !rtile.view<16x32xbf16>
  %qt = rtile.load %q[%row, %c0] : !rtile.view<64x32xbf16>
  %whole:2 = scf.for %j = %begin to %we step %c16 iter_args(%m = %lowest, %acc = %zero) -> (tensor<64xf32>, tensor<64x32xf32>) {
    %kt = rtile.load %k[%j, %c0] : !rtile.view<16x32xbf16>
    %s = rtile.dot %qt, %kt transposed : tensor<64x32xbf16>, tensor<16x32xbf16> -> tensor<64x16xf32>
    %scaled = arith.mulf %s, %scale : tensor<64x16xf32>
    %max = rtile.reduce max %scaled : tensor<64x16xf32>
    %m_new = arith.maximumf %m, %max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x16xf32>
    %below = arith.subf %scaled, %m_wide : tensor<64x16xf32>
    %p = math.exp2 %below : tensor<64x16xf32>
    %change = arith.subf %m, %m_new : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %weights = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %vt = rtile.load %v[%j, %c0] : !rtile.view<16x32xbf16>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x32xf32>
    %decayed = arith.mulf %acc, %alpha_wide : tensor<64x32xf32>
    %after = rtile.dot %weights, %vt init(%decayed) : tensor<64x16xbf16>, tensor<16x32xbf16> -> tensor<64x32xf32>
    scf.yield %m_new, %after : tensor<64xf32>, tensor<64x32xf32>
  }
  %masked:2 = scf.for %j = %we to %end step %c16 iter_args(%m = %whole#0, %acc = %whole#1) -> (tensor<64xf32>, tensor<64x32xf32>) {
    %kt = rtile.load %k[%j, %c0] : !rtile.view<16x32xbf16>
    %s = rtile.dot %qt, %kt transposed : tensor<64x32xbf16>, tensor<16x32xbf16> -> tensor<64x16xf32>
    %scaled = arith.mulf %s, %scale : tensor<64x16xf32>
    %seen = rtile.visible %q[%row], %k[%j] causal : !rtile.view<64x32xbf16>, !rtile.view<16x32xbf16> -> tensor<64x16xi1>
    %kept = arith.select %seen, %scaled, %hidden : tensor<64x16xi1>, tensor<64x16xf32>
    %max = rtile.reduce max %kept : tensor<64x16xf32>
    %m_new = arith.maximumf %m, %max : tensor<64xf32>
    %m_wide = rtile.broadcast %m_new : tensor<64xf32> -> tensor<64x16xf32>
    %below = arith.subf %kept, %m_wide : tensor<64x16xf32>
    %p = math.exp2 %below : tensor<64x16xf32>
    %change = arith.subf %m, %m_new : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %weights = arith.truncf %p : tensor<64x16xf32> to tensor<64x16xbf16>
    %vt = rtile.load %v[%j, %c0] : !rtile.view<16x32xbf16>
    %alpha_wide = rtile.broadcast %alpha : tensor<64xf32> -> tensor<64x32xf32>
    %decayed = arith.mulf %acc, %alpha_wide : tensor<64x32xf32>
    %after = rtile.dot %weights, %vt init(%decayed) : tensor<64x16xbf16>, tensor<16x32xbf16> -> tensor<64x32xf32>
    scf.yield %m_new, %after : tensor<64xf32>, tensor<64x32xf32>
  }
  rtile.store %masked#1, %o[%row, %c0] : !rtile.view<64x32xf32>
  rtile.return
}

// A tile of a buffer that the loop stores to is loaded when its turn comes.

// AHEAD-LABEL:  rtile.func @in_place(
// AHEAD:        scf.for %{{.+}} = %c0 to %c64 step %c16 {
// AHEAD-NEXT:     %[[T:.+]] = rtile.load
// AHEAD-NEXT:     rtile.dot %[[T]]
// AHEAD:          rtile.store
// AHEAD-NEXT:   }
// AHEAD-NOT:    rtile.ahead
rtile.func @in_place(%X: memref<80x16xbf16>, %W: memref<16x16xbf16>)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %x = rtile.view %X[*, *] : memref<80x16xbf16> to !rtile.view<16x16xbf16>
  %w = rtile.view %W[*, *] : memref<16x16xbf16> to !rtile.view<16x16xbf16>
  %weights = rtile.load %w[%c0, %c0] : !rtile.view<16x16xbf16>
  scf.for %row = %c0 to %c64 step %c16 {
    %tile = rtile.load %x[%row, %c0] : !rtile.view<16x16xbf16>
    %sums = rtile.dot %tile, %weights : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
    %rounded = arith.truncf %sums : tensor<16x16xf32> to tensor<16x16xbf16>
    %next = arith.addi %row, %c16 : index
    rtile.store %rounded, %x[%next, %c0] : !rtile.view<16x16xbf16>
  }
  rtile.return
}
