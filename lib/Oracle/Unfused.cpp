//===- Unfused.cpp - The same-precision yardstick ---------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Oracle/Unfused.h"

#include "lib/Oracle/RowLoop.h"
#include "lib/Tensor/Dice.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

namespace ringlet::oracle {

namespace {

constexpr float kInfinityF32 = std::numeric_limits<float>::infinity();
constexpr double kLog2E = 1.4426950408889634;
constexpr double kLn2 = 0.6931471805599453;
/// Exponents of 2 up to here leave f32 digits behind the point.
constexpr double kFarthest = 0x1p16;
/// So many terms are added one after the other at most; sums of more are summed
/// in pairs.
constexpr size_t kTermsInARow = size_t(1) << 14;

/// To the nearest f32, as processors do.
class Nearest {
public:
  explicit Nearest(uint64_t) {}
  void startRow(int64_t, int64_t) {}
  float operator()(double exact) { return static_cast<float>(exact); }
};

/// Up or down, with the probability of the distance to the other one.
class AtRandom {
public:
  explicit AtRandom(uint64_t seed) : seed(seed), dice(seed, 0) {}
  /// Rows are computed in any order.
  void startRow(int64_t row, int64_t head) {
    dice = Dice(seed + static_cast<uint64_t>(head), static_cast<uint64_t>(row));
  }
  float operator()(double exact) {
    if (!std::isfinite(exact) || exact == 0)
      return static_cast<float>(exact);
    // The digits that f32 does not have, and a number of as many digits.
    constexpr uint64_t below = (uint64_t(1) << 29) - 1;
    uint64_t bits;
    std::memcpy(&bits, &exact, sizeof bits);
    bits = (bits + (dice.next() & below)) & ~below;
    std::memcpy(&exact, &bits, sizeof bits);
    return static_cast<float>(exact);
  }

private:
  uint64_t seed;
  Dice dice;
};

/// Sums equally long lists of numbers in pairs, pairs in pairs, and so on.
template <typename Rounding>
class PairwiseSum {
public:
  explicit PairwiseSum(Rounding &round) : round(round) {}

  void add(std::vector<float> list) {
    size_t level = 0;
    for (size_t rest = count++; rest & 1; rest >>= 1)
      addTo(list, levels[level++]);
    levels.resize(std::max(levels.size(), level + 1));
    levels[level] = std::move(list);
  }
  /// Of one list at least.
  std::vector<float> total() {
    std::vector<float> sum;
    for (size_t level = 0; level < levels.size(); ++level) {
      if (!(count >> level & 1))
        continue;
      if (sum.empty())
        sum = levels[level];
      else
        addTo(sum, levels[level]);
    }
    return sum;
  }

private:
  void addTo(std::vector<float> &sum, const std::vector<float> &list) {
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] = round(double(list[i]) + sum[i]);
  }

  Rounding &round;
  /// Level n has the sum of 2^n lists if bit n of their number is set.
  std::vector<std::vector<float>> levels;
  size_t count = 0;
};

/// Computes in f64, where single operations on f32 are as good as exact, and
/// rounds each result by `Rounding`.
template <typename Rounding>
class UnfusedComputation {
public:
  UnfusedComputation(const AttentionSpec &spec, const AttentionInputs &inputs,
                     const Pattern &pattern, const RowReader<float> &queries,
                     const RowReader<float> &keys,
                     const RowReader<float> &values, Arithmetic arithmetic)
      : spec(spec), inputs(inputs), pattern(pattern), queries(queries),
        keys(keys), values(values), form(arithmetic.form),
        binary(form == Arithmetic::Binary), round(arithmetic.seed),
        dim(static_cast<size_t>(inputs.query.sizes().back())),
        valueDim(static_cast<size_t>(inputs.value.sizes().back())),
        scale(round(getScale())), binaryScale(round(getScale() * kLog2E)),
        scratch(std::max(dim, valueDim)), queryScratch(dim), sums(valueDim),
        laneSums(2 * valueDim) {}

