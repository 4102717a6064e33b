//===- ArithmeticMutations.cpp - Wrong softmax arithmetic -------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/planted/Edit.h"
#include "test/Run/planted/Mutations.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::planted;

namespace {

constexpr double ln2 = 0.6931471805599453, log2e = 1.4426950408889634;

bool isNear(std::optional<double> value, double number) {
  return value && std::fabs(*value - number) < 1e-6 * std::fabs(number);
}

/// acc + p v without the factor of acc.
bool keepAccumulator(ModuleOp module) {
  return editEach<rtile::DotOp>(module, [](rtile::DotOp dot) {
    Value init = dot.getInit();
    auto decayed = init ? init.getDefiningOp<arith::MulFOp>() : nullptr;
    if (!decayed)
      return false;
    dot.getInitMutable().assign(decayed.getLhs());
    return true;
  });
}

/// l + sum(p) without the factor of l.
bool keepSum(ModuleOp module) {
  return editEach<arith::AddFOp>(module, [](arith::AddFOp sum) {
    auto decayed = sum.getLhs().getDefiningOp<arith::MulFOp>();
    if (!decayed || !sum.getRhs().getDefiningOp<rtile::ReduceOp>())
      return false;
    sum.getLhsMutable().assign(decayed.getLhs());
    return true;
  });
}

/// Calls `edit(product, number)` for products with a constant tile.
template <typename Edit>
bool editFactors(ModuleOp module, Edit edit) {
  return editEach<arith::MulFOp>(module, [&](arith::MulFOp product) {
    std::optional<double> number = getSplat(product.getRhs());
    return number && edit(product, *number);
  });
}

bool lseOfBase2(ModuleOp module) {
  return editEach<arith::AddFOp>(module, [](arith::AddFOp lse) {
    auto log = lse.getRhs().getDefiningOp<math::LogOp>();
    if (!log)
      return false;
    OpBuilder builder(lse);
    lse.getRhsMutable().assign(arith::MulFOp::create(
        builder, lse.getLoc(), log, makeSplat(builder, log, log2e)));
    return true;
  });
}

/// Whether `product` is the exponent of a power of 2.
bool isExponent(arith::MulFOp product) {
  return product->hasOneUse() && isa<math::Exp2Op>(*product->user_begin());
}

bool unitWithoutLog2e(ModuleOp module) {
  return editFactors(module, [](arith::MulFOp product, double number) {
    if (!isExponent(product) ||
        !product.getLhs().getDefiningOp<arith::SubFOp>())
      return false;
    OpBuilder builder(product);
    product.getRhsMutable().assign(
        makeSplat(builder, product.getRhs(), number * ln2));
    return true;
  });
}

bool forgetOutputScale(ModuleOp module) {
  return editFactors(module, [](arith::MulFOp product, double number) {
    if (!llvm::is_contained({0.25, 0.5, -1.25, 3.0}, number) ||
        product.getLhs().getDefiningOp<rtile::DotOp>())
      return false;
    product.getResult().replaceAllUsesWith(product.getLhs());
    return true;
  });
}

/// The loop of a later branch starts as if it were the first.
bool forgetPartial(ModuleOp module) {
  return editEach<scf::ForOp>(module, [](scf::ForOp loop) {
    OperandRange state = loop.getInitArgs();
    if (state.size() != 3 || getSplat(state[2]))
      return false;
    OpBuilder builder(loop);
    double lowest = -std::numeric_limits<float>::max();
    Value inits[] = {makeSplat(builder, state[0], lowest),
                     makeSplat(builder, state[1], 0),
                     makeSplat(builder, state[2], 0)};
    loop.getInitArgsMutable().assign(inits);
    return true;
  });
}

/// R4: row sums use the unrounded weights.
bool sumOfRounded(ModuleOp module) {
  return editEach<rtile::ReduceOp>(module, [](rtile::ReduceOp sum) {
    if (sum.getKind() != rtile::ReduceKind::sum)
      return false;
    for (Operation *user : sum.getInput().getUsers()) {
      auto rounded = dyn_cast<arith::TruncFOp>(user);
      if (!rounded)
        continue;
      OpBuilder builder(sum);
      sum.getInputMutable().assign(
          roundThrough(builder, sum.getInput(),
                       cast<ShapedType>(rounded.getType()).getElementType()));
      return true;
    }
    return false;
  });
}

/// R4: scores stay in f32.
bool roundScores(ModuleOp module) {
  return editEach<rtile::DotOp>(module, [](rtile::DotOp dot) {
    Type element = cast<ShapedType>(dot.getLhs().getType()).getElementType();
    if (!dot.getTransposed() || element.isF32())
      return false;
    OpBuilder builder(dot->getContext());
    builder.setInsertionPointAfter(dot);
    Value rounded = roundThrough(builder, dot.getResult(), element);
    dot.getResult().replaceAllUsesExcept(
        rounded, rounded.getDefiningOp()->getOperand(0).getDefiningOp());
    return true;
  });
}

/// R4: weights are rounded to the input type, not to a shorter one.
bool roundWeightsTwice(ModuleOp module) {
  return editEach<arith::TruncFOp>(module, [](arith::TruncFOp rounding) {
    auto type = cast<ShapedType>(rounding.getType());
    if (!type.getElementType().isF16() ||
        !rounding.getIn().getDefiningOp<math::Exp2Op>())
      return false;
    OpBuilder builder(rounding);
    rounding.getInMutable().assign(
        roundThrough(builder, rounding.getIn(), builder.getBF16Type()));
    return true;
  });
}

/// exp of a difference of infinities.
bool infiniteFloor(ModuleOp module) {
  return editEach<arith::ConstantOp>(module, [](arith::ConstantOp constant) {
    if (getSplat(constant) != double(-std::numeric_limits<float>::max()))
      return false;
    OpBuilder builder(constant);
    constant.getResult().replaceAllUsesWith(
        makeSplat(builder, constant.getResult(),
                  -std::numeric_limits<double>::infinity()));
    return true;
  });
}

/// 0 / 0 in rows without a key.
bool divideByZero(ModuleOp module) {
  return editEach<arith::MaximumFOp>(module, [](arith::MaximumFOp maximum) {
    if (getSplat(maximum.getRhs()) != double(std::numeric_limits<float>::min()))
      return false;
    maximum.getResult().replaceAllUsesWith(maximum.getLhs());
    return true;
  });
}

/// The maximum of the last tile instead of the running one.
bool forgetMaximum(ModuleOp module) {
  return editEach<arith::MaximumFOp>(module, [](arith::MaximumFOp maximum) {
    if (!maximum.getRhs().getDefiningOp<rtile::ReduceOp>())
      return false;
    // The state keeps the true maximum; only the weights are off.
    for (OpOperand &use :
         llvm::make_early_inc_range(maximum.getResult().getUses()))
      if (isa<rtile::BroadcastOp>(use.getOwner())) {
        use.set(maximum.getRhs());
        return true;
      }
    return false;
  });
}

bool forgetCap(ModuleOp module) {
  return editEach<math::TanhOp>(module, [](math::TanhOp capped) {
    capped.getResult().replaceAllUsesWith(capped.getOperand());
    return true;
  });
}

bool sinkWithoutLog2e(ModuleOp module) {
  return editFactors(module, [](arith::MulFOp product, double number) {
    if (!isNear(number, log2e) || !isExponent(product) ||
        !product.getLhs().getDefiningOp<arith::SelectOp>())
      return false;
    product.getResult().replaceAllUsesWith(product.getLhs());
    return true;
  });
}

/// lse of a row without keys is its sink, not what rounding makes of one.
bool keylessWithoutSink(ModuleOp module) {
  return editEach<arith::SelectOp>(module, [](arith::SelectOp lse) {
    if (!lse.getTrueValue().getDefiningOp<arith::AddFOp>() ||
        !lse.getFalseValue().getDefiningOp<rtile::LoadOp>())
      return false;
    OpBuilder builder(lse);
    lse.getFalseValueMutable().assign(
        makeSplat(builder, lse.getFalseValue(),
                  -std::numeric_limits<double>::infinity()));
    return true;
  });
}

} // namespace

std::vector<Mutation> planted::arithmeticMutations() {
  constexpr const char *stage = "ringlet-to-rtile";
  return {
      {"the accumulator is not rescaled", stage, keepAccumulator},
      {"the sum is not rescaled", stage, keepSum},
      {"weights are below the tile's maximum", stage, forgetMaximum},
      {"lse is not a natural logarithm", stage, lseOfBase2},
      {"log2(e) is missing in the unit of scores", stage, unitWithoutLog2e},
      {"output_scale is forgotten", stage, forgetOutputScale},
      {"the partial result is ignored", stage, forgetPartial},
      {"sums are of rounded weights", stage, sumOfRounded},
      {"scores are rounded to the input type", stage, roundScores},
      {"weights are rounded to bf16 on the way to f16", stage,
       roundWeightsTwice},
      {"the maximum starts at -inf", stage, infiniteFloor},
      {"rows without a key divide by zero", stage, divideByZero},
      {"scores are not capped", stage, forgetCap},
      {"log2(e) is missing in the sink", stage, sinkWithoutLog2e},
      {"lse of rows without a key has no sink", stage, keylessWithoutSink},
  };
}
