//===- Draw.cpp - Random attentions on rings ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/ring/Draw.h"

#include <sstream>

namespace ringlet::ringtest {

using ring::draw;

static bool chance(Random &random, int64_t percent) {
  return draw(random, 1, 100) <= percent;
}

/// The branch as text.
static std::string textOf(const ring::Branch &branch, int64_t queryHeads) {
  std::ostringstream out;
  out << "<w = ";
  if (branch.segment)
    out << branch.segment;
  else
    out << "*";
  out << ", r = " << branch.dilation;
  if (branch.offset == ring::OffsetRule::Block)
    out << ", offset = block";
  if (branch.offset == ring::OffsetRule::Constant)
    out << ", offset = constant<" << branch.constant << ">";
  if (branch.offsetByQuery)
    out << ", by = query";
  if (branch.headBegin != 0 || branch.headEnd != queryHeads)
    out << ", heads = [" << branch.headBegin << ", " << branch.headEnd << "]";
  out << ">";
  return out.str();
}

static void writeText(Graph &graph) {
  const ring::Attention &at = graph.attention;
  const char *kinds[] = {"contiguous", "zigzag", "striped"};
  std::string of(nameOf(graph.dtype));
  auto layout = [&](int axis) {
    return std::string("#rlayout.layout<ring = #rlayout.ring<?, ") +
           kinds[static_cast<int>(graph.sharding)] +
           (graph.block ? ", " + std::to_string(graph.block) : "") +
           ">, axis = " + std::to_string(axis) + ">";
  };
  auto tensor = [&](int64_t heads, int64_t dim) {
    return "tensor<" + std::string(graph.packed ? "?x" : "?x?x") +
           std::to_string(heads) + "x" + std::to_string(dim) + "x" + of +
           ", #ring>";
  };
  std::string heads = std::to_string(at.queryHeads);
  std::vector<std::pair<std::string, std::string>> arguments = {
      {"q", tensor(at.queryHeads, graph.dim)},
      {"k", tensor(at.keyHeads, graph.dim)},
      {"v", tensor(at.keyHeads, graph.valueDim)}};
  std::ostringstream clauses;
  if (at.causal)
    clauses << " causal";
  if (at.left || at.right)
    clauses << " window = [" << at.left.value_or(-1) << ", "
            << at.right.value_or(-1) << "]";
  if (graph.hasOffset) {
    arguments.emplace_back("p",
                           graph.hasOffsets ? "tensor<?xi64>" : "tensor<i64>");
    clauses << " q_offset(%p)";
  }
  if (graph.padded) {
    arguments.emplace_back("ql", "tensor<?xi64>");
    arguments.emplace_back("kl", "tensor<?xi64>");
    clauses << " lengths(%ql, %kl)";
  }
  if (graph.packed) {
    arguments.emplace_back("qs", "tensor<?xi64>");
    arguments.emplace_back("ks", "tensor<?xi64>");
    clauses << " packed(%qs, %ks)";
  }
  if (graph.hasSink) {
    arguments.emplace_back("s", "tensor<" + heads + "xf32>");
    clauses << " sink(%s)";
  }
  if (graph.softcap)
    clauses << " softcap = " << *graph.softcap << ".0";
  std::string results = tensor(at.queryHeads, graph.valueDim) + ", tensor<" +
                        std::string(graph.packed ? "" : "?x") + heads +
                        "x?xf32, #rows>";
  std::ostringstream out;
  out << "#ring = " << layout(graph.packed ? 0 : 1)
      << "\n#rows = " << layout(graph.packed ? 1 : 2) << "\nfunc.func @main(";
  std::string types;
  for (size_t i = 0; i < arguments.size(); ++i) {
    out << (i ? ", %" : "%") << arguments[i].first << ": "
        << arguments[i].second;
    types += (i ? ", " : "") + arguments[i].second;
  }
  out << ") -> (" << results
      << ") {\n  %o, %l = ringlet.attention %q, %k, %v branches [";
  for (size_t i = 0; i < at.branches.size(); ++i)
    out << (i ? ", " : "") << textOf(at.branches[i], at.queryHeads);
  out << "]" << clauses.str() << "\n    : (" << types << ") -> (" << results
      << ")\n  return %o, %l : " << results << "\n}\n";
  graph.text = out.str();
}

void addTilings(Graph &graph) {
  // As the text has it, so that nothing else is drawn than without.
  size_t hash = 0;
  for (char letter : graph.text)
    hash = 31 * hash + static_cast<unsigned char>(letter);
  const char *const tilings[] = {
      "query = 16, key = 16, part = 32",
      "query = 16, key = 16, manyKeys = <query = 16, key = 16, part = 32>",
      "query = 32, key = 16, recipe = \"fa_fwd_lazy\", redo = <query = 16, "
      "key = 16, part = 32>, part = 32"};
  size_t kind = hash % 4;
  if (kind == 3)
    return;
  std::string text;
  for (size_t i = 0; i < graph.attention.branches.size(); ++i)
    text += (i ? ", #ringlet.tiling<" : "#ringlet.tiling<") +
            std::string(tilings[kind]) + ">";
  size_t place = graph.text.find("\n    : (");
  graph.text.insert(place, "\n    tilings = [" + text + "]");
}

Graph drawGraph(Random &random) {
  Graph graph;
  graph.attention = ring::drawSharded(random, 2, 60).attention;
  graph.attention.sequences.clear();
  graph.sharding = static_cast<ring::Sharding>(draw(random, 0, 2));
  if (graph.sharding == ring::Sharding::Striped)
    graph.block = draw(random, 1, 7);
  if (chance(random, 60))
    graph.dtype = chance(random, 50) ? DType::bf16 : DType::f16;
  const int64_t dims[] = {4, 8, 16, 24, 32, 48};
  graph.dim = dims[draw(random, 0, 5)];
  graph.valueDim = chance(random, 70) ? graph.dim : dims[draw(random, 0, 5)];
  graph.packed = chance(random, 35);
  graph.hasOffset = chance(random, 25);
  graph.hasSink = chance(random, 20);
  if (chance(random, 15))
    graph.softcap = draw(random, 1, 20);
  graph.padded = !graph.packed && chance(random, 40);
  graph.hasOffsets = graph.hasOffset && chance(random, 40);
  writeText(graph);
  return graph;
}

ring::Shards drawShardsFor(Random &random, const Graph &graph, int64_t length,
                           int64_t ranks) {
  std::string error;
  if (graph.sharding != ring::Sharding::Contiguous || chance(random, 40))
    return *ring::Shards::even(graph.sharding, length, ranks, graph.block,
                               &error);
  std::vector<int64_t> lengths(ranks, 0);
  for (int64_t row = 0; row < length; ++row)
    ++lengths[draw(random, 0, ranks - 1)];
  if (ranks > 1 && chance(random, 30)) { // A rank without rows.
    lengths[ranks - 1] += lengths[0];
    lengths[0] = 0;
  }
  return *ring::Shards::contiguous(lengths, &error);
}

oracle::AttentionInputs Problem::inputs(size_t sequence) const {
  oracle::AttentionInputs inputs = batch[sequence].inputs();
  if (sink.elements() > 0)
    inputs.sink = sink.view();
  return inputs;
}

Problem drawProblem(Random &random, const Graph &graph) {
  Problem problem;
  ring::Attention attention = graph.attention;
  problem.queries = draw(random, 1, 70);
  problem.keys = chance(random, 70) ? problem.queries : draw(random, 1, 70);
  auto drawOffset = [&] { return draw(random, -20, 60); };
  problem.offsets.push_back(drawOffset());
  int64_t count = graph.packed ? draw(random, 1, 4) : 1;
  int64_t query = 0, key = 0;
  for (int64_t i = 1; i <= count; ++i) {
    bool last = i == count;
    int64_t queries = last ? problem.queries - query
                           : draw(random, 0, problem.queries - query);
    int64_t keys =
        last ? problem.keys - key : draw(random, 0, problem.keys - key);
    attention.sequences.push_back(
        {query, queries, key, keys,
         graph.hasOffset ? problem.offsets.back() : keys - queries});
    if (graph.hasOffsets && !last)
      problem.offsets.push_back(drawOffset());
    query += queries;
    key += keys;
  }
  problem.gap = chance(random, 40) ? draw(random, 1, 3) : 0;
  std::normal_distribution<double> normal;
  int64_t sequences = graph.packed ? 1 : draw(random, 1, graph.padded ? 3 : 2);
  for (int64_t i = 0; i < sequences; ++i) {
    ring::Sequence &all = attention.sequences.front();
    if (graph.hasOffsets && i > 0) {
      problem.offsets.push_back(drawOffset());
      all.offset = problem.offsets.back();
    }
    if (graph.padded) {
      // More than there are count as all.
      problem.queryLengths.push_back(draw(random, 0, problem.queries + 3));
      problem.keyLengths.push_back(draw(random, 0, problem.keys + 3));
      all.queries = std::min(problem.queries, problem.queryLengths.back());
      all.keys = std::min(problem.keys, problem.keyLengths.back());
      if (!graph.hasOffset)
        all.offset = all.keys - all.queries;
    }
    ring::OracleProblem one = ring::problemOf(
        attention, problem.queries, problem.keys, graph.dim, graph.valueDim);
    for (Tensor *tensor : {&one.query, &one.key, &one.value}) {
      Tensor narrow(graph.dtype, tensor->shape());
      for (int64_t k = 0; k < tensor->elements(); ++k)
        storeElement(narrow.data(), graph.dtype, k, normal(random));
      *tensor = std::move(narrow);
    }
    problem.batch.push_back(std::move(one));
  }
  problem.spec = problem.batch.front().spec;
  problem.spec.softcap = graph.softcap;
  if (graph.hasSink) {
    problem.sink = Tensor(DType::f32, {graph.attention.queryHeads});
    for (int64_t k = 0; k < problem.sink.elements(); ++k)
      problem.sink.set({k}, normal(random));
  }
  return problem;
}

} // namespace ringlet::ringtest
