//===- CPUTilingTest.cpp - What the CPU cost model must say -----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/CPUTiling.h"

#include <gtest/gtest.h>

using namespace ringlet::cost;

namespace {

const CPUCore avx2{8, 32 * 1024, 512 * 1024};

BranchShape shape(int64_t dim, int64_t rows, bool causal = false) {
  return {dim, dim, rows, causal};
}

TEST(CPUTiling, ChoiceIsTheCheapestOfItsNeighbours) {
  for (int64_t dim : {8, 20, 64, 128, 256})
    for (int64_t rows : {0, 1, 16, 100, 2048})
      for (bool causal : {false, true}) {
        CPUTiling best = chooseTiling(avx2, shape(dim, rows, causal));
        for (int64_t query : {8, 64, 128, 256})
          for (int64_t key : {16, 64, 128, 256})
            EXPECT_LE(best.cyclesPerScore,
                      estimate(avx2, shape(dim, rows, causal), query, key)
                          .cyclesPerScore)
                << "dim " << dim << ", rows " << rows;
      }
}

// A tile taller than the segment computes rows that nobody asked for.
TEST(CPUTiling, ShortSegmentsGetShortTiles) {
  for (int64_t rows : {1, 5, 16, 40}) {
    CPUTiling tiling = chooseTiling(avx2, shape(64, rows));
    EXPECT_LT(tiling.query, 2 * rows + 16);
    EXPECT_LT(tiling.key, 2 * rows + 16);
  }
}

// An instruction that takes two steps of the depth halves the products' time,
// and nothing else.
TEST(CPUTiling, PairsHalveTheProducts) {
  CPUCore pairs = avx2;
  pairs.stepsPerMultiplyAdd = 2;
  CPUTiling single = estimate(avx2, shape(64, 0), 64, 64);
  CPUTiling paired = estimate(pairs, shape(64, 0), 64, 64);
  EXPECT_DOUBLE_EQ(2 * paired.dotShare * paired.cyclesPerScore,
                   single.dotShare * single.cyclesPerScore);
  EXPECT_LT(paired.dotShare, single.dotShare);
}

// Each level takes its products of bf16 as fast as it can, others as before.
TEST(CPUTiling, LevelsDifferInBF16) {
  auto dots = [](const char *name, bool isBF16, int64_t dim, int64_t key) {
    CPUTiling tiling = estimate(
        CPUCore::of(*ringlet::arch::lookupCPULevel(name), isBF16, !isBF16),
        shape(dim, 0), 64, key);
    return tiling.dotShare * tiling.cyclesPerScore;
  };
  double f32 = dots("x86-64-v4", true, 64, 64);
  EXPECT_DOUBLE_EQ(dots("x86-64-v4-bf16", false, 64, 64), f32);
  EXPECT_DOUBLE_EQ(dots("x86-64-v4-amx", false, 64, 64), f32);
  EXPECT_DOUBLE_EQ(dots("x86-64-v4-bf16", true, 64, 64), f32 / 2);
  EXPECT_DOUBLE_EQ(dots("x86-64-v4-amx", true, 64, 64), f32 / 16);
  // Registers that are filled by half take as long as full ones.
  EXPECT_DOUBLE_EQ(dots("x86-64-v4-amx", true, 80, 64),
                   dots("x86-64-v4-amx", true, 96, 64) / 192 * (96 + 80));
  EXPECT_DOUBLE_EQ(dots("x86-64-v4-amx", true, 64, 48),
                   f32 / 16 / 128 * (64 + 64 * 64 / 48.0));
}

TEST(CPUTiling, TilesAreNoTallerThanAllowed) {
  CPUCore low = avx2;
  low.maxRows = 48;
  EXPECT_GT(chooseTiling(avx2, shape(64, 0)).query, 48);
  EXPECT_LE(chooseTiling(low, shape(64, 0)).query, 48);
  EXPECT_LE(chooseTiling(low, shape(64, 0)).key, 48);
}

// Packing K and V costs less a score when more rows share it.
TEST(CPUTiling, TallTilesShareThePacking) {
  EXPECT_LT(estimate(avx2, shape(64, 0), 64, 64).cyclesPerScore,
            estimate(avx2, shape(64, 0), 8, 64).cyclesPerScore);
}

// The diagonal is a larger share of a short causal segment than of a long one.
TEST(CPUTiling, CausalWasteFallsWithLength) {
  double shortRows =
      estimate(avx2, shape(64, 256, true), 128, 128).cyclesPerScore;
  double longRows =
      estimate(avx2, shape(64, 8192, true), 128, 128).cyclesPerScore;
  EXPECT_LT(longRows, shortRows);
}

TEST(CPUTiling, TilesOutOfCacheCostMore) {
  CPUCore small{8, 4 * 1024, 16 * 1024};
  EXPECT_GT(estimate(small, shape(128, 0), 128, 128).cyclesPerScore,
            estimate(avx2, shape(128, 0), 128, 128).cyclesPerScore);
}

TEST(CPUTiling, ExplanationNamesTheChoice) {
  CPUTiling tiling = chooseTiling(avx2, shape(64, 2048));
  std::string text = explain(tiling);
  EXPECT_NE(text.find(std::to_string(tiling.query) + " queries x " +
                      std::to_string(tiling.key) + " keys"),
            std::string::npos)
      << text;
}

// Few queries go to tiles of one vector, in which the heads of a key head read
// it once, until those for many queries are filled well enough.
TEST(KeySplit, IsForFewQueries) {
  const CPUCore avx512{16, 48 * 1024, 2048 * 1024};
  CPUTiling many = chooseTiling(avx512, shape(64, 0));
  KeySplit grouped = chooseSplit(avx512, shape(64, 0), many, 4, 4);
  EXPECT_EQ(grouped.rows, 16);
  EXPECT_GE(grouped.queries, 8);
  EXPECT_LE(grouped.queries, 64);
  EXPECT_LT(4 * grouped.cyclesPerKey, grouped.otherCyclesPerKey);
  // Each head for itself reads four times as much, and wins less.
  KeySplit single = chooseSplit(avx512, shape(64, 0), many, 4, 1);
  EXPECT_GT(single.cyclesPerKey, grouped.cyclesPerKey);
  // Of 17 rows, one is in a lower tile.
  EXPECT_EQ(single.queries, 17);
  EXPECT_EQ(single.otherCyclesPerKey, grouped.otherCyclesPerKey);
}

// Sums across lanes cost the same for each row; lanes that are rows are free
// until they are full.
TEST(FewRows, AreNarrowWhereLanesWouldBeEmpty) {
  const CPUCore avx512{16, 48 * 1024, 2048 * 1024};
  for (int64_t rows : {1, 2, 4})
    EXPECT_TRUE(compareForms(avx512, shape(64, 0), rows).areNarrow()) << rows;
  CPUCore ofF32 = avx512;
  ofF32.isF32 = true;
  EXPECT_FALSE(compareForms(ofF32, shape(64, 0), 16).areNarrow());
  // Products by AMX are short, but their operands are copied.
  CPUCore amx = avx512;
  amx.stepsPerMultiplyAdd = 16;
  EXPECT_TRUE(compareForms(amx, shape(64, 0), 4).areNarrow());
  EXPECT_FALSE(compareForms(amx, shape(64, 0), 8).areNarrow());
}

TEST(KeySplit, ManyHeadsGetTallerTiles) {
  const CPUCore avx512{16, 48 * 1024, 2048 * 1024};
  CPUTiling many = chooseTiling(avx512, shape(64, 0));
  EXPECT_EQ(chooseSplit(avx512, shape(64, 0), many, 32, 32).rows, 32);
  CPUCore low = avx512;
  low.maxRows = 16;
  EXPECT_EQ(chooseSplit(low, shape(64, 0), many, 32, 32).rows, 16);
}

// Where tiles for many queries are as short, a head alone wins lower tiles for
// its one row, and threads share its keys.
TEST(KeySplit, PartsAreWorthSomething) {
  CPUTiling low = estimate(avx2, shape(64, 0), 8, 64);
  KeySplit split = chooseSplit(avx2, shape(64, 0), low, 1, 1);
  EXPECT_LT(split.cyclesPerKey, 0.5 * split.otherCyclesPerKey);
  EXPECT_GT(split.queries, 0);
}

} // namespace
