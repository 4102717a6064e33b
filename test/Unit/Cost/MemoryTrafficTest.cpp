//===- MemoryTrafficTest.cpp - Counted addresses ---------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/MemoryTraffic.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace ringlet;
using namespace ringlet::cost;

namespace {

std::shared_ptr<const layout::Order> make(const layout::OrderSpec &spec) {
  std::string error;
  auto order = layout::makeOrder(spec, &error);
  EXPECT_TRUE(order) << error;
  return order;
}

Traffic count(const BranchWalk &walk, const KeyLayout &layout) {
  std::string error;
  std::optional<Traffic> traffic = countTraffic(walk, layout, error);
  EXPECT_TRUE(traffic) << error;
  return traffic.value_or(Traffic());
}

/// Rules B3 and B4 pair by pair, and sets of units.
class BruteForce {
public:
  BruteForce(const BranchWalk &walk, const KeyLayout &layout)
      : walk(walk), layout(layout) {
    for (const KeyReaders &readers : walk.readers) {
      std::set<int64_t> segments;
      for (int64_t ordinal = firstOrdinal(); ordinal < lastOrdinal(); ++ordinal)
        segments.insert(layout::segmentOf(ordinal, walk.pattern.segment));
      for (int64_t segment : segments)
        countSegment(readers, segment);
    }
    traffic.distinct = {int64_t(lines.size()), int64_t(sectors.size()),
                        int64_t(pages.size())};
  }

  Traffic traffic;

private:
  using Ordinals = std::vector<int64_t>;

  int64_t volume() const {
    const layout::Order *order = walk.pattern.order.get();
    return order && !order->isIdentity() ? order->period() : 0;
  }
  int64_t firstOrdinal() const {
    return volume() ? std::min<int64_t>(walk.queryOffset, 0) : walk.queryOffset;
  }
  int64_t lastOrdinal() const {
    int64_t end = walk.queryOffset + walk.queries;
    return volume() ? std::max(volume(), end) : end;
  }
  int64_t positionOf(int64_t ordinal) const {
    return volume() && ordinal >= 0 && ordinal < volume()
               ? walk.pattern.order->token(ordinal, volume())
               : ordinal;
  }

  Ordinals rows(int64_t residue, int64_t segment, int64_t begin,
                int64_t end) const {
    Ordinals found;
    for (int64_t ordinal = begin; ordinal < end; ++ordinal)
      if (layout::segmentOf(ordinal, walk.pattern.segment) == segment &&
          layout::residueOf(ordinal, walk.pattern.segment, walk.pattern.rate) ==
              residue)
        found.push_back(ordinal);
    return found;
  }

  bool sees(int64_t p, int64_t u) const {
    if (p < walk.queryOffset || p >= walk.queryOffset + walk.queries ||
        u >= walk.keys)
      return false;
    const layout::TilePattern &pattern = walk.pattern;
    for (size_t a = pattern.grid.size(), step = 1; a-- > 0;) {
      int64_t side = pattern.grid[a];
      if (std::abs(p / int64_t(step) % side - u / int64_t(step) % side) >
          pattern.reach[a])
        return false;
      step *= side;
    }
    return (!pattern.causal || u <= p) &&
           (!pattern.windowLeft || u >= p - *pattern.windowLeft) &&
           (!pattern.windowRight || u <= p + *pattern.windowRight);
  }

