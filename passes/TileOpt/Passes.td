//===- Passes.td - passes from rtile to rtile ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILEOPT
#define RINGLET_PASSES_TILEOPT

include "mlir/Pass/PassBase.td"

def RTileSplitMaskedLoops : Pass<"rtile-split-masked-loops"> {
  let summary = "Split off the steps of a key loop that need no mask";
  let description = [{
    A loop over the keys of an `rtile.run`, from `begin` to `end`, masks its
    scores with `rtile.visible`. The steps from `wholeBegin` to `wholeEnd` need
    no mask, so the loop becomes up to three: masked steps before (only a left
    window makes any), unmasked steps, masked steps after. A loop over an
    `rtile.list` becomes two: its whole tiles come first, unless its view of keys
    says `within`, of which an index knows nothing. What a mask says of blocks
    (rule B6) stays in every loop. Values do not change.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def RTileFuseScale : Pass<"rtile-fuse-scale"> {
  let summary = "Scale scores in the subtraction of their maximum";
  let description = [{
    A score times a positive constant `s` costs an instruction of its own,
    `x * s - m` costs none: it is one multiply-add. So the scale moves from
    scores to where it is free:

      * `select(c, x * s, -inf)` becomes `select(c, x, -inf) * s`, which is the
        same;
      * the maximum (minimum) of `x * s` becomes that of `x`, times `s`: the
        same, as rounding keeps order;
      * `x * s - y` becomes `math.fma`, which rounds once instead of twice.

    In kernels of a recipe before products run late and columns are split.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def RTileFlushSums : Pass<"rtile-flush-sums"> {
  let summary = "Put long sums of a softmax aside now and then";
  let description = [{
    Where an `rtile.totals` names memory for that, loops behind it move what they
    have summed over its `keys` (or up to twice as many) there, at the end of a
    step, and go on from 0; behind them it is added again. So no more weights are
    added to one number one after the other, and the error of a sum does not grow
    with the number of keys. A step that moves nothing pays for one comparison;
    shorter loops never do.

    The loops may carry a running maximum or a reference that `rtile.rebase`
    moves, and products that run late: a sum is known by what a step does to it.
    Runs after the passes of a recipe, which know no conditions on a state, and
    before all others.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

def RTileMergeLoops : Pass<"rtile-merge-loops"> {
  let summary = "Make one loop of two that do the same one after the other";
  let description = [{
    A loop from `a` to `b` and one from `b` to `c` with the same step and body, the
    second going on with all that the first yields, become one from `a` to `c`. It
    has to be known that `b` is a number of whole steps from `a` and not below it,
    as whole and masked tiles of an `rtile.run` are.

    In the role of a scheduled kernel that copies tiles the loops over whole and
    over masked tiles are such. Below `rtile-verify-schedule`, which counts the
    turns of the loops of all roles together.
  }];
}

def RTileLowerRuns : Pass<"rtile-lower-runs"> {
  let summary = "Write runs, lists and bounds as index arithmetic";
  let description = [{
    Which rows a view has, and which keys a tile of queries sees, follows from
    sizes, segments and rates by division (`rtile.bounds` and `rtile.run`, rules
    B3 and B4), or is read from a table (`rtile.list`) or from a mask
    (`rtile.any_block`, rule B6): `arith` on `index` and `memref.load`, whatever
    the target. `rtile.visible` stays, because the form of a mask depends on the
    target.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // RINGLET_PASSES_TILEOPT
