//===- NeedsTest.cpp - What travels is what queries see ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomRing.h"

#include "runtime/src/abi/ring/Visibility.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace ringlet::ring;

namespace {

void expectExact(const ShardedAttention &sharded) {
  std::string error;
  ASSERT_TRUE(validate(sharded, &error)) << error << "\n" << describe(sharded);
  Seen seen = askOracle(sharded);
  for (int64_t reader = 0; reader < sharded.ranks(); ++reader)
    for (int64_t owner = 0; owner < sharded.ranks(); ++owner) {
      SCOPED_TRACE("reader " + std::to_string(reader) + " owner " +
                   std::to_string(owner));
      EXPECT_EQ(countScores(sharded, reader, owner),
                seen.scores[reader][owner]);
      std::vector<Part> parts = neededKeys(sharded, {reader}, owner);
      std::set<std::pair<int64_t, int64_t>> expected;
      if (reader != owner)
        expected = seen.pairs[reader][owner];
      EXPECT_EQ(pairsIn(parts, sharded.keys, owner), expected);
      EXPECT_EQ(pairsOf(parts), static_cast<int64_t>(expected.size()));
    }
  if (testing::Test::HasFailure())
    FAIL() << describe(sharded);
}

// G2, for any branches, masks, sequences and shards.
TEST(NeedsTest, ExactlyWhatTheOracleSees) {
  Random random(11);
  for (int i = 0; i < 1500 && !HasFatalFailure(); ++i)
    expectExact(drawSharded(random, draw(random, 1, 6), 70));
}

TEST(NeedsTest, EveryNumberOfRanks) {
  Random random(12);
  for (int64_t ranks = 1; ranks <= 64 && !HasFatalFailure(); ++ranks)
    for (int i = 0; i < 3; ++i)
      expectExact(drawSharded(random, ranks, 150));
}

// Readers of one host: what any of them sees, once.
TEST(NeedsTest, SeveralReaders) {
  Random random(13);
  for (int i = 0; i < 300; ++i) {
    ShardedAttention sharded = drawSharded(random, 6, 60);
    Seen seen = askOracle(sharded);
    for (int64_t owner = 0; owner < 6; ++owner) {
      std::set<std::pair<int64_t, int64_t>> expected;
      for (int64_t reader = 0; reader < 3; ++reader)
        if (reader != owner)
          expected.insert(seen.pairs[reader][owner].begin(),
                          seen.pairs[reader][owner].end());
      EXPECT_EQ(
          pairsIn(neededKeys(sharded, {0, 1, 2}, owner), sharded.keys, owner),
          expected)
          << describe(sharded);
    }
  }
}

Branch branchOf(int64_t segment, int64_t dilation, int64_t heads) {
  Branch branch;
  branch.segment = segment;
  branch.dilation = dilation;
  branch.headEnd = heads;
  return branch;
}

Shards evenShards(Sharding kind, int64_t length, int64_t ranks,
                  int64_t block = 128) {
  return *Shards::even(kind, length, ranks, block, nullptr);
}

TEST(NeedsTest, SegmentsWithinShardsSendNothing) {
  int64_t length = int64_t{1} << 29;
  Shards shards = evenShards(Sharding::Contiguous, length, 8);
  ShardedAttention sharded = {
      oneSequence({branchOf(2048, 1, 16), branchOf(1 << 20, 16, 16)}, length,
                  length, 16, 16, false),
      shards, shards};
  for (int64_t owner = 0; owner < 8; ++owner)
    for (int64_t reader = 0; reader < 8; ++reader)
      EXPECT_TRUE(neededKeys(sharded, {reader}, owner).empty());
}

// One segment over all ranks, dilated by 64: a 64th of a shard a head, as one
// progression each, although a shard has 2^26 rows.
TEST(NeedsTest, ResiduesOnly) {
  int64_t length = int64_t{1} << 29;
  Shards shards = evenShards(Sharding::Contiguous, length, 8);
  ShardedAttention sharded = {
      oneSequence({branchOf(0, 64, 16)}, length, length, 16, 16, false), shards,
      shards};
  std::vector<Part> parts = neededKeys(sharded, {5}, 2);
  ASSERT_EQ(parts.size(), 16u);
  for (const Part &part : parts) {
    ASSERT_EQ(part.rows.size(), 1u);
    EXPECT_EQ(part.rows[0].step, 64);
    EXPECT_EQ(part.rows[0].run, length / 8 / 64);
  }
}

// Dealt blocks, dense and causal: all blocks up to the reader's last query are
// one set with a stride, not a list of blocks.
TEST(NeedsTest, BlocksStayCompact) {
  int64_t length = int64_t{1} << 29;
  Shards shards = evenShards(Sharding::Striped, length, 8, 128);
  ShardedAttention sharded = {
      oneSequence({branchOf(0, 1, 4)}, length, length, 4, 4, true), shards,
      shards};
  std::vector<Part> parts = neededKeys(sharded, {5}, 2);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].heads, 4);
  EXPECT_LE(parts[0].rows.size(), 3u);
  EXPECT_EQ(pairsOf(parts), 4 * length / 8);
}

