//===- TilePattern.cpp - What tiles of an attention see -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/TilePattern.h"

using namespace ringlet;
using namespace ringlet::attn;

layout::TilePattern attn::getTilePattern(AttentionOp op, BranchAttr branch,
                                         TilingAttr tiling) {
  layout::TilePattern pattern;
  if (!branch.isUnbounded())
    pattern.segment = branch.getW();
  pattern.rate = branch.getR();
  if (rlayout::OrderAttr order = op.getPatternOrderAttr())
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
