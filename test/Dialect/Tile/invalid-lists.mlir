//===- invalid-lists.mlir - Lists and masks that are refused ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

rtile.func @b5_reach_count(%x: memref<?x8xf32>, %index: memref<?xi64>, %mask: memref<?x?xi1>)
    grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x8xf32> to !rtile.view<16x8xf32, rate = 2>
  // expected-error@+1 {{expected one reach for each of the 2 axes, found 1 (B5)}}
  %m = rtile.visible %v[%n], %v[%n] grid = [4, 4] reach = [1] : !rtile.view<16x8xf32>, !rtile.view<16x8xf32> -> tensor<16x16xi1>
  rtile.return
}

// -----

rtile.func @b5_no_axis(%x: memref<?x8xf32>, %index: memref<?xi64>, %mask: memref<?x?xi1>)
    grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x8xf32> to !rtile.view<16x8xf32, rate = 2>
  // expected-error@+1 {{expected a grid of 1 to 8 axes, found 0 (B5)}}
  %m = rtile.visible %v[%n], %v[%n] grid = [] reach = [] : !rtile.view<16x8xf32>, !rtile.view<16x8xf32> -> tensor<16x16xi1>
  rtile.return
}

// -----

rtile.func @b5_side(%x: memref<?x8xf32>, %index: memref<?xi64>, %mask: memref<?x?xi1>)
    grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x8xf32> to !rtile.view<16x8xf32, rate = 2>
  // expected-error@+1 {{expected positive sides and reaches of at least 0, found side 0 with reach 1 (B5)}}
  %m = rtile.visible %v[%n], %v[%n] grid = [4, 0] reach = [1, 1] : !rtile.view<16x8xf32>, !rtile.view<16x8xf32> -> tensor<16x16xi1>
  rtile.return
}

// -----

rtile.func @b5_reach(%x: memref<?x8xf32>, %index: memref<?xi64>, %mask: memref<?x?xi1>)
    grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x8xf32> to !rtile.view<16x8xf32, rate = 2>
  // expected-error@+1 {{expected positive sides and reaches of at least 0, found side 4 with reach -1 (B5)}}
  %m = rtile.visible %v[%n], %v[%n] grid = [4] reach = [-1] : !rtile.view<16x8xf32>, !rtile.view<16x8xf32> -> tensor<16x16xi1>
  rtile.return
}

// -----

rtile.func @b5_volume(%x: memref<?x8xf32>, %index: memref<?xi64>, %mask: memref<?x?xi1>)
    grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x8xf32> to !rtile.view<16x8xf32, rate = 2>
  // expected-error@+1 {{expected a grid of less than 2^63 cells (B5)}}
  %m = rtile.visible %v[%n], %v[%n] grid = [4294967296, 4294967296] reach = [1, 1] : !rtile.view<16x8xf32>, !rtile.view<16x8xf32> -> tensor<16x16xi1>
  rtile.return
}

// -----

rtile.func @b5_grid_alone(%x: memref<?x8xf32>, %index: memref<?xi64>, %mask: memref<?x?xi1>)
    grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x8xf32> to !rtile.view<16x8xf32, rate = 2>
  // expected-error@+1 {{expected grid and reach together (B5)}}
  %m = "rtile.visible"(%v, %n, %v, %n) <{grid = array<i64: 4>}> : (!rtile.view<16x8xf32>, index, !rtile.view<16x8xf32>, index) -> tensor<16x16xi1>
  rtile.return
}

// -----

rtile.func @b6_size_alone(%x: memref<?x8xf32>, %index: memref<?xi64>, %mask: memref<?x?xi1>)
    grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x8xf32> to !rtile.view<16x8xf32, rate = 2>
  // expected-error@+1 {{expected blocks and their size together (B6)}}
  %m = "rtile.visible"(%v, %n, %v, %n) <{blockSize = array<i64: 4, 4>}> : (!rtile.view<16x8xf32>, index, !rtile.view<16x8xf32>, index) -> tensor<16x16xi1>
  rtile.return
}

