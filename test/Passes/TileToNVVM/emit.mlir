//===- emit.mlir - Code of kernels for GPUs ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-lower-runs --rtile-gpu-choose-warps \
// RUN:   --rtile-gpu-choose-dot=arch=sm_80 --rtile-gpu-assign-shared=arch=sm_80 \
// RUN:   --rtile-to-nvvm=arch=sm_80 | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: ringlet-opt %s --rtile-lower-runs --rtile-gpu-choose-warps \
// RUN:   --rtile-gpu-choose-dot=arch=sm_61 --rtile-gpu-assign-shared=arch=sm_61 \
// RUN:   --rtile-to-nvvm=arch=sm_61 | FileCheck %s --check-prefixes=CHECK,SM61
// The whole pipeline leaves nothing but the llvm dialect.
// RUN: ringlet-opt %s --rtile-lower-to-nvvm=level=sm_90a | FileCheck %s --check-prefix=LLVM
// LLVM-NOT:   {{(rtile\.(func|load)|scf\.|arith\.|unrealized)}}
// LLVM:       llvm.func
// LLVM-NOT:   {{(rtile\.(func|load)|scf\.|arith\.|unrealized)}}

// A block runs one point of the grid; words are parameters; memory is read in
// pieces of 16 bytes if it is aligned so, and element by element, predicated, if
// not. A barrier stands where a place in shared memory changes hands: before K
// is written, before it is read, and the same for V, which has K's place.

// CHECK:         llvm.mlir.global external @ringlet_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
// CHECK-LABEL: llvm.func ptx_kernelcc @softmax_step(%arg0: i64, {{.*}}%arg12: i64)
// CHECK-SAME:    ["nvvm.maxntid", "128"], ["nvvm.minctasm", "1"]
// CHECK-SAME:    rtile.grid_rank = 1 : i64
// SM80-SAME:     rtile.shared_bytes = 6400 : i64, rtile.threads = 128 : i64
// SM61-SAME:     rtile.shared_bytes = 9472 : i64, rtile.threads = 128 : i64
// CHECK:         nvvm.read.ptx.sreg.tid.x
// CHECK:         nvvm.read.ptx.sreg.ctaid.x
// SM80:          scf.if
// SM80:            nvvm.cp.async.shared.global
// SM61:          scf.if
// SM61:            ld.global.v4.b32
// CHECK:         } else {
// CHECK:           @$2 ld.global.b16
// CHECK:         scf.for {{.+}} iter_args({{.+}}) -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32)
// SM80:            "llvm.nvvm.cp.async.wait.all"
// CHECK:           nvvm.barrier
// SM80:            "llvm.nvvm.cp.async.wait.all"
// CHECK:           nvvm.barrier
// SM80-COUNT-2:    nvvm.ldmatrix {{.*}}<row>
// SM80-COUNT-2:    nvvm.mma.sync {{.*}}<bf16>{{.*}}k = 16
// SM80-COUNT-2:    nvvm.ldmatrix {{.*}}<row>
// SM80-COUNT-2:    nvvm.mma.sync {{.*}}<bf16>{{.*}}k = 16
// SM61:            scf.for
// SM61-COUNT-32:     llvm.intr.fma
// SM61:            } {loop_annotation =
// CHECK:           nvvm.barrier
// SM80:            nvvm.barrier
// SM80-NOT:        nvvm.barrier
// SM80-NOT:        nvvm.ldmatrix {{.*}}<row>
// SM80:            nvvm.ldmatrix {{.*}}<col>
// SM80:            nvvm.mma.sync {{.*}}<bf16>{{.*}}k = 16
// SM80-NOT:        nvvm.barrier
// A product of multiply-adds begins at 0, and joins what was summed before.
// SM61:            scf.for {{.+}} iter_args(%{{.+}} = %[[ZERO:cst_[0-9]+]], %{{.+}} = %[[ZERO]],
// SM61:            } {loop_annotation =
// SM61-COUNT-16:   arith.addf
// CHECK:           scf.yield
// CHECK-NOT:     barrier.cta
// CHECK-COUNT-16: @$2 st.global.b32
// CHECK-NOT:     st.global
// CHECK:         llvm.return
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

