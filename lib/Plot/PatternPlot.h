//===- PatternPlot.h - Visible keys as a matrix ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_PLOT_PATTERNPLOT_H
#define RINGLET_LIB_PLOT_PATTERNPLOT_H

#include "lib/Oracle/AttentionSpec.h"
#include "lib/Plot/Figure.h"

namespace ringlet::plot {

/// An attention of one sequence whose lengths are known; it has no operands
/// but queries, keys and values.
struct Attention {
  oracle::AttentionSpec spec;
  int64_t queries = 0, keys = 0;
  int64_t queryHeads = 1, keyHeads = 1;
};

/// The most cells that a matrix has on a side.
inline constexpr int64_t kMostCells = 256;
/// The most queries or keys of a picture.
inline constexpr int64_t kMostPositions = 16384;

/// One cell of a matrix of keys seen.
struct Cell {
  /// The first of the heads that see something here; -1 if none does.
  int64_t head = -1;
  /// Pairs of a query and a key here that some head sees, and all of them.
  int64_t seen = 0, pairs = 0;
};

struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<Cell> cells;

  Cell &at(int64_t row, int64_t column) {
    return cells[row * columns + column];
  }
  const Cell &at(int64_t row, int64_t column) const {
    return cells[row * columns + column];
  }
};

/// Which keys the queries of branch `branch` see, by position (B3 to B6). Above
/// kMostCells positions a cell stands for a square of them. False, with the
/// reason in `error`, if the rules refuse the attention or it is too long.
bool countPattern(const Attention &attention, size_t branch, Matrix &matrix,
                  std::string &error);

/// The same by tiles of `queryRows` and `keyRows` rows of one segment and
/// residue, as kernels walk them, for the branch's first head.
bool countTiles(const Attention &attention, size_t branch, int64_t queryRows,
                int64_t keyRows, Matrix &matrix, std::string &error);

/// Pictures of these; title and legend included.
bool plotPattern(const Attention &attention, size_t branch, Panel &panel,
                 std::string &error);
bool plotTiles(const Attention &attention, size_t branch, int64_t queryRows,
               int64_t keyRows, Panel &panel, std::string &error);

} // namespace ringlet::plot

#endif // RINGLET_LIB_PLOT_PATTERNPLOT_H
