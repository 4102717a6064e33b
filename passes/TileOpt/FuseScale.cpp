//===- FuseScale.cpp - Scale scores in the subtraction -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/TileDialect.h"
#include "passes/TileOpt/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <optional>

namespace ringlet {
#define GEN_PASS_DEF_RTILEFUSESCALE
#include "passes/TileOpt/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

RankedTensorType getTile(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

/// `x * scale` with one positive number for all elements of an f32 tile.
struct Scaled {
  Value tile, scale;
  APFloat number;

  static std::optional<Scaled> match(Value value) {
    auto product = value.getDefiningOp<arith::MulFOp>();
    RankedTensorType type = getTile(value);
    if (!product || !type || !type.getElementType().isF32())
      return std::nullopt;
    for (unsigned side : {1, 0}) {
      DenseElementsAttr factor;
      if (!matchPattern(product->getOperand(side), m_Constant(&factor)) ||
          !factor.isSplat())
        continue;
      APFloat number = factor.getSplatValue<APFloat>();
      if (number.isFiniteNonZero() && !number.isNegative())
        return Scaled{product->getOperand(1 - side), product->getOperand(side),
                      number};
    }
    return std::nullopt;
  }
};

/// select(c, x * s, -inf) is select(c, x, -inf) * s.
bool sink(arith::SelectOp select) {
  std::optional<Scaled> product = Scaled::match(select.getTrueValue());
  DenseElementsAttr hidden;
  if (!product || !matchPattern(select.getFalseValue(), m_Constant(&hidden)) ||
      !hidden.isSplat())
    return false;
  APFloat value = hidden.getSplatValue<APFloat>();
  if (!value.isInfinity() || !value.isNegative())
    return false;
  ImplicitLocOpBuilder builder(select.getLoc(), select);
  Value kept = arith::SelectOp::create(builder, select.getCondition(),
                                       product->tile, select.getFalseValue());
  Value scaled = arith::MulFOp::create(builder, kept, product->scale);
  select.getResult().replaceAllUsesWith(scaled);
  select.erase();
  return true;
}

/// The greatest of x * s is the greatest of x, times s: rounding keeps order.
bool sink(rtile::ReduceOp reduce) {
  std::optional<Scaled> product = Scaled::match(reduce.getInput());
  if (!product || reduce.getKind() == rtile::ReduceKind::sum)
    return false;
  ImplicitLocOpBuilder builder(reduce.getLoc(), reduce);
  auto rows = cast<RankedTensorType>(reduce.getType());
  Value extreme =
      rtile::ReduceOp::create(builder, rows, reduce.getKind(), product->tile);
  Value scale = arith::ConstantOp::create(
      builder, DenseElementsAttr::get(rows, product->number));
  Value scaled = arith::MulFOp::create(builder, extreme, scale);
  reduce.getResult().replaceAllUsesWith(scaled);
  reduce.erase();
  return true;
}

/// x * s - y in one rounding.
bool contract(arith::SubFOp difference) {
  std::optional<Scaled> product = Scaled::match(difference.getLhs());
  if (!product)
    return false;
  ImplicitLocOpBuilder builder(difference.getLoc(), difference);
  // The negation belongs to rows where those are made wide.
  Value right = difference.getRhs(), negated;
  auto wide = right.getDefiningOp<rtile::BroadcastOp>();
  if (wide)
    negated = rtile::BroadcastOp::create(
        builder, wide.getType(),
        arith::NegFOp::create(builder, wide.getInput()), wide.getColumns());
  else
    negated = arith::NegFOp::create(builder, right);
  Value fused =
      math::FmaOp::create(builder, product->tile, product->scale, negated);
  difference.getResult().replaceAllUsesWith(fused);
  difference.erase();
  if (wide && wide->use_empty())
    wide.erase();
  return true;
}

/// Returns the number of fused multiply-adds.
int64_t fuseScale(rtile::FuncOp func) {
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (op->getNumResults() == 1 && getTile(op->getResult(0)))
      ops.push_back(op);
  });
  int64_t count = 0;
  // Operations come before those that use them.
  for (Operation *op : ops) {
    if (auto select = dyn_cast<arith::SelectOp>(op))
      sink(select);
    else if (auto reduce = dyn_cast<rtile::ReduceOp>(op))
      sink(reduce);
    else if (auto difference = dyn_cast<arith::SubFOp>(op))
      count += contract(difference);
  }
  SmallVector<arith::MulFOp> products;
  func.walk([&](arith::MulFOp product) { products.push_back(product); });
  for (arith::MulFOp product : llvm::reverse(products))
    if (getTile(product) && product->use_empty())
      product.erase();
  return count;
}

struct FuseScale : ringlet::impl::RTileFuseScaleBase<FuseScale> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      // What is scheduled went through here while it was plain.
      int64_t count = func.getScheduled() ? 0 : fuseScale(func);
      if (count)
        remark::passed(func.getLoc(), remark::RemarkOpts::name("FuseScale")
                                          .category("rtile-fuse-scale")
                                          .function(func.getSymName()))
            << llvm::formatv("{0}: {1} differences of scaled scores are one "
                             "multiply-add each",
                             func.getSymName(), count)
                   .str();
    });
  }
};

} // namespace
