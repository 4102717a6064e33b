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

namespace ringlet::oracle {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Computation {
public:
  Computation(const AttentionSpec &spec, const AttentionInputs &inputs,
              const Pattern &pattern, const RowReader<float> &queries,
              const RowReader<float> &keys, const RowReader<float> &values)
      : spec(spec), inputs(inputs), pattern(pattern), queries(queries),
        keys(keys), values(values),
        dim(static_cast<size_t>(inputs.query.sizes().back())),
        valueDim(static_cast<size_t>(inputs.value.sizes().back())),
        scale(static_cast<float>(
            spec.scale.value_or(1 / std::sqrt(static_cast<double>(dim))))),
        scratch(std::max(dim, valueDim)), queryScratch(dim), sums(valueDim) {}

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
  float score(const float *queryRow, const float *keyRow) const {
    float sum = 0;
    for (size_t i = 0; i < dim; ++i)
      sum += queryRow[i] * keyRow[i];
    sum *= scale;
    if (spec.softcap) {
      auto cap = static_cast<float>(*spec.softcap);
      sum = cap * std::tanh(sum / cap);
    }
    return sum;
  }

  /// Adds the attention over the chosen keys to `sums`; returns its lse.
  float softmax(const QueryRow &query, int64_t head, bool hasSink) {
    float sink =
        hasSink ? static_cast<float>(inputs.sink->get({head})) : -kInfinity;
    if (chosen.empty())
      return sink;
    const Sequences::Extent &extent = pattern.keys().extents[query.sequence];
    int64_t keyHead = pattern.keyHead(head);
    const float *queryRow =
        queries.row(query.batch, query.row, head, queryScratch.data());
    float max = sink;
    scores.clear();
    for (int64_t u : chosen) {
      scores.push_back(score(queryRow, keys.row(extent.batch, extent.first + u,
                                                keyHead, scratch.data())));
      max = std::max(max, scores.back());
    }
    if (max == -kInfinity)
      return max;
    float sum = hasSink ? std::exp(sink - max) : 0.0f;
    for (float &entry : scores) {
      entry = std::exp(entry - max);
      sum += entry;
    }
    DType dtype = inputs.query.dtype();
    for (size_t k = 0; k < chosen.size(); ++k) {
      auto probability = static_cast<float>(roundTo(dtype, scores[k] / sum));
      const float *valueRow = values.row(extent.batch, extent.first + chosen[k],
                                         keyHead, scratch.data());
      for (size_t i = 0; i < valueDim; ++i)
        sums[i] += probability * valueRow[i];
    }
    return max + std::log(sum);
  }

  const AttentionSpec &spec;
  const AttentionInputs &inputs;
  const Pattern &pattern;
  const RowReader<float> &queries;
  const RowReader<float> &keys;
  const RowReader<float> &values;
  size_t dim;
  size_t valueDim;
  float scale;
  std::vector<float> scratch, queryScratch, sums;
  std::vector<float> scores;
  std::vector<int64_t> chosen;
};

} // namespace

std::optional<AttentionResult>
unfusedAttention(const AttentionSpec &spec, const AttentionInputs &inputs,
                 std::string *error, const AttentionOptions &options) {
  if (!validate(spec, inputs, error))
    return std::nullopt;
  Pattern pattern(spec, inputs);
  RowReader<float> queries(pattern.queries().view);
  RowReader<float> keys(pattern.keys().view);
  RowReader<float> values(
      Sequences::make(inputs.value, inputs.cuSeqlensK, inputs.lengthsK).view);
  return runRows(
      spec, inputs, pattern, options, inputs.query.dtype(), DType::f32,
      [&]() -> RowFunction {
        return Computation(spec, inputs, pattern, queries, keys, values);
      },
      error);
}

} // namespace ringlet::oracle
