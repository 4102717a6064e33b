//===- PatternPlotTest.cpp - Visible keys as a matrix ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plot/PatternPlot.h"

#include "gtest/gtest.h"

#include <random>

using namespace ringlet;
using namespace ringlet::plot;

namespace {

/// Rules B2 to B4 once more, in plain words, for positions p and u.
bool sees(const Attention &a, const oracle::Branch &b, int64_t head, int64_t p,
          int64_t u) {
  auto mod = [](int64_t x, int64_t m) { return ((x % m) + m) % m; };
  int64_t offset = mod(head / (a.queryHeads / a.keyHeads), b.dilation);
  int64_t placeP = p, placeU = u;
  if (b.segment) {
    placeP = mod(p, *b.segment);
    placeU = mod(u, *b.segment);
    if (p - placeP != u - placeU)
      return false;
  }
  if (mod(placeP, b.dilation) != offset || mod(placeU, b.dilation) != offset)
    return false;
  if (a.spec.causal && u > p)
    return false;
  return !a.spec.windowLeft || u >= p - *a.spec.windowLeft;
}

TEST(PatternPlot, CountsAsTheRulesSay) {
  std::mt19937 random(7);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 200; ++round) {
    Attention a;
    a.queries = pick(1, 40);
    a.keys = pick(1, 40);
    a.keyHeads = pick(1, 3);
    a.queryHeads = a.keyHeads * pick(1, 2);
    oracle::Branch branch;
    branch.dilation = pick(1, 4);
    if (pick(0, 2))
      branch.segment = pick(branch.dilation, 50);
    a.spec.branches = {branch};
    a.spec.causal = pick(0, 1);
    if (pick(0, 1))
      a.spec.windowLeft = pick(0, 20);
    Matrix matrix;
    std::string error;
    ASSERT_TRUE(countPattern(a, 0, matrix, error)) << error;
    ASSERT_EQ(matrix.rows, a.queries);
    ASSERT_EQ(matrix.columns, a.keys);
    for (int64_t i = 0; i < a.queries; ++i)
      for (int64_t u = 0; u < a.keys; ++u) {
        int64_t first = -1;
        for (int64_t h = a.queryHeads; h-- > 0;)
          if (sees(a, branch, h, a.keys - a.queries + i, u))
            first = h;
        EXPECT_EQ(matrix.at(i, u).head, first);
        EXPECT_EQ(matrix.at(i, u).seen, first >= 0);
      }

    // Tiles hold the same pairs of head 0, and no others.
    Matrix tiles;
    int64_t queryRows = pick(1, 8), keyRows = pick(1, 8);
    int64_t pairs = 0, found = 0;
    for (int64_t i = 0; i < a.queries; ++i)
      for (int64_t u = 0; u < a.keys; ++u)
        pairs += sees(a, branch, 0, a.keys - a.queries + i, u);
    if (!countTiles(a, 0, queryRows, keyRows, tiles, error)) {
      // Head 0 may have no row here, and then nothing to draw.
      EXPECT_NE(error.find("found 0"), std::string::npos) << error;
      EXPECT_EQ(pairs, 0);
      continue;
    }
    for (const Cell &cell : tiles.cells) {
      EXPECT_LE(cell.seen, cell.pairs);
      EXPECT_LE(cell.pairs, queryRows * keyRows);
      found += cell.seen;
    }
    EXPECT_EQ(found, pairs);
  }
}

TEST(PatternPlot, LongSequencesShareCells) {
  Attention a;
  a.queries = a.keys = 1000;
  a.spec.branches.resize(1);
  a.spec.causal = true;
  Matrix matrix;
  std::string error;
  ASSERT_TRUE(countPattern(a, 0, matrix, error)) << error;
  EXPECT_EQ(matrix.rows, 250);
  EXPECT_EQ(matrix.at(0, 0).pairs, 16);
  EXPECT_EQ(matrix.at(0, 0).seen, 10);
  EXPECT_EQ(matrix.at(0, 1).seen, 0);
  EXPECT_EQ(matrix.at(249, 0).seen, 16);
}

