//===- Unfused.cpp - The same-precision yardstick ---------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Oracle/Unfused.h"

#include "lib/Oracle/RowLoop.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

namespace ringlet::oracle {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kLog2E = 1.4426950408889634;
constexpr double kLn2 = 0.6931471805599453;

/// Sums `count` terms: term(i) in the order and lanes of the arithmetic.
template <typename Term>
float sumOf(size_t count, Arithmetic arithmetic, Term term) {
  float sums[2] = {0, 0};
  for (size_t i = 0; i < count; ++i)
    if (arithmetic == Arithmetic::Binary)
      sums[0] += term(count - 1 - i);
    else
      sums[arithmetic == Arithmetic::Lanes ? i % 2 : 0] += term(i);
  return sums[0] + sums[1];
}

class Computation {
public:
  Computation(const AttentionSpec &spec, const AttentionInputs &inputs,
              const Pattern &pattern, const RowReader<float> &queries,
              const RowReader<float> &keys, const RowReader<float> &values,
              Arithmetic arithmetic)
      : spec(spec), inputs(inputs), pattern(pattern), queries(queries),
        keys(keys), values(values), arithmetic(arithmetic),
        binary(arithmetic == Arithmetic::Binary),
        dim(static_cast<size_t>(inputs.query.sizes().back())),
        valueDim(static_cast<size_t>(inputs.value.sizes().back())),
        scale(static_cast<float>(
            spec.scale.value_or(1 / std::sqrt(static_cast<double>(dim))) *
            (binary && !spec.softcap ? kLog2E : 1))),
        scratch(std::max(dim, valueDim)), queryScratch(dim), sums(valueDim),
        laneSums(2 * valueDim) {}

  void operator()(const QueryRow &query, int64_t head, RowResult &result) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    std::fill(result.lse.begin(), result.lse.end(), -kInfinity);
    scores.clear();
    chosen.clear();
    bool anywhere = query.sequence >= 0;
    for (size_t i = 0; anywhere && i < spec.branches.size(); ++i) {
      const Branch &branch = spec.branches[i];
      pattern.forEachKey(branch, query, head,
                         [&](int64_t u) { chosen.push_back(u); });
      if (spec.mix == Mix::Softmax)
        continue;
      bool hasSink = inputs.sink && pattern.isIn(branch, query, head);
      result.lse[i] = softmax(query, head, hasSink);
      chosen.clear();
    }
    if (anywhere && spec.mix == Mix::Softmax)
      result.lse[0] = softmax(query, head, inputs.sink.has_value());

    auto factor = static_cast<float>(spec.outputScale.value_or(1));
    for (size_t i = 0; i < valueDim; ++i)
      result.output[i] = factor * sums[i];
  }

private:
  float power(float exponent) const {
    return binary ? std::exp2(exponent) : std::exp(exponent);
  }
  float toUnits(float logit) const {
    return binary ? logit * static_cast<float>(kLog2E) : logit;
  }
  float fromUnits(float lse) const {
    return binary ? lse * static_cast<float>(kLn2) : lse;
  }

  /// The score in units of the base's logarithm.
  float score(const float *queryRow, const float *keyRow) const {
    float sum = scale * sumOf(dim, arithmetic, [&](size_t i) {
                  return queryRow[i] * keyRow[i];
                });
    if (spec.softcap) {
      auto cap = static_cast<float>(*spec.softcap);
      sum = toUnits(cap * std::tanh(sum / cap));
    }
    return sum;
  }

  /// Adds the attention over the chosen keys to `sums`; returns its lse.
  float softmax(const QueryRow &query, int64_t head, bool hasSink) {
    if (chosen.empty() && !hasSink)
      return -kInfinity;
    auto logit = hasSink ? static_cast<float>(inputs.sink->get({head})) : 0.0f;
    if (chosen.empty())
      return logit;
    const Sequences::Extent &extent = pattern.keys().extents[query.sequence];
    int64_t keyHead = pattern.keyHead(head);
    const float *queryRow =
        queries.row(query.batch, query.row, head, queryScratch.data());
    float sink = hasSink ? toUnits(logit) : -kInfinity;
    float max = sink;
    scores.clear();
    for (int64_t u : chosen) {
      scores.push_back(score(queryRow, keys.row(extent.batch, extent.first + u,
                                                keyHead, scratch.data())));
      max = std::max(max, scores.back());
    }
    if (max == -kInfinity)
      return max;
    float sum = sumOf(scores.size(), arithmetic, [&](size_t k) {
      return scores[k] = power(scores[k] - max);
    });
    sum += hasSink ? power(sink - max) : 0.0f;
    DType dtype = inputs.query.dtype();
    float before = binary ? 1 : sum;
    float after = binary ? sum : 1;
    std::fill(laneSums.begin(), laneSums.end(), 0.0f);
    for (size_t term = 0; term < chosen.size(); ++term) {
      size_t k = binary ? chosen.size() - 1 - term : term;
      auto probability = static_cast<float>(roundTo(dtype, scores[k] / before));
      const float *valueRow = values.row(extent.batch, extent.first + chosen[k],
                                         keyHead, scratch.data());
      float *lane = laneSums.data() +
                    (arithmetic == Arithmetic::Lanes ? k % 2 * valueDim : 0);
      for (size_t i = 0; i < valueDim; ++i)
        lane[i] += probability * valueRow[i];
    }
    for (size_t i = 0; i < valueDim; ++i)
      sums[i] += (laneSums[i] + laneSums[valueDim + i]) / after;
    return fromUnits(max + (binary ? std::log2(sum) : std::log(sum)));
  }

  const AttentionSpec &spec;
  const AttentionInputs &inputs;
  const Pattern &pattern;
  const RowReader<float> &queries;
  const RowReader<float> &keys;
  const RowReader<float> &values;
  Arithmetic arithmetic;
  bool binary;
  size_t dim;
  size_t valueDim;
  float scale;
  std::vector<float> scratch, queryScratch, sums, laneSums;
  std::vector<float> scores;
  std::vector<int64_t> chosen;
};

} // namespace

std::optional<AttentionResult> unfusedAttention(const AttentionSpec &spec,
                                                const AttentionInputs &inputs,
                                                std::string *error,
                                                const AttentionOptions &options,
                                                Arithmetic arithmetic) {
  if (!validate(spec, inputs, error))
    return std::nullopt;
  try {
    Pattern pattern(spec, inputs);
    RowReader<float> queries(pattern.queries().view, false);
    RowReader<float> keys(pattern.keys().view, true);
    RowReader<float> values(
        Sequences::make(inputs.value, inputs.cuSeqlensK, inputs.lengthsK).view,
        true);
    return runRows(
        spec, inputs, pattern, options, inputs.query.dtype(), DType::f32,
        [&]() -> RowFunction {
          return Computation(spec, inputs, pattern, queries, keys, values,
                             arithmetic);
        },
        error);
  } catch (const std::bad_alloc &) {
    if (error)
      *error = "not enough memory to widen keys and values";
    return std::nullopt;
  }
}

} // namespace ringlet::oracle
