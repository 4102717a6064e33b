//===- Reference.cpp - What an entry should compute ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/ringlet-run/Reference.h"

#include "lib/Layout/Order.h"
#include "lib/Oracle/Pages.h"
#include "lib/Oracle/Unfused.h"
#include "tools/ringlet-run/Graph.h"

#include <algorithm>
#include <cstring>

using namespace ringlet;
using namespace ringlet::run;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Entries `rows` of one axis.
static Tensor gatherRows(const TensorView &view, int axis,
                         const std::vector<int64_t> &rows) {
  Shape shape = view.sizes();
  shape[size_t(axis)] = int64_t(rows.size());
  Tensor result(view.dtype(), shape);
  for (size_t i = 0; i < rows.size(); ++i) {
    TensorView to = result.view().slice(axis, int64_t(i), 1);
    copyElements(view.slice(axis, rows[i], 1),
                 MutableTensorView(const_cast<void *>(to.data()), to.dtype(),
                                   to.sizes(), to.strides()));
  }
  return result;
}

/// A tensor in memory order, put into token order.
static std::string toTokenOrder(const TensorView &view,
                                const abi::GraphValue &value, Tensor &result) {
  if (!value.order()) {
    result = Tensor::copyOf(view);
    return "";
  }
  std::string error;
  auto order = layout::makeOrder(fromAbi(*value.order()), &error);
  int axis = value.order_axis();
  std::vector<int64_t> tokens;
  if (order)
    tokens = order->permutation(view.size(axis), &error);
  if (int64_t(tokens.size()) != view.size(axis))
    return error;
  std::vector<int64_t> slots(tokens.size());
  for (size_t slot = 0; slot < tokens.size(); ++slot)
    slots[size_t(tokens[slot])] = int64_t(slot);
  result = gatherRows(view, axis, slots);
  return "";
}

/// The orders of packed sequences restart with each, that of a tensor does not
/// (O1). Of each row as an attention counts them, in token order sequence by
/// sequence, the place in the token order of the whole tensor; nothing if these
/// are the same.
static std::string placesOfSequences(const abi::GraphValue &value,
                                     const std::optional<TensorView> &starts,
                                     int64_t length, Reference::Rows &places) {
  if (!value.order() || !starts)
    return "";
  std::string error;
  auto order = layout::makeOrder(fromAbi(*value.order()), &error);
  if (!order)
    return error;
  std::vector<int64_t> whole = order->permutation(length, &error);
  if (int64_t(whole.size()) != length)
    return error;
  places = whole;
  for (int64_t i = 0; i + 1 < starts->size(0); ++i) {
    int64_t first = starts->getInt({i}), end = starts->getInt({i + 1});
    // What is wrong with the starts is for the oracle to say.
    if (first < 0 || end <= first || end > length)
      continue;
    std::vector<int64_t> tokens = order->permutation(end - first, &error);
    if (tokens.empty())
      return error;
    for (size_t slot = 0; slot < tokens.size(); ++slot)
      (*places)[size_t(first + tokens[slot])] = whole[size_t(first) + slot];
  }
  return "";
}

