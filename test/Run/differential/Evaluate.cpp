//===- Evaluate.cpp - A graph computed by the oracle ------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/differential/Evaluate.h"

#include "lib/Layout/Order.h"
#include "lib/Oracle/Attention.h"
#include "lib/Oracle/Pages.h"
#include "lib/Oracle/Unfused.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <numeric>
#include <utility>

namespace ringlet::differential {

namespace {

using oracle::AttentionInputs;
using oracle::AttentionResult;

/// A value of the graph.
struct Known {
  Expected expected;
  /// What an operation that reads the value sees: the exact one rounded to the
  /// value's type, and the unfused ones.
  TensorView rounded;
  std::vector<TensorView> unfused;
};

/// The tokens of the slots.
std::optional<std::vector<int64_t>>
tokensOf(const std::optional<layout::OrderSpec> &order, int64_t length,
         std::string *error) {
  if (!order) {
    std::vector<int64_t> tokens(static_cast<size_t>(length));
    std::iota(tokens.begin(), tokens.end(), 0);
    return tokens;
  }
  auto made = layout::makeOrder(*order, error);
  if (!made)
    return std::nullopt;
  std::vector<int64_t> tokens = made->permutation(length, error);
  if (static_cast<int64_t>(tokens.size()) != length)
    return std::nullopt;
  return tokens;
}

/// The same of packed sequences, each of which restarts the order.
std::optional<std::vector<int64_t>>
tokensOf(const std::optional<layout::OrderSpec> &order, int64_t length,
         const Tensor &starts, std::string *error) {
  std::vector<int64_t> tokens(static_cast<size_t>(length));
  std::iota(tokens.begin(), tokens.end(), 0);
  const int64_t *bounds = starts.as<int64_t>();
  for (int64_t i = 1; i < starts.elements(); ++i) {
    int64_t first = bounds[i - 1];
    auto ofSequence = tokensOf(order, bounds[i] - first, error);
    if (!ofSequence)
      return std::nullopt;
    for (int64_t token : *ofSequence)
      tokens[first++] = bounds[i - 1] + token;
  }
  return tokens;
}

/// Where tokens lie.
std::vector<int64_t> invert(const std::vector<int64_t> &tokens) {
  std::vector<int64_t> slots(tokens.size());
  for (size_t slot = 0; slot < tokens.size(); ++slot)
    slots[tokens[slot]] = static_cast<int64_t>(slot);
  return slots;
}

/// Lengths, or starts, that lie count as the nearest ones that a tensor of
/// `rows` has (S2); the oracle refuses them.
Tensor clampLengths(const TensorView &lengths, int64_t rows) {
  Tensor result(DType::i64, lengths.sizes());
  for (int64_t i = 0; i < lengths.size(0); ++i)
    result.as<int64_t>()[i] = std::clamp<int64_t>(lengths.getInt({i}), 0, rows);
  return result;
}

class Evaluation {
public:
  Evaluation(const Graph &graph, const std::vector<TensorView> &inputs,
             bool withUnfused, std::string *error)
      : graph(graph), inputs(inputs), withUnfused(withUnfused), error(error),
        ways(oracle::arithmeticsFor(graph.values[0].dtype)),
        known(graph.values.size()) {}

  std::optional<std::vector<Expected>> run() {
    for (int i = 0; i < graph.arguments; ++i) {
      Known &value = known[i];
      value.rounded = inputs[i];
      value.unfused.assign(ways.size(), inputs[i]);
      value.expected.inputs = inputs[i].dtype();
    }
    for (const Operation &op : graph.operations)
      if (!(op.attention ? attention(op) : reorder(op)))
        return std::nullopt;
    std::vector<Expected> results;
    for (int result : graph.results) {
      Expected expected = known[result].expected;
      if (result < graph.arguments)
        expected.exact = Tensor::copyOf(inputs[result], DType::f64);
      results.push_back(std::move(expected));
    }
    return results;
  }

private:
  /// Takes a value that was just computed.
  void define(int result, Expected expected) {
    Known &value = known[result];
    value.expected = std::move(expected);
    store.push_back(std::make_unique<Tensor>(Tensor::copyOf(
        value.expected.exact.view(), graph.values[result].dtype)));
    value.rounded = std::as_const(*store.back()).view();
    value.unfused.assign(ways.size(), value.rounded);
    for (size_t i = 0; i < value.expected.unfused.size(); ++i)
      value.unfused[i] = std::as_const(value.expected.unfused[i]).view();
  }

