//===- SequencesTest.cpp - The sequences of a call ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomRing.h"

#include "ringlet/abi/ring/Sequences.h"

#include "gtest/gtest.h"

using namespace ringlet::ring;

namespace {

using List = std::vector<int64_t>;

ShardedAttention shardsOf(int64_t queries, int64_t keys) {
  std::string error;
  return {{},
          *Shards::even(Sharding::Contiguous, queries, 2, 1, &error),
          *Shards::even(Sharding::Contiguous, keys, 2, 1, &error)};
}

/// Query, queries, key, keys and offset of each, and of the axes their number
/// and rows; or what is wrong.
std::string said(const SequenceNumbers &numbers, ShardedAttention sharded) {
  std::string error;
  if (!addSequences(numbers, sharded, &error))
    return error;
  std::string text;
  for (const Sequence &at : sharded.attention.sequences) {
    for (int64_t word : {at.query, at.queries, at.key, at.keys, at.offset})
      text += std::to_string(word) + " ";
    text += "| ";
  }
  return text + std::to_string(sharded.axes) + " of " +
         std::to_string(sharded.queries.length()) + " and " +
         std::to_string(sharded.keys.length());
}

TEST(SequencesTest, Alike) {
  EXPECT_EQ(said({SequenceKind::Alike, 3, {}, {}, {}}, shardsOf(6, 10)),
            "0 6 0 10 4 | 1 of 6 and 10");
  EXPECT_EQ(said({SequenceKind::Alike, 3, {}, {}, {-2}}, shardsOf(6, 10)),
            "0 6 0 10 -2 | 1 of 6 and 10");
}

TEST(SequencesTest, Packed) {
  EXPECT_EQ(said({SequenceKind::Packed, 1, {0, 2, 6}, {0, 5, 10}, {}},
                 shardsOf(6, 10)),
            "0 2 0 5 3 | 2 4 5 5 1 | 1 of 6 and 10");
  EXPECT_EQ(said({SequenceKind::Packed, 1, {0, 2, 6}, {0, 5, 10}, {7, 8}},
                 shardsOf(6, 10)),
            "0 2 0 5 7 | 2 4 5 5 8 | 1 of 6 and 10");
  EXPECT_EQ(
      said({SequenceKind::Packed, 1, {0, 6}, {0, 5, 10}, {}}, shardsOf(6, 10)),
      "expected 2 starts of keys, found 3 (S2)");
}

// Lengths are clamped to the rows that there are.
TEST(SequencesTest, Padded) {
  EXPECT_EQ(
      said({SequenceKind::Padded, 2, {4, 9}, {-1, 10}, {}}, shardsOf(6, 10)),
      "0 4 0 0 -4 | 6 6 10 10 4 | 2 of 12 and 20");
  EXPECT_EQ(said({SequenceKind::Padded, 2, {}, {}, {1, -1}}, shardsOf(6, 10)),
            "0 6 0 10 1 | 6 6 10 10 -1 | 2 of 12 and 20");
  EXPECT_EQ(said({SequenceKind::Padded, 0, {}, {}, {}}, shardsOf(6, 10)),
            "0 of 0 and 0");
  EXPECT_EQ(said({SequenceKind::Padded, 2, {4}, {4}, {}}, shardsOf(6, 10)),
            "expected 2 lengths, found 1 (S2)");
  EXPECT_EQ(said({SequenceKind::Padded, 3, {}, {}, {1, 2}}, shardsOf(6, 10)),
            "expected 3 positions of first queries, found 2 (S2)");
  EXPECT_EQ(said({SequenceKind::Padded, kMaxRows, {}, {}, {}}, shardsOf(6, 10)),
            "expected at most 2147483648 rows of all sequences of a batch "
            "together, found 2147483648 sequences of 6 (G1)");
}

// A rank has its rows of each axis, one behind the other.
TEST(SequencesTest, RepeatedShards) {
  Random random(3);
  for (int i = 0; i < 500; ++i) {
    Shards one = drawShards(random, draw(random, 0, 40), draw(random, 1, 5));
    int64_t axes = draw(random, 0, 4);
    std::string error;
    Shards all = *one.repeated(axes, &error);
    EXPECT_EQ(all.length(), axes * one.length());
    List ofOne = ownersOf(one), ofAll = ownersOf(all);
    for (size_t row = 0; row < ofAll.size(); ++row)
      EXPECT_EQ(ofAll[row], ofOne[row % ofOne.size()]);
    for (int64_t rank = 0; rank < one.ranks(); ++rank) {
      EXPECT_EQ(all.size(rank), axes * one.size(rank));
      List held(static_cast<size_t>(all.size(rank)), -1);
      for (const Stretch &stretch : all.of(rank))
        for (int64_t k = 0; k < stretch.rows.size(); ++k)
          held[static_cast<size_t>(
              stretch.local + k % stretch.rows.run +
              k / stretch.rows.run * stretch.localStride)] = stretch.rows.at(k);
      EXPECT_TRUE(std::is_sorted(held.begin(), held.end()));
      EXPECT_TRUE(held.empty() || held.front() >= 0);
    }
  }
}

} // namespace
