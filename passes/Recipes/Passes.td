//===- Passes.td - recipes and their passes ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_RECIPES
#define RINGLET_PASSES_RECIPES

include "mlir/Pass/PassBase.td"

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
