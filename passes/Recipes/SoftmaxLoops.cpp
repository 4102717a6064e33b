//===- SoftmaxLoops.cpp - Loops that stream a softmax -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Recipes/SoftmaxLoops.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace mlir;
using namespace ringlet;

/// The operand of a commutative operation that is not `known`, or null.
static Value getOther(Operation *op, Value known) {
  if (op->getOperand(0) == known)
    return op->getOperand(1);
  return op->getOperand(1) == known ? op->getOperand(0) : Value();
}

Value SoftmaxStep::getUnscaled() const {
  return capped ? Value(capped->getResult(0)) : Value(product->getResult(0));
}

Value SoftmaxStep::getScale() const {
  return scores ? getOther(scores, getUnscaled()) : Value();
}

OpOperand &SoftmaxStep::getWeightsUse() {
  return rounded ? rounded.getInMutable() : accumulator.getLhsMutable();
}

double SoftmaxStep::getExponent() const {
  return exponents ? *getSplat(exponents->getOperand(1)) : 1;
}

std::optional<double> ringlet::getSplat(Value value) {
  DenseFPElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

bool ringlet::isSplat(Value value, double number) {
  return getSplat(value) == number;
}

namespace {

std::string describe(Value value) {
  if (!value)
    return "none";
  if (Operation *op = value.getDefiningOp())
    return op->getName().getStringRef().str();
  return "a block argument";
}

/// What is multiplied with a constant, or else the left operand.
Value getScaled(arith::MulFOp product) {
  return matchPattern(product.getLhs(), m_Constant()) ? product.getRhs()
                                                      : product.getLhs();
}

class Matcher {
public:
  explicit Matcher(std::string *why) : why(why) {}

  std::optional<SoftmaxStep> match(ValueRange state, ValueRange next);

private:
  /// The operation that makes `value`, which the step needs as its `role`.
  template <typename OpTy>
  OpTy get(Value value, StringRef role) {
    auto op = value ? value.getDefiningOp<OpTy>() : OpTy();
    if (op)
      step.operations.insert(op);
    else
      fail(role, OpTy::getOperationName(), describe(value));
    return op;
  }
  bool fail(StringRef role, StringRef expected, const std::string &found) {
    if (why && why->empty())
      *why = "expected " + expected.str() + " as " + role.str() + ", found " +
             found;
    return false;
  }
  bool require(bool holds, StringRef role, StringRef expected) {
    return holds || fail(role, expected, "another form");
  }
  arith::SubFOp matchExponents(Value exponents, StringRef role,
                               arith::MulFOp &product);
  bool matchWeights(Value next);
  bool matchScores(Value masked);
  bool matchReductions(Value maximumBefore);
  bool matchFirst(ValueRange next);
  bool matchDecay(ValueRange state, ValueRange next);

  std::string *why;
  SoftmaxStep step;
};

/// A difference, times a number or not.
arith::SubFOp Matcher::matchExponents(Value exponents, StringRef role,
                                      arith::MulFOp &product) {
  product = exponents.getDefiningOp<arith::MulFOp>();
  if (!product)
    return get<arith::SubFOp>(exponents, role);
  if (!require(getSplat(product.getRhs()).has_value(), role,
               "a difference times a constant"))
    return nullptr;
  step.operations.insert(product);
  return get<arith::SubFOp>(product.getLhs(), role);
}

/// From the accumulator back to the scores below the maximum.
bool Matcher::matchWeights(Value next) {
  if (!(step.accumulator = get<rtile::DotOp>(next, "the new accumulator")) ||
      !require(!step.accumulator.getTransposed(), "the new accumulator",
               "a product that is not transposed") ||
      !(step.valueTile =
            get<rtile::LoadOp>(step.accumulator.getRhs(), "the value tile")))
    return false;
  Value weights = step.accumulator.getLhs();
  if ((step.rounded = weights.getDefiningOp<arith::TruncFOp>())) {
    step.operations.insert(step.rounded);
    weights = step.rounded.getIn();
  }
  if (!(step.weights = get<math::Exp2Op>(weights, "the weights")))
    return false;
  step.distance =
      matchExponents(step.weights.getOperand(), "the distance from the maximum",
                     step.exponents);
  if (!step.distance)
    return false;
  auto wide = get<rtile::BroadcastOp>(step.distance.getRhs(), "the maximum");
  if (!wide || !require(!wide.getColumns(), "the maximum", "one value a row"))
    return false;
  Value reference = wide.getInput();
  if (auto shifted = reference.getDefiningOp<arith::SubFOp>()) {
    step.operations.insert(shifted);
    reference = shifted.getLhs();
    step.shift = shifted.getRhs();
  }
  step.maximum = get<arith::MaximumFOp>(reference, "the new maximum");
  return step.maximum && matchScores(step.distance.getLhs());
}

bool Matcher::matchScores(Value masked) {
  Value scores = masked;
  if ((step.masked = masked.getDefiningOp<arith::SelectOp>())) {
    step.operations.insert(step.masked);
    step.seen =
        get<rtile::VisibleOp>(step.masked.getCondition(), "the mask of scores");
    if (!step.seen ||
        !require(isSplat(step.masked.getFalseValue(),
                         -std::numeric_limits<double>::infinity()),
                 "the score of a hidden key", "-inf"))
      return false;
    scores = step.masked.getTrueValue();
  }
  Value product = scores;
  if ((step.scores = scores.getDefiningOp<arith::MulFOp>())) {
    step.operations.insert(step.scores);
    product = getScaled(step.scores);
  }
  if ((step.capped = product.getDefiningOp<math::TanhOp>())) {
    step.operations.insert(step.capped);
    auto scaled =
        get<arith::MulFOp>(step.capped.getOperand(), "the scaled product");
    if (!scaled)
      return false;
    product = getScaled(scaled);
  }
  step.product = get<rtile::DotOp>(product, "the product of query and key");
  if (!step.product ||
      !require(step.product.getTransposed() && !step.product.getInit(),
               "the product of query and key",
               "a transposed product without init"))
    return false;
  if (Value scale = step.getScale())
    if (!require(getSplat(scale).has_value(), "the scale", "one constant"))
      return false;
  step.keyTile = get<rtile::LoadOp>(step.product.getRhs(), "the key tile");
  return static_cast<bool>(step.keyTile);
}

/// Maximum and sum of the tile's rows.
bool Matcher::matchReductions(Value maximumBefore) {
  Value scores = step.distance.getLhs();
  for (Value operand : step.maximum->getOperands())
    if (auto reduce = operand.getDefiningOp<rtile::ReduceOp>();
        reduce && reduce.getInput() == scores &&
        reduce.getKind() == rtile::ReduceKind::max)
      step.tileMaximum = reduce;
  if (!require(static_cast<bool>(step.tileMaximum), "the maximum of the tile",
               "rtile.reduce max of the scores"))
    return false;
  step.operations.insert(step.tileMaximum);
  Value before = getOther(step.maximum, step.tileMaximum);
  if (!require(!maximumBefore || before == maximumBefore,
               "the maximum before the step", "the carried one"))
    return false;
  for (Operation *user : step.weights->getUsers())
    if (auto reduce = dyn_cast<rtile::ReduceOp>(user);
        reduce && reduce.getKind() == rtile::ReduceKind::sum)
      step.tileSum = reduce;
  if (!require(static_cast<bool>(step.tileSum), "the sum of the tile",
               "rtile.reduce sum of the weights"))
    return false;
  step.operations.insert(step.tileSum);
  return true;
}

/// What a product decays, or null.
Value getDecayed(Value value) {
  auto product = value ? value.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  if (!product)
    return nullptr;
  Value decay = product.getLhs();
  if (auto wide = decay.getDefiningOp<rtile::BroadcastOp>())
    decay = wide.getInput();
  bool isRight =
      decay.getDefiningOp<math::Exp2Op>() || isSplat(product.getRhs(), 0);
  return isRight ? product.getRhs() : product.getLhs();
}

/// A first step has nothing before it, or a state that it decays: 0 where a
/// softmax begins, or what others left.
bool Matcher::matchFirst(ValueRange next) {
  Value sum = next[kSum];
  Value maximum = getOther(step.maximum, step.tileMaximum);
  bool isLowest = isSplat(maximum, -std::numeric_limits<float>::max());
  if (sum == step.tileSum.getResult())
    return require(isLowest, "the maximum before the first step",
                   "the lowest number") &&
           require(!step.accumulator.getInit(), "the first accumulator",
                   "a product without init");
  auto add = get<arith::AddFOp>(sum, "the first sum");
  if (!add)
    return false;
  Value sumBefore = getOther(add, step.tileSum);
  Value before[] = {maximum, getDecayed(sumBefore),
                    getDecayed(step.accumulator.getInit())};
  bool isKnown = before[kSum] && before[kAccumulator];
  bool isZero =
      isKnown && isSplat(before[kSum], 0) && isSplat(before[kAccumulator], 0);
  if (!require(isKnown && isZero == isLowest, "the state before the first step",
               "0 below the lowest maximum, or what others left") ||
      !matchDecay(before, next))
    return false;
  if (!isZero)
    step.sumBefore = sumBefore.getDefiningOp<arith::MulFOp>();
  return true;
}

/// What came before counts less by 2^(maximum before - maximum).
bool Matcher::matchDecay(ValueRange state, ValueRange next) {
  auto sum = get<arith::AddFOp>(next[kSum], "the new sum");
  if (!sum)
    return false;
  auto decayedSum =
      get<arith::MulFOp>(getOther(sum, step.tileSum), "the sum before");
  auto decayed =
      get<arith::MulFOp>(step.accumulator.getInit(), "the accumulator before");
  if (!decayedSum || !decayed)
    return false;
  auto wide = get<rtile::BroadcastOp>(getOther(decayed, state[kAccumulator]),
                                      "the decay of the accumulator");
  auto decay = get<math::Exp2Op>(getOther(decayedSum, state[kSum]),
                                 "the decay of the sum");
  if (!wide || !decay ||
      !require(wide.getInput() == decay.getResult() && !wide.getColumns(),
               "the decay of the accumulator", "that of the sum"))
    return false;
  step.change = matchExponents(decay.getOperand(), "the change of the maximum",
                               step.decayExponents);
  if (!step.change ||
      !require(step.change.getLhs() == state[kMaximum] &&
                   step.change.getRhs() == step.maximum.getResult(),
               "the change of the maximum", "the one before less the new one"))
    return false;
  double ofDecay =
      step.decayExponents ? *getSplat(step.decayExponents.getRhs()) : 1;
  return require(ofDecay == step.getExponent(), "the decay of the sum",
                 "exponents like those of the weights");
}

std::optional<SoftmaxStep> Matcher::match(ValueRange state, ValueRange next) {
  bool isFirst = state.empty();
  if (!matchWeights(next[kAccumulator]) ||
      !require(step.maximum.getResult() == next[kMaximum], "the new maximum",
               "the one of the weights") ||
      !matchReductions(isFirst ? Value() : state[kMaximum]))
    return std::nullopt;
  if (isFirst ? !matchFirst(next) : !matchDecay(state, next))
    return std::nullopt;
  return step;
}

} // namespace

std::optional<SoftmaxStep> ringlet::matchSoftmaxStep(ValueRange state,
                                                     ValueRange next,
                                                     Operation *consumer,
                                                     std::string *why) {
  auto step = Matcher(why).match(state, next);
  if (!step)
    return std::nullopt;
  for (Operation *op : step->operations) {
    std::string stray;
    if (op->getBlock() != step->accumulator->getBlock())
      stray = op->getName().getStringRef().str() + " outside";
    for (Operation *user : op->getUsers())
      if (user != consumer && !step->operations.contains(user))
        stray = "a use by " + user->getName().getStringRef().str();
    if (stray.empty())
      continue;
    if (why)
      *why = "expected the values of a step to stay in it, found " + stray;
    return std::nullopt;
  }
  return step;
}

std::optional<SoftmaxStep> ringlet::matchSoftmaxLoop(scf::ForOp loop,
                                                     std::string *why) {
  if (loop.getNumRegionIterArgs() != kStateSize) {
    if (why)
      *why = llvm::formatv("expected a loop that carries 3 values, found {0}",
                           loop.getNumRegionIterArgs())
                 .str();
    return std::nullopt;
  }
  Operation *yield = loop.getBody()->getTerminator();
  auto step = matchSoftmaxStep(loop.getRegionIterArgs(), yield->getOperands(),
                               yield, why);
  if (!step)
    return std::nullopt;
  // And what finds its tiles.
  auto findsTiles = [&](Operation &op) {
    return isMemoryEffectFree(&op) && op.getNumRegions() == 0 &&
           llvm::none_of(op.getOperands(), [&](Value operand) {
             return step->operations.contains(operand.getDefiningOp()) ||
                    llvm::is_contained(loop.getRegionIterArgs(), operand);
           });
  };
  for (Operation &op : loop.getBody()->without_terminator())
    if (!step->operations.contains(&op) && !findsTiles(op)) {
      if (why)
        *why = "expected nothing but a softmax step in the loop, found " +
               op.getName().getStringRef().str();
      return std::nullopt;
    }
  return step;
}

LoopRow ringlet::getKernelLoops(rtile::FuncOp func) {
  scf::ForOp first;
  func.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    bool carriesTiles =
        llvm::any_of(loop.getResultTypes(), llvm::IsaPred<RankedTensorType>);
    if (carriesTiles)
      first = loop;
    // In a loop over something else there may be any number of softmaxes.
    return carriesTiles ? WalkResult::interrupt() : WalkResult::skip();
  });
  return first ? getLoopRow(first) : LoopRow();
}

std::string ringlet::whyNotSoftmaxLoops(rtile::FuncOp func) {
  LoopRow loops = getKernelLoops(func);
  if (loops.empty())
    return "expected loops over tiles, found none";
  std::string why;
  for (scf::ForOp loop : loops)
    if (!matchSoftmaxLoop(loop, &why))
      return why;
  ValueRange state = loops.front().getInitArgs();
  bool isLowest = isSplat(state[kMaximum], -std::numeric_limits<float>::max());
  for (unsigned part : {kSum, kAccumulator})
    if (isSplat(state[part], 0) != isLowest)
      return "expected loops that begin with sums of 0 below the lowest "
             "maximum, or with what others left, found another state";
  return "";
}