  void countSegment(const KeyReaders &readers, int64_t segment) {
    Ordinals queries =
        rows(readers.residue, segment, firstOrdinal(), lastOrdinal());
    Ordinals keys =
        rows(readers.residue, segment, 0, std::max(volume(), walk.keys));
    for (size_t first = 0; first < queries.size();
         first += walk.pattern.queryRows) {
      traffic.queryTiles += readers.heads;
      size_t last = std::min(queries.size(), first + walk.pattern.queryRows);
      std::set<size_t> seen;
      for (size_t i = first; i < last; ++i)
        for (size_t k = 0; k < keys.size(); ++k)
          if (sees(positionOf(queries[i]), positionOf(keys[k])))
            seen.insert(k);
      // By division: whole steps from the first key that is seen to the last
      // one. From a list: tiles with a key that is seen.
      size_t begin = walk.hasLists() || seen.empty() ? 0 : *seen.begin();
      for (size_t k = begin; !seen.empty() && k <= *seen.rbegin();
           k += walk.pattern.keyRows) {
        auto next = seen.lower_bound(k);
        if (walk.hasLists() && *next >= k + walk.pattern.keyRows)
          continue;
        countTile(readers, {keys.begin() + k,
                            keys.begin() + std::min(keys.size(),
                                                    k + walk.pattern.keyRows)});
      }
    }
  }

  void countTile(const KeyReaders &readers, const Ordinals &ordinals) {
    std::vector<int64_t> tokens;
    for (int64_t ordinal : ordinals)
      if (positionOf(ordinal) < walk.keys)
        tokens.push_back(positionOf(ordinal));

    traffic.keyTiles += readers.heads;
    Touched &requested = traffic.requested;
    requested.lines += readers.heads * units(readers, tokens, 64, lines);
    requested.sectors += readers.heads * units(readers, tokens, 32, sectors);
    requested.pages += readers.heads * units(readers, tokens, 4096, pages);
  }

  int64_t units(const KeyReaders &readers, const std::vector<int64_t> &tokens,
                int64_t unit, std::set<int64_t> &all) const {
    std::set<int64_t> touched;
    for (int64_t token : tokens) {
      int64_t slot =
          layout.order ? layout.order->slot(token, walk.keys) : token;
      int64_t address =
          (slot * layout.heads + readers.keyHead) * layout.rowBytes;
      for (int64_t byte = 0; byte < layout.rowBytes; ++byte)
        touched.insert((address + byte) / unit);
    }
    all.insert(touched.begin(), touched.end());
    return int64_t(touched.size());
  }

  const BranchWalk &walk;
  const KeyLayout &layout;
  std::set<int64_t> lines, sectors, pages;
};

class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}

  int64_t upTo(int64_t n) { return int64_t(engine() % n) + 1; }
  bool one(int64_t in) { return engine() % in == 0; }

  BranchWalk walk() {
    BranchWalk walk;
    walk.queries = upTo(90);
    walk.keys = upTo(120);
    walk.queryOffset = upTo(60) - 30;
    walk.pattern.rate = upTo(5);
    if (!one(3))
      walk.pattern.segment = walk.pattern.rate + upTo(60) - 1;
    walk.pattern.causal = one(2);
    if (one(3))
      walk.pattern.windowLeft = upTo(40) - 1;
    if (one(3))
      walk.pattern.windowRight = upTo(40) - 1;
    walk.pattern.queryRows = upTo(12);
    walk.pattern.keyRows = upTo(12);
    return walk;
  }

  /// Positions on a grid, in a pattern order, or both.
  void addGrid(BranchWalk &walk) {
    std::vector<int64_t> sides{upTo(12), upTo(12)};
    int64_t volume = sides[0] * sides[1];
    walk.keys = upTo(volume);
    walk.queries = upTo(volume);
    walk.queryOffset = upTo(volume - walk.queries + 1) - 1;
    bool hasWindow = one(2);
    if (hasWindow) {
      walk.pattern.grid = sides;
      walk.pattern.reach = {upTo(4) - 1, upTo(4) - 1};
    }
    if (hasWindow && one(2))
      return;
    layout::OrderSpec spec;
    spec.curve = one(2) ? "hilbert" : "snake";
    spec.grid = sides;
    walk.pattern.order = make(spec);
  }

  KeyLayout layout(int64_t keys) {
    KeyLayout layout;
    layout.heads = upTo(3);
    layout.rowBytes = 2 * upTo(80);
    layout::OrderSpec spec;
    if (one(2)) {
      spec.curve = "residue";
      spec.rate = upTo(6);
    } else {
      spec.curve = one(2) ? "hilbert" : one(2) ? "snake" : "morton";
      spec.grid = {upTo(6), upTo(6)};
      spec.chunk = spec.grid[0] * spec.grid[1];
    }
    if (!one(4))
      layout.order = make(spec);
    EXPECT_EQ(layout.order ? layout.order->validate(keys) : "", "");
    return layout;
  }