Tensor Reference::Value::operand(size_t computation) const {
  if (!isComputed())
    return exact;
  const Tensor &source = computation == 0 ? exact : unfused[computation - 1];
  return Tensor::copyOf(source.view(), stored);
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

std::string Reference::load(uint32_t number) {
  const abi::GraphValue &value = *graph.values()->Get(number);
  std::optional<DType> dtype = fromAbi(value.dtype());
  if (!dtype)
    return "its graph has a value of a type without host tensors";
  TensorView view;
  if (value.argument() >= 0) {
    view = arguments[size_t(value.argument())];
  } else {
    const abi::Constant &constant =
        *artifact.constants()->Get(uint32_t(value.constant()));
    Shape shape;
    if (constant.sizes())
      shape.assign(constant.sizes()->begin(), constant.sizes()->end());
    view = TensorView(constant.data() ? constant.data()->data() : nullptr,
                      *dtype, shape);
  }
  auto loaded = std::make_shared<Value>();
  loaded->stored = *dtype;
  values[number] = loaded;
  return toTokenOrder(view, value, loaded->exact);
}

bool Reference::feedsAttention(int32_t number) const {
  if (number < 0)
    return false;
  for (const abi::Node *node : *graph.nodes()) {
    if (const abi::Reorder *reorder = node->op_as_Reorder()) {
      if (reorder->input() == number && feedsAttention(reorder->output()))
        return true;
      continue;
    }
    const abi::Attention &op = *node->op_as_Attention();
    for (int32_t operand : {op.query(), op.key(), op.value(), op.sink()})
      if (operand == number)
        return true;
  }
  return false;
}

void Reference::makeSpec(const abi::Attention &node, int64_t heads,
                         oracle::AttentionSpec &spec) const {
  auto scalar = [&](int32_t number) {
    return values[size_t(number)]->exact.view().getInt({});
  };
  for (const abi::Branch *branch : *node.branches()) {
    oracle::Branch entry = fromAbi(*branch, heads);
    if (branch->w_value() >= 0)
      entry.segment = scalar(branch->w_value());
    if (branch->r_value() >= 0)
      entry.dilation = scalar(branch->r_value());
    spec.branches.push_back(entry);
  }
  spec.causal = node.causal();
  if (node.window_left() >= 0)
    spec.windowLeft = node.window_left();
  if (node.window_right() >= 0)
    spec.windowRight = node.window_right();
  if (const abi::GridWindow *window = node.grid_window()) {
    spec.gridWindow.emplace();
    spec.gridWindow->grid.assign(window->grid()->begin(),
                                 window->grid()->end());
    spec.gridWindow->radius.assign(window->reach()->begin(),
                                   window->reach()->end());
  }
  if (node.block_mask() >= 0)
    spec.blockMask = oracle::BlockSizes{node.block_query(), node.block_key()};
  if (node.pattern_order())
    spec.patternOrder = fromAbi(*node.pattern_order());
  if (node.mix() == abi::Mix::Sum) {
    spec.mix = oracle::Mix::Sum;
    spec.outputScale = node.output_scale();
  }
  if (node.scale())
    spec.scale = *node.scale();
  if (node.softcap())
    spec.softcap = *node.softcap();
  spec.precision = fromAbi(node.precision());
}

std::string
Reference::compute(const oracle::AttentionSpec &spec,
                   const std::vector<oracle::AttentionInputs> &inputs,
                   const Rows &rows, Results &results) const {
  oracle::AttentionOptions options;
  options.rows = rows;
  options.threads = threads;
  std::string error;
  results.all.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto result =
        i == 0 ? oracle::attention(spec, inputs[i], &error, options)
               : oracle::unfusedAttention(
                     spec, inputs[i], &error, options,
                     oracle::arithmeticsFor(inputs[i].query.dtype())[i - 1]);
    if (!result)
      return error;
    results.all.push_back(std::move(*result));
  }
  return "";
}

