//===- Graph.cpp - A function of ringlet operations as text -----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/differential/Graph.h"

#include <cstdio>

namespace ringlet::differential {

namespace {

using oracle::AttentionSpec;

/// A number that MLIR's parser takes for a float, without loss.
std::string number(double value) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.17e", value);
  return buffer;
}

std::string list(const std::vector<int64_t> &values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

std::string orderText(const layout::OrderSpec &order) {
  std::string text = "<" + order.curve;
  if (order.curve == "residue")
    text += "<" + std::to_string(order.rate) + ">";
  if (order.curve == "table")
    text += "<" + list(order.table) + ">";
  if (!order.grid.empty())
    text += ", grid = " + list(order.grid);
  if (order.chunk != 0)
    text += ", chunk = " + std::to_string(order.chunk);
  return text + ">";
}

std::string branchText(const oracle::Branch &branch,
                       const SizeOperands &sizes) {
  std::string text =
      "<w = " +
      (sizes.w          ? "?"
       : branch.segment ? std::to_string(*branch.segment)
                        : "*") +
      ", r = " + (sizes.r ? "?" : std::to_string(branch.dilation));
  if (branch.offset == layout::OffsetRule::Block)
    text += ", offset = block";
  if (branch.offset == layout::OffsetRule::Constant)
    text += ", offset = constant<" + std::to_string(branch.constant) + ">";
  if (branch.offsetByQuery)
    text += ", by = query";
  if (branch.heads)
    text += ", heads = [" + std::to_string(branch.heads->begin) + ", " +
            std::to_string(branch.heads->end) + "]";
  if (branch.countsPadding)
    text += ", padding = counted";
  return text + ">";
}

std::string blockSizeText(const AttentionSpec &spec) {
  return " of " + list({spec.blockMask->query, spec.blockMask->key});
}

/// The clauses of an attention, in the syntax of the operation.
std::string clauses(const Operation &op) {
  const AttentionSpec &spec = *op.attention;
  std::string text = "branches [";
  for (size_t i = 0; i < spec.branches.size(); ++i)
    text += (i ? ", " : "") + branchText(spec.branches[i], op.sizes.empty()
                                                               ? SizeOperands()
                                                               : op.sizes[i]);
  text += "]";
  if (spec.causal)
    text += " causal";
  if (spec.windowLeft || spec.windowRight)
    text += " window = " +
            list({spec.windowLeft.value_or(-1), spec.windowRight.value_or(-1)});
  if (spec.gridWindow)
    text += " grid_window = <grid = " + list(spec.gridWindow->grid) +
            ", reach = " + list(spec.gridWindow->radius) + ">";
  if (spec.patternOrder)
    text += " pattern_order = " + orderText(*spec.patternOrder);
  if (spec.scale)
    text += " scale = " + number(*spec.scale);
  if (spec.softcap)
    text += " softcap = " + number(*spec.softcap);
  if (spec.precision != Precision::f32)
    text += " precision = " + std::string(nameOf(spec.precision));
  if (spec.mix == oracle::Mix::Sum)
    text += " mix = sum";
  if (spec.outputScale)
    text += " output_scale = " + number(*spec.outputScale);
  return text;
}

/// In the order in which the branches have them.
std::vector<int> sizesOf(const Operation &op) {
  std::vector<int> values;
  for (const SizeOperands &sizes : op.sizes)
    for (const std::optional<int> &size : {sizes.w, sizes.r})
      if (size)
        values.push_back(*size);
  return values;
}

} // namespace

AttentionSpec withSizes(const Operation &op,
                        const std::function<int64_t(int)> &get) {
  AttentionSpec spec = *op.attention;
  for (size_t i = 0; i < op.sizes.size(); ++i) {
    if (op.sizes[i].w)
      spec.branches[i].segment = get(*op.sizes[i].w);
    if (op.sizes[i].r)
      spec.branches[i].dilation = get(*op.sizes[i].r);
  }
  return spec;
}

std::string toIR(const ValueType &type) {
  std::string text = "tensor<";
  for (int64_t size : type.shape)
    text += (size == kDynamic ? "?" : std::to_string(size)) + "x";
  text += nameOf(type.dtype);
  if (type.order) {
    text += ", #rlayout.layout<order = " + orderText(*type.order);
    // The default is not printed, so it is not written.
    if (type.axis != 1)
      text += ", axis = " + std::to_string(type.axis);
    text += ">";
  }
  return text + ">";
}

layout::UnionShape unionOf(const oracle::AttentionSpec &spec) {
  std::vector<layout::UnionBranch> branches;
  for (const oracle::Branch &branch : spec.branches)
    branches.push_back(
        {branch.segment.value_or(layout::unboundedSegment), branch.dilation});
  return layout::UnionShape(std::move(branches));
}

std::string meaningOf(const Graph &graph) {
  std::string text;
  for (int i = 0; i < graph.arguments; ++i)
    text +=
        "argument " + std::to_string(i) + ": " + toIR(graph.values[i]) + "\n";
  for (const Operation &op : graph.operations) {
    for (int result : op.results)
      text += std::to_string(result) + " " + toIR(graph.values[result]) + " ";
    text += op.attention ? "= attention " : "= reorder ";
    for (int operand : op.operands)
      text += std::to_string(operand) + " ";
    if (op.attention)
      text += clauses(op);
    if (op.blockMask)
      text += " blocks value " + std::to_string(*op.blockMask) +
              blockSizeText(*op.attention);
    if (op.sink)
      text += " sink value " + std::to_string(*op.sink);
    if (op.offsetOperand)
      text += " offset value " + std::to_string(*op.offsetOperand);
    if (op.offsetConstant)
      text += " offset " + std::to_string(*op.offsetConstant);
    if (op.lengths)
      text += " lengths values " + std::to_string(op.lengths->first) + " " +
              std::to_string(op.lengths->second);
    if (op.starts)
      text += " starts values " + std::to_string(op.starts->first) + " " +
              std::to_string(op.starts->second);
    if (op.pages)
      text += " pages value " + std::to_string(*op.pages);
    if (op.begins)
      text += " begins value " + std::to_string(*op.begins);
    if (op.keyScale)
      text += " k_scale value " + std::to_string(*op.keyScale);
    if (op.valueScale)
      text += " v_scale value " + std::to_string(*op.valueScale);
    for (int size : sizesOf(op))
      text += " size value " + std::to_string(size);
    text += "\n";
  }
  text += "return";
  for (int result : graph.results)
    text += " " + std::to_string(result);
  return text + "\n";
}

std::string toIR(const Graph &graph) {
  auto name = [&](int value) { return "%" + graph.names[value]; };
  auto type = [&](int value) { return toIR(graph.values[value]); };
  auto join = [](const std::vector<int> &values, auto print) {
    std::string text;
    for (size_t i = 0; i < values.size(); ++i)
      text += (i ? ", " : "") + print(values[i]);
    return text;
  };

  std::string text = "func.func @" + graph.name + "(";
  for (int i = 0; i < graph.arguments; ++i)
    text += (i ? ",\n    " : "") + name(i) + ": " + type(i) +
            " {ringlet.name = \"" + graph.names[i] + "\"}";
  text += ")\n    -> (" + join(graph.results, type) + ") {\n";
  int constants = 0;
  for (const Operation &op : graph.operations) {
    std::vector<int> operands = op.operands;
    std::string types = join(operands, type);
    std::string offset;
    if (op.offsetConstant) {
      std::string constant = "%offset" + std::to_string(constants++);
      text += "  " + constant + " = arith.constant dense<" +
              std::to_string(*op.offsetConstant) + "> : tensor<i64>\n";
      offset = " q_offset(" + constant + ")";
      types += ", tensor<i64>";
    } else if (op.offsetOperand) {
      offset = " q_offset(" + name(*op.offsetOperand) + ")";
      types += ", " + type(*op.offsetOperand);
    }
    for (const auto &lists : {op.lengths, op.starts})
      if (lists)
        types += ", " + type(lists->first) + ", " + type(lists->second);
    std::vector<int> sizes = sizesOf(op);
    for (int size : sizes)
      types += ", " + type(size);
    if (op.sink)
      types += ", " + type(*op.sink);
    if (op.blockMask)
      types += ", " + type(*op.blockMask);
    if (op.pages)
      types += ", " + type(*op.pages);
    if (op.begins)
      types += ", " + type(*op.begins);
    for (const auto &scale : {op.keyScale, op.valueScale})
      if (scale)
        types += ", " + type(*scale);
    text += "  " + join(op.results, name) + " = ";
    if (!op.attention) {
      text += "ringlet.reorder " + name(operands[0]) + " : " + types + " to " +
              type(op.results[0]) + "\n";
      continue;
    }
    text += "ringlet.attention " + join(operands, name) + "\n      " +
            clauses(op) + offset;
    if (op.lengths)
      text += " lengths(" + name(op.lengths->first) + ", " +
              name(op.lengths->second) + ")";
    if (op.starts)
      text += " packed(" + name(op.starts->first) + ", " +
              name(op.starts->second) + ")";
    if (op.pages)
      text += " pages(" + name(*op.pages) + ")";
    if (op.begins)
      text += " key_begins(" + name(*op.begins) + ")";
    if (op.keyScale)
      text += " k_scale(" + name(*op.keyScale) + ")";
    if (op.valueScale)
      text += " v_scale(" + name(*op.valueScale) + ")";
    if (!sizes.empty())
      text += " sizes(" + join(sizes, name) + ")";
    if (op.sink)
      text += " sink(" + name(*op.sink) + ")";
    if (op.blockMask)
      text += " block_mask(" + name(*op.blockMask) + ")" +
              blockSizeText(*op.attention);
    if (op.isUnion)
      text += " combine = union";
    if (op.isApart)
      text += " combine = apart";
    if (!op.tilings.empty()) {
      text += "\n      tilings = [";
      for (size_t i = 0; i < op.tilings.size(); ++i)
        text += std::string(i ? ", " : "") + "#ringlet.tiling<query = " +
                std::to_string(op.tilings[i].query) +
                ", key = " + std::to_string(op.tilings[i].key) + ">";
      text += "]";
    }
    text += "\n      : (" + types + ")\n      -> (" + join(op.results, type) +
            ")\n";
  }
  text += "  return " + join(graph.results, name) + " : " +
          join(graph.results, type) + "\n}\n";
  return text;
}

} // namespace ringlet::differential