// A row lies in the four lanes of a quad: two exchanges reduce it. One of them
// stores what a row has once. Columns that only fill up a block do not count.

// CHECK-LABEL: llvm.func ptx_kernelcc @reduce(
// CHECK-COUNT-8: @$2 ld.global.b32
// CHECK-NOT:     ld.global
// CHECK:         llvm.intr.maximum
// CHECK:         nvvm.shfl.sync bfly %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} :
// CHECK:         llvm.intr.maximum
// CHECK:         nvvm.shfl.sync bfly
// CHECK:         llvm.intr.maximum
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK-NOT:     shfl
// CHECK-COUNT-2: "llvm.nvvm.ex2.approx.ftz"
// CHECK-NOT:     ex2
// CHECK-COUNT-2: @$2 st.global.b32
// CHECK-NOT:     st.global
rtile.func @reduce(%X: memref<?x12xf32, strided<[?, 1]>>,
                   %Y: memref<?xf32, strided<[1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x12xf32, strided<[?, 1]>> to !rtile.view<16x12xf32>
  %y = rtile.view %Y[*] : memref<?xf32, strided<[1]>> to !rtile.view<16xf32>
  %t = rtile.load %x[%i, %c0] : !rtile.view<16x12xf32>
  %m = rtile.reduce max %t : tensor<16x12xf32>
  %e = math.exp2 %m : tensor<16xf32>
  rtile.store %e, %y[%i] : !rtile.view<16xf32>
  rtile.return
}

// Blocks of plain kernels have one point each. A launch with fewer blocks than
// points would leave the others out.

// CHECK-LABEL: llvm.func ptx_kernelcc @walks(
// CHECK-SAME:    %{{[^,]+}}: i64, %{{[^,]+}}: i64, %{{[^,]+}}: i64)
// CHECK-NOT:     rtile.persistent
// CHECK-NOT:     rtile.counter
// CHECK:         llvm.return
rtile.func @walks(%Z: memref<?xf32, strided<[1]>>) grid(%i: index)
    walk = <dynamic> {
  %z = rtile.view %Z[*] : memref<?xf32, strided<[1]>> to !rtile.view<16xf32>
  %one = arith.constant dense<1.0> : tensor<16xf32>
  rtile.store %one, %z[%i] : !rtile.view<16xf32>
  rtile.return
}

// Rows of a transposed view lie side by side: lanes of one column read neighbours.
// What is repeated for all rows is read by the threads that hold its columns, and
// neither lies in shared memory nor waits for others.

// CHECK-LABEL: llvm.func ptx_kernelcc @weighs_parts(
// CHECK-SAME:    rtile.shared_bytes = 0 : i64, rtile.threads = 32 : i64
// CHECK-NOT:     nvvm.barrier
// CHECK-COUNT-12: @$2 ld.global.b32
// CHECK-NOT:     nvvm.barrier
// CHECK:         nvvm.shfl.sync
// CHECK-NOT:     nvvm.barrier
// CHECK:         llvm.return
rtile.func @weighs_parts(%P: memref<?x64xf32>, %W: memref<?xf32>,
                         %O: memref<64xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %element = arith.muli %i, %c16 : index
  %p = rtile.view %P[*, *] transposed : memref<?x64xf32> to !rtile.view<16x16xf32>
  %w = rtile.view %W[*] : memref<?xf32> to !rtile.view<16xf32>
  %o = rtile.view %O[*] : memref<64xf32> to !rtile.view<16xf32>
  %parts = rtile.load %p[%element, %c0] : !rtile.view<16x16xf32>
  %weights = rtile.load %w[%c0] : !rtile.view<16xf32>
  %wide = rtile.broadcast %weights columns : tensor<16xf32> -> tensor<16x16xf32>
  %weighed = arith.mulf %parts, %wide : tensor<16x16xf32>
  %sum = rtile.reduce sum %weighed : tensor<16x16xf32>
  rtile.store %sum, %o[%element] : !rtile.view<16xf32>
  rtile.return
}
