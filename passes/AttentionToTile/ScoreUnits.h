//===- ScoreUnits.h - What scores are measured in ---------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels know scores, and the maxima of them that they carry, as multiples of
// a positive unit. Distances from a maximum are taken in that unit, and only
// they become exponents of 2: a score of any size that f32 holds has a distance
// that is exact where it matters, while score * log2(e) would overflow before
// the score does.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_SCOREUNITS_H
#define RINGLET_PASSES_ATTENTIONTOTILE_SCOREUNITS_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "passes/AttentionToTile/KernelBuilder.h"

namespace ringlet {

/// From numbers to scores (section 3).
struct ScoreUnits {
  explicit ScoreUnits(attn::AttentionOp op);

  /// What a product of query and key is multiplied by to be such a number, or
  /// with a cap to be the argument of tanh, whose value is the number.
  double ofProduct = 1;
  bool isCapped = false;
  /// What tanh is multiplied by.
  double ofCap = 1;
  /// The unit, and its multiple that is an exponent of 2.
  double score = 1;
  double exponent = 1;
};

/// 2^(`number` less `maximum`), of numbers in units; `exponent` is a tile of
/// what a unit is as an exponent.
mlir::Value weigh(KernelBuilder &k, llvm::StringRef name, mlir::Value number,
                  mlir::Value maximum, mlir::Value exponent);

/// The scores that a tile of numbers is.
mlir::Value toScores(KernelBuilder &k, const ScoreUnits &units,
                     mlir::Value numbers);

/// Greatest score and sum of a softmax that the sink of each row has joined
/// (R3), and the factor of what was summed before. `maximum` is a number in
/// units.
struct SunkRows {
  mlir::Value score, sum, decay;
};
SunkRows addSink(KernelBuilder &k, const ScoreUnits &units, mlir::Value maximum,
                 mlir::Value sum, mlir::Value sink);

/// Natural logarithm of `sum` * e^`score`, for tiles of rows.
mlir::Value makeLse(KernelBuilder &k, mlir::Value score, mlir::Value sum);

/// True for rows with a key, of which `sum` is that of the weights.
mlir::Value hasKeys(KernelBuilder &k, mlir::Value sum);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_SCOREUNITS_H
