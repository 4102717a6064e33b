//===- Shadow.h - Who touched which element in a launch ---------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers may overlap in the caller's memory (slices of one packed tensor), so
// accesses are recorded by address, not by buffer. Verdicts do not depend on
// the order in which the points run.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_INTERPRETER_SHADOW_H
#define RINGLET_LIB_INTERPRETER_SHADOW_H

#include <cstdint>
#include <memory>
#include <optional>

namespace ringlet::interpreter {

/// A grid point of a launch, as one number: no two launches of a run share
/// any.
struct Stamp {
  static constexpr int kPointBits = 40;
  /// No grid has more points.
  static constexpr int64_t kMaxPoints = (int64_t(1) << kPointBits) - 2;

  /// Stands for all points that add to elements: they may meet.
  static constexpr int64_t kAdditions = kMaxPoints;
  static Stamp ofAdditions(int64_t launch) { return Stamp(launch, kAdditions); }

  uint64_t bits = 0;

  Stamp() = default;
  Stamp(int64_t launch, int64_t point)
      : bits((static_cast<uint64_t>(launch) << kPointBits) |
             static_cast<uint64_t>(point + 1)) {}
  bool sameLaunch(Stamp other) const {
    return bits >> kPointBits == other.bits >> kPointBits;
  }
  bool operator==(Stamp other) const { return bits == other.bits; }
  int64_t point() const {
    return static_cast<int64_t>(bits & ((uint64_t(1) << kPointBits) - 1)) - 1;
  }
};

/// The records of a stretch of memory.
class Shadow {
public:
  /// Memory in [begin, end), all of whose elements are at least `granule`
  /// bytes long. `reserve` must succeed before the first access.
  Shadow(uintptr_t begin, uintptr_t end, int64_t granule)
      : begin(begin), end(end), granule(granule) {}

  bool contains(uintptr_t address) const {
    return address >= begin && address < end;
  }
  /// Bytes that the records take.
  int64_t bytes() const;
  /// False if there is no memory for the records.
  bool reserve();

  /// Records an access; the point it conflicts with, if any, comes back.
  std::optional<int64_t> read(uintptr_t address, int64_t size, Stamp by);
  struct WriteConflict {
    int64_t point;
    /// The other point wrote, too; else it read, -1 being more than one point.
    bool written;
  };
  std::optional<WriteConflict> write(uintptr_t address, int64_t size, Stamp by);

private:
  struct Cell {
    Stamp writer;
    Stamp reader;
    bool manyReaders;
  };
  uintptr_t begin, end;
  int64_t granule;
  struct Free {
    void operator()(Cell *cells) const;
  };
  std::unique_ptr<Cell[], Free> cells;
};

} // namespace ringlet::interpreter

#endif // RINGLET_LIB_INTERPRETER_SHADOW_H
