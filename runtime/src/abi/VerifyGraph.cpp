//===- VerifyGraph.cpp - Rules of the reference graph ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier.h"
#include "ringlet/abi/Format.h"

#include <cmath>
#include <set>

using namespace ringlet::abi;

bool Verifier::verifyValue(const std::string &place, const Function &function,
                           const GraphValue &value) {
  if (!checkDType(place, value.dtype()) ||
      !checkSizes(place, "size", value.sizes(), -1))
    return false;
  uint32_t rank = sizeOf(value.sizes());
  if (value.order() &&
      (!checkOrder(place, *value.order()) ||
       !checkIndex(place, "a sequence axis", value.order_axis(), rank)))
    return false;
  if (value.constant() != -1) {
    if (value.argument() != -1)
      return fail(place, "is an argument and a constant");
    if (!checkIndex(place, "a constant", uint32_t(value.constant()),
                    sizeOf(artifact.constants())))
      return false;
    const Constant &constant =
        *artifact.constants()->Get(uint32_t(value.constant()));
    bool same =
        constant.dtype() == value.dtype() && sizeOf(constant.sizes()) == rank;
    for (uint32_t i = 0; same && i < rank; ++i)
      same = constant.sizes()->Get(i) == value.sizes()->Get(i);
    if (!same)
      return fail(place, formatText("has another type than constant {}",
                                    value.constant()));
  }
  if (value.argument() == -1)
    return true;
  // As unsigned, every other negative number is out of range, too.
  if (!checkIndex(place, "an argument", uint32_t(value.argument()),
                  sizeOf(function.arguments())))
    return false;
  const Argument &argument =
      *function.arguments()->Get(uint32_t(value.argument()));
  bool same =
      argument.dtype() == value.dtype() && sizeOf(argument.sizes()) == rank;
  for (uint32_t i = 0; same && i < rank; ++i)
    same = argument.sizes()->Get(i) == value.sizes()->Get(i);
  if (!same)
    return fail(place, "has another type than argument '" +
                           argument.name()->str() + "'");
  return true;
}

bool Verifier::checkOperand(const std::string &place, const Graph &graph,
                            const char *what, int32_t value, bool needed) {
  if (value == -1 && !needed)
    return true;
  if (value == -1)
    return fail(place, formatText("expected a {}, found none", what));
  if (!checkIndex(place, what, uint32_t(value), sizeOf(graph.values())))
    return false;
  if (!defined[uint32_t(value)])
    return fail(place,
                formatText("{} is value {}, which nothing before it defines",
                           what, value));
  return true;
}

bool Verifier::checkScalar(const std::string &place, const Graph &graph,
                           const char *what, int32_t value) {
  if (value == -1)
    return true;
  if (!checkOperand(place, graph, what, value, true))
    return false;
  const GraphValue &scalar = *graph.values()->Get(uint32_t(value));
  if (scalar.dtype() != DType::I64 || sizeOf(scalar.sizes()) != 0)
    return fail(place, formatText("expected {} of rank 0, i64", what));
  return true;
}

bool Verifier::define(const std::string &place, const Function &function,
                      const Graph &graph, const char *what, int32_t value) {
  if (!checkIndex(place, what, uint32_t(value), sizeOf(graph.values())))
    return false;
  if (defined[uint32_t(value)])
    return fail(place, formatText("{} is value {}, which is defined before",
                                  what, value));
  int32_t argument = graph.values()->Get(uint32_t(value))->argument();
  if (argument != -1 &&
      !function.arguments()->Get(uint32_t(argument))->is_output())
    return fail(place, std::string(what) + " is an input");
  defined[uint32_t(value)] = true;
  return true;
}