private:
  std::mt19937_64 engine;
};

TEST(MemoryTraffic, EqualsBruteForce) {
  Random random(7);
  int64_t tiles = 0;
  for (int i = 0; i < 600; ++i) {
    BranchWalk walk = random.walk();
    if (i % 2)
      random.addGrid(walk);
    KeyLayout layout = random.layout(walk.keys);
    for (int64_t head = 0; head < layout.heads; ++head)
      walk.readers.push_back(
          {head, random.upTo(walk.pattern.rate) - 1, random.upTo(3)});
    Traffic found = count(walk, layout);
    Traffic expected = BruteForce(walk, layout).traffic;
    tiles += expected.keyTiles;
    ASSERT_EQ(found.queryTiles, expected.queryTiles) << "case " << i;
    ASSERT_EQ(found.keyTiles, expected.keyTiles) << "case " << i;
    ASSERT_TRUE(found.requested == expected.requested)
        << "case " << i << ": " << found.requested.lines << " lines, expected "
        << expected.requested.lines;
    ASSERT_TRUE(found.distinct == expected.distinct) << "case " << i;
  }
  EXPECT_GT(tiles, 5000);
}

/// A branch of one head whose tiles are all of `rows` rows.
BranchWalk dilated(int64_t rate, int64_t rows) {
  BranchWalk walk;
  walk.queries = walk.keys = rate * rows * 4;
  walk.pattern.rate = rate;
  walk.pattern.queryRows = walk.pattern.keyRows = rows;
  walk.readers = {{0, 0, 1}};
  return walk;
}

/// The closed form: units that `rows` rows touch, each `rowBytes` long and
/// `stride` bytes behind the one before, from a page boundary on. Strides and
/// units divide each other.
int64_t unitsOfStrided(int64_t rows, int64_t rowBytes, int64_t stride,
                       int64_t unit) {
  if (stride == rowBytes)
    return layout::ceilDiv(rows * rowBytes, unit);
  if (stride % unit == 0)
    return rows * layout::ceilDiv(rowBytes, unit);
  return layout::ceilDiv(rows, unit / stride);
}

// Where an order has a constant step, the first tile of the first residue needs
// no walk.
TEST(MemoryTraffic, ClosedFormOfAConstantStep) {
  for (int64_t rate : {1, 2, 4, 8})
    for (int64_t heads : {1, 4})
      for (int64_t rowBytes : {16, 64, 256, 4096})
        for (int64_t residueRate : {1, 2, 4}) {
          layout::OrderSpec spec;
          spec.curve = "residue";
          spec.rate = residueRate;
          KeyLayout layout{heads, rowBytes, make(spec)};
          std::optional<int64_t> step = layout.order->slotStep(rate);
          if (!step)
            continue;
          BranchWalk walk = dilated(rate, 256);
          walk.queries = walk.pattern.queryRows;
          walk.keys = 256 * rate;
          int64_t stride = *step * heads * rowBytes;
          Touched found = count(walk, layout).requested;
          Touched expected{unitsOfStrided(256, rowBytes, stride, 64),
                           unitsOfStrided(256, rowBytes, stride, 32),
                           unitsOfStrided(256, rowBytes, stride, 4096)};
          EXPECT_TRUE(found == expected)
              << rate << ' ' << heads << ' ' << rowBytes << ' ' << residueRate;
        }
}

