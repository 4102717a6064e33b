//===- invalid-union.mlir - Branches that one kernel cannot have ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

!x = tensor<1x64x2x16xf32>
!lse = tensor<1x2x64xf32>
func.func @one_branch(%q: !x) {
  // expected-error@+1 {{combine = union is not possible: expected 2 to 16 branches, found 1}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>]
      combine = union : (!x, !x, !x) -> (!x, !lse)
  return
}

// -----

!x = tensor<1x64x2x16xf32>
!lse = tensor<2x1x2x64xf32>
func.func @sum(%q: !x) {
  // expected-error@+1 {{combine = union is not possible: expected one softmax for all branches, or branches of different heads, found mix = sum and heads of several (R2)}}
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<w = 8, r = 1>, <w = 16, r = 2>] mix = sum combine = union
      : (!x, !x, !x) -> (!x, !lse)
  return
}

// -----

!x = tensor<1x64x2x16xf32>
!lse = tensor<1x2x64xf32>
func.func @runtime(%q: !x, %w: tensor<i64>) {
  // expected-error@+1 {{combine = union is not possible: expected a known w and r, found '?' in branch 1 (B1)}}
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<w = 8, r = 1>, <w = ?, r = 2>] sizes(%w) combine = union
      : (!x, !x, !x, tensor<i64>) -> (!x, !lse)
  return
}

// -----

!x = tensor<1x64x2x16xf32>
!lse = tensor<1x2x64xf32>
func.func @curve(%q: !x) {
  // expected-error@+1 {{combine = union is not possible: expected ordinals that are positions, found a pattern_order (O2)}}
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<w = 8, r = 1>, <w = 16, r = 2>]
      pattern_order = <hilbert, grid = [8, 8]> combine = union
      : (!x, !x, !x) -> (!x, !lse)
  return
}

// -----

!x = tensor<1x64x2x16xf32>
!lse = tensor<1x2x64xf32>
func.func @grid_window(%q: !x) {
  // expected-error@+1 {{combine = union is not possible: expected keys that follow each other, found a grid_window (B5)}}
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<w = 8, r = 1>, <w = 16, r = 2>]
      grid_window = <grid = [8, 8], reach = [1, 1]> combine = union
      : (!x, !x, !x) -> (!x, !lse)
  return
}

// -----

!x = tensor<1x64x2x16xf32>
!lse = tensor<1x2x64xf32>
func.func @block_mask(%q: !x, %m: tensor<4x4xi1>) {
  // expected-error@+1 {{combine = union is not possible: expected no block_mask: its blocks are those of one branch's tiles (B6)}}
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<w = 8, r = 1>, <w = 16, r = 2>]
      block_mask(%m) of [16, 16] combine = union
      : (!x, !x, !x, tensor<4x4xi1>) -> (!x, !lse)
  return
}

// -----

!x = tensor<1x64x2x16xf32>
!lse = tensor<1x2x64xf32>
func.func @long_segment(%q: !x) {
  // expected-error@+1 {{combine = union is not possible: expected segments of at most 2^60 positions, found 9223372036854775807 (B1)}}
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<w = 8, r = 1>, <w = 9223372036854775807, r = 2>]
      combine = union : (!x, !x, !x) -> (!x, !lse)
  return
}

// -----

!x = tensor<1x64x2x16xf32>
!lse = tensor<1x2x64xf32>
func.func @dilation(%q: !x) {
  // expected-error@+1 {{combine = union is not possible: expected dilations of at most 4096, found 4097 (B1)}}
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<w = 8, r = 1>, <w = 8192, r = 4097>] combine = union
      : (!x, !x, !x) -> (!x, !lse)
  return
}

// -----

!x = tensor<1x64x2x16xf32>
!lse = tensor<1x2x64xf32>
func.func @multiple(%q: !x) {
  // expected-error@+1 {{combine = union is not possible: expected dilations with a common multiple of at most 4096, found at least 9900 (B1)}}
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<w = *, r = 99>, <w = *, r = 100>] combine = union
      : (!x, !x, !x) -> (!x, !lse)
  return
}

// -----

!x = tensor<1x64x2x16xf32>
!lse = tensor<1x2x64xf32>
func.func @few_rows(%q: !x) {
  // expected-error@+1 {{combine = union is not possible: expected segments whose common divisor is at least the common multiple of all dilations, 12, found 8 (B1)}}
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<w = 16, r = 4>, <w = 24, r = 3>] combine = union
      : (!x, !x, !x) -> (!x, !lse)
  return
}

// -----

!x = tensor<1x64x2x16xf32>
!lse = tensor<1x2x64xf32>
func.func @tilings(%q: !x) {
  // expected-error@+1 {{expected one tiling for the union of branches, found 2}}
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<w = 16, r = 4>, <w = 24, r = 2>] combine = union
      tilings = [#ringlet.tiling<query = 8, key = 8>, #ringlet.tiling<query = 8, key = 8>]
      : (!x, !x, !x) -> (!x, !lse)
  return
}

// -----

func.func @apart_of_one(%q: tensor<1x64x2x16xf32>) {
  // expected-error@+1 {{combine = apart is not possible: expected 2 branches at least, found 1}}
  %o, %l = ringlet.attention %q, %q, %q branches [<w = 32, r = 1>] combine = apart
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>) -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return
}

// -----

func.func @apart_of_some_heads(%q: tensor<1x64x2x16xf32>) {
  // expected-error@+1 {{combine = apart is not possible: expected branches of different heads, found heads of several}}
  %o, %l = ringlet.attention %q, %q, %q
      branches [<w = 32, r = 1, heads = [0, 2]>, <w = 32, r = 2, heads = [1, 2]>] combine = apart
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>) -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return
}
