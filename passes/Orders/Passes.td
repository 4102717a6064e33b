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

def RLayoutVerifyEncodings : Pass<"rlayout-verify-encodings"> {
  let summary = "Check that only operations that know of orders touch one";
  let description = [{
    Upstream operations drop the encoding of a tensor's type, or keep one that
    has become false, without a word: `tensor.cast` to a type without it,
    `tensor.extract_slice` of every second slot. So a tensor that has a layout
    (rule O1) may be touched only by operations with `OrderInterface`, along an
    axis that they treat alike for all tokens, and all axes that count the same
    tokens must have one order. The IR stays as it is.

    Example:

    ```mlir
    #h = #rlayout.layout<order = #rlayout.order<snake, grid = [2, 2]>>
    func.func @f(%x: tensor<1x4x8xf32, #h>) -> tensor<1x4x8xf32, #h> {
      %y = math.exp %x : tensor<1x4x8xf32, #h>
      return %y : tensor<1x4x8xf32, #h>
    }
    ```

    is accepted; `tensor.cast %x : tensor<1x4x8xf32, #h> to tensor<1x4x8xf32>`
    in it is not.
  }];
}

def RingletPropagateOrders : Pass<"ringlet-propagate-orders"> {
  let summary = "Move reorders to where fewest are needed";
  let description = [{
    Every operation with `OrderInterface` works as well in one order of its
    tokens as in another, so `ringlet.reorder` may stand before it or after it
    (rule O1). This pass gives each of them the order with which a block needs
    the fewest reorders, and of those the ones that move the fewest bytes a
    token. Reorders that undo each other vanish, chains become one, and one
    reorder serves all who read a tensor in its order. What ties goes to the
    order that is not linear, which leaves reorders at the edge of the graph.

    What stays: types of arguments, of returned values, and of all that
    operations without the interface touch; an order that is written on the
    types of an attention, which is a choice (an attention in linear order has
    none and follows what is around it); attentions of packed sequences or with
    `lengths`, where an order restarts with each sequence; attentions that have
    tilings; attentions whose kernel can have a recipe on `level`, which is
    worth more than a reorder; tensors that reorder cannot move; blocks that
    would need as many reorders as before.

    The orders must be those that `rlayout-verify-encodings` accepts. Each
    operation whose order changes is a remark, and each reorder that goes or
    comes.
  }];
  let options = [Option<"level", "level", "std::string",
    /*default=*/"\"x86-64-v3\"", "Row of the table of CPU levels or of GPU architectures to compile for">];
}

def RingletChooseOrder : Pass<"ringlet-choose-order"> {
  let summary = "Choose an order of keys, or to walk along, by the cost model";
  let description = [{
    Compares, for each attention, the linear order with others by the cost model
    (`lib/Cost`): how many tiles of keys the kernel loads, how many cache lines
    they touch, what bringing K and V into an order costs, and what looking up
    rows in a table costs. A remark gives the figures of both, whichever wins,
    and an order must win by more than the model's error.

    A dense branch (`w = *`, `r = 1`) with a grid window may be walked along any
    curve of its grid, which changes no result: it gets a `pattern_order` where
    compact tiles see so many fewer others. For other branches the order is one
    of K and V in memory: reorders in front of the attention, which
    `ringlet-propagate-orders` moves on. That is left off for sequences of one
    dimension unless it wins, and it hardly ever does: rows of whole cache lines
    take as many of them in any order.

    `order` asks for a curve by name, wherever it is possible, or for `linear`,
    which leaves everything as it is. Curves of a grid then take that of the grid
    window or else a square chunk of 4096, 65536 or 65536 tokens that grows with
    the length. Orders that are there already, as pattern order or in the types
    of the operands, are kept. Without sizes or with several branches nothing is
    compared.

    Before:

    ```mlir
    func.func @f(%q: tensor<1x65536x4x64xf32>) -> tensor<1x65536x4x64xf32> {
      %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
          grid_window = <grid = [256, 256], reach = [8, 8]>
          : (tensor<1x65536x4x64xf32>, tensor<1x65536x4x64xf32>, tensor<1x65536x4x64xf32>)
          -> (tensor<1x65536x4x64xf32>, tensor<1x4x65536xf32>)
      return %o : tensor<1x65536x4x64xf32>
    }
    ```

    After: `pattern_order = <hilbert, grid = [256, 256]>`, which loads half as
    many tiles.
  }];
  let dependentDialects = ["::ringlet::attn::RingletDialect",
                           "::ringlet::rlayout::RLayoutDialect"];
  let options = [Option<"level", "level", "std::string",
    /*default=*/"\"x86-64-v3\"", "Row of the table of CPU levels or of GPU architectures to choose for">,
    Option<"order", "order", "std::string",
    /*default=*/"\"auto\"", "A curve to take, linear for none, or auto to choose">];
}

#endif // RINGLET_PASSES_ORDERS
