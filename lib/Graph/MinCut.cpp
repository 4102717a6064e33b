//===- MinCut.cpp - A cheapest cut of a directed graph --------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cheapest split costs what the greatest flow carries. Flow is pushed along
// shortest paths until none is left, after Edmonds and Karp: each path fills an
// edge, and the graphs here have few edges that can be filled.
//
//===----------------------------------------------------------------------===//

#include "lib/Graph/MinCut.h"

#include <algorithm>

using namespace ringlet::graph;

unsigned MinCut::addNode() {
  edgesOf.emplace_back();
  return static_cast<unsigned>(edgesOf.size() - 1);
}

void MinCut::addEdge(unsigned from, unsigned to, int64_t capacity) {
  edgesOf[from].push_back(static_cast<unsigned>(edges.size()));
  edges.push_back({to, capacity});
  edgesOf[to].push_back(static_cast<unsigned>(edges.size()));
  edges.push_back({from, 0});
}

std::vector<unsigned> MinCut::findPath() const {
  constexpr unsigned none = ~0u;
  std::vector<unsigned> arrival(edgesOf.size(), none);
  std::vector<unsigned> queue{source};
  for (size_t next = 0; next < queue.size() && arrival[sink] == none; ++next)
    for (unsigned edge : edgesOf[queue[next]]) {
      unsigned to = edges[edge].to;
      if (edges[edge].residual == 0 || to == source || arrival[to] != none)
        continue;
      arrival[to] = edge;
      queue.push_back(to);
    }
  std::vector<unsigned> path;
  if (arrival[sink] != none)
    for (unsigned node = sink; node != source;
         node = edges[arrival[node] ^ 1].to)
      path.push_back(arrival[node]);
  return path;
}

std::vector<bool> MinCut::reach(unsigned start, bool backwards) const {
  std::vector<bool> seen(edgesOf.size());
  seen[start] = true;
  std::vector<unsigned> queue{start};
  for (size_t next = 0; next < queue.size(); ++next)
    for (unsigned edge : edgesOf[queue[next]]) {
      unsigned to = edges[edge].to;
      if (edges[backwards ? edge ^ 1 : edge].residual == 0 || seen[to])
        continue;
      seen[to] = true;
      queue.push_back(to);
    }
  return seen;
}

std::vector<bool> MinCut::solve(bool greatestSourceSide) {
  for (std::vector<unsigned> path = findPath(); !path.empty();
       path = findPath()) {
    int64_t flow = edges[path.front()].residual;
    for (unsigned edge : path)
      flow = std::min(flow, edges[edge].residual);
    for (unsigned edge : path) {
      edges[edge].residual -= flow;
      edges[edge ^ 1].residual += flow;
    }
  }
  if (!greatestSourceSide)
    return reach(source, /*backwards=*/false);
  std::vector<bool> side = reach(sink, /*backwards=*/true);
  side.flip();
  return side;
}
