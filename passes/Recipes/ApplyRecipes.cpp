//===- ApplyRecipes.cpp - Run what a kernel's recipe names -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Recipes/Passes.h"
#include "passes/Recipes/Recipe.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEAPPLYRECIPES
#include "passes/Recipes/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

struct ApplyRecipes : ringlet::impl::RTileApplyRecipesBase<ApplyRecipes> {
  void runOnOperation() override {
    SmallVector<rtile::FuncOp> kernels;
    getOperation()->walk([&](rtile::FuncOp func) {
      if (func.getRecipe() && !func.getScheduled())
        kernels.push_back(func);
    });
    for (rtile::FuncOp func : kernels)
      if (failed(apply(func)))
        return signalPassFailure();
  }

  LogicalResult apply(rtile::FuncOp func);
};

} // namespace

LogicalResult ApplyRecipes::apply(rtile::FuncOp func) {
  std::string reason;
  std::optional<RecipeUse> use = parseRecipeUse(*func.getRecipe(), reason);
  if (!use)
    return func.emitOpError("recipe: ") << reason;
  reason = use->recipe->whyNotKernel(func);
  if (!reason.empty()) {
    func.removeRecipeAttr();
    remark::missed(func.getLoc(), remark::RemarkOpts::name("ApplyRecipes")
                                      .category("rtile-apply-recipes")
                                      .function(func.getSymName()))
        << (func.getSymName() + " stays plain: " + reason).str();
    return success();
  }
  OpPassManager passes(rtile::FuncOp::getOperationName());
  use->addPasses(passes);
  return runPipeline(passes, func);
}