bool Verifier::verifyBranch(const std::string &place, const Graph &graph,
                            const Branch &branch) {
  if (!checkScalar(place, graph, "w", branch.w_value()) ||
      !checkScalar(place, graph, "r", branch.r_value()))
    return false;
  bool fixedW = branch.w_value() == -1, fixedR = branch.r_value() == -1;
  if (fixedW && branch.w() != -1 && branch.w() < 1)
    return fail(place,
                formatText("expected w of at least 1 or -1, found {} (B1)",
                           branch.w()));
  if (fixedR && branch.r() < 1)
    return fail(place, formatText("expected r of at least 1, found {} (B1)",
                                  branch.r()));
  if (fixedW && fixedR && branch.w() != -1 && branch.r() > branch.w())
    return fail(place, formatText("expected r <= w, found r {} and w {} (B1)",
                                  branch.r(), branch.w()));
  if (branch.counts_padding() && !(fixedW && fixedR))
    return fail(place, "expected a known w and r where padding counts (B7)");
  if (branch.offset() > OffsetRule::MAX)
    return fail(
        place, formatText("expected an offset rule from 0 to {}, found {} (B2)",
                          int(OffsetRule::MAX), int(branch.offset())));
  if (branch.head_begin() < 0 ||
      (branch.head_end() != -1 && branch.head_end() <= branch.head_begin()))
    return fail(place,
                formatText("expected a range of heads, found [{}, {}) (B3)",
                           branch.head_begin(), branch.head_end()));
  return true;
}

bool Verifier::verifyScales(const std::string &place, const Graph &graph,
                            const Attention &node) {
  auto typeOf = [&](int32_t value) {
    return graph.values()->Get(uint32_t(value))->dtype();
  };
  bool widens = dtypeSize(typeOf(node.key())) == 1;
  if (widens && typeOf(node.key()) != typeOf(node.value()))
    return fail(place, formatText("expected value of the element type of key, "
                                  "{}, found {} (S6)",
                                  dtypeName(typeOf(node.key())),
                                  dtypeName(typeOf(node.value()))));
  for (int32_t scale : {node.key_scale(), node.value_scale()}) {
    if (scale == -1)
      continue;
    const GraphValue &value = *graph.values()->Get(uint32_t(scale));
    uint32_t rank = sizeOf(value.sizes());
    if (!widens || value.dtype() != DType::F32 || rank < 1 || rank > 2)
      return fail(place, formatText("expected scales of rank 1 or 2, f32, "
                                    "beside keys of 8 bits, found those of "
                                    "rank {}, {}, beside {} (S6)",
                                    rank, dtypeName(value.dtype()),
                                    dtypeName(typeOf(node.key()))));
  }
  return true;
}

