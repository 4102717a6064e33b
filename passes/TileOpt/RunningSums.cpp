//===- RunningSums.cpp - The sums of a streaming softmax -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A carried tile is a running sum if the way from what a step yields back to
// what the step began with leads through additions only, and through one factor
// for each row that accounts for how far the reference has moved.
//
//===----------------------------------------------------------------------===//

#include "passes/TileOpt/RunningSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ringlet;

namespace {

/// One step of a loop.
class Step {
public:
  explicit Step(scf::ForOp loop)
      : loop(loop), yield(loop.getBody()->getTerminator()) {}

  std::optional<RunningSums> match(std::string &why);

private:
  bool isReference(unsigned index);
  /// Whether `value` is the tile that the step began with, plus something, and
  /// rescaled once.
  bool isRunning(Value value, Value carried, bool isRescaled);
  bool isRescale(Value factor);

  scf::ForOp loop;
  Operation *yield;
  unsigned reference = 0;
  std::optional<double> exponent;
  /// Whether the way back led through a product of tiles.
  bool hasProduct = false;
};

/// Whether a value is the greatest of `carried` and others.
bool reachesMaximum(Value value, Value carried) {
  if (value == carried)
    return true;
  auto maximum = value.getDefiningOp<arith::MaximumFOp>();
  return maximum && (reachesMaximum(maximum.getLhs(), carried) ||
                     reachesMaximum(maximum.getRhs(), carried));
}

} // namespace

bool Step::isReference(unsigned index) {
  Value carried = loop.getRegionIterArg(index);
  Value next = yield->getOperand(index);
  if (auto rebase = next.getDefiningOp<rtile::RebaseOp>())
    return next == rebase.getNewReference() && rebase.getReference() == carried;
  return next.getDefiningOp<arith::MaximumFOp>() &&
         reachesMaximum(next, carried);
}

/// 2^(exponent * (old - new reference)), for each row or along columns.
bool Step::isRescale(Value factor) {
  if (auto wide = factor.getDefiningOp<rtile::BroadcastOp>();
      wide && !wide.getColumns())
    factor = wide.getInput();
  auto power = factor.getDefiningOp<math::Exp2Op>();
  if (!power)
    return false;
  Value change = power.getOperand();
  double found = 1;
  DenseFPElementsAttr splat;
  if (auto product = change.getDefiningOp<arith::MulFOp>();
      product && matchPattern(product.getRhs(), m_Constant(&splat)) &&
      splat.isSplat()) {
    found = splat.getSplatValue<APFloat>().convertToDouble();
    change = product.getLhs();
  }
  auto difference = change.getDefiningOp<arith::SubFOp>();
  if (!difference || difference.getLhs() != loop.getRegionIterArg(reference) ||
      difference.getRhs() != yield->getOperand(reference) ||
      exponent.value_or(found) != found)
    return false;
  exponent = found;
  return true;
}

bool Step::isRunning(Value value, Value carried, bool isRescaled) {
  if (value == carried)
    return isRescaled;
  Operation *op = value.getDefiningOp();
  if (auto sum = dyn_cast_or_null<arith::AddFOp>(op))
    return isRunning(sum.getLhs(), carried, isRescaled) ||
           isRunning(sum.getRhs(), carried, isRescaled);
  if (auto dot = dyn_cast_or_null<rtile::DotOp>(op)) {
    hasProduct = true;
    return dot.getInit() && isRunning(dot.getInit(), carried, isRescaled);
  }
  if (isRescaled)
    return false;
  if (auto product = dyn_cast_or_null<arith::MulFOp>(op))
    return (isRescale(product.getRhs()) &&
            isRunning(product.getLhs(), carried, true)) ||
           (isRescale(product.getLhs()) &&
            isRunning(product.getRhs(), carried, true));
  auto rebase = dyn_cast_or_null<rtile::RebaseOp>(op);
  if (!rebase || rebase.getNewReference() != yield->getOperand(reference) ||
      exponent.value_or(1) != 1)
    return false;
  exponent = 1;
  unsigned number = cast<OpResult>(value).getResultNumber();
  return number != 0 && isRunning(rebase->getOperand(number), carried, true);
}

std::optional<RunningSums> Step::match(std::string &why) {
  unsigned count = loop.getNumResults();
  reference = 0;
  while (reference < count && !isReference(reference))
    ++reference;
  if (reference == count) {
    why = "expected loops that carry a reference, found one without";
    return std::nullopt;
  }
  std::optional<unsigned> sum, accumulator;
  for (unsigned i = 0; i < count; ++i) {
    auto type = dyn_cast<RankedTensorType>(loop.getResult(i).getType());
    hasProduct = false;
    if (i == reference || !type || !type.getElementType().isF32() ||
        !isRunning(yield->getOperand(i), loop.getRegionIterArg(i), false))
      continue;
    std::optional<unsigned> &place = hasProduct ? accumulator : sum;
    if (place) {
      why = "expected one sum and one accumulator, found several";
      return std::nullopt;
    }
    place = i;
  }
  if (!sum || !accumulator) {
    why = "expected loops that carry a sum and an accumulator, found one that "
          "carries none that a step only adds to";
    return std::nullopt;
  }
  return RunningSums{reference, *sum, *accumulator, *exponent};
}

std::optional<RunningSums> ringlet::matchRunningSums(const LoopRow &loops,
                                                     std::string &why) {
  std::optional<RunningSums> all;
  for (scf::ForOp loop : loops) {
    if (!getConstantIntValue(loop.getStep())) {
      why = "expected loops of a constant step, found another";
      return std::nullopt;
    }
    std::optional<RunningSums> sums = Step(loop).match(why);
    if (!sums)
      return std::nullopt;
    if (all && (all->reference != sums->reference || all->sum != sums->sum ||
                all->accumulator != sums->accumulator ||
                all->exponent != sums->exponent)) {
      why = "expected loops that carry one state, found different ones";
      return std::nullopt;
    }
    all = sums;
  }
  return all;
}
