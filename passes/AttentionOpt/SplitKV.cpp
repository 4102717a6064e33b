//===- SplitKV.cpp - Kernels for few queries, by the cost model -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionOpt/SplitKV.h"

#include "lib/Cost/GPUSchedule.h"
#include "passes/AttentionOpt/ChooseRecipe.h"
#include "passes/AttentionOpt/PlainTiling.h"

using namespace mlir;
using namespace ringlet;

std::string ringlet::whyNotSplitKV(attn::AttentionOp op) {
  if (op.isPacked())
    return "sequences are packed (S2)";
  if (op.getOrdinalOrder())
    return "keys follow a pattern order (O2)";
  if (op.getGridWindow())
    return "keys follow a window on a grid (B5)";
  if (op.getMix() == attn::Mix::Sum)
    return "each branch has a softmax of its own (R2)";
  if (rlayout::getRing(op.getQuery().getType()))
    return "keys are on a ring, and come in chunks (G1)";
  return "";
}

/// The copy engine brings what lies behind the last key as it is (S2), and
/// nobody computes rows again that it makes NaN: there must be nothing.
std::string ringlet::whyNotSplitWithRecipe(attn::AttentionOp op) {
  if (op.getBranches().size() != 1)
    return "expected one branch";
  if (!(*op.getBranchRange().begin()).isUnbounded())
    return "expected no segments, behind which others lie";
  if (op.getKeyLengths())
    return "expected sequences as long as the tensor (S2)";
  if (op.getQOffset() && (op.getCausal() || op.getWindow()))
    return "expected queries that end with the keys (S2)";
  return "";
}

int64_t ringlet::getHeadsOfTile(attn::AttentionOp op) {
  int64_t group = op.getQueryHeads() / op.getKeyHeads();
  for (attn::BranchAttr branch : op.getBranchRange()) {
    if (branch.getHeadBegin() % group != 0 ||
        branch.getHeadEnd(op.getQueryHeads()) % group != 0)
      return 1;
    bool isDilated = branch.isRuntimeR() || branch.getR() != 1;
    if (isDilated && branch.getOffset() != attn::OffsetRule::Constant &&
        branch.getBy() == attn::HeadKind::Query)
      return 1;
  }
  return group;
}

namespace {

/// What tiles for many queries take on a GPU.
struct ManyQueries {
  int64_t rows, bytes;
  double cyclesPerScore;

  ManyQueries(const cost::GPUCore &core, attn::AttentionOp op,
              const cost::BranchShape &shape, attn::TilingAttr tiling)
      : rows(tiling.getQuery()),
        bytes(op.getQuery().getType().getElementTypeBitWidth() / 8),
        cyclesPerScore(
            tiling.getRecipe()
                ? cost::chooseSchedule(core, shape).cyclesPerScore
                : cost::estimate(core, shape, bytes, rows, tiling.getKey())
                      .cyclesPerScore) {}
};

} // namespace

/// What one branch asks for.
static cost::KeySplit choose(attn::AttentionOp op, attn::BranchAttr branch,
                             attn::TilingAttr tiling,
                             const arch::Target &target,
                             int64_t spareRegisters) {
  int64_t group = op.getQueryHeads() / op.getKeyHeads();
  int64_t heads = getHeadsOfTile(op);
  cost::BranchShape shape = getBranchShape(op, branch);
  if (target.cpu) {
    Type element = op.getQuery().getType().getElementType();
    cost::CPUCore core =
        cost::CPUCore::of(*target.cpu, element.isBF16(), element.isF32());
    return cost::chooseSplit(
        core, shape,
        cost::estimate(core, shape, tiling.getQuery(), tiling.getKey()), group,
        heads);
  }
  cost::GPUCore core = getGPUCore(*target.gpu, op, spareRegisters);
  ManyQueries many(core, op, shape, tiling);
  return cost::chooseSplit(core, shape, many.bytes, many.rows,
                           many.cyclesPerScore, group, heads);
}

