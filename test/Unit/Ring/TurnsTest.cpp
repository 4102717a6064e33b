//===- TurnsTest.cpp - Which pieces are computed beside each other -*- C++ -*-//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queues and events are taken as a device takes them; two calls that change the
// same row of a head never overlap, and begin in the order of their numbers.
//
//===----------------------------------------------------------------------===//

#include "RandomRing.h"

#include "ringlet/abi/ring/Turns.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

using namespace ringlet;
using namespace ringlet::ring;

namespace {

struct Made {
  Piece piece;
  int64_t sequence;
};

/// The rows that a call changes: sequence, query head, row.
std::set<std::array<int64_t, 3>> rowsOf(const Made &made, int64_t batch,
                                        const Attention &attention) {
  const Piece &piece = made.piece;
  int64_t group = attention.queryHeads / attention.keyHeads;
  std::vector<int64_t> heads;
  if (piece.whole)
    for (int64_t head = 0; head < attention.queryHeads; ++head)
      heads.push_back(head);
  for (int64_t n = 0; !piece.whole && n < piece.heads.count; ++n) {
    int64_t head = piece.heads.first + n * piece.heads.step;
    for (int64_t i = 0; i < (piece.grouped ? group : 1); ++i)
      heads.push_back(piece.grouped ? head * group + i : head);
  }
  std::set<std::array<int64_t, 3>> rows;
  for (int64_t b = 0; b < batch; ++b)
    if (piece.whole || b == made.sequence)
      for (int64_t head : heads)
        for (int64_t i = 0; i < piece.queries.count; ++i)
          rows.insert({b, head, piece.queries.first + i * piece.queries.step});
  return rows;
}

/// Of each call, those that have ended when it begins.
std::vector<std::set<size_t>> endedBefore(const Turns &turns) {
  std::vector<std::set<size_t>> ended(turns.size());
  std::map<int64_t, size_t> last;
  for (size_t call = 0; call < turns.size(); ++call) {
    auto follow = [&](size_t other) {
      ended[call].insert(ended[other].begin(), ended[other].end());
      ended[call].insert(other);
    };
    if (auto found = last.find(turns[call].queue); found != last.end())
      follow(found->second);
    for (int64_t other : turns[call].after) {
      EXPECT_LT(other, int64_t(call));
      EXPECT_TRUE(turns[size_t(other)].isAwaited);
      EXPECT_NE(turns[size_t(other)].queue, turns[call].queue);
      follow(size_t(other));
    }
    last[turns[call].queue] = call;
  }
  return ended;
}

void expectOrder(const std::vector<Made> &calls, const Turns &turns,
                 int64_t queues, int64_t batch, const Attention &attention) {
  ASSERT_EQ(turns.size(), calls.size());
  std::vector<std::set<size_t>> ended = endedBefore(turns);
  std::vector<std::set<std::array<int64_t, 3>>> rows;
  for (const Made &made : calls)
    rows.push_back(rowsOf(made, batch, attention));
  for (size_t call = 0; call < calls.size(); ++call) {
    EXPECT_GE(turns[call].queue, 0);
    EXPECT_LT(turns[call].queue, queues);
    EXPECT_LT(int64_t(turns[call].after.size()), queues);
    for (size_t other = 0; other < call; ++other) {
      bool isShared = std::any_of(
          rows[call].begin(), rows[call].end(),
          [&](const auto &row) { return rows[other].count(row) != 0; });
      ASSERT_TRUE(!isShared || ended[call].count(other))
          << other << " and " << call;
    }
  }
}

/// The calls of one rank, step by step.
void expectOrder(const ShardedAttention &sharded, int64_t rank, int64_t queues,
                 int64_t batch, size_t &beside) {
  const Attention &attention = sharded.attention;
  Turns turns({queues, 1000}, attention.queryHeads / attention.keyHeads);
  std::vector<Made> calls;
  for (int64_t t = 0; t < sharded.ranks(); ++t) {
    int64_t owner = (rank + sharded.ranks() - t) % sharded.ranks();
    std::vector<Part> layout = neededKeys(sharded, {rank}, owner);
    for (const Piece &piece :
         piecesOf(sharded, rank, owner, t == 0 ? nullptr : &layout))
      for (int64_t i = 0; i < (piece.whole ? 1 : batch); ++i) {
        calls.push_back({piece, i});
        turns.add(piece, i);
        beside += turns[turns.size() - 1].queue != 0;
      }
  }
  expectOrder(calls, turns, queues, batch, attention);
}

TEST(TurnsTest, RowsAreNeverSharedAtOnce) {
  Random random(91);
  size_t beside = 0;
  for (int i = 0; i < 300 && !HasFatalFailure(); ++i) {
    ShardedAttention sharded = drawSharded(random, draw(random, 1, 5), 40);
    ASSERT_TRUE(validate(sharded, nullptr));
    expectOrder(sharded, draw(random, 0, sharded.ranks() - 1),
                draw(random, 1, 5), draw(random, 1, 2), beside);
  }
  EXPECT_GT(beside, 1000u);
}

// Heads of a dilated branch, each of its own residue, behind one call of all.
TEST(TurnsTest, HeadsSideBySide) {
  Turns turns({4, 1024 * 16}, 1);
  Piece all;
  all.whole = true;
  all.queries = all.keys = {0, 1, 1024};
  all.heads = {0, 1, 16};
  turns.add(all, 0);
  for (int64_t head = 0; head < 16; ++head) {
    Piece one;
    one.queries = one.keys = {head, 16, 64};
    one.heads = {head, 1, 1};
    turns.add(one, 0);
  }
  std::set<int64_t> queues;
  for (size_t call = 1; call < turns.size(); ++call) {
    queues.insert(turns[call].queue);
    bool isFirst = turns[call].queue != turns[0].queue && call < 5;
    EXPECT_EQ(turns[call].after.size(), isFirst ? 1u : 0u) << call;
  }
  EXPECT_EQ(queues.size(), 4u);
}

// One queue: as many calls as there are, and nobody waits.
TEST(TurnsTest, OneQueue) {
  Turns turns({1, 100}, 1);
  Piece piece;
  piece.queries = piece.keys = {0, 1, 8};
  piece.heads = {0, 1, 1};
  for (int i = 0; i < 3; ++i)
    turns.add(piece, i % 2);
  for (size_t call = 0; call < turns.size(); ++call) {
    EXPECT_EQ(turns[call].queue, 0);
    EXPECT_TRUE(turns[call].after.empty());
    EXPECT_FALSE(turns[call].isAwaited);
  }
}

} // namespace
