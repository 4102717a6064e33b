//===- AttentionForward.h - Where its recipes apply -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_RECIPES_ATTENTIONFORWARD_H
#define RINGLET_PASSES_RECIPES_ATTENTIONFORWARD_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Arch/Target.h"

#include <string>

namespace ringlet {

/// Why no kernel of `op` can follow a recipe of forward attention on `target`,
/// or "".
std::string whyNotForwardAttention(attn::AttentionOp op,
                                   const arch::Target &target);

} // namespace ringlet

#endif // RINGLET_PASSES_RECIPES_ATTENTIONFORWARD_H
