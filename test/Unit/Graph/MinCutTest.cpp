//===- MinCutTest.cpp - Cheapest cuts, compared with all cuts -------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Graph/MinCut.h"

#include "gtest/gtest.h"

#include <random>

using namespace ringlet::graph;

namespace {

struct Edge {
  unsigned from, to;
  int64_t capacity;
};

MinCut makeCut(const std::vector<Edge> &edges, unsigned nodes) {
  MinCut cut;
  for (unsigned node = 2; node < nodes; ++node)
    cut.addNode();
  for (const Edge &edge : edges)
    cut.addEdge(edge.from, edge.to, edge.capacity);
  return cut;
}

/// Of the split whose source side is the set bits of `side`.
int64_t costOf(const std::vector<Edge> &edges, unsigned side) {
  int64_t cost = 0;
  for (const Edge &edge : edges)
    if ((side >> edge.from & 1) && !(side >> edge.to & 1))
      cost += edge.capacity;
  return cost;
}

unsigned toBits(const std::vector<bool> &side) {
  unsigned bits = 0;
  for (size_t node = 0; node < side.size(); ++node)
    bits |= unsigned(side[node]) << node;
  return bits;
}

// Both sides that solve() promises are those that a list of all splits gives:
// cheapest ones are closed under union and intersection.
TEST(MinCut, GreatestAndSmallestOfAllCheapestSplits) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    unsigned nodes = 2 + random() % 6;
    std::vector<Edge> edges;
    for (unsigned count = random() % 16; count > 0; --count)
      edges.push_back({unsigned(random() % nodes), unsigned(random() % nodes),
                       int64_t(random() % 4)});
    int64_t best = MinCut::uncut;
    unsigned smallest = 0, greatest = 0;
    for (unsigned side = 0; side < 1u << nodes; ++side) {
      if (!(side & 1) || (side & 2))
        continue;
      int64_t cost = costOf(edges, side);
      if (cost > best)
        continue;
      smallest = cost < best ? side : smallest & side;
      greatest = cost < best ? side : greatest | side;
      best = cost;
    }
    EXPECT_EQ(toBits(makeCut(edges, nodes).solve(false)), smallest);
    EXPECT_EQ(toBits(makeCut(edges, nodes).solve(true)), greatest);
  }
}

TEST(MinCut, LeavesUncutEdgesWhole) {
  MinCut cut;
  unsigned node = cut.addNode();
  cut.addEdge(MinCut::source, node, 5);
  cut.addEdge(node, MinCut::sink, MinCut::uncut);
  EXPECT_FALSE(cut.solve(true)[node]);
}

} // namespace
