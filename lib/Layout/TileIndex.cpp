//===- TileIndex.cpp - Which key tiles a tile of queries sees ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/TileIndex.h"

#include "lib/Layout/Grid.h"
#include "ringlet/abi/Format.h"

#include <algorithm>
#include <array>
#include <limits>

namespace ringlet::layout {

namespace {

/// The position, and then the cell on the grid.
constexpr size_t mostAxes = 1 + TilePattern::maxAxes;
using Point = std::array<int64_t, mostAxes>;

/// Rows whose box is compared before they are, and tiles likewise.
constexpr int64_t rowsOfPiece = 8;
constexpr size_t tilesOfGroup = 16;

constexpr int64_t leastBound = std::numeric_limits<int64_t>::min();
constexpr int64_t greatestBound = std::numeric_limits<int64_t>::max();
/// Positions, and sums of a few of them, stay in 64 bits.
constexpr int64_t farthest = int64_t(1) << 61;

/// Points, and the smallest box that holds them.
struct Box {
  Point low, high;
  size_t count = 0;

  void add(const Box &other, size_t axes) {
    for (size_t a = 0; a < axes; ++a) {
      low[a] = count ? std::min(low[a], other.low[a]) : other.low[a];
      high[a] = count ? std::max(high[a], other.high[a]) : other.high[a];
    }
    count += other.count;
  }
};

enum class Seen { None, Some, All };

/// Every condition says how far a key may be from a query on one axis.
class Conditions {
public:
  explicit Conditions(const TilePattern &pattern)
      : sides(pattern.grid), axes(1 + pattern.grid.size()) {
    least[0] = pattern.windowLeft ? -*pattern.windowLeft : leastBound;
    greatest[0] = pattern.windowRight ? *pattern.windowRight : greatestBound;
    if (pattern.causal)
      greatest[0] = std::min<int64_t>(greatest[0], 0);
    for (size_t a = 1; a < axes; ++a) {
      least[a] = -pattern.reach[a - 1];
      greatest[a] = pattern.reach[a - 1];
    }
  }

  size_t axisCount() const { return axes; }

  Box at(int64_t position) const {
    Box box;
    box.low[0] = position;
    int64_t rest = position;
    for (size_t a = axes; a-- > 1;) {
      box.low[a] = rest % sides[a - 1];
      rest /= sides[a - 1];
    }
    box.high = box.low;
    box.count = 1;
    return box;
  }

  Seen compare(const Box &query, const Box &key) const {
    if (query.count == 0 || key.count == 0)
      return Seen::None;
    bool all = true;
    for (size_t a = 0; a < axes; ++a) {
      int64_t nearest = key.low[a] - query.high[a];
      int64_t furthest = key.high[a] - query.low[a];
      if (furthest < least[a] || nearest > greatest[a])
        return Seen::None;
      all &= nearest >= least[a] && furthest <= greatest[a];
    }
    return all ? Seen::All : Seen::Some;
  }

  bool sees(const int64_t *query, const int64_t *key) const {
    for (size_t a = 0; a < axes; ++a) {
      int64_t distance = key[a] - query[a];
      if (distance < least[a] || distance > greatest[a])
        return false;
    }
    return true;
  }

private:
  const std::vector<int64_t> &sides;
  size_t axes;
  Point least, greatest;
};

/// A tile with the boxes of its pieces, and the points of its rows that exist.
struct Tile {
  Box box;
  std::vector<Box> pieces;
  std::vector<int64_t> points;

