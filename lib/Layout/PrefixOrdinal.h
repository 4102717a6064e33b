//===- PrefixOrdinal.h - Small values in a prefix, counted ------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many of the first i entries of a list are below some limit? A user's
// table has no formula, yet its short tails ask just this for every token.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_LAYOUT_PREFIXORDINAL_H
#define RINGLET_LIB_LAYOUT_PREFIXORDINAL_H

#include <cstdint>
#include <vector>

namespace ringlet::layout {

/// A wavelet matrix: the list is sorted bit by bit from the top, stably, and
/// each step's bits are kept with running counts. That takes about n log n / 4
/// bytes and answers in log n steps, whatever the list.
class PrefixOrdinal {
public:
  /// `values` lie in [0, values.size()).
  explicit PrefixOrdinal(std::vector<int64_t> values);

  /// The number of i < `prefix` with values[i] < `limit`; both arguments are
  /// in [0, size].
  int64_t countBelow(int64_t prefix, int64_t limit) const;

private:
  struct Level {
    std::vector<uint64_t> bits;
    /// The ones in all words before this one.
    std::vector<int64_t> onesBefore;
    int64_t zeros = 0;

    int64_t ones(int64_t prefix) const;
  };

  /// Most significant bit first.
  std::vector<Level> levels;
};

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_PREFIXORDINAL_H
