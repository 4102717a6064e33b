//===- choose-order.mlir - An order where it pays ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --ringlet-choose-order --remarks-filter=.* \
// RUN:   --remark-format=emitRemark 2> %t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=WHY --input-file=%t.remarks
// RUN: ringlet-opt %s --ringlet-choose-order=order=hilbert \
// RUN:   | FileCheck %s --check-prefix=FORCED
// RUN: ringlet-opt %s --ringlet-choose-order=order=residue \
// RUN:   | FileCheck %s --check-prefix=RESIDUE
// RUN: ringlet-opt %s --ringlet-choose-order=order=linear \
// RUN:   | FileCheck %s --check-prefix=OFF
// RUN: not ringlet-opt %s --ringlet-choose-order=order=hilbet 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NAME
// RUN: not ringlet-opt %s --ringlet-choose-order=level=pentium 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LEVEL

// NAME: expected auto or a curve that needs no table as the order, found 'hilbet'; nearest hilbert (O1)
// LEVEL: pentium
// OFF-NOT: ringlet.reorder
// OFF-NOT: pattern_order = <hilbert
// OFF: pattern_order = <morton

// A window of 17 x 17 cells on a large grid: tiles along a curve see half of the
// tiles that tiles of whole rows see.
// CHECK-LABEL: func.func @wide
// CHECK: pattern_order = <hilbert, grid = [256, 256]>
// CHECK-NOT: ringlet.reorder
// WHY: tiles along hilbert, grid = [256, 256]: {{[0-9]+}} tiles of keys, {{[0-9]+}} lines, {{.*}} cycles a head; no order: {{[0-9]+}} tiles
// FORCED-LABEL: func.func @wide
// FORCED: pattern_order = <hilbert, grid = [256, 256]>
// A residue gathers what a dilation reads; along a dense branch nothing.
// RESIDUE-LABEL: func.func @wide
// RESIDUE-NOT: pattern_order
func.func @wide(%q: tensor<1x65536x4x64xf32>) -> tensor<1x65536x4x64xf32> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      grid_window = <grid = [256, 256], reach = [8, 8]>
      : (tensor<1x65536x4x64xf32>, tensor<1x65536x4x64xf32>, tensor<1x65536x4x64xf32>)
      -> (tensor<1x65536x4x64xf32>, tensor<1x4x65536xf32>)
  return %o : tensor<1x65536x4x64xf32>
}

// A window of three rows is narrower than a tile along a curve is high. The row
// after a row is where a snake goes, too.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: pattern_order
// WHY: no order: {{[0-9]+}} tiles of keys, {{.*}}; tiles along snake
func.func @narrow(%q: tensor<1x4096x4x64xf32>) -> tensor<1x4096x4x64xf32> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
      grid_window = <grid = [64, 64], reach = [1, 1]>
      : (tensor<1x4096x4x64xf32>, tensor<1x4096x4x64xf32>, tensor<1x4096x4x64xf32>)
      -> (tensor<1x4096x4x64xf32>, tensor<1x4x4096xf32>)
  return %o : tensor<1x4096x4x64xf32>
}

// One dimension: no order of K and V wins. One that is asked for has the chunk
// that suits the length, and V shares it.
// CHECK-LABEL: func.func @dilated
// CHECK-NOT: ringlet.reorder
// WHY: no order: {{[0-9]+}} tiles of keys, [[LINES:[0-9]+]] lines, {{.*}}; K and V in residue<4>: {{[0-9]+}} tiles of keys, [[LINES]] lines
// FORCED-LABEL: func.func @dilated
// FORCED-SAME: (%[[Q:.*]]: tensor<1x16384x4x64xf32>, %[[V:.*]]: tensor
// FORCED: %[[K2:.*]] = ringlet.reorder %[[Q]] : {{.*}} to tensor<1x16384x4x64xf32, #[[LAYOUT:.*]]>
// FORCED: %[[V2:.*]] = ringlet.reorder %[[V]] : {{.*}} to tensor<1x16384x4x64xf32, #[[LAYOUT]]>
// FORCED: ringlet.attention %[[Q]], %[[K2]], %[[V2]]
// RESIDUE-LABEL: func.func @dilated
// RESIDUE: ringlet.reorder
func.func @dilated(%q: tensor<1x16384x4x64xf32>, %v: tensor<1x16384x4x64xf32>)
    -> tensor<1x16384x4x64xf32> {
  %o, %lse = ringlet.attention %q, %q, %v branches [<w = *, r = 4>]
      : (tensor<1x16384x4x64xf32>, tensor<1x16384x4x64xf32>, tensor<1x16384x4x64xf32>)
      -> (tensor<1x16384x4x64xf32>, tensor<1x4x16384xf32>)
  return %o : tensor<1x16384x4x64xf32>
}

