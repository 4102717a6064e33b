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

/// Why no kernel of `op` can follow that recipe on `target`, or "".
std::string whyNotScheduled(attn::AttentionOp op, const arch::Target &target,
                            llvm::StringRef recipe);

/// The first recipe that a kernel of `op` can follow on `target`, be it that
/// marks rows or, if `mayMark` is false, one that does not; else "" and why
/// not.
std::string findAttentionRecipe(attn::AttentionOp op,
                                const arch::Target &target, std::string &reason,
                                bool mayMark = true);

/// Why it cannot with a tiling of `branch` that names a recipe, or "".
std::string whyNotScheduled(attn::AttentionOp op, attn::BranchAttr branch,
                            attn::TilingAttr tiling,
                            const arch::Target &target);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONOPT_CHOOSERECIPE_H
