//===- BranchSizes.cpp - w and r of branches on the host -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/BranchSizes.h"

#include "passes/AttentionToTile/Sequences.h"

#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace mlir;
using namespace ringlet;

/// No position is nearly that far away from 0, and the ends of a few segments
/// behind all positions, which a grid may have, still fit in 64 bits.
static constexpr int64_t longestSegment = kMaxOffset + kMaxOffset / 2;

/// Most kernels of branches that differ in nothing but what a kernel can be
/// told. Each takes a good part of a second to compile.
static constexpr size_t mostKernels = 16;

int64_t BranchSizes::getW() const {
  if (!w)
    return 0;
  return areOperands ? ShapedType::kDynamic
                     : getConstant(w).value_or(ShapedType::kDynamic);
}

int64_t BranchSizes::getR() const {
  return areOperands ? ShapedType::kDynamic
                     : getConstant(r).value_or(ShapedType::kDynamic);
}

bool BranchSizes::areKnown() const {
  return !ShapedType::isDynamic(getW()) && !ShapedType::isDynamic(getR());
}

/// Whether branches, of which each has kernels, have so many different values
/// of something that kernels are to be told it.
template <typename Get>
static bool haveMany(attn::AttentionOp op, const Get &get) {
  if (op.isUnion())
    return false;
  std::set<decltype(get(*op.getBranchRange().begin()))> known;
  for (attn::BranchAttr branch : op.getBranchRange())
    known.insert(get(branch));
  return known.size() > mostKernels;
}

SmallVector<BranchSizes>
ringlet::requireSizes(HostPlan &plan, attn::AttentionOp op,
                      function_ref<Value(Value)> read) {
  SmallVector<BranchSizes> result;
  bool areOperands = haveMany(op, [](attn::BranchAttr branch) {
    return std::pair(branch.getW(), branch.getR());
  });
  bool haveManyHeads = haveMany(
      op, [](attn::BranchAttr branch) { return branch.getHeadBegin(); });
  bool areManyAdded = op.getMix() == attn::Mix::Sum && !op.isUnion() &&
                      op.getBranches().size() > mostKernels;
  auto next = op.getSizes().begin();
  for (auto [index, branch] : llvm::enumerate(op.getBranchRange())) {
    std::string of = llvm::formatv(" of branch {0}", index).str();
    BranchSizes sizes;
    sizes.areOperands = areOperands;
    if (haveManyHeads)
      sizes.firstHead = plan.constant(branch.getHeadBegin());
    if (areManyAdded)
      sizes.number = plan.constant(static_cast<int64_t>(index));
    if (branch.isRuntimeW())
      sizes.w = read(*next++);
    else if (!branch.isUnbounded())
      sizes.w = plan.constant(branch.getW());
    sizes.r =
        branch.isRuntimeR() ? read(*next++) : plan.constant(branch.getR());
    if (sizes.w)
      plan.requireAtMost(plan.constant(1), sizes.w,
                         "expected w" + of + " of at least 1", "B1");
    plan.requireAtMost(plan.constant(1), sizes.r,
                       "expected r" + of + " of at least 1", "B1");
    if (sizes.w)
      plan.requireAtMost(sizes.r, sizes.w,
                         "expected r" + of + " of at most its w", "B1");
    plan.requireAtMost(sizes.r, plan.constant(kMaxDilation),
                       "expected r" + of + " of at most 2^40", "B1");
    // Shorter by whole dilations: rows before position 0 lie in the segment
    // that ends there, and keep their residue.
    if (sizes.w) {
      Value excess = plan.max(plan.constant(0),
                              plan.sub(sizes.w, plan.constant(longestSegment)));
      if (getConstant(excess) != 0)
        sizes.w =
            plan.sub(sizes.w, plan.mul(plan.ceilDiv(excess, sizes.r), sizes.r));
    }
    result.push_back(sizes);
  }
  return result;
}
