//===- propagate-orders-stay.mlir - Where reorders stay ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Nothing of this file changes, and nothing is remarked.

// RUN: ringlet-opt %s --split-input-file > %t.before
// RUN: ringlet-opt %s --split-input-file --ringlet-propagate-orders \
// RUN:   --remarks-filter='.*' --remark-format=emitRemark > %t.after 2> %t.remarks
// RUN: diff %t.before %t.after
// RUN: count 0 < %t.remarks

// An operation without the interface may take slots for tokens.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @unknown_operation(%x: tensor<1x4x8xf32, #h>) -> tensor<1x?x8xf32, #h> {
  %linear = ringlet.reorder %x : tensor<1x4x8xf32, #h> to tensor<1x4x8xf32>
  %cast = tensor.cast %linear : tensor<1x4x8xf32> to tensor<1x?x8xf32>
  %r = ringlet.reorder %cast : tensor<1x?x8xf32> to tensor<1x?x8xf32, #h>
  return %r : tensor<1x?x8xf32, #h>
}

// -----

// A signature stays, of the function itself and of one that is called.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func private @callee(tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
func.func @call(%x: tensor<1x4x8xf32, #h>) -> tensor<1x4x8xf32, #h> {
  %linear = ringlet.reorder %x : tensor<1x4x8xf32, #h> to tensor<1x4x8xf32>
  %y = call @callee(%linear) : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %r = ringlet.reorder %y : tensor<1x4x8xf32> to tensor<1x4x8xf32, #h>
  return %r : tensor<1x4x8xf32, #h>
}

// -----

// Padding that counts stands behind keys in linear order (B7).

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @padding(%q: tensor<1x4x2x8xf32, #h>) -> tensor<1x4x2x8xf32, #h> {
  %linear = ringlet.reorder %q : tensor<1x4x2x8xf32, #h> to tensor<1x4x2x8xf32>
  %o, %lse = ringlet.attention %linear, %linear, %linear
      branches [<w = 3, r = 1, padding = counted>]
      : (tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>, tensor<1x4x2x8xf32>)
      -> (tensor<1x4x2x8xf32>, tensor<1x2x4xf32>)
  %r = ringlet.reorder %o : tensor<1x4x2x8xf32> to tensor<1x4x2x8xf32, #h>
  return %r : tensor<1x4x2x8xf32, #h>
}

// -----

// What another block reads stays.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @other_block(%x: tensor<1x4x8xf32, #h>, %condition: i1) -> tensor<1x4x8xf32, #h> {
  %linear = ringlet.reorder %x : tensor<1x4x8xf32, #h> to tensor<1x4x8xf32>
  %y = scf.if %condition -> tensor<1x4x8xf32> {
    %e = math.exp %linear : tensor<1x4x8xf32>
    scf.yield %e : tensor<1x4x8xf32>
  } else {
    scf.yield %linear : tensor<1x4x8xf32>
  }
  %r = ringlet.reorder %y : tensor<1x4x8xf32> to tensor<1x4x8xf32, #h>
  return %r : tensor<1x4x8xf32, #h>
}

// -----

// No gain, no move: neither to the result nor to the argument.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @ties(%x: tensor<1x4x8xf32>, %y: tensor<1x4x8xf32>)
    -> (tensor<1x4x8xf32, #h>, tensor<1x4x8xf32, #h>) {
  %a = ringlet.reorder %x : tensor<1x4x8xf32> to tensor<1x4x8xf32, #h>
  %b = math.exp %a : tensor<1x4x8xf32, #h>
  %c = math.exp %y : tensor<1x4x8xf32>
  %d = ringlet.reorder %c : tensor<1x4x8xf32> to tensor<1x4x8xf32, #h>
  return %b, %d : tensor<1x4x8xf32, #h>, tensor<1x4x8xf32, #h>
}

// -----

// One reorder would become two: of both operands, or for each of two readers.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @two_for_one(%x: tensor<1x4x8xf32>, %y: tensor<1x4x8xf32>)
    -> (tensor<1x4x8xf32, #h>, tensor<1x4x8xf32, #h>, tensor<1x4x8xf32, #h>) {
  %sum = arith.addf %x, %y : tensor<1x4x8xf32>
  %sum_h = ringlet.reorder %sum : tensor<1x4x8xf32> to tensor<1x4x8xf32, #h>
  %x_h = ringlet.reorder %x : tensor<1x4x8xf32> to tensor<1x4x8xf32, #h>
  %e = math.exp %x_h : tensor<1x4x8xf32, #h>
  %s = math.sin %x_h : tensor<1x4x8xf32, #h>
  return %sum_h, %e, %s : tensor<1x4x8xf32, #h>, tensor<1x4x8xf32, #h>, tensor<1x4x8xf32, #h>
}

