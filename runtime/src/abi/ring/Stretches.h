//===- Stretches.h - Residues of rows within a shard ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: counting and finding the rows of one residue among
// the repetitions of a stretch. Which of a repetition's rows those are depends
// on its number modulo a period; nothing here takes longer than that period.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_ABI_RING_STRETCHES_H
#define RINGLET_RUNTIME_ABI_RING_STRETCHES_H

#include "ringlet/abi/ring/Shards.h"

namespace ringlet::ring {

/// Rows u with u mod rate == residue.
struct ResidueClass {
  int64_t rate = 1;
  int64_t residue = 0;

  bool operator==(const ResidueClass &other) const {
    return rate == other.rate && residue == other.residue;
  }
  bool operator<(const ResidueClass &other) const {
    return rate != other.rate ? rate < other.rate : residue < other.residue;
  }
};

/// Rows from `begin` to before `end`.
struct Interval {
  int64_t begin = 0;
  int64_t end = 0;
  bool empty() const { return begin >= end; }
};

Interval overlap(Interval a, Interval b);

/// The rows of a class in an interval, as a progression.
Rows rowsIn(Interval interval, ResidueClass of);

/// The numbers of the repetitions of a stretch that touch an interval.
Interval repetitionsIn(const Stretch &stretch, Interval interval);

/// The rows of one repetition.
Interval repetition(const Stretch &stretch, int64_t number);

/// From the first to behind the last row of a stretch.
Interval hull(const Stretch &stretch);

/// The first and the last row of a class that a stretch has in an interval;
/// empty if it has none.
Interval extent(const Stretch &stretch, Interval interval, ResidueClass of);

/// A set of rows of a stretch, with places among the rows of its rank.
struct LocalRows {
  Rows rows;
  int64_t local = 0;
  int64_t localStride = 0;
};

/// Adds the rows that a progression shares with a stretch.
void appendShared(const Stretch &stretch, const Rows &progression,
                  std::vector<LocalRows> &result);

/// Joins sets that follow each other at equal distances, rows and places alike.
void joinRows(std::vector<LocalRows> &rows);

/// The number of pairs of a row of `queries`, a progression of class `of`, and
/// a row of `keys` of that class that is at most `left` before it and `right`
/// behind it. Query row q stands where key row q + shift does.
double countPairs(const Rows &queries, int64_t shift, const Stretch &keys,
                  Interval within, ResidueClass of, int64_t left,
                  int64_t right);

} // namespace ringlet::ring

#endif // RINGLET_RUNTIME_ABI_RING_STRETCHES_H
