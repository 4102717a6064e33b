//===- SplitSums.cpp - Long sums as sums of parts -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum to which millions of terms of one size are added, one after the other,
// loses a digit with each factor of ten: the term that comes last is rounded to
// what the sum of all others has digits for. Here a softmax over many keys adds
// up parts of them, each from 0 on, and then the parts.
//
//===----------------------------------------------------------------------===//

#include "passes/Recipes/SoftmaxLoops.h"
#include "passes/TileToCPU/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace ringlet {
#define GEN_PASS_DEF_RTILESPLITSUMS
#include "passes/TileToCPU/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// Keys of a part. Each tile of them is summed from 0 as well, so that neither
/// a tile, a part nor the sum of parts has many terms.
constexpr int64_t keysOfPart = int64_t(1) << 14;

/// The step of a loop over key tiles, be it one under a condition.
std::optional<SoftmaxStep> matchStep(scf::ForOp loop) {
  if (loop.getNumRegionIterArgs() != kStateSize)
    return std::nullopt;
  Operation *yield = loop.getBody()->getTerminator();
  auto branch = yield->getOperand(0).getDefiningOp<scf::IfOp>();
  if (branch && branch->getBlock() == loop.getBody() &&
      branch.getResults() == ValueRange(yield->getOperands()))
    yield = branch.thenYield();
  return matchSoftmaxStep(loop.getRegionIterArgs(), yield->getOperands(), yield,
                          nullptr);
}

/// At most how many keys a loop visits whose steps are rows of `view`; nothing
/// where only the call knows. A table brings each row once, or none.
std::optional<int64_t> getMostKeys(rtile::ViewOp view) {
  rtile::ViewType type = view.getResult().getType();
  int64_t most = ShapedType::kDynamic;
  auto bound = [&](int64_t rows) {
    if (!ShapedType::isDynamic(rows))
      most = ShapedType::isDynamic(most) ? rows : std::min(most, rows);
  };
  bound(view.getStaticIndices());
  if (type.isSegmented() && !ShapedType::isDynamic(type.getSegmentLength()))
    bound(ShapedType::isDynamic(type.getRate())
              ? type.getSegmentLength()
              : llvm::divideCeil(type.getSegmentLength(), type.getRate()));
  if (ShapedType::isDynamic(most))
    return std::nullopt;
  return most;
}

/// Whether the state of `loop` comes from another loop or goes to one.
bool isInRow(scf::ForOp loop) {
  Value before = loop.getInitArgs()[kMaximum];
  return before.getDefiningOp<scf::ForOp>() ||
         llvm::any_of(loop.getResult(kMaximum).getUsers(),
                      llvm::IsaPred<scf::ForOp>);
}

struct Split {
  scf::ForOp loop;
  double exponent;
  /// Of the loop's variable, from one part to the next.
  int64_t distance;
};

std::optional<Split> match(scf::ForOp loop) {
  std::optional<SoftmaxStep> step = matchStep(loop);
  APInt loopStep;
  if (!step || !matchPattern(loop.getStep(), m_ConstantInt(&loopStep)))
    return std::nullopt;
  int64_t keys = step->product.getResult().getType().getDimSize(1);
  int64_t distance = loopStep.getSExtValue();
  auto view = step->keyTile.getView().getDefiningOp<rtile::ViewOp>();
  std::optional<int64_t> most;
  if (distance == keys && view) {
    // Beside the keys that all rows of a tile see there are few.
    if (step->seen && isInRow(loop))
      return std::nullopt;
    most = getMostKeys(view);
  }
  int64_t stepsOfPart = std::max<int64_t>(1, keysOfPart / keys);
  if (most && *most <= stepsOfPart * keys)
    return std::nullopt;
  return Split{loop, step->getExponent(), stepsOfPart * distance};
}

/// What `before` and `part` sum together. The part began with the maximum of
/// what comes before it, and has its own.
SmallVector<Value> add(ImplicitLocOpBuilder &builder, ValueRange before,
                       ValueRange part, double exponent) {
  auto rows = cast<RankedTensorType>(before[kMaximum].getType());
  Value decay =
      arith::SubFOp::create(builder, before[kMaximum], part[kMaximum]);
  if (exponent != 1)
    decay = arith::MulFOp::create(builder, decay,
                                  createSplat(builder, "unit", exponent, rows));
  decay = math::Exp2Op::create(builder, decay);
  auto accumulator = cast<RankedTensorType>(before[kAccumulator].getType());
  Value wide = rtile::BroadcastOp::create(builder, accumulator, decay,
                                          /*columns=*/false);
  auto addDecayed = [&](Value old, Value factor, Value more) -> Value {
    Value decayed = arith::MulFOp::create(builder, old, factor);
    return arith::AddFOp::create(builder, decayed, more);
  };
  return {part[kMaximum], addDecayed(before[kSum], decay, part[kSum]),
          addDecayed(before[kAccumulator], wide, part[kAccumulator])};
}

void split(const Split &what) {
  scf::ForOp loop = what.loop;
  ImplicitLocOpBuilder builder(loop.getLoc(), loop);
  SmallVector<Value> zeros;
  for (unsigned number : {kSum, kAccumulator})
    zeros.push_back(createSplat(
        builder, "no_sum", 0.0,
        cast<RankedTensorType>(loop.getInitArgs()[number].getType())));
  Value distance =
      arith::ConstantIndexOp::create(builder, what.distance).getResult();
  auto parts =
      scf::ForOp::create(builder, loop.getLowerBound(), loop.getUpperBound(),
                         distance, loop.getInitArgs());
  parts.getInductionVar().setLoc(named(loop.getLoc(), "part"));
  loop.replaceAllUsesWith(parts.getResults());

  builder.setInsertionPointToStart(parts.getBody());
  Value begin = parts.getInductionVar();
  Value end = arith::MinSIOp::create(
      builder, arith::AddIOp::create(builder, begin, distance),
      loop.getUpperBound());
  ValueRange before = parts.getRegionIterArgs();
  loop->moveBefore(parts.getBody(), parts.getBody()->end());
  loop.setLowerBound(begin);
  loop.setUpperBound(end);
  loop.getInitArgsMutable().assign(
      ValueRange{before[kMaximum], zeros[0], zeros[1]});
  builder.setInsertionPointToEnd(parts.getBody());
  scf::YieldOp::create(builder,
                       add(builder, before, loop.getResults(), what.exponent));
  std::string text =
      llvm::formatv("sums over keys are those of parts of {0} keys", keysOfPart)
          .str();
  remark::passed(
      parts.getLoc(),
      remark::RemarkOpts::name("SplitSums").category("rtile-split-sums"))
      << text;
}

struct SplitSums : ringlet::impl::RTileSplitSumsBase<SplitSums> {
  void runOnOperation() override {
    SmallVector<Split> splits;
    getOperation()->walk([&](scf::ForOp loop) {
      if (std::optional<Split> found = match(loop))
        splits.push_back(*found);
    });
    for (const Split &found : splits)
      split(found);
    getOperation()->walk([](rtile::TotalsOp op) { op.erase(); });
  }
};

} // namespace
