//===- Edges.cpp - First and last pieces of rows ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/ring/Edges.h"

#include <numeric>

namespace ringlet::ring {

/// Whether two lanes may have an element in common.
static bool meet(const Lane &one, const Lane &other) {
  auto last = [](const Lane &lane) {
    return lane.first + (lane.count - 1) * lane.step;
  };
  if (one.count == 0 || other.count == 0 || one.first > last(other) ||
      other.first > last(one))
    return false;
  int64_t rate =
      std::gcd(one.count > 1 ? one.step : 0, other.count > 1 ? other.step : 0);
  return rate == 0 ? one.first == other.first
                   : (one.first - other.first) % rate == 0;
}

bool mayMeet(const Piece &one, const Piece &other, int64_t group) {
  if (!meet(one.queries, other.queries))
    return false;
  if (one.whole || other.whole)
    return true;
  if (one.grouped == other.grouped)
    return meet(one.heads, other.heads);
  // Key heads and query heads: by the query heads from the first to the last.
  auto heads = [&](const Piece &piece) -> Lane {
    if (!piece.grouped)
      return piece.heads;
    const Lane &of = piece.heads;
    return {of.first * group, 1, ((of.count - 1) * of.step + 1) * group};
  };
  return meet(heads(one), heads(other));
}

std::vector<std::vector<Edge>>
edgesOf(const std::vector<std::vector<Piece>> &steps, int64_t group) {
  std::vector<std::vector<Edge>> edges;
  std::vector<const Piece *> pieces;
  for (const std::vector<Piece> &step : steps) {
    edges.emplace_back(step.size());
    for (const Piece &piece : step)
      pieces.push_back(&piece);
  }
  if (pieces.size() > mostPieces)
    return edges;
  size_t number = 0;
  auto meets = [&](size_t other) {
    return other != number && mayMeet(*pieces[number], *pieces[other], group);
  };
  auto none = [&](size_t begin, size_t end) {
    while (begin < end && !meets(begin))
      ++begin;
    return begin == end;
  };
  for (std::vector<Edge> &step : edges)
    for (Edge &edge : step) {
      edge = {none(0, number), none(number, pieces.size())};
      ++number;
    }
  return edges;
}

RankPieces::RankPieces(const Schedule &schedule, int64_t rank,
                       const std::vector<std::vector<Part>> &layouts) {
  const Attention &attention = schedule.sharded.attention;
  for (size_t step = 0; step < layouts.size(); ++step) {
    bool isOwn = step == 0;
    pieces.emplace_back();
    if (isOwn || !layouts[step].empty())
      pieces.back() = piecesOf(schedule.sharded, rank,
                               ownerAt(schedule, rank, int64_t(step)),
                               isOwn ? nullptr : &layouts[step]);
  }
  edges = edgesOf(pieces, attention.queryHeads / attention.keyHeads);
}

} // namespace ringlet::ring
