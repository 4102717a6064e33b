//===- FoldTables.cpp - Tables that are known at compile time -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Plan/IR/PlanDialect.h"
#include "passes/PlanOpt/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RPLANFOLDTABLES
#include "passes/PlanOpt/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

constexpr int64_t mostTokens = int64_t(1) << 20, mostNumbers = 1 << 15;

/// Nothing if the call has to tell some of them.
std::optional<layout::TileSizes> getSizes(rplan::TileIndexOp op) {
  layout::TileSizes sizes;
  for (auto [value, size] :
       {std::pair<Value, int64_t *>{op.getQueryLength(), &sizes.queryLength},
        {op.getQueryOffset(), &sizes.queryOffset},
        {op.getKeyLength(), &sizes.keyLength},
        {op.getTiles(), &sizes.tiles},
        {op.getSegments(), &sizes.segments},
        {op.getFirstSegment(), &sizes.firstSegment}}) {
    APInt constant;
    if (!matchPattern(value, m_ConstantInt(&constant)))
      return std::nullopt;
    *size = constant.getSExtValue();
  }
  return sizes;
}

LogicalResult fold(rplan::TileIndexOp op) {
  std::optional<layout::TileSizes> sizes = getSizes(op);
  if (!sizes)
    return success();
  layout::TilePattern pattern = op.getPattern();
  std::string error = layout::TileIndex::validate(pattern, *sizes);
  if (!error.empty())
    return op.emitOpError() << error;
  int64_t volume = pattern.order ? pattern.order->period() : 0;
  if (std::max({sizes->queryLength, sizes->keyLength, volume}) > mostTokens)
    return success();
  std::optional<std::vector<int64_t>> table =
      layout::TileIndex(pattern, *sizes).table(mostNumbers);
  if (!table)
    return success();
  OpBuilder builder(op);
  auto type = RankedTensorType::get({static_cast<int64_t>(table->size())},
                                    builder.getI64Type());
  remark::passed(
      op.getLoc(),
      remark::RemarkOpts::name("FoldTables").category("rplan-fold-tables"))
      << llvm::formatv("the artefact carries the key tiles that queries see, "
                       "{0} numbers",
                       table->size())
             .str();
  auto constant = rplan::ConstantOp::create(
      builder, op.getLoc(), op.getType(),
      DenseElementsAttr::get(type, ArrayRef<int64_t>(*table)));
  op.replaceAllUsesWith(constant.getResult());
  op.erase();
  return success();
}

struct FoldTables : ringlet::impl::RPlanFoldTablesBase<FoldTables> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk(
        [](rplan::TileIndexOp op) { return WalkResult(fold(op)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
