//===- verify-encodings.mlir - Who may touch an order ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rlayout-verify-encodings --split-input-file --verify-diagnostics

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
#s = #rlayout.layout<order = #rlayout.order<snake, grid = [2, 2]>>
#h2 = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>, axis = 2>
#row = affine_map<(b, s, e) -> (b, s, e)>
#feature = affine_map<(b, s, e) -> (e)>
!t = tensor<1x4x8xf32>
!h = tensor<1x4x8xf32, #h>

// Operations that treat tokens alike, signatures, and tensors without an order
// in operations that do not.

func.func private @callee(!h) -> !h
func.func @accepted(%x: !h, %gain: tensor<8xf32>, %y: !t) -> (!h, tensor<1x2x8xf32>) {
  %c = arith.constant dense<2.0> : !h
  %a = arith.mulf %x, %c : !h
  %empty = tensor.empty() : !h
  %scaled = linalg.generic {indexing_maps = [#row, #feature, #row], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %gain : !h, tensor<8xf32>) outs(%empty : !h) {
  ^bb0(%v: f32, %g: f32, %o: f32):
    %p = arith.mulf %v, %g : f32
    linalg.yield %p : f32
  } -> !h
  %called = call @callee(%scaled) : (!h) -> !h
  %first = tensor.extract_slice %y[0, 0, 0] [1, 2, 8] [1, 1, 1] : !t to tensor<1x2x8xf32>
  return %called, %first : !h, tensor<1x2x8xf32>
}

// -----

// Linear order is linear order, however it is written: without an encoding, with
// one that names no order, or by an order that leaves every token in its place.

#n = #rlayout.layout<>
#l = #rlayout.layout<order = #rlayout.order<linear>>
#r = #rlayout.layout<order = #rlayout.order<residue<1>>>
!t = tensor<1x4x2x8xf32>
!n = tensor<1x4x2x8xf32, #n>
!l = tensor<1x4x2x8xf32, #l>
!r = tensor<1x4x2x8xf32, #r>
func.func @linear(%t: !t, %n: !n, %l: !l, %r: !r) -> tensor<1x?x2x8xf32, #n> {
  %o0, %s0 = ringlet.attention %t, %n, %l branches [<w = *, r = 1>] : (!t, !n, !l) -> (!r, tensor<1x2x4xf32>)
  %o1, %s1 = ringlet.attention %n, %l, %r branches [<w = *, r = 1>] : (!n, !l, !r) -> (!t, tensor<1x2x4xf32>)
  %o2, %s2 = ringlet.attention %l, %r, %t branches [<w = *, r = 1>] : (!l, !r, !t) -> (!n, tensor<1x2x4xf32>)
  %cast = tensor.cast %o2 : !n to tensor<1x?x2x8xf32, #n>
  return %cast : tensor<1x?x2x8xf32, #n>
}

// -----

// A cast drops the order without a word.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @cast(%x: tensor<1x4x8xf32, #h>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{'tensor.cast' op expected tensors in linear order, found operand #0 in #rlayout.order<hilbert, grid = [2, 2]>: the operation may take slots for tokens; ringlet.reorder it before (O1)}}
  %y = tensor.cast %x : tensor<1x4x8xf32, #h> to tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// -----

// A slice keeps one that has become false.

#c = #rlayout.layout<order = #rlayout.order<snake, grid = [2, 2], chunk = 4>>
func.func @slice(%x: tensor<1x8x8xf32, #c>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{'tensor.extract_slice' op expected tensors in linear order, found operand #0 in}}
  %y = tensor.extract_slice %x[0, 0, 0] [1, 4, 8] [1, 2, 1] : tensor<1x8x8xf32, #c> to tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// -----

// A region's operation, whose result has an order.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @region(%x: tensor<1x4x8xf32, #h>, %c: i1) -> tensor<1x4x8xf32, #h> {
  // expected-error@+1 {{'scf.if' op expected tensors in linear order, found result #0 in}}
  %y = scf.if %c -> tensor<1x4x8xf32, #h> {
    %e = math.exp %x : tensor<1x4x8xf32, #h>
    scf.yield %e : tensor<1x4x8xf32, #h>
  } else {
    scf.yield %x : tensor<1x4x8xf32, #h>
  }
  return %y : tensor<1x4x8xf32, #h>
}

// -----

// A reduction over the axis that has the order.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @reduction(%x: tensor<1x4x8xf32, #h>, %zero: tensor<1x8xf32>) -> tensor<1x8xf32> {
  // expected-error@+1 {{'linalg.reduce' op expected axis 1 of operand #0 in linear order, since the operation does not treat its tokens alike, found #rlayout.order<hilbert, grid = [2, 2]>; ringlet.reorder it before (O1)}}
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<1x4x8xf32, #h>) outs(%zero : tensor<1x8xf32>) dimensions = [1]
  return %sum : tensor<1x8xf32>
}

// -----

// Two orders in one operation, of which upstream checks nothing.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @two_orders(%x: tensor<1x4x8xf32, #h>, %out: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  // expected-error@+1 {{'linalg.exp' op expected axis 1 of operand #1 in the order of operand #0, #rlayout.order<hilbert, grid = [2, 2]>, found linear order (O1)}}
  %y = linalg.exp ins(%x : tensor<1x4x8xf32, #h>) outs(%out : tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %y : tensor<1x4x8xf32>
}

// -----

// A transposition that leaves the order on the axis where it was.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @wrong_axis(%x: tensor<1x4x4xf32, #h>, %out: tensor<1x4x4xf32, #h>) -> tensor<1x4x4xf32, #h> {
  // expected-error@+1 {{'linalg.transpose' op expected axis}}
  %y = linalg.transpose ins(%x : tensor<1x4x4xf32, #h>) outs(%out : tensor<1x4x4xf32, #h>) permutation = [0, 2, 1]
  return %y : tensor<1x4x4xf32, #h>
}

// -----

// A reshape that joins tokens with the batch.

#c0 = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @joined(%x: tensor<2x4x8xf32, #c0>) -> tensor<8x8xf32> {
  // expected-error@+1 {{'tensor.collapse_shape' op expected axis 1 of operand #0 in linear order}}
  %y = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x4x8xf32, #c0> into tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// The heads of a query have no order, nor have the lengths of sequences.

#l = #rlayout.layout<order = #rlayout.order<residue<2>>, axis = 0>
!x = tensor<2x4x1x8xf32>
func.func @lengths(%x: !x, %n: tensor<2xi64, #l>, %m: tensor<2xi64>) -> !x {
  // expected-error@+1 {{'ringlet.attention' op expected axis 0 of operand #3 in linear order}}
  %o, %lse = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] lengths(%n, %m)
      : (!x, !x, !x, tensor<2xi64, #l>, tensor<2xi64>) -> (!x, tensor<2x1x4xf32>)
  return %o : !x
}
