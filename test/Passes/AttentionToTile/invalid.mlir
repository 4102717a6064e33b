//===- invalid.mlir - What has no lowering yet ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics --ringlet-to-rtile

// What has no lowering is refused with the rule's number.

func.func @pattern_order(%q: tensor<1x?x2x16xf32>) -> tensor<1x?x2x16xf32> {
  // expected-error@+1 {{expected a pattern order with a volume (O2), found residue<4>}}
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] pattern_order = <residue<4>>
      : (tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>)
      -> (tensor<1x?x2x16xf32>, tensor<1x2x?xf32>)
  return %o : tensor<1x?x2x16xf32>
}

// -----

#ring = #rlayout.layout<ring = #rlayout.ring<4, contiguous>>
#ring2 = #rlayout.layout<ring = #rlayout.ring<4, contiguous>, axis = 2>

func.func @ring(%q: tensor<1x64x2x16xf32, #ring>) -> tensor<1x64x2x16xf32, #ring> {
  // expected-error@+1 {{expected no ring: run ringlet-partition-ring first (G1)}}
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      : (tensor<1x64x2x16xf32, #ring>, tensor<1x64x2x16xf32, #ring>, tensor<1x64x2x16xf32, #ring>)
      -> (tensor<1x64x2x16xf32, #ring>, tensor<1x2x64xf32, #ring2>)
  return %o : tensor<1x64x2x16xf32, #ring>
}

// -----

// The decision of an earlier pass is missing.

func.func @no_tilings(%q: tensor<1x64x2x16xf32>) -> tensor<1x64x2x16xf32> {
  // expected-error@+1 {{expected tilings: run ringlet-choose-tiling first}}
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>)
      -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x16xf32>
}

// -----

// Other dialects are refused by name.

func.func @foreign(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error@+1 {{expected an operation of ringlet, or arith.constant, in a function to compile, found arith.addf}}
  %y = arith.addf %x, %x : tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// expected-error@+1 {{expected arguments and results of ranked tensor type, found 'i32'}}
func.func @scalar(%x: i32, %y: tensor<4xf32>) -> tensor<4xf32> {
  return %y : tensor<4xf32>
}

// -----

// Numbers whose sums with positions could pass 64 bits.

func.func @dilation(%q: tensor<1x8x2x16xf32>) -> tensor<1x8x2x16xf32> {
  // expected-error@+1 {{expected a dilation of at most 2^40, found 1099511627777 (B1)}}
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>, <w = *, r = 1099511627777>]
      : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>)
      -> (tensor<1x8x2x16xf32>, tensor<1x2x8xf32>)
  return %o : tensor<1x8x2x16xf32>
}

// -----

func.func @offset_range(%q: tensor<1x8x2x16xf32>) -> tensor<1x8x2x16xf32> {
  %p = arith.constant dense<-1152921504606846977> : tensor<i64>
  // expected-error@+1 {{expected q_offset within +-2^60, found -1152921504606846977 (S1)}}
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] q_offset(%p)
      : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>, tensor<i64>)
      -> (tensor<1x8x2x16xf32>, tensor<1x2x8xf32>)
  return %o : tensor<1x8x2x16xf32>
}

// -----

func.func @offsets_range(%q: tensor<2x8x2x16xf32>) -> tensor<2x8x2x16xf32> {
  %p = arith.constant dense<[0, 1152921504606846977]> : tensor<2xi64>
  // expected-error@+1 {{expected q_offset within +-2^60, found 1152921504606846977 (S1)}}
  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>] q_offset(%p)
      : (tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>, tensor<2x8x2x16xf32>, tensor<2xi64>)
      -> (tensor<2x8x2x16xf32>, tensor<2x2x8xf32>)
  return %o : tensor<2x8x2x16xf32>
}

// -----

func.func @constant_type(%q: tensor<1x8x2x16xf32>) -> tensor<1x8x2x16xf32> {
  // expected-error@+1 {{expected a constant tensor of i64, i1, f16, bf16 or f32, found 'tensor<2xf64>'}}
  %s = arith.constant dense<1.0> : tensor<2xf64>
  return %q : tensor<1x8x2x16xf32>
}

// -----

func.func @constant_size(%q: tensor<1x8x2x16xf32>) -> tensor<1x8x2x16xf32> {
  // expected-error@+1 {{expected a constant of at most 67108864 bytes, found one of 1099511627776; larger tensors are arguments}}
  %s = arith.constant dense<true> : tensor<1048576x1048576xi1>
  return %q : tensor<1x8x2x16xf32>
}

// -----

func.func @s1_resource(%x: tensor<1x8x1x8xf32>) -> tensor<1x8x1x8xf32> {
  // expected-error @below {{expected a constant written as dense<...>, found dense_resource<place> : tensor<i64>}}
  %p = arith.constant dense_resource<place> : tensor<i64>
  %o, %l = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] q_offset(%p)
      : (tensor<1x8x1x8xf32>, tensor<1x8x1x8xf32>, tensor<1x8x1x8xf32>, tensor<i64>)
      -> (tensor<1x8x1x8xf32>, tensor<1x1x8xf32>)
  return %o : tensor<1x8x1x8xf32>
}

{-#
  dialect_resources: {
    builtin: {
      place: "0x080000000300000000000000"
    }
  }
#-}

// -----

// A kernel with a recipe adds no outputs up.

func.func @recipe_of_sum(%x: tensor<1x8x1x16xf16>) -> tensor<1x8x1x16xf16> {
  // expected-error @below {{expected recipe fa_fwd_lazy only where branches have one softmax or heads of their own, found a chain of 2 under mix = sum (R2)}}
  %o, %l = ringlet.attention %x, %x, %x branches [<w = 4, r = 2>, <w = *, r = 1>] mix = sum
      tilings = [#ringlet.tiling<query = 16, key = 16, recipe = "fa_fwd_lazy", redo = <query = 16, key = 16>>, #ringlet.tiling<query = 16, key = 16>]
      : (tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>, tensor<1x8x1x16xf16>)
      -> (tensor<1x8x1x16xf16>, tensor<2x1x1x8xf32>)
  return %x : tensor<1x8x1x16xf16>
}
