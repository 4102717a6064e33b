//===- BalanceTest.cpp - Work is shared out evenly ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomRing.h"

#include "ringlet/abi/ring/Balance.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace ringlet::ring;

namespace {

Attention denseCausal(int64_t length) {
  Branch dense;
  dense.headEnd = 2;
  return oneSequence({dense}, length, length, 2, 1, true);
}

// Dense, causal, equal shards: in each step all ranks do the same, up to one
// tile of keys for each query.
TEST(BalanceTest, EveryStepOfDenseCausal) {
  constexpr int64_t tile = 16;
  for (Sharding kind : {Sharding::Zigzag, Sharding::Striped})
    for (int64_t ranks = 1; ranks <= 64; ++ranks) {
      int64_t length = 4 * tile * ranks;
      Shards shards = *Shards::even(kind, length, ranks, tile, nullptr);
      Schedule schedule = {{denseCausal(length), shards, shards}, ranks, 2};
      Balance balance = balanceOf(schedule);
      ASSERT_EQ(balance.steps.size(), static_cast<size_t>(ranks));
      for (const Balance::Step &step : balance.steps) {
        EXPECT_LE(step.most - step.least, 2.0 * shards.size(0) * tile);
        // A chunk sees the same of every other one.
        if (kind == Sharding::Zigzag) {
          EXPECT_EQ(step.most, step.least);
        }
      }
      EXPECT_EQ(balance.total.mean * static_cast<double>(ranks),
                static_cast<double>(length * (length + 1)));
    }
}

// Contiguous shards are as uneven as they are known to be: the last rank does
// 2 - 1 / W times its share.
TEST(BalanceTest, ReportsImbalance) {
  int64_t length = 1 << 16, ranks = 8;
  Shards shards =
      *Shards::even(Sharding::Contiguous, length, ranks, 1, nullptr);
  Schedule schedule = {{denseCausal(length), shards, shards}, ranks, 2};
  Balance balance = balanceOf(schedule);
  EXPECT_NEAR(balance.imbalance(), 1 - 1.0 / 8, 1e-4);
  // Steps that wait for the busiest rank: all but the last are full.
  EXPECT_NEAR(balance.imbalanceOfSteps(), 2 * (7 + 0.5) / 8 - 1, 1e-4);
}

/// The least possible work of the busiest rank over its weight.
double bestOf(const std::vector<double> &work,
              const std::vector<double> &weights) {
  constexpr double none = std::numeric_limits<double>::infinity();
  std::vector<double> best(work.size() + 1, none);
  best[0] = 0;
  for (double weight : weights) {
    std::vector<double> next(work.size() + 1, none);
    for (size_t begin = 0; begin <= work.size(); ++begin) {
      double sum = 0;
      for (size_t end = begin; end <= work.size(); ++end) {
        double time = sum == 0 && end == begin ? 0 : sum / weight;
        if (weight > 0 || end == begin)
          next[end] = std::min(next[end], std::max(best[begin], time));
        if (end < work.size())
          sum += work[end];
      }
    }
    best = next;
  }
  return best.back();
}

double workOf(const Attention &attention, const Shards &shards, int64_t rank,
              int64_t keys) {
  Stretch all;
  all.rows.run = keys;
  double sum = 0;
  for (const Branch &branch : attention.branches)
    sum += countScores(attention, branch, shards.of(rank), {all});
  return sum;
}

std::vector<double> workOfTiles(const Attention &attention, int64_t length,
                                int64_t tile, int64_t keys) {
  std::vector<double> work;
  for (int64_t first = 0; first < length; first += tile) {
    int64_t rows = std::min(tile, length - first);
    Shards one =
        *Shards::contiguous({first, rows, length - first - rows}, nullptr);
    work.push_back(workOf(attention, one, 1, keys));
  }
  return work;
}

// Any branches, masks and sequences, ranks of any speed: no rank does more than
// the busiest of the best split, within 2%.
TEST(BalanceTest, BestSplitByTiles) {
  Random random(31);
  for (int i = 0; i < 600; ++i) {
    ShardedAttention drawn = drawSharded(random, 1, 300);
    const Attention &attention = drawn.attention;
    int64_t length = drawn.queries.length(), keys = drawn.keys.length();
    int64_t tile = draw(random, 1, 16), ranks = draw(random, 1, 7);
    std::vector<double> weights;
    for (int64_t rank = 0; rank < ranks; ++rank)
      weights.push_back(i % 2 ? 1.0 : static_cast<double>(draw(random, 0, 4)));
    weights[draw(random, 0, ranks - 1)] = 1;
    for (Sharding kind : {Sharding::Contiguous, Sharding::Zigzag}) {
      std::string error;
      auto shards =
          balancedShards(attention, kind, length, weights, tile, &error);
      ASSERT_TRUE(shards) << error;
      ASSERT_EQ(shards->length(), length);
      std::vector<double> work = workOfTiles(attention, length, tile, keys);
      if (kind == Sharding::Zigzag) {
        for (size_t at = 0; at < work.size() / 2; ++at)
          work[at] += work[work.size() - 1 - at];
        work.resize((work.size() + 1) / 2);
      }
      double best = bestOf(work, weights);
      for (int64_t rank = 0; rank < ranks; ++rank) {
        double of = workOf(attention, *shards, rank, keys);
        EXPECT_LE(of, 1.02 * best * weights[rank] + 1e-6)
            << "rank " << rank << " of " << ranks << ", tiles of " << tile
            << "\n"
            << describe(drawn);
      }
    }
  }
}

// Of a long sequence, ranks of three speeds: in proportion, whatever the kind.
TEST(BalanceTest, SpeedsOfRanks) {
  int64_t length = 1 << 20;
  std::vector<double> weights = {1, 2, 4, 1};
  Attention attention = denseCausal(length);
  for (Sharding kind :
       {Sharding::Contiguous, Sharding::Zigzag, Sharding::Striped}) {
    auto shards =
        balancedShards(attention, kind, length, weights, 128, nullptr);
    ASSERT_TRUE(shards);
    double total = 0;
    for (int64_t rank = 0; rank < 4; ++rank)
      total += workOf(attention, *shards, rank, length);
    for (int64_t rank = 0; rank < 4; ++rank)
      EXPECT_NEAR(workOf(attention, *shards, rank, length),
                  total * weights[rank] / 8, total * 0.005)
          << static_cast<int>(kind) << " " << rank;
  }
}

TEST(BalanceTest, ARankOfWeightZeroHasNothing) {
  for (Sharding kind :
       {Sharding::Contiguous, Sharding::Zigzag, Sharding::Striped}) {
    auto shards =
        balancedShards(denseCausal(1000), kind, 1000, {1, 0, 1}, 16, nullptr);
    EXPECT_EQ(shards->size(1), 0);
    EXPECT_EQ(shards->size(0) + shards->size(2), 1000);
  }
}

TEST(BalanceTest, Refusals) {
  std::string error;
  Attention attention = denseCausal(64);
  auto refused = [&](std::vector<double> weights, int64_t tile) {
    error.clear();
    EXPECT_FALSE(balancedShards(attention, Sharding::Contiguous, 64, weights,
                                tile, &error));
    return error;
  };
  EXPECT_EQ(refused({0, 0}, 1), "expected a weight above 0, found none (G1)");
  EXPECT_EQ(refused({1, -1}, 1),
            "expected finite weights of at least 0, found -1.000000 (G1)");
  EXPECT_EQ(refused({1}, 0), "expected tiles of at least 1 row and 0 to "
                             "2147483648 rows, found tiles of 0 and 64 (G1)");
}

} // namespace
