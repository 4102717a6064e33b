//===- MemoryTraffic.h - Memory that tiles of keys touch --------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a memory order (O1) changes is where the rows of a tile lie, and nothing
// else: which tiles are loaded follows from positions. So the lines, sectors
// and pages that a kernel touches are counted by walking the addresses of the
// rows of its tiles.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COST_MEMORYTRAFFIC_H
#define RINGLET_LIB_COST_MEMORYTRAFFIC_H

#include "lib/Layout/TileIndex.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ringlet::cost {

/// Units in which memory moves: cache lines, DRAM sectors of a GPU, pages.
struct Touched {
  static constexpr int64_t lineBytes = 64, sectorBytes = 32, pageBytes = 4096;

  int64_t lines = 0, sectors = 0, pages = 0;

  Touched &operator+=(const Touched &other) {
    lines += other.lines;
    sectors += other.sectors;
    pages += other.pages;
    return *this;
  }
  bool operator==(const Touched &other) const {
    return lines == other.lines && sectors == other.sectors &&
           pages == other.pages;
  }
};

/// Heads of one branch that read the same rows of the same key head.
struct KeyReaders {
  int64_t keyHead = 0;
  /// o(h) of these heads (B2).
  int64_t residue = 0;
  int64_t heads = 1;
};

/// One branch of a batch item, as its kernel walks it. `pattern` has the tiles;
/// which residues are read is said by the readers.
struct BranchWalk {
  layout::TilePattern pattern;
  int64_t queries = 0, keys = 0; ///< lengths
  int64_t queryOffset = 0;       ///< position of query row 0 (S1)
  std::vector<KeyReaders> readers;

  /// Tiles come from a list where no division finds them.
  bool hasLists() const {
    return pattern.movesOrdinals() || !pattern.grid.empty();
  }
};

/// A tensor [sequence, heads, columns] of keys or values, contiguous, from a
/// page boundary on.
struct KeyLayout {
  int64_t heads = 1;
  int64_t rowBytes = 0; ///< that a head has of a token
  /// Null stands for the linear order.
  std::shared_ptr<const layout::Order> order;
};

struct Traffic {
  int64_t queryTiles = 0, keyTiles = 0; ///< worked on and loaded, with repeats
  /// Over all loads of tiles, each unit once a tile.
  Touched requested;
  /// Each unit once: the least that must move.
  Touched distinct;
};

/// The most rows that a count walks.
inline constexpr int64_t kMostRowsWalked = int64_t(1) << 27;

/// Counts what the tiles of `walk` touch of a tensor. Needs dilations and tile
/// heights of at least 1, and an order that fits walk.keys. Nothing, with the
/// reason in `error`, if that would take long or a list refuses the pattern.
std::optional<Traffic> countTraffic(const BranchWalk &walk,
                                    const KeyLayout &layout,
                                    std::string &error);

/// The same of the table of rows that the kernel reads for each tile, 8 bytes
/// an ordinal, for keys in the order `memory` (null: linear). Zero where rows
/// lie at a constant step and no table is needed.
std::optional<Traffic>
countTable(const BranchWalk &walk,
           const std::shared_ptr<const layout::Order> &memory,
           std::string &error);

} // namespace ringlet::cost

#endif // RINGLET_LIB_COST_MEMORYTRAFFIC_H
