// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views of rows in pages (S4).
// RUN: ringlet-opt -split-input-file -verify-diagnostics %s

rtile.func @no_axis(%x: memref<16x64xf32>, %t: memref<?x?xi32>) grid(%b: index) {
  // expected-error@+1 {{expected an axis of pages in front of the row axis, found none (S4)}}
  %v = rtile.view %x[*, *] pages(%t : memref<?x?xi32>) : memref<16x64xf32> to !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @rows(%x: memref<?x?x64xf32>, %t: memref<?x?xi32>) grid(%b: index) {
  // expected-error@+1 {{expected pages of 1 to 1048576 rows in the buffer's type, found 'memref<?x?x64xf32>' (S4)}}
  %v = rtile.view %x[%b, *, *] pages(%t : memref<?x?xi32>) : memref<?x?x64xf32> to !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @long(%x: memref<?x1048577x64xf32>, %t: memref<?x?xi32>) grid(%b: index) {
  // expected-error@+1 {{expected pages of 1 to 1048576 rows in the buffer's type, found 'memref<?x1048577x64xf32>' (S4)}}
  %v = rtile.view %x[%b, *, *] pages(%t : memref<?x?xi32>) : memref<?x1048577x64xf32> to !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @group(%x: memref<8x16x64xf32>, %t: memref<?x?xi32>) grid(%b: index) {
  // expected-error@+1 {{expected a group along another axis than that of pages, found axis 0 (S4)}}
  %v = rtile.view %x[%b, *, *] pages(%t : memref<?x?xi32>) group = [0, 4] : memref<8x16x64xf32> to !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @transposed(%x: memref<8x16x64xf32>, %t: memref<?x?xi32>) grid(%b: index) {
  // expected-error@+1 {{expected pages or a transposed view, found both (S4)}}
  %v = rtile.view %x[%b, *, *] transposed pages(%t : memref<?x?xi32>) : memref<8x16x64xf32> to !rtile.view<16x16xf32>
  rtile.return
}

// -----

rtile.func @order(%x: memref<8x16x64xf32>, %t: memref<?x?xi32>) grid(%b: index) {
  // expected-error@+1 {{expected pages or an order, found both; nearest a table of rows (O1, S4)}}
  %v = rtile.view %x[%b, *, *] residue(%b) order(#rlayout.order<residue<2>>) pages(%t : memref<?x?xi32>) : memref<8x16x64xf32> to !rtile.view<16x64xf32, rate = 2>
  rtile.return
}

// -----

rtile.func @wide_numbers(%x: memref<8x16x64xf32>, %t: memref<?x?xi64>) grid(%b: index) {
  // expected-error@+1 {{must be 2D memref of 32-bit signless integer values}}
  %v = rtile.view %x[%b, *, *] pages(%t : memref<?x?xi64>) : memref<8x16x64xf32> to !rtile.view<16x64xf32>
  rtile.return
}
