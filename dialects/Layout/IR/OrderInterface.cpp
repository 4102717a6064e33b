//===- OrderInterface.cpp - What an operation does to orders -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Layout/IR/OrderInterface.h"

using namespace mlir;
using namespace ringlet::rlayout;

#include "dialects/Layout/IR/OrderInterface.cpp.inc"

namespace {
/// 0 for what is no ranked tensor.
int64_t getTensorRank(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}
} // namespace

SmallVector<std::pair<Value, int64_t>>
OrderGroup::getAxes(Operation *op) const {
  SmallVector<std::pair<Value, int64_t>> axes;
  for (GroupAxis member : operands)
    axes.push_back({op->getOperand(member.number), member.axis});
  for (GroupAxis member : results)
    axes.push_back({op->getResult(member.number), member.axis});
  return axes;
}

SmallVector<OrderGroup>
ringlet::rlayout::getElementwiseOrderGroups(Operation *op) {
  SmallVector<OrderGroup> groups(
      op->getNumResults() ? getTensorRank(op->getResult(0)) : 0);
  for (auto [axis, group] : llvm::enumerate(groups)) {
    for (OpOperand &operand : op->getOpOperands())
      if (getTensorRank(operand.get()))
        group.operands.push_back(
            {operand.getOperandNumber(), static_cast<int64_t>(axis)});
    for (OpResult result : op->getResults())
      group.results.push_back(
          {result.getResultNumber(), static_cast<int64_t>(axis)});
  }
  return groups;
}

SmallVector<OrderGroup> ringlet::rlayout::getFixedOrderGroups(Operation *op) {
  SmallVector<OrderGroup> groups;
  for (OpOperand &operand : op->getOpOperands())
    for (int64_t axis : llvm::seq(getTensorRank(operand.get())))
      groups.push_back({{{operand.getOperandNumber(), axis}}, {}, true});
  for (OpResult result : op->getResults())
    for (int64_t axis : llvm::seq(getTensorRank(result)))
      groups.push_back({{}, {{result.getResultNumber(), axis}}, true});
  return groups;
}
