//===- widen.mlir - Elements of 8 bits on a GPU ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-gpu-choose-dot=arch=sm_80 \
// RUN:   --rtile-gpu-choose-warps --rtile-gpu-swizzle-rows=arch=sm_80 \
// RUN:   --rtile-gpu-prefetch-loads=arch=sm_80 \
// RUN:   --rtile-gpu-assign-shared=arch=sm_80 | FileCheck %s --check-prefix=STAGE
// RUN: ringlet-opt %s --split-input-file --rtile-gpu-choose-dot=arch=sm_80 \
// RUN:   --rtile-gpu-choose-warps --rtile-gpu-swizzle-rows=arch=sm_80 \
// RUN:   --rtile-gpu-prefetch-loads=arch=sm_80 \
// RUN:   --rtile-gpu-assign-shared=arch=sm_80 --rtile-to-nvvm=arch=sm_80 \
// RUN:   | FileCheck %s --check-prefix=EMIT

// Copies of a loop bring 4096 bytes, behind the image of 8192 (and Q has 8192) that
// they become in front of the product. Numbers of f8E4M3FN are two in a word, 2^8 too
// small, until they are multiplied; NaN has got all bits of the exponent.

// STAGE-LABEL: rtile.func @bytes_ahead(
// STAGE-SAME:  rtile.shared_bytes = 20480
// STAGE:         rtile.load {{.+}} rtile.staged
// STAGE:         scf.for
// STAGE:           rtile.dot
// STAGE:           rtile.load {{.+}} rtile.staged

// EMIT-LABEL:  llvm.func {{.*}}@bytes_ahead(
// EMIT:          scf.for
// EMIT:            nvvm.cp.async
// EMIT:            nvvm.barrier
// EMIT:            %[[WORD:.+]] = llvm.extractelement
// EMIT:            %[[SPREAD:.+]] = llvm.call_intrinsic "llvm.nvvm.prmt"(%[[WORD]]
// EMIT:            %[[SIZE:.+]] = arith.andi %[[SPREAD]]
// EMIT:            %[[MOVED:.+]] = arith.shrui %[[SIZE]]
// EMIT:            %[[ABOVE:.+]] = arith.addi %[[MOVED]]
// EMIT:            %[[NAN:.+]] = arith.andi %[[ABOVE]]
// EMIT:            %[[BITS:.+]] = arith.ori %[[MOVED]], %[[NAN]]
// EMIT:            %[[SIGN:.+]] = arith.andi %[[SPREAD]]
// EMIT:            %[[SIGNED:.+]] = arith.ori %[[BITS]], %[[SIGN]]
// EMIT:            %[[SMALL:.+]] = llvm.bitcast %[[SIGNED]] : i32 to vector<2xf16>
// EMIT:            arith.mulf %[[SMALL]], %{{.+}} : vector<2xf16>
// EMIT:            nvvm.barrier
// EMIT:            nvvm.mma.sync
rtile.func @bytes_ahead(%Q: memref<?x64xf16, strided<[?, 1]>>,
                        %K: memref<?x64xf8E4M3FN, strided<[?, 1]>>,
                        %O: memref<?x64xf32, strided<[?, 1]>>, %n: index)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = rtile.view %Q[*, *] : memref<?x64xf16, strided<[?, 1]>> to !rtile.view<64x64xf16>
  %k = rtile.view %K[*, *] : memref<?x64xf8E4M3FN, strided<[?, 1]>> to !rtile.view<64x64xf16>
  %o = rtile.view %O[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %x = rtile.load %q[%c0, %c0] : !rtile.view<64x64xf16>
  %sum = scf.for %r = %c0 to %n step %c64 iter_args(%s = %zero) -> (tensor<64x64xf32>) {
    %y = rtile.load %k[%r, %c0] : !rtile.view<64x64xf16>
    %next = rtile.dot %x, %y transposed init(%s) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  rtile.store %sum, %o[%c0, %c0] : !rtile.view<64x64xf32>
  rtile.return
}

// -----

// Rows that pieces do not fill are widened on their way, through registers.

// STAGE-LABEL: rtile.func @as_loaded(
// STAGE-NOT:     rtile.staged

// EMIT-LABEL:  llvm.func {{.*}}@as_loaded(
// EMIT:          scf.for
// EMIT:            ld.global.b64
// EMIT:            llvm.nvvm.prmt
// EMIT:            arith.subf {{.+}} : vector<2xbf16>
// EMIT:            nvvm.mma.sync
rtile.func @as_loaded(%Q: memref<?x72xbf16, strided<[?, 1]>>,
                      %K: memref<?x72xi8, strided<[?, 1]>>,
                      %O: memref<?x64xf32, strided<[?, 1]>>, %n: index)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = rtile.view %Q[*, *] : memref<?x72xbf16, strided<[?, 1]>> to !rtile.view<64x72xbf16>
  %k = rtile.view %K[*, *] : memref<?x72xi8, strided<[?, 1]>> to !rtile.view<64x72xbf16>
  %o = rtile.view %O[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %x = rtile.load %q[%c0, %c0] : !rtile.view<64x72xbf16>
  %sum = scf.for %r = %c0 to %n step %c64 iter_args(%s = %zero) -> (tensor<64x64xf32>) {
    %y = rtile.load %k[%r, %c0] : !rtile.view<64x72xbf16>
    %next = rtile.dot %x, %y transposed init(%s) : tensor<64x72xbf16>, tensor<64x72xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  rtile.store %sum, %o[%c0, %c0] : !rtile.view<64x64xf32>
  rtile.return
}
