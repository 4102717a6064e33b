//===- Grid.h - Token grids and counting in them ----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A grid numbers its cells row by row, last axis fastest; the number of a cell
// is the token that lies on it. A sequence that ends early owns the tokens
// below a limit, so every curve that must skip missing tokens needs one
// question answered: how many cells of a box have a number below a limit?
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_LAYOUT_GRID_H
#define RINGLET_LIB_LAYOUT_GRID_H

#include <cstdint>
#include <optional>
#include <vector>

namespace ringlet::layout {

/// The number of cells of a grid; none if a side is below 1 or the product
/// leaves int64_t. The empty grid has one cell.
std::optional<int64_t> gridVolume(const std::vector<int64_t> &sides);

/// The coordinates of `token` in a legal grid, slowest axis first: the x_a(p)
/// of the grid window (B5). Needs 0 <= token < volume.
std::vector<int64_t> gridCell(const std::vector<int64_t> &sides, int64_t token);

/// A legal grid without its sides of 1, which no curve notices. At most 62
/// axes remain, as each at least doubles the volume.
struct Grid {
  static constexpr int maxAxes = 62;

  /// `sides` must have a volume, see gridVolume.
  explicit Grid(const std::vector<int64_t> &sides);

  int axes() const { return static_cast<int>(side.size()); }
  /// Whether coordinates are fields of the bits of a token.
  bool hasBits() const { return (volume & (volume - 1)) == 0; }

  /// Sides above 1, slowest first.
  std::vector<int64_t> side;
  /// The step of the token number along each of these axes, so descending.
  std::vector<int64_t> stride;
  int64_t volume;
};

/// How many cells of an axis-parallel box of a grid lie fewer than `reach`
/// steps of numbering above its lowest cell. Axes come slowest first with
/// their strides and the box's extents (>= 1).
///
/// The numbers of the cells of one layer of the box span less than one stride
/// of the layers' axis. So of the layers, the first reach / stride are in,
/// the next one is in partly, and the question repeats inside it.
inline int64_t cellsBelow(int axes, const int64_t *stride,
                          const int64_t *extent, int64_t reach) {
  if (reach <= 0)
    return 0;
  int64_t cells = 1;
  for (int a = 0; a < axes; ++a)
    cells *= extent[a];
  int64_t found = 0;
  for (int a = 0; a < axes; ++a) {
    // An axis of extent 1 may repeat a stride; it has no second layer anyway.
    if (extent[a] == 1)
      continue;
    int64_t full = reach / stride[a];
    cells /= extent[a];
    if (full >= extent[a])
      return found + extent[a] * cells;
    found += full * cells;
    reach -= full * stride[a];
  }
  // Down to one cell, the lowest one of its layer: in if any reach is left.
  return found + (reach > 0 ? 1 : 0);
}

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_GRID_H
