//===- invalid.mlir - Views and their uses that are refused ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

// View types.

rtile.func @tile_without_axes(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected a tile of 1 or 2 axes, found 0}}
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<f32>
  rtile.return
}

// -----

rtile.func @tile_of_three_axes(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected a tile of 1 or 2 axes, found 3}}
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<4x4x4xf32>
  rtile.return
}

// -----

rtile.func @tile_side_zero(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected tile sides in [1, 1024], found 0}}
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<0x64xf32>
  rtile.return
}

// -----

rtile.func @tile_side_large(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected tile sides in [1, 1024], found 1025}}
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<1025x64xf32>
  rtile.return
}

// -----

rtile.func @tile_element(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected elements of f16, bf16 or f32, found 'f64'}}
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf64>
  rtile.return
}

// -----

rtile.func @b1_zero_w(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected w of at least 1, found 0}}
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, w = 0>
  rtile.return
}

// -----

rtile.func @b1_negative_rate(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected rate of at least 1, found -9223372036854775808}}
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, rate = -9223372036854775808>
  rtile.return
}

// -----

rtile.func @b1_rate_above_w(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected a rate of at most w = 8, found 16 (B1)}}
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, w = 8, rate = 16>
  rtile.return
}

// -----

rtile.func @w_twice(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected 'w' once}}
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, w = 8, w = 16>
  rtile.return
}

// -----

rtile.func @unknown_key(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected w, rate or indexed, found 'stride'}}
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, stride = 8>
  rtile.return
}

// -----

// Making views.

rtile.func @view_axes(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected 2 axes ('*') for '!rtile.view<16x64xf32>', found 1}}
  %v = rtile.view %x[*, %n] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @view_no_axes(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected 2 axes ('*') for '!rtile.view<16x64xf32>', found 0}}
  %v = rtile.view %x[] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @view_entries(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected one entry for each of the 2 axes of the buffer, found 3}}
  %v = rtile.view %x[*, *, %n] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @view_element(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected a view with elements of 'f32', found 'bf16'}}
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xbf16>
  rtile.return
}

// -----

rtile.func @view_segment_missing(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected a segment if and only if the view has a w}}
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, w = 8>
  rtile.return
}

// -----

rtile.func @view_segment_left_over(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected a segment if and only if the view has a w}}
  %v = rtile.view %x[*, *] segment(%n) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @view_residue_missing(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected a residue if and only if the view has a rate}}
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, rate = 2>
  rtile.return
}

// -----

rtile.func @b1_runtime_w_missing(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected an operand w if and only if the view has w = ?, found '!rtile.view<16x64xf32, w = ?>' (B1)}}
  %v = rtile.view %x[*, *] segment(%n) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, w = ?>
  rtile.return
}

// -----

rtile.func @b1_runtime_w_left_over(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected an operand w if and only if the view has w = ?, found '!rtile.view<16x64xf32, w = 8>' (B1)}}
  %v = rtile.view %x[*, *] segment(%n) w(%n) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, w = 8>
  rtile.return
}

// -----

rtile.func @b1_runtime_rate_missing(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected an operand rate if and only if the view has rate = ?}}
  %v = rtile.view %x[*, *] segment(%n) residue(%n) w(%n) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, w = ?, rate = ?>
  rtile.return
}

// -----

rtile.func @o1_order_of_runtime_rate(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected an order beside a w and rate that are known, found #rlayout.order<residue<2>> beside '!rtile.view<16x64xf32, rate = ?>'; nearest a table of rows (O1)}}
  %v = rtile.view %x[*, *] residue(%n) rate(%n) order(#rlayout.order<residue<2>>) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, rate = ?>
  rtile.return
}

// -----

rtile.func @view_residue_left_over(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected a residue if and only if the view has a rate}}
  %v = rtile.view %x[*, *] residue(%n) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @view_rows_missing(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected rows if and only if the view is indexed}}
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, indexed>
  rtile.return
}

// -----

rtile.func @view_rows_left_over(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected rows if and only if the view is indexed}}
  %v = rtile.view %x[*, *] rows(%t : memref<?xi64>) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  rtile.return
}

// -----

// Only the generic form can name axes that the text form counts.

