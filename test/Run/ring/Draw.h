//===- Draw.h - Random attentions on rings ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_RING_DRAW_H
#define RINGLET_TEST_RUN_RING_DRAW_H

#include "test/Unit/Ring/RandomRing.h"

namespace ringlet::ringtest {

using ring::Random;

/// A graph: one attention on sharded tensors of any length.
struct Graph {
  std::string text;
  /// Without sequences.
  ring::Attention attention;
  ring::Sharding sharding = ring::Sharding::Contiguous;
  int64_t block = 0;
  DType dtype = DType::f32;
  int64_t dim = 0, valueDim = 0;
  bool packed = false, padded = false, hasOffset = false, hasSink = false;
  /// Whether each sequence has an offset of its own.
  bool hasOffsets = false;
  std::optional<double> softcap;
};
Graph drawGraph(Random &random);
/// Gives most graphs tilings of GPUs, whose pieces sum parts of their keys,
/// join what was there behind these and end the softmax themselves.
void addTilings(Graph &graph);

/// What it is called with.
struct Problem {
  oracle::AttentionSpec spec;
  /// `[rows, head, dim]`, the rows of all ranks; one of each for each sequence
  /// of a batch.
  std::vector<ring::OracleProblem> batch;
  Tensor sink;
  /// Of each sequence; one alone if all have the same.
  std::vector<int64_t> offsets;
  /// Of padded sequences.
  std::vector<int64_t> queryLengths, keyLengths;
  int64_t queries = 0, keys = 0;
  /// Rows of keys and values in memory between two sequences of a batch.
  int64_t gap = 0;

  oracle::AttentionInputs inputs(size_t sequence) const;
};
Problem drawProblem(Random &random, const Graph &graph);

/// Shards of the graph's kind; contiguous ones are of any lengths.
ring::Shards drawShardsFor(Random &random, const Graph &graph, int64_t length,
                           int64_t ranks);

} // namespace ringlet::ringtest

#endif // RINGLET_TEST_RUN_RING_DRAW_H
