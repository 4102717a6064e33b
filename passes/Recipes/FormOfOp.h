//===- FormOfOp.h - What is asked of single attentions -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes of a ringlet.attention that stand in place of the options of
// ringlet-choose-tiling, and are gone behind it; the first one also of a kernel
// written by hand, for rtile-choose-recipes, where it can only be "plain".
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_RECIPES_FORMOFOP_H
#define RINGLET_PASSES_RECIPES_FORMOFOP_H

#include "llvm/ADT/StringRef.h"

namespace ringlet {

/// A string, as for the option recipe.
inline constexpr llvm::StringLiteral recipeOfOpAttr = "ringlet.recipe";
/// Two numbers as for the option spare-registers: of scheduled kernels, and of
/// those without a schedule.
inline constexpr llvm::StringLiteral spareRegistersOfOpAttr =
    "ringlet.spare_registers";

} // namespace ringlet

#endif // RINGLET_PASSES_RECIPES_FORMOFOP_H
