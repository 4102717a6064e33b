//===- Rows.h - Where the rows of a view are --------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: the one place that turns a view's row numbers into
// ordinals, indices in memory and positions, in arithmetic that cannot
// overflow.
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

/// Where a row that exists is: in memory, and for causality and windows.
struct Place {
  int64_t index;
  Wide position;
};

class Rows {
public:
  explicit Rows(const View &view);

  /// The place of row `row` if the row exists.
  std::optional<Place> place(int64_t row) const;
  /// The place of a row of the buffer that need not be one of the view.
  std::optional<Place> placeBeyond(int64_t row) const;
  /// The entry of `row` in the view's tables, if there is one.
  std::optional<int64_t> number(int64_t row) const;
  /// The first row whose ordinal is at least `bound`.
  Wide firstRowAt(Wide bound) const;
  /// The ordinal of a row, whether it exists or not.
  Wide ordinal(Wide row) const { return base + line(row) * rate; }
  /// The place of a row in its group.
  int64_t member(Wide row) const {
    return static_cast<int64_t>(row - line(row) * group);
  }
  /// First and one past the last row that exists.
  Wide begin() const { return firstRowAt(low); }
  Wide end() const { return firstRowAt(high); }
  /// Ordinals that rows can have.
  Wide lowest() const { return low; }
  Wide highest() const { return high; }
  /// True where positions are not ordinals.
  bool hasPositions() const { return view.positions != nullptr; }

private:
  /// The place of an entry of the view's tables.
  std::optional<Place> placeOf(int64_t entry) const;
  /// The row of the row axis that a row belongs to.
  Wide line(Wide row) const {
    Wide whole = row / group;
    return whole * group > row ? whole - 1 : whole;
  }

  const View &view;
  /// Elements of the row axis.
  int64_t size;
  /// Ordinal of row 0 and distance of rows.
  Wide base;
  int64_t rate;
  /// Rows of the view for each row of the row axis.
  int64_t group;
  /// Half-open.
  Wide low, high;
};

/// The bytes of an element of a buffer, which must exist.
mlir::FailureOr<const char *> findElement(Machine &machine,
                                          const Instruction &instruction,
                                          const Buffer &buffer,
                                          llvm::ArrayRef<int64_t> indices);

/// Records that the element at `address` is written, number `element` of its
/// `whole`, which a grid point must be free to do.
mlir::LogicalResult recordWrite(Machine &machine,
                                const Instruction &instruction,
                                const Buffer &buffer, const char *address,
                                int64_t element, llvm::StringRef whole,
                                Stamp stamp);

/// "grid point 3 of the same launch writes".
std::string describeWriter(int64_t point);

/// What a copy of a tile of `view` brings to a slot: rows of the buffer that
/// are none of the view's may come as they are.
mlir::LogicalResult copyTile(Machine &machine, const Instruction &instruction,
                             const View &view, rtile::ViewType type,
                             llvm::ArrayRef<int64_t> offsets, Stamp stamp,
                             std::vector<float> &tile);

/// Writes the elements of a tile that exist, as far as the machine's warps hold
/// them.
mlir::LogicalResult storeTile(Machine &machine, const Instruction &instruction,
                              const View &view, rtile::ViewType type,
                              llvm::ArrayRef<int64_t> offsets, Stamp stamp,
                              const std::vector<float> &tile);

/// Adds them to what is there. `order` is that of the additions of a point.
mlir::LogicalResult addTile(Machine &machine, const Instruction &instruction,
                            const View &view, rtile::ViewType type,
                            llvm::ArrayRef<int64_t> offsets, Stamp stamp,
                            int64_t order, const std::vector<float> &tile);

/// Reads the boolean of a block of queries and a block of keys.
mlir::FailureOr<bool> readBlock(Machine &machine,
                                const Instruction &instruction,
                                const Buffer &blocks, int64_t queryBlock,
                                int64_t keyBlock);

/// Reads entry `index` of a table, which must exist.
int64_t readTable(const Buffer &table, int64_t index);

} // namespace ringlet::interpreter

#endif // RINGLET_LIB_INTERPRETER_ROWS_H