bool Verifier::verifyAttention(const std::string &place, const Graph &graph,
                               const Attention &node) {
  struct {
    const char *name;
    int32_t value;
    bool needed;
  } operands[] = {{"query", node.query(), true},
                  {"key", node.key(), true},
                  {"value", node.value(), true},
                  {"q_offset", node.q_offset(), false},
                  {"query_lengths", node.query_lengths(), false},
                  {"key_lengths", node.key_lengths(), false},
                  {"query_starts", node.query_starts(), false},
                  {"key_starts", node.key_starts(), false},
                  {"sink", node.sink(), false},
                  {"block_mask", node.block_mask(), false},
                  {"page_table", node.page_table(), false},
                  {"key_begins", node.key_begins(), false},
                  {"key_scale", node.key_scale(), false},
                  {"value_scale", node.value_scale(), false}};
  for (const auto &operand : operands)
    if (!checkOperand(place, graph, operand.name, operand.value,
                      operand.needed))
      return false;
  if ((node.query_lengths() == -1) != (node.key_lengths() == -1) ||
      (node.query_starts() == -1) != (node.key_starts() == -1))
    return fail(place, "expected lengths, or starts, of queries and keys "
                       "both (S2)");

  bool packed = node.query_starts() != -1, paged = node.page_table() != -1;
  if (packed && node.key_begins() != -1)
    return fail(place, "expected no key_begins beside query_starts and "
                       "key_starts (S5)");
  auto rankOf = [&](int32_t value) {
    return sizeOf(graph.values()->Get(uint32_t(value))->sizes());
  };
  for (int32_t value : {node.query(), node.key(), node.value()}) {
    uint32_t wanted = packed && !(paged && value != node.query()) ? 3 : 4;
    if (rankOf(value) != wanted)
      return fail(
          place,
          formatText("expected query, key and value of rank {}, found {}",
                     wanted, rankOf(value)));
  }
  if (paged && rankOf(node.page_table()) != 2)
    return fail(place, formatText("expected a page_table of rank 2, found {} "
                                  "(S4)",
                                  rankOf(node.page_table())));

  if (!verifyScales(place, graph, node))
    return false;

  uint32_t branches = sizeOf(node.branches());
  if (branches == 0)
    return fail(place, "expected a branch, found none");
  if (!checkCount(place, "branches", branches, kMaxBranches))
    return false;
  for (uint32_t i = 0; i < branches; ++i)
    if (!verifyBranch(formatText("{}, branch {}", place, i), graph,
                      *node.branches()->Get(i)))
      return false;

  if (node.window_left() < -1 || node.window_right() < -1)
    return fail(
        place,
        formatText("expected a window of at least -1, found [{}, {}] (B4)",
                   node.window_left(), node.window_right()));
  if (const GridWindow *window = node.grid_window()) {
    if (sizeOf(window->grid()) == 0 ||
        sizeOf(window->grid()) != sizeOf(window->reach()))
      return fail(
          place,
          formatText(
              "expected one reach for each grid side, found {} and {} (B5)",
              sizeOf(window->reach()), sizeOf(window->grid())));
    if (!checkSizes(place, "grid side", window->grid(), 1) ||
        !checkSizes(place, "reach", window->reach(), 0))
      return false;
  }
  if (node.block_mask() != -1 &&
      (node.block_query() < 1 || node.block_key() < 1))
    return fail(
        place,
        formatText("expected a block of at least 1 by 1, found {} by {} (B6)",
                   node.block_query(), node.block_key()));
  if (node.pattern_order() && !checkOrder(place, *node.pattern_order()))
    return false;
  if (node.mix() > Mix::MAX)
    return fail(place,
                formatText("expected mix 0 or 1, found {}", int(node.mix())));
  if (node.precision() > Precision::MAX ||
      (node.precision() != Precision::F32 &&
       graph.values()->Get(uint32_t(node.query()))->dtype() != DType::F32))
    return fail(place, formatText("expected precision 0 to {}, and 0 beside a "
                                  "query of another type than f32, found {} "
                                  "(R7)",
                                  int(Precision::MAX), int(node.precision())));
  if (!std::isfinite(node.output_scale()) ||
      (node.scale() && !std::isfinite(*node.scale())) ||
      (node.softcap() && !(*node.softcap() > 0)))
    return fail(place, "expected finite scales and a positive softcap");
  return true;
}

bool Verifier::verifyGraph(const std::string &place, const Function &function,
                           const Graph &graph) {
  uint32_t values = sizeOf(graph.values()), nodes = sizeOf(graph.nodes());
  if (!checkCount(place, "graph values", values, 4 * kMaxNodes) ||
      !checkCount(place, "graph nodes", nodes, kMaxNodes))
    return false;
  defined.assign(values, false);
  std::set<int32_t> arguments;
  for (uint32_t i = 0; i < values; ++i) {
    const GraphValue &value = *graph.values()->Get(i);
    std::string at = formatText("{}, graph value {}", place, i);
    if (!verifyValue(at, function, value))
      return false;
    if (value.argument() == -1) {
      defined[i] = value.constant() != -1;
      continue;
    }
    if (!arguments.insert(value.argument()).second)
      return fail(
          at, formatText("a second value for argument {}", value.argument()));
    defined[i] =
        !function.arguments()->Get(uint32_t(value.argument()))->is_output();
  }

  for (uint32_t i = 0; i < nodes; ++i) {
    const Node &node = *graph.nodes()->Get(i);
    std::string at = formatText("{}, graph node {}", place, i);
    if (const Attention *attention = node.op_as_Attention()) {
      if (!verifyAttention(at, graph, *attention) ||
          !define(at, function, graph, "output", attention->output()))
        return false;
      if (attention->lse() != -1 &&
          !define(at, function, graph, "lse", attention->lse()))
        return false;
    } else if (const Reorder *reorder = node.op_as_Reorder()) {
      if (!checkOperand(at, graph, "input", reorder->input(), true) ||
          !define(at, function, graph, "output", reorder->output()))
        return false;
    } else {
      return fail(at, formatText("expected an operation from 1 to {}, found {}",
                                 int(NodeOp::MAX), int(node.op_type())));
    }
  }

  for (uint32_t i = 0; i < values; ++i)
    if (!defined[i])
      return fail(place, formatText("graph value {} is defined by nothing", i));
  return true;
}
