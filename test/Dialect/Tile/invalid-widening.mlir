// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views that widen elements of 8 bits are read, and nothing else (S6).
// RUN: ringlet-opt -split-input-file -verify-diagnostics %s

rtile.func @narrow(%x: memref<16x64xf8E4M3FN>) grid(%b: index) {
  // expected-error@+1 {{'f8E4M3FN'}}
  %v = rtile.view %x[*, *] : memref<16x64xf8E4M3FN> to !rtile.view<16x64xf8E4M3FN>
  rtile.return
}

// -----

rtile.func @others(%x: memref<16x64xf8E5M2>) grid(%b: index) {
  // expected-error@+1 {{expected a view with elements of 'f8E5M2', found 'f16'}}
  %v = rtile.view %x[*, *] : memref<16x64xf8E5M2> to !rtile.view<16x64xf16>
  rtile.return
}

// -----

rtile.func @unsigned(%x: memref<16x64xui8>) grid(%b: index) {
  // expected-error@+1 {{expected a view with elements of 'ui8', found 'f16'}}
  %v = rtile.view %x[*, *] : memref<16x64xui8> to !rtile.view<16x64xf16>
  rtile.return
}

// -----

rtile.func @store(%x: memref<16x64xi8>) grid(%b: index) {
  %c0 = arith.constant 0 : index
  %v = rtile.view %x[*, *] : memref<16x64xi8> to !rtile.view<16x64xf16>
  %t = rtile.load %v[%c0, %c0] : !rtile.view<16x64xf16>
  // expected-error@+1 {{expected a view that does not widen, found one of 'memref<16x64xi8>' (S6)}}
  rtile.store %t, %v[%c0, %c0] : !rtile.view<16x64xf16>
  rtile.return
}

// -----

rtile.func @copy(%x: memref<?x64xi8>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %v = rtile.view %x[*, *] : memref<?x64xi8> to !rtile.view<64x64xbf16>
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
    // expected-error@+1 {{expected a view that does not widen, found one of 'memref<?x64xi8>' (S6)}}
    rtile.copy %v[%c0, %c0] to %s : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}
