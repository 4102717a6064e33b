//===- Passes.td - recipes and their passes ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_RECIPES
#define RINGLET_PASSES_RECIPES

include "mlir/Pass/PassBase.td"

def RTileChooseRecipes : Pass<"rtile-choose-recipes"> {
  let summary = "Give kernels that name no recipe a general one";
  let description = [{
    For kernels written by hand: those of graphs get theirs with their tiles
    (`ringlet-choose-tiling`). On a target that runs scheduled kernels every
    plain kernel without a recipe gets the first one that keeps the meaning of
    any kernel and applies to it, or with `recipe=NAME` that one. Whether the
    kernel can then be scheduled shows when it is tried.
  }];
  let options = [Option<"level", "level", "std::string",
    /*default=*/"\"x86-64-v3\"", "Row of the table of CPU levels or of GPU architectures">,
    Option<"recipe", "recipe", "std::string",
    /*default=*/"\"auto\"", "plain, the name of a recipe, or auto to choose">];
}

def RTileApplyRecipes : Pass<"rtile-apply-recipes"> {
  let summary = "Run the passes of the recipe that a kernel names";
  let description = [{
    A recipe is a name with an entry in `passes/Recipes/Recipe.cpp`: what it
    applies to, its passes, its parameters. Every plain kernel that names one
    gets these passes, which make a plain kernel of it again. A kernel that the
    recipe is not for loses its name and stays as it is; the remark says why. A
    name that is not known is an error.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

def RTilePeelFirstTile : Pass<"rtile-peel-first-tile"> {
  let summary = "Walk key tiles from last to first, the last outside of loops";
  let description = [{
    For rows of loops over an `rtile.run` that are `rtile.unordered`, as
    `rtile-split-masked-loops` leaves them. The last tile of the run, which may
    be cut by the end of the keys, is taken first and always, masked, outside of
    the loops: even an empty run has this step, and no row sees a key in it. The
    loops after it take the other steps from last to first: masked ones, whole
    ones, and, under a left window, masked ones again. What the loops carry, and
    from what it starts, is not looked at.

    So it is for loops over the places of a list that are `rtile.unordered` and
    begin at a constant: one without masks and a masked one that goes on where it
    ends, and whose steps ask whether their place comes before that, or a masked
    one alone. Their first step is taken outside, by the masked body; if there is
    none, its mask hides all keys.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def RTileScaleScores : Pass<"rtile-scale-scores"> {
  let summary = "Make scores exponents of 2 before their maximum";
  let description = [{
    A streaming softmax measures scores in a unit, and its weights are
    2^(exponent * (score - maximum)). This makes them 2^(score - maximum): scores
    are multiplied by `exponent` in front of the maximum, which
    `rtile-fuse-scale` then makes part of the difference. Behind the loops the
    maximum is in its unit again.

    For kernels that mark rows whose maximum is beyond 2^16 as an exponent. There
    the difference of an exact product and a rounded maximum is no longer small
    beside 1; in the end it overflows, and before it the product with `exponent`
    does.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RTileLazyReference : Pass<"rtile-lazy-reference"> {
  let summary = "Measure a row's weights by the maximum of its first tile";
  let description = [{
    For kernels that stream a softmax, after `rtile-peel-first-tile`. In the
    first step, what is 0 before it goes away. The loops lose the running maximum
    and all that scales by it. Sums stay in 8 columns until the loops end
    (`rtile.fold`), and rows whose sums exceed 2^16 (2^10 where weights are
    rounded to f16) are moved to another reference (`rtile.rebase`). Where a step
    takes them beyond 2^64, too many digits of exponents are lost for the row's
    lse.

    A row whose weights this form cannot hold, or cannot hold with all digits,
    ends with a sum that is not between 2^-60 and infinity.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def RTileAssignStages : Pass<"rtile-assign-stages"> {
  let summary = "Say which products of a loop run a step later";
  let description = [{
    Software pipelining is two passes: this one gives the operations of loops a
    stage and a cluster (`#rtile.stage`), `rtile-pipeline-loops` moves them.

    A product whose operands are made of another product of its step gets stage
    1, and so do the loads that only it needs and what is made of it; with
    `most-stage`, up to that number for products behind products behind others.
    Its cluster is the one behind the products that begin the step. A step that
    was peeled off in front of a row of loops gets the same stages.

    With `reload`, a tile that products of several stages need is loaded for each
    of them; without it, no product of such a loop runs later.

    Example: `%weights` comes from `%scores`, so the product with the values
    becomes `stage<1, cluster = 1>`, and its load as well.

    ```mlir
    rtile.func @example(%X: memref<?x32xbf16, strided<[?, 1]>>, %Y: memref<?x32xf32, strided<[?, 1]>>, %n: index) grid(%i: index) {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %zero = arith.constant dense<0.0> : tensor<32x32xf32>
      %x = rtile.view %X[*, *] : memref<?x32xbf16, strided<[?, 1]>> to !rtile.view<32x32xbf16>
      %y = rtile.view %Y[*, *] : memref<?x32xf32, strided<[?, 1]>> to !rtile.view<32x32xf32>
      %q = rtile.load %x[%i, %c0] : !rtile.view<32x32xbf16>
      %sum = scf.for %j = %c0 to %n step %c32 iter_args(%before = %zero) -> (tensor<32x32xf32>) {
        %k = rtile.load %x[%j, %c0] : !rtile.view<32x32xbf16>
        %scores = rtile.dot %q, %k transposed : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
        %weights = arith.truncf %scores : tensor<32x32xf32> to tensor<32x32xbf16>
        %v = rtile.load %x[%j, %c0] : !rtile.view<32x32xbf16>
        %next = rtile.dot %weights, %v init(%before) : tensor<32x32xbf16>, tensor<32x32xbf16> -> tensor<32x32xf32>
        scf.yield %next : tensor<32x32xf32>
      }
      rtile.store %sum, %y[%i, %c0] : !rtile.view<32x32xf32>
      rtile.return
    }
    ```
  }];
  let options = [Option<"mostStage", "most-stage", "int64_t", "1",
    "The latest stage of an operation">,
    Option<"reload", "reload", "bool", "false",
    "Load tiles again for products of a later stage">];
}

def RTilePipelineLoops : Pass<"rtile-pipeline-loops"> {
  let summary = "Make prologue, steady loop and epilogue of loops with stages";
  let description = [{
    Runs operations of stage s in the pass of the loop that begins the step s
    later (`#rtile.stage`). The loop carries what operations of a stage need from
    earlier ones; in front of it stands what the first step has in early stages,
    behind it what the last one has in late ones.

    In a row of loops, each of which goes on from the one before, the first step
    of a loop does what is late in the last step of the loop before, if late
    operations are alike in all of them and in a step that stands in front, made
    by `rtile-peel-first-tile`. The loops may then have any number of steps, none
    as well. Without such a step every loop gets a prologue and an epilogue of
    its own, in an `scf.if` that asks whether it has a step.

    Stages that would make an operation run before one that it needs are refused,
    with a remark, and the loop stays as it is.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def RTileSplitColumns : Pass<"rtile-split-columns"> {
  let summary = "Compute tiles between products in two parts of the columns";
  let description = [{
    What happens in a loop between the first product and the rounding of what is
    made of it is done for the left columns first and then for the right ones,
    each a multiple of 16 of them. Half a tile needs half the registers, and what
    ends under the left half, a product under way, need not be waited for before
    the whole tile.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RTileGuardMasks : Pass<"rtile-guard-masks"> {
  let summary = "Skip the mask of a last key tile that is whole";
  let description = [{
    For kernels in which every query sees every key. The tile
    outside of the loops (see `rtile-peel-first-tile`) needs a mask only if some
    of its rows do not exist: the mask moves into an `scf.if` that asks
    `rtile.run`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // RINGLET_PASSES_RECIPES
