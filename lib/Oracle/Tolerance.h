//===- Tolerance.h - How far a result may be off ----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one tolerance table (section 7) and the one comparison. A result is
// measured against the exact one, beside the unfused computation of the same
// precision: both its largest and its root-mean-square error may be a factor
// of the unfused one's, plus a unit in the last place of the output. Unfused
// results made in several ways count as one: at each element, the worst.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_ORACLE_TOLERANCE_H
#define RINGLET_LIB_ORACLE_TOLERANCE_H

#include "lib/Tensor/Tensor.h"

#include <string>
#include <vector>

namespace ringlet::oracle {

enum class Quantity { Output, Lse };

/// "output", "lse".
const char *nameOf(Quantity quantity);

/// One row of the table. Both errors obey
///   error <= factor * unfused error + ulps * ulp,
/// and `farReference` more where a kernel measures rows by a reference that may
/// lie far below their scores.
struct Tolerance {
  /// The type of query, key and value.
  DType inputs;
  Quantity quantity;
  /// The type that the quantity is stored in: what an ulp is.
  DType stored;
  double factor;
  double ulps;
  /// An ulp is taken at the exact value, but at least at this magnitude.
  double ulpFloor;
  double farReference;
  const char *reason;
};

const std::vector<Tolerance> &toleranceTable();

/// The row for these, or null: f64 and integer inputs have none.
const Tolerance *findTolerance(DType inputs, Quantity quantity);

struct Comparison {
  bool ok = false;
  /// Errors of the actual result and of the unfused ones, against the exact
  /// one, over all finite elements.
  double maxError = 0;
  double rmsError = 0;
  double unfusedMaxError = 0;
  double unfusedRmsError = 0;
  /// What maxError (at `worst`) and rmsError were allowed to be.
  double maxLimit = 0;
  double rmsLimit = 0;
  /// Index and values of the element that is farthest outside or nearest to
  /// its limit; the first mismatch of NaN or infinity if there is one.
  Shape worst;
  double worstActual = 0;
  double worstReference = 0;
  int64_t elements = 0;
  /// One line, for people: the verdict with all of the above, or what is wrong
  /// with the arguments.
  std::string text;
};

/// Compares element by element; all sizes must be equal. A NaN against
/// a number is a failure in either direction, and an infinity of the exact
/// result must be met exactly: a row without keys has lse -inf and nothing
/// near it (R3). `inputs` is the type of query, key and value;
/// `hasFarReference` says what `Tolerance::farReference` asks.
Comparison compare(const TensorView &actual, const TensorView &reference,
                   const std::vector<TensorView> &unfused, Quantity quantity,
                   DType inputs, bool hasFarReference = false);

} // namespace ringlet::oracle

#endif // RINGLET_LIB_ORACLE_TOLERANCE_H
