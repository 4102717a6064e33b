//===- print-order.mlir - The token of each slot of every order -===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rlayout-print-order -o /dev/null \
// RUN:   | FileCheck %s --match-full-lines --strict-whitespace
// Nothing but the lines: ten of them.
// RUN: ringlet-opt %s --rlayout-print-order -o /dev/null | count 10
// The IR stays as it is, after the lines.
// RUN: ringlet-opt %s --rlayout-print-order | tail -n +11 > %t.after
// RUN: ringlet-opt %s | diff - %t.after

// The order of first appearance: an attribute of the module, an argument, then
// what the operations have.
//      CHECK:#rlayout.order<table<[2, 0, 1]>>: 2 0 1
// CHECK-NEXT:#rlayout.order<snake, grid = [4, 4]>: 0 1 2 3 7 6 5 4 8 9 10 11 15 14 13 12
// A Hilbert curve of 4 x 4: each step goes to a neighbour.
// CHECK-NEXT:#rlayout.order<hilbert, grid = [4, 4]>: 0 1 5 4 8 12 13 9 10 14 15 11 7 6 2 3
// CHECK-NEXT:#rlayout.order<morton, grid = [4, 4]>: 0 1 4 5 2 3 6 7 8 9 12 13 10 11 14 15
// An order without a length of its own: once for each length that types give.
// CHECK-NEXT:#rlayout.order<residue<4>>: 0 4 8 12 1 5 9 13 2 6 10 14 3 7 11 15
// CHECK-NEXT:#rlayout.order<residue<4>>: 0 4 1 5 2 6 3
// CHECK-NEXT:#rlayout.order<residue<2>, chunk = 5>: 0 2 4 1 3
// CHECK-NEXT:#rlayout.order<linear>: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
// CHECK-NEXT:#rlayout.order<morton, grid = [2, 2], chunk = 4>: 0 1 2 3
// CHECK-NEXT:#rlayout.order<snake, grid = [2, 1, 3]>: 0 1 2 5 4 3

#snake = #rlayout.layout<order = #rlayout.order<snake, grid = [4, 4]>>
#hilbert = #rlayout.layout<order = #rlayout.order<hilbert, grid = [4, 4]>>
#morton = #rlayout.layout<order = #rlayout.order<morton, grid = [4, 4]>>
#residue = #rlayout.layout<order = #rlayout.order<residue<4>>>
#chunked = #rlayout.layout<order = #rlayout.order<residue<2>, chunk = 5>>
#linear = #rlayout.layout<order = #rlayout.order<linear>>

module attributes {test.order = #rlayout.order<table<[2, 0, 1]>>} {
  func.func @reorder(%x: tensor<1x16x2x8xf32, #snake>) {
    %a = ringlet.reorder %x : tensor<1x16x2x8xf32, #snake>
        to tensor<1x16x2x8xf32, #hilbert>
    %b = ringlet.reorder %a : tensor<1x16x2x8xf32, #hilbert>
        to tensor<1x16x2x8xf32, #morton>
    %c = ringlet.reorder %b : tensor<1x16x2x8xf32, #morton>
        to tensor<1x16x2x8xf32, #residue>
    return
  }
  func.func @short(%x: tensor<1x7x2x8xf32, #residue>) { return }
  func.func @open(%x: tensor<1x?x2x8xf32, #chunked>,
                  %y: tensor<1x16x2x8xf32, #linear>) { return }
  // Seen before, but for the last.
  func.func @again(%x: tensor<1x16x2x8xf32, #hilbert>)
      attributes {test.list = [#rlayout.order<hilbert, grid = [4, 4]>,
          {a = #rlayout.order<morton, grid = [2, 2], chunk = 4>}]} {
    return
  }
  func.func private @last() attributes {
      test.order = #rlayout.order<snake, grid = [2, 1, 3]>}
}
