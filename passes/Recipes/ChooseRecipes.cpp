//===- ChooseRecipes.cpp - Recipes of kernels written by hand -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Recipes/FormOfOp.h"
#include "passes/Recipes/Passes.h"
#include "passes/Recipes/Recipe.h"

#include "mlir/IR/Remarks.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILECHOOSERECIPES
#include "passes/Recipes/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

struct ChooseRecipes : ringlet::impl::RTileChooseRecipesBase<ChooseRecipes> {
  using Base::Base;

  void runOnOperation() override {
    std::string error;
    arch::Target target = arch::lookupTarget(level, &error);
    std::optional<RecipeRequest> request;
    if (target)
      request = parseRecipeRequest(recipe, error);
    if (!request) {
      emitError(getOperation()->getLoc()) << error;
      return signalPassFailure();
    }
    bool hasRoles =
        !request->isPlain() && target.gpu && target.gpu->hasScheduledForm();
    // Beside kernels that are scheduled already, plain ones were left plain.
    getOperation()->walk(
        [&](rtile::FuncOp func) { hasRoles &= !func.getScheduled(); });
    getOperation()->walk([&](rtile::FuncOp func) {
      // A kernel that did not fit with a recipe is told to stay plain.
      bool isPlain = func->removeAttr(recipeOfOpAttr) != nullptr;
      if (!isPlain && !func.getRecipe() && !func.getSchedule() &&
          !func.getScheduled() && hasRoles)
        choose(func, *request);
    });
  }

  void choose(rtile::FuncOp func, const RecipeRequest &request);
};

} // namespace

void ChooseRecipes::choose(rtile::FuncOp func, const RecipeRequest &request) {
  auto options = remark::RemarkOpts::name("ChooseRecipes")
                     .category("rtile-choose-recipes")
                     .function(func.getSymName());
  std::string name = func.getSymName().str(), reason;
  StringRef forced = StringRef(request.forced).split('{').first;
  // Whoever names a recipe hears of it where the kernel is to be scheduled.
  func.walk([&](rtile::DotOp dot) {
    if (reason.empty() && request.isAuto)
      reason = whyNotGroupDot(dot);
  });
  for (const Recipe &known : getRecipes()) {
    if (!reason.empty())
      break;
    if (!known.isGeneral || (!request.isAuto && known.name != forced))
      continue;
    reason = known.whyNotKernel(func);
    if (!reason.empty())
      continue;
    func.setRecipe(request.isAuto ? known.name : StringRef(request.forced));
    remark::passed(func.getLoc(), options)
        << (name + ": recipe " + func.getRecipe()->str());
    return;
  }
  if (!reason.empty())
    remark::missed(func.getLoc(), options)
        << (name + " stays plain: " + reason);
}
