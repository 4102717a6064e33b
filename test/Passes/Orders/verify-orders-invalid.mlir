//===- verify-orders-invalid.mlir - Functions that cannot be run -===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// REQUIRES: thorough
// RUN: ringlet-opt %s --verify-orders --canonicalize --split-input-file \
// RUN:   --verify-diagnostics

// A pass whose work cannot be judged has not been judged: it fails.
func.func @unknown(%x: tensor<4xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{'tensor.extract_slice' op is not an operation that can be evaluated (to verify 'unknown' before canonicalize)}}
  %y = tensor.extract_slice %x[1] [2] [1] : tensor<4xf32> to tensor<2xf32>
  %dead = arith.constant 1 : i32
  return %y : tensor<2xf32>
}

// -----

// expected-error@+1 {{expected arguments that are numbers or tensors of numbers, found index (to verify 'argument' before canonicalize)}}
func.func @argument(%n: index) {
  %dead = arith.constant 1 : i32
  return
}

// -----

// expected-error@+1 {{expected a body of one block to evaluate (to verify 'blocks' before canonicalize)}}
func.func @blocks(%x: f32) -> f32 {
  return %x : f32
^unreachable(%y: f32):
  return %y : f32
}

// -----

func.func @long(%q: tensor<1x4096x8x64xf32>) -> tensor<1x4096x8x64xf32> {
  %dead = arith.constant 1 : i32
  // expected-error@+1 {{expected at most 2^28 steps of a graph to evaluate, found 8589934592; take shorter sequences, or dynamic ones, which get short lengths (to verify 'long' before canonicalize)}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      : (tensor<1x4096x8x64xf32>, tensor<1x4096x8x64xf32>,
         tensor<1x4096x8x64xf32>)
      -> (tensor<1x4096x8x64xf32>, tensor<1x8x4096xf32>)
  return %o : tensor<1x4096x8x64xf32>
}

// -----

// Nothing is reserved for what would not fit.
func.func @wide(%x: f32) -> tensor<65536x65536xf32> {
  %dead = arith.constant 1 : i32
  // expected-error@+1 {{expected at most 2^24 elements in the tensors of a graph to evaluate, found 4294967298; take shorter sequences, or dynamic ones, which get short lengths (to verify 'wide' before canonicalize)}}
  %y = tensor.empty() : tensor<65536x65536xf32>
  return %y : tensor<65536x65536xf32>
}

// -----

// expected-error@+1 {{expected arguments of at most 2^24 elements together to draw, found one of shape [1, 65536, 8, 64] (to verify 'large' before canonicalize)}}
func.func @large(%q: tensor<1x65536x8x64xf32>) {
  %dead = arith.constant 1 : i32
  return
}

// -----

// No inputs are found that an attention takes: its positions are beyond its
// grid whatever the sizes.
func.func @positions(%q: tensor<1x12x1x4xf32>) -> tensor<1x12x1x4xf32> {
  %dead = arith.constant 1 : i32
  // expected-error@+1 {{expected every position on the grid [2, 4]}}
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      grid_window = <grid = [2, 4], reach = [1, 1]>
      : (tensor<1x12x1x4xf32>, tensor<1x12x1x4xf32>, tensor<1x12x1x4xf32>)
      -> (tensor<1x12x1x4xf32>, tensor<1x1x12xf32>)
  return %o : tensor<1x12x1x4xf32>
}