  void add(const Box &row, bool startsPiece, size_t axes) {
    if (startsPiece || pieces.empty())
      pieces.emplace_back();
    box.add(row, axes);
    pieces.back().add(row, axes);
    points.insert(points.end(), row.low.begin(), row.low.begin() + axes);
  }
};

/// Whether some query of one tile sees some key of the other.
bool meets(const Conditions &conditions, const Tile &query, const Tile &key) {
  auto pointsMeet = [&](const Box &queryPiece, const int64_t *queryPoint,
                        const Box &keyPiece, const int64_t *firstKey) {
    size_t axes = conditions.axisCount();
    for (size_t q = 0; q < queryPiece.count; ++q, queryPoint += axes) {
      const int64_t *keyPoint = firstKey;
      for (size_t k = 0; k < keyPiece.count; ++k, keyPoint += axes)
        if (conditions.sees(queryPoint, keyPoint))
          return true;
    }
    return false;
  };
  const int64_t *queryPoint = query.points.data();
  for (const Box &queryPiece : query.pieces) {
    const int64_t *keyPoint = key.points.data();
    for (const Box &keyPiece : key.pieces) {
      Seen seen = conditions.compare(queryPiece, keyPiece);
      if (seen == Seen::All ||
          (seen == Seen::Some &&
           pointsMeet(queryPiece, queryPoint, keyPiece, keyPoint)))
        return true;
      keyPoint += keyPiece.count * conditions.axisCount();
    }
    queryPoint += queryPiece.count * conditions.axisCount();
  }
  return false;
}

/// Half-open.
struct Range {
  int64_t begin, end;
};

/// The rows of one segment and residue on one side.
class Side {
public:
  /// Rows of ordinals in `ordinals` whose position lies in `exists`.
  Side(const Conditions &conditions, const std::vector<int64_t> &positions,
       Range ordinals, Range exists)
      : conditions(conditions), positions(positions), ordinals(ordinals),
        exists(exists) {}

  /// Row 0 has the ordinal `base`; the segment ends before `end`.
  Range rows(int64_t base, int64_t begin, int64_t end, int64_t rate) const {
    int64_t first = std::max(ordinals.begin, begin);
    return {ceilDiv(first - base, rate),
            ceilDiv(std::min(ordinals.end, end) - base, rate)};
  }

  Tile tile(int64_t base, Range rows, int64_t rate) const {
    Tile tile;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      int64_t ordinal = base + row * rate;
      bool moved = ordinal >= 0 && ordinal < int64_t(positions.size());
      int64_t position = moved ? positions[size_t(ordinal)] : ordinal;
      if (position >= exists.begin && position < exists.end)
        tile.add(conditions.at(position), (row - rows.begin) % rowsOfPiece == 0,
                 conditions.axisCount());
    }
    return tile;
  }

private:
  const Conditions &conditions;
  const std::vector<int64_t> &positions;
  Range ordinals, exists;
};

/// The key tiles of one segment and residue, in groups.
class KeyTiles {
public:
  KeyTiles(const Conditions &conditions, int64_t height)
      : conditions(conditions), height(height) {}

  void add(Tile tile) {
    if (tiles.size() % tilesOfGroup == 0)
      groups.emplace_back();
    groups.back().add(tile.box, conditions.axisCount());
    tiles.push_back(std::move(tile));
  }

  TileList seenFrom(const Tile &query) const {
    TileList list;
    for (size_t group = 0; group < groups.size(); ++group) {
      if (conditions.compare(query.box, groups[group]) == Seen::None)
        continue;
      size_t end = std::min((group + 1) * tilesOfGroup, tiles.size());
      for (size_t index = group * tilesOfGroup; index < end; ++index) {
        const Tile &key = tiles[index];
        Seen seen = conditions.compare(query.box, key.box);
        if (seen == Seen::None)
          continue;
        bool isFull = int64_t(key.box.count) == height;
        if (seen == Seen::All && isFull)
          list.whole.push_back(int64_t(index) * height);
        else if (seen == Seen::All || meets(conditions, query, key))
          list.partial.push_back(int64_t(index) * height);
      }
    }
    return list;
  }

private:
  const Conditions &conditions;
  int64_t height;
  std::vector<Tile> tiles;
  std::vector<Box> groups;
};

} // namespace

bool TilePattern::operator==(const TilePattern &other) const {
  return segment == other.segment && rate == other.rate &&
         residues == other.residues && areEqual(order, other.order) &&
         causal == other.causal && windowLeft == other.windowLeft &&
         windowRight == other.windowRight && grid == other.grid &&
         reach == other.reach && queryRows == other.queryRows &&
         keyRows == other.keyRows;
}

