//===- channels.mlir - Slots that threads fill and engines store ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-check-gpu --rtile-gpu-plan-maps \
// RUN:   --rtile-gpu-assign-channels=arch=sm_90a -o %t
// RUN: FileCheck %s < %t
// RUN: ringlet-opt %t --rtile-to-nvvm=arch=sm_90a \
// RUN:   | FileCheck %s --check-prefix=NVVM
// RUN: ringlet-opt %s --rtile-check-gpu --rtile-gpu-plan-maps \
// RUN:   --rtile-gpu-assign-channels="arch=sm_90a from-symbol" -o %t.symbol
// RUN: FileCheck %s --check-prefix=SYMBOL < %t.symbol
// RUN: ringlet-opt %t.symbol --rtile-to-nvvm=arch=sm_90a \
// RUN:   | FileCheck %s --check-prefix=BASE

// Slots begin at multiples of 1024 bytes, those of one axis, too. What is read and
// what is written have maps of their own.

// CHECK:       rtile.func @sum(
// CHECK-SAME:    rtile.maps = [#rtile.map<buffer = 0, rows = 0, columns = 1, fixed = [], rate = 1, box = [64, 64]>, #rtile.map<buffer = 1, rows = 0, columns = 1, fixed = [], rate = 1, box = [64, 32]>]
// CHECK-SAME:    rtile.shared_base = 1024 : i64
// CHECK:         rtile.channel slots = 2 offset = 0 barriers = 33792 : !rtile.channel<64x64xbf16>
// CHECK:         rtile.channel slots = 1 offset = 16384 barriers = 33824 : !rtile.channel<64x64xf32>
// CHECK:         rtile.channel slots = 1 offset = 32768 barriers = 33840 : !rtile.channel<64xf32>

// The first channel is full when bytes have come, and empty when the warps of both
// readers have released it; the others are full when all warps have written.

// NVVM-LABEL: llvm.func ptx_kernelcc @sum(
// NVVM:         trap
// NVVM:         mbarrier.init.shared::cta.b64 {{[^,]+}}, 1;
// NVVM:         mbarrier.init.shared::cta.b64 {{[^,]+}}, 6;
// NVVM:         mbarrier.init.shared::cta.b64 {{[^,]+}}, 1;
// NVVM:         mbarrier.init.shared::cta.b64 {{[^,]+}}, 6;
// NVVM:         mbarrier.init.shared::cta.b64 {{[^,]+}}, 4;
// NVVM:         mbarrier.init.shared::cta.b64 {{[^,]+}}, 1;
// NVVM:         mbarrier.init.shared::cta.b64 {{[^,]+}}, 2;
// NVVM:         mbarrier.init.shared::cta.b64 {{[^,]+}}, 4;
// Sums of columns are written by the lanes of one row, the copy engine sees them after
// a fence.
// NVVM:         st.shared.v2.b32
// NVVM:         nvvm.fence.proxy
// NVVM:         mbarrier.arrive
// NVVM:         cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group
// NVVM:         cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group
// NVVM:         nvvm.cp.async.bulk.commit.group
// NVVM:         nvvm.cp.async.bulk.wait_group 0 {read}
// NVVM:         mbarrier.arrive
// One product goes on with the sums of another one, which is waited for.
// NVVM:         wgmma.commit_group
// NVVM:         wgmma.commit_group
// NVVM:         wgmma.wait_group.sync.aligned 1
// NVVM:         wgmma.wait_group.sync.aligned 0
// NVVM:         st.shared.v2.b32
// NVVM:         nvvm.fence.proxy

// SYMBOL:     rtile.func @sum(
// SYMBOL-NOT: rtile.shared_base
// SYMBOL:     offset = 0 barriers = 33792

