//===- TileIndexTest.cpp - Lists of key tiles against pairs of tokens -----===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle says pair by pair which keys a query sees. From that follows, tile
// by tile, what each list has to hold: a tile is listed exactly if some pair in
// it is seen, and whole exactly if all are.
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/TileIndex.h"

#include "lib/Layout/Grid.h"
#include "lib/Oracle/Pattern.h"
#include "lib/Tensor/Dice.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace ringlet;
using namespace ringlet::layout;

namespace {

struct Case {
  TilePattern pattern;
  TileSizes sizes;
  std::optional<OrderSpec> order;
};

using Lists = std::vector<TileList>;

Lists listsOf(const Case &given) {
  Lists lists;
  TileIndex(given.pattern, given.sizes).forEachList([&](const TileList &list) {
    lists.push_back(list);
    return true;
  });
  return lists;
}

/// The lists by brute force: head h of as many as there are residues has
/// residue h.
Lists expectedLists(const Case &given) {
  const TilePattern &pattern = given.pattern;
  const TileSizes &sizes = given.sizes;
  oracle::AttentionSpec spec;
  oracle::Branch branch;
  if (pattern.segment != unboundedSegment)
    branch.segment = pattern.segment;
  branch.dilation = pattern.rate;
  spec.branches = {branch};
  spec.causal = pattern.causal;
  spec.windowLeft = pattern.windowLeft;
  spec.windowRight = pattern.windowRight;
  if (!pattern.grid.empty())
    spec.gridWindow = oracle::GridWindow{pattern.grid, pattern.reach};
  spec.patternOrder = given.order;
  Tensor query(DType::f32, {1, sizes.queryLength, pattern.rate, 1});
  Tensor key(DType::f32, {1, sizes.keyLength, pattern.rate, 1});
  Tensor offset(DType::i64, {1});
  offset.as<int64_t>()[0] = sizes.queryOffset;
  oracle::AttentionInputs inputs;
  inputs.query = query.view();
  inputs.key = inputs.value = key.view();
  inputs.qOffset = offset.view();
  std::string error;
  EXPECT_TRUE(oracle::validate(spec, inputs, &error)) << error;
  oracle::Pattern oraclePattern(spec, inputs);

  // Rows of each list that exist, and pairs of key tile and key row that each
  // of them sees.
  Lists lists;
  int64_t rate = pattern.rate;
  auto ordinalOf = [&](int64_t position) {
    return pattern.order ? pattern.order->ordinal(position) : position;
  };
  for (int64_t place = 0; place < pattern.residues.count; ++place)
    for (int64_t s = 0; s < sizes.segments; ++s) {
      int64_t residue = pattern.residues.at(place, rate);
      int64_t begin = (sizes.firstSegment + s) * pattern.segment;
      int64_t base = begin + residue;
      bool moves = pattern.order && !pattern.order->isIdentity();
      int64_t lowest =
          moves ? std::min<int64_t>(0, sizes.queryOffset) : sizes.queryOffset;
      if (pattern.segment != unboundedSegment)
        lowest = std::max(lowest, begin);
      int64_t firstRow = ceilDiv(lowest - base, rate);
      std::map<int64_t, std::set<int64_t>> keyRows; // By tile.
      for (int64_t u = 0; u < sizes.keyLength; ++u)
        if (segmentOf(ordinalOf(u), pattern.segment) ==
                sizes.firstSegment + s &&
            residueOf(ordinalOf(u), pattern.segment, rate) == residue) {
          int64_t row = (ordinalOf(u) - base) / rate;
          keyRows[row / pattern.keyRows].insert(row);
        }
      for (int64_t t = 0; t < sizes.tiles; ++t) {
        std::map<int64_t, int64_t> seen; // Pairs by key tile.
        int64_t queries = 0;
        for (int64_t i = 0; i < sizes.queryLength; ++i) {
          oracle::QueryRow row = oraclePattern.locate(0, i);
          if (segmentOf(row.ordinal, pattern.segment) !=
                  sizes.firstSegment + s ||
              !oraclePattern.isIn(branch, row, residue) ||
              floorDiv(floorDiv(row.ordinal - base, rate) - firstRow,
                       pattern.queryRows) != t)
            continue;
          ++queries;
          oraclePattern.forEachKey(branch, row, residue, [&](int64_t u) {
            ++seen[(ordinalOf(u) - base) / rate / pattern.keyRows];
          });
        }
        TileList list;
        for (auto [tile, pairs] : seen) {
          bool whole = pairs == queries * pattern.keyRows;
          (whole ? list.whole : list.partial).push_back(tile * pattern.keyRows);
        }
        lists.push_back(list);
      }
    }
  return lists;
}

/// The first list in which they differ, or the empty string.
std::string difference(const Lists &expected, const Lists &found) {
  if (expected.size() != found.size())
    return std::to_string(found.size()) + " lists";
  for (size_t i = 0; i < found.size(); ++i)
    if (expected[i].whole != found[i].whole ||
        expected[i].partial != found[i].partial)
      return "list " + std::to_string(i) + " has " + describe(found[i].whole) +
             " and " + describe(found[i].partial) + ", expected " +
             describe(expected[i].whole) + " and " +
             describe(expected[i].partial);
  return "";
}

Case randomCase(Dice &dice) {
  Case result;
  TilePattern &pattern = result.pattern;
  TileSizes &sizes = result.sizes;
  std::vector<int64_t> grid =
      dice.oneIn(2)
          ? std::vector<int64_t>{dice.between(1, 12), dice.between(1, 12)}
          : std::vector<int64_t>{dice.between(1, 5), dice.between(1, 5),
                                 dice.between(1, 5)};
  int64_t volume = *gridVolume(grid);
  bool onGrid = dice.oneIn(2), ordered = dice.oneIn(2);
  if (onGrid) {
    pattern.grid = grid;
    for (size_t a = 0; a < grid.size(); ++a)
      pattern.reach.push_back(dice.between(0, 4));
  }
  if (ordered) {
    result.order = OrderSpec{
        dice.pick<std::string>({"hilbert", "morton", "snake", "linear"}),
        0,
        grid,
        0,
        {}};
    pattern.order = makeOrder(*result.order);
  }
  sizes.keyLength = dice.between(0, volume);
  sizes.queryOffset = dice.between(onGrid ? 0 : -20, volume - 1);
  sizes.queryLength = dice.between(
      0,
      std::max<int64_t>(0, volume - std::max<int64_t>(0, sizes.queryOffset)));
  if (!onGrid && !ordered)
    sizes.queryLength += dice.between(0, 40);
  pattern.rate = dice.oneIn(2) ? 1 : dice.between(2, 5);
  pattern.residues = {0, pattern.rate};
  if (dice.oneIn(2))
    pattern.residues = {dice.between(0, pattern.rate - 1),
                        dice.between(1, pattern.rate)};
  if (dice.oneIn(2))
    pattern.segment = dice.between(pattern.rate, volume + pattern.rate);
  pattern.causal = dice.oneIn(3);
  if (dice.oneIn(3))
    pattern.windowLeft = dice.between(0, 30);
  if (dice.oneIn(3))
    pattern.windowRight = dice.between(0, 30);
  pattern.queryRows = dice.pick<int64_t>({1, 3, 4, 8, 9, 16, 20});
  pattern.keyRows = dice.pick<int64_t>({1, 2, 5, 8, 12, 16});
  if (pattern.segment != unboundedSegment) {
    int64_t low = std::min<int64_t>(sizes.queryOffset, 0);
    sizes.firstSegment = floorDiv(low, pattern.segment);
    int64_t last = std::max(volume, sizes.queryOffset + sizes.queryLength);
    sizes.segments = floorDiv(last, pattern.segment) - sizes.firstSegment + 1;
  }
  sizes.tiles = dice.between(0, 3) + ceilDiv(volume + sizes.queryLength + 20,
                                             pattern.rate * pattern.queryRows);
  return result;
}

TEST(TileIndex, HoldsExactlyWhatTheOracleSees) {
  Dice dice(20261128, 1);
  int64_t whole = 0, partial = 0, empty = 0, ordered = 0, unmoved = 0,
          onGrid = 0;
  for (int i = 0; i < 2000; ++i) {
    Case given = randomCase(dice);
    ASSERT_EQ(TileIndex::validate(given.pattern, given.sizes), "");
    Lists found = listsOf(given);
    ASSERT_EQ(difference(expectedLists(given), found), "") << "case " << i;
    for (const TileList &list : found) {
      whole += int64_t(list.whole.size());
      partial += int64_t(list.partial.size());
      empty += list.whole.empty() && list.partial.empty();
    }
    ordered += given.pattern.order != nullptr;
    unmoved += given.pattern.order && given.pattern.order->isIdentity();
    onGrid += !given.pattern.grid.empty();
  }
  // The cases are of all kinds.
  for (int64_t count : {whole, partial, empty})
    EXPECT_GT(count, 1000);
  EXPECT_GT(ordered, 200);
  EXPECT_GT(unmoved, 100);
  EXPECT_GT(onGrid, 200);
}

/// A comparison that finds no mistake proves nothing.
TEST(TileIndex, PlantedMistakesAreFound) {
  Dice dice(20261128, 2);
  int planted = 0;
  for (int i = 0; i < 80; ++i) {
    Case given = randomCase(dice);
    Lists lists = listsOf(given);
    for (TileList &list : lists) {
      if (list.partial.empty())
        continue;
      Lists dropped = lists, promoted = lists;
      size_t at = size_t(&list - lists.data());
      dropped[at].partial.pop_back();
      promoted[at].whole.push_back(list.partial.back());
      promoted[at].partial.pop_back();
      EXPECT_NE(difference(expectedLists(given), dropped), "");
      EXPECT_NE(difference(expectedLists(given), promoted), "");
      ++planted;
      break;
    }
  }
  EXPECT_GT(planted, 20);
}

TEST(TileIndex, TableHasItsListsInOrder) {
  Dice dice(20261128, 3);
  for (int i = 0; i < 50; ++i) {
    Case given = randomCase(dice);
    TileIndex index(given.pattern, given.sizes);
    std::vector<int64_t> table = *index.table();
    auto length = int64_t(table.size());
    ASSERT_EQ(length, index.tableLength());
    ASSERT_EQ(index.table(length), table);
    ASSERT_EQ(index.table(length - 1), std::nullopt);
    Lists lists = listsOf(given);
    ASSERT_EQ(int64_t(lists.size()), index.lists());
    size_t number = 0;
    ASSERT_EQ(table[size_t(2 * index.lists())], int64_t(table.size()));
    for (const TileList &list : lists) {
      auto part = [&](size_t from) {
        return std::vector<int64_t>(table.begin() + table[from],
                                    table.begin() + table[from + 1]);
      };
      ASSERT_EQ(part(number), list.whole);
      ASSERT_EQ(part(number + 1), list.partial);
      number += 2;
    }
  }
}

/// No list takes no time, whatever the rate and the segments are.
TEST(TileIndex, NothingToListIsDoneAtOnce) {
  TilePattern pattern;
  pattern.segment = pattern.rate = int64_t(1) << 40;
  pattern.residues = {0, pattern.rate};
  for (int64_t segments : {0, 1}) {
    TileSizes sizes;
    sizes.keyLength = 64;
    sizes.segments = segments;
    ASSERT_EQ(TileIndex::validate(pattern, sizes), "");
    EXPECT_EQ(*TileIndex(pattern, sizes).table(), std::vector<int64_t>{1});
  }
}

/// A list is as long under a huge rate, and there are no more of them, if few
/// residues have one.
TEST(TileIndex, RateCostsNothing) {
  TilePattern pattern;
  pattern.segment = pattern.rate = int64_t(1) << 40;
  pattern.residues = {pattern.rate - 1, 3};
  TileSizes sizes{64, 0, 64, 1, 1, 0};
  ASSERT_EQ(TileIndex::validate(pattern, sizes), "");
  // The residues rate - 1, which no token has, 0 and 1.
  EXPECT_EQ(*TileIndex(pattern, sizes).table(),
            (std::vector<int64_t>{7, 7, 7, 8, 8, 9, 9, 0, 0}));
}

/// Lists that nobody wants are not made.
TEST(TileIndex, WalkEndsWhereAVisitSaysSo) {
  TilePattern pattern;
  TileIndex index(pattern, {64, 0, 64, 70, 1, 0});
  int64_t visits = 0;
  index.forEachList([&](const TileList &) { return ++visits < 5; });
  EXPECT_EQ(visits, 5);
  index.forEachList([&](const TileList &) { return ++visits < 73; });
  EXPECT_EQ(visits, 73);
}

/// Why a pattern order pays: along the curve, a neighbourhood of a tile is few
/// tiles. Row by row it is strips of the whole width.
TEST(TileIndex, CurveNeedsFewerTilesThanRows) {
  auto count = [](const char *curve, int64_t rows) {
    TilePattern pattern;
    pattern.grid = {64, 64};
    pattern.reach = {3, 3};
    pattern.queryRows = pattern.keyRows = rows;
    pattern.order = makeOrder({curve, 0, {64, 64}, 0, {}});
    TileSizes sizes{4096, 0, 4096, 4096 / rows, 1, 0};
    TileIndex index(pattern, sizes);
    return index.tableLength() - 2 * index.lists() - 1;
  };
  // Of 64 x 64 pairs of tiles: 7 rows of the grid, less at the border.
  EXPECT_EQ(count("linear", 64), 64 * 7 - 2 * (1 + 2 + 3));
  // A tile is a square of 8 x 8: it and its neighbours.
  EXPECT_EQ(count("hilbert", 64), (3 * 8 - 2) * (3 * 8 - 2));
  EXPECT_EQ(count("morton", 64), (3 * 8 - 2) * (3 * 8 - 2));
}

/// What docs/Orders.md says of lists on larger grids, to a tenth of a tile.
TEST(TileIndex, CountsOfThePage) {
  struct Row {
    std::vector<int64_t> grid, reach;
    double linear, snake, morton, hilbert;
  };
  for (const Row &row : {Row{{64, 64}, {3, 3}, 6.8, 6.8, 7.6, 7.6},
                         Row{{256, 256}, {3, 3}, 17.4, 17.4, 8.6, 8.6},
                         Row{{256, 256}, {16, 16}, 79.8, 79.8, 23.2, 23.2},
                         Row{{100, 130}, {5, 5}, 22.3, 19.0, 8.3, 10.6},
                         Row{{64, 64, 64}, {2, 2, 2}, 24.1, 24.1, 23.8, 23.8}})
    for (auto [curve, expected] : {std::pair("linear", row.linear),
                                   {"snake", row.snake},
                                   {"morton", row.morton},
                                   {"hilbert", row.hilbert}}) {
      int64_t volume = *gridVolume(row.grid), tiles = ceilDiv(volume, 64);
      TilePattern pattern;
      pattern.grid = row.grid;
      pattern.reach = row.reach;
      pattern.queryRows = pattern.keyRows = 64;
      pattern.order = makeOrder({curve, 0, row.grid, 0, {}});
      TileIndex index(pattern, {volume, 0, volume, tiles, 1, 0});
      int64_t entries = index.tableLength() - 2 * tiles - 1;
      EXPECT_NEAR(double(entries) / double(tiles), expected, 0.06)
          << curve << " on " << describe(row.grid);
    }
}

TEST(TileIndex, RefusesWhatHasNoIndex) {
  TilePattern pattern;
  TileSizes sizes{16, 0, 16, 16, 1, 0};
  auto refusal = [&] { return TileIndex::validate(pattern, sizes); };
  EXPECT_EQ(refusal(), "");
  pattern.grid = {4, 4};
  pattern.reach = {1, 1};
  EXPECT_EQ(refusal(), "");
  sizes.queryOffset = 1;
  EXPECT_EQ(refusal(), "expected every position on the grid [4, 4] of 16 "
                       "cells, found position 16 (B5)");
  sizes.queryOffset = -1;
  EXPECT_EQ(refusal(), "expected every position on the grid [4, 4] of 16 "
                       "cells, found position -1 (B5)");
  sizes.queryOffset = 0;
  pattern.reach = {1};
  EXPECT_NE(refusal(), "");
  pattern.reach = {1, -1};
  EXPECT_NE(refusal(), "");
  pattern.grid = pattern.reach = {};
  pattern.order = makeOrder({"hilbert", 0, {2, 2}, 0, {}});
  EXPECT_NE(refusal().find("(O2)"), std::string::npos);
  pattern.order = nullptr;
  pattern.rate = 3;
  pattern.segment = 2;
  EXPECT_EQ(refusal(),
            "expected a rate from 1 to the segment length 2, found 3 (B1)");
  pattern.segment = 4;
  EXPECT_EQ(refusal(), "");
  pattern.residues = {2, 3};
  EXPECT_EQ(refusal(), "");
  for (ResidueRange none : {ResidueRange{3, 1}, {-1, 1}, {0, 0}, {0, 4}}) {
    pattern.residues = none;
    EXPECT_EQ(refusal(), "expected residues from 0 to 2, each once, found " +
                             std::to_string(none.count) + " from " +
                             std::to_string(none.first) + " on (B2)");
  }
  pattern.residues = {};
  constexpr int64_t huge = INT64_MAX;
  for (int64_t TileSizes::*field :
       {&TileSizes::queryLength, &TileSizes::keyLength, &TileSizes::queryOffset,
        &TileSizes::tiles, &TileSizes::segments, &TileSizes::firstSegment})
    for (int64_t value : {huge, -huge - 1}) {
      TileSizes hostile = sizes;
      hostile.*field = value;
      EXPECT_NE(TileIndex::validate(pattern, hostile), "");
    }
}

} // namespace
