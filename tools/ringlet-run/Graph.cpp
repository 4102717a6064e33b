//===- Graph.cpp - The reference graph in the oracle's words ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/ringlet-run/Graph.h"

#include "ringlet/abi/Format.h"

using namespace ringlet;
using namespace ringlet::run;

std::optional<DType> ringlet::run::fromAbi(abi::DType dtype) {
  switch (dtype) {
  case abi::DType::F16:
    return DType::f16;
  case abi::DType::BF16:
    return DType::bf16;
  case abi::DType::F32:
    return DType::f32;
  case abi::DType::F64:
    return DType::f64;
  case abi::DType::I32:
    return DType::i32;
  case abi::DType::I64:
    return DType::i64;
  case abi::DType::Bool:
    return DType::i1;
  case abi::DType::F8E4M3FN:
    return DType::f8E4M3FN;
  case abi::DType::I8:
    return DType::i8;
  default:
    return std::nullopt;
  }
}

layout::OrderSpec ringlet::run::fromAbi(const abi::Order &order) {
  auto copy = [](const flatbuffers::Vector<int64_t> *list) {
    return list ? std::vector<int64_t>(list->begin(), list->end())
                : std::vector<int64_t>();
  };
  layout::OrderSpec spec;
  spec.curve = order.curve()->str();
  spec.rate = order.rate();
  spec.grid = copy(order.grid());
  spec.chunk = order.chunk();
  spec.table = copy(order.table());
  return spec;
}

oracle::Branch ringlet::run::fromAbi(const abi::Branch &branch, int64_t heads) {
  oracle::Branch result;
  if (branch.w() != -1)
    result.segment = branch.w();
  result.dilation = branch.r();
  switch (branch.offset()) {
  case abi::OffsetRule::Modulo:
    result.offset = layout::OffsetRule::Modulo;
    break;
  case abi::OffsetRule::Block:
    result.offset = layout::OffsetRule::Block;
    break;
  case abi::OffsetRule::Constant:
    result.offset = layout::OffsetRule::Constant;
    result.constant = branch.constant();
    break;
  }
  result.offsetByQuery = branch.by_query();
  if (branch.head_begin() != 0 || branch.head_end() != -1)
    result.heads =
        oracle::HeadRange{branch.head_begin(),
                          branch.head_end() == -1 ? heads : branch.head_end()};
  result.countsPadding = branch.counts_padding();
  return result;
}

static std::string describeAttention(const abi::Attention &node) {
  uint32_t count = node.branches()->size();
  std::string text =
      formatText("{} {}", count, count == 1 ? "branch" : "branches");
  for (const abi::Branch *branch : *node.branches()) {
    std::string w = branch->w_value() != -1 ? "given"
                    : branch->w() == -1     ? "*"
                                            : formatText("{}", branch->w());
    std::string r =
        branch->r_value() != -1 ? "given" : formatText("{}", branch->r());
    text += formatText(" (w {}, r {}{})", w, r,
                       branch->counts_padding() ? ", padding counted" : "");
  }
  if (node.causal())
    text += ", causal";
  if (node.window_left() != -1 || node.window_right() != -1)
    text += formatText(", window [{}, {}]", node.window_left(),
                       node.window_right());
  if (node.query_lengths() >= 0)
    text += ", lengths given";
  if (node.key_begins() >= 0)
    text += ", begins of keys given";
  if (node.key_scale() >= 0 || node.value_scale() >= 0)
    text += ", scales given";
  if (node.query_starts() >= 0)
    text += ", packed";
  if (node.precision() != abi::Precision::F32)
    text += formatText(", precision {}", nameOf(fromAbi(node.precision())));
  if (node.pattern_order())
    text += ", along " + layout::describe(fromAbi(*node.pattern_order()));
  return text + (node.mix() == abi::Mix::Sum ? ", mix sum" : ", mix softmax");
}

std::vector<std::string> ringlet::run::describeGraph(const abi::Graph &graph) {
  std::vector<std::string> lines;
  if (graph.nodes())
    for (const abi::Node *node : *graph.nodes())
      if (const abi::Attention *attention = node->op_as_Attention())
        lines.push_back(describeAttention(*attention));
  return lines;
}

int64_t ringlet::run::countTokens(const abi::Graph &graph,
                                  const std::vector<TensorView> &arguments) {
  if (!graph.nodes())
    return 0;
  for (const abi::Node *node : *graph.nodes()) {
    const abi::Attention *attention = node->op_as_Attention();
    if (!attention)
      continue;
    // Reorders in front of it keep the shape.
    int32_t value = attention->query();
    for (const abi::Node *other : *graph.nodes())
      if (const abi::Reorder *reorder = other->op_as_Reorder())
        if (reorder->output() == value)
          value = reorder->input();
    int32_t argument = graph.values()->Get(uint32_t(value))->argument();
    if (argument < 0 || size_t(argument) >= arguments.size())
      return 0;
    const TensorView &query = arguments[size_t(argument)];
    return query.rank() == 3 ? query.size(0) : query.size(0) * query.size(1);
  }
  return 0;
}
