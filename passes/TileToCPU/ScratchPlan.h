//===- ScratchPlan.h - Places in scratch memory by lifetime -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Knows nothing of operations: points in time are integers in the order of
// execution, where a loop is one stretch.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETOCPU_SCRATCHPLAN_H
#define RINGLET_PASSES_TILETOCPU_SCRATCHPLAN_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace ringlet {
namespace cpu {

/// From the point that writes a value to the last one that reads it.
struct Lifetime {
  int64_t begin, end;
};

class ScratchPlan {
public:
  /// Adds a place. Places of one `shape` have the same extent and order of
  /// elements and may be made one by `tryShare`.
  int64_t addPlace(int64_t bytes, std::string shape);

  /// A stretch during which the place holds a value. A group of operations
  /// runs panel by panel, so a place that belongs to all panels is taken for
  /// the whole group (`wide`), but another place of its shape, which has the
  /// same panels, sees its own panel used only from phase to phase (`exact`).
  void addLifetime(int64_t place, Lifetime exact, Lifetime wide);

  /// At `point` the place is read in another order than it could be written.
  void forbidUpdate(int64_t place, int64_t point);

  /// Makes two places one, if their lifetimes allow it: one may end where the
  /// other begins, unless that point forbids it.
  bool tryShare(int64_t a, int64_t b);

  bool isShared(int64_t a, int64_t b) { return find(a) == find(b); }

  /// Gives every place an offset, the largest ones first, at the lowest
  /// address that no place with a common lifetime takes. Returns the bytes
  /// needed in all.
  int64_t allocate();

  int64_t getOffset(int64_t place) { return places[find(place)].offset; }

private:
  struct Place {
    int64_t bytes, parent, offset;
    std::string shape;
    llvm::SmallVector<Lifetime> exact, wide;
    llvm::DenseSet<int64_t> ordered;
  };

  int64_t find(int64_t place);
  bool mayShare(const Place &a, const Place &b) const;

  llvm::SmallVector<Place> places;
};

} // namespace cpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETOCPU_SCRATCHPLAN_H
