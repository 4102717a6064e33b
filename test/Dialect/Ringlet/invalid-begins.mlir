// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where keys cannot begin (S5).
// RUN: ringlet-opt -split-input-file -verify-diagnostics %s

func.func @count(%q: tensor<3x1x4x16xf32>, %k: tensor<3x9x4x16xf32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{expected one begin of keys for each of the 3 sequences, found 2 (S5)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] key_begins(%b)
      : (tensor<3x1x4x16xf32>, tensor<3x9x4x16xf32>, tensor<3x9x4x16xf32>, tensor<2xi32>) -> (tensor<3x1x4x16xf32>, tensor<3x4x1xf32>)
  return
}

// -----

func.func @type(%q: tensor<3x1x4x16xf32>, %k: tensor<3x9x4x16xf32>, %b: tensor<3xi16>) {
  // expected-error@+1 {{operand #3 must be 1D tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<3xi16>'}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] key_begins(%b)
      : (tensor<3x1x4x16xf32>, tensor<3x9x4x16xf32>, tensor<3x9x4x16xf32>, tensor<3xi16>) -> (tensor<3x1x4x16xf32>, tensor<3x4x1xf32>)
  return
}

// -----

func.func @packed(%q: tensor<9x4x16xf32>, %s: tensor<4xi64>, %b: tensor<3xi32>) {
  // expected-error@+1 {{expected padded sequences of one rank beside key_begins, found packed ones; nearest legal choice: starts of keys that leave out what comes before them (S5)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] packed(%s, %s) key_begins(%b)
      : (tensor<9x4x16xf32>, tensor<9x4x16xf32>, tensor<9x4x16xf32>, tensor<4xi64>, tensor<4xi64>, tensor<3xi32>) -> (tensor<9x4x16xf32>, tensor<4x9xf32>)
  return
}

// -----

#ring = #rlayout.layout<ring = <4, contiguous>>
func.func @ring(%q: tensor<3x64x4x16xf32, #ring>, %b: tensor<3xi32>) {
  // expected-error@+1 {{expected padded sequences of one rank beside key_begins, found a ring; nearest legal choice: packed sequences (S5)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] key_begins(%b)
      : (tensor<3x64x4x16xf32, #ring>, tensor<3x64x4x16xf32, #ring>, tensor<3x64x4x16xf32, #ring>, tensor<3xi32>) -> (tensor<3x64x4x16xf32, #ring>, tensor<3x4x64xf32>)
  return
}

// -----

func.func @padding(%q: tensor<3x64x4x16xf32>, %b: tensor<3xi32>) {
  // expected-error@+1 {{expected whole sequences of one length in linear order beside padding = counted, found key_begins (B7)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 24, r = 1, padding = counted>] key_begins(%b)
      : (tensor<3x64x4x16xf32>, tensor<3x64x4x16xf32>, tensor<3x64x4x16xf32>, tensor<3xi32>) -> (tensor<3x64x4x16xf32>, tensor<3x4x64xf32>)
  return
}
