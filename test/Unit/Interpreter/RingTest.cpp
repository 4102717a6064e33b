//===- RingTest.cpp - Plans of ranks, interpreted, against the oracle -----===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random attentions on sharded tensors, as the ranks of a ring would compute
// them one after the other.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "lib/Oracle/Check.h"
#include "passes/AttentionToTile/Passes.h"
#include "test/Run/ring/Draw.h"

#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;
using ringtest::Graph;
using ringtest::Problem;

namespace {

/// The arguments of a rank: inputs, then output and lse.
class RankArguments {
public:
  RankArguments(const Graph &graph, const Problem &problem,
                const ring::Shards &queries, const ring::Shards &keys,
                int64_t rank)
      : rank(rank), queries(queries) {
    std::vector<const Tensor *> q, k, v;
    for (const ring::OracleProblem &one : problem.batch) {
      q.push_back(&one.query);
      k.push_back(&one.key);
      v.push_back(&one.value);
    }
    addRows(graph, q, queries);
    addRows(graph, k, keys);
    addRows(graph, v, keys);
    if (graph.hasOffset)
      addList(problem.offsets, !graph.hasOffsets);
    if (graph.padded) {
      addList(problem.queryLengths);
      addList(problem.keyLengths);
    }
    const ring::OracleProblem &first = problem.batch.front();
    if (graph.packed)
      for (const Tensor *starts : {&first.cuQ, &first.cuK})
        tensors.push_back(Tensor::copyOf(starts->view()));
    if (graph.hasSink)
      tensors.push_back(Tensor::copyOf(problem.sink.view()));
    int64_t heads = graph.attention.queryHeads, rows = queries.size(rank);
    Shape output = {rows, heads, graph.valueDim}, lse = {heads, rows};
    if (!graph.packed)
      for (Shape *shape : {&output, &lse})
        shape->insert(shape->begin(), int64_t(problem.batch.size()));
    tensors.emplace_back(graph.dtype, output);
    tensors.emplace_back(DType::f32, lse);
  }

  std::vector<MutableTensorView> views() {
    std::vector<MutableTensorView> result;
    for (Tensor &tensor : tensors)
      result.emplace_back(tensor.data(), tensor.dtype(), tensor.shape(),
                          tensor.view().strides());
    return result;
  }

  /// Adds the rows of this rank to the output and lse of a sequence of the
  /// batch.
  void gather(const Graph &graph, int64_t sequence, Tensor &output,
              Tensor &lse) const {
    const Tensor &own = tensors[tensors.size() - 2], &ownLse = tensors.back();
    auto at = [&](std::vector<int64_t> place) {
      if (!graph.packed)
        place.insert(place.begin(), sequence);
      return place;
    };
    forEachRow(queries, [&](int64_t row, int64_t local) {
      for (int64_t head = 0; head < graph.attention.queryHeads; ++head) {
        for (int64_t d = 0; d < graph.valueDim; ++d)
          output.set({row, head, d},
                     own.view().get(at({local, head, d}).data()));
        lse.set({head, row}, ownLse.view().get(at({head, local}).data()));
      }
    });
  }

private:
  template <typename FunctionT>
  void forEachRow(const ring::Shards &shards, FunctionT use) const {
    for (const ring::Stretch &stretch : shards.of(rank))
      for (int64_t i = 0; i < stretch.rows.size(); ++i)
        use(stretch.rows.at(i), stretch.local + i % stretch.rows.run +
                                    i / stretch.rows.run * stretch.localStride);
  }
  void addRows(const Graph &graph, const std::vector<const Tensor *> &batch,
               const ring::Shards &shards) {
    const Shape &whole = batch.front()->shape();
    Shape shape = {shards.size(rank), whole[1], whole[2]};
    if (!graph.packed)
      shape.insert(shape.begin(), int64_t(batch.size()));
    Tensor part(graph.dtype, shape);
    for (size_t i = 0; i < batch.size(); ++i)
      forEachRow(shards, [&](int64_t row, int64_t local) {
        int64_t size = whole[1] * whole[2];
        int64_t to = (int64_t(i) * shards.size(rank) + local) * size;
        for (int64_t k = 0; k < size; ++k)
          storeElement(
              part.data(), graph.dtype, to + k,
              loadElement(batch[i]->data(), graph.dtype, row * size + k));
      });
    tensors.push_back(std::move(part));
  }
  void addList(const std::vector<int64_t> &list, bool isScalar = false) {
    Tensor tensor(DType::i64, isScalar ? Shape() : Shape{int64_t(list.size())});
    std::memcpy(tensor.data(), list.data(), list.size() * sizeof list[0]);
    tensors.push_back(std::move(tensor));
  }

  int64_t rank;
  const ring::Shards &queries;
  std::vector<Tensor> tensors;
};

/// The plan of a rank, in tiles that some rows fill.
void partition(const Module &module) {
  mlir::PassManager passes((*module).getContext());
  passes.addPass(createRingletPartitionRing());
  ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
}

/// With tilings; where `part` is set, last pieces end the softmax of rows.
std::string textOf(const Graph &graph, bool part) {
  std::string tilings;
  for (size_t i = 0; i < graph.attention.branches.size(); ++i)
    tilings += std::string(i ? ", " : "") +
               "#ringlet.tiling<query = 16, key = 16" +
               (part ? ", part = 32>" : ">");
  std::string text = graph.text;
  return text.insert(text.find("\n    : ("),
                     "\n    tilings = [" + tilings + "]");
}

TEST(RingTest, RanksComputeWhatTheOracleDoes) {
  for (int64_t number = 0; number < 60; ++number) {
    ring::Random random(number);
    Graph graph = ringtest::drawGraph(random);
    Module module(textOf(graph, number % 2));
    partition(module);
    for (int64_t ranks : {1, 2, 3}) {
      Problem problem = ringtest::drawProblem(random, graph);
      // Whole pieces of a chunk are of one sequence there.
      if (ranks > 1 && !graph.padded && !graph.hasOffsets)
        problem.batch.resize(1);
      auto queries =
          ringtest::drawShardsFor(random, graph, problem.queries, ranks);
      auto keys =
          problem.keys == problem.queries
              ? queries
              : ringtest::drawShardsFor(random, graph, problem.keys, ranks);
      std::vector<RankArguments> arguments;
      Options options;
      options.ranks = ranks;
      for (int64_t rank = 0; rank < ranks; ++rank)
        arguments.emplace_back(graph, problem, queries, keys, rank);
      for (RankArguments &of : arguments)
        options.peers.push_back(of.views());
      std::string what = ring::describe({graph.attention, queries, keys});
      for (options.rank = 0; options.rank < ranks; ++options.rank)
        ASSERT_EQ(module.run("main", arguments[size_t(options.rank)].views(),
                             options),
                  "")
            << graph.text << what;
      for (size_t i = 0; i < problem.batch.size(); ++i) {
        int64_t heads = graph.attention.queryHeads;
        Tensor output(graph.dtype, {problem.queries, heads, graph.valueDim});
        Tensor lse(DType::f32, {heads, problem.queries});
        for (const RankArguments &of : arguments)
          of.gather(graph, int64_t(i), output, lse);
        std::string error;
        auto verdict = oracle::checkAttention(
            problem.spec, problem.inputs(i), output.view(), lse.view(), &error);
        ASSERT_TRUE(verdict) << error;
        ASSERT_TRUE(verdict->ok())
            << number << ", " << ranks << " ranks: " << verdict->text()
            << graph.text << what;
      }
    }
  }
}

} // namespace
