//===- choose-schedule-invalid.mlir - Kernels without roles -*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-choose-schedule --verify-diagnostics

// Groups of warps multiply 64 rows.

// expected-error@+1 {{expected left operands of a multiple of 64 rows, found tensor<96x64xbf16>}}
rtile.func @heights(%Q: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 96 : index
  %step = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<96x64xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<96x64xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<96x64xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<96x64xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<96x64xbf16>, !rtile.view<64x64xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<96x64xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<64x64xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<96x64xbf16>, tensor<64x64xbf16> -> tensor<96x64xf32>
    %p = arith.truncf %s : tensor<96x64xf32> to tensor<96x64xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<64x64xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<96x64xbf16>, tensor<64x64xbf16> -> tensor<96x64xf32>
    scf.yield %next : tensor<96x64xf32>
  }
  %out = arith.truncf %sums : tensor<96x64xf32> to tensor<96x64xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<96x64xbf16>
  rtile.return
}

// -----

// A map of a tensor has its dilation when it is made.

// expected-error@+1 {{expected views whose w and rate are known, found ? (B1)}}
rtile.func @runtime_rate(%Q: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %rate: index)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 64 : index
  %step = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = rtile.view %Q[%batch, *, %head, *] residue(%c0) rate(%rate) : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16, rate = ?>
  %k = rtile.view %K[%batch, *, %head, *] residue(%c0) rate(%rate) : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16, rate = ?>
  %v = rtile.view %V[%batch, *, %head, *] residue(%c0) rate(%rate) : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16, rate = ?>
  %o = rtile.view %O[%batch, *, %head, *] residue(%c0) rate(%rate) : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16, rate = ?>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x64xbf16, rate = ?>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<64x64xbf16, rate = ?>, !rtile.view<64x64xbf16, rate = ?>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<64x64xbf16, rate = ?>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<64x64xbf16, rate = ?>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %out = arith.truncf %sums : tensor<64x64xf32> to tensor<64x64xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<64x64xbf16, rate = ?>
  rtile.return
}

// -----

// The copy engine moves 16 bytes at a time.

// expected-error@+1 {{expected rows of a multiple of 16 bytes, found 40 (20 elements; nearest 24)}}
rtile.func @odd_depth(%Q: memref<1x?x8x20xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x20xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x20xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x20xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 64 : index
  %step = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x20xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x20xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x20xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x20xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x20xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x20xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x20xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x20xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x20xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x20xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<64x20xbf16>, !rtile.view<64x20xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<64x20xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<64x20xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<64x20xbf16>, tensor<64x20xbf16> -> tensor<64x64xf32>
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<64x20xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<64x64xbf16>, tensor<64x20xbf16> -> tensor<64x20xf32>
    scf.yield %next : tensor<64x20xf32>
  }
  %out = arith.truncf %sums : tensor<64x20xf32> to tensor<64x20xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<64x20xbf16>
  rtile.return
}

// -----

// Products sum over 16 keys at a time.

// expected-error@+1 {{expected key tiles of a multiple of 16 rows, found 40; nearest 48}}
rtile.func @odd_keys(%Q: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 64 : index
  %step = arith.constant 40 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<40x64xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<40x64xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x64xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<64x64xbf16>, !rtile.view<40x64xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<40x64xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<64x64xbf16>, tensor<40x64xbf16> -> tensor<64x40xf32>
    %p = arith.truncf %s : tensor<64x40xf32> to tensor<64x40xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<40x64xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<64x40xbf16>, tensor<40x64xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %out = arith.truncf %sums : tensor<64x64xf32> to tensor<64x64xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<64x64xbf16>
  rtile.return
}

// -----

// Sums and scores of 256 columns do not fit.

// expected-error@+1 {{expected at most 232 registers a thread, 2 groups of 64 rows, found 304: 272 for tiles, 32 for the rest}}
rtile.func @many_registers(%Q: memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 128 : index
  %step = arith.constant 192 : index
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x256xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<192x256xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<192x256xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x256xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<128x256xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<128x256xbf16>, !rtile.view<192x256xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<128x256xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<192x256xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<128x256xbf16>, tensor<192x256xbf16> -> tensor<128x192xf32>
    %p = arith.truncf %s : tensor<128x192xf32> to tensor<128x192xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<192x256xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<128x192xbf16>, tensor<192x256xbf16> -> tensor<128x256xf32>
    scf.yield %next : tensor<128x256xf32>
  }
  %out = arith.truncf %sums : tensor<128x256xf32> to tensor<128x256xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<128x256xbf16>
  rtile.return
}

// -----

// Products have at most 256 columns.

// expected-error@+1 {{expected views of at most 256 columns to multiply, found 264}}
rtile.func @wide(%Q: memref<1x?x8x264xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x264xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 64 : index
  %step = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x264xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x264xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x264xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x264xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x264xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<64x264xbf16>, !rtile.view<64x264xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<64x264xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<64x264xbf16>, tensor<64x264xbf16> -> tensor<64x64xf32>
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<64x64xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %out = arith.truncf %sums : tensor<64x64xf32> to tensor<64x64xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<64x64xbf16>
  rtile.return
}