  bool attention(const Operation &op) {
    std::optional<Tensor> offset;
    bool isOfSequence =
        op.offsetOperand && inputs[*op.offsetOperand].rank() == 1;
    if (op.offsetConstant) {
      offset = Tensor(DType::i64, {1});
      *offset->as<int64_t>() = *op.offsetConstant;
    } else if (op.offsetOperand && !isOfSequence) {
      offset = Tensor(DType::i64, {1});
      *offset->as<int64_t>() = inputs[*op.offsetOperand].getInt({});
    }
    int axis = op.sequenceAxis();
    auto countRows = [&](int operand) {
      const TensorView &rows = known[op.operands[operand]].rounded;
      return operand > 0 && op.pages ? rows.size(1) * inputs[*op.pages].size(1)
                                     : rows.size(axis);
    };
    // Of queries and of keys.
    std::optional<Tensor> lists[2];
    if (auto numbers = op.lengths ? op.lengths : op.starts)
      for (int side : {0, 1})
        lists[side] = clampLengths(
            inputs[side ? numbers->second : numbers->first], countRows(side));
    if (op.pages && op.starts)
      lists[1] =
          oracle::countKeysInPages(inputs[op.starts->second], countRows(1));
    // The oracle knows tokens in linear order only.
    std::optional<std::vector<int64_t>> tokens[3];
    for (int i = 0; i < 3; ++i) {
      int64_t length = countRows(i);
      const auto &order = graph.values[op.operands[i]].order;
      bool isPacked = op.starts && !(i > 0 && op.pages);
      tokens[i] = isPacked ? tokensOf(order, length, *lists[i > 0], error)
                           : tokensOf(order, length, error);
      if (!tokens[i])
        return false;
    }
    std::vector<Tensor> moved;
    auto operands = [&](auto view) {
      moved.clear();
      for (int i = 0; i < 3; ++i) {
        TensorView rows = view(known[op.operands[i]]);
        if (i > 0 && op.pages) {
          std::optional<Tensor> gathered =
              oracle::gatherPages(rows, inputs[*op.pages], error);
          moved.push_back(gathered ? std::move(*gathered) : Tensor());
        } else {
          moved.push_back(takeIndices(rows, axis, invert(*tokens[i])));
        }
      }
      AttentionInputs list;
      list.query = std::as_const(moved[0]).view();
      list.key = std::as_const(moved[1]).view();
      list.value = std::as_const(moved[2]).view();
      if (op.blockMask)
        list.blockMask = inputs[*op.blockMask];
      if (offset)
        list.qOffset = std::as_const(*offset).view();
      if (isOfSequence)
        list.qOffset = inputs[*op.offsetOperand];
      if (op.lengths) {
        list.lengthsQ = std::as_const(*lists[0]).view();
        list.lengthsK = std::as_const(*lists[1]).view();
      }
      if (op.starts) {
        list.cuSeqlensQ = std::as_const(*lists[0]).view();
        (op.pages ? list.lengthsK : list.cuSeqlensK) =
            std::as_const(*lists[1]).view();
      }
      if (op.begins)
        list.keyBegins = inputs[*op.begins];
      if (op.keyScale)
        list.keyScale = inputs[*op.keyScale];
      if (op.valueScale)
        list.valueScale = inputs[*op.valueScale];
      if (op.sink)
        list.sink = inputs[*op.sink];
      return list;
    };
    oracle::AttentionSpec spec =
        withSizes(op, [&](int size) { return inputs[size].getInt({}); });
    oracle::AttentionOptions options;
    options.threads = 1;
    std::optional<AttentionResult> exact = oracle::attention(
        spec, operands([](Known &value) { return value.rounded; }), error,
        options);
    if (!exact)
      return false;
    auto inOrder = [&](const Tensor &result, int axis) {
      return takeIndices(result.view(), axis, *tokens[0]);
    };
    int lseAxis = exact->lse.view().rank() - 1;
    Expected output, lse;
    output.exact = inOrder(exact->output, axis);
    lse.exact = inOrder(exact->lse, lseAxis);
    lse.quantity = oracle::Quantity::Lse;
    output.inputs = lse.inputs = graph.values[op.operands[0]].dtype;
    for (size_t i = 0; withUnfused && i < ways.size(); ++i) {
      std::optional<AttentionResult> unfused = oracle::unfusedAttention(
          spec, operands([&](Known &value) { return value.unfused[i]; }), error,
          options, ways[i]);
      if (!unfused)
        return false;
      output.unfused.push_back(inOrder(unfused->output, axis));
      lse.unfused.push_back(inOrder(unfused->lse, lseAxis));
    }
    define(op.results[0], std::move(output));
    define(op.results[1], std::move(lse));
    return true;
  }