  void operator()(const QueryRow &query, int64_t head, RowResult &result) {
    round.startRow(query.row + query.batch * inputs.query.size(1), head);
    std::fill(sums.begin(), sums.end(), 0.0f);
    std::fill(result.lse.begin(), result.lse.end(), -kInfinityF32);
    scores.clear();
    chosen.clear();
    bool anywhere = query.sequence >= 0;
    int64_t padding = 0;
    for (size_t i = 0; anywhere && i < spec.branches.size(); ++i) {
      const Branch &branch = spec.branches[i];
      pattern.forEachKey(branch, query, head,
                         [&](int64_t u) { chosen.push_back(u); });
      padding += pattern.countPadding(branch, query, head);
      if (spec.mix == Mix::Softmax)
        continue;
      bool hasSink = inputs.sink && pattern.isIn(branch, query, head);
      result.lse[i] = softmax(query, head, makeSink(head, hasSink, padding));
      chosen.clear();
      padding = 0;
    }
    if (anywhere && spec.mix == Mix::Softmax)
      result.lse[0] = softmax(query, head,
                              makeSink(head, inputs.sink.has_value(), padding));

    double factor = round(spec.outputScale.value_or(1));
    for (size_t i = 0; i < valueDim; ++i)
      result.output[i] = round(factor * sums[i]);
  }

private:
  double getScale() const {
    return spec.scale.value_or(1 / std::sqrt(static_cast<double>(dim)));
  }
  /// The logit of what joins the softmax without a value: the sink (R3) and
  /// keys of padding (B7), which is that of their sum; none if there is
  /// neither.
  std::optional<float> makeSink(int64_t head, bool hasSink, int64_t padding) {
    float sink =
        hasSink ? static_cast<float>(inputs.sink->get({head})) : -kInfinityF32;
    if (padding == 0)
      return hasSink ? std::optional(sink) : std::nullopt;
    float other = round(std::log(static_cast<double>(padding)));
    float greater = std::max(sink, other), less = std::min(sink, other);
    if (greater == kInfinityF32 || less == -kInfinityF32)
      return greater;
    double sum =
        round(1 + round(std::exp(double(round(double(less) - greater)))));
    return round(greater + double(round(std::log(sum))));
  }
  float toUnits(double logit) {
    return inBase2 ? round(logit * round(kLog2E)) : static_cast<float>(logit);
  }
  /// 2 or e to the power of a distance in units.
  float power(double distance) {
    if (inBase2)
      return round(std::exp2(distance));
    return round(binary ? std::exp2(round(distance * round(kLog2E)))
                        : std::exp(distance));
  }
  float makeLse(double max, double sum) {
    if (inBase2)
      return round(double(round(max + round(std::log2(sum)))) * round(kLn2));
    return round(max + round(std::log(sum)));
  }

  /// Sums `count` terms, in the order and the lanes of the form.
  template <typename Term>
  float sumOf(size_t count, Term term) {
    auto sumInARow = [&](size_t begin, size_t end) {
      double lanes[2] = {0, 0};
      for (size_t i = begin; i < end; ++i) {
        double &lane = lanes[form == Arithmetic::Lanes ? i % 2 : 0];
        lane = round(lane + term(binary ? count - 1 - i : i));
      }
      return round(lanes[0] + lanes[1]);
    };
    if (count <= kTermsInARow)
      return sumInARow(0, count);
    PairwiseSum<Rounding> total(round);
    for (size_t i = 0; i < count; i += kTermsInARow)
      total.add({sumInARow(i, std::min(count, i + kTermsInARow))});
    return total.total().front();
  }

  float multiply(const float *queryRow, const float *keyRow) {
    return sumOf(dim, [&](size_t i) {
      return round(multiplyAs(spec.precision, queryRow[i], keyRow[i]));
    });
  }

  /// The score of a product, in units.
  float score(double product) {
    if (!spec.softcap)
      return round((inBase2 ? binaryScale : scale) * product);
    double sum = round(scale * product);
    double cap = round(*spec.softcap);
    return toUnits(round(cap * round(std::tanh(round(sum / cap)))));
  }

  /// Whether the greatest of the scores and `sink` leaves digits behind the
  /// point as an exponent of 2.
  bool isNear(double sink) const {
    double max = sink;
    for (float product : scores) {
      double score = scale * product;
      if (spec.softcap)
        score = *spec.softcap * std::tanh(score / *spec.softcap);
      max = std::max(max, score);
    }
    return std::fabs(max * kLog2E) <= kFarthest;
  }

