//===- invalid-filling.mlir - Slots that cannot be filled so ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

// All slots are filled in one way.

rtile.func @two_fillings(%X: memref<?x64xbf16, strided<[?, 1]>>)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>>
      to !rtile.view<64x64xbf16>
  // expected-error@+1 {{expected slots that are all filled by one operation, found rtile.copy and rtile.write}}
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %tile = arith.constant dense<1.0>
        : tensor<64x64xbf16, #rtile.fragment<4>>
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
    rtile.copy %x[%i, %c0] to %s
        : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
    %t = rtile.acquire %c : !rtile.channel<64x64xbf16>
    rtile.write %tile to %t
        : tensor<64x64xbf16, #rtile.fragment<4>>, !rtile.slot<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// What is written is a tile of the channel.

rtile.func @write_other(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64xf32>
  rtile.role "load" warps = 4 {
    %tile = arith.constant dense<1.0> : tensor<32xf32, #rtile.fragment<4>>
    %s = rtile.acquire %c : !rtile.channel<64xf32>
    // expected-error@+1 {{expected a tile of 'tensor<64xf32>', found 'tensor<32xf32, #rtile.fragment<4>>'}}
    rtile.write %tile to %s
        : tensor<32xf32, #rtile.fragment<4>>, !rtile.slot<64xf32>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64xf32>
  }
  rtile.return
}

// -----

// Slots to write to are acquired.

rtile.func @write_awaited(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64xf32>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64xf32>
  }
  rtile.role "compute" warps = 4 {
    %tile = arith.constant dense<1.0> : tensor<64xf32, #rtile.fragment<4>>
    %s = rtile.await %c : !rtile.channel<64xf32>
    // expected-error@+1 {{expected a slot of rtile.acquire in the same block or around it}}
    rtile.write %tile to %s
        : tensor<64xf32, #rtile.fragment<4>>, !rtile.slot<64xf32>
  }
  rtile.return
}

// -----

// Sums are added up in f32.

rtile.func @add_narrow(%Y: memref<?x64xbf16, strided<[?, 1]>>)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %y = rtile.view %Y[*, *] : memref<?x64xbf16, strided<[?, 1]>>
      to !rtile.view<64x64xbf16>
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "compute" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "store" warps = 1 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
    // expected-error@+1 {{expected tiles of f32 to add, found 'bf16'}}
    rtile.copy_out add %s to %y[%i, %c0]
        : !rtile.slot<64x64xbf16>, !rtile.view<64x64xbf16>
  }
  rtile.return
}

// -----

// A product adds to what it begins with or to what another one has made.

rtile.func @init_and_onto(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #rtile.fragment<4>>
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
    %t = rtile.read %s : !rtile.slot<64x64xbf16>
        -> tensor<64x64xbf16, #rtile.swizzled>
    %p = rtile.start_dot %t, %t
        : tensor<64x64xbf16, #rtile.swizzled>,
          tensor<64x64xbf16, #rtile.swizzled>
        -> tensor<64x64xf32, #rtile.fragment<4>>
    // expected-error@+1 {{expected init or onto, found both}}
    %q = rtile.start_dot %t, %t init(%zero) onto(%p)
        : tensor<64x64xbf16, #rtile.swizzled>,
          tensor<64x64xbf16, #rtile.swizzled>
        -> tensor<64x64xf32, #rtile.fragment<4>>
  }
  rtile.return
}
