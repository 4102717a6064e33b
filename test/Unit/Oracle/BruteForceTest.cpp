//===- BruteForceTest.cpp - The oracle against dense masks ------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The same rules, computed another way: for each sequence and head a dense
// table says how often each key counts for each row, made by asking every
// (row, key) pair every question; then one dense softmax per table, in long
// double. It shares neither the enumeration of keys nor the running softmax
// with the oracle, nor the arithmetic of offsets and segments with lib/Layout.
//
//===----------------------------------------------------------------------===//

#include "test/Unit/Oracle/RandomProblem.h"

#include "lib/Layout/Order.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <map>

using namespace ringlet;
using namespace ringlet::oracle;

namespace {

int64_t flooredMod(int64_t value, int64_t divisor) {
  int64_t rest = value % divisor;
  return rest < 0 ? rest + divisor : rest;
}

using Table = std::vector<std::vector<int>>;

/// One sequence, cut out of the operands: element accessors and lengths.
struct Sequence {
  int64_t rows, length, offset;
  std::function<double(int64_t, int64_t, int64_t)> query, key, value;
};

class BruteForce {
public:
  explicit BruteForce(const Problem &problem)
      : problem(problem), spec(problem.spec),
        heads(problem.query.shape()[problem.query.rank() - 2]),
        keyHeads(problem.key.shape()[problem.key.rank() - 2]),
        dim(problem.query.shape().back()),
        valueDim(problem.value.shape().back()) {
    if (spec.patternOrder)
      order = layout::makeOrder(*spec.patternOrder);
  }

  /// Compares every element of the result; returns how many rows had a key.
  int64_t check(const AttentionResult &result) {
    seen.clear();
    int64_t sequences = countSequences();
    for (int64_t s = 0; s < sequences; ++s) {
      Sequence sequence = cut(s);
      for (int64_t head = 0; head < heads; ++head)
        checkHead(result, s, sequence, head);
    }
    // Everything else is past a length.
    forEachIndex(result.output.shape(), [&](const int64_t *indices) {
      int rank = result.output.rank();
      int64_t batch = rank == 4 ? indices[0] : 0;
      if (!seen.count({batch, indices[rank - 3]})) {
        EXPECT_EQ(result.output.view().get(indices), 0);
      }
    });
    forEachIndex(result.lse.shape(), [&](const int64_t *indices) {
      int rank = result.lse.rank();
      int64_t batch = problem.query.rank() == 4 ? indices[rank - 3] : 0;
      if (!seen.count({batch, indices[rank - 1]})) {
        EXPECT_EQ(result.lse.view().get(indices), -HUGE_VAL);
      }
    });
    return rowsWithKeys;
  }

private:
  int64_t countSequences() const {
    return problem.cuSeqlensQ ? problem.cuSeqlensQ->elements() - 1
                              : problem.query.shape()[0];
  }

  static int64_t at(const std::optional<Tensor> &tensor, int64_t index) {
    return tensor->view().getInt({index});
  }

  Sequence cut(int64_t s) const {
    Sequence result;
    int64_t firstQuery = problem.cuSeqlensQ ? at(problem.cuSeqlensQ, s) : 0;
    int64_t firstKey = problem.cuSeqlensK ? at(problem.cuSeqlensK, s) : 0;
    result.rows = problem.cuSeqlensQ
                      ? at(problem.cuSeqlensQ, s + 1) - firstQuery
                  : problem.lengthsQ ? at(problem.lengthsQ, s)
                                     : problem.query.shape()[1];
    result.length = problem.cuSeqlensK
                        ? at(problem.cuSeqlensK, s + 1) - firstKey
                    : problem.lengthsK ? at(problem.lengthsK, s)
                                       : problem.key.shape()[1];
    if (problem.keyBegins) {
      firstKey =
          std::clamp<int64_t>(at(problem.keyBegins, s), 0, result.length);
      result.length -= firstKey;
    }
    result.offset = result.length - result.rows;
    if (problem.qOffset)
      result.offset =
          at(problem.qOffset, problem.qOffset->elements() > 1 ? s : 0);
    auto accessor = [s](const Tensor &tensor, int64_t first, bool packed,
                        const std::optional<Tensor> &scales) {
      return [&tensor, &scales, first, packed, s](int64_t row, int64_t head,
                                                  int64_t i) {
        double scale = !scales               ? 1
                       : scales->rank() == 1 ? scales->get({head})
                                             : scales->get({s, head});
        return scale * (packed ? tensor.get({first + row, head, i})
                               : tensor.get({s, first + row, head, i}));
      };
    };
    static const std::optional<Tensor> none;
    bool packedQ = problem.cuSeqlensQ.has_value();
    bool packedK = problem.cuSeqlensK.has_value();
    result.query = accessor(problem.query, firstQuery, packedQ, none);
    result.key = accessor(problem.key, firstKey, packedK, problem.keyScale);
    result.value =
        accessor(problem.value, firstKey, packedK, problem.valueScale);
    return result;
  }