rtile.func @view_axes_twice(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected different axes below 2, found 1}}
  %v = "rtile.view"(%x) <{axes = array<i64: 1, 1>, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> : (memref<?x64xf32, strided<[?, 1]>>) -> !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @view_axes_far_out(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected different axes below 2, found -9223372036854775808}}
  %v = "rtile.view"(%x) <{axes = array<i64: -9223372036854775808, 9223372036854775807>, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> : (memref<?x64xf32, strided<[?, 1]>>) -> !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @view_without_axes(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{requires attribute 'axes'}}
  %v = "rtile.view"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}> : (memref<?x64xf32, strided<[?, 1]>>) -> !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @view_without_segments(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{does not match with the total size (0) specified in attribute 'operandSegmentSizes'}}
  %v = "rtile.view"(%x) : (memref<?x64xf32, strided<[?, 1]>>) -> !rtile.view<16x64xf32>
  rtile.return
}

// -----

// Loads and stores.

rtile.func @load_offsets(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  // expected-error@+1 {{expected 2 offsets, found 1}}
  %l = rtile.load %v[%n] : !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @load_nothing(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected 1 or more operands, but found 0}}
  %l = "rtile.load"() : () -> tensor<16x64xf32>
  rtile.return
}

// -----

rtile.func @load_index(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{operand #0 must be}}
  %l = "rtile.load"(%n) : (index) -> tensor<16x64xf32>
  rtile.return
}

// -----

rtile.func @load_type(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  // expected-error@+1 {{expected a tile of 'tensor<16x64xf32>', found 'tensor<16x32xf32>'}}
  %l = "rtile.load"(%v, %n, %n) : (!rtile.view<16x64xf32>, index, index) -> tensor<16x32xf32>
  rtile.return
}

// -----

rtile.func @store_offsets(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %v = rtile.view %x[*, %n] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16xf32>
  %a = arith.constant dense<1.0> : tensor<16xf32>
  // expected-error@+1 {{expected 1 offsets, found 2}}
  rtile.store %a, %v[%n, %n] : !rtile.view<16xf32>
  rtile.return
}

// -----

rtile.func @store_type(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  %a = arith.constant dense<1.0> : tensor<16x4xf32>
  // expected-error@+1 {{expected a tile of 'tensor<16x64xf32>', found 'tensor<16x4xf32>'}}
  "rtile.store"(%a, %v, %n, %n) : (tensor<16x4xf32>, !rtile.view<16x64xf32>, index, index) -> ()
  rtile.return
}

// -----

// Visibility.

rtile.func @b4_run_segments(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  %w = rtile.view %x[*, *] segment(%n) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, w = 8>
  // expected-error@+1 {{expected views of one segment length and rate}}
  %r:4 = rtile.run %v[%n], %w : !rtile.view<16x64xf32>, !rtile.view<16x64xf32, w = 8>
  rtile.return
}

// -----

rtile.func @b4_run_runtime_sizes(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %v = rtile.view %x[*, *] segment(%n) w(%n) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, w = ?>
  %w = rtile.view %x[*, *] segment(%n) w(%i) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, w = ?>
  // expected-error@+1 {{expected views of one segment length and rate}}
  %r:4 = rtile.run %v[%n], %w : !rtile.view<16x64xf32, w = ?>, !rtile.view<16x64xf32, w = ?>
  rtile.return
}

// -----

rtile.func @b4_run_part(%x: memref<?x64xf32, strided<[?, 1]>>, %n: index)
    grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  // expected-error@+1 {{expected the number of a part and that of all parts, found 1 numbers}}
  %r:4 = rtile.run %v[%n], %v part(%n) : !rtile.view<16x64xf32>, !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @run_keys_in_groups(%x: memref<?x8x64xf32, strided<[?, ?, 1]>>, %n: index)
    grid(%i: index) {
  %v = rtile.view %x[*, %n, *] group = [1, 4] : memref<?x8x64xf32, strided<[?, ?, 1]>> to !rtile.view<16x64xf32>
  // expected-error@+1 {{expected keys without a group, found one of 4}}
  %r:4 = rtile.run %v[%n], %v : !rtile.view<16x64xf32>, !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @group_of_rows(%x: memref<?x8x64xf32, strided<[?, ?, 1]>>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected a group along an axis that has an index, found axis 0}}
  %v = rtile.view %x[*, %n, *] group = [0, 4] : memref<?x8x64xf32, strided<[?, ?, 1]>> to !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @group_beyond_axis(%x: memref<?x8x64xf32, strided<[?, ?, 1]>>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected a group of 1 to 8 places of axis 1, found 9}}
  %v = rtile.view %x[*, %n, *] group = [1, 9] : memref<?x8x64xf32, strided<[?, ?, 1]>> to !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @b4_run_window(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  // expected-error@+1 {{expected window sides of at least 0, or -1 for no limit, found -9223372036854775808 (B4)}}
  %r:4 = rtile.run %v[%n], %v window = [0, -9223372036854775808] : !rtile.view<16x64xf32>, !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @b4_run_window_count(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  // expected-error@+1 {{expected two window sides, left and right, found 0 (B4)}}
  %r:4 = rtile.run %v[%n], %v window = [] : !rtile.view<16x64xf32>, !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @o2_run_of_one_position(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %v = rtile.view %x[*, *] positions(%t : memref<?xi64>) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  %w = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  // expected-error@+1 {{expected positions of both views or of none (O2)}}
  %r:4 = rtile.run %v[%n], %w : !rtile.view<16x64xf32>, !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @o1_distances(%x: memref<?x64xf32, strided<[?, 1]>>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected an order with the rows of '!rtile.view<16x64xf32, rate = 4>' at equal distances, found #rlayout.order<residue<3>>; nearest residue<4> (O1)}}
  %v = rtile.view %x[*, *] residue(%n) order(#rlayout.order<residue<3>>) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, rate = 4>
  rtile.return
}

// -----

rtile.func @o1_period(%x: memref<?x64xf32, strided<[?, 1]>>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected an order that restarts with segments, and no origin, found a period of 100 tokens beside '!rtile.view<16x64xf32, w = 40, rate = 4>' (O1)}}
  %v = rtile.view %x[*, *] segment(%n) residue(%n) order(#rlayout.order<residue<4>, chunk = 100>) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, w = 40, rate = 4>
  rtile.return
}

// -----

rtile.func @o1_origin(%x: memref<?x64xf32, strided<[?, 1]>>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected an order that restarts with segments, and no origin, found a period of 80 tokens}}
  %v = rtile.view %x[*, *] origin(%n) segment(%n) residue(%n) order(#rlayout.order<residue<4>, chunk = 80>) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, w = 40, rate = 4>
  rtile.return
}

// -----

// Only the generic form can name one bound.

rtile.func @s2_first_alone(%x: memref<?x64xf32, strided<[?, 1]>>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected the first and the end of rows together, found one of them (S2)}}
  %v = "rtile.view"(%x, %n) <{axes = array<i64: 0, 1>, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0>}> : (memref<?x64xf32, strided<[?, 1]>>, index) -> !rtile.view<16x64xf32>
  rtile.return
}

