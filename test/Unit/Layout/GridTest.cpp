//===- GridTest.cpp - Token grids and counting in them ----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Grid.h"
#include "lib/Layout/PrefixOrdinal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

using namespace ringlet::layout;

namespace {

using Sides = std::vector<int64_t>;

TEST(Grid, VolumeOrNone) {
  constexpr int64_t highest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(gridVolume({}), 1);
  EXPECT_EQ(gridVolume({3, 4, 5}), 60);
  EXPECT_EQ(gridVolume({1, highest}), highest);
  EXPECT_EQ(gridVolume({int64_t(1) << 31, int64_t(1) << 31}), int64_t(1) << 62);
  EXPECT_FALSE(gridVolume({int64_t(1) << 32, int64_t(1) << 31}));
  EXPECT_FALSE(gridVolume({highest, highest, highest}));
  EXPECT_FALSE(gridVolume({4, 0}));
  EXPECT_FALSE(gridVolume({-2, -3}));
  EXPECT_FALSE(gridVolume({std::numeric_limits<int64_t>::min(), -1}));
}

TEST(Grid, CellsAreRowMajor) {
  EXPECT_EQ(gridCell({3, 4}, 0), (Sides{0, 0}));
  EXPECT_EQ(gridCell({3, 4}, 7), (Sides{1, 3}));
  EXPECT_EQ(gridCell({2, 3, 4}, 23), (Sides{1, 2, 3}));
}

TEST(Grid, SidesOfOneVanish) {
  Grid grid({1, 3, 1, 4, 1});
  EXPECT_EQ(grid.side, (Sides{3, 4}));
  EXPECT_EQ(grid.stride, (Sides{4, 1}));
  EXPECT_EQ(grid.volume, 12);
  EXPECT_EQ(Grid({1, 1}).axes(), 0);
  EXPECT_EQ(Grid(Sides(62, 2)).axes(), Grid::maxAxes);
}

// Every box of a few grids, every reach, against counting cell by cell.
TEST(Grid, CellsBelowCounts) {
  for (const Sides &sides : {Sides{4, 5}, Sides{3, 2, 4}, Sides{7}}) {
    Grid grid(sides);
    int axes = grid.axes();
    for (int64_t low = 0; low < grid.volume; ++low)
      for (int64_t high = low; high < grid.volume; ++high) {
        Sides from = gridCell(sides, low), to = gridCell(sides, high);
        Sides extent(axes);
        bool box = true;
        for (int a = 0; a < axes; ++a) {
          extent[a] = to[a] - from[a] + 1;
          box &= extent[a] >= 1;
        }
        if (!box)
          continue;
        int64_t expected = 0;
        for (int64_t limit = 0; limit <= grid.volume; ++limit) {
          ASSERT_EQ(
              cellsBelow(axes, grid.stride.data(), extent.data(), limit - low),
              expected)
              << "box of " << low << " to " << high << " below " << limit;
          if (limit == grid.volume)
            break;
          Sides cell = gridCell(sides, limit);
          bool inside = true;
          for (int a = 0; a < axes; ++a)
            inside &= cell[a] >= from[a] && cell[a] <= to[a];
          expected += inside;
        }
      }
  }
}

// An extent of 1 beside an equal stride, as in a block of a curve whose third
// edge is 1, must not end the count early.
TEST(Grid, CellsBelowSkipsFlatAxes) {
  const int64_t stride[] = {8, 1, 1}, extent[] = {2, 1, 8};
  EXPECT_EQ(cellsBelow(3, stride, extent, 3), 3);
  EXPECT_EQ(cellsBelow(3, stride, extent, 11), 11);
  EXPECT_EQ(cellsBelow(3, stride, extent, 99), 16);
  EXPECT_EQ(cellsBelow(0, nullptr, nullptr, 1), 1);
  EXPECT_EQ(cellsBelow(0, nullptr, nullptr, 0), 0);
}

TEST(PrefixOrdinal, CountsEveryPrefixAndLimit) {
  std::mt19937 random(1);
  // Sizes around the word of 64 entries and around powers of two.
  for (int64_t size : {0, 1, 2, 3, 4, 63, 64, 65, 127, 128, 129}) {
    std::vector<int64_t> values(size);
    std::iota(values.begin(), values.end(), 0);
    std::shuffle(values.begin(), values.end(), random);
    PrefixOrdinal ordinal(values);
    for (int64_t limit = 0; limit <= size; ++limit) {
      int64_t expected = 0;
      for (int64_t prefix = 0; prefix <= size; ++prefix) {
        ASSERT_EQ(ordinal.countBelow(prefix, limit), expected)
            << prefix << " entries below " << limit << " of " << size;
        if (prefix < size)
          expected += values[prefix] < limit;
      }
    }
  }
}

} // namespace
