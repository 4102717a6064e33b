//===- Edges.cpp - First and last pieces of rows ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/ring/Edges.h"

#include <algorithm>
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

/// What a piece computes at most.
static double scoresOf(const Piece &piece, const Attention &attention) {
  double pairs = static_cast<double>(piece.queries.count) *
                 static_cast<double>(piece.keys.count);
  if (!piece.whole) {
    int64_t group =
        piece.grouped ? attention.queryHeads / attention.keyHeads : 1;
    return pairs * static_cast<double>(piece.heads.count * group);
  }
  const Branch &branch = attention.branches[size_t(piece.branch)];
  if (branch.segment > 0 && branch.segment < piece.keys.count)
    pairs *= static_cast<double>(branch.segment) /
             static_cast<double>(piece.keys.count);
  auto rate = static_cast<double>(branch.dilation);
  return pairs * static_cast<double>(branch.headEnd - branch.headBegin) /
         (rate * rate);
}

void putLast(const Attention &attention,
             std::vector<std::vector<Piece>> &steps) {
  auto sum = [&](const std::vector<Piece> &pieces, const auto &counts) {
    double scores = 0;
    for (const Piece &piece : pieces)
      scores += counts(piece) ? scoresOf(piece, attention) : 0;
    return scores;
  };
  auto all = [](const Piece &) { return true; };
  // By branch, whether it shows keys of other ranks.
  std::vector<bool> isFar(attention.branches.size(), false);
  size_t last = 0;
  double least = 0;
  for (size_t step = 1; step < steps.size(); ++step) {
    for (const Piece &piece : steps[step])
      isFar[size_t(piece.branch)] = true;
    if (steps[step].empty())
      continue;
    double scores = sum(steps[step], all);
    least = last == 0 ? scores : std::min(least, scores);
    last = step;
  }
  auto stays = [&](const Piece &piece) {
    const Branch &branch = attention.branches[size_t(piece.branch)];
    return isFar[size_t(piece.branch)] || branch.dilation != 1 ||
           branch.headBegin != 0 || branch.headEnd != attention.queryHeads;
  };
  // As much as hides the messages of another step.
  if (last == 0 || sum(steps[0], stays) < least)
    return;
  auto moved = std::stable_partition(steps[0].begin(), steps[0].end(), stays);
  steps[last].insert(steps[last].end(), moved, steps[0].end());
  steps[0].erase(moved, steps[0].end());
}

RankPieces::RankPieces(const Schedule &schedule, int64_t rank,
                       const std::vector<std::vector<Part>> &layouts,
                       bool mayEnd) {
  const Attention &attention = schedule.sharded.attention;
  for (size_t step = 0; step < layouts.size(); ++step) {
    bool isOwn = step == 0;
    pieces.emplace_back();
    if (isOwn || !layouts[step].empty())
      pieces.back() = piecesOf(schedule.sharded, rank,
                               ownerAt(schedule, rank, int64_t(step)),
                               isOwn ? nullptr : &layouts[step]);
  }
  if (mayEnd)
    putLast(attention, pieces);
  edges = edgesOf(pieces, attention.queryHeads / attention.keyHeads);
}

} // namespace ringlet::ring
