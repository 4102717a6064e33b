//===- MinCut.h - A cheapest cut of a directed graph ------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_GRAPH_MINCUT_H
#define RINGLET_LIB_GRAPH_MINCUT_H

#include <cstdint>
#include <limits>
#include <vector>

namespace ringlet::graph {

/// Splits the nodes of a graph into the side of a source and that of a sink. A
/// split costs the capacity of each edge from the first to the second side.
class MinCut {
public:
  static constexpr unsigned source = 0, sink = 1;
  /// Of an edge that no cheapest split cuts, unless all cut one.
  static constexpr int64_t uncut = std::numeric_limits<int64_t>::max() / 4;

  MinCut() : edgesOf(2) {}

  unsigned addNode();
  void addEdge(unsigned from, unsigned to, int64_t capacity);

  /// Which nodes lie on the source's side of a cheapest split; of all of those,
  /// the greatest such side or the smallest. Call once.
  std::vector<bool> solve(bool greatestSourceSide);

private:
  struct Edge {
    unsigned to;
    /// Capacity that no flow uses yet. Edge 2k + 1 is edge 2k, backwards.
    int64_t residual;
  };

  /// The edges of a shortest path from source to sink with residual capacity,
  /// last one first; empty where there is none.
  std::vector<unsigned> findPath() const;
  /// Nodes that `start` reaches over residual edges, walked backwards from a
  /// sink.
  std::vector<bool> reach(unsigned start, bool backwards) const;

  std::vector<Edge> edges;
  std::vector<std::vector<unsigned>> edgesOf;
};

} // namespace ringlet::graph

#endif // RINGLET_LIB_GRAPH_MINCUT_H
