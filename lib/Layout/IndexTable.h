//===- IndexTable.h - Tables of indices that kernels read -------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a table is made of is a small key; the table itself may be large, and is
// built once for each key.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_LAYOUT_INDEXTABLE_H
#define RINGLET_LIB_LAYOUT_INDEXTABLE_H

#include "lib/Layout/Order.h"
#include "lib/Layout/TileIndex.h"

#include <mutex>
#include <utility>
#include <variant>

namespace ringlet::layout {

/// A memory order written out (O1): entry m is the token of slot m or, inverse,
/// the slot of token m.
struct OrderTable {
  std::shared_ptr<const Order> order;
  int64_t length = 0;
  bool inverse = false;
};

/// The ordinals of a pattern order (O2) from `first` <= 0 on to the last one of
/// its volume: entry j is the position of ordinal first + j or, of a sequence,
/// the index of the row at that position, -1 if it has none.
struct OrdinalTable {
  /// The longest table (8 GiB); positions in it fit in 31 bits.
  static constexpr int64_t longest = int64_t(1) << 30;

  /// Rows in memory.
  struct Sequence {
    int64_t length = 0;
    /// The position of the first token (S1).
    int64_t offset = 0;
    /// Null: linear (O1).
    std::shared_ptr<const Order> memory;
  };

  /// Has a period.
  std::shared_ptr<const Order> order;
  int64_t first = 0;
  std::optional<Sequence> rows;
};

/// The lists of a tile index. To count them takes as long as to build them, so
/// the key carries their number, and a table that was made to know it until
/// somebody builds from the key.
struct TileTable {
  /// Most numbers of a table that is carried (16 MiB); longer ones are counted.
  static constexpr int64_t mostCarried = int64_t(1) << 21;

  class Draft {
  public:
    explicit Draft(std::vector<int64_t> entries)
        : entries(std::move(entries)) {}
    /// The table, once.
    std::vector<int64_t> take() {
      std::lock_guard<std::mutex> lock(mutex);
      return std::exchange(entries, {});
    }

  private:
    std::mutex mutex;
    std::vector<int64_t> entries;
  };

  TilePattern pattern;
  TileSizes sizes;
  int64_t length = 0;
  std::shared_ptr<Draft> draft;

  /// Sets the length, of a table for a valid pattern and sizes.
  void measure();
};

using IndexTable = std::variant<OrderTable, OrdinalTable, TileTable>;

/// Equal keys, by content: equal tables.
bool operator==(const OrderTable &a, const OrderTable &b);
bool operator==(const OrdinalTable &a, const OrdinalTable &b);
bool operator==(const TileTable &a, const TileTable &b);

/// Whether the table can be built. Takes any sizes whatsoever. Returns the
/// empty string, or a message with the nearest legal choice.
std::string validate(const OrderTable &key);
std::string validate(const OrdinalTable &key);
std::string validate(const TileTable &key);

/// Entries of a table whose key is valid.
int64_t sizeOf(const OrderTable &key);
int64_t sizeOf(const OrdinalTable &key);
int64_t sizeOf(const TileTable &key);

/// Writes out the table of a valid key.
std::vector<int64_t> build(const OrderTable &key);
std::vector<int64_t> build(const OrdinalTable &key);
std::vector<int64_t> build(const TileTable &key);

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_INDEXTABLE_H
