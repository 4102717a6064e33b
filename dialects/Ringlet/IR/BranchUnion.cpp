//===- BranchUnion.cpp - Branches that one kernel computes -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/BranchUnion.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::attn;

/// A kernel has a list of keys with a part for each branch or two.
static constexpr size_t mostBranches = 16;
/// A grid has a point for each residue, and numbers of rows stay small.
static constexpr int64_t greatestRate = 4096;
/// So that the ends of segments fit in 64 bits.
static constexpr int64_t longestSegment = int64_t(1) << 60;

/// Whether no head has two branches.
static bool areHeadsApart(AttentionOp op) {
  SmallVector<std::pair<int64_t, int64_t>> ranges;
  for (BranchAttr branch : op.getBranchRange())
    ranges.push_back(
        {branch.getHeadBegin(), branch.getHeadEnd(op.getQueryHeads())});
  llvm::sort(ranges);
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second)
      return false;
  return true;
}

/// One kernel has one softmax for each row.
static std::string whyNotOneSoftmax(AttentionOp op) {
  if (op.getMix() == Mix::Softmax)
    return "";
  if (!areHeadsApart(op))
    return "expected one softmax for all branches, or branches of different "
           "heads, found mix = sum and heads of several (R2)";
  if (op.getSink())
    return "expected one softmax for all branches, or no sink, found mix = sum "
           "and one (R2, R3)";
  return "";
}

std::string attn::whyNotUnion(AttentionOp op) {
  size_t count = op.getBranches().size();
  if (count < 2 || count > mostBranches)
    return llvm::formatv("expected 2 to {0} branches, found {1}", mostBranches,
                         count)
        .str();
  if (std::string reason = whyNotOneSoftmax(op); !reason.empty())
    return reason;
  if (rlayout::getRing(op.getQuery().getType()))
    return "expected all keys in one place, found a ring, whose branches have "
           "chunks of their own (G1)";
  for (auto [index, branch] : llvm::enumerate(op.getBranchRange()))
    if (branch.isRuntimeW() || branch.isRuntimeR())
      return llvm::formatv(
                 "expected a known w and r, found '?' in branch {0} (B1)",
                 index)
          .str();
  if (op.getOrdinalOrder())
    return "expected ordinals that are positions, found a pattern_order (O2)";
  if (op.getGridWindow())
    return "expected keys that follow each other, found a grid_window (B5)";
  if (op.getBlockMask())
    return "expected no block_mask: its blocks are those of one branch's tiles "
           "(B6)";
  int64_t rate = 1;
  for (BranchAttr branch : op.getBranchRange()) {
    if (!branch.isUnbounded() && branch.getW() > longestSegment)
      return llvm::formatv(
                 "expected segments of at most 2^60 positions, found {0} (B1)",
                 branch.getW())
          .str();
    if (branch.getR() > greatestRate)
      return llvm::formatv("expected dilations of at most {0}, found {1} (B1)",
                           greatestRate, branch.getR())
          .str();
    rate = std::lcm(rate, branch.getR());
    if (rate > greatestRate)
      return llvm::formatv("expected dilations with a common multiple of at "
                           "most {0}, found at least {1} (B1)",
                           greatestRate, rate)
          .str();
  }
  int64_t width = getUnionShape(op).width;
  if (width != layout::unboundedSegment && width < rate)
    return llvm::formatv(
               "expected segments whose common divisor is at least the common "
               "multiple of all dilations, {0}, found {1} (B1)",
               rate, width)
        .str();
  return "";
}

std::string attn::whyNotApart(AttentionOp op) {
  if (size_t count = op.getBranches().size(); count < 2)
    return llvm::formatv("expected 2 branches at least, found {0}", count)
        .str();
  if (!areHeadsApart(op))
    return "expected branches of different heads, found heads of several";
  if (rlayout::getRing(op.getQuery().getType()))
    return "expected all keys in one place, found a ring, whose branches have "
           "chunks of their own (G1)";
  return "";
}

/// Whether all heads have all branches, and a head's residue modulo an r is
/// that modulo each divisor of it (B2).
static bool doResiduesNest(AttentionOp op) {
  auto first = cast<BranchAttr>(op.getBranches()[0]);
  return llvm::all_of(op.getBranchRange(), [&](BranchAttr branch) {
    bool isForAll = branch.hasEveryHead(op.getQueryHeads());
    bool isAlike = branch.getOffset() == first.getOffset() &&
                   branch.getOffset() != OffsetRule::Block &&
                   (branch.getOffset() == OffsetRule::Constant
                        ? branch.getConstant() == first.getConstant()
                        : branch.getBy() == first.getBy());
    return isForAll && isAlike;
  });
}

layout::UnionShape attn::getUnionShape(AttentionOp op) {
  std::vector<layout::UnionBranch> branches;
  for (BranchAttr branch : op.getBranchRange())
    branches.push_back(
        {branch.isUnbounded() ? layout::unboundedSegment : branch.getW(),
         branch.getR()});
  return layout::UnionShape(std::move(branches), doResiduesNest(op));
}

BranchAttr attn::getAtoms(AttentionOp op) {
  layout::UnionShape shape = getUnionShape(op);
  bool isOne = shape.width == layout::unboundedSegment;
  return BranchAttr::get(
      op.getContext(), isOne ? BranchAttr::kUnbounded : shape.width, shape.rate,
      OffsetRule::Modulo, /*constant=*/0, HeadKind::Key, /*headBegin=*/0,
      BranchAttr::kAllHeads, Padding::None);
}
