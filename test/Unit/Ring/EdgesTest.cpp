//===- EdgesTest.cpp - First and last pieces of rows ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pieces are taken row by row: none before a first one, and none behind a last
// one, has any of its rows and heads.
//
//===----------------------------------------------------------------------===//

#include "RandomRing.h"

#include "ringlet/abi/ring/Edges.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <set>

using namespace ringlet;
using namespace ringlet::ring;

namespace {

using Steps = std::vector<std::vector<Piece>>;
/// A query head and a row.
using Rows = std::set<std::pair<int64_t, int64_t>>;

Steps stepsOf(const ShardedAttention &sharded, int64_t rank) {
  Steps steps;
  for (int64_t t = 0; t < sharded.ranks(); ++t) {
    int64_t owner = (rank + sharded.ranks() - t) % sharded.ranks();
    std::vector<Part> layout = neededKeys(sharded, {rank}, owner);
    steps.emplace_back();
    if (t == 0 || !layout.empty())
      steps.back() = piecesOf(sharded, rank, owner, t == 0 ? nullptr : &layout);
  }
  return steps;
}

Rows rowsOf(const Piece &piece, const Attention &attention) {
  int64_t group = attention.queryHeads / attention.keyHeads;
  std::set<int64_t> heads;
  for (int64_t head = 0; piece.whole && head < attention.queryHeads; ++head)
    heads.insert(head);
  for (int64_t n = 0; !piece.whole && n < piece.heads.count; ++n)
    for (int64_t i = 0; i < (piece.grouped ? group : 1); ++i)
      heads.insert((piece.heads.first + n * piece.heads.step) *
                       (piece.grouped ? group : 1) +
                   i);
  Rows rows;
  for (int64_t head : heads)
    for (int64_t i = 0; i < piece.queries.count; ++i)
      rows.insert({head, piece.queries.first + i * piece.queries.step});
  return rows;
}

/// How many rows of heads end, of all that a rank has.
struct Ended {
  size_t ended = 0, begun = 0, all = 0;
};

Ended expectEdges(const ShardedAttention &sharded, int64_t rank,
                  bool areMoved = false) {
  const Attention &attention = sharded.attention;
  Steps steps = stepsOf(sharded, rank);
  if (areMoved)
    putLast(attention, steps);
  auto edges = edgesOf(steps, attention.queryHeads / attention.keyHeads);
  EXPECT_EQ(edges.size(), steps.size());
  std::map<std::pair<int64_t, int64_t>, int64_t> seen;
  Ended result;
  result.all = size_t(sharded.queries.size(rank) * attention.queryHeads);
  auto visit = [&](size_t step, size_t i, bool Edge::*edge, size_t &count) {
    for (const auto &row : rowsOf(steps[step][i], attention)) {
      if (edges[step][i].*edge) {
        EXPECT_EQ(seen.count(row), 0u) << "step " << step << ", piece " << i;
        ++count;
      }
      seen[row] = 1;
    }
  };
  for (size_t step = 0; step < steps.size(); ++step) {
    EXPECT_EQ(edges[step].size(), steps[step].size());
    for (size_t i = 0; i < steps[step].size(); ++i)
      visit(step, i, &Edge::isFirst, result.begun);
  }
  seen.clear();
  for (size_t step = steps.size(); step-- > 0;)
    for (size_t i = steps[step].size(); i-- > 0;)
      visit(step, i, &Edge::isLast, result.ended);
  return result;
}

ShardedAttention makeDense(Sharding kind, int64_t length, int64_t ranks,
                           bool causal) {
  Attention attention;
  attention.queryHeads = 4;
  attention.keyHeads = 2;
  attention.causal = causal;
  Branch branch;
  branch.headEnd = 4;
  attention.branches = {branch};
  attention.sequences = {{0, length, 0, length, 0}};
  Shards shards = *Shards::even(kind, length, ranks, 0, nullptr);
  return {attention, shards, shards};
}

TEST(EdgesTest, NobodyIsBeforeOrBehind) {
  Random random(17);
  Ended sum;
  for (int i = 0; i < 400 && !HasFailure(); ++i) {
    ShardedAttention sharded = drawSharded(random, draw(random, 1, 5), 40);
    ASSERT_TRUE(validate(sharded, nullptr));
    for (int64_t rank = 0; rank < sharded.ranks(); ++rank) {
      Ended one = expectEdges(sharded, rank, i % 2);
      sum.ended += one.ended;
      sum.begun += one.begun;
    }
  }
  EXPECT_GT(sum.ended, 1000u);
  EXPECT_GT(sum.begun, 1000u);
}

// Of dense attention every row begins and ends in a piece that knows it.
TEST(EdgesTest, AllRowsOfDenseAttention) {
  for (int64_t ranks : {1, 2, 3, 8})
    for (bool causal : {false, true})
      for (Sharding kind : {Sharding::Contiguous, Sharding::Zigzag}) {
        ShardedAttention sharded = makeDense(kind, 97, ranks, causal);
        for (int64_t rank = 0; rank < ranks; ++rank) {
          Ended one = expectEdges(sharded, rank);
          EXPECT_EQ(one.ended, one.all) << ranks << " ranks";
          EXPECT_EQ(one.begun, one.all) << ranks << " ranks";
        }
      }
}

size_t countPieces(const Steps &steps) {
  size_t count = 0;
  for (const std::vector<Piece> &step : steps)
    count += step.size();
  return count;
}

// A branch of own keys alone, which shows some to every row, comes behind those
// of which other ranks have keys: rows end in it, and no piece is lost.
TEST(EdgesTest, RowsEndInOwnKeys) {
  for (int64_t ranks : {2, 4}) {
    ShardedAttention sharded =
        makeDense(Sharding::Contiguous, 1024, ranks, false);
    Branch near, far;
    near.headEnd = far.headEnd = 4;
    near.segment = 32;
    far.dilation = 4;
    sharded.attention.branches = {far, near};
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Ended before = expectEdges(sharded, rank);
      EXPECT_EQ(before.ended, before.all / 4);
      Ended after = expectEdges(sharded, rank, true);
      EXPECT_EQ(after.ended, after.all);
      Steps steps = stepsOf(sharded, rank), moved = steps;
      putLast(sharded.attention, moved);
      EXPECT_EQ(countPieces(moved), countPieces(steps));
      EXPECT_FALSE(moved[0].empty());
      EXPECT_TRUE(moved.back().back().ofOwn);
    }
    // Nothing would be left for the time in which the first keys travel.
    sharded.attention.branches[0].dilation = 64;
    sharded.attention.branches[0].offset = OffsetRule::Constant;
    Steps steps = stepsOf(sharded, 0);
    steps[0].erase(
        std::remove_if(steps[0].begin(), steps[0].end(),
                       [](const Piece &piece) { return piece.branch == 0; }),
        steps[0].end());
    size_t first = steps[0].size();
    putLast(sharded.attention, steps);
    EXPECT_EQ(steps[0].size(), first);
  }
}

TEST(EdgesTest, ARankWithoutQueries) {
  ShardedAttention sharded = makeDense(Sharding::Contiguous, 40, 2, false);
  sharded.queries = *Shards::contiguous({40, 0}, nullptr);
  EXPECT_EQ(expectEdges(sharded, 1).ended, 0u);
  EXPECT_EQ(expectEdges(sharded, 0).ended, 160u);
}

// To compare very many would take longer than they compute.
TEST(EdgesTest, OfVeryManyPiecesNothingIsKnown) {
  Piece piece;
  piece.queries = piece.heads = {0, 1, 1};
  Steps steps(2);
  for (size_t i = 0; i <= mostPieces; ++i) {
    piece.queries.first = int64_t(i);
    steps[i % 2].push_back(piece);
  }
  auto edges = edgesOf(steps, 1);
  EXPECT_EQ(edges[0].front().number(), 0);
  steps[0].pop_back();
  EXPECT_EQ(edgesOf(steps, 1)[0].front().number(), 3);
}

} // namespace
