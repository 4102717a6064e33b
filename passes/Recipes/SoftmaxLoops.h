//===- SoftmaxLoops.h - Loops that stream a softmax -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_RECIPES_SOFTMAXLOOPS_H
#define RINGLET_PASSES_RECIPES_SOFTMAXLOOPS_H

#include "passes/TileOpt/LoopRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>
#include <string>

namespace ringlet {

/// One step of a streaming softmax: what a tile of keys and values adds to the
/// state of some query rows, which is a running maximum, the sum of the weights
/// 2^(exponent * (score - maximum)) for one number `exponent`, and the sum of
/// the values with these weights.
struct SoftmaxStep {
  rtile::LoadOp keyTile, valueTile;
  rtile::DotOp product;
  /// Of the scaled product, where scores are capped; else null.
  mlir::math::TanhOp capped;
  /// Null where scores are the product itself.
  mlir::arith::MulFOp scores;
  /// Null where every row sees every key.
  rtile::VisibleOp seen;
  mlir::arith::SelectOp masked;
  rtile::ReduceOp tileMaximum;
  mlir::arith::MaximumFOp maximum;
  /// By how much weights are measured by less than the maximum, in each row;
  /// null where that is nothing.
  mlir::Value shift;
  mlir::arith::SubFOp distance;
  /// Null where the exponent is 1, for the weights and for what came before.
  mlir::arith::MulFOp exponents, decayExponents;
  mlir::math::Exp2Op weights;
  rtile::ReduceOp tileSum;
  /// Null where the product with the values takes weights of f32.
  mlir::arith::TruncFOp rounded;
  rtile::DotOp accumulator;
  /// How far the maximum moves; null in a first step with nothing before it.
  mlir::arith::SubFOp change;
  /// The sum before a first step, decayed; null if that is 0.
  mlir::arith::MulFOp sumBefore;
  /// All operations of the step.
  llvm::SmallPtrSet<mlir::Operation *, 32> operations;

  /// What scores are a multiple of, and the factor; null if that is 1.
  mlir::Value getUnscaled() const;
  mlir::Value getScale() const;
  /// By what distances from the maximum are multiplied.
  double getExponent() const;
  /// Through which weights reach the product with the values.
  mlir::OpOperand &getWeightsUse();
};

/// Where the state is in loops and steps that this file matches.
enum SoftmaxState : unsigned { kMaximum, kSum, kAccumulator, kStateSize };

/// Matches the step that takes `state` to `next`. Of a first step, which has no
/// `state`, the operations tell what comes before it: nothing, 0, or what
/// others left. `consumer` is the only other operation that may use a value of
/// the step. Sets `*why` if there is no match.
std::optional<SoftmaxStep> matchSoftmaxStep(mlir::ValueRange state,
                                            mlir::ValueRange next,
                                            mlir::Operation *consumer,
                                            std::string *why);

/// Matches the body of a loop.
std::optional<SoftmaxStep> matchSoftmaxLoop(mlir::scf::ForOp loop,
                                            std::string *why);

/// The first row of loops over tiles at the top level of a kernel; empty if it
/// has none.
LoopRow getKernelLoops(rtile::FuncOp func);

/// Why the first loops over tiles of a kernel do not stream a softmax, from its
/// beginning or from what others left, or "".
std::string whyNotSoftmaxLoops(rtile::FuncOp func);

/// The number that all elements of a constant are.
std::optional<double> getSplat(mlir::Value value);
/// Whether all elements are `number`.
bool isSplat(mlir::Value value, double number);

} // namespace ringlet

#endif // RINGLET_PASSES_RECIPES_SOFTMAXLOOPS_H