void TilePattern::setWindow(int64_t left, int64_t right) {
  windowLeft = left < 0 ? std::nullopt : std::optional(left);
  windowRight = right < 0 ? std::nullopt : std::optional(right);
}

bool TilePattern::movesOrdinals() const {
  return order && order->period() != 0 && !order->isIdentity();
}

std::vector<int64_t> TilePattern::positionsOfOrdinals() const {
  return movesOrdinals() ? order->permutation(order->period())
                         : std::vector<int64_t>();
}

bool TileSizes::operator==(const TileSizes &other) const {
  return queryLength == other.queryLength && queryOffset == other.queryOffset &&
         keyLength == other.keyLength && tiles == other.tiles &&
         segments == other.segments && firstSegment == other.firstSegment;
}

std::string TileIndex::validate(const TilePattern &pattern,
                                const TileSizes &sizes) {
  if (pattern.queryRows < 1 || pattern.keyRows < 1)
    return formatText("expected tiles of at least one row, found {} and {}",
                      pattern.queryRows, pattern.keyRows);
  if (pattern.rate < 1 || pattern.segment < 0 ||
      (pattern.segment != unboundedSegment && pattern.segment < pattern.rate))
    return formatText(
        "expected a rate from 1 to the segment length {}, found {} (B1)",
        pattern.segment, pattern.rate);
  const ResidueRange &residues = pattern.residues;
  if (residues.first < 0 || residues.first >= pattern.rate ||
      residues.count < 1 || residues.count > pattern.rate)
    return formatText(
        "expected residues from 0 to {}, each once, found {} from {} on (B2)",
        pattern.rate - 1, residues.count, residues.first);
  if (pattern.segment > 2 * farthest || pattern.windowLeft.value_or(0) < 0 ||
      pattern.windowRight.value_or(0) < 0)
    return "expected segments of at most 2^62 and windows of at least 0 (B4)";
  if (pattern.grid.size() > TilePattern::maxAxes ||
      pattern.grid.size() != pattern.reach.size())
    return formatText("expected a grid of at most 8 axes and a reach for each, "
                      "found {} and {} (B5)",
                      int64_t(pattern.grid.size()),
                      int64_t(pattern.reach.size()));
  for (int64_t reach : pattern.reach)
    if (reach < 0)
      return formatText("expected a reach of at least 0, found {} (B5)", reach);
  int64_t longest = Order::longestPermutation;
  if (sizes.queryLength < 0 || sizes.queryLength > longest ||
      sizes.keyLength < 0 || sizes.keyLength > longest)
    return formatText("expected from 0 to {} queries and keys of a tile index, "
                      "found {} and {}",
                      longest, sizes.queryLength, sizes.keyLength);
  if (sizes.queryOffset > farthest || sizes.queryOffset < -farthest)
    return formatText("expected q_offset within +-2^61, found {} (S1)",
                      sizes.queryOffset);
  int64_t lists, lastSegment, lowest, highest;
  if (sizes.tiles < 0 || sizes.segments < 0 ||
      __builtin_mul_overflow(sizes.tiles, sizes.segments, &lists) ||
      __builtin_mul_overflow(lists, residues.count, &lists) ||
      lists > mostLists)
    return formatText(
        "expected at most {} tiles of queries in an index, found {} x {} x {}",
        mostLists, residues.count, sizes.segments, sizes.tiles);
  if (__builtin_add_overflow(sizes.firstSegment, sizes.segments,
                             &lastSegment) ||
      __builtin_mul_overflow(lastSegment, pattern.segment, &highest) ||
      __builtin_mul_overflow(sizes.firstSegment, pattern.segment, &lowest) ||
      highest > 2 * farthest || lowest < -2 * farthest)
    return formatText(
        "expected segments within +-2^62, found number {} and {} of them (S3)",
        sizes.firstSegment, sizes.segments);
  int64_t last =
      std::max(sizes.keyLength,
               sizes.queryLength ? sizes.queryOffset + sizes.queryLength : 0) -
      1;
  if (!pattern.grid.empty()) {
    std::optional<int64_t> volume = gridVolume(pattern.grid);
    if (!volume)
      return "expected a grid of sides of at least 1 with fewer than 2^63 "
             "cells, found " +
             describe(pattern.grid) + " (B5)";
    int64_t first = sizes.queryLength ? sizes.queryOffset : 0;
    if (first < 0 || last >= *volume)
      return formatText("expected every position on the grid {} of {} cells, "
                        "found position {} (B5)",
                        describe(pattern.grid), *volume,
                        first < 0 ? first : last);
  }
  if (!pattern.order)
    return {};
  if (pattern.order->period() > longest)
    return formatText(
        "expected a pattern order of at most {} positions, found {} (O2)",
        longest, pattern.order->period());
  return pattern.order->validatePattern(last);
}

