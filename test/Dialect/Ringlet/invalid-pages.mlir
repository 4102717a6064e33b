// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What keys in pages are not (S4).
// RUN: ringlet-opt -split-input-file -verify-diagnostics %s

func.func @rank(%q: tensor<3x1x4x16xf32>, %k: tensor<64x4x16xf32>, %t: tensor<3x8xi32>) {
  // expected-error@+1 {{expected key of rank 4 ([page, row, head, dim]), found rank 3 (S4)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] pages(%t)
      : (tensor<3x1x4x16xf32>, tensor<64x4x16xf32>, tensor<64x4x16xf32>, tensor<3x8xi32>) -> (tensor<3x1x4x16xf32>, tensor<3x4x1xf32>)
  return
}

// -----

func.func @rank_beside_packed(%q: tensor<9x4x16xf32>, %k: tensor<64x4x16xf32>, %s: tensor<4xi64>, %t: tensor<3x8xi32>) {
  // expected-error@+1 {{expected key of rank 4 ([page, row, head, dim]), found rank 3 (S4)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] packed(%s, %s) pages(%t)
      : (tensor<9x4x16xf32>, tensor<64x4x16xf32>, tensor<64x4x16xf32>, tensor<4xi64>, tensor<4xi64>, tensor<3x8xi32>) -> (tensor<9x4x16xf32>, tensor<4x9xf32>)
  return
}

// -----

func.func @rows(%q: tensor<3x1x4x16xf32>, %k: tensor<?x?x4x16xf32>, %t: tensor<3x8xi32>) {
  // expected-error@+1 {{expected pages of 1 to 1048576 rows, which the type of key says, found 'tensor<?x?x4x16xf32>' (S4)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] pages(%t)
      : (tensor<3x1x4x16xf32>, tensor<?x?x4x16xf32>, tensor<?x?x4x16xf32>, tensor<3x8xi32>) -> (tensor<3x1x4x16xf32>, tensor<3x4x1xf32>)
  return
}

// -----

func.func @no_rows(%q: tensor<3x1x4x16xf32>, %k: tensor<?x0x4x16xf32>, %t: tensor<3x8xi32>) {
  // expected-error@+1 {{expected pages of 1 to 1048576 rows, which the type of key says, found 'tensor<?x0x4x16xf32>' (S4)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] pages(%t)
      : (tensor<3x1x4x16xf32>, tensor<?x0x4x16xf32>, tensor<?x0x4x16xf32>, tensor<3x8xi32>) -> (tensor<3x1x4x16xf32>, tensor<3x4x1xf32>)
  return
}

// -----

func.func @sequences(%q: tensor<3x1x4x16xf32>, %k: tensor<?x16x4x16xf32>, %t: tensor<2x8xi32>) {
  // expected-error@+1 {{expected pages of each of the 3 sequences, found those of 2 (S4)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] pages(%t)
      : (tensor<3x1x4x16xf32>, tensor<?x16x4x16xf32>, tensor<?x16x4x16xf32>, tensor<2x8xi32>) -> (tensor<3x1x4x16xf32>, tensor<3x4x1xf32>)
  return
}

// -----

func.func @pools(%q: tensor<3x1x4x16xf32>, %k: tensor<?x16x4x16xf32>, %v: tensor<?x32x4x16xf32>, %t: tensor<3x8xi32>) {
  // expected-error@+1 {{expected value of [?, 16, 4, 16], found [?, 32, 4, 16] (section 1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>] pages(%t)
      : (tensor<3x1x4x16xf32>, tensor<?x16x4x16xf32>, tensor<?x32x4x16xf32>, tensor<3x8xi32>) -> (tensor<3x1x4x16xf32>, tensor<3x4x1xf32>)
  return
}

// -----

func.func @wide_numbers(%q: tensor<3x1x4x16xf32>, %k: tensor<?x16x4x16xf32>, %t: tensor<3x8xi64>) {
  // expected-error@+1 {{operand #3 must be 2D tensor of 32-bit signless integer values}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] pages(%t)
      : (tensor<3x1x4x16xf32>, tensor<?x16x4x16xf32>, tensor<?x16x4x16xf32>, tensor<3x8xi64>) -> (tensor<3x1x4x16xf32>, tensor<3x4x1xf32>)
  return
}

// -----

!k = tensor<?x16x4x16xf32, #rlayout.layout<order = <residue<4>>>>
func.func @memory_order(%q: tensor<3x1x4x16xf32>, %k: !k, %t: tensor<3x8xi32>) {
  // expected-error@+1 {{expected keys in linear order beside pages, found a memory order of key and value; nearest legal choice: an order of query and output alone (S4)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] pages(%t)
      : (tensor<3x1x4x16xf32>, !k, !k, tensor<3x8xi32>) -> (tensor<3x1x4x16xf32>, tensor<3x4x1xf32>)
  return
}

// -----

func.func @pattern_order(%q: tensor<3x64x4x16xf32>, %k: tensor<?x16x4x16xf32>, %t: tensor<3x4xi32>) {
  // expected-error@+1 {{expected keys in linear order beside pages, found a pattern_order; nearest legal choice: keys in linear order (S4)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] pattern_order = <hilbert, grid = [8, 8]> pages(%t)
      : (tensor<3x64x4x16xf32>, tensor<?x16x4x16xf32>, tensor<?x16x4x16xf32>, tensor<3x4xi32>) -> (tensor<3x64x4x16xf32>, tensor<3x4x64xf32>)
  return
}

// -----

func.func @padding(%q: tensor<3x64x4x16xf32>, %k: tensor<?x16x4x16xf32>, %t: tensor<3x4xi32>) {
  // expected-error@+1 {{expected keys in linear order beside pages, found padding = counted; nearest legal choice: padding = none (S4)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = 24, r = 1, padding = counted>] pages(%t)
      : (tensor<3x64x4x16xf32>, tensor<?x16x4x16xf32>, tensor<?x16x4x16xf32>, tensor<3x4xi32>) -> (tensor<3x64x4x16xf32>, tensor<3x4x64xf32>)
  return
}

// -----

!q = tensor<3x64x4x16xf32, #rlayout.layout<ring = <4, contiguous>>>
!lse = tensor<3x4x64xf32, #rlayout.layout<ring = <4, contiguous>, axis = 2>>
func.func @ring(%q: !q, %k: tensor<?x16x4x16xf32>, %t: tensor<3x4xi32>) {
  // expected-error@+1 {{expected keys in linear order beside pages, found a ring; nearest legal choice: pages of one rank (S4)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] pages(%t)
      : (!q, tensor<?x16x4x16xf32>, tensor<?x16x4x16xf32>, tensor<3x4xi32>) -> (!q, !lse)
  return
}
