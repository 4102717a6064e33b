//===- Generate.h - Random graphs and ways to call them ---------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph is compiled once and called with several configurations: sizes,
// strides and data. Both follow from a seed and a number alone.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_DIFFERENTIAL_GENERATE_H
#define RINGLET_TEST_RUN_DIFFERENTIAL_GENERATE_H

#include "lib/Tensor/Dice.h"
#include "test/Run/differential/Graph.h"

#include <limits>
#include <map>
#include <set>

namespace ringlet::differential {

/// The graphs of a run. Case c calls graph c mod kGraphs, so that a short run
/// sees many graphs, and a long one compiles none twice.
constexpr int64_t kGraphs = 128;

/// Size variables.
enum Variable {
  kBatch,
  kQueries,
  kKeys,
  kOther,
  kQueryBlocks,
  kKeyBlocks,
  /// One more than sequences.
  kStarts,
  /// Pages of a pool, and of a sequence: kKeys is a multiple of their rows.
  kPages,
  kPagesOfSequence,
  kVariables
};

struct DrawnGraph {
  Graph graph;
  /// The size that a variable must have: the types say it, or an order does.
  std::optional<int64_t> fixed[kVariables];
  /// Positions lie below it, if there is a pattern order.
  std::optional<int64_t> volume;
  /// The rows of a page, if keys lie in pages.
  std::optional<int64_t> pageRows;
  /// No query may have a position below 0.
  bool isNeverNegative = false;
};

/// What graphs are drawn for.
enum class Aim {
  Anything,
  /// Attention that kernels with roles take: one branch, narrow elements, whole
  /// pieces of 16 bytes.
  Roles
};

DrawnGraph drawGraph(uint64_t seed, int64_t number, Aim aim = Aim::Anything);

/// A memory order for a sequence of `length`, which it sets where the order
/// says it.
layout::OrderSpec drawOrder(Dice &dice, std::optional<int64_t> &length);

/// One for sequences of any length.
layout::OrderSpec drawChunkedOrder(Dice &dice);

/// Branches, masks and numbers of an attention whose sequences have about
/// `length` tokens.
oracle::AttentionSpec drawSpec(Dice &dice, int64_t queryHeads, int64_t length);

/// Whether one kernel is to compute all branches of an attention, which it then
/// gives branches that most often lie in each other.
bool drawUnion(Dice &dice, oracle::AttentionSpec &spec, int64_t heads,
               bool hasSink);

/// A pattern order. Sets the volume of its grid.
layout::OrderSpec drawPatternOrder(Dice &dice, std::optional<int64_t> &volume);

/// The sides of the grid of a pattern order.
std::vector<int64_t> gridOf(const layout::OrderSpec &pattern);
oracle::GridWindow drawGridWindow(Dice &dice, std::vector<int64_t> grid);

/// Where a tensor lies: elements from the start of an allocation.
struct Placement {
  int allocation = 0;
  int64_t offset = 0;
  Shape sizes;
  Shape strides;
};

/// What the elements of query and key make of the scores.
enum class Data {
  Normal,
  Sharp,
  Equal,
  Rising,
  Falling,
  Jump,
  Leap,
  Cliff,
  Low,
  Surge,
  /// Of any size that f32 holds; sinks as well, infinite ones included.
  Far
};

/// One call of a graph.
struct Configuration {
  std::vector<Placement> arguments;
  std::vector<Placement> results;
  /// Elements and type of each allocation.
  std::vector<std::pair<int64_t, DType>> allocations;
  /// The value of an i64 argument, unless `sizes` has one for it, and how far
  /// those of single sequences may lie from it.
  int64_t offset = 0;
  int64_t leastOffset = -(int64_t(1) << 60), greatestOffset = int64_t(1) << 60;
  /// The most rows that a packed sequence may have.
  int64_t longest = std::numeric_limits<int64_t>::max();
  /// Each sequence has as many keys as queries, or more.
  bool hasKeyForQuery = false;
  /// The values of the arguments that are w or r of a branch.
  std::map<int, int64_t> sizes;
  Data data = Data::Normal;
  uint64_t dataSeed = 0;
  /// What is special about this call, by name: see coverageNames.
  std::set<std::string> features;
};

Configuration drawConfiguration(uint64_t seed, int64_t number,
                                const DrawnGraph &drawn);

/// Notes the features of a call of `graph`, which is that of `drawn` with the
/// sizes of the call.
void collectFeatures(const DrawnGraph &drawn, const Graph &graph,
                     const int64_t *variables, Configuration &configuration);

/// Features that a whole run must have met.
const std::vector<std::string> &coverageNames();

/// One line for people.
std::string describe(const Configuration &configuration);

/// The multiply-adds that a tile program spends, tails included, and the
/// elements that it moves.
double costOf(const Graph &graph, const int64_t *variables);

} // namespace ringlet::differential

#endif // RINGLET_TEST_RUN_DIFFERENTIAL_GENERATE_H