std::string Reference::evaluate(const abi::Attention &node,
                                CheckReport &report) {
  auto at = [&](int32_t number) -> const Value & {
    return *values[size_t(number)];
  };
  auto maybeView = [&](int32_t number) {
    return number >= 0 ? std::optional(at(number).exact.view()) : std::nullopt;
  };
  oracle::AttentionSpec spec;
  bool packed = node.query_starts() >= 0;
  const Value &query = at(node.query());
  int axis = packed ? 0 : 1;
  Rows queryPlaces, keyPlaces;
  bool inPages = node.page_table() >= 0;
  for (auto [number, starts, places] :
       {std::tuple(node.query(), node.query_starts(), &queryPlaces),
        {node.key(), node.key_starts(), &keyPlaces}}) {
    if (inPages && places == &keyPlaces)
      continue;
    std::string error = placesOfSequences(
        *graph.values()->Get(uint32_t(number)), maybeView(starts),
        at(number).exact.view().size(axis), *places);
    if (!error.empty())
      return error;
  }
  makeSpec(node, query.exact.view().size(packed ? 1 : 2), spec);

  // One exact computation and the unfused ones, each on what its own kind made
  // of earlier operations.
  std::vector<Tensor> storage;
  std::vector<oracle::AttentionInputs> inputs;
  size_t ways = oracle::arithmeticsFor(query.stored).size();
  storage.reserve(16 * (1 + ways));
  for (size_t i = 0; i <= ways; ++i) {
    auto view = [&](int32_t number) {
      if (!at(number).isComputed())
        return at(number).exact.view();
      storage.push_back(at(number).operand(i));
      return std::as_const(storage.back()).view();
    };
    auto byToken = [&](int32_t number, const Rows &places) {
      if (!places)
        return view(number);
      storage.push_back(gatherRows(view(number), axis, *places));
      return std::as_const(storage.back()).view();
    };
    auto maybe = [&](int32_t number) {
      return number >= 0 ? std::optional(view(number)) : std::nullopt;
    };
    oracle::AttentionInputs &in = inputs.emplace_back();
    std::string problem;
    auto ofKeys = [&](int32_t number) {
      if (!inPages)
        return byToken(number, keyPlaces);
      auto rows =
          oracle::gatherPages(view(number), view(node.page_table()), &problem);
      storage.push_back(rows ? std::move(*rows) : Tensor());
      return std::as_const(storage.back()).view();
    };
    in.query = byToken(node.query(), queryPlaces);
    in.key = ofKeys(node.key());
    in.value = ofKeys(node.value());
    if (!problem.empty())
      return problem;
    in.cuSeqlensQ = maybe(node.query_starts());
    in.lengthsQ = maybe(node.query_lengths());
    if (inPages && packed) {
      storage.push_back(
          oracle::countKeysInPages(view(node.key_starts()), in.key.size(1)));
      in.lengthsK = std::as_const(storage.back()).view();
    } else {
      in.cuSeqlensK = maybe(node.key_starts());
      in.lengthsK = maybe(node.key_lengths());
    }
    in.keyBegins = maybe(node.key_begins());
    in.keyScale = maybe(node.key_scale());
    in.valueScale = maybe(node.value_scale());
    in.qOffset = maybe(node.q_offset());
    if (in.qOffset && in.qOffset->rank() == 0)
      in.qOffset = TensorView(in.qOffset->data(), in.qOffset->dtype(), {1});
    in.sink = maybe(node.sink());
    in.blockMask = maybe(node.block_mask());
  }

  Rows rows;
  Results results;
  std::string error = computeWithin(
      spec, inputs, feedsAttention(node.output()) || feedsAttention(node.lse()),
      rows, results, report);
  if (!error.empty())
    return error;

  auto keep = [&](int32_t number, oracle::Quantity quantity) {
    if (number < 0)
      return;
    auto value = std::make_shared<Value>();
    bool isLse = quantity == oracle::Quantity::Lse;
    value->rows = rows;
    value->axis = isLse ? results.all.front().lse.rank() - 1 : axis;
    if (queryPlaces && rows)
      for (int64_t &row : *value->rows)
        row = (*queryPlaces)[size_t(row)];
    for (oracle::AttentionResult &result : results.all) {
      Tensor &tensor = isLse ? result.lse : result.output;
      if (queryPlaces && !rows)
        tensor = gatherRows(std::as_const(tensor).view(), value->axis,
                            layout::invert(*queryPlaces));
      if (&result == &results.all.front())
        value->exact = std::move(tensor);
      else
        value->unfused.push_back(std::move(tensor));
    }
    value->stored = isLse ? DType::f32 : query.stored;
    value->quantity = quantity;
    value->inputs = query.stored;
    values[size_t(number)] = value;
  };
  keep(node.output(), oracle::Quantity::Output);
  keep(node.lse(), oracle::Quantity::Lse);
  return "";
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

std::string Reference::compareOutput(uint32_t number,
                                     CheckReport &report) const {
  const abi::GraphValue &entry = *graph.values()->Get(number);
  const Value &value = *values[number];
  Tensor actual;
  std::string error =
      toTokenOrder(arguments[size_t(entry.argument())], entry, actual);
  if (!error.empty())
    return error;
  if (!value.isComputed()) {
    // A reordered argument is the same, bit for bit.
    bool same = actual.shape() == value.exact.shape() &&
                std::memcmp(actual.data(), value.exact.data(),
                            size_t(actual.bytes())) == 0;
    report.ok &= same;
    report.lines.push_back(same ? "equal, bit for bit"
                                : "expected the bits of the input, found "
                                  "others: FAILED");
    return "";
  }
  if (value.rows)
    actual = gatherRows(actual.view(), value.axis, *value.rows);
  std::vector<TensorView> unfused;
  for (const Tensor &tensor : value.unfused)
    unfused.push_back(tensor.view());
  oracle::Comparison result =
      oracle::compare(std::as_const(actual).view(), value.exact.view(), unfused,
                      value.quantity, value.inputs);
  report.ok &= result.ok;
  report.lines.push_back(result.text);
  return "";
}

std::string Reference::check(const std::vector<uint32_t> &outputs,
                             CheckReport &report) {
  values.resize(graph.values()->size());
  for (uint32_t i = 0; i < graph.values()->size(); ++i) {
    const abi::GraphValue &value = *graph.values()->Get(i);
    bool isInput = value.constant() >= 0 ||
                   (value.argument() >= 0 &&
                    std::find(outputs.begin(), outputs.end(),
                              uint32_t(value.argument())) == outputs.end());
    std::string error = isInput ? load(i) : "";
    if (!error.empty())
      return error;
  }
  for (const abi::Node *node : *graph.nodes()) {
    std::string error;
    if (const abi::Reorder *reorder = node->op_as_Reorder())
      values[size_t(reorder->output())] = values[size_t(reorder->input())];
    else
      error = evaluate(*node->op_as_Attention(), report);
    if (!error.empty())
      return error;
  }
  for (uint32_t output : outputs)
    for (uint32_t i = 0; i < graph.values()->size(); ++i)
      if (graph.values()->Get(i)->argument() == int32_t(output)) {
        std::string error = compareOutput(i, report);
        if (!error.empty())
          return error;
      }
  return "";
}
