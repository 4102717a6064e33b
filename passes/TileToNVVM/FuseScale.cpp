//===- FuseScale.cpp - Scale scores in the subtraction -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEFUSESCALE
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

/// The factor of a product of an f32 tile with one positive number, or none.
std::optional<APFloat> getScale(arith::MulFOp product) {
  RankedTensorType tile = getTile(product);
  DenseElementsAttr factor;
  if (!tile || !tile.getElementType().isF32() ||
      !matchPattern(product.getRhs(), m_Constant(&factor)) || !factor.isSplat())
    return std::nullopt;
  APFloat scale = factor.getSplatValue<APFloat>();
  if (!scale.isFiniteNonZero() || scale.isNegative())
    return std::nullopt;
  return scale;
}

/// The operand that is made by such a product, or null.
arith::MulFOp getScaled(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  return product && getScale(product) ? product : nullptr;
}

/// select(c, x * s, -inf) is select(c, x, -inf) * s.
bool sink(arith::SelectOp select) {
  arith::MulFOp product = getScaled(select.getTrueValue());
  DenseElementsAttr hidden;
  if (!product || !matchPattern(select.getFalseValue(), m_Constant(&hidden)) ||
      !hidden.isSplat())
    return false;
  APFloat value = hidden.getSplatValue<APFloat>();
  if (!value.isInfinity() || !value.isNegative())
    return false;
  ImplicitLocOpBuilder builder(select.getLoc(), select);
  Value kept = arith::SelectOp::create(
      builder, select.getCondition(), product.getLhs(), select.getFalseValue());
  Value scaled = arith::MulFOp::create(builder, kept, product.getRhs());
  select.getResult().replaceAllUsesWith(scaled);
  select.erase();
  return true;
}

/// The greatest of x * s is the greatest of x, times s: rounding keeps order.
bool sink(rtile::ReduceOp reduce) {
  arith::MulFOp product = getScaled(reduce.getInput());
  if (!product || reduce.getKind() == rtile::ReduceKind::sum)
    return false;
  ImplicitLocOpBuilder builder(reduce.getLoc(), reduce);
  auto rows = cast<RankedTensorType>(reduce.getType());
  Value extreme = rtile::ReduceOp::create(builder, rows, reduce.getKind(),
                                          product.getLhs());
  Value scale = arith::ConstantOp::create(
      builder, DenseElementsAttr::get(rows, *getScale(product)));
  Value scaled = arith::MulFOp::create(builder, extreme, scale);
  reduce.getResult().replaceAllUsesWith(scaled);
  reduce.erase();
  return true;
}

/// x * s - y in one rounding.
bool contract(arith::SubFOp difference) {
  arith::MulFOp product = getScaled(difference.getLhs());
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
      math::FmaOp::create(builder, product.getLhs(), product.getRhs(), negated);
  difference.getResult().replaceAllUsesWith(fused);
  difference.erase();
  if (wide && wide->use_empty())
    wide.erase();
  return true;
}

struct FuseScale : ringlet::impl::RTileFuseScaleBase<FuseScale> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      // What is scheduled was fused by the recipe as it wants it.
      if (!func.getScheduled())
        fuse(func);
    });
  }

  void fuse(rtile::FuncOp func) {
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
    if (count)
      remark::passed(func.getLoc(), remark::RemarkOpts::name("FuseScale")
                                        .category("rtile-gpu-fuse-scale"))
          << func.getSymName().str() << ": " << std::to_string(count)
          << " differences of scaled scores are one multiply-add each";
  }
};

} // namespace
