//===- invalid-encodings.mlir - Attributes and types of schedules that are refused ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

// Somebody holds a tile in registers.

rtile.func @f() grid(%i: index) {
  // expected-error@+1 {{expected 1 to 32 warps, found 0}}
  %u = builtin.unrealized_conversion_cast %i : index to tensor<64x64xf32, #rtile.fragment<0>>
  rtile.return
}

// -----

// A block has at most 32 warps.

rtile.func @f() grid(%i: index) {
  // expected-error@+1 {{expected 1 to 32 warps, found 33}}
  %u = builtin.unrealized_conversion_cast %i : index to tensor<64x64xf32, #rtile.fragment<33>>
  rtile.return
}

// -----

// Registers hold matrices and their rows.

rtile.func @f() grid(%i: index) {
  // expected-error@+1 {{expected a tile of 1 or 2 axes in registers, found 3}}
  %u = builtin.unrealized_conversion_cast %i : index to tensor<4x4x4xf32, #rtile.fragment<4>>
  rtile.return
}

// -----

// The panels of a slot are of matrices.

rtile.func @f() grid(%i: index) {
  // expected-error@+1 {{expected a tile of 2 axes in a slot, found 1}}
  %u = builtin.unrealized_conversion_cast %i : index to tensor<64xbf16, #rtile.swizzled>
  rtile.return
}

// -----

// They are of 16-bit elements.

rtile.func @f() grid(%i: index) {
  // expected-error@+1 {{expected elements of f16 or bf16 in a slot, found 'f32'}}
  %u = builtin.unrealized_conversion_cast %i : index to tensor<64x64xf32, #rtile.swizzled>
  rtile.return
}

// -----

// What passes through a channel are numbers.

rtile.func @f() grid(%i: index) {
  // expected-error@+1 {{expected a tile of one or two axes of f16, bf16 or f32, found 'tensor<64x64xi32>'}}
  %u = builtin.unrealized_conversion_cast %i : index to !rtile.channel<64x64xi32>
  rtile.return
}

// -----

// It has one axis or two.

rtile.func @f() grid(%i: index) {
  // expected-error@+1 {{expected a tile of one or two axes of f16, bf16 or f32, found 'tensor<4x4x4xbf16>'}}
  %u = builtin.unrealized_conversion_cast %i : index to !rtile.slot<4x4x4xbf16>
  rtile.return
}

// -----

// Values of columns are of one axis.

rtile.func @f() grid(%i: index) {
  // expected-error@+1 {{expected a tile of 1 axis along columns, found 2}}
  %u = builtin.unrealized_conversion_cast %i : index to tensor<64x64xf32, #rtile.fragment<4, along = columns>>
  rtile.return
}

// -----

// They are repeated along columns, not along rows.

rtile.func @f() grid(%i: index) scheduled {
  rtile.role "compute" warps = 4 {
    %v = arith.constant dense<1.0> : tensor<64xf32, #rtile.fragment<4>>
    // expected-error@+1 {{expected values of columns in the registers of the result's warps (#rtile.fragment<W, along = columns>), found 'tensor<64xf32, #rtile.fragment<4>>' for 'tensor<64x64xf32, #rtile.fragment<4>>'}}
    %w = rtile.broadcast %v columns : tensor<64xf32, #rtile.fragment<4>>
        -> tensor<64x64xf32, #rtile.fragment<4>>
  }
  rtile.return
}

// -----

// Sums are of f32.

rtile.func @f() grid(%i: index) {
  // expected-error@+1 {{expected a tile of two axes of f32, found 'tensor<64x64xbf16>'}}
  %u = builtin.unrealized_conversion_cast %i : index to !rtile.pending<tensor<64x64xbf16>>
  rtile.return
}

// -----

// Their shape is known.

rtile.func @f() grid(%i: index) {
  // expected-error@+1 {{expected a tile of two axes of f32, found 'tensor<?x64xf32>'}}
  %u = builtin.unrealized_conversion_cast %i : index to !rtile.pending<tensor<?x64xf32>>
  rtile.return
}

// -----

// A walk says how blocks get their points.

// expected-error@+1 {{expected each, strided or dynamic, found 'all'}}
#walk = #rtile.walk<all>

// -----

// An order has every axis once.

// expected-error@+1 {{expected an order of the axes 0 to 1, found axis 2}}
#walk = #rtile.walk<each, order = [0, 2]>

// -----

// No axis comes twice.

// expected-error@+1 {{expected an order of the axes 0 to 1, found axis 0}}
#walk = #rtile.walk<each, order = [0, 0]>

// -----

// A grid has at most four axes.

// expected-error@+1 {{expected reversed axes from 0 to 3, found 4}}
#walk = #rtile.walk<each, reversed = [4]>

