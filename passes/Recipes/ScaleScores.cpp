//===- ScaleScores.cpp - Scores that are exponents of 2 -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Recipes/Passes.h"
#include "passes/Recipes/SoftmaxLoops.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"

#include <limits>
#include <vector>

namespace ringlet {
#define GEN_PASS_DEF_RTILESCALESCORES
#include "passes/Recipes/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// The loops of one softmax and their steps.
struct ScaledLoops {
  LoopRow loops;
  std::vector<SoftmaxStep> steps;
  double exponent = 1;
};

std::optional<ScaledLoops> matchScaledLoops(rtile::FuncOp func,
                                            std::string &why) {
  ScaledLoops match;
  match.loops = getKernelLoops(func);
  if (match.loops.empty()) {
    why = "expected loops over the keys, found none";
    return std::nullopt;
  }
  for (scf::ForOp loop : match.loops) {
    auto step = matchSoftmaxLoop(loop, &why);
    if (!step)
      return std::nullopt;
    match.steps.push_back(*step);
  }
  match.exponent = match.steps.front().getExponent();
  for (const SoftmaxStep &step : match.steps)
    if (step.getExponent() != match.exponent) {
      why = "expected one exponent in all loops, found several";
      return std::nullopt;
    }
  return match;
}

bool isLowest(Value maximum) {
  return isSplat(maximum, -std::numeric_limits<float>::max());
}

/// Measures what others left in exponents, too; the lowest maximum stays.
void scaleMaximum(scf::ForOp first, double exponent) {
  OpOperand &init = first.getInitArgsMutable()[kMaximum];
  Value maximum = init.get();
  if (isLowest(maximum))
    return;
  ImplicitLocOpBuilder builder(maximum.getLoc(), first);
  auto type = cast<RankedTensorType>(maximum.getType());
  Value unit = createSplat(builder, "exponent", exponent, type);
  auto choice = maximum.getDefiningOp<arith::SelectOp>();
  bool mayBeLowest = choice && isLowest(choice.getFalseValue());
  Value left = mayBeLowest ? choice.getTrueValue() : maximum;
  Value scaled = arith::MulFOp::create(builder, left, unit);
  if (mayBeLowest)
    scaled = arith::SelectOp::create(builder, choice.getCondition(), scaled,
                                     choice.getFalseValue());
  init.set(scaled);
}

/// Constants stand before `first`, the first of the loops, where a step may be
/// peeled off.
void scaleStep(scf::ForOp first, SoftmaxStep &step, double exponent) {
  Value scores = step.scores ? step.scores.getResult() : step.getUnscaled();
  double factor = exponent;
  if (Value scale = step.getScale())
    factor *= *getSplat(scale);
  auto type = cast<RankedTensorType>(scores.getType());
  ImplicitLocOpBuilder builder(scores.getLoc(), first);
  Value scale = createSplat(builder, "scale", factor, type);
  builder.setInsertionPointAfterValue(scores);
  auto scaled = arith::MulFOp::create(builder, named(scores.getLoc(), "scores"),
                                      step.getUnscaled(), scale);
  scores.replaceAllUsesExcept(scaled, scaled);
  if (step.shift) {
    auto wide = step.distance.getRhs().getDefiningOp<rtile::BroadcastOp>();
    auto shifted = wide.getInput().getDefiningOp<arith::SubFOp>();
    auto rows = cast<RankedTensorType>(step.shift.getType());
    builder.setInsertionPoint(first);
    Value unit = createSplat(builder, "exponent", exponent, rows);
    builder.setInsertionPoint(shifted);
    shifted.getRhsMutable().assign(
        arith::MulFOp::create(builder, named(shifted.getLoc(), "shift"),
                              step.shift, unit)
            .getResult());
  }
  step.exponents.replaceAllUsesWith(step.distance.getResult());
  step.exponents.erase();
  step.decayExponents.replaceAllUsesWith(step.change.getResult());
  step.decayExponents.erase();
  eraseDead(*step.accumulator->getBlock());
}

/// Gives those who read the maximum behind the loops what it was. A product
/// with a constant stays one product.
void restoreMaximum(scf::ForOp last, double exponent) {
  Value maximum = last.getResult(kMaximum);
  auto type = cast<RankedTensorType>(maximum.getType());
  OpBuilder builder(last);
  builder.setInsertionPointAfter(last);
  Value inUnit;
  for (OpOperand &use : llvm::make_early_inc_range(maximum.getUses())) {
    auto product = dyn_cast<arith::MulFOp>(use.getOwner());
    std::optional<double> factor = product && use.getOperandNumber() == 0
                                       ? getSplat(product.getRhs())
                                       : std::nullopt;
    if (factor) {
      OpBuilder before(product);
      product.getRhsMutable().assign(
          createSplat(before, "unit", *factor / exponent, type));
      continue;
    }
    if (!inUnit) {
      Value unit = createSplat(builder, "unit", 1 / exponent, type);
      inUnit = arith::MulFOp::create(builder, named(last.getLoc(), "m_in_unit"),
                                     maximum, unit);
    }
    use.set(inUnit);
  }
}

struct ScaleScores : ringlet::impl::RTileScaleScoresBase<ScaleScores> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      if (func.getScheduled())
        return;
      std::string why;
      std::optional<ScaledLoops> match = matchScaledLoops(func, why);
      if (!match) {
        remark::missed(func.getLoc(), remark::RemarkOpts::name("ScaleScores")
                                          .category("rtile-scale-scores"))
            << why;
        return;
      }
      if (!match->steps.front().exponents)
        return;
      scaleMaximum(match->loops.front(), match->exponent);
      for (SoftmaxStep &step : match->steps)
        scaleStep(match->loops.front(), step, match->exponent);
      restoreMaximum(match->loops.back(), match->exponent);
      eraseDead(*match->loops.front()->getBlock());
    });
  }
};

} // namespace