// The oldest keys of LongNet's nested branches are contained in each other: a
// pair that several branches show travels once.
TEST(NeedsTest, NestedBranchesSendTheirUnion) {
  int64_t length = 1 << 20;
  Shards shards = evenShards(Sharding::Contiguous, length, 4);
  std::vector<Branch> branches = {
      branchOf(2048, 1, 16), branchOf(length, 4, 16), branchOf(length, 16, 16)};
  ShardedAttention sharded = {
      oneSequence(branches, length, length, 16, 16, false), shards, shards};
  EXPECT_EQ(pairsOf(neededKeys(sharded, {0}, 1)), 16 * length / 4 / 4);
}

TEST(NeedsTest, Refusals) {
  Shards shards = evenShards(Sharding::Contiguous, 64, 4);
  ShardedAttention good = {oneSequence({branchOf(8, 2, 4)}, 64, 64, 4, 4, true),
                           shards, shards};
  std::string error;
  EXPECT_TRUE(validate(good, &error));
  auto refusal = [&](auto change) {
    ShardedAttention bad = good;
    change(bad);
    error.clear();
    EXPECT_FALSE(validate(bad, &error));
    return error;
  };
  EXPECT_EQ(refusal([](auto &bad) { bad.attention.branches[0].dilation = 9; }),
            "expected a dilation from 1 to 8, found 9 (B1)");
  EXPECT_EQ(refusal([](auto &bad) { bad.attention.branches[0].headEnd = 5; }),
            "expected heads from 0 to at most 4, found 5 (B3)");
  EXPECT_EQ(refusal([](auto &bad) { bad.attention.left = -1; }),
            "expected a window of at least 0, found -1 (B4)");
  EXPECT_EQ(
      refusal([](auto &bad) { bad.attention.keyHeads = 3; }),
      "expected a multiple of 3 key heads, at least 1, found 4 (section 1)");
  EXPECT_EQ(refusal([](auto &bad) { bad.attention.sequences[0].keys = 65; }),
            "expected key rows of a sequence from 0 to 64, found 65 (S2)");
  EXPECT_EQ(refusal([](auto &bad) {
              bad.queries = evenShards(Sharding::Contiguous, 64, 3);
            }),
            "expected queries on 4 ranks, as keys are, found 3 (G1)");
}

// Segments that no query of the reader and key of the owner share cost nothing,
// however many lie between the parts of a shard.
TEST(NeedsTest, PlanningVisitsSharedSegmentsOnly) {
  auto visits = [](Sharding kind, int64_t length, int64_t segment,
                   int64_t ranks, int64_t block) {
    Shards shards = evenShards(kind, length, ranks, block);
    ShardedAttention sharded = {
        oneSequence({branchOf(segment, 1, 16)}, length, length, 16, 16, true),
        shards, shards};
    int64_t before = segmentVisits();
    for (int64_t owner = 0; owner < ranks; ++owner)
      neededKeys(sharded, {1}, owner);
    return segmentVisits() - before;
  };
  // A boundary of chunks may cut one segment.
  EXPECT_LE(visits(Sharding::Zigzag, int64_t{1} << 24, 2048, 4, 0), 4 * 4);
  EXPECT_LE(visits(Sharding::Contiguous, int64_t{1} << 24, 3000, 4, 0), 4 * 2);
  // Of blocks that hold whole segments, those of the reader: for each owner.
  EXPECT_LE(visits(Sharding::Striped, int64_t{1} << 20, 64, 8, 512),
            8 * ((int64_t{1} << 20) / 64 / 8));
}

} // namespace
