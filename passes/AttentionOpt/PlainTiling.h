//===- PlainTiling.h - Tiles of plain kernels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONOPT_PLAINTILING_H
#define RINGLET_PASSES_ATTENTIONOPT_PLAINTILING_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Arch/Target.h"
#include "lib/Cost/BranchScores.h"
#include "lib/Cost/GPUTiling.h"

#include <string>

namespace ringlet {

/// What the cost model knows of a branch, as far as types tell.
cost::BranchShape getBranchShape(attn::AttentionOp op, attn::BranchAttr branch);

/// The part of all heads that have a branch.
double getHeadShare(attn::AttentionOp op, attn::BranchAttr branch);

/// The scores of an attention's branches, where they can be counted.
std::optional<cost::BranchScores> countScores(attn::AttentionOp op);

/// Keys whose weights are added up one after the other at most, or 0 where a
/// query of `branch` sees no more, as far as types say. On CPUs plain loops are
/// split (rtile-split-sums).
int64_t getPart(attn::AttentionOp op, attn::BranchAttr branch,
                const arch::Target &target);

/// Most terms of a sum, one after the other (R4).
inline constexpr int64_t mostKeysOfSum = int64_t(1) << 14;
/// Registers of a thread that moving sums to memory takes in a plain kernel.
inline constexpr int64_t registersOfTotals = 16;

/// How many keys a query may see in all branches of its head, each as often as
/// branches show it; infinity if only the call knows.
double countMostKeys(attn::AttentionOp op);

/// What it knows of a multiprocessor that works on such elements.
cost::GPUCore getGPUCore(const arch::GPUArch &row, attn::AttentionOp op,
                         int64_t spareRegisters);

/// The tiling of a branch, and why.
struct PlainTiling {
  attn::TilingAttr tiling;
  std::string reason;
  /// Estimate, of a core or a multiprocessor.
  double cyclesPerScore;
};

PlainTiling choosePlainTiling(attn::AttentionOp op, attn::BranchAttr branch,
                              const arch::Target &target,
                              int64_t spareRegisters = 0);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONOPT_PLAINTILING_H
