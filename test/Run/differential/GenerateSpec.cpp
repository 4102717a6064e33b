//===- GenerateSpec.cpp - Random branches and masks -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/differential/Generate.h"

#include <algorithm>
#include <limits>

namespace ringlet::differential {

using oracle::AttentionSpec;
using oracle::Branch;

static Branch drawBranch(Dice &dice, int64_t queryHeads, int64_t length) {
  Branch branch;
  int64_t kind = dice.between(0, 99);
  if (kind < 60)
    branch.segment = dice.pick<int64_t>({1, 2, 7, 16, 50, 64, 100, 128, 256});
  else if (kind < 66)
    branch.segment = dice.pick<int64_t>(
        {4096, int64_t(1) << 40, std::numeric_limits<int64_t>::max()});
  else if (kind < 74)
    branch.segment = length + dice.between(0, 1);
  int64_t widest = std::min<int64_t>(branch.segment.value_or(1000), 1000);
  branch.dilation = dice.percent(45)
                        ? 1
                        : dice.pick<int64_t>({2, 2, 3, 4, 4, 5, 7, 8, 16, 61});
  branch.dilation = std::min(branch.dilation, widest);
  if (dice.oneIn(20))
    branch.dilation = widest;
  if (!branch.segment && dice.oneIn(12))
    branch.dilation = int64_t(1) << 40;
  branch.offset =
      dice.pick({layout::OffsetRule::Modulo, layout::OffsetRule::Block,
                 layout::OffsetRule::Constant});
  if (branch.offset == layout::OffsetRule::Constant)
    branch.constant = dice.between(-9, 40);
  branch.offsetByQuery = dice.oneIn(3);
  if (dice.oneIn(4)) {
    int64_t begin = dice.between(0, queryHeads - 1);
    branch.heads =
        oracle::HeadRange{begin, dice.between(begin + 1, queryHeads)};
  }
  return branch;
}

AttentionSpec drawSpec(Dice &dice, int64_t queryHeads, int64_t length) {
  AttentionSpec spec;
  int64_t branches = dice.pick<int64_t>({1, 1, 1, 1, 2, 2, 2, 3, 3, 4});
  for (int64_t i = 0; i < branches; ++i)
    spec.branches.push_back(drawBranch(dice, queryHeads, length));
  spec.causal = dice.oneIn(2);
  if (dice.oneIn(3)) {
    auto side = [&]() -> std::optional<int64_t> {
      if (dice.oneIn(4))
        return std::nullopt;
      return dice.pick<int64_t>(
          {0, 1, 5, 31, 64, 100, std::numeric_limits<int64_t>::max()});
    };
    spec.windowLeft = side();
    spec.windowRight = side();
  }
  if (dice.oneIn(4)) {
    spec.mix = oracle::Mix::Sum;
    if (dice.oneIn(2))
      spec.outputScale = dice.pick({0.25, 0.5, -1.25, 3.0});
  }
  if (dice.oneIn(3))
    spec.scale = dice.pick({0.05, 0.2, 0.125, -0.1, 0.0});
  return spec;
}

/// Whether one kernel can compute branches of these segments and dilations.
static bool isUnionPossible(const AttentionSpec &spec) {
  for (const Branch &branch : spec.branches)
    if (branch.dilation > 128 ||
        branch.segment.value_or(1) > (int64_t(1) << 60))
      return false;
  layout::UnionShape shape = unionOf(spec);
  return shape.rate <= 128 &&
         (shape.width == layout::unboundedSegment || shape.rate <= shape.width);
}

bool drawUnion(Dice &dice, AttentionSpec &spec, int64_t heads, bool hasSink) {
  bool isSum = spec.mix == oracle::Mix::Sum;
  if (dice.oneIn(2) || spec.patternOrder || spec.gridWindow || spec.blockMask ||
      (isSum && (hasSink || heads < 2)))
    return false;
  if (!isSum && spec.branches.size() > 1 && dice.oneIn(4))
    // Whatever they are: segments of any lengths have few rows in common.
    return isUnionPossible(spec);
  Branch like = spec.branches[0];
  int64_t count = dice.between(2, isSum ? std::min<int64_t>(heads, 4) : 4);
  int64_t width = dice.pick<int64_t>({12, 16, 24, 32, 50, 64}), rate = 1;
  std::vector<Branch> branches;
  for (int64_t i = 0; i < count; ++i) {
    Branch &branch = branches.emplace_back(like);
    if (static_cast<size_t>(i) < spec.branches.size()) {
      branch.heads = spec.branches[i].heads;
      branch.offset = spec.branches[i].offset;
      branch.constant = spec.branches[i].constant;
      branch.offsetByQuery = spec.branches[i].offsetByQuery;
    }
    // What is added up has different heads.
    if (isSum)
      branch.heads =
          oracle::HeadRange{i * heads / count, (i + 1) * heads / count};
    branch.segment = width;
    branch.dilation = rate;
    width *= dice.between(1, 3);
    int64_t factor = dice.between(1, 3);
    if (rate * factor <= *branches[0].segment)
      rate *= factor;
  }
  if (dice.oneIn(4))
    branches.back().segment.reset();
  spec.branches = branches;
  return true;
}

} // namespace ringlet::differential
