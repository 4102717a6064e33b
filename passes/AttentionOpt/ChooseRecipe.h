//===- ChooseRecipe.h - Which branches can be scheduled -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONOPT_CHOOSERECIPE_H
#define RINGLET_PASSES_ATTENTIONOPT_CHOOSERECIPE_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Arch/Target.h"

#include <string>

namespace ringlet {

/// What the option `recipe` asks for.
struct RecipeRequest {
  /// Null if recipes are chosen or forbidden.
  std::optional<attn::Recipe> forced;
  bool isAuto = false;

  bool isPlain() const { return !forced && !isAuto; }
};

/// Reads "auto", "plain" or the name of a recipe; `error` lists them.
std::optional<RecipeRequest> parseRecipeRequest(llvm::StringRef name,
                                                std::string &error);

/// Why no kernel of `op` can follow a recipe on `target`, or "".
std::string whyNotScheduled(attn::AttentionOp op, const arch::Target &target);

/// The same for a tiling of `branch` that has been chosen before.
std::string whyNotScheduled(attn::AttentionOp op, attn::BranchAttr branch,
                            attn::TilingAttr tiling,
                            const arch::Target &target);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONOPT_CHOOSERECIPE_H
