//===- OracleBranch.cpp - Attention in the oracle's terms ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/OracleBranch.h"

using namespace mlir;
using namespace ringlet;

oracle::Branch ringlet::toOracle(attn::BranchAttr branch, int64_t queryHeads) {
  oracle::Branch result;
  if (!branch.isUnbounded())
    result.segment = branch.getW();
  result.dilation = branch.getR();
  switch (branch.getOffset()) {
  case attn::OffsetRule::Modulo:
    result.offset = layout::OffsetRule::Modulo;
    break;
  case attn::OffsetRule::Block:
    result.offset = layout::OffsetRule::Block;
    break;
  case attn::OffsetRule::Constant:
    result.offset = layout::OffsetRule::Constant;
    result.constant = branch.getConstant();
    break;
  }
  result.offsetByQuery = branch.getBy() == attn::HeadKind::Query;
  if (!branch.hasAllHeads())
    result.heads = {branch.getHeadBegin(),
                    branch.getHeadEnd() == attn::BranchAttr::kAllHeads
                        ? queryHeads
                        : branch.getHeadEnd()};
  return result;
}

std::optional<plot::Attention>
ringlet::toOracle(attn::AttentionOp op, StringRef use, std::string &error) {
  // What is an operand is known when the program runs, not here.
  for (auto [value, name, rule] :
       {std::tuple{op.getQOffset() != nullptr, "q_offset", "S1"},
        {op.getQueryLengths() != nullptr, "lengths", "S2"},
        {op.isPacked(), "packed", "S2"},
        {!op.getSizes().empty(), "sizes", "B1"},
        {op.getBlockMask() != nullptr, "block_mask", "B6"}})
    if (value) {
      error = "expected an attention without runtime values to " + use.str() +
              ", found " + name + " (" + rule + "); leave it out or " +
              use.str() + " a case of it";
      return std::nullopt;
    }
  plot::Attention result;
  result.queries = op.getQuery().getType().getDimSize(1);
  result.keys = op.getKey().getType().getDimSize(1);
  if (ShapedType::isDynamic(result.queries) ||
      ShapedType::isDynamic(result.keys)) {
    error = "expected sequences of a static length to " + use.str() +
            ", found ?; write one, as in tensor<1x256x8x64xf32>";
    return std::nullopt;
  }
  result.queryHeads = op.getQueryHeads();
  result.keyHeads = op.getKeyHeads();

  oracle::AttentionSpec &spec = result.spec;
  for (attn::BranchAttr branch : op.getBranchRange())
    spec.branches.push_back(toOracle(branch, result.queryHeads));
  spec.causal = op.getCausal();
  if (auto window = op.getWindow()) {
    if ((*window)[0] >= 0)
      spec.windowLeft = (*window)[0];
    if ((*window)[1] >= 0)
      spec.windowRight = (*window)[1];
  }
  if (auto window = op.getGridWindow())
    spec.gridWindow = {{window->getGrid().begin(), window->getGrid().end()},
                       {window->getReach().begin(), window->getReach().end()}};
  if (auto order = op.getPatternOrder())
    spec.patternOrder = order->getSpec();
  return result;
}
