//===- SplitKV.h - Kernels for few queries, by the cost model ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONOPT_SPLITKV_H
#define RINGLET_PASSES_ATTENTIONOPT_SPLITKV_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Arch/Target.h"

#include <string>

namespace ringlet {

/// Why an attention has no kernels for few queries; empty if it may.
std::string whyNotSplitKV(attn::AttentionOp op);
/// Why its kernels for few queries have no recipe, whatever the target; empty
/// if they may.
std::string whyNotSplitWithRecipe(attn::AttentionOp op);
/// The query heads of a key head whose rows may share a tile: all, if each
/// branch has either all of them or none and gives them one residue; else 1.
int64_t getHeadsOfTile(attn::AttentionOp op);

/// Whether an attention gets kernels for few queries, and why.
struct SplitKVChoice {
  /// Null if it gets none; else those for the fewest queries come first.
  mlir::ArrayAttr splits;
  std::string reason;
};

/// The choice for an attention that has its tilings, which are for `branches`.
/// Tiles leave so many registers of a GPU's thread free. `mayHaveRecipe` is
/// false where kernels are to be plain.
SplitKVChoice chooseSplitKV(attn::AttentionOp op,
                            llvm::ArrayRef<attn::BranchAttr> branches,
                            const arch::Target &target, int64_t spareRegisters,
                            bool mayHaveRecipe);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONOPT_SPLITKV_H