// -----

rtile.func @o1_order_and_table(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  // expected-error@+1 {{expected an order or tables, found both}}
  %v = rtile.view %x[*, *] residue(%n) order(#rlayout.order<residue<4>>) rows(%t : memref<?xi64>) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, rate = 4, indexed>
  rtile.return
}

// -----

rtile.func @b4_visible_rates(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  %w = rtile.view %x[*, *] residue(%n) : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32, rate = 2>
  // expected-error@+1 {{expected views of one segment length and rate}}
  %m = rtile.visible %v[%n], %w[%n] : !rtile.view<16x64xf32>, !rtile.view<16x64xf32, rate = 2> -> tensor<16x16xi1>
  rtile.return
}

// -----

rtile.func @visible_mask(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  // expected-error@+1 {{expected a mask of 'tensor<16x16xi1>', found 'tensor<16x64xi1>'}}
  %m = rtile.visible %v[%n], %v[%n] : !rtile.view<16x64xf32>, !rtile.view<16x64xf32> -> tensor<16x64xi1>
  rtile.return
}

// -----

rtile.func @visible_dynamic_mask(%x: memref<?x64xf32, strided<[?, 1]>>, %t: memref<?xi64>, %n: index)
    grid(%i: index) {
  %v = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<16x64xf32>
  // expected-error@+1 {{expected a mask of 'tensor<16x16xi1>', found 'tensor<16x?xi1>'}}
  %m = rtile.visible %v[%n], %v[%n] causal : !rtile.view<16x64xf32>, !rtile.view<16x64xf32> -> tensor<16x?xi1>
  rtile.return
}