// -----

// A copy has at most 256 rows.

// expected-error@+1 {{expected tiles of at most 256 rows to copy, found 320}}
rtile.func @high(%Q: memref<1x?x8x16xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x16xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x16xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x16xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 320 : index
  %step = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<320x16xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x16xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<320x16xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x16xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<16x16xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x16xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<16x16xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x16xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<320x16xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<320x16xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<320x16xbf16>, !rtile.view<16x16xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<320x16xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<16x16xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<320x16xbf16>, tensor<16x16xbf16> -> tensor<320x16xf32>
    %p = arith.truncf %s : tensor<320x16xf32> to tensor<320x16xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<16x16xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<320x16xbf16>, tensor<16x16xbf16> -> tensor<320x16xf32>
    scf.yield %next : tensor<320x16xf32>
  }
  %out = arith.truncf %sums : tensor<320x16xf32> to tensor<320x16xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<320x16xbf16>
  rtile.return
}

// -----

// A tile that is read in another way, too, cannot stay in its slot.

// expected-error@+1 {{expected loads of right operands for products alone, found a tile of tensor<64x64xbf16> that something else uses, too}}
rtile.func @other_use(%Q: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 64 : index
  %step = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x64xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<64x64xbf16>, !rtile.view<64x64xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<64x64xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %other = arith.negf %k_tile : tensor<64x64xbf16>
    rtile.store %other, %o[%row, %c0] : !rtile.view<64x64xbf16>
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<64x64xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %out = arith.truncf %sums : tensor<64x64xf32> to tensor<64x64xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<64x64xbf16>
  rtile.return
}

// -----

// Loads run ahead of stores, so these must not meet.

// expected-error@+1 {{expected operands of products in buffers that nothing is stored to, found one that is both}}
rtile.func @both_ways(%Q: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 64 : index
  %step = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x64xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<64x64xbf16>, !rtile.view<64x64xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<64x64xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %rounded = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    rtile.store %rounded, %k[%n, %c0] : !rtile.view<64x64xbf16>
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<64x64xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %out = arith.truncf %sums : tensor<64x64xf32> to tensor<64x64xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<64x64xbf16>
  rtile.return
}

// -----

// Products of f32 are exact, which these are not.

// expected-error@+1 {{expected operands of products of one type of 16 bits, found tensor<64x64xf32> and tensor<64x64xf32>}}
rtile.func @f32(%Q: memref<1x?x8x64xf32, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x64xf32, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x64xf32, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x64xf32, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 64 : index
  %step = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x64xf32, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xf32>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x64xf32, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xf32>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x64xf32, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xf32>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x64xf32, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xf32>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x64xf32>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<64x64xf32>, !rtile.view<64x64xf32>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<64x64xf32>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %p = arith.negf %s : tensor<64x64xf32>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<64x64xf32>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %out = arith.negf %sums : tensor<64x64xf32>
  rtile.store %out, %o[%row, %c0] : !rtile.view<64x64xf32>
  rtile.return
}

// -----

// A kernel that names no recipe is nobody's business.

rtile.func @plain(%Q: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index)  {
  %c0 = arith.constant 0 : index
  %height = arith.constant 64 : index
  %step = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x64xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<64x64xbf16>, !rtile.view<64x64xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<64x64xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<64x64xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %out = arith.truncf %sums : tensor<64x64xf32> to tensor<64x64xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<64x64xbf16>
  rtile.return
}

// -----

// Groups of warps of a schedule written by hand are those of the rows.

// expected-error@+1 {{expected a schedule with 8 warps that compute, 4 for every 64 rows, or a part of them, found 12}}
rtile.func @few_warps(%Q: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy"
    schedule = <roles = [<"load", warps = 4>, <"compute", warps = 12>], slots = 2, walk = <strided>> {
  %c0 = arith.constant 0 : index
  %height = arith.constant 128 : index
  %step = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<128x128xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<128x128xbf16>, !rtile.view<128x128xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<128x128xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    %p = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<128x128xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %out = arith.truncf %sums : tensor<128x128xf32> to tensor<128x128xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<128x128xbf16>
  rtile.return
}

// -----

// Somebody has to copy.

// expected-error@+1 {{expected a schedule with a role 'load'}}
rtile.func @no_loads(%Q: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy"
    schedule = <roles = [<"compute", warps = 8>], slots = 2, walk = <strided>> {
  %c0 = arith.constant 0 : index
  %height = arith.constant 128 : index
  %step = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<128x128xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<128x128xbf16>, !rtile.view<128x128xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<128x128xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    %p = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<128x128xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %out = arith.truncf %sums : tensor<128x128xf32> to tensor<128x128xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<128x128xbf16>
  rtile.return
}