// -----

// Booleans are not what ringlet.reorder moves, few bytes as they are.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @booleans(%x: tensor<1x4x8xf32, #h>) -> tensor<1x4x8xi1> {
  %linear = ringlet.reorder %x : tensor<1x4x8xf32, #h> to tensor<1x4x8xf32>
  %zero = arith.constant dense<0.0> : tensor<1x4x8xf32>
  %positive = arith.cmpf ogt, %linear, %zero : tensor<1x4x8xf32>
  return %positive : tensor<1x4x8xi1>
}

// -----

// A position that the body of an operation reads is that of a slot.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
#row = affine_map<(b, s, e) -> (b, s, e)>
func.func @index(%x: tensor<1x4x8xf32, #h>) -> tensor<1x4x8xf32, #h> {
  %linear = ringlet.reorder %x : tensor<1x4x8xf32, #h> to tensor<1x4x8xf32>
  %empty = tensor.empty() : tensor<1x4x8xf32>
  %y = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%linear : tensor<1x4x8xf32>) outs(%empty : tensor<1x4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %index = linalg.index 1 : index
    %position = arith.index_cast %index : index to i32
    %number = arith.sitofp %position : i32 to f32
    %sum = arith.addf %a, %number : f32
    linalg.yield %sum : f32
  } -> tensor<1x4x8xf32>
  %r = ringlet.reorder %y : tensor<1x4x8xf32> to tensor<1x4x8xf32, #h>
  return %r : tensor<1x4x8xf32, #h>
}

// -----

// A convolution along the sequence mixes neighbours.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @convolution(%x: tensor<1x4x8xf32, #h>, %filter: tensor<1x8x8xf32>) -> tensor<1x4x8xf32, #h> {
  %linear = ringlet.reorder %x : tensor<1x4x8xf32, #h> to tensor<1x4x8xf32>
  %zero = arith.constant dense<0.0> : tensor<1x4x8xf32>
  %y = linalg.conv_1d_nwc_wcf ins(%linear, %filter : tensor<1x4x8xf32>, tensor<1x8x8xf32>)
      outs(%zero : tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %r = ringlet.reorder %y : tensor<1x4x8xf32> to tensor<1x4x8xf32, #h>
  return %r : tensor<1x4x8xf32, #h>
}

// -----

// A sum over tokens rounds by the order of its terms.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @sum_of_tokens(%x: tensor<1x4x8xf32, #h>, %zero: tensor<1x8xf32>) -> tensor<1x8xf32> {
  %linear = ringlet.reorder %x : tensor<1x4x8xf32, #h> to tensor<1x4x8xf32>
  %sum = linalg.reduce { arith.addf } ins(%linear : tensor<1x4x8xf32>) outs(%zero : tensor<1x8xf32>) dimensions = [1]
  return %sum : tensor<1x8xf32>
}

// -----

// So does a softmax over tokens.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @softmax_of_tokens(%x: tensor<1x4x8xf32, #h>) -> tensor<1x4x8xf32, #h> {
  %linear = ringlet.reorder %x : tensor<1x4x8xf32, #h> to tensor<1x4x8xf32>
  %empty = tensor.empty() : tensor<1x4x8xf32>
  %y = linalg.softmax dimension(1) ins(%linear : tensor<1x4x8xf32>) outs(%empty : tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %r = ringlet.reorder %y : tensor<1x4x8xf32> to tensor<1x4x8xf32, #h>
  return %r : tensor<1x4x8xf32, #h>
}

// -----

// Tokens of two sequences on one axis have no order.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
func.func @joined_batch(%x: tensor<2x4x8xf32, #h>) -> tensor<2x4x8xf32, #h> {
  %linear = ringlet.reorder %x : tensor<2x4x8xf32, #h> to tensor<2x4x8xf32>
  %flat = tensor.collapse_shape %linear [[0, 1], [2]] : tensor<2x4x8xf32> into tensor<8x8xf32>
  %e = math.exp %flat : tensor<8x8xf32>
  %y = tensor.expand_shape %e [[0, 1], [2]] output_shape [2, 4, 8] : tensor<8x8xf32> into tensor<2x4x8xf32>
  %r = ringlet.reorder %y : tensor<2x4x8xf32> to tensor<2x4x8xf32, #h>
  return %r : tensor<2x4x8xf32, #h>
}

// -----

// A tensor has one order, so not one on each of two axes.