// BASE-LABEL: llvm.func ptx_kernelcc @sum(
// BASE-NOT:     trap
// BASE:         %[[ADDRESS:.+]] = llvm.ptrtoint %{{.+}} : !llvm.ptr<3> to i64
// BASE:         %[[BASE:.+]] = arith.trunci %[[ADDRESS]] : i64 to i32
// BASE:         "mbarrier.init.shared::cta.b64 [$0+33792], 1;"{{.*}} %[[BASE]]
rtile.func @sum(%X: memref<?x?xbf16, strided<[?, 1]>>, %Y: memref<?x?xf32, strided<[?, 1]>>)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %x = rtile.view %X[*, *] : memref<?x?xbf16, strided<[?, 1]>> to !rtile.view<64x64xbf16>
  %y = rtile.view %Y[*, *] : memref<?x?xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %xs = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  %out = rtile.channel slots = 1 : !rtile.channel<64x64xf32>
  %line = rtile.channel slots = 1 : !rtile.channel<64xf32>
  rtile.role "columns" warps = 2 {
    %slot = rtile.await %xs : !rtile.channel<64x64xbf16>
    rtile.release %slot : !rtile.slot<64x64xbf16>
    %other = rtile.await %xs : !rtile.channel<64x64xbf16>
    rtile.release %other : !rtile.slot<64x64xbf16>
    %ones = arith.constant dense<1.0> : tensor<64xf32, #rtile.fragment<2, along = columns>>
    %free = rtile.acquire %line : !rtile.channel<64xf32>
    rtile.write %ones to %free : tensor<64xf32, #rtile.fragment<2, along = columns>>, !rtile.slot<64xf32>
  }
  rtile.role "load" warps = 1 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xbf16>
    rtile.copy %x[%c0, %c0] to %slot : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
    %other = rtile.acquire %xs : !rtile.channel<64x64xbf16>
    rtile.copy %x[%c0, %c64] to %other : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
  }
  rtile.role "store" warps = 1 {
    %full = rtile.await %out : !rtile.channel<64x64xf32>
    rtile.copy_out add %full to %y[%c0, %c64] : !rtile.slot<64x64xf32>, !rtile.view<64x64xf32>
    rtile.release %full : !rtile.slot<64x64xf32>
  }
  rtile.role "compute" warps = 4 {
    %first = rtile.await %xs : !rtile.channel<64x64xbf16>
    %a = rtile.read %first : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
    %p = rtile.start_dot %a, %a transposed : tensor<64x64xbf16, #rtile.swizzled>, tensor<64x64xbf16, #rtile.swizzled> -> tensor<64x64xf32, #rtile.fragment<4>>
    %second = rtile.await %xs : !rtile.channel<64x64xbf16>
    %b = rtile.read %second : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
    %q = rtile.start_dot %b, %b transposed onto(%p) : tensor<64x64xbf16, #rtile.swizzled>, tensor<64x64xbf16, #rtile.swizzled> -> tensor<64x64xf32, #rtile.fragment<4>>
    rtile.wait_dot %p : tensor<64x64xf32, #rtile.fragment<4>>
    rtile.release %first : !rtile.slot<64x64xbf16>
    %gram = rtile.finish_dot %q : tensor<64x64xf32, #rtile.fragment<4>>
    rtile.release %second : !rtile.slot<64x64xbf16>
    %full = rtile.await %line : !rtile.channel<64xf32>
    %ones = rtile.read %full : !rtile.slot<64xf32> -> tensor<64xf32, #rtile.fragment<4, along = columns>>
    rtile.release %full : !rtile.slot<64xf32>
    %wide = rtile.broadcast %ones columns : tensor<64xf32, #rtile.fragment<4, along = columns>> -> tensor<64x64xf32, #rtile.fragment<4>>
    %sum = arith.addf %gram, %wide : tensor<64x64xf32, #rtile.fragment<4>>
    %free = rtile.acquire %out : !rtile.channel<64x64xf32>
    rtile.write %sum to %free : tensor<64x64xf32, #rtile.fragment<4>>, !rtile.slot<64x64xf32>
  }
  rtile.return
}
