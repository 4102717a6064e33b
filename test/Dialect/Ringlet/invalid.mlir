//===- invalid.mlir - Inputs and branches that are refused ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

// section 1: shapes and types.

func.func @s1_query_rank(%q: tensor<64x16xf32>, %k: tensor<64x16xf32>, %v: tensor<64x16xf32>) {
  // expected-error@+1 {{expected query of rank 4 ([batch, sequence, head, dim]), found rank 2 (section 1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<64x16xf32>, tensor<64x16xf32>, tensor<64x16xf32>) -> (tensor<64x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_query_scalar(%q: tensor<f32>, %k: tensor<f32>, %v: tensor<f32>) {
  // expected-error@+1 {{expected query of rank 4 ([batch, sequence, head, dim]), found rank 0 (section 1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_key_rank(%q: tensor<1x64x4x16xf32>, %k: tensor<64x4x16xf32>, %v: tensor<64x4x16xf32>) {
  // expected-error@+1 {{expected key of rank 4 ([batch, sequence, head, dim]), found rank 3 (section 1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<64x4x16xf32>, tensor<64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_packed_rank(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>, %n: tensor<2xi64>) {
  // expected-error@+1 {{expected query of rank 3 ([total, head, dim]), found rank 4 (section 1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] packed(%n, %n)
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<2xi64>, tensor<2xi64>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_element_type(%q: tensor<1x64x4x16xf64>, %k: tensor<1x64x4x16xf64>, %v: tensor<1x64x4x16xf64>) {
  // expected-error@+1 {{operand #0 must be ranked tensor of 16-bit float or bfloat16 type or 32-bit float values}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf64>, tensor<1x64x4x16xf64>, tensor<1x64x4x16xf64>) -> (tensor<1x64x4x16xf64>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_unranked(%q: tensor<*xf32>, %k: tensor<*xf32>, %v: tensor<*xf32>) {
  // expected-error@+1 {{operand #0 must be ranked tensor}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<*xf32>, tensor<*xf32>, tensor<*xf32>) -> (tensor<*xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_mixed_types(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xbf16>, %v: tensor<1x64x4x16xbf16>) {
  // expected-error@+1 {{expected key of element type 'f32', found 'bf16' (section 1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xbf16>, tensor<1x64x4x16xbf16>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_dynamic_heads(%q: tensor<1x64x?x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected static numbers of heads and head dimensions, found a dynamic one (section 1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x?x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x?x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_dynamic_head_dim(%q: tensor<1x64x4x?xf32>, %k: tensor<1x64x4x?xf32>, %v: tensor<1x64x4x?xf32>) {
  // expected-error@+1 {{expected static numbers of heads and head dimensions, found a dynamic one (section 1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x?xf32>, tensor<1x64x4x?xf32>, tensor<1x64x4x?xf32>) -> (tensor<1x64x4x?xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_no_head(%q: tensor<1x64x0x16xf32>, %k: tensor<1x64x0x16xf32>, %v: tensor<1x64x0x16xf32>) {
  // expected-error@+1 {{expected at least one head and a head dimension of at least 1 (section 1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x0x16xf32>, tensor<1x64x0x16xf32>, tensor<1x64x0x16xf32>) -> (tensor<1x64x0x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_no_head_dim(%q: tensor<1x64x4x0xf32>, %k: tensor<1x64x4x0xf32>, %v: tensor<1x64x4x0xf32>) {
  // expected-error@+1 {{expected at least one head and a head dimension of at least 1 (section 1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x0xf32>, tensor<1x64x4x0xf32>, tensor<1x64x4x0xf32>) -> (tensor<1x64x4x0xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_heads_do_not_divide(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x3x16xf32>, %v: tensor<1x64x3x16xf32>) {
  // expected-error@+1 {{expected a number of query heads that 3 key heads divide, found 4 (section 1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x3x16xf32>, tensor<1x64x3x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_batch(%q: tensor<1x64x4x16xf32>, %k: tensor<2x64x4x16xf32>, %v: tensor<2x64x4x16xf32>) {
  // expected-error@+1 {{expected key of [1, 64, 4, 16], found [2, 64, 4, 16] (section 1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<2x64x4x16xf32>, tensor<2x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_key_dim(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x32xf32>, %v: tensor<1x64x4x32xf32>) {
  // expected-error@+1 {{expected key of [1, 64, 4, 16], found [1, 64, 4, 32] (section 1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x32xf32>, tensor<1x64x4x32xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_value_length(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x63x4x16xf32>) {
  // expected-error@+1 {{expected value of [1, 64, 4, 16], found [1, 63, 4, 16] (section 1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x63x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

// S1 and S2: positions and lengths.

func.func @s1_q_offset_rank(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>, %p: tensor<1x1xi64>) {
  // expected-error@+1 {{expected q_offset of type tensor<i64> or tensor<Bxi64>, found 'tensor<1x1xi64>' (S1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] q_offset(%p)
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x1xi64>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_q_offset_unranked(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>, %p: tensor<*xi64>) {
  // expected-error@+1 {{expected q_offset of type tensor<i64> or tensor<Bxi64>, found 'tensor<*xi64>' (S1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] q_offset(%p)
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<*xi64>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s1_q_offset_count(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>, %p: tensor<3xi64>) {
  // expected-error@+1 {{expected one q_offset for each of the 1 sequences, found 3 (S1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] q_offset(%p)
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<3xi64>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s2_packed_and_lengths(%q: tensor<64x4x16xf32>, %k: tensor<64x4x16xf32>, %v: tensor<64x4x16xf32>, %n: tensor<2xi64>) {
  // expected-error@+1 {{expected packed or lengths, not both (S2)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] packed(%n, %n) lengths(%n, %n)
      : (tensor<64x4x16xf32>, tensor<64x4x16xf32>, tensor<64x4x16xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> (tensor<64x4x16xf32>, tensor<4x64xf32>)
  return
}

// -----

func.func @s2_lengths_count(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>, %n: tensor<3xi64>) {
  // expected-error@+1 {{expected one length for each of the 1 sequences, found 3 (S2)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] lengths(%n, %n)
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<3xi64>, tensor<3xi64>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @s2_starts_differ(%q: tensor<64x4x16xf32>, %k: tensor<64x4x16xf32>, %v: tensor<64x4x16xf32>, %n: tensor<3xi64>, %m: tensor<2xi64>) {
  // expected-error@+1 {{expected as many starts of queries as of keys, found 3 and 2 (S2)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] packed(%n, %m)
      : (tensor<64x4x16xf32>, tensor<64x4x16xf32>, tensor<64x4x16xf32>, tensor<3xi64>, tensor<2xi64>) -> (tensor<64x4x16xf32>, tensor<4x64xf32>)
  return
}

// -----

func.func @s2_no_starts(%q: tensor<64x4x16xf32>, %k: tensor<64x4x16xf32>, %v: tensor<64x4x16xf32>, %n: tensor<0xi64>) {
  // expected-error@+1 {{expected one start more than there are sequences, found none (S2)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] packed(%n, %n)
      : (tensor<64x4x16xf32>, tensor<64x4x16xf32>, tensor<64x4x16xf32>, tensor<0xi64>, tensor<0xi64>) -> (tensor<64x4x16xf32>, tensor<4x64xf32>)
  return
}

// -----

// Only the generic form can give the lengths of queries alone.

func.func @s2_query_lengths_alone(%q: tensor<1x64x4x16xf32>, %n: tensor<1xi64>) {
  // expected-error@+1 {{expected lengths of queries and keys together (S2)}}
  %o, %lse = "ringlet.attention"(%q, %q, %q, %n) <{branches = [#ringlet.branch<w = 8, r = 1>], operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1xi64>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

// Section 2: branches.

func.func @no_branch(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected at least one branch (section 2)}}
  %o, %lse = ringlet.attention %q, %k, %v branches []
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b1_no_w(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected both w and r in a branch (B1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b1_no_r(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected both w and r in a branch (B1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b1_zero_w(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected a length or rate of at least 1, found 0 (B1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 0, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b1_unbounded_is_not_a_number(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected a length or rate of at least 1, found -1 (B1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = -1, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b1_runtime_is_not_a_number(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected a length or rate of at least 1, found -9223372036854775808 (B1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = -9223372036854775808, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b1_zero_r(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected a length or rate of at least 1, found 0 (B1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 0>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b1_unbounded_r(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected integer value}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = *>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b1_r_above_w(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected a dilation of at most the segment length 8, found 9 (B1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 9>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b1_w_of_2_to_the_63(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{integer value too large}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 9223372036854775808, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @w_twice(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected 'w' once}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1, w = 16>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @unknown_field(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected w, r, offset, by, heads or padding, found 'rate'}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, rate = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b1_size_missing(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected one size for each of the 1 '?' in branches, found 0 (B1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = ?, r = 1>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b1_size_left_over(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>, %n: tensor<i64>) {
  // expected-error@+1 {{expected one size for each of the 0 '?' in branches, found 1 (B1)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] sizes(%n)
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<i64>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b2_unknown_rule(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected one of [modulo, block, constant] for offset rule of a branch (B2), got: random}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1, offset = random>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b2_block_with_number(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected '>'}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1, offset = block<3>>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @heads_empty(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected a non-empty range of heads, found [2, 2) (section 2)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1, heads = [2, 2]>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @heads_negative(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected a non-empty range of heads, found [-1, 2) (section 2)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1, heads = [-1, 2]>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @heads_sentinel(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected a non-empty range of heads, found [0, -1) (section 2)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1, heads = [0, -1]>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @heads_beyond(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected heads below 4, found [2, 5) (section 2)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1, heads = [2, 5]>]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

// B4 to B6 and O2: windows and masks.

func.func @b4_window_side(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected window sides of at least 0, or -1 for no limit, found -2 (B4)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] window = [4, -2]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b4_window_count(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected two window sides, left and right, found 1 (B4)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] window = [4]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @clause_twice(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{`causal` clause can appear at most once}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] causal causal
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b5_reach_count(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected one reach for each of the 2 axes, found 1 (B5)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] grid_window = <grid = [8, 8], reach = [1]>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b5_negative_reach(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected positive sides and reaches of at least 0, found side 8 with reach -1 (B5)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] grid_window = <grid = [8, 8], reach = [1, -1]>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b5_volume(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected a grid of less than 2^63 cells (B5)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] grid_window = <grid = [4294967296, 4294967296], reach = [1, 1]>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b5_axes(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected a grid of 1 to 8 axes, found 9 (B5)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] grid_window = <grid = [1, 1, 1, 1, 1, 1, 1, 1, 1], reach = [1]>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b6_block_side(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>, %m: tensor<4x4xi1>) {
  // expected-error@+1 {{expected positive sides of mask blocks, found 0 (B6)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] block_mask(%m) of [0, 16]
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<4x4xi1>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b6_block_size_alone(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected block_mask and its block size together (B6)}}
  %o, %lse = "ringlet.attention"(%q, %q, %q) <{branches = [#ringlet.branch<w = 8, r = 1>], block_size = array<i64: 16, 16>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>}>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @b6_block_mask_alone(%q: tensor<1x64x4x16xf32>, %m: tensor<4x4xi1>) {
  // expected-error@+1 {{expected block_mask and its block size together (B6)}}
  %o, %lse = "ringlet.attention"(%q, %q, %q, %m) <{branches = [#ringlet.branch<w = 8, r = 1>], operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0>}>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<4x4xi1>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @o2_pattern_order_too_small(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected a pattern order whose volume exceeds every position (O2), found volume 16}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] pattern_order = <hilbert, grid = [4, 4]>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @o2_pattern_order_without_volume(%q: tensor<1x64x4x16xf32>, %k: tensor<1x64x4x16xf32>, %v: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected a pattern order with a volume (O2)}}
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = 8, r = 1>] pattern_order = <residue<4>>
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @no_clause(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected one of the clauses causal, window, grid_window, pattern_order, q_offset, lengths, packed, pages, key_begins, k_scale, v_scale, sizes, sink, block_mask, scale, softcap, precision, mix, output_scale, combine, tilings, split_kv or the types behind a colon, found 'casual'; did you mean causal?}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] scale = 0.5 casual
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @no_clause_like_it(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{or the types behind a colon, found 'dropout'}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] dropout = 0.5
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}

// -----

func.func @softcap_that_f32_has_not(%q: tensor<1x64x4x16xf32>) {
  // expected-error@+1 {{expected softcap from 1e-38 to 1e38, found 1.000000e-300 (R4)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>] softcap = 1.0e-300
      : (tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>, tensor<1x64x4x16xf32>) -> (tensor<1x64x4x16xf32>, tensor<1x4x64xf32>)
  return
}
