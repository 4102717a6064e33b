//===- Passes.td - passes about orders of tokens ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ORDERS
#define RINGLET_PASSES_ORDERS

include "mlir/Pass/PassBase.td"

def RLayoutPrintOrder : Pass<"rlayout-print-order"> {
  let summary = "Print the token of each slot of every order in the module";
  let description = [{
    Writes one line to standard output for every `#rlayout.order` of the module,
    in the order of first appearance: its text, a colon, and the token of each
    slot (rule O1), separated by spaces. The IR stays as it is.

    A line shows one period of an order: its chunk, or the volume of its grid or
    table. Orders that fit any length (`linear` and `residue` without a chunk)
    are shown for the static size of the sequence axis of each type that has
    them. One whose length nothing says is an error, and so are more than 65536
    slots.

    Example:

    ```mlir
    func.func @f(%x: tensor<1x4x2x8xf32, #rlayout.layout<
                         order = #rlayout.order<snake, grid = [2, 2]>>>) {
      return
    }
    ```

    prints `#rlayout.order<snake, grid = [2, 2]>: 0 1 3 2`.
  }];
}

#endif // RINGLET_PASSES_ORDERS
