//===- TilePattern.cpp - What tiles of an attention see -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/TilePattern.h"

using namespace ringlet;
using namespace ringlet::attn;

layout::OffsetRule attn::toLayout(OffsetRule rule) {
  switch (rule) {
  case OffsetRule::Modulo:
    return layout::OffsetRule::Modulo;
  case OffsetRule::Block:
    return layout::OffsetRule::Block;
  case OffsetRule::Constant:
    return layout::OffsetRule::Constant;
  }
  llvm_unreachable("every offset rule is one of lib/Layout");
}

layout::ResidueRange attn::getResidues(AttentionOp op, BranchAttr branch) {
  int64_t heads = op.getQueryHeads();
  int64_t begin = branch.getHeadBegin(), end = branch.getHeadEnd(heads);
  if (branch.getBy() == HeadKind::Key) {
    int64_t share = heads / op.getKeyHeads();
    heads = op.getKeyHeads();
    begin /= share;
    end = layout::ceilDiv(end, share);
  }
  return layout::headResidues(toLayout(branch.getOffset()), begin, end, heads,
                              branch.getR(), branch.getConstant());
}

bool attn::countsPadding(AttentionOp op) {
  return llvm::any_of(op.getBranchRange(),
                      [](BranchAttr branch) { return branch.countsPadding(); });
}

layout::TilePattern attn::getTilePattern(AttentionOp op, BranchAttr branch,
                                         TilingAttr tiling) {
  layout::TilePattern pattern;
  if (!branch.isUnbounded())
    pattern.segment = branch.getW();
  pattern.rate = branch.getR();
  pattern.residues = getResidues(op, branch);
  if (rlayout::OrderAttr order = op.getOrdinalOrder())
    pattern.order = order.getOrder();
  pattern.causal = op.getCausal();
  if (std::optional<llvm::ArrayRef<int64_t>> window = op.getWindow())
    pattern.setWindow((*window)[0], (*window)[1]);
  if (std::optional<GridWindowAttr> window = op.getGridWindow()) {
    pattern.grid = window->getGrid().vec();
    pattern.reach = window->getReach().vec();
  }
  pattern.queryRows = tiling.getQuery();
  pattern.keyRows = tiling.getKey();
  return pattern;
}
