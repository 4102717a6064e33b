//===- canonicalize.mlir - Reorders and sizes fold ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --canonicalize | FileCheck %s

#hilbert = #rlayout.layout<order = <hilbert, grid = [8, 8]>>
#residue = #rlayout.layout<order = <residue<4>>>

// The same order on both sides moves nothing.

// CHECK-LABEL: func.func @same_order(
// CHECK-SAME:    %[[X:[^:]+]]: tensor
// CHECK-NEXT:    return %[[X]]
func.func @same_order(%x: tensor<1x64x2xf32, #hilbert>)
    -> tensor<1x64x2xf32, #hilbert> {
  %y = ringlet.reorder %x
      : tensor<1x64x2xf32, #hilbert> to tensor<1x64x2xf32, #hilbert>
  return %y : tensor<1x64x2xf32, #hilbert>
}

// There and back again is nothing, over any number of stops.

// CHECK-LABEL: func.func @round_trip(
// CHECK-SAME:    %[[X:[^:]+]]: tensor
// CHECK-NEXT:    return %[[X]]
func.func @round_trip(%x: tensor<1x64x2xf32>) -> tensor<1x64x2xf32> {
  %y = ringlet.reorder %x
      : tensor<1x64x2xf32> to tensor<1x64x2xf32, #hilbert>
  %z = ringlet.reorder %y
      : tensor<1x64x2xf32, #hilbert> to tensor<1x64x2xf32, #residue>
  %w = ringlet.reorder %z
      : tensor<1x64x2xf32, #residue> to tensor<1x64x2xf32>
  return %w : tensor<1x64x2xf32>
}

// A chain goes straight to its end.

// CHECK-LABEL: func.func @chain(
// CHECK-SAME:    %[[X:[^:]+]]: tensor
// CHECK-NEXT:    %[[Y:.+]] = ringlet.reorder %[[X]] : tensor<1x64x2xf32, #rlayout.layout<order = <hilbert, grid = [8, 8]>>> to tensor<1x64x2xf32, #rlayout.layout<order = <residue<4>>>>
// CHECK-NEXT:    return %[[Y]]
func.func @chain(%x: tensor<1x64x2xf32, #hilbert>)
    -> tensor<1x64x2xf32, #residue> {
  %y = ringlet.reorder %x
      : tensor<1x64x2xf32, #hilbert> to tensor<1x64x2xf32>
  %z = ringlet.reorder %y
      : tensor<1x64x2xf32> to tensor<1x64x2xf32, #residue>
  return %z : tensor<1x64x2xf32, #residue>
}

// The middle of a chain that is used elsewhere stays.

// CHECK-LABEL: func.func @used_middle(
// CHECK-SAME:    %[[X:[^:]+]]: tensor
// CHECK-DAG:     %[[Y:.+]] = ringlet.reorder %[[X]] : tensor<1x64x2xf32> to tensor<1x64x2xf32, #rlayout.layout<order = <hilbert, grid = [8, 8]>>>
// CHECK-DAG:     %[[Z:.+]] = ringlet.reorder %[[X]] : tensor<1x64x2xf32> to tensor<1x64x2xf32, #rlayout.layout<order = <residue<4>>>>
// CHECK:         return %[[Y]], %[[Z]]
func.func @used_middle(%x: tensor<1x64x2xf32>)
    -> (tensor<1x64x2xf32, #hilbert>, tensor<1x64x2xf32, #residue>) {
  %y = ringlet.reorder %x
      : tensor<1x64x2xf32> to tensor<1x64x2xf32, #hilbert>
  %z = ringlet.reorder %y
      : tensor<1x64x2xf32, #hilbert> to tensor<1x64x2xf32, #residue>
  return %y, %z
      : tensor<1x64x2xf32, #hilbert>, tensor<1x64x2xf32, #residue>
}

// An order on another axis is another order: each half stays, since no one
// reorder permutes two axes.

// CHECK-LABEL: func.func @two_axes(
// CHECK-COUNT-2: ringlet.reorder
// CHECK:         return
#rows = #rlayout.layout<order = <residue<4>>, axis = 0>
func.func @two_axes(%x: tensor<64x64xf32, #rows>)
    -> tensor<64x64xf32, #residue> {
  %y = ringlet.reorder %x : tensor<64x64xf32, #rows> to tensor<64x64xf32>
  %z = ringlet.reorder %y : tensor<64x64xf32> to tensor<64x64xf32, #residue>
  return %z : tensor<64x64xf32, #residue>
}

