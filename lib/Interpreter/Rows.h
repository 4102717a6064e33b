//===- Rows.h - Where the rows of a view are --------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the one place that turns a view's row numbers into
// positions, in arithmetic that cannot overflow.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_INTERPRETER_ROWS_H
#define RINGLET_LIB_INTERPRETER_ROWS_H

#include "lib/Interpreter/Machine.h"

#include "dialects/Tile/IR/TileDialect.h"

#include <optional>

namespace ringlet::interpreter {

/// Holds sums and products of a few 64-bit numbers.
using Wide = __int128;

class Rows {
public:
  Rows(const View &view, rtile::ViewType type);

  /// The position of row `row` if the row exists.
  std::optional<Wide> position(int64_t row) const;
  /// The index of an existing row's position on the row axis of the buffer.
  int64_t index(Wide position) const {
    return static_cast<int64_t>(position - view.origin);
  }
  /// The first row whose position is at least `bound`; views without a table.
  Wide firstRowAt(Wide bound) const;
  /// First and one past the last row that exists.
  Wide begin() const;
  Wide end() const;
  /// Positions in which rows can exist.
  Wide lowest() const { return low; }
  Wide highest() const { return high; }

private:
  const View &view;
  /// Position of row 0 and distance of rows.
  Wide base;
  int64_t rate;
  /// Half-open.
  Wide low, high;
};

/// Reads entry `index` of a table, which must exist.
int64_t readTable(const Buffer &table, int64_t index);

} // namespace ringlet::interpreter

#endif // RINGLET_LIB_INTERPRETER_ROWS_H
