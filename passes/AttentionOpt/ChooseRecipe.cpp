//===- ChooseRecipe.cpp - Which branches can be scheduled -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionOpt/ChooseRecipe.h"

#include "lib/Cost/GPUSchedule.h"
#include "passes/AttentionOpt/PlainTiling.h"
#include "passes/Recipes/Recipe.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace mlir;
using namespace ringlet;
using attn::BranchAttr;

std::string ringlet::whyNotScheduled(attn::AttentionOp op,
                                     const arch::Target &target,
                                     StringRef recipe) {
  std::string problem;
  std::optional<RecipeUse> use = parseRecipeUse(recipe, problem);
  if (!use)
    return problem;
  if (!use->recipe->whyNotAttention)
    return "expected a recipe of attention, found " + recipe.str();
  return use->recipe->whyNotAttention(op, target);
}

std::string ringlet::findAttentionRecipe(attn::AttentionOp op,
                                         const arch::Target &target,
                                         std::string &reason, bool mayMark) {
  std::string first;
  for (const Recipe &recipe : getRecipes()) {
    if (!recipe.whyNotAttention || (recipe.marksRows && !mayMark))
      continue;
    reason = recipe.whyNotAttention(op, target);
    if (reason.empty())
      return recipe.name.str();
    if (first.empty())
      first = reason;
  }
  reason = first;
  return "";
}

/// A number of rows that are loaded together.
static std::string checkRows(StringRef name, int64_t rows, int64_t step) {
  if (rows % step == 0 && rows <= cost::kMostBoxRows)
    return "";
  int64_t nearest =
      std::clamp((rows + step / 2) / step * step, step, cost::kMostBoxRows);
  return llvm::formatv(
             "expected {0} tiles of a multiple of {1} rows up to {2}, "
             "found {3}; nearest {4}",
             name, step, cost::kMostBoxRows, rows, nearest)
      .str();
}

std::string ringlet::whyNotScheduled(attn::AttentionOp op, BranchAttr branch,
                                     attn::TilingAttr tiling,
                                     const arch::Target &target) {
  StringRef recipe = tiling.getRecipe().getValue();
  std::string problem = whyNotScheduled(op, target, recipe);
  if (problem.empty())
    problem = checkRows("query", tiling.getQuery(), cost::kGroupRows);
  if (problem.empty())
    problem = checkRows("key", tiling.getKey(), cost::kKeyStep);
  if (!problem.empty())
    return problem;
  cost::GPUCore core = getGPUCore(*target.gpu, op, /*spare=*/0);
  (void)cost::findResources(core,
                            cost::forwardTiles(getBranchShape(op, branch),
                                               tiling.getQuery(),
                                               tiling.getKey()),
                            problem);
  return problem;
}