TEST(PatternPlot, TilesOfADenseAndOfADilatedBranch) {
  Attention a;
  a.queries = a.keys = 10;
  a.spec.branches.resize(2);
  a.spec.branches[1].segment = 6;
  a.spec.branches[1].dilation = 2;
  a.spec.causal = true;
  Matrix matrix;
  std::string error;
  ASSERT_TRUE(countTiles(a, 0, 4, 2, matrix, error)) << error;
  EXPECT_EQ(matrix.rows, 3);
  EXPECT_EQ(matrix.columns, 5);
  // Queries 4 to 7: keys 0 to 3 whole, 4 and 5 but for one, 6 and 7 in part.
  EXPECT_EQ(matrix.at(1, 0).seen, 8);
  EXPECT_EQ(matrix.at(1, 2).seen, 7);
  EXPECT_EQ(matrix.at(1, 3).seen, 3);
  EXPECT_EQ(matrix.at(1, 4).seen, 0);
  // Rows 0 2 4 of the first segment, then 6 8 of the second, in tiles of 2.
  ASSERT_TRUE(countTiles(a, 1, 2, 2, matrix, error)) << error;
  EXPECT_EQ(matrix.rows, 3);
  EXPECT_EQ(matrix.at(1, 0).pairs, 2);
  EXPECT_EQ(matrix.at(1, 0).seen, 2);
  EXPECT_EQ(matrix.at(1, 1).pairs, 1);
  EXPECT_EQ(matrix.at(2, 1).seen, 0);
  EXPECT_EQ(matrix.at(2, 2).seen, 3);
}

TEST(PatternPlot, Refusals) {
  Attention a;
  a.spec.branches.resize(1);
  Matrix matrix;
  std::string error;
  EXPECT_FALSE(countPattern(a, 0, matrix, error));
  EXPECT_EQ(error, "expected 1 to 16384 queries and keys to draw, found 0; "
                   "nearest 1");
  a.queries = a.keys = kMostPositions + 1;
  EXPECT_FALSE(countPattern(a, 0, matrix, error));
  EXPECT_EQ(error, "expected 1 to 16384 queries and keys to draw, found 16385; "
                   "nearest 16384");
  a.queries = a.keys = kMostPositions;
  a.queryHeads = a.keyHeads = 8192;
  a.spec.branches[0].dilation = 8192;
  EXPECT_TRUE(countPattern(a, 0, matrix, error)) << error;
  // An order of 2^40 places is walked once for each query.
  a.spec.branches[0].dilation = 1;
  a.spec.patternOrder.emplace();
  a.spec.patternOrder->curve = "morton";
  a.spec.patternOrder->grid = {1 << 20, 1 << 20};
  EXPECT_FALSE(countPattern(a, 0, matrix, error));
  EXPECT_NE(error.find("at most 2^29 pairs"), std::string::npos) << error;
  a.spec.patternOrder.reset();
  EXPECT_FALSE(countTiles(a, 0, 16, 16, matrix, error));
  EXPECT_NE(error.find("expected 1 to 256 tiles"), std::string::npos) << error;
  EXPECT_FALSE(countTiles(a, 0, 0, 16, matrix, error));
  a.spec.branches[0].heads = oracle::HeadRange{1, 1};
  EXPECT_FALSE(countTiles(a, 0, 16, 16, matrix, error));
  EXPECT_EQ(error, "expected a branch with a head to draw, found none (B1)");
  a.spec.branches[0].heads.reset();
  a.queries = a.keys = 16;
  a.spec.branches[0].dilation = 0;
  EXPECT_FALSE(countPattern(a, 0, matrix, error));
  EXPECT_NE(error.find("B1"), std::string::npos) << error;
}

} // namespace
