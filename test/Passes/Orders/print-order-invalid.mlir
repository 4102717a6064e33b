//===- print-order-invalid.mlir - Orders that are not printed -===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rlayout-print-order --split-input-file \
// RUN:   --verify-diagnostics

#residue = #rlayout.layout<order = #rlayout.order<residue<4>>>
// expected-error@+1 {{expected an order whose number of slots is known, found residue<4>; write a chunk, as in chunk = 4096, or give the sequence axis a static size (O1)}}
func.func @dynamic(%x: tensor<1x?x2x8xf32, #residue>) {
  return
}

// -----

// expected-error@+1 {{number of slots is known, found linear; write a chunk}}
module attributes {test.order = #rlayout.order<linear>} {}

// -----

// One line too long: those before it are not printed either.
// expected-error@+1 {{expected at most 65536 slots to show, found 65792 of hilbert, grid = [256, 257]; nearest 65536}}
func.func private @long() attributes {
    test.a = #rlayout.order<snake, grid = [2, 2]>,
    test.b = #rlayout.order<hilbert, grid = [256, 257]>}

// -----

#huge = #rlayout.layout<order = #rlayout.order<
    morton, grid = [1048576, 1048576], chunk = 1099511627776>>
// expected-error@+1 {{at most 65536 slots to show, found 1099511627776}}
func.func @huge(%x: tensor<1x?x2x8xf32, #huge>) {
  return
}
