//===- Recipe.h - Ways to schedule a kernel -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recipe makes a plain kernel that is easy to schedule of a plain kernel. It
// is a name in the IR (`recipe = "NAME"`, or `recipe =
// "NAME{parameter=value}"`) and an entry of the table in Recipe.cpp, and of
// nothing else: dialects, options and interfaces hold names as text.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_RECIPES_RECIPE_H
#define RINGLET_PASSES_RECIPES_RECIPE_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Arch/Target.h"

#include "mlir/Pass/PassManager.h"

#include <string>

namespace ringlet {

/// A number that a recipe can be given, from `least` to `most`.
struct RecipeParameter {
  llvm::StringRef name, summary;
  int64_t least, most, standard;
};

struct Recipe {
  llvm::StringRef name, summary;
  llvm::ArrayRef<RecipeParameter> parameters;
  /// Why no kernel of the attention can follow the recipe on the target, or "".
  /// Null for recipes that are not for attention.
  std::string (*whyNotAttention)(attn::AttentionOp, const arch::Target &);
  /// Whether it keeps the meaning of any kernel that it applies to, so that
  /// kernels that name no recipe may be tried with it.
  bool isGeneral;
  /// Whether it computes some rows too coarsely, and marks them, so that
  /// another kernel has to compute them again.
  bool marksRows;
  /// Why the plain kernel cannot follow the recipe, or "".
  std::string (*whyNotKernel)(rtile::FuncOp);
  /// Adds passes that run on an `rtile.func`, from plain to plain. There is a
  /// value for each parameter.
  void (*addPasses)(mlir::OpPassManager &, llvm::ArrayRef<int64_t> values);
};

/// Why warp groups cannot multiply the operands of `dot`, whatever a recipe
/// makes of the kernel, or "".
std::string whyNotGroupDot(rtile::DotOp dot);

/// All recipes; those that are tried first come first.
llvm::ArrayRef<Recipe> getRecipes();

/// A recipe with a value for each of its parameters.
struct RecipeUse {
  const Recipe *recipe = nullptr;
  llvm::SmallVector<int64_t> values;

  void addPasses(mlir::OpPassManager &pm) const {
    recipe->addPasses(pm, values);
  }
};

/// Reads "NAME" or "NAME{parameter=value ...}". Otherwise `error` says what was
/// expected, with the names that there are.
std::optional<RecipeUse> parseRecipeUse(llvm::StringRef text,
                                        std::string &error);

/// What an option or an attribute asks for.
struct RecipeRequest {
  /// Empty if recipes are chosen or forbidden.
  std::string forced;
  bool isAuto = false;

  bool isPlain() const { return forced.empty() && !isAuto; }
};

/// Reads "auto", "plain" or what parseRecipeUse() reads.
std::optional<RecipeRequest> parseRecipeRequest(llvm::StringRef text,
                                                std::string &error);

/// "auto, plain, " and the names of all recipes, as help texts list them.
std::string listRecipeRequests();

/// The recipe of a kernel that has one and can follow it; else the reason.
std::optional<RecipeUse> findRecipe(rtile::FuncOp func, std::string &reason);

} // namespace ringlet

#endif // RINGLET_PASSES_RECIPES_RECIPE_H