  bool reorder(const Operation &op) {
    int from = op.operands[0], to = op.results[0];
    const ValueType &source = graph.values[from];
    const ValueType &target = graph.values[to];
    int axis = source.order ? source.axis : target.order ? target.axis : 1;
    int64_t length = known[from].rounded.size(axis);
    auto tokens = tokensOf(source.order, length, error);
    auto wanted = tokensOf(target.order, length, error);
    if (!tokens || !wanted)
      return false;
    std::vector<int64_t> slotOf = invert(*tokens), taken;
    for (int64_t token : *wanted)
      taken.push_back(slotOf[token]);

    Expected expected = known[from].expected;
    TensorView exact = from < graph.arguments
                           ? known[from].rounded
                           : std::as_const(expected.exact).view();
    Tensor moved = takeIndices(exact, axis, taken);
    for (Tensor &unfused : expected.unfused)
      unfused = takeIndices(std::as_const(unfused).view(), axis, taken);
    expected.exact = Tensor::copyOf(std::as_const(moved).view(), DType::f64);
    define(to, std::move(expected));
    return true;
  }

  const Graph &graph;
  const std::vector<TensorView> &inputs;
  bool withUnfused;
  std::string *error;
  const std::vector<oracle::Arithmetic> &ways;
  std::vector<Known> known;
  std::vector<std::unique_ptr<Tensor>> store;
};

std::string compareMoved(const Expected &expected, const TensorView &actual) {
  if (actual.sizes() != expected.exact.shape())
    return "moved tensor: expected shape " + toString(expected.exact.shape()) +
           ", found " + toString(actual.sizes());
  std::string text;
  TensorView exact = expected.exact.view();
  forEachIndex(actual.sizes(), [&](const int64_t *indices) {
    double got = actual.get(indices), want = exact.get(indices);
    if (!text.empty() || got == want)
      return;
    char numbers[80];
    std::snprintf(numbers, sizeof numbers, ": got %.9g, expected %.9g", got,
                  want);
    text = "moved tensor: first difference at " +
           toString(Shape(indices, indices + actual.rank())) + numbers;
  });
  return text;
}

} // namespace

std::optional<std::vector<Expected>>
evaluate(const Graph &graph, const std::vector<TensorView> &inputs,
         bool withUnfused, std::string *error) {
  return Evaluation(graph, inputs, withUnfused, error).run();
}

std::string compareResult(const Expected &expected, const TensorView &actual,
                          bool hasFarReference) {
  if (expected.unfused.empty())
    return compareMoved(expected, actual);
  std::vector<TensorView> unfused;
  for (const Tensor &one : expected.unfused)
    unfused.push_back(one.view());
  oracle::Comparison comparison =
      oracle::compare(actual, std::as_const(expected.exact).view(), unfused,
                      expected.quantity, expected.inputs, hasFarReference);
  return comparison.ok ? "" : comparison.text;
}

} // namespace ringlet::differential