// -----

rtile.func @b6_mask_alone(%x: memref<?x8xf32>, %index: memref<?xi64>, %mask: memref<?x?xi1>)
    grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x8xf32> to !rtile.view<16x8xf32, rate = 2>
  // expected-error@+1 {{expected blocks and their size together (B6)}}
  %m = "rtile.visible"(%v, %n, %v, %n, %mask) <{}> : (!rtile.view<16x8xf32>, index, !rtile.view<16x8xf32>, index, memref<?x?xi1>) -> tensor<16x16xi1>
  rtile.return
}

// -----

rtile.func @b6_size(%x: memref<?x8xf32>, %index: memref<?xi64>, %mask: memref<?x?xi1>)
    grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x8xf32> to !rtile.view<16x8xf32, rate = 2>
  // expected-error@+1 {{expected positive sides of mask blocks, found 0 (B6)}}
  %m = rtile.visible %v[%n], %v[%n] blocks(%mask : memref<?x?xi1>) of [4, 0] : !rtile.view<16x8xf32>, !rtile.view<16x8xf32> -> tensor<16x16xi1>
  rtile.return
}

// -----

rtile.func @any_block_size(%x: memref<?x8xf32>, %index: memref<?xi64>, %mask: memref<?x?xi1>)
    grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x8xf32> to !rtile.view<16x8xf32, rate = 2>
  // expected-error@+1 {{expected positive sides of mask blocks, found -3 (B6)}}
  %m = rtile.any_block %v[%n], %v[%n], %mask of [-3, 1] : !rtile.view<16x8xf32>, !rtile.view<16x8xf32>, memref<?x?xi1>
  rtile.return
}

// -----

rtile.func @any_block_rates(%x: memref<?x8xf32>, %index: memref<?xi64>, %mask: memref<?x?xi1>)
    grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x8xf32> to !rtile.view<16x8xf32, rate = 2>
  // expected-error@+1 {{expected views of one segment length and rate}}
  %m = rtile.any_block %v[%n], %w[%n], %mask of [4, 4] : !rtile.view<16x8xf32>, !rtile.view<16x8xf32, rate = 2>, memref<?x?xi1>
  rtile.return
}

// -----

rtile.func @list_rates(%x: memref<?x8xf32>, %index: memref<?xi64>, %mask: memref<?x?xi1>)
    grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x8xf32> to !rtile.view<16x8xf32, rate = 2>
  // expected-error@+1 {{expected views of one segment length and rate}}
  %m:3 = rtile.list %index[%n], %v[%n], %w : memref<?xi64>, !rtile.view<16x8xf32>, !rtile.view<16x8xf32, rate = 2>
  rtile.return
}

// -----

rtile.func @list_window(%x: memref<?x8xf32>, %index: memref<?xi64>, %mask: memref<?x?xi1>)
    grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x8xf32> to !rtile.view<16x8xf32, rate = 2>
  // expected-error@+1 {{expected window sides of at least 0, or -1 for no limit, found -2 (B4)}}
  %m:3 = rtile.list %index[%n], %v[%n], %v window = [-2, 0] : memref<?xi64>, !rtile.view<16x8xf32>, !rtile.view<16x8xf32>
  rtile.return
}

// -----

rtile.func @list_grid(%x: memref<?x8xf32>, %index: memref<?xi64>, %mask: memref<?x?xi1>)
    grid(%n: index) {
  %v = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<16x8xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x8xf32> to !rtile.view<16x8xf32, rate = 2>
  // expected-error@+1 {{expected one reach for each of the 1 axes, found 2 (B5)}}
  %m:3 = rtile.list %index[%n], %v[%n], %v grid = [4] reach = [1, 1] : memref<?xi64>, !rtile.view<16x8xf32>, !rtile.view<16x8xf32>
  rtile.return
}