// Without sizes nothing is known of what an order would save.
// CHECK-LABEL: func.func @dynamic
// CHECK-NOT: ringlet.reorder
// WHY: no order: tiles are counted where lengths are known, found a dynamic number of queries
// FORCED-LABEL: func.func @dynamic
// FORCED: ringlet.reorder {{.*}} to tensor<1x?x4x64xf32
func.func @dynamic(%q: tensor<1x?x4x64xf32>) -> tensor<1x?x4x64xf32> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 64, r = 4>]
      : (tensor<1x?x4x64xf32>, tensor<1x?x4x64xf32>, tensor<1x?x4x64xf32>)
      -> (tensor<1x?x4x64xf32>, tensor<1x4x?xf32>)
  return %o : tensor<1x?x4x64xf32>
}

// Neither of what lies before the keys, nor of what is called with.
// CHECK-LABEL: func.func @offset
// CHECK-NOT: ringlet.reorder
// WHY: no order: tiles are counted where the last query lies on the last key, found a q_offset (S1)
func.func @offset(%q: tensor<1x64x4x64xf32>, %offset: tensor<i64>)
    -> tensor<1x64x4x64xf32> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 64, r = 4>]
      q_offset(%offset)
      : (tensor<1x64x4x64xf32>, tensor<1x64x4x64xf32>, tensor<1x64x4x64xf32>,
         tensor<i64>)
      -> (tensor<1x64x4x64xf32>, tensor<1x4x64xf32>)
  return %o : tensor<1x64x4x64xf32>
}

// CHECK-LABEL: func.func @runtime
// CHECK-NOT: ringlet.reorder
// WHY: no order: tiles are counted where w and r are known, found runtime ones (B1)
func.func @runtime(%q: tensor<1x64x4x64xf32>, %w: tensor<i64>)
    -> tensor<1x64x4x64xf32> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = ?, r = 4>] sizes(%w)
      : (tensor<1x64x4x64xf32>, tensor<1x64x4x64xf32>, tensor<1x64x4x64xf32>,
         tensor<i64>)
      -> (tensor<1x64x4x64xf32>, tensor<1x4x64xf32>)
  return %o : tensor<1x64x4x64xf32>
}

// An order of K and V is one for all branches.
// CHECK-LABEL: func.func @branches
// CHECK-NOT: ringlet.reorder
// WHY: no order: its 2 branches may want different ones
func.func @branches(%q: tensor<1x64x4x64xf32>) -> tensor<1x64x4x64xf32> {
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<w = 16, r = 1>, <w = 64, r = 4>]
      : (tensor<1x64x4x64xf32>, tensor<1x64x4x64xf32>, tensor<1x64x4x64xf32>)
      -> (tensor<1x64x4x64xf32>, tensor<1x4x64xf32>)
  return %o : tensor<1x64x4x64xf32>
}

// Padding follows keys that follow each other.
// CHECK-LABEL: func.func @padding
// CHECK-NOT: ringlet.reorder
// WHY: no order: padding that counts stands behind keys in linear order (B7)
// FORCED-LABEL: func.func @padding
// FORCED-NOT: ringlet.reorder
func.func @padding(%q: tensor<1x64x4x64xf32>) -> tensor<1x64x4x64xf32> {
  %o, %lse = ringlet.attention %q, %q, %q
      branches [<w = 24, r = 1, padding = counted>]
      : (tensor<1x64x4x64xf32>, tensor<1x64x4x64xf32>, tensor<1x64x4x64xf32>)
      -> (tensor<1x64x4x64xf32>, tensor<1x4x64xf32>)
  return %o : tensor<1x64x4x64xf32>
}

// Keys of 8 bits stay where they are.
// CHECK-LABEL: func.func @eight_bits
// CHECK-NOT: ringlet.reorder
// WHY: no order: nothing moves its keys of 8 bits (S6)
// FORCED-LABEL: func.func @eight_bits
// FORCED-NOT: ringlet.reorder
func.func @eight_bits(%q: tensor<1x64x4x64xf32>, %k: tensor<1x64x4x64xi8>)
    -> tensor<1x64x4x64xf32> {
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = 24, r = 3>]
      : (tensor<1x64x4x64xf32>, tensor<1x64x4x64xi8>, tensor<1x64x4x64xi8>)
      -> (tensor<1x64x4x64xf32>, tensor<1x4x64xf32>)
  return %o : tensor<1x64x4x64xf32>
}

// What the user wrote stays.
// CHECK-LABEL: func.func @kept
// CHECK: pattern_order = <morton, grid = [64, 64]>
// WHY: no order: it has a pattern order, which is kept (O2)
// FORCED-LABEL: func.func @kept
// FORCED: pattern_order = <morton, grid = [64, 64]>
func.func @kept(%q: tensor<1x4096x4x64xf32>) -> tensor<1x4096x4x64xf32> {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = 64, r = 1>]
      pattern_order = <morton, grid = [64, 64]>
      : (tensor<1x4096x4x64xf32>, tensor<1x4096x4x64xf32>, tensor<1x4096x4x64xf32>)
      -> (tensor<1x4096x4x64xf32>, tensor<1x4x4096xf32>)
  return %o : tensor<1x4096x4x64xf32>
}
