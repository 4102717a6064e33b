//===- Coverage.cpp - What a run of random cases has met --------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Dilation.h"
#include "test/Run/differential/Generate.h"

#include <algorithm>

namespace ringlet::differential {

namespace {

/// Notes what is special about one call of a graph.
class Coverage {
public:
  Coverage(const DrawnGraph &drawn, const Graph &graph,
           const int64_t *variables, Configuration &result)
      : drawn(drawn), graph(graph), variables(variables), result(result) {}

  void collect();

private:
  void collect(const Operation &op);
  void note(const char *feature, bool when = true) {
    if (when)
      result.features.insert(feature);
  }

  const DrawnGraph &drawn;
  const Graph &graph;
  const int64_t *variables;
  Configuration &result;
};

void Coverage::collect(const Operation &op) {
  const oracle::AttentionSpec &spec = *op.attention;
  int64_t queries = variables[kQueries], keys = variables[kKeys];
  note("no sequences", variables[kBatch] == 0);
  note("no queries", queries == 0);
  note("no keys", keys == 0);
  note("one query", queries == 1);
  note("one key", keys == 1);
  int64_t offset = op.offsetConstant  ? *op.offsetConstant
                   : op.offsetOperand ? result.offset
                                      : keys - queries;
  note("q_offset operand", op.offsetOperand.has_value());
  note("q_offset constant", op.offsetConstant.has_value());
  bool hasOffsets =
      op.offsetOperand && !graph.values[*op.offsetOperand].shape.empty();
  SizeOperands sizes = op.sizes.empty() ? SizeOperands() : op.sizes[0];
  note("runtime w", sizes.w && !sizes.r);
  note("runtime r", sizes.r && !sizes.w);
  note("runtime w and r", sizes.w && sizes.r);
  note("runtime sizes beside known ones",
       (sizes.w || sizes.r) && spec.branches.size() > 1);
  note("runtime sizes in an order",
       (sizes.w || sizes.r) && graph.values[op.operands[1]].order);
  note("runtime sizes along a curve",
       (sizes.w || sizes.r) && spec.patternOrder);
  note("lengths", op.lengths.has_value());
  note("lengths and a q_offset",
       op.lengths && (op.offsetConstant || op.offsetOperand));
  note("lengths and several branches", op.lengths && spec.branches.size() > 1);
  note("lengths and a sink", op.lengths && op.sink);
  note("lengths and queries in an order",
       op.lengths && graph.values[op.operands[0]].order);
  note("lengths and keys in an order",
       op.lengths && graph.values[op.operands[1]].order);
  bool isMasked = spec.gridWindow || spec.blockMask;
  note("lengths and a mask", op.lengths && isMasked);
  note("lengths along a curve", op.lengths && spec.patternOrder);
  note("packed", op.starts.has_value());
  note("packed and a q_offset",
       op.starts && (op.offsetConstant || op.offsetOperand));
  note("packed and several branches", op.starts && spec.branches.size() > 1);
  note("packed and a sink", op.starts && op.sink);
  note("packed and runtime sizes", op.starts && !op.sizes.empty());
  note("packed and a mask", op.starts && isMasked);
  note("packed along a curve", op.starts && spec.patternOrder);
  note("pages", op.pages && !op.starts);
  note("pages of packed sequences", op.pages && op.starts);
  note("pages and several branches", op.pages && spec.branches.size() > 1);
  note("pages in a union", op.pages && op.isUnion);
  note("pages under a window", op.pages && spec.windowLeft);
  note("pages and a mask", op.pages && isMasked);
  note("pages and queries in an order",
       op.pages && graph.values[op.operands[0]].order);
  note("begins", op.begins.has_value());
  note("begins and lengths", op.begins && op.lengths);
  note("begins in pages", op.begins && op.pages);
  note("begins and a q_offset",
       op.begins && (op.offsetConstant || op.offsetOperand));
  note("begins and several branches", op.begins && spec.branches.size() > 1);
  note("begins in a union", op.begins && op.isUnion);
  note("begins under a window", op.begins && spec.windowLeft);
  note("begins and a mask", op.begins && isMasked);
  note("begins along a curve", op.begins && spec.patternOrder);
  note("begins and keys in an order",
       op.begins && graph.values[op.operands[1]].order);
  DType ofKeys = graph.values[op.operands[1]].dtype;
  bool isNarrow = sizeOf(ofKeys) == 1;
  DType ofQueries = graph.values[op.operands[0]].dtype;
  struct {
    DType keys, queries;
    const char *name;
  } kinds[] = {{DType::f8E4M3FN, DType::f32, "keys of f8E4M3FN beside f32"},
               {DType::f8E4M3FN, DType::bf16, "keys of f8E4M3FN beside bf16"},
               {DType::f8E4M3FN, DType::f16, "keys of f8E4M3FN beside f16"},
               {DType::i8, DType::f32, "keys of i8 beside f32"},
               {DType::i8, DType::bf16, "keys of i8 beside bf16"},
               {DType::i8, DType::f16, "keys of i8 beside f16"}};
  for (const auto &kind : kinds)
    note(kind.name, ofKeys == kind.keys && ofQueries == kind.queries);
  auto isOfSequence = [&](const std::optional<int> &scale) {
    return scale && graph.values[*scale].shape.size() == 2;
  };
  note("k_scale", op.keyScale.has_value());
  note("k_scale of sequences", isOfSequence(op.keyScale));
  note("k_scale and a softcap", op.keyScale && spec.softcap);
  note("v_scale", op.valueScale.has_value());
  note("v_scale of sequences", isOfSequence(op.valueScale));
  note("v_scale of packed sequences", isOfSequence(op.valueScale) && op.starts);
  note("v_scale and several branches",
       op.valueScale && spec.branches.size() > 1);
  note("v_scale in a union", op.valueScale && op.isUnion);
  note("v_scale under a sum", op.valueScale && spec.mix == oracle::Mix::Sum);
  note("8 bits in pages", isNarrow && op.pages);
  note("8 bits that begin later", isNarrow && op.begins);
  note("8 bits and a mask", isNarrow && isMasked);
  note("8 bits and keys in an order",
       isNarrow && graph.values[op.operands[1]].order);
  note("negative positions", offset < 0 && queries > 0);
  note("positions past the keys", offset + queries > keys);
  note("decoding", queries > 0 && queries <= 4 && keys > 16 && offset > 0);
  note("causal", spec.causal);
  note("window left", spec.windowLeft.has_value());
  note("window right", spec.windowRight.has_value());
  note("window of 0", spec.windowLeft == 0 || spec.windowRight == 0);
  note("mix sum", spec.mix == oracle::Mix::Sum);
  note("output_scale", spec.outputScale.has_value());
  note("scale", spec.scale.has_value());
  note("softcap", spec.softcap.has_value());
  note("products of tf32", spec.precision == Precision::tf32);
  note("products of tf32x3", spec.precision == Precision::tf32x3);
  note("products of bf16x3", spec.precision == Precision::bf16x3);
  note("sink", op.sink && spec.mix == oracle::Mix::Softmax);
  note("sink of each branch", op.sink && spec.mix == oracle::Mix::Sum);
  const auto &queryOrder = graph.values[op.operands[0]].order;
  const auto &keyOrder = graph.values[op.operands[1]].order;
  note("queries in an order", queryOrder.has_value());
  note("keys in an order", keyOrder.has_value());
  note("queries and keys in orders", queryOrder && keyOrder);
  note("pattern order", spec.patternOrder.has_value());
  note("tokens in the pattern order", spec.patternOrder &&
                                          queryOrder == spec.patternOrder &&
                                          keyOrder == spec.patternOrder);
  note("pattern order and another one",
       spec.patternOrder && keyOrder && keyOrder != spec.patternOrder);
  note("pattern order on a 3-D grid",
       spec.patternOrder && spec.patternOrder->grid.size() == 3);
  note("pattern order with positions before it",
       spec.patternOrder && offset < 0 && queries > 0);
  note("pattern order that moves nothing",
       spec.patternOrder && spec.patternOrder->curve == "linear" &&
           spec.gridWindow && offset > 0 && queries > 0);
  note("grid window", spec.gridWindow.has_value());
  note("block mask", spec.blockMask.has_value());
  note("masks along a curve", spec.patternOrder && isMasked);
  note("masks on tokens in an order", isMasked && (queryOrder || keyOrder));
  note("q_offset of sequences", hasOffsets);
  note("q_offset of sequences along a curve", hasOffsets && spec.patternOrder);
  note("q_offset of sequences and a mask", hasOffsets && isMasked);
  note("q_offset of sequences and blocks along a curve beyond the keys",
       hasOffsets && !op.lengths && !op.starts && spec.patternOrder &&
           spec.blockMask && !spec.gridWindow && keys < *drawn.volume);
  note("packed queries in an order", op.starts && queryOrder);
  note("packed keys in an order", op.starts && keyOrder);
  note("ordinals without a token", spec.patternOrder && keys < *drawn.volume);
  note("union", op.isUnion);
  note("union of causal branches", op.isUnion && spec.causal);
  note("union of branches that are added up",
       op.isUnion && spec.mix == oracle::Mix::Sum);
  note("union under a window",
       op.isUnion && (spec.windowLeft || spec.windowRight));
  note("union with lengths", op.isUnion && op.lengths);
  note("union of packed sequences", op.isUnion && op.starts);
  note("union of rows in an order", op.isUnion && (queryOrder || keyOrder));
  note("union with a sink", op.isUnion && op.sink);
  bool countsPadding = false;
  for (const oracle::Branch &branch : spec.branches)
    countsPadding |=
        !spec.causal && branch.countsPadding &&
        !layout::hasNoPadding(branch.segment.value_or(layout::unboundedSegment),
                              branch.dilation, keys);
  note("padding", countsPadding);
  note("padding in a union", countsPadding && op.isUnion);
  note("padding and a sink", countsPadding && op.sink);
  note("padding in branches that are added up",
       countsPadding && spec.mix == oracle::Mix::Sum &&
           spec.branches.size() > 1);
  note("union at negative positions", op.isUnion && offset < 0 && queries > 0);
  if (op.isUnion) {
    layout::UnionShape shape = unionOf(spec);
    bool hasHeads = false, isUnbounded = false;
    for (const oracle::Branch &branch : spec.branches) {
      hasHeads |= branch.heads.has_value();
      isUnbounded |= !branch.segment;
    }
    note("union of some heads", hasHeads);
    note("union with an unbounded segment", isUnbounded);
    note("union of dilated branches", shape.rate > 1);
  }
  note("branches apart", op.isApart);
  note("branches apart of one softmax",
       op.isApart && spec.mix == oracle::Mix::Softmax);
  note("branches apart of some rows",
       op.isApart && spec.branches.back().dilation > 1);
  note("forced tiling", !op.tilings.empty());
  note("chosen tiling", op.tilings.empty());
  const Shape &query = graph.values[op.operands[0]].shape;
  const Shape &key = graph.values[op.operands[1]].shape;
  const Shape &value = graph.values[op.operands[2]].shape;
  note("grouped heads", query[query.size() - 2] > key[key.size() - 2]);
  note("dim no multiple of 8", query.back() % 8 != 0);
  note("value dim of its own", query.back() != value.back());
  static const char *const counts[] = {"1 branch", "2 branches", "3 branches",
                                       "4 branches"};
  note(counts[spec.branches.size() - 1]);
  bool covered = false;
  for (size_t i = 0; i < spec.branches.size(); ++i) {
    const oracle::Branch &branch = spec.branches[i];
    int64_t w = branch.segment.value_or(layout::unboundedSegment);
    note("unbounded segment", !branch.segment);
    note("segment beyond the sequence", w > std::max(keys, queries));
    note("several segments", branch.segment && w < keys);
    note("segment tail", branch.segment && w < keys && keys % w != 0);
    note("dilated", branch.dilation > 1);
    note("residues that lie together",
         keyOrder && !spec.patternOrder && keyOrder->curve == "residue" &&
             keyOrder->rate > 1 && branch.dilation % keyOrder->rate == 0);
    note("rate no divisor of segment",
         branch.segment && w % branch.dilation != 0);
    note("offset block",
         branch.dilation > 1 && branch.offset == layout::OffsetRule::Block);
    note("offset constant",
         branch.dilation > 1 && branch.offset == layout::OffsetRule::Constant);
    note("offset by query", branch.dilation > 1 && branch.offsetByQuery);
    note("head range", branch.heads.has_value());
    if (spec.windowLeft && !op.tilings.empty()) {
      // Keys that all rows of a tile see, and room for a step before them.
      Tiling tiling = op.tilings[op.isUnion ? 0 : i];
      int64_t reach = spec.causal ? 0 : spec.windowRight.value_or(keys);
      int64_t common = std::min(*spec.windowLeft, keys) +
                       std::min(reach, keys) - tiling.query * branch.dilation;
      note("whole steps behind a left window",
           common >= 2 * tiling.key * branch.dilation &&
               std::min(keys, queries) > *spec.windowLeft &&
               (!branch.segment || w > 2 * *spec.windowLeft));
    }
    covered |= branch.dilation == 1 && !branch.heads;
  }
  note("finishing kernel", !covered && spec.branches.size() > 1);
}

void Coverage::collect() {
  for (const Operation &op : graph.operations) {
    if (op.attention) {
      collect(op);
      continue;
    }
    note("reorder", true);
    for (int value : {op.operands[0], op.results[0]})
      if (const auto &order = graph.values[value].order) {
        note("hilbert order", order->curve == "hilbert");
        note("residue order", order->curve == "residue");
        note("table order", order->curve == "table");
        note("order with a short tail",
             order->chunk && variables[kQueries] % order->chunk);
      }
  }
  static const char *const types[] = {"f16", "bf16", "f32"};
  note(types[static_cast<int>(graph.values[0].dtype)]);
  bool dynamic = false;
  for (const ValueType &type : graph.values)
    for (int64_t size : type.shape)
      dynamic |= size == kDynamic;
  note(dynamic ? "dynamic sizes" : "static sizes");
  note("two attentions", graph.operations.size() == 2 &&
                             graph.operations[0].attention &&
                             graph.operations[1].attention);
  note("rising scores", result.data == Data::Rising);
  note("late maximum", result.data == Data::Jump);
  note("a score beyond all others", result.data == Data::Leap);
  note("scores that fall out of f32", result.data == Data::Cliff);
  note("scores far below 0", result.data == Data::Low);
  note("a surge up to 0", result.data == Data::Surge);
  note("scores of any size", result.data == Data::Far);
}

} // namespace

void collectFeatures(const DrawnGraph &drawn, const Graph &graph,
                     const int64_t *variables, Configuration &configuration) {
  Coverage(drawn, graph, variables, configuration).collect();
}

const std::vector<std::string> &coverageNames() {
  static const std::vector<std::string> names = {
      "f16",
      "bf16",
      "f32",
      "dynamic sizes",
      "static sizes",
      "no sequences",
      "no queries",
      "no keys",
      "one query",
      "one key",
      "negative positions",
      "positions past the keys",
      "decoding",
      "q_offset operand",
      "q_offset of sequences",
      "q_offset of sequences along a curve",
      "q_offset of sequences and a mask",
      "q_offset of sequences and blocks along a curve beyond the keys",
      "q_offset constant",
      "runtime w",
      "runtime r",
      "runtime w and r",
      "runtime sizes beside known ones",
      "runtime sizes in an order",
      "runtime sizes along a curve",
      "lengths",
      "lengths and a q_offset",
      "lengths and several branches",
      "lengths and a sink",
      "lengths and queries in an order",
      "lengths and keys in an order",
      "lengths and a mask",
      "lengths along a curve",
      "packed",
      "packed and a q_offset",
      "packed and several branches",
      "packed and a sink",
      "packed and runtime sizes",
      "packed and a mask",
      "packed along a curve",
      "packed queries in an order",
      "packed keys in an order",
      "pages",
      "pages of packed sequences",
      "pages that sequences share",
      "pages and several branches",
      "pages in a union",
      "pages under a window",
      "pages and a mask",
      "pages and queries in an order",
      "begins",
      "begins and lengths",
      "begins in pages",
      "begins and a q_offset",
      "begins and several branches",
      "begins in a union",
      "begins under a window",
      "begins and a mask",
      "begins along a curve",
      "begins and keys in an order",
      "keys of f8E4M3FN beside f32",
      "keys of f8E4M3FN beside bf16",
      "keys of f8E4M3FN beside f16",
      "keys of i8 beside f32",
      "keys of i8 beside bf16",
      "keys of i8 beside f16",
      "k_scale",
      "k_scale of sequences",
      "k_scale and a softcap",
      "v_scale",
      "v_scale of sequences",
      "v_scale of packed sequences",
      "v_scale and several branches",
      "v_scale in a union",
      "v_scale under a sum",
      "8 bits in pages",
      "8 bits that begin later",
      "8 bits and a mask",
      "8 bits and keys in an order",
      "causal",
      "window left",
      "window right",
      "window of 0",
      "whole steps behind a left window",
      "mix sum",
      "output_scale",
      "scale",
      "softcap",
      "products of tf32",
      "products of tf32x3",
      "products of bf16x3",
      "sink",
      "sink of each branch",
      "queries in an order",
      "keys in an order",
      "queries and keys in orders",
      "pattern order",
      "tokens in the pattern order",
      "pattern order and another one",
      "pattern order on a 3-D grid",
      "pattern order with positions before it",
      "pattern order that moves nothing",
      "grid window",
      "block mask",
      "masks along a curve",
      "masks on tokens in an order",
      "ordinals without a token",
      "residues that lie together",
      "grouped heads",
      "dim no multiple of 8",
      "value dim of its own",
      "1 branch",
      "2 branches",
      "3 branches",
      "4 branches",
      "unbounded segment",
      "segment beyond the sequence",
      "several segments",
      "segment tail",
      "dilated",
      "rate no divisor of segment",
      "offset block",
      "offset constant",
      "offset by query",
      "head range",
      "finishing kernel",
      "union",
      "union of causal branches",
      "union of branches that are added up",
      "union under a window",
      "union with lengths",
      "union of packed sequences",
      "union of rows in an order",
      "union with a sink",
      "padding",
      "padding in a union",
      "padding and a sink",
      "padding in branches that are added up",
      "union at negative positions",
      "union of some heads",
      "union with an unbounded segment",
      "union of dilated branches",
      "branches apart",
      "branches apart of one softmax",
      "branches apart of some rows",
      "forced tiling",
      "chosen tiling",
      "two attentions",
      "reorder",
      "hilbert order",
      "residue order",
      "table order",
      "order with a short tail",
      "permuted input",
      "permuted output",
      "padded input",
      "padded output",
      "stride-0 batch",
      "stride-0 sequence",
      "negative stride",
      "fused qkv",
      "fused kv",
      "rising scores",
      "late maximum",
      "a score beyond all others",
      "scores that fall out of f32",
      "scores far below 0",
      "a surge up to 0",
      "scores of any size"};
  return names;
}

} // namespace ringlet::differential
