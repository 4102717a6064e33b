// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys and values of 8 bits that cannot be, and scales of others (S6).
// RUN: ringlet-opt -split-input-file -verify-diagnostics %s

func.func @query(%q: tensor<1x9x4x16xi8>) {
  // expected-error@+1 {{operand #0 must be ranked tensor of 16-bit float or bfloat16 type or 32-bit float values, but got 'tensor<1x9x4x16xi8>'}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      : (tensor<1x9x4x16xi8>, tensor<1x9x4x16xi8>, tensor<1x9x4x16xi8>) -> (tensor<1x9x4x16xf32>, tensor<1x4x9xf32>)
  return
}

// -----

func.func @other_8_bits(%q: tensor<1x9x4x16xf16>, %k: tensor<1x9x4x16xf8E5M2>) {
  // expected-error@+1 {{operand #1 must be ranked tensor of 16-bit float or bfloat16 type or 32-bit float or f8E4M3FN type or 8-bit signless integer values, but got 'tensor<1x9x4x16xf8E5M2>'}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      : (tensor<1x9x4x16xf16>, tensor<1x9x4x16xf8E5M2>, tensor<1x9x4x16xf8E5M2>) -> (tensor<1x9x4x16xf16>, tensor<1x4x9xf32>)
  return
}

// -----

func.func @two_types(%q: tensor<1x9x4x16xf16>, %k: tensor<1x9x4x16xf8E4M3FN>, %v: tensor<1x9x4x16xi8>) {
  // expected-error@+1 {{expected value of the element type of key, 'f8E4M3FN', found 'i8' (S6)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
      : (tensor<1x9x4x16xf16>, tensor<1x9x4x16xf8E4M3FN>, tensor<1x9x4x16xi8>) -> (tensor<1x9x4x16xf16>, tensor<1x4x9xf32>)
  return
}

// -----

func.func @key_alone(%q: tensor<1x9x4x16xf16>, %k: tensor<1x9x4x16xi8>) {
  // expected-error@+1 {{expected value of the element type of key, 'i8', found 'f16' (S6)}}
  %o, %lse = ringlet.attention %q, %k, %q branches [<w = *, r = 1>]
      : (tensor<1x9x4x16xf16>, tensor<1x9x4x16xi8>, tensor<1x9x4x16xf16>) -> (tensor<1x9x4x16xf16>, tensor<1x4x9xf32>)
  return
}

// -----

func.func @result(%q: tensor<1x9x4x16xf16>, %k: tensor<1x9x4x16xi8>) {
  // expected-error@+1 {{result #0 must be ranked tensor of 16-bit float or bfloat16 type or 32-bit float values, but got 'tensor<1x9x4x16xi8>'}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      : (tensor<1x9x4x16xf16>, tensor<1x9x4x16xi8>, tensor<1x9x4x16xi8>) -> (tensor<1x9x4x16xi8>, tensor<1x4x9xf32>)
  return
}

// -----

func.func @wide(%q: tensor<1x9x4x16xf16>, %s: tensor<4xf32>) {
  // expected-error@+1 {{expected key and value of 8 bits beside v_scale, found 'f16' (S6)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] v_scale(%s)
      : (tensor<1x9x4x16xf16>, tensor<1x9x4x16xf16>, tensor<1x9x4x16xf16>, tensor<4xf32>) -> (tensor<1x9x4x16xf16>, tensor<1x4x9xf32>)
  return
}

// -----

// Not of heads of queries.
func.func @heads(%q: tensor<1x9x4x16xf16>, %k: tensor<1x9x2x16xi8>, %s: tensor<4xf32>) {
  // expected-error@+1 {{expected a k_scale for each of the 2 heads of keys, of all sequences or of each, found 'tensor<4xf32>' (S6)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] k_scale(%s)
      : (tensor<1x9x4x16xf16>, tensor<1x9x2x16xi8>, tensor<1x9x2x16xi8>, tensor<4xf32>) -> (tensor<1x9x4x16xf16>, tensor<1x4x9xf32>)
  return
}

// -----

func.func @unknown_heads(%q: tensor<1x9x4x16xf16>, %k: tensor<1x9x2x16xi8>, %s: tensor<?xf32>) {
  // expected-error@+1 {{expected a k_scale for each of the 2 heads of keys, of all sequences or of each, found 'tensor<?xf32>' (S6)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] k_scale(%s)
      : (tensor<1x9x4x16xf16>, tensor<1x9x2x16xi8>, tensor<1x9x2x16xi8>, tensor<?xf32>) -> (tensor<1x9x4x16xf16>, tensor<1x4x9xf32>)
  return
}

// -----

func.func @sequences(%q: tensor<3x9x4x16xf16>, %k: tensor<3x9x2x16xi8>, %s: tensor<2x2xf32>) {
  // expected-error@+1 {{expected a v_scale for each of the 2 heads of keys, of all sequences or of each, found 'tensor<2x2xf32>' (S6)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] v_scale(%s)
      : (tensor<3x9x4x16xf16>, tensor<3x9x2x16xi8>, tensor<3x9x2x16xi8>, tensor<2x2xf32>) -> (tensor<3x9x4x16xf16>, tensor<3x4x9xf32>)
  return
}

// -----

func.func @packed(%q: tensor<9x4x16xf16>, %k: tensor<9x2x16xi8>, %n: tensor<4xi64>, %s: tensor<4x2xf32>) {
  // expected-error@+1 {{expected a v_scale for each of the 2 heads of keys, of all sequences or of each, found 'tensor<4x2xf32>' (S6)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] packed(%n, %n) v_scale(%s)
      : (tensor<9x4x16xf16>, tensor<9x2x16xi8>, tensor<9x2x16xi8>, tensor<4xi64>, tensor<4xi64>, tensor<4x2xf32>) -> (tensor<9x4x16xf16>, tensor<4x9xf32>)
  return
}

// -----

func.func @type(%q: tensor<1x9x4x16xf16>, %k: tensor<1x9x2x16xi8>, %s: tensor<2xf16>) {
  // expected-error@+1 {{operand #3 must be 1D/2D tensor of 32-bit float values, but got 'tensor<2xf16>'}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>] v_scale(%s)
      : (tensor<1x9x4x16xf16>, tensor<1x9x2x16xi8>, tensor<1x9x2x16xi8>, tensor<2xf16>) -> (tensor<1x9x4x16xf16>, tensor<1x4x9xf32>)
  return
}

// -----

#ring = #rlayout.layout<ring = <?, zigzag>>
func.func @ring(%q: tensor<1x?x4x16xf16, #ring>, %k: tensor<1x?x4x16xi8, #ring>) {
  // expected-error@+1 {{expected key and value of element type 'f16' on a ring, found 'i8' (S6)}}
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = *, r = 1>]
      : (tensor<1x?x4x16xf16, #ring>, tensor<1x?x4x16xi8, #ring>, tensor<1x?x4x16xi8, #ring>) -> (tensor<1x?x4x16xf16, #ring>, tensor<1x4x?xf32, #rlayout.layout<ring = <?, zigzag>, axis = 2>>)
  return
}

// -----

func.func @reorder(%k: tensor<1x64x4x16xi8>) {
  // expected-error@+1 {{operand #0 must be ranked tensor of 16-bit float or bfloat16 type or 32-bit float values, but got 'tensor<1x64x4x16xi8>'}}
  %r = ringlet.reorder %k : tensor<1x64x4x16xi8> to tensor<1x64x4x16xi8, #rlayout.layout<order = <residue<2>>>>
  return
}
