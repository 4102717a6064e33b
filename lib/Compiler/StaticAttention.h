//===- StaticAttention.h - Attention without runtime values ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_STATICATTENTION_H
#define RINGLET_LIB_COMPILER_STATICATTENTION_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Plot/PatternPlot.h"

namespace ringlet {

/// Which keys the queries of an attention see, if all that this depends on is
/// constant. Else nothing, and in `error` why nobody can `use` it.
std::optional<plot::Attention> readStaticAttention(attn::AttentionOp op,
                                                   llvm::StringRef use,
                                                   std::string &error);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_STATICATTENTION_H
