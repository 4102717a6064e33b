//===- SplitKV.cpp - Kernels for few queries, by the cost model -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionOpt/SplitKV.h"

#include "passes/AttentionOpt/PlainTiling.h"

using namespace mlir;
using namespace ringlet;

std::string ringlet::whyNotSplitKV(attn::AttentionOp op) {
  if (op.isPacked())
    return "sequences are packed (S2)";
  if (op.getPatternOrder())
    return "keys follow a pattern order (O2)";
  if (op.getGridWindow())
    return "keys follow a window on a grid (B5)";
  if (op.getMix() == attn::Mix::Sum)
    return "each branch has a softmax of its own (R2)";
  return "";
}

int64_t ringlet::getHeadsOfTile(attn::AttentionOp op) {
  int64_t group = op.getQueryHeads() / op.getKeyHeads();
  for (attn::BranchAttr branch : op.getBranchRange()) {
    if (branch.getHeadBegin() % group != 0 ||
        (!branch.hasAllHeads() && branch.getHeadEnd() % group != 0))
      return 1;
    bool isDilated = branch.isRuntimeR() || branch.getR() != 1;
    if (isDilated && branch.getOffset() != attn::OffsetRule::Constant &&
        branch.getBy() == attn::HeadKind::Query)
      return 1;
  }
  return group;
}

SplitKVChoice ringlet::chooseSplitKV(attn::AttentionOp op,
                                     ArrayRef<attn::BranchAttr> branches,
                                     const arch::Target &target) {
  int64_t queries = op.getQuery().getType().getDimSize(op.getSequenceAxis());
  std::string problem = whyNotSplitKV(op);
  if (!problem.empty())
    return {{}, problem};
  int64_t group = op.getQueryHeads() / op.getKeyHeads();
  bool isBF16 = op.getQuery().getType().getElementType().isBF16();
  cost::CPUCore core = cost::CPUCore::of(*target.cpu, isBF16);
  // What all branches ask for.
  cost::CPUSplit chosen = {};
  for (auto [index, branch] : llvm::enumerate(branches)) {
    attn::TilingAttr tiling = op.getTilingOf(index);
    cost::BranchShape shape = getBranchShape(op, branch);
    cost::CPUSplit split = cost::chooseSplit(
        core, shape,
        cost::estimate(core, shape, tiling.getQuery(), tiling.getKey()), group,
        getHeadsOfTile(op));
    if (index == 0 || split.queries < chosen.queries)
      chosen = split;
  }
  std::string reason = cost::explain(chosen);
  bool isLong = !ShapedType::isDynamic(queries) && queries > chosen.queries;
  if (chosen.queries == 0 || isLong)
    return {{}, reason};
  return {attn::SplitKVAttr::get(op.getContext(), chosen.rows, chosen.key,
                                 chosen.heads, chosen.part, chosen.queries),
          reason};
}
