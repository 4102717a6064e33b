//===- Visibility.h - Segments shared by queries and keys ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Private to this folder: rules S1 and B1 to B4 as intervals of key rows.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_ABI_RING_VISIBILITY_H
#define RINGLET_RUNTIME_ABI_RING_VISIBILITY_H

#include "Stretches.h"

#include "ringlet/abi/ring/Attention.h"

#include <functional>

namespace ringlet::ring {

/// How far a key may be from a query: distances of positions are smaller than
/// what stands for no bound.
inline constexpr int64_t kMaxOffset = int64_t{1} << 40;
inline constexpr int64_t kFar = int64_t{1} << 42;

/// The window of B4, causality included.
struct Reach {
  int64_t left;
  int64_t right;
};
Reach reachOf(const Attention &attention);

/// The residues (B2) that the query heads of key head `keyHead` have in a
/// branch, each with the number of heads that have it.
std::vector<std::pair<int64_t, int64_t>>
residuesOf(const Attention &attention, const Branch &branch, int64_t keyHead);

/// The queries of a stretch and the keys in an interval that lie in one segment
/// of one sequence. Key row = query row + `shift` where positions are equal.
struct SharedSegment {
  /// Query rows; they may begin and end between the rows of the stretch.
  Interval queries;
  /// Key rows of the segment, whatever rank holds them.
  Interval keys;
  int64_t shift = 0;

  /// What residue `o` of the segment is among key rows, and among query rows.
  ResidueClass keyClass(int64_t residue, int64_t rate) const;
  ResidueClass queryClass(int64_t residue, int64_t rate) const;

  /// The row at which place 0 of the segment is.
  int64_t origin = 0;
};

/// Calls `visit` for each segment in which both have rows, in ascending order
/// of sequences and segments.
void forEachSharedSegment(
    const Attention &attention, const Branch &branch, const Stretch &queries,
    Interval keys, const std::function<void(const SharedSegment &)> &visit);

/// How many segments this thread has visited so: planning takes as long.
int64_t &segmentVisits();

} // namespace ringlet::ring

#endif // RINGLET_RUNTIME_ABI_RING_VISIBILITY_H
