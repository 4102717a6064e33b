//===- CurveTest.cpp - What each curve is -----------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each curve against an independent definition of it: by hand, by sorting, or
// by the textbook loop for powers of two.
//
//===----------------------------------------------------------------------===//

#include "OrderChecks.h"
#include "lib/Layout/Grid.h"

#include <algorithm>
#include <numeric>

using namespace ringlet::layout;

namespace {

Tokens tokensOf(const char *curve, const Tokens &grid) {
  return make(gridSpec(curve, grid))->permutation(*gridVolume(grid));
}

TEST(Curve, RegistryKnowsTheSpecifiedOnes) {
  for (const char *name :
       {"linear", "hilbert", "morton", "snake", "residue", "table"}) {
    ASSERT_TRUE(findCurve(name)) << name;
    EXPECT_STREQ(findCurve(name)->name, name);
  }
  EXPECT_FALSE(findCurve("Hilbert"));
  EXPECT_FALSE(findCurve(""));
  EXPECT_STREQ(nearestCurve("hilber").name, "hilbert");
  EXPECT_STREQ(nearestCurve("mortn").name, "morton");
  EXPECT_STREQ(nearestCurve("residues").name, "residue");
}

TEST(Curve, SmallOnesByHand) {
  EXPECT_EQ(tokensOf("linear", {2, 3}), (Tokens{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(tokensOf("snake", {3, 3}), (Tokens{0, 1, 2, 5, 4, 3, 6, 7, 8}));
  EXPECT_EQ(tokensOf("snake", {2, 2, 2}), (Tokens{0, 1, 3, 2, 6, 7, 5, 4}));
  EXPECT_EQ(tokensOf("morton", {4, 4}),
            (Tokens{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}));
  EXPECT_EQ(tokensOf("morton", {3, 3}), (Tokens{0, 1, 3, 4, 2, 5, 6, 7, 8}));
  EXPECT_EQ(tokensOf("hilbert", {2, 2}), (Tokens{0, 2, 3, 1}));
  EXPECT_EQ(tokensOf("hilbert", {2, 2, 2}), (Tokens{0, 2, 6, 4, 5, 7, 3, 1}));

  OrderSpec residue;
  residue.curve = "residue";
  residue.rate = 3;
  EXPECT_EQ(make(residue)->permutation(8), (Tokens{0, 3, 6, 1, 4, 7, 2, 5}));
}

//===----------------------------------------------------------------------===//
// Hilbert
//===----------------------------------------------------------------------===//

/// The textbook conversion of a distance d along the Hilbert curve of a square
/// of 2^k cells a side, bit pair by bit pair. At the place s, a quadrant is
/// turned by reflecting inside the s x s square built so far, about s - 1.
/// `reflectAboutWhole` makes the known mistake and reflects about side - 1.
std::pair<int64_t, int64_t> textbookHilbert(int64_t side, int64_t d,
                                            bool reflectAboutWhole = false) {
  int64_t x = 0, y = 0;
  for (int64_t s = 1; s < side; s *= 2) {
    int64_t right = d / 2 & 1, upper = (d ^ right) & 1;
    if (!upper) {
      if (right) {
        int64_t about = (reflectAboutWhole ? side : s) - 1;
        x = about - x;
        y = about - y;
      }
      std::swap(x, y);
    }
    x += s * right;
    y += s * upper;
    d /= 4;
  }
  return {x, y};
}

// O4: on squares of powers of two, ours is the Hilbert curve in its standard
// orientation, x along the last axis.
TEST(Hilbert, IsTheTextbookCurveOnPowersOfTwo) {
  for (int64_t side : {1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    Tokens tokens = tokensOf("hilbert", {side, side});
    for (int64_t d = 0; d < side * side; ++d) {
      auto [x, y] = textbookHilbert(side, d);
      ASSERT_EQ(tokens[d], y * side + x) << "d " << d << " of side " << side;
    }
  }
}

// O4: the formula that reflects about n - 1 instead of s - 1 leaves the grid.
TEST(Hilbert, IsNotTheFormulaThatLeavesTheGrid) {
  int64_t outside = 0;
  for (int64_t d = 0; d < 16; ++d) {
    auto [x, y] = textbookHilbert(4, d, true);
    outside += x < 0 || x >= 4 || y < 0 || y >= 4;
  }
  EXPECT_GT(outside, 0);
  EXPECT_TRUE(isPermutation(tokensOf("hilbert", {4, 4})));
}

// O4: the 16-entry list in circulation has its second row mirrored, which
// makes four steps that are no unit steps.
TEST(Hilbert, IsNotTheListWithFourJumps) {
  Tokens ours = tokensOf("hilbert", {4, 4});
  EXPECT_EQ(ours,
            (Tokens{0, 1, 5, 4, 8, 12, 13, 9, 10, 14, 15, 11, 7, 6, 2, 3}));
  EXPECT_EQ(nonUnitSteps(ours, {4, 4}), 0);
  Tokens mirrored = ours;
  for (int64_t &token : mirrored)
    if (token / 4 == 1)
      token = 4 + (3 - token % 4);
  EXPECT_EQ(nonUnitSteps(mirrored, {4, 4}), 4);
}

// Each aligned square or cube of a power of two is visited in one go, which is
// what makes the curve Hilbert's rather than any Hamiltonian path.
TEST(Hilbert, AlignedBlocksAreContiguous) {
  for (const Tokens &grid : {Tokens{32, 32}, Tokens{16, 16, 16}}) {
    Tokens tokens = tokensOf("hilbert", grid);
    for (int64_t block = 2; block < grid[0]; block *= 2) {
      int64_t cells = grid.size() == 2 ? block * block : block * block * block;
      for (size_t m = 0; m < tokens.size(); ++m) {
        Tokens cell = gridCell(grid, tokens[m]);
        Tokens first = gridCell(grid, tokens[m - m % cells]);
        for (size_t a = 0; a < grid.size(); ++a)
          ASSERT_EQ(cell[a] / block, first[a] / block)
              << "slot " << m << " block " << block;
      }
    }
  }
}

// O4: the curve runs along its major edge, the longest even one, else the
// longest.
TEST(Hilbert, EndsAcrossTheMajorEdge) {
  auto end = [](const Tokens &grid) {
    Tokens tokens = tokensOf("hilbert", grid);
    EXPECT_EQ(tokens.front(), 0);
    return gridCell(grid, tokens.back());
  };
  EXPECT_EQ(end({8, 8}), (Tokens{0, 7}));
  EXPECT_EQ(end({8, 4}), (Tokens{7, 0}));
  EXPECT_EQ(end({4, 9}), (Tokens{3, 0}));
  EXPECT_EQ(end({9, 4}), (Tokens{0, 3}));
  EXPECT_EQ(end({7, 5}), (Tokens{6, 0}));
  EXPECT_EQ(end({7, 7}), (Tokens{0, 6}));
  EXPECT_EQ(end({4, 4, 4}), (Tokens{0, 0, 3}));
  EXPECT_EQ(end({4, 9, 9}), (Tokens{3, 0, 0}));
  EXPECT_EQ(end({5, 9, 7}), (Tokens{0, 8, 0}));
  EXPECT_EQ(end({1, 5, 1}), (Tokens{0, 4, 0}));
}

// Neighbours along the curve stay close in space: a run of n cells of a
// rectangle fits a box of a few times sqrt(n) a side. The linear order, whose
// runs span whole rows, is far from that.
TEST(Hilbert, RunsAreCompact) {
  auto widest = [](const Tokens &tokens, const Tokens &grid, size_t run) {
    int64_t result = 0;
    for (size_t begin = 0; begin + run <= tokens.size(); begin += run / 2) {
      Tokens low = gridCell(grid, tokens[begin]), high = low;
      for (size_t m = begin; m < begin + run; ++m) {
        Tokens cell = gridCell(grid, tokens[m]);
        for (size_t a = 0; a < cell.size(); ++a) {
          low[a] = std::min(low[a], cell[a]);
          high[a] = std::max(high[a], cell[a]);
        }
      }
      for (size_t a = 0; a < low.size(); ++a)
        result = std::max(result, high[a] - low[a] + 1);
    }
    return result;
  };
  for (const Tokens &grid : {Tokens{100, 100}, Tokens{99, 99}, Tokens{77, 130},
                             Tokens{128, 75}, Tokens{61, 143}})
    EXPECT_LE(widest(tokensOf("hilbert", grid), grid, 64), 3 * 8)
        << describe(grid);
  for (const Tokens &grid : {Tokens{20, 20, 20}, Tokens{21, 21, 21},
                             Tokens{18, 25, 31}, Tokens{30, 17, 22}})
    EXPECT_LE(widest(tokensOf("hilbert", grid), grid, 64), 4 * 4)
        << describe(grid);
  EXPECT_EQ(widest(tokensOf("linear", {100, 100}), {100, 100}, 64), 100);
}

//===----------------------------------------------------------------------===//
// The others
//===----------------------------------------------------------------------===//

/// The Morton code, bit by bit, the last axis lowest.
uint64_t mortonCode(const Tokens &cell) {
  uint64_t code = 0;
  for (int bit = 15; bit >= 0; --bit)
    for (int64_t x : cell)
      code = code << 1 | (x >> bit & 1);
  return code;
}

TEST(Morton, SortsByCode) {
  for (const Tokens &grid :
       {Tokens{8, 8}, Tokens{5, 7}, Tokens{1, 13}, Tokens{33, 2},
        Tokens{3, 5, 6}, Tokens{4, 4, 4}, Tokens{3, 1, 2, 5}, Tokens{17}}) {
    Tokens expected(*gridVolume(grid));
    std::iota(expected.begin(), expected.end(), 0);
    std::sort(expected.begin(), expected.end(), [&](int64_t a, int64_t b) {
      return mortonCode(gridCell(grid, a)) < mortonCode(gridCell(grid, b));
    });
    EXPECT_EQ(tokensOf("morton", grid), expected) << describe(grid);
  }
}

TEST(Snake, UnitStepsInAnyNumberOfAxes) {
  for (const Tokens &grid :
       {Tokens{9}, Tokens{1}, Tokens{5, 4, 3, 2}, Tokens{3, 3, 3, 3, 3},
        Tokens{2, 1, 3, 1, 2, 5}, Tokens(12, 2), Tokens{2, 3, 2, 3, 2, 3, 2}}) {
    Tokens tokens = tokensOf("snake", grid);
    EXPECT_TRUE(isPermutation(tokens)) << describe(grid);
    EXPECT_EQ(nonUnitSteps(tokens, grid), 0) << describe(grid);
  }
}

TEST(Residue, SortsByResidue) {
  for (int64_t rate : {1, 2, 3, 7, 20, 1000})
    for (int64_t length : {0, 1, 2, 6, 7, 8, 20, 41}) {
      OrderSpec spec;
      spec.curve = "residue";
      spec.rate = rate;
      Tokens expected(length);
      std::iota(expected.begin(), expected.end(), 0);
      std::sort(expected.begin(), expected.end(), [&](int64_t a, int64_t b) {
        return std::make_pair(a % rate, a) < std::make_pair(b % rate, b);
      });
      EXPECT_EQ(make(spec)->permutation(length), expected)
          << "rate " << rate << " length " << length;
    }
}

TEST(Table, SlotHoldsTheTokenOfItsEntry) {
  OrderSpec spec;
  spec.curve = "table";
  spec.table = {2, 0, 3, 1};
  std::shared_ptr<const Order> order = make(spec);
  EXPECT_EQ(order->permutation(4), spec.table);
  EXPECT_EQ(order->token(0, 4), 2);
  EXPECT_EQ(order->slot(2, 4), 0);
  // A table need not be short to be looked up exactly.
  spec.table.resize(100003);
  for (int64_t m = 0; m < 100003; ++m)
    spec.table[m] = m * 60001 % 100003;
  order = make(spec);
  EXPECT_EQ(firstMismatch(*order, spec.table), -1);
}

} // namespace
