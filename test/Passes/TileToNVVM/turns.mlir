//===- turns.mlir - Groups of warps take turns ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: split-file %s %t
// RUN: ringlet-opt %t/turns.mlir --rtile-verify-schedule \
// RUN:   --rtile-lower-to-nvvm=level=sm_90a | FileCheck %s
// RUN: not ringlet-opt %t/tile.mlir --rtile-check-gpu 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TILE

// Each of the three groups has a barrier of the block: numbers 1 to 3. Before
// anything else the last group lets the first one begin. A turn waits at the own
// barrier and ends at that of the next group, of the first one after the last.

// CHECK-LABEL: llvm.func ptx_kernelcc @turns(
// CHECK:         %[[GROUP:.+]] = llvm.inline_asm {{.+}}"shfl.sync.idx.b32 $0, $1, 0, 31, -1;"
// CHECK:         %[[GROUP:.+]] = llvm.inline_asm {{.+}}"shfl.sync.idx.b32 $0, $1, 0, 31, -1;"
// CHECK:         llvm.inline_asm {{.+}}bar.arrive {{.+}}, 256;
// CHECK:         llvm.inline_asm {{.+}}"bar.sync $0, 256;"
// CHECK:         llvm.inline_asm {{.+}}wgmma.mma_async
// CHECK-NOT:     wgmma.wait_group
// CHECK:         llvm.inline_asm {{.+}}"bar.arrive $0, 256;"
// CHECK:         llvm.inline_asm {{.+}}wgmma.wait_group

//--- turns.mlir
!acc = tensor<192x64xf32, #rtile.fragment<12>>
!smem = tensor<192x64xbf16, #rtile.swizzled>
!keys = tensor<64x64xbf16, #rtile.swizzled>
rtile.func @turns(%X: memref<?x64xbf16, strided<[?, 1]>>,
                  %Y: memref<?x64xf32, strided<[?, 1]>>)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>>
      to !rtile.view<192x64xbf16>
  %k = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>>
      to !rtile.view<64x64xbf16>
  %y = rtile.view %Y[*, *] : memref<?x64xf32, strided<[?, 1]>>
      to !rtile.view<192x64xf32>
  %rows = rtile.channel slots = 1 : !rtile.channel<192x64xbf16>
  %keys = rtile.channel slots = 1 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %row = rtile.acquire %rows : !rtile.channel<192x64xbf16>
    rtile.copy %x[%c0, %c0] to %row
        : !rtile.view<192x64xbf16>, !rtile.slot<192x64xbf16>
    %key = rtile.acquire %keys : !rtile.channel<64x64xbf16>
    rtile.copy %k[%c0, %c0] to %key
        : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
  }
  rtile.role "compute" warps = 12 {
    %row, %key = rtile.await %rows, %keys
        : !rtile.channel<192x64xbf16>, !rtile.channel<64x64xbf16>
    %a = rtile.read %row : !rtile.slot<192x64xbf16> -> !smem
    %b = rtile.read %key : !rtile.slot<64x64xbf16> -> !keys
    %started = rtile.in_turn -> !rtile.pending<!acc> {
      %inner = rtile.start_dot %a, %b transposed : !smem, !keys -> !acc
      rtile.yield %inner : !rtile.pending<!acc>
    }
    %products = rtile.finish_dot %started : !acc
    rtile.release %row : !rtile.slot<192x64xbf16>
    rtile.release %key : !rtile.slot<64x64xbf16>
    rtile.store %products, %y[%c0, %c0] : !acc, !rtile.view<192x64xf32>
  }
  rtile.return
}

// A turn hands on what it has started, and nothing else.

//--- tile.mlir
// TILE: error: 'rtile.in_turn' op expected a turn that yields products under way, found 'tensor<16xf32, #rtile.fragment<8>>'
rtile.func @tile(%Y: memref<?xf32, strided<[1]>>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %y = rtile.view %Y[*] : memref<?xf32, strided<[1]>> to !rtile.view<16xf32>
  rtile.role "compute" warps = 8 {
    %one = arith.constant dense<1.0> : tensor<16xf32, #rtile.fragment<8>>
    %two = rtile.in_turn -> tensor<16xf32, #rtile.fragment<8>> {
      %sum = arith.addf %one, %one : tensor<16xf32, #rtile.fragment<8>>
      rtile.yield %sum : tensor<16xf32, #rtile.fragment<8>>
    }
    rtile.store %two, %y[%c0]
        : tensor<16xf32, #rtile.fragment<8>>, !rtile.view<16xf32>
  }
  rtile.return
}
