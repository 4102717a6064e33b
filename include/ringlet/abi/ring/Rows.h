//===- Rows.h - Sets of rows as nested progressions ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What travels around a ring are regular sets of rows: every r-th one of a
// stretch, the same stretch of every n-th block. Sequences have up to 2^31
// rows, so that no set is ever written out row by row.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_ABI_RING_ROWS_H
#define RINGLET_ABI_RING_ROWS_H

#include <cstdint>
#include <vector>

namespace ringlet::ring {

/// The most rows of a sequence axis. Products of two such numbers have 64 bits.
inline constexpr int64_t kMaxRows = int64_t{1} << 31;

/// The rows first + a * step + b * stride for all 0 <= a < run, 0 <= b < count,
/// `run` of them after each other, `count` times. All of them differ.
struct Rows {
  int64_t first = 0;
  int64_t run = 0;
  int64_t step = 1;
  int64_t count = 1;
  int64_t stride = 1;

  int64_t size() const { return run * count; }
  /// The row at a place below `size()`.
  int64_t at(int64_t place) const {
    return first + place % run * step + place / run * stride;
  }
  /// The greatest row of a set that is not empty.
  int64_t last() const {
    return first + (run - 1) * step + (count - 1) * stride;
  }
};

inline bool operator==(const Rows &a, const Rows &b) {
  return a.first == b.first && a.run == b.run && a.step == b.step &&
         a.count == b.count && a.stride == b.stride;
}

/// Those of `rows` that lie in both progressions (`count` is 1 in all three).
Rows intersect(const Rows &a, const Rows &b);

/// The progressions a \ b: at most three more than the gaps that b leaves, or
/// than the residues, whichever are fewer.
std::vector<Rows> subtract(const Rows &a, const Rows &b);

/// Progressions without a common row that have the rows of all of `sets`
/// together, each of which is a progression.
std::vector<Rows> unite(const std::vector<Rows> &sets);

/// Where rows of one set lie in another one, by their places: `count` times, at
/// `from + i * fromStep` there and at `to + i * toStep` here.
struct Placement {
  int64_t from = 0, fromStep = 1;
  int64_t to = 0, toStep = 1;
  int64_t count = 0;
};

/// Where the rows of `wanted` lie in `layout`, whose sets follow each other and
/// have no row in common. A row that is not there has no placement.
std::vector<Placement> place(const std::vector<Rows> &layout,
                             const std::vector<Rows> &wanted);

} // namespace ringlet::ring

#endif // RINGLET_ABI_RING_ROWS_H
