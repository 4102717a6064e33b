//===- Attention.cpp - The f64 oracle ---------------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Oracle/Attention.h"

#include "lib/Oracle/RowLoop.h"

#include <cmath>
#include <limits>
#include <new>

namespace ringlet::oracle {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Four sums instead of one only keep the adder busy; in double the order of
/// the terms is far below what is compared.
double dot(const double *left, const double *right, int64_t count) {
  double sums[4] = {0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (int lane = 0; lane < 4; ++lane)
      sums[lane] += left[i + lane] * right[i + lane];
  for (; i < count; ++i)
    sums[0] += left[i] * right[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Softmax over the keys added so far, relative to the greatest score, so that
/// no exponential overflows.
struct Partial {
  double max = -kInfinity;
  double sum = 0;
  std::vector<double> values;

  void reset(size_t dim) {
    max = -kInfinity;
    sum = 0;
    values.assign(dim, 0);
  }

  void raise(double score) {
    double factor = std::exp(max - score);
    max = score;
    sum *= factor;
    for (double &value : values)
      value *= factor;
  }

  void add(double score, const double *row) {
    if (score == -kInfinity)
      return; // Weight 0; two of them would make inf - inf.
    if (score > max)
      raise(score);
    double weight = std::exp(score - max);
    sum += weight;
    for (size_t i = 0; i < values.size(); ++i)
      values[i] += weight * row[i];
  }

  /// R3: a raw logit without a value.
  void addSink(double logit) {
    if (logit == -kInfinity)
      return;
    if (logit > max)
      raise(logit);
    // An infinite one is no distance away from itself.
    sum += logit == max ? 1 : std::exp(logit - max);
  }

  /// B7: so many scores of 0 with values of 0.
  void addPadding(int64_t count) {
    if (count == 0)
      return;
    if (max < 0)
      raise(0);
    sum += static_cast<double>(count) * std::exp(-max);
  }

  /// Adds factor * output to `output`; returns the lse. Without a key or sink
  /// that is 0 and -inf (R3).
  double finish(double factor, std::vector<double> &output) const {
    if (sum == 0)
      return -kInfinity;
    for (size_t i = 0; i < values.size(); ++i)
      output[i] += factor * (values[i] / sum);
    return max + std::log(sum);
  }
};

/// One (row, head) at a time; owns the scratch memory of one thread.
class Computation {
public:
  Computation(const AttentionSpec &spec, const AttentionInputs &inputs,
              const Pattern &pattern, const RowReader<double> &queries,
              const RowReader<double> &keys, const RowReader<double> &values)
      : spec(spec), inputs(inputs), pattern(pattern), queries(queries),
        keys(keys), values(values),
        dim(static_cast<size_t>(inputs.query.sizes().back())),
        valueDim(static_cast<size_t>(inputs.value.sizes().back())),
        scale(spec.scale.value_or(1 / std::sqrt(static_cast<double>(dim)))),
        queryScratch(dim), keyScratch(dim), valueScratch(valueDim) {}

  void operator()(const QueryRow &query, int64_t head, RowResult &result) {
    std::fill(result.output.begin(), result.output.end(), 0.0);
    std::fill(result.lse.begin(), result.lse.end(), -kInfinity);
    if (query.sequence < 0)
      return; // S2
    const double *queryRow =
        queries.row(query.batch, query.row, head, queryScratch.data());
    partial.reset(valueDim);
    double valueScale =
        scaleOf(inputs.valueScale, query.sequence, pattern.keyHead(head));
    for (size_t i = 0; i < spec.branches.size(); ++i) {
      const Branch &branch = spec.branches[i];
      pattern.forEachKey(branch, query, head,
                         [&](int64_t u) { add(query, queryRow, head, u); });
      partial.addPadding(pattern.countPadding(branch, query, head));
      if (spec.mix == Mix::Softmax)
        continue; // R1: one softmax over the multiset union.
      if (inputs.sink && pattern.isIn(branch, query, head))
        partial.addSink(inputs.sink->get({head}));
      result.lse[i] = partial.finish(spec.outputScale.value_or(1) * valueScale,
                                     result.output); // R2
      partial.reset(valueDim);
    }
    if (spec.mix == Mix::Sum)
      return;
    if (inputs.sink)
      partial.addSink(inputs.sink->get({head}));
    result.lse[0] = partial.finish(valueScale, result.output);
  }

private:
  /// Adds key u with its score s(p, h, u) (section 3).
  void add(const QueryRow &query, const double *queryRow, int64_t head,
           int64_t u) {
    const Sequences::Extent &extent = pattern.keys().extents[query.sequence];
    int64_t row = extent.first + u;
    int64_t keyHead = pattern.keyHead(head);
    double score =
        scale * scaleOf(inputs.keyScale, query.sequence, keyHead) *
        dot(queryRow, keys.row(extent.batch, row, keyHead, keyScratch.data()),
            static_cast<int64_t>(dim));
    if (spec.softcap)
      score = *spec.softcap * std::tanh(score / *spec.softcap);
    partial.add(score,
                values.row(extent.batch, row, keyHead, valueScratch.data()));
  }

  const AttentionSpec &spec;
  const AttentionInputs &inputs;
  const Pattern &pattern;
  const RowReader<double> &queries;
  const RowReader<double> &keys;
  const RowReader<double> &values;
  size_t dim;
  size_t valueDim;
  double scale;
  std::vector<double> queryScratch, keyScratch, valueScratch;
  Partial partial;
};

} // namespace

std::optional<AttentionResult> attention(const AttentionSpec &spec,
                                         const AttentionInputs &inputs,
                                         std::string *error,
                                         const AttentionOptions &options) {
  if (!validate(spec, inputs, error))
    return std::nullopt;
  try {
    Pattern pattern(spec, inputs);
    RowReader<double> queries(pattern.queries().view, false);
    RowReader<double> keys(pattern.keys().view, true);
    RowReader<double> values(
        Sequences::make(inputs.value, inputs.cuSeqlensK, inputs.lengthsK).view,
        true);
    return runRows(
        spec, inputs, pattern, options, DType::f64, DType::f64,
        [&]() -> RowFunction {
          return Computation(spec, inputs, pattern, queries, keys, values);
        },
        error);
  } catch (const std::bad_alloc &) {
    if (error)
      *error = "not enough memory to widen keys and values";
    return std::nullopt;
  }
}

} // namespace ringlet::oracle
