//===- TileIndex.h - Which key tiles a tile of queries sees -----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pattern order (O2) or a grid window (B5) scatters the keys that a tile of
// queries sees over its segment, so that no division finds them. An index
// lists them: for each tile of queries the key tiles that it has to visit.
// Rows along a curve lie close together on the grid, so whole tiles, and groups
// of them, are ruled out by the boxes that hold their coordinates.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_LAYOUT_TILEINDEX_H
#define RINGLET_LIB_LAYOUT_TILEINDEX_H

#include "lib/Layout/Dilation.h"
#include "lib/Layout/Order.h"

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ringlet::layout {

/// What is known of a branch and its tiles before any size is.
struct TilePattern {
  /// Most axes of a grid.
  static constexpr size_t maxAxes = 8;

  /// B3, counted in ordinals.
  int64_t segment = unboundedSegment;
  int64_t rate = 1;
  /// Those that heads have (B2): others have no list.
  ResidueRange residues = {};
  /// Null where ordinals are positions (O2).
  std::shared_ptr<const Order> order = nullptr;
  /// B4; a side without a value has no bound.
  bool causal = false;
  std::optional<int64_t> windowLeft = std::nullopt;
  std::optional<int64_t> windowRight = std::nullopt;
  /// B5: sides and how far a key may be away on each axis, or empty.
  std::vector<int64_t> grid = {};
  std::vector<int64_t> reach = {};
  /// Rows of a tile.
  int64_t queryRows = 1, keyRows = 1;

  bool operator==(const TilePattern &other) const;

  /// A side below 0 has no bound.
  void setWindow(int64_t left, int64_t right);

  /// Whether an ordinal may differ from its position. If so, rows are those of
  /// every ordinal of the order's volume, else those of positions that exist.
  bool movesOrdinals() const;
  /// The position of each ordinal of the volume; empty where ordinals are
  /// positions.
  std::vector<int64_t> positionsOfOrdinals() const;
};

/// The sizes that an index is made for.
struct TileSizes {
  /// Queries have the positions from `queryOffset` on, keys those from 0 on.
  int64_t queryLength = 0, queryOffset = 0, keyLength = 0;
  /// There is a list for each of the pattern's residues, for each of `segments`
  /// segments from `firstSegment` on and for each of `tiles` tiles.
  int64_t tiles = 0, segments = 1, firstSegment = 0;

  bool operator==(const TileSizes &other) const;
};

/// The key tiles of one tile of queries, each by its first row. A tile is whole
/// if all its rows exist and every existing query sees each of them.
struct TileList {
  std::vector<int64_t> whole, partial;
};

class TileIndex {
public:
  /// Most lists of an index.
  static constexpr int64_t mostLists = int64_t(1) << 32;

  /// Whether there is an index of this pattern for these sizes. Takes any
  /// values whatsoever. Returns the empty string, or a message with the rule.
  static std::string validate(const TilePattern &pattern,
                              const TileSizes &sizes);

  /// Both must be valid.
  TileIndex(TilePattern pattern, const TileSizes &sizes);

  int64_t lists() const {
    return pattern.residues.count * sizes.segments * sizes.tiles;
  }

  /// Calls `visit` for each list until it returns false, in the order of their
  /// numbers: that of tile t of segment s and of the residue at place o of the
  /// pattern's is (o * segments + s - firstSegment) * tiles + t.
  void forEachList(const std::function<bool(const TileList &)> &visit) const;

  /// All lists in one table: at 2n the place where list n begins, at 2n + 1
  /// that where its partial tiles begin, at 2 * lists() the table's length,
  /// and then the entries. Nothing, as soon as that is known, if these are more
  /// than `most` numbers.
  std::optional<std::vector<int64_t>>
  table(int64_t most = std::numeric_limits<int64_t>::max()) const;

  /// Numbers in the table, which takes as long as to make it.
  int64_t tableLength() const;

private:
  TilePattern pattern;
  TileSizes sizes;
  /// What the pattern says of them.
  std::vector<int64_t> positions;
};

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_TILEINDEX_H