// Rows of whole lines: no order changes how many lines a tile touches. It can
// only bring the lines together, into fewer pages.
TEST(MemoryTraffic, OrdersMoveLinesButDoNotSaveThem) {
  BranchWalk walk = dilated(16, 64);
  layout::OrderSpec residue;
  residue.curve = "residue";
  residue.rate = 16;
  layout::OrderSpec hilbert;
  hilbert.curve = "hilbert";
  hilbert.grid = {64, 64};
  Traffic linear = count(walk, {2, 128, nullptr});
  for (const layout::OrderSpec &spec : {residue, hilbert}) {
    Traffic other = count(walk, {2, 128, make(spec)});
    EXPECT_EQ(other.keyTiles, linear.keyTiles);
    EXPECT_EQ(other.requested.lines, linear.requested.lines);
    EXPECT_EQ(other.requested.sectors, linear.requested.sectors);
    EXPECT_EQ(other.distinct.lines, linear.distinct.lines);
  }
  EXPECT_EQ(linear.requested.lines, linear.keyTiles * 128);
  // 64 rows 4096 bytes apart, or side by side.
  EXPECT_EQ(linear.requested.pages, linear.keyTiles * 64);
  EXPECT_EQ(count(walk, {2, 128, make(residue)}).requested.pages,
            linear.keyTiles * 4);
}

// Rows shorter than a line share it with their neighbours, and then order
// counts.
TEST(MemoryTraffic, ShortRowsShareLines) {
  BranchWalk walk = dilated(4, 64);
  layout::OrderSpec residue;
  residue.curve = "residue";
  residue.rate = 4;
  Traffic linear = count(walk, {1, 16, nullptr});
  Traffic gathered = count(walk, {1, 16, make(residue)});
  EXPECT_EQ(linear.requested.lines, 4 * gathered.requested.lines);
}

// A table is read where rows of a branch lie at changing distances: 64 entries
// side by side are 8 lines, 4 positions apart they are 32.
TEST(MemoryTraffic, TablesOfRows) {
  layout::OrderSpec hilbert;
  hilbert.curve = "hilbert";
  hilbert.grid = {16, 64};
  layout::OrderSpec residue;
  residue.curve = "residue";
  residue.rate = 4;
  auto linesOfTile = [](const BranchWalk &walk, const layout::OrderSpec *spec) {
    std::string error;
    auto table = countTable(walk, spec ? make(*spec) : nullptr, error);
    EXPECT_TRUE(table) << error;
    return table->keyTiles ? table->requested.lines / table->keyTiles : 0;
  };
  BranchWalk walk = dilated(4, 64);
  EXPECT_EQ(linesOfTile(walk, nullptr), 0);
  EXPECT_EQ(linesOfTile(walk, &residue), 0);
  EXPECT_EQ(linesOfTile(walk, &hilbert), 32);
  // A chunk has a step of its own, and segments cross it or do not.
  residue.chunk = 256;
  EXPECT_EQ(linesOfTile(walk, &residue), 32);
  walk.pattern.segment = 128;
  EXPECT_EQ(linesOfTile(walk, &residue), 0);

  // Along a pattern order tokens in linear order are looked up by ordinal;
  // those in that order are not.
  BranchWalk dense = dilated(1, 64);
  dense.queries = dense.keys = 1024;
  dense.pattern.order = make(hilbert);
  EXPECT_EQ(linesOfTile(dense, nullptr), 8);
  EXPECT_EQ(linesOfTile(dense, &hilbert), 0);
}

TEST(MemoryTraffic, RefusesWhatWouldTakeLong) {
  std::string error;
  BranchWalk walk = dilated(1, 64);
  walk.queries = int64_t(1) << 40;
  EXPECT_FALSE(countTraffic(walk, {1, 128, nullptr}, error));
  EXPECT_NE(error.find("expected keys of at most 2^36 bytes"),
            std::string::npos)
      << error;
  // Windows that begin at every row of a tile.
  walk.queries = walk.keys = int64_t(1) << 22;
  walk.pattern.queryRows = 1;
  walk.pattern.windowLeft = 8000;
  walk.pattern.keyRows = 512;
  walk.pattern.causal = true;
  EXPECT_FALSE(countTraffic(walk, {1, 2, nullptr}, error));
  EXPECT_NE(error.find("rows of different tiles"), std::string::npos) << error;
}

} // namespace
