//===- ShardsTest.cpp - Which rows a rank holds ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomRing.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace ringlet::ring;

namespace {

std::vector<int64_t> rowsOf(const Shards &shards, int64_t rank) {
  std::vector<int64_t> rows(shards.size(rank), -1);
  for (const Stretch &stretch : shards.of(rank))
    for (int64_t i = 0; i < stretch.rows.size(); ++i) {
      int64_t local = stretch.local + i % stretch.rows.run +
                      i / stretch.rows.run * stretch.localStride;
      EXPECT_EQ(rows.at(local), -1);
      rows[local] = stretch.rows.at(i);
    }
  return rows;
}

using List = std::vector<int64_t>;

TEST(ShardsTest, Kinds) {
  auto contiguous = Shards::contiguous({3, 0, 2}, nullptr);
  EXPECT_EQ(rowsOf(*contiguous, 0), (List{0, 1, 2}));
  EXPECT_EQ(rowsOf(*contiguous, 1), List());
  EXPECT_EQ(rowsOf(*contiguous, 2), (List{3, 4}));
  auto zigzag = Shards::zigzag({2, 1, 1, 2}, nullptr);
  EXPECT_EQ(rowsOf(*zigzag, 0), (List{0, 1, 4, 5}));
  EXPECT_EQ(rowsOf(*zigzag, 1), (List{2, 3}));
  auto striped = Shards::striped(11, 2, 2, {0, 1, 1}, nullptr);
  EXPECT_EQ(rowsOf(*striped, 0), (List{0, 1, 6, 7}));
  EXPECT_EQ(rowsOf(*striped, 1), (List{2, 3, 4, 5, 8, 9, 10}));
}

// Each row has one rank, and ranks keep rows in ascending order.
TEST(ShardsTest, EveryRowOnce) {
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    Shards shards = drawShards(random, draw(random, 0, 90), draw(random, 1, 9));
    ownersOf(shards);
    for (int64_t rank = 0; rank < shards.ranks(); ++rank) {
      List rows = rowsOf(shards, rank);
      EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
    }
  }
}

// Even shards differ by a row.
TEST(ShardsTest, Even) {
  for (Sharding kind : {Sharding::Contiguous, Sharding::Zigzag})
    for (int64_t length : {0, 1, 7, 64, 65, 127})
      for (int64_t ranks : {1, 3, 5, 64}) {
        auto shards = Shards::even(kind, length, ranks, 1, nullptr);
        for (int64_t rank = 0; rank < ranks; ++rank) {
          EXPECT_GE(shards->size(rank), length / ranks);
          EXPECT_LE(shards->size(rank), (length + ranks - 1) / ranks);
        }
        EXPECT_EQ(shards->length(), length);
      }
}

TEST(ShardsTest, Refusals) {
  std::string error;
  EXPECT_FALSE(Shards::contiguous({}, &error));
  EXPECT_EQ(error, "expected 1 to 4096 ranks, found 0 (G1)");
  EXPECT_FALSE(Shards::contiguous({1, -1}, &error));
  EXPECT_EQ(error, "expected lengths of shards from 0 on, 2147483648 rows "
                   "together at most, found -1 after 1 rows (G1)");
  EXPECT_FALSE(Shards::contiguous({kMaxRows, 1}, &error));
  EXPECT_FALSE(Shards::zigzag({1, 2, 3}, &error));
  EXPECT_EQ(error, "expected two chunks for each rank, found 3 (G1)");
  EXPECT_FALSE(Shards::striped(8, 0, 2, {0, 1}, &error));
  EXPECT_FALSE(Shards::striped(8, 1, 2, {0, 2}, &error));
  EXPECT_EQ(error, "expected ranks below 2 to take turns, found 2 (G1)");
}

} // namespace
