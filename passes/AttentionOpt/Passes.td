//===- Passes.td - passes from ringlet to ringlet ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONOPT
#define RINGLET_PASSES_ATTENTIONOPT

include "mlir/Pass/PassBase.td"

def RingletClampSegments : Pass<"ringlet-clamp-segments"> {
  let summary = "Drop the bound of segments that hold the whole sequence";
  let description = [{
    A segment that reaches beyond every position of queries and keys sees the
    same keys as an unbounded one (rule B1), which needs no segment number and
    no axis of the launch grid. Values do not change.

    Branches of sequences with a dynamic length or a runtime `q_offset` are left
    alone: nothing is known of their positions. So are those with negative
    positions (more queries than keys): an unbounded segment would show them
    keys that segment -1 does not hold.

    Before (1000 positions):

    ```mlir
    func.func @f(%q: tensor<1x1000x2x64xf32>)
        -> (tensor<1x1000x2x64xf32>, tensor<1x2x1000xf32>) {
      %o, %l = ringlet.attention %q, %q, %q branches [<w = 4096, r = 2>]
          : (tensor<1x1000x2x64xf32>, tensor<1x1000x2x64xf32>, tensor<1x1000x2x64xf32>)
          -> (tensor<1x1000x2x64xf32>, tensor<1x2x1000xf32>)
      return %o, %l : tensor<1x1000x2x64xf32>, tensor<1x2x1000xf32>
    }
    ```

    After: `branches [<w = *, r = 2>]`.
  }];
}

def RingletChooseCombine : Pass<"ringlet-choose-combine"> {
  let summary = "Choose how kernels compute several branches";
  let description = [{
    Writes `combine = union` on attentions of several branches that one kernel
    is to compute, and `combine = apart` on those whose branches get a kernel
    each that ends their softmaxes, unless `combine` or `tilings` are there
    already.

    A chain computes every score of every branch and takes the softmax of its
    rows through memory from branch to branch. A union keeps the softmax in
    registers or caches, and computes a score that several nested branches share
    once; its tiles hold rows of one residue modulo the common multiple of all
    dilations in one segment of their common divisor, of which there may be few.
    Branches of different heads can also be kept apart: a kernel for each, in
    tiles of its own, and nothing passes from one to the other.

    `combine=auto` counts the scores of each way for a sequence that fills the
    longest segment, takes them times what the cost model of tiles says that one
    costs, and chooses the least; a remark has what it predicts of every way, in
    cycles of a processor for a row and on GPUs in milliseconds. On a GPU the
    union has to be possible with a recipe. It takes a chain, too, where a branch
    has no segments, whose keys the compiler cannot count.

    A way that is asked for and not possible is an error that says why.

    Before:

    ```mlir
    func.func @f(%q: tensor<1x?x8x64xf32>) -> tensor<1x?x8x64xf32> {
      %o, %l = ringlet.attention %q, %q, %q
          branches [<w = 2048, r = 1>, <w = 4096, r = 2>, <w = 8192, r = 4>]
          : (tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>)
          -> (tensor<1x?x8x64xf32>, tensor<1x8x?xf32>)
      return %o : tensor<1x?x8x64xf32>
    }
    ```

    After, with `combine=union`: `combine = union`.
  }];
  let options = [Option<"level", "level", "std::string",
    /*default=*/"\"x86-64-v3\"", "Row of the table of CPU levels or of GPU architectures to choose for">,
    Option<"combine", "combine", "std::string",
    /*default=*/"\"auto\"", "How kernels compute several branches: apart, chain, union, or auto to choose">];
}

def RingletChooseTiling : Pass<"ringlet-choose-tiling"> {
  let summary = "Choose the tile shape of each branch by the cost model";
  let description = [{
    Writes `tilings`, one `#ringlet.tiling` a branch or one for a union of them,
    on each attention that has none. The cost model (`lib/Cost`) estimates the cycles that one score costs
    for every candidate shape: the matrix products, the packing of K and V,
    which a taller query tile shares among more rows, the softmax, what does not
    fit in the first two caches, and the rows and columns of a tile that a short
    segment leaves empty. For a GPU it counts the same work of a multiprocessor,
    with shapes that would not fit in shared memory or registers left out. A
    remark gives the figures of the choice.

    On an architecture with products of warp groups and a copy engine, a branch
    may get a `recipe`, with tiles by a model of its own, and `redo`, the tiles
    that plain kernels get. `recipe=auto` takes the first recipe of the
    table (`passes/Recipes`) that is possible, if it is expected to be faster
    than plain tiles; a remark says why it is not. Those of attention are
    possible for f16 and bf16, D and Dv that are multiples of 8 from
    16 to 256, and an attention of one branch, or a union of several, with one
    softmax. A recipe that is
    asked for by name and not possible is an error.

    On GPUs sums over more than 2^14 keys move to memory (`part`). Plain kernels of
    attentions of which only the call knows whether there are so many keys get
    tiles for both kinds of calls (`manyKeys`).

    A w that only the call knows counts as the length of the sequence, an r as
    1, which the remark then says; such a branch gets no recipe.

    Where the length may be short there is also `split_kv`, kernels for calls with
    few queries: the model compares both kinds for 1 to 64 queries and writes up
    to how many theirs cost less. On GPUs there are several, with taller tiles for
    more queries: with a recipe where one is possible and nothing lies in memory behind
    the keys, also for up to 512 queries whose tiles would not fill the device. A remark says
    why there are none.

    Tilings that are there already are kept: a forced choice is honoured or, where
    a target has recipes and that one is not possible, an error.

    Before:

    ```mlir
    func.func @f(%q: tensor<1x?x8x128xbf16>) -> tensor<1x?x8x128xbf16> {
      %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
          : (tensor<1x?x8x128xbf16>, tensor<1x?x8x128xbf16>, tensor<1x?x8x128xbf16>)
          -> (tensor<1x?x8x128xbf16>, tensor<1x8x?xf32>)
      return %o : tensor<1x?x8x128xbf16>
    }
    ```

    After, for `level=sm_90a`: `tilings = [#ringlet.tiling<query = 128,
    key = 128, recipe = "fa_fwd_lazy", redo = <query = 128, key = 64>>]`.
  }];
  let options = [Option<"level", "level", "std::string",
    /*default=*/"\"x86-64-v3\"", "Row of the table of CPU levels or of GPU architectures to tile for">,
    Option<"recipe", "recipe", "std::string",
    /*default=*/"\"auto\"", "How kernels of a GPU divide their work: plain, the name of a recipe, or auto to choose">,
    Option<"spareRegisters", "spare-registers", "int64_t", /*default=*/"0",
    "Registers of a GPU's thread that tiles leave free beside what the cost model counts">];
}

#endif // RINGLET_PASSES_ATTENTIONOPT