  /// Adds the attention over the chosen keys to `sums`; returns its lse.
  float softmax(const QueryRow &query, int64_t head,
                std::optional<float> logit) {
    if (chosen.empty())
      return logit.value_or(-kInfinityF32);
    const Sequences::Extent &extent = pattern.keys().extents[query.sequence];
    int64_t keyHead = pattern.keyHead(head);
    const float *queryRow =
        queries.row(query.batch, query.row, head, queryScratch.data());
    double keyScale = scaleOf(inputs.keyScale, query.sequence, keyHead);
    double valueScale = scaleOf(inputs.valueScale, query.sequence, keyHead);
    scores.clear();
    for (int64_t u : chosen)
      scores.push_back(round(
          keyScale * multiply(queryRow, keys.row(extent.batch, extent.first + u,
                                                 keyHead, scratch.data()))));
    inBase2 = binary && isNear(logit.value_or(-kInfinityF32));
    float sink = logit ? toUnits(*logit) : -kInfinityF32;
    float max = sink;
    for (float &one : scores)
      max = std::max(max, one = score(one));
    if (max == -kInfinityF32)
      return max;
    // What is infinite is no distance away from itself.
    auto weight = [&](double units) {
      return power(units == max ? 0 : round(units - max));
    };
    double sum = sumOf(scores.size(),
                       [&](size_t k) { return scores[k] = weight(scores[k]); });
    if (logit)
      sum = round(sum + weight(sink));
    DType dtype = inputs.query.dtype();
    double before = binary ? 1 : sum;
    double after = binary ? sum : 1;
    PairwiseSum<Rounding> total(round);
    for (size_t term = 0; term < chosen.size();) {
      size_t end = std::min(chosen.size(), term + kTermsInARow);
      std::fill(laneSums.begin(), laneSums.end(), 0.0f);
      for (; term < end; ++term) {
        size_t k = binary ? chosen.size() - 1 - term : term;
        auto probability =
            static_cast<float>(roundTo(dtype, round(scores[k] / before)));
        const float *valueRow = values.row(
            extent.batch, extent.first + chosen[k], keyHead, scratch.data());
        float *lane = laneSums.data() +
                      (form == Arithmetic::Lanes ? k % 2 * valueDim : 0);
        for (size_t i = 0; i < valueDim; ++i)
          lane[i] =
              round(lane[i] + double(round(multiplyAs(
                                  spec.precision, probability, valueRow[i]))));
      }
      std::vector<float> lanes(valueDim);
      for (size_t i = 0; i < valueDim; ++i)
        lanes[i] = round(double(laneSums[i]) + laneSums[valueDim + i]);
      total.add(std::move(lanes));
    }
    std::vector<float> all = total.total();
    for (size_t i = 0; i < valueDim; ++i)
      sums[i] = round(
          sums[i] + double(round(double(round(valueScale * all[i])) / after)));
    return makeLse(max, sum);
  }

  const AttentionSpec &spec;
  const AttentionInputs &inputs;
  const Pattern &pattern;
  const RowReader<float> &queries;
  const RowReader<float> &keys;
  const RowReader<float> &values;
  Arithmetic::Form form;
  bool binary;
  /// Whether scores of this row are exponents of 2.
  bool inBase2 = false;
  Rounding round;
  size_t dim;
  size_t valueDim;
  double scale, binaryScale;
  std::vector<float> scratch, queryScratch, sums, laneSums;
  std::vector<float> scores;
  std::vector<int64_t> chosen;
};

} // namespace

const std::vector<Arithmetic> &arithmeticsFor(DType inputs) {
  static const std::vector<Arithmetic> forms = {
      {Arithmetic::Natural}, {Arithmetic::Binary}, {Arithmetic::Lanes}};
  static const std::vector<Arithmetic> withRandom = [] {
    std::vector<Arithmetic> all = forms;
    for (uint64_t seed = 1; seed <= 6; ++seed)
      all.push_back({forms[seed % forms.size()].form, seed});
    return all;
  }();
  return inputs == DType::f32 ? withRandom : forms;
}

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
          if (arithmetic.seed)
            return UnfusedComputation<AtRandom>(spec, inputs, pattern, queries,
                                                keys, values, arithmetic);
          return UnfusedComputation<Nearest>(spec, inputs, pattern, queries,
                                             keys, values, arithmetic);
        },
        error);
  } catch (const std::bad_alloc &) {
    if (error)
      *error = "not enough memory to widen keys and values";
    return std::nullopt;
  }
}

} // namespace ringlet::oracle