#h1 = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
#h2 = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>, axis = 2>
func.func @two_axes(%x: tensor<1x4x4xf32, #h1>, %y: tensor<1x4x4xf32, #h2>)
    -> (tensor<1x4x4xf32, #h1>, tensor<1x4x4xf32, #h2>) {
  %xl = ringlet.reorder %x : tensor<1x4x4xf32, #h1> to tensor<1x4x4xf32>
  %yl = ringlet.reorder %y : tensor<1x4x4xf32, #h2> to tensor<1x4x4xf32>
  %sum = arith.addf %xl, %yl : tensor<1x4x4xf32>
  %a = ringlet.reorder %sum : tensor<1x4x4xf32> to tensor<1x4x4xf32, #h1>
  %b = ringlet.reorder %sum : tensor<1x4x4xf32> to tensor<1x4x4xf32, #h2>
  return %a, %b : tensor<1x4x4xf32, #h1>, tensor<1x4x4xf32, #h2>
}

// -----

// Nor is a chain from one axis to another one reorder.

#h1 = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
#h2 = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>, axis = 2>
func.func @chain_of_axes(%x: tensor<1x4x4xf32, #h1>) -> tensor<1x4x4xf32, #h2> {
  %linear = ringlet.reorder %x : tensor<1x4x4xf32, #h1> to tensor<1x4x4xf32>
  %r = ringlet.reorder %linear : tensor<1x4x4xf32> to tensor<1x4x4xf32, #h2>
  return %r : tensor<1x4x4xf32, #h2>
}

// -----

// An order restarts with each of the packed sequences, which a reorder of the
// whole axis does not (S2).

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>, axis = 0>
!x = tensor<4x1x8xf32>
!h = tensor<4x1x8xf32, #h>
func.func @packed(%q: !h, %k: !h, %v: !h, %starts: tensor<3xi64>) -> !h {
  %ql = ringlet.reorder %q : !h to !x
  %kl = ringlet.reorder %k : !h to !x
  %vl = ringlet.reorder %v : !h to !x
  %o, %lse = ringlet.attention %ql, %kl, %vl branches [<w = *, r = 1>] packed(%starts, %starts)
      : (!x, !x, !x, tensor<3xi64>, tensor<3xi64>) -> (!x, tensor<1x4xf32>)
  %r = ringlet.reorder %o : !x to !h
  return %r : !h
}

// -----

// Tilings were chosen for the order that the operands have.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
!x = tensor<1x4x1x8xf32>
!h = tensor<1x4x1x8xf32, #h>
func.func @tilings(%q: !x, %k: !h, %v: !h) -> !x {
  %kl = ringlet.reorder %k : !h to !x
  %vl = ringlet.reorder %v : !h to !x
  %o, %lse = ringlet.attention %q, %kl, %vl branches [<w = *, r = 1>]
      tilings = [#ringlet.tiling<query = 64, key = 64>] : (!x, !x, !x) -> (!x, tensor<1x1x4xf32>)
  return %o : !x
}

// -----

// A choice of another order than all around it stays: here that of linear
// order, written out.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
#linear = #rlayout.layout<order = #rlayout.order<linear>>
!h = tensor<1x4x1x8xf32, #h>
!x = tensor<1x4x1x8xf32, #linear>
#linear_lse = #rlayout.layout<order = #rlayout.order<linear>, axis = 2>
func.func @choice(%q: !h, %k: !h, %v: !h) -> !h {
  %ql = ringlet.reorder %q : !h to !x
  %kl = ringlet.reorder %k : !h to !x
  %vl = ringlet.reorder %v : !h to !x
  %o, %lse = ringlet.attention %ql, %kl, %vl branches [<w = *, r = 1>]
      : (!x, !x, !x) -> (!x, tensor<1x1x4xf32, #linear_lse>)
  %r = ringlet.reorder %o : !x to !h
  return %r : !h
}

// -----

// Linear order has several spellings, and each tensor keeps its own.

#h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
#l = #rlayout.layout<order = #rlayout.order<linear>>
#n = #rlayout.layout<>
!t = tensor<1x4x2x8xf32>
!h = tensor<1x4x2x8xf32, #h>
!l = tensor<1x4x2x8xf32, #l>
!n = tensor<1x4x2x8xf32, #n>
func.func @spellings(%q: !l, %k: !n, %v: !h) -> (!n, !l) {
  %linear = ringlet.reorder %v : !h to !t
  %o, %s = ringlet.attention %q, %k, %linear branches [<w = *, r = 1>] : (!l, !n, !t) -> (!n, tensor<1x2x4xf32>)
  return %o, %q : !n, !l
}
