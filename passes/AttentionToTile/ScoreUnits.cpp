//===- ScoreUnits.cpp - What scores are measured in -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/ScoreUnits.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace ringlet;

static constexpr double log2e = 1.4426950408889634;
static constexpr double most = std::numeric_limits<float>::max();
/// Units below the smallest normal f32 would be 0 where those are.
static constexpr double leastUnit = std::numeric_limits<float>::min();
/// A softcap from which on no score of f32 changes.
static constexpr double noCap = 0x1p100;

ScoreUnits::ScoreUnits(attn::AttentionOp op) {
  double scale = op.getScaleValue();
  isCapped = op.getSoftcap() && op.getSoftcap()->convertToDouble() < noCap;
  double factor = scale;
  if (isCapped) {
    factor = op.getSoftcap()->convertToDouble();
    // Beyond f32 every score that counts is at the cap.
    ofProduct = std::clamp(scale / factor, -most, most);
  }
  // A unit is positive, so that it keeps the order of numbers.
  double &ofNumber = isCapped ? ofCap : ofProduct;
  if (factor >= leastUnit)
    score = factor;
  else
    ofNumber = factor;
  exponent = score * log2e;
}

static Value splat(KernelBuilder &k, StringRef name, double number,
                   Value like) {
  return k.splat(name, number, cast<RankedTensorType>(like.getType()));
}

Value ringlet::weigh(KernelBuilder &k, StringRef name, Value number,
                     Value maximum, Value exponent) {
  Value distance =
      k.create<arith::SubFOp>((name + "_distance").str(), number, maximum);
  Value scaled =
      k.create<arith::MulFOp>((name + "_exponent").str(), distance, exponent);
  return k.create<math::Exp2Op>(name, scaled);
}

Value ringlet::toScores(KernelBuilder &k, const ScoreUnits &units,
                        Value numbers) {
  if (units.score == 1)
    return numbers;
  return k.create<arith::MulFOp>("score", numbers,
                                 splat(k, "unit", units.score, numbers));
}

Value ringlet::hasKeys(KernelBuilder &k, Value sum) {
  return k.create<arith::CmpFOp>("has_keys", arith::CmpFPredicate::OGT, sum,
                                 splat(k, "none", 0.0, sum));
}

SunkRows ringlet::addSink(KernelBuilder &k, const ScoreUnits &units,
                          Value maximum, Value sum, Value sink) {
  Value score = toScores(k, units, maximum);
  SunkRows result;
  result.score = k.create<arith::MaximumFOp>("m_or_sink", score, sink);
  Value zero = splat(k, "zero", 0.0, sum);
  Value natural = splat(k, "log2e", log2e, sum);
  auto getWeight = [&](StringRef name, Value logit) -> Value {
    // The greatest one is no distance away, be it infinite.
    Value isGreatest = k.create<arith::CmpFOp>(
        "is_greatest", arith::CmpFPredicate::OEQ, logit, result.score);
    Value below = k.create<arith::SubFOp>("below", logit, result.score);
    below = k.create<arith::SelectOp>("distance", isGreatest, zero, below);
    return k.create<math::Exp2Op>(
        name, k.create<arith::MulFOp>("exponent", below, natural));
  };
  result.decay = getWeight("decay", score);
  Value weight = getWeight("sink_weight", sink);
  result.sum = k.create<arith::AddFOp>(
      "l_and_sink", k.create<arith::MulFOp>("l_sunk", sum, result.decay),
      weight);
  return result;
}

Value ringlet::makeLse(KernelBuilder &k, Value score, Value sum) {
  Value log = k.create<math::LogOp>("l_log", sum);
  return k.create<arith::AddFOp>("lse_rows", score, log);
}
