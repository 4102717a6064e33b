// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Padding that counts is that of sequences of one length (B7).
// RUN: ringlet-opt -split-input-file -verify-diagnostics %s

func.func @window(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected whole sequences of one length in linear order beside padding = counted, found a window (B7)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 24, r = 1, padding = counted>] window = [3, 3]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @grid_window(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected whole sequences of one length in linear order beside padding = counted, found a grid_window (B7)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 24, r = 1, padding = counted>] grid_window = <grid = [8, 8], reach = [1, 1]>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @pattern_order(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected whole sequences of one length in linear order beside padding = counted, found a pattern_order (B7)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 24, r = 1, padding = counted>] pattern_order = <hilbert, grid = [8, 8]>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @block_mask(%q: tensor<1x64x4x16xf32>, %m: tensor<8x8xi1>) {
  // expected-error@+1 {{expected whole sequences of one length in linear order beside padding = counted, found a block_mask (B7)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 24, r = 1, padding = counted>] block_mask(%m) of [8, 8]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<8x8xi1>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @lengths(%q: tensor<1x64x4x16xf32>, %n: tensor<1xi64>) {
  // expected-error@+1 {{expected whole sequences of one length in linear order beside padding = counted, found lengths (B7)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 24, r = 1, padding = counted>] lengths(%n, %n)
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1xi64>, tensor<1xi64>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @packed(%q: tensor<64x4x16xf32>, %n: tensor<3xi64>) {
  // expected-error@+1 {{expected whole sequences of one length in linear order beside padding = counted, found packed sequences (B7)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 24, r = 1, padding = counted>] packed(%n, %n)
      : (tensor<64x4x16xf32>, tensor<64x4x16xf32>, tensor<64x4x16xf32>, tensor<3xi64>, tensor<3xi64>) -> (tensor<64x4x16xf32>, tensor<4x64xf32>)
  return
}

// -----

func.func @offsets(%q: tensor<1x64x4x16xf32>, %n: tensor<1xi64>) {
  // expected-error@+1 {{expected whole sequences of one length in linear order beside padding = counted, found a q_offset for each sequence (B7)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 24, r = 1, padding = counted>] q_offset(%n)
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1xi64>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @order(%q: tensor<1x64x4x16xf32, #rlayout.layout<order = #rlayout.order<residue<4>>>>) {
  // expected-error@+1 {{expected whole sequences of one length in linear order beside padding = counted, found a memory order (B7)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 24, r = 1, padding = counted>]
      : (tensor<1x64x4x16xf32, #rlayout.layout<order = #rlayout.order<residue<4>>>>, tensor<1x64x4x16xf32, #rlayout.layout<order = #rlayout.order<residue<4>>>>, tensor<1x64x4x16xf32, #rlayout.layout<order = #rlayout.order<residue<4>>>>) -> (tensor<1x64x4x16xf32, #rlayout.layout<order = #rlayout.order<residue<4>>>>, tensor<1x4x64xf32, #rlayout.layout<order = #rlayout.order<residue<4>>, axis = 2>>)
  return
}

// -----

func.func @runtime(%q: tensor<1x64x4x16xf32>, %n: tensor<i64>) {
  // expected-error@+1 {{expected a known w and r beside padding = counted, found '?' (B7)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = ?, r = 1, padding = counted>] sizes(%n)
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<i64>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @unknown(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected one of [none, counted] for padding of a branch (B7), got: some}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1, padding = some>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}
