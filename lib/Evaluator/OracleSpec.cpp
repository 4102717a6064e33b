//===- OracleSpec.cpp - An attention in the oracle's terms ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Evaluator/OracleSpec.h"

#include "dialects/Ringlet/IR/TilePattern.h"

using namespace mlir;
using namespace ringlet;

static oracle::Branch toOracle(attn::BranchAttr branch, int64_t queryHeads,
                               ArrayRef<int64_t> &sizes) {
  auto resolve = [&](int64_t value, bool isRuntime) {
    if (!isRuntime)
      return value;
    value = sizes.front();
    sizes = sizes.drop_front();
    return value;
  };
  oracle::Branch result;
  if (!branch.isUnbounded())
    result.segment = resolve(branch.getW(), branch.isRuntimeW());
  result.dilation = resolve(branch.getR(), branch.isRuntimeR());
  result.offset = attn::toLayout(branch.getOffset());
  result.constant = branch.getConstant();
  result.offsetByQuery = branch.getBy() == attn::HeadKind::Query;
  if (!branch.hasAllHeads())
    result.heads = {branch.getHeadBegin(), branch.getHeadEnd(queryHeads)};
  result.countsPadding = branch.countsPadding();
  return result;
}

oracle::AttentionSpec ringlet::toOracle(attn::AttentionOp op,
                                        ArrayRef<int64_t> sizes) {
  oracle::AttentionSpec spec;
  for (attn::BranchAttr branch : op.getBranchRange())
    spec.branches.push_back(::toOracle(branch, op.getQueryHeads(), sizes));
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
  if (auto block = op.getBlockSize())
    spec.blockMask = {(*block)[0], (*block)[1]};
  if (auto order = op.getPatternOrder())
    spec.patternOrder = order->getSpec();
  if (op.getMix() == attn::Mix::Sum)
    spec.mix = oracle::Mix::Sum;
  auto read = [](std::optional<APFloat> value) -> std::optional<double> {
    if (!value)
      return std::nullopt;
    return value->convertToDouble();
  };
  spec.outputScale = read(op.getOutputScale());
  spec.scale = read(op.getScale());
  spec.softcap = read(op.getSoftcap());
  spec.precision = op.getProductPrecision();
  return spec;
}