/// What plain kernels for more queries add, and `low` is then for fewer.
static std::vector<cost::KeySplit> chooseTall(attn::AttentionOp op,
                                              attn::BranchAttr branch,
                                              const arch::Target &target,
                                              int64_t spareRegisters,
                                              cost::KeySplit &low) {
  cost::BranchShape shape = getBranchShape(op, branch);
  cost::GPUCore core = getGPUCore(*target.gpu, op, spareRegisters);
  ManyQueries many(core, op, shape, op.getTilingOf(0));
  std::optional<cost::KeySplit> tall = cost::chooseTallSplit(
      core, shape, many.bytes, many.rows, many.cyclesPerScore,
      op.getQueryHeads() / op.getKeyHeads(), low);
  if (!tall)
    return {};
  return {*tall};
}

/// What kernels of a recipe add for more queries than `low` is then for.
static std::vector<cost::KeySplit> chooseScheduled(attn::AttentionOp op,
                                                   attn::BranchAttr branch,
                                                   const arch::Target &target,
                                                   cost::KeySplit &low,
                                                   std::string &recipe) {
  std::string problem;
  if (!whyNotSplitWithRecipe(op).empty())
    return {};
  recipe = findAttentionRecipe(op, target, problem, /*mayMark=*/false);
  if (recipe.empty())
    return {};
  return cost::chooseSplits(getGPUCore(*target.gpu, op, /*spare=*/0),
                            getBranchShape(op, branch), low,
                            op.getQueryHeads() / op.getKeyHeads());
}

SplitKVChoice ringlet::chooseSplitKV(attn::AttentionOp op,
                                     ArrayRef<attn::BranchAttr> branches,
                                     const arch::Target &target,
                                     int64_t spareRegisters,
                                     bool mayHaveRecipe) {
  int64_t queries = op.getQuery().getType().getDimSize(op.getSequenceAxis());
  std::string problem = whyNotSplitKV(op);
  if (!problem.empty())
    return {{}, problem};
  // What all branches ask for.
  cost::KeySplit chosen = {};
  for (auto [index, branch] : llvm::enumerate(branches)) {
    attn::TilingAttr tiling = op.getTilingOf(index);
    cost::KeySplit split = choose(op, branch, tiling, target, spareRegisters);
    // Others may have asked for so many registers, and no tile of few rows
    // leaves them.
    if (split.rows == 0 && spareRegisters != 0)
      split = choose(op, branch, tiling, target, /*spareRegisters=*/0);
    if (index == 0 || split.queries < chosen.queries)
      chosen = split;
  }
  std::string recipe;
  std::vector<cost::KeySplit> taller;
  bool mayBeTaller = target.gpu && op.getBranches().size() == 1;
  if (mayBeTaller && mayHaveRecipe)
    taller = chooseScheduled(op, branches.front(), target, chosen, recipe);
  if (mayBeTaller && taller.empty())
    taller = chooseTall(op, branches.front(), target, spareRegisters, chosen);
  SplitKVChoice choice;
  SmallVector<Attribute> splits;
  int64_t before = 0, keys = op.getKeyRows();
  auto add = [&](const cost::KeySplit &split, StringRef recipe) {
    choice.reason += choice.reason.empty() ? "" : "; ";
    choice.reason += cost::explain(split);
    if (!recipe.empty())
      choice.reason += ", recipe " + recipe.str();
    bool isForOthers =
        !ShapedType::isDynamic(queries) &&
        (queries > split.queries || (before && queries <= before));
    bool areFew = !ShapedType::isDynamic(keys) && keys < split.fewestKeys;
    if (split.queries > before && !isForOthers && !areFew)
      splits.push_back(attn::SplitKVAttr::get(
          op.getContext(), split.rows, split.key, split.heads, split.part,
          split.queries, split.manyParts, split.fewestKeys, split.mergeColumns,
          split.mergeStates, target.gpu ? mostKeysOfSum : 0, split.points,
          recipe.empty() ? StringAttr()
                         : StringAttr::get(op.getContext(), recipe),
          split.fewestParts));
    before = std::max(before, split.queries);
  };
  add(chosen, "");
  for (const cost::KeySplit &split : taller)
    add(split, recipe);
  if (!splits.empty())
    choice.splits = ArrayAttr::get(op.getContext(), splits);
  return choice;
}