TileIndex::TileIndex(TilePattern given, const TileSizes &sizes)
    : pattern(std::move(given)), sizes(sizes),
      positions(pattern.positionsOfOrdinals()) {}

void TileIndex::forEachList(
    const std::function<bool(const TileList &)> &visit) const {
  // Any number of residues may have no tile each.
  if (lists() == 0)
    return;
  Conditions conditions(pattern);
  Range queryPositions{sizes.queryOffset,
                       sizes.queryOffset + sizes.queryLength};
  Range keyPositions{0, sizes.keyLength};
  // A curve may give a position any ordinal of its volume.
  auto ordinals = [&](Range of) {
    if (positions.empty())
      return of;
    return Range{std::min<int64_t>(of.begin, 0),
                 std::max(of.end, int64_t(positions.size()))};
  };
  Side queries(conditions, positions, ordinals(queryPositions), queryPositions);
  Side keys(conditions, positions, ordinals(keyPositions), keyPositions);
  auto forEachTile = [&](Range rows, int64_t height, auto body) {
    for (int64_t row = rows.begin; row < rows.end; row += height)
      body(Range{row, std::min(row + height, rows.end)});
  };
  int64_t rate = pattern.rate;
  bool goesOn = true;
  for (int64_t place = 0; place < pattern.residues.count; ++place)
    for (int64_t s = 0; s < sizes.segments; ++s) {
      bool bounded = pattern.segment != unboundedSegment;
      int64_t begin =
          bounded ? (sizes.firstSegment + s) * pattern.segment : -farthest;
      int64_t end = bounded ? begin + pattern.segment : 2 * farthest;
      int64_t base = (bounded ? begin : 0) + pattern.residues.at(place, rate);
      KeyTiles keyTiles(conditions, pattern.keyRows);
      forEachTile(
          keys.rows(base, begin, end, rate), pattern.keyRows,
          [&](Range rows) { keyTiles.add(keys.tile(base, rows, rate)); });
      int64_t tile = 0;
      forEachTile(queries.rows(base, begin, end, rate), pattern.queryRows,
                  [&](Range rows) {
                    if (tile++ < sizes.tiles && goesOn)
                      goesOn = visit(
                          keyTiles.seenFrom(queries.tile(base, rows, rate)));
                  });
      for (; tile < sizes.tiles && goesOn; ++tile)
        goesOn = visit({});
      if (!goesOn)
        return;
    }
}

int64_t TileIndex::tableLength() const {
  int64_t length = 2 * lists() + 1;
  forEachList([&](const TileList &list) {
    length += int64_t(list.whole.size() + list.partial.size());
    return true;
  });
  return length;
}

std::optional<std::vector<int64_t>> TileIndex::table(int64_t most) const {
  int64_t places = 2 * lists() + 1;
  if (places > most)
    return std::nullopt;
  std::vector<int64_t> table(size_t(places), 0);
  size_t next = 0;
  auto append = [&](const std::vector<int64_t> &rows) {
    table[next++] = int64_t(table.size());
    table.insert(table.end(), rows.begin(), rows.end());
  };
  forEachList([&](const TileList &list) {
    append(list.whole);
    append(list.partial);
    return int64_t(table.size()) <= most;
  });
  if (int64_t(table.size()) > most)
    return std::nullopt;
  table[next] = int64_t(table.size());
  return table;
}

} // namespace ringlet::layout