// -----

// Sections have points.

// expected-error@+1 {{expected a section of at least 0, found -1}}
#walk = #rtile.walk<each, section = -1>

// -----

// Rows of a section are counted against a length.

// expected-error@+1 {{expected section, rows and length = [argument, axis] together, found section = 1, rows = 64 and 0 numbers for length}}
#walk = #rtile.walk<each, section = 1, rows = 64>

// -----

// expected-error@+1 {{expected section, rows and length = [argument, axis] together, found section = 0, rows = 64 and 2 numbers for length}}
#walk = #rtile.walk<each, rows = 64, length = [0, 0]>

// -----

// So many points are those of a section.

// expected-error@+1 {{expected per_block of at least 0, and 0 without section, found 6}}
#walk = #rtile.walk<each, per_block = 6>

// -----

// Each part of a walk is given once.

// expected-error@+1 {{expected 'section' once}}
#walk = #rtile.walk<each, section = 1, section = 2>

// -----

// It has no other parts.

// expected-error@+1 {{expected order, reversed, section, rows, length or per_block, found 'stride'}}
#walk = #rtile.walk<each, stride = 1>

// -----

// Columns are an axis behind the rows.

// expected-error@+1 {{expected a buffer, its rows and behind them its columns, found 0, 1 and 1}}
#map = #rtile.map<buffer = 0, rows = 1, columns = 1, fixed = [], rate = 1, box = [64, 64]>

// -----

// Rows have a distance.

// expected-error@+1 {{expected a rate of at least 1, found 0}}
#map = #rtile.map<buffer = 0, rows = 0, columns = 1, fixed = [], rate = 0, box = [64, 64]>

// -----

// A tensor map has at most five axes; a rate needs one.

// expected-error@+1 {{expected at most 5 axes, found 6}}
#map = #rtile.map<buffer = 0, rows = 0, columns = 4, fixed = [1, 2, 3], rate = 2, box = [64, 64]>

// -----

// A box has at most 256 rows.

// expected-error@+1 {{expected a box of 1 to 256 rows and 1 to 64 columns}}
#map = #rtile.map<buffer = 0, rows = 0, columns = 1, fixed = [], rate = 1, box = [257, 64]>

// -----

// Its columns are those of one panel.

// expected-error@+1 {{expected a box of 1 to 256 rows and 1 to 64 columns}}
#map = #rtile.map<buffer = 0, rows = 0, columns = 1, fixed = [], rate = 1, box = [64, 128]>

// -----

// Without a rate there is one residue.

// expected-error@+1 {{expected residues = all at rate 1, found residues = shorter}}
#map = #rtile.map<buffer = 0, rows = 0, columns = 1, fixed = [], rate = 1, box = [64, 64], residues = shorter>

// -----

// Recipes have names. Which ones there are is not the dialect's business.

// expected-error@+1 {{expected the name of a recipe, found an empty one}}
rtile.func @f() grid(%i: index) recipe = "" {
  rtile.return
}

// -----

// Stages and clusters are counted from 0, and belong to what computes.

// expected-error@+1 {{expected a stage and a cluster of at least 0, found -1 and 0}}
#stage = #rtile.stage<-1, cluster = 0>

// -----

rtile.func @f() grid(%i: index) {
  // expected-error@+1 {{expected #rtile.stage as rtile.stage, found 1 : i64}}
  %c0 = arith.constant {rtile.stage = 1 : i64} 0 : index
  rtile.return
}

// -----

rtile.func @f() grid(%i: index) {
  // expected-error@+1 {{expected rtile.stage of operations that compute, found it of the end of a block}}
  rtile.return {rtile.stage = #rtile.stage<0, cluster = 0>}
}

// -----

// Only loops have an order.

rtile.func @f() grid(%i: index) {
  // expected-error@+1 {{expected rtile.unordered of an scf.for, found it of another operation}}
  %c0 = arith.constant {rtile.unordered} 0 : index
  rtile.return
}

// -----

rtile.func @f() grid(%i: index) {
  // expected-error@+1 {{expected rtile.unordered without a value, found 1 : i64}}
  scf.for %j = %i to %i step %i {
  } {rtile.unordered = 1 : i64}
  rtile.return
}

// -----

rtile.func @beside_of_a_number() grid(%i: index) {
  // expected-error@+1 {{expected rtile.beside of a kernel, found it of another operation}}
  %c0 = arith.constant {rtile.beside} 0 : index
  rtile.return
}

// -----

// expected-error@+1 {{expected rtile.beside without a value, found 1 : i64}}
rtile.func @beside_with_a_value() grid(%i: index) attributes {rtile.beside = 1 : i64} {
  rtile.return
}
