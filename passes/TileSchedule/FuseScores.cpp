//===- FuseScores.cpp - Scale and subtract in one operation -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scores are products times a scale, and weights are 2^(score - reference). If
// the scale is positive, the greatest score is the greatest product times the
// scale, rounding included, so maxima can be looked for among products and
// scale * product - reference is one operation an element.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/TileDialect.h"
#include "passes/TileSchedule/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

#include <optional>

namespace ringlet {
#define GEN_PASS_DEF_RTILEFUSESCORES
#include "passes/TileSchedule/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// The number in all elements of a constant tile of f32.
std::optional<APFloat> getSplat(Value value) {
  DenseElementsAttr elements;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.getElementType().isF32() ||
      !matchPattern(value, m_Constant(&elements)) || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<APFloat>();
}

/// `product * scale`, or -inf where a mask hides it.
struct Scores {
  Value tile;
  Value product, scale;
  arith::SelectOp masked;
};

/// Matches scores that nothing uses but maxima and differences from a row.
std::optional<Scores> matchScores(Value tile) {
  Scores scores{tile, nullptr, nullptr, tile.getDefiningOp<arith::SelectOp>()};
  Value scaled = tile;
  if (scores.masked) {
    std::optional<APFloat> hidden = getSplat(scores.masked.getFalseValue());
    scaled = scores.masked.getTrueValue();
    if (!hidden || !hidden->isInfinity() || !hidden->isNegative() ||
        !scaled.hasOneUse())
      return std::nullopt;
  }
  auto multiply = scaled.getDefiningOp<arith::MulFOp>();
  if (!multiply)
    return std::nullopt;
  scores.product = multiply.getLhs();
  scores.scale = multiply.getRhs();
  if (getSplat(scores.product))
    std::swap(scores.product, scores.scale);
  std::optional<APFloat> scale = getSplat(scores.scale);
  if (!scale || !scale->isFiniteNonZero() || scale->isNegative())
    return std::nullopt;
  for (Operation *user : tile.getUsers()) {
    if (auto reduce = dyn_cast<rtile::ReduceOp>(user);
        reduce && reduce.getKind() == rtile::ReduceKind::max)
      continue;
    auto difference = dyn_cast<arith::SubFOp>(user);
    if (!difference || difference.getLhs() != tile ||
        difference.getRhs() == tile)
      return std::nullopt;
    auto row = difference.getRhs().getDefiningOp<rtile::BroadcastOp>();
    if (!row || row.getColumns())
      return std::nullopt;
  }
  return scores;
}

void fuse(Scores &scores) {
  Operation *place = scores.tile.getDefiningOp();
  OpBuilder builder(place);
  Location loc = place->getLoc();
  Value product = scores.product;
  if (scores.masked)
    product =
        arith::SelectOp::create(builder, loc, scores.masked.getCondition(),
                                product, scores.masked.getFalseValue());
  for (Operation *user : llvm::make_early_inc_range(scores.tile.getUsers())) {
    builder.setInsertionPoint(user);
    if (auto reduce = dyn_cast<rtile::ReduceOp>(user)) {
      auto type = cast<RankedTensorType>(reduce.getResult().getType());
      Value greatest = rtile::ReduceOp::create(builder, user->getLoc(),
                                               rtile::ReduceKind::max, product);
      Value scale = arith::ConstantOp::create(
          builder, scores.scale.getLoc(),
          DenseElementsAttr::get(type, *getSplat(scores.scale)));
      reduce.getResult().replaceAllUsesWith(
          arith::MulFOp::create(builder, user->getLoc(), greatest, scale));
    } else {
      auto difference = cast<arith::SubFOp>(user);
      auto wide = difference.getRhs().getDefiningOp<rtile::BroadcastOp>();
      Value negated =
          arith::NegFOp::create(builder, wide.getLoc(), wide.getInput());
      Value negatedWide = rtile::BroadcastOp::create(
          builder, wide.getLoc(), wide.getResult().getType(), negated,
          /*columns=*/false);
      difference.getResult().replaceAllUsesWith(math::FmaOp::create(
          builder, user->getLoc(), product, scores.scale, negatedWide));
      if (wide.getResult().hasOneUse()) {
        user->erase();
        wide.erase();
        continue;
      }
    }
    user->erase();
  }
  Operation *scaled =
      scores.masked ? scores.masked.getTrueValue().getDefiningOp() : nullptr;
  place->erase();
  if (scaled)
    scaled->erase();
}

struct FuseScores : ringlet::impl::RTileFuseScoresBase<FuseScores> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      if (!func.getRecipe() || func.getScheduled())
        return;
      llvm::SetVector<Value> tiles;
      func.walk([&](arith::SubFOp op) { tiles.insert(op.getLhs()); });
      int64_t count = 0;
      for (Value tile : tiles)
        if (std::optional<Scores> scores = matchScores(tile)) {
          fuse(*scores);
          ++count;
        }
      if (count)
        remark::passed(func.getLoc(), remark::RemarkOpts::name("FuseScores")
                                          .category("rtile-fuse-scores"))
            << (func.getSymName() + ": maxima of " + std::to_string(count) +
                (count == 1 ? " tile" : " tiles") +
                " are looked for before the scale is multiplied, in the "
                "operation that subtracts them")
                   .str();
    });
  }
};

} // namespace