  int64_t ordinalOf(int64_t position) const {
    return order ? order->ordinal(position) : position;
  }

  int64_t offsetOf(const Branch &branch, int64_t head) const {
    int64_t x = branch.offsetByQuery ? head : head / (heads / keyHeads);
    int64_t count = branch.offsetByQuery ? heads : keyHeads;
    switch (branch.offset) {
    case layout::OffsetRule::Modulo:
      return x % branch.dilation;
    case layout::OffsetRule::Block: {
      int64_t group = 0; // ceil(count / r), by counting.
      while (group * branch.dilation < count)
        ++group;
      return x / group;
    }
    case layout::OffsetRule::Constant:
      return flooredMod(branch.constant, branch.dilation);
    }
    return -1;
  }

  /// (segment, residue) of a position in a branch.
  std::pair<int64_t, int64_t> classOf(const Branch &branch,
                                      int64_t position) const {
    int64_t ordinal = ordinalOf(position);
    if (!branch.segment)
      return {0, flooredMod(ordinal, branch.dilation)};
    int64_t place = flooredMod(ordinal, *branch.segment);
    return {(ordinal - place) / *branch.segment, place % branch.dilation};
  }

  bool isAllowed(int64_t position, int64_t key) const {
    bool allowed = true;
    if (spec.causal)
      allowed &= key <= position;
    if (spec.windowLeft)
      allowed &= key >= position - *spec.windowLeft;
    if (spec.windowRight)
      allowed &= key <= position + *spec.windowRight;
    if (spec.gridWindow) {
      int64_t stride = 1;
      for (size_t axis = spec.gridWindow->grid.size(); axis-- > 0;) {
        int64_t side = spec.gridWindow->grid[axis];
        int64_t left = position / stride % side;
        int64_t right = key / stride % side;
        allowed &= std::abs(left - right) <= spec.gridWindow->radius[axis];
        stride *= side;
      }
    }
    if (spec.blockMask)
      allowed &=
          problem.blockMask->get({ordinalOf(position) / spec.blockMask->query,
                                  ordinalOf(key) / spec.blockMask->key}) != 0;
    return allowed;
  }

  /// Keys of zeros (B7): places of the row's segment, filled up, that no key
  /// has.
  int countPadding(const Branch &branch, const Sequence &sequence,
                   int64_t position, int64_t head) const {
    if (!branch.countsPadding || spec.causal || position < 0 ||
        !isIn(branch, position, head))
      return 0;
    int64_t length = sequence.length;
    int64_t start =
        branch.segment ? classOf(branch, position).first * *branch.segment : 0;
    if (start >= length)
      return 0;
    int64_t whole = std::min(branch.segment.value_or(length), length);
    int64_t filled = whole;
    while (filled % branch.dilation != 0)
      ++filled;
    int count = 0;
    for (int64_t place = 0; place < filled; ++place)
      count += place % branch.dilation == offsetOf(branch, head) &&
               (place >= whole || start + place >= length);
    return count;
  }

  bool isIn(const Branch &branch, int64_t position, int64_t head) const {
    if (branch.heads &&
        !(branch.heads->begin <= head && head < branch.heads->end))
      return false;
    return classOf(branch, position).second == offsetOf(branch, head);
  }

  void checkHead(const AttentionResult &result, int64_t s,
                 const Sequence &sequence, int64_t head) {
    auto rows = static_cast<size_t>(sequence.rows);
    auto length = static_cast<size_t>(sequence.length);
    std::vector<Table> counts(spec.branches.size(),
                              Table(rows, std::vector<int>(length)));
    for (size_t i = 0; i < spec.branches.size(); ++i)
      for (int64_t row = 0; row < sequence.rows; ++row)
        for (int64_t u = 0; u < sequence.length; ++u) {
          const Branch &branch = spec.branches[i];
          int64_t position = sequence.offset + row;
          counts[i][row][u] = isIn(branch, position, head) &&
                              classOf(branch, position) == classOf(branch, u) &&
                              isAllowed(position, u);
        }
    for (int64_t row = 0; row < sequence.rows; ++row)
      checkRow(result, s, sequence, head, row, counts);
  }

  long double score(const Sequence &sequence, int64_t head, int64_t row,
                    int64_t u) const {
    long double sum = 0;
    for (int64_t i = 0; i < dim; ++i)
      sum += static_cast<long double>(sequence.query(row, head, i)) *
             sequence.key(u, head / (heads / keyHeads), i);
    sum *= spec.scale.value_or(1 / std::sqrt(static_cast<double>(dim)));
    if (spec.softcap)
      sum = *spec.softcap * std::tanh(sum / *spec.softcap);
    return sum;
  }

