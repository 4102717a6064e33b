//===- Recipe.cpp - The table of recipes -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Recipes/Recipe.h"

#include "lib/Cost/GPUSchedule.h"
#include "passes/Recipes/AttentionForward.h"
#include "passes/Recipes/Passes.h"
#include "passes/Recipes/SoftmaxLoops.h"
#include "passes/TileOpt/Passes.h"

#include "mlir/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ringlet;

//===----------------------------------------------------------------------===//
// The recipes
//===----------------------------------------------------------------------===//

static void addCleanUp(OpPassManager &pm) {
  pm.addPass(createRTileFlushSums());
  pm.addPass(createRTileGuardMasks());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

static constexpr RecipeParameter pipelineParameters[] = {
    {"stages", "by how many steps products may run late", 0, 3, 1},
    {"reload", "whether a tile is loaded again for a late product (1)", 0, 1,
     0},
    {"parts", "in how many parts of its columns a tile is computed", 1, 2, 2},
};

static void addPipelined(OpPassManager &pm, ArrayRef<int64_t> values) {
  pm.addPass(createRTilePeelFirstTile());
  pm.addPass(createRTileFuseScale());
  pm.addPass(createRTileAssignStages({values[0], values[1] != 0}));
  pm.addPass(createRTilePipelineLoops());
  if (values[2] > 1)
    pm.addPass(createRTileSplitColumns());
  addCleanUp(pm);
}

static void addForwardOverlap(OpPassManager &pm, ArrayRef<int64_t>) {
  pm.addPass(createRTileScaleScores());
  addPipelined(pm, {1, 0, 2});
}

static constexpr RecipeParameter lazyParameters[] = {
    {"stages", "by how many steps the product with values runs late", 0, 1, 1},
    {"parts", "in how many parts of its columns a tile is computed", 1, 2, 2},
};

static void addForwardLazy(OpPassManager &pm, ArrayRef<int64_t> values) {
  pm.addPass(createRTileScaleScores());
  pm.addPass(createRTilePeelFirstTile());
  pm.addPass(createRTileLazyReference());
  pm.addPass(createRTileFuseScale());
  pm.addPass(createRTileAssignStages({values[0], /*reload=*/false}));
  pm.addPass(createRTilePipelineLoops());
  if (values[1] > 1)
    pm.addPass(createRTileSplitColumns());
  addCleanUp(pm);
}

static std::string whyNotPipelined(rtile::FuncOp func) {
  bool hasProduct =
      func.walk([](rtile::DotOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  return hasProduct ? "" : "expected products of tiles, found none";
}

std::string ringlet::whyNotGroupDot(rtile::DotOp dot) {
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  auto rhs = cast<RankedTensorType>(dot.getRhs().getType());
  std::string reason;
  llvm::raw_string_ostream text(reason);
  if (lhs.getElementTypeBitWidth() != 16 ||
      lhs.getElementType() != rhs.getElementType())
    text << "expected operands of products of one type of 16 bits, found "
         << lhs << " and " << rhs;
  else if (lhs.getDimSize(0) % cost::kGroupRows != 0)
    text << "expected left operands of a multiple of " << cost::kGroupRows
         << " rows, found " << lhs;
  return reason;
}

static constexpr Recipe recipes[] = {
    {"fa_fwd_lazy",
     "attention, forward: the maximum of a row's first tile measures all of "
     "its weights, products run beside other work",
     lazyParameters, whyNotForwardAttention,
     /*isGeneral=*/false, /*marksRows=*/true, whyNotSoftmaxLoops,
     addForwardLazy},
    {"fa_fwd_overlap",
     "attention, forward: a running maximum, products run beside other work",
     {},
     whyNotForwardAttention,
     /*isGeneral=*/false,
     /*marksRows=*/false,
     whyNotSoftmaxLoops,
     addForwardOverlap},
    {"pipelined",
     "any kernel with products of tiles: those behind others run a step late, "
     "beside other work",
     pipelineParameters,
     /*whyNotAttention=*/nullptr,
     /*isGeneral=*/true, /*marksRows=*/false, whyNotPipelined, addPipelined},
};

ArrayRef<Recipe> ringlet::getRecipes() { return recipes; }

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static std::string listNames(std::string list) {
  for (const Recipe &recipe : recipes)
    list += (list.empty() ? "" : ", ") + recipe.name.str();
  return list;
}

std::string ringlet::listRecipeRequests() { return listNames("auto, plain"); }

/// Reads "name=value ..." into values that hold what is standard.
static std::string readValues(const Recipe &recipe, StringRef text,
                              MutableArrayRef<int64_t> values) {
  SmallVector<StringRef> pairs;
  llvm::SplitString(text, pairs);
  for (StringRef pair : pairs) {
    auto [name, number] = pair.split('=');
    const auto *parameter =
        llvm::find_if(recipe.parameters, [name = name](const auto &known) {
          return known.name == name;
        });
    if (parameter == recipe.parameters.end()) {
      std::string names;
      for (const RecipeParameter &known : recipe.parameters)
        names += (names.empty() ? "" : ", ") + known.name.str();
      return "expected " +
             (names.empty() ? "no parameters" : "one of " + names) +
             " of recipe " + recipe.name.str() + ", found '" + name.str() + "'";
    }
    int64_t value;
    if (number.getAsInteger(10, value) || value < parameter->least ||
        value > parameter->most)
      return llvm::formatv(
                 "expected {0} of recipe {1} in [{2}, {3}], found '{4}'", name,
                 recipe.name, parameter->least, parameter->most, number)
          .str();
    values[parameter - recipe.parameters.begin()] = value;
  }
  return "";
}

/// `names` is what else there could have been.
static std::optional<RecipeUse> parse(StringRef text, StringRef names,
                                      std::string &error) {
  auto [name, rest] = text.split('{');
  bool hasValues = name.size() != text.size();
  for (const Recipe &recipe : recipes) {
    if (recipe.name != name)
      continue;
    if (hasValues && !rest.consume_back("}")) {
      error = "expected NAME or NAME{parameter=value ...}, found '" +
              text.str() + "'";
      return std::nullopt;
    }
    RecipeUse use{&recipe, {}};
    for (const RecipeParameter &parameter : recipe.parameters)
      use.values.push_back(parameter.standard);
    error = readValues(recipe, rest, use.values);
    return error.empty() ? std::optional(use) : std::nullopt;
  }
  error = "expected one of " + names.str() + ", found '" + text.str() + "'";
  return std::nullopt;
}

std::optional<RecipeUse> ringlet::parseRecipeUse(StringRef text,
                                                 std::string &error) {
  return parse(text, listNames(""), error);
}

std::optional<RecipeRequest> ringlet::parseRecipeRequest(StringRef text,
                                                         std::string &error) {
  RecipeRequest request;
  request.isAuto = text == "auto";
  if (request.isAuto || text == "plain")
    return request;
  if (!parse(text, listRecipeRequests(), error))
    return std::nullopt;
  request.forced = text;
  return request;
}

std::optional<RecipeUse> ringlet::findRecipe(rtile::FuncOp func,
                                             std::string &reason) {
  std::optional<RecipeUse> use = parseRecipeUse(*func.getRecipe(), reason);
  if (!use)
    return std::nullopt;
  reason = use->recipe->whyNotKernel(func);
  if (!reason.empty())
    return std::nullopt;
  return use;
}
