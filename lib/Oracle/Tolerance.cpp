//===- Tolerance.cpp - How far a result may be off --------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Oracle/Tolerance.h"

#include "ringlet/abi/Format.h"

#include <algorithm>
#include <cmath>

namespace ringlet::oracle {

namespace {

std::string number(double value) { return formatText("{:.6g}", value); }

/// True when the two agree as far as they are not both finite numbers.
bool sameKind(double actual, double expected) {
  if (std::isnan(actual) || std::isnan(expected))
    return std::isnan(actual) && std::isnan(expected);
  if (std::isinf(actual) || std::isinf(expected))
    return actual == expected;
  return true;
}

} // namespace

const char *nameOf(Quantity quantity) {
  return quantity == Quantity::Output ? "output" : "lse";
}

const std::vector<Tolerance> &toleranceTable() {
  constexpr double ln2 = 0.6931471805599453, farLse = 0x1p-19 * ln2;
  // Its ulp in f32 is the smallest normal number: weights below may be 0.
  constexpr double least = 0x1p-103;
  static const std::vector<Tolerance> table = {
      {DType::f16, Quantity::Output, DType::f16, 2, 1, least, 0,
       "both round the probabilities and the output to f16, at other places: "
       "errors of one size, not equal ones"},
      {DType::bf16, Quantity::Output, DType::bf16, 2, 1, least, 0,
       "as f16, with 7 instead of 10 bits of mantissa"},
      {DType::f32, Quantity::Output, DType::f32, 2, 1, least, 0,
       "the sums run in another order, and a fused kernel rescales them and "
       "works in powers of 2"},
      {DType::f16, Quantity::Lse, DType::f32, 2, 2, 1, farLse,
       "lse is f32 whatever the inputs. As the log of a sum it carries the "
       "sum's relative error as an absolute one: no ulp is below that at 1. "
       "The second ulp is for the change from powers of 2 to those of e. A "
       "weight of up to 2^64 has an exponent of which f32 rounds half of 2^-18 "
       "away"},
      {DType::bf16, Quantity::Lse, DType::f32, 2, 2, 1, farLse, "as for f16"},
      {DType::f32, Quantity::Lse, DType::f32, 2, 2, 1, 0,
       "as for f16, but no kernel has a far reference"},
  };
  return table;
}

const Tolerance *findTolerance(DType inputs, Quantity quantity) {
  for (const Tolerance &row : toleranceTable())
    if (row.inputs == inputs && row.quantity == quantity)
      return &row;
  return nullptr;
}

Comparison compare(const TensorView &actual, const TensorView &reference,
                   const std::vector<TensorView> &unfused, Quantity quantity,
                   DType inputs, bool hasFarReference) {
  Comparison result;
  std::string name = nameOf(quantity);
  const Tolerance *row = findTolerance(inputs, quantity);
  if (!row) {
    result.text = name + ": expected inputs of type f16, bf16 or f32, found " +
                  std::string(ringlet::nameOf(inputs));
    return result;
  }
  if (unfused.empty()) {
    result.text = name + ": expected at least 1 unfused result, found none";
    return result;
  }
  std::vector<TensorView> results = unfused;
  results.push_back(actual);
  for (const TensorView &view : results)
    if (view.sizes() != reference.sizes()) {
      result.text = name + ": expected shape " + toString(reference.sizes()) +
                    ", found " + toString(view.sizes());
      return result;
    }
  if (actual.dtype() != row->stored) {
    result.text = name + ": expected type " +
                  std::string(ringlet::nameOf(row->stored)) + ", found " +
                  std::string(ringlet::nameOf(actual.dtype()));
    return result;
  }

  // First the yardstick, then what is measured with it.
  auto exactAt = [&](const int64_t *indices) {
    double value = reference.get(indices);
    // A value past the range of the stored type is rightly an infinity there.
    double stored = roundTo(row->stored, value);
    return std::isinf(stored) ? stored : value;
  };
  // Where it is a matter of the order of operations whether f32 holds what is
  // on the way to a number, nothing is specified (R4).
  auto isUnspecified = [&](const int64_t *indices) {
    int64_t finite = 0;
    for (const TensorView &view : unfused)
      finite += std::isfinite(view.get(indices));
    return finite != 0 && finite != static_cast<int64_t>(unfused.size()) &&
           std::isfinite(exactAt(indices));
  };
  double squares = 0;
  int64_t unspecified = 0;
  forEachIndex(reference.sizes(), [&](const int64_t *indices) {
    ++result.elements;
    unspecified += isUnspecified(indices);
    double exact = exactAt(indices);
    double error = 0;
    for (const TensorView &view : unfused) {
      double one = std::fabs(view.get(indices) - exact);
      if (std::isfinite(one))
        error = std::max(error, one);
    }
    result.unfusedMaxError = std::max(result.unfusedMaxError, error);
    squares += error * error;
  });
  auto count = static_cast<double>(std::max<int64_t>(result.elements, 1));
  result.unfusedRmsError = std::sqrt(squares / count);

  squares = 0;
  double ulpSquares = 0;
  double far = hasFarReference ? row->farReference : 0;
  double worstExcess = -HUGE_VAL;
  int64_t mismatches = 0;
  auto blame = [&](const int64_t *indices, double excess, double limit) {
    worstExcess = excess;
    result.worst.assign(indices, indices + reference.rank());
    result.worstActual = actual.get(indices);
    result.worstReference = reference.get(indices);
    result.maxLimit = limit;
  };
  forEachIndex(reference.sizes(), [&](const int64_t *indices) {
    if (unspecified && isUnspecified(indices))
      return;
    double got = actual.get(indices);
    double exact = exactAt(indices);
    if (!sameKind(got, exact)) {
      if (mismatches++ == 0)
        blame(indices, HUGE_VAL, 0);
      return;
    }
    if (!std::isfinite(exact))
      return;
    double error = std::fabs(got - exact);
    double ulp = row->ulps *
                 ulpOf(row->stored, std::max(std::fabs(exact), row->ulpFloor));
    result.maxError = std::max(result.maxError, error);
    squares += error * error;
    ulpSquares += ulp * ulp;
    double limit = row->factor * result.unfusedMaxError + ulp + far;
    if (error - limit > worstExcess)
      blame(indices, error - limit, limit);
  });
  result.rmsError = std::sqrt(squares / count);
  result.rmsLimit = row->factor * result.unfusedRmsError +
                    std::sqrt(ulpSquares / count) + far;
  result.ok =
      mismatches == 0 && worstExcess <= 0 && result.rmsError <= result.rmsLimit;

  result.text = name + (result.ok ? ": ok" : ": out of tolerance") + ", max " +
                number(result.maxError) + " (unfused " +
                number(result.unfusedMaxError) + "), rms " +
                number(result.rmsError) + " (unfused " +
                number(result.unfusedRmsError) + ", limit " +
                number(result.rmsLimit) + ")";
  if (mismatches)
    result.text +=
        formatText(", {} NaN or infinity against a number", mismatches);
  if (!result.worst.empty())
    result.text += ", worst at " + toString(result.worst) + ": got " +
                   number(result.worstActual) + ", exact " +
                   number(result.worstReference) +
                   (mismatches ? "" : ", limit " + number(result.maxLimit));
  result.text += formatText(", {} elements", result.elements);
  if (unspecified)
    result.text += formatText(", {} of them beyond f32 (R4)", unspecified);
  return result;
}

} // namespace ringlet::oracle