  /// Dense softmax of one row: weights[u] = count * exp(score); the output is
  /// added to `output` and the lse returned.
  double softmax(const Sequence &sequence, int64_t head, int64_t row,
                 const std::vector<int> &counts, bool hasSink, int padding,
                 long double factor, std::vector<long double> &output) const {
    std::vector<long double> scores(counts.size());
    long double sink = hasSink ? problem.sink->get({head}) : -HUGE_VALL;
    long double most = padding ? std::max(sink, 0.0L) : sink;
    for (size_t u = 0; u < counts.size(); ++u)
      if (counts[u]) {
        scores[u] = score(sequence, head, row, static_cast<int64_t>(u));
        most = std::max(most, scores[u]);
      }
    if (std::isinf(most))
      return -HUGE_VAL;
    long double total = std::exp(sink - most);
    for (int i = 0; i < padding; ++i)
      total += std::exp(-most);
    for (size_t u = 0; u < counts.size(); ++u)
      if (counts[u])
        total += counts[u] * std::exp(scores[u] - most);
    for (size_t u = 0; u < counts.size(); ++u)
      if (counts[u])
        for (int64_t i = 0; i < valueDim; ++i)
          output[i] += factor * counts[u] * std::exp(scores[u] - most) / total *
                       sequence.value(static_cast<int64_t>(u),
                                      head / (heads / keyHeads), i);
    return static_cast<double>(most + std::log(total));
  }

  void checkRow(const AttentionResult &result, int64_t s,
                const Sequence &sequence, int64_t head, int64_t row,
                const std::vector<Table> &counts) {
    bool packed = problem.cuSeqlensQ.has_value();
    int64_t place = packed ? at(problem.cuSeqlensQ, s) + row : row;
    seen.insert({{packed ? 0 : s, place}, true});
    std::vector<long double> output(static_cast<size_t>(valueDim));
    std::vector<double> lses;
    bool hasKey = false;
    if (spec.mix == Mix::Softmax) {
      std::vector<int> sums(static_cast<size_t>(sequence.length));
      for (const Table &table : counts)
        for (size_t u = 0; u < sums.size(); ++u) {
          sums[u] += table[row][u];
          hasKey |= table[row][u] != 0;
        }
      int padding = 0;
      for (const Branch &branch : spec.branches)
        padding += countPadding(branch, sequence, sequence.offset + row, head);
      lses = {softmax(sequence, head, row, sums, problem.sink.has_value(),
                      padding, 1, output)};
    } else {
      for (size_t i = 0; i < counts.size(); ++i) {
        bool in = isIn(spec.branches[i], sequence.offset + row, head);
        lses.push_back(softmax(sequence, head, row, counts[i][row],
                               in && problem.sink.has_value(),
                               countPadding(spec.branches[i], sequence,
                                            sequence.offset + row, head),
                               spec.outputScale.value_or(1), output));
        hasKey |= in;
      }
    }
    rowsWithKeys += hasKey;

    for (int64_t i = 0; i < valueDim; ++i) {
      double got = packed ? result.output.get({place, head, i})
                          : result.output.get({s, place, head, i});
      ASSERT_NEAR(got, static_cast<double>(output[i]), 1e-12)
          << "sequence " << s << " head " << head << " row " << row;
    }
    for (size_t i = 0; i < lses.size(); ++i) {
      auto branch = static_cast<int64_t>(i);
      bool sum = spec.mix == Mix::Sum;
      double got = sum && packed ? result.lse.get({branch, head, place})
                   : sum         ? result.lse.get({branch, s, head, place})
                   : packed      ? result.lse.get({head, place})
                                 : result.lse.get({s, head, place});
      if (std::isinf(lses[i])) {
        ASSERT_EQ(got, lses[i]) << s << " " << head << " " << row;
      } else {
        ASSERT_NEAR(got, lses[i], 1e-11) << s << " " << head << " " << row;
      }
    }
  }

  const Problem &problem;
  const AttentionSpec &spec;
  int64_t heads, keyHeads, dim, valueDim;
  std::shared_ptr<const layout::Order> order;
  /// (batch, row) of every row of a sequence.
  std::map<std::pair<int64_t, int64_t>, bool> seen;
  int64_t rowsWithKeys = 0;
};

TEST(BruteForce, ThousandsOfRandomProblems) {
  std::mt19937_64 random(20260101);
  int64_t rowsWithKeys = 0;
  for (int i = 0; i < 3000; ++i) {
    Problem problem = randomProblem(random, 1 + i % 20);
    SCOPED_TRACE("problem " + std::to_string(i) + ": " + describe(problem));
    std::string error;
    std::optional<AttentionResult> result =
        attention(problem.spec, problem.inputs(), &error, {std::nullopt, 1});
    ASSERT_TRUE(result) << error;
    rowsWithKeys += BruteForce(problem).check(*result);
    if (HasFailure())
      return;
  }
  // The problems are not mostly empty.
  EXPECT_GT(rowsWithKeys, 50000);
}

} // namespace