// Refinement of a dynamic size keeps the operation: the sizes are not known
// to agree.

// CHECK-LABEL: func.func @dynamic_to_static(
// CHECK-SAME:    %[[X:[^:]+]]: tensor<1x?xf32>
// CHECK-NEXT:    %[[Y:.+]] = ringlet.reorder %[[X]] : tensor<1x?xf32> to tensor<1x64xf32>
// CHECK-NEXT:    return %[[Y]]
func.func @dynamic_to_static(%x: tensor<1x?xf32>) -> tensor<1x64xf32> {
  %y = ringlet.reorder %x : tensor<1x?xf32> to tensor<1x64xf32>
  return %y : tensor<1x64xf32>
}

// Sizes that contradict each other are for the run to refuse, not for the
// compiler to stumble over.

// CHECK-LABEL: func.func @contradiction(
// CHECK-COUNT-2: ringlet.reorder
// CHECK:         return
func.func @contradiction(%x: tensor<1x100xf32>) -> tensor<1x64xf32> {
  %y = ringlet.reorder %x : tensor<1x100xf32> to tensor<1x?xf32>
  %z = ringlet.reorder %y : tensor<1x?xf32> to tensor<1x64xf32>
  return %z : tensor<1x64xf32>
}

// Where nothing orders values they may go in circles, which must not keep a
// pass busy for ever.

// CHECK-LABEL: func.func @after_circles(
func.func @after_circles() {
  return
}
%self = ringlet.reorder %self : tensor<1x64xf32> to tensor<1x64xf32>
%there = ringlet.reorder %back
    : tensor<1x64xf32> to tensor<1x64xf32, #hilbert>
%back = ringlet.reorder %there
    : tensor<1x64xf32, #hilbert> to tensor<1x64xf32>
%beside = ringlet.reorder %back
    : tensor<1x64xf32> to tensor<1x64xf32, #residue>

// A dead attention is removed: it has no side effect.

// CHECK-LABEL: func.func @dead_attention(
// CHECK-NEXT:    return
func.func @dead_attention(%q: tensor<1x64x1x8xf32>) {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 8, r = 1>]
      : (tensor<1x64x1x8xf32>, tensor<1x64x1x8xf32>, tensor<1x64x1x8xf32>)
      -> (tensor<1x64x1x8xf32>, tensor<1x1x64xf32>)
  return
}

// Sizes that are constants become part of their branches; those of the call
// stay, in their order.

// CHECK-LABEL: func.func @constant_sizes(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x64x2x16xf32>, %[[R:[a-z0-9]+]]: tensor<i64>)
// CHECK:         ringlet.attention %[[X]], %[[X]], %[[X]] branches [<w = 32, r = ?>, <w = *, r = 2>] sizes(%[[R]])
func.func @constant_sizes(%x: tensor<1x64x2x16xf32>, %r: tensor<i64>)
    -> tensor<1x64x2x16xf32> {
  %w = arith.constant dense<32> : tensor<i64>
  %two = arith.constant dense<2> : tensor<i64>
  %o, %l = ringlet.attention %x, %x, %x branches [<w = ?, r = ?>, <w = *, r = ?>] sizes(%w, %r, %two)
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<i64>, tensor<i64>, tensor<i64>)
      -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x16xf32>
}

// Constants that B1 forbids stay what the call is refused for: a negative w,
// which is not the one that stands for `*`, an r beyond its w, and a negative
// r, which stands for `?` within.

// CHECK-LABEL: func.func @illegal_sizes(
// CHECK:         branches [<w = ?, r = 1>, <w = 8, r = ?>, <w = 9, r = ?>] sizes(
func.func @illegal_sizes(%x: tensor<1x64x2x16xf32>) -> tensor<1x64x2x16xf32> {
  %none = arith.constant dense<-1> : tensor<i64>
  %nine = arith.constant dense<9> : tensor<i64>
  %less = arith.constant dense<-9223372036854775808> : tensor<i64>
  %o, %l = ringlet.attention %x, %x, %x branches [<w = ?, r = 1>, <w = 8, r = ?>, <w = ?, r = ?>] sizes(%none, %nine, %nine, %less)
      : (tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>)
      -> (tensor<1x64x2x16xf32>, tensor<1x2x64xf32>)
  return %o : tensor<1x64x2x16xf32>
}
