//===- CPUTiling.h - Tile shapes for a CPU, by estimated cycles -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COST_CPUTILING_H
#define RINGLET_LIB_COST_CPUTILING_H

#include "lib/Arch/CPU.h"

#include <cstdint>
#include <string>

namespace ringlet::cost {

/// What the model knows of a core.
struct CPUCore {
  int64_t lanes;   ///< f32 elements of a vector register
  int64_t l1Bytes; ///< first-level data cache
  int64_t l2Bytes; ///< second-level cache, of one core
  /// Steps along the depth of a product that one multiply-add takes.
  int64_t stepsPerMultiplyAdd = 1;
  /// A depth that is no multiple of so many steps takes as long as the next.
  int64_t depthMultiple = 1;
  /// Rows of the tallest tiles to compare.
  int64_t maxRows = 256;
  /// Elements are f32 in memory, too: what reads keys and values once reads
  /// them there, without a copy and without widening.
  bool isF32 = false;

  /// A core of that level at work on elements of some type.
  static CPUCore of(const arch::CPULevel &level, bool isBF16, bool isF32);
};

/// What the model knows of a branch.
struct BranchShape {
  int64_t headDim;  ///< D, columns of Q and K
  int64_t valueDim; ///< Dv, columns of V
  /// Rows of one segment that a head visits, ceil(w / r) or fewer if the
  /// sequence is known to be short; 0 = no bound is known.
  int64_t rowsOfSegment = 0;
  bool causal = false;
  /// The part of the scores that causality cuts a triangle from, which is a
  /// segment's; kernels of several branches have others beside.
  double causalShare = 1.0;
  /// Triangles of a tile of queries that one loop masks.
  int64_t triangles = 1;
  /// Keys are those of a segment, or not neighbours in memory.
  bool segmented = false;
  /// Only the call knows where the segments or the rows of one lie.
  bool hasRuntimeSizes = false;
  /// Which keys a query sees follows from what is known of each of them (O2,
  /// B5, B6), not from the ends of an interval.
  bool masksByElement = false;
  /// Kernels read more than operands: from lists where sequences lie, or their
  /// positions (S1, S2), or sinks (R3).
  bool readsMore = false;
  /// Bytes of an element of K and V in memory if they are widened from 8 bits
  /// (S6), else 0.
  int64_t storedBytes = 0;
};

struct CPUTiling {
  int64_t query, key;    ///< rows of the tiles of Q and of K and V
  double cyclesPerScore; ///< estimate, for one useful pair of query and key
  double dotShare;       ///< part of it that the two products would take alone
  int64_t scratchBytes;  ///< f32 tiles that are alive at once
  int64_t candidates;    ///< shapes that were compared
};

/// The estimate for one shape.
CPUTiling estimate(const CPUCore &core, const BranchShape &branch,
                   int64_t query, int64_t key);

/// The candidate of least estimated cycles; of equals the one with the smaller
/// scratch.
CPUTiling chooseTiling(const CPUCore &core, const BranchShape &branch);

/// Tiles of few queries, whose keys are split into parts, and up to how many
/// queries they cost less than those for many.
struct KeySplit {
  int64_t rows, key;      ///< of a tile: rows of several heads, and keys
  int64_t heads;          ///< query heads of a key head that share a tile
  int64_t part;           ///< keys that are worth a part of their own
  int64_t queries;        ///< 0: tiles for many queries never cost more
  int64_t manyParts = 0;  ///< more of them are 4 times as long; 0: any number
  int64_t fewestKeys = 0; ///< with fewer, merging costs more than it saves
  /// Of the kernel that merges parts: columns of a tile, 0 for all, and parts
  /// that it reads at a time.
  int64_t mergeColumns = 0, mergeStates = 1;
  /// Grid points for each processor that parts are to make: some more than
  /// threads, so that these end together.
  int64_t points = 4;
  /// Calls whose tiles have fewer parts take those for many queries.
  int64_t fewestParts = 1;
  /// Estimates for one query of all heads of a key head and one key: here, and
  /// in the tiles for many.
  double cyclesPerKey, otherCyclesPerKey;
};

/// The choice beside `tiling`. A key head has `group` query heads, of which
/// `heads` may share a tile.
KeySplit chooseSplit(const CPUCore &core, const BranchShape &branch,
                     const CPUTiling &tiling, int64_t group, int64_t heads);

/// Cycles that a key costs copies, both products and the softmax between them
/// for `rows` rows, in a tile whose rows fill vectors, or in one of just as
/// many rows, whose products have lanes along depth and columns and read keys
/// and values where they are.
struct FewRows {
  int64_t rows;
  double inVectors, alongDepth;

  bool areNarrow() const { return alongDepth < inVectors; }
};

FewRows compareForms(const CPUCore &core, const BranchShape &branch,
                     int64_t rows);

/// One line for people: the choice and the figures behind it.
std::string explain(const CPUTiling &tiling);
std::string explain(const KeySplit &split);
std::string explain(const FewRows &few);

} // namespace ringlet::cost

#endif // RINGLET_LIB_COST_CPUTILING_H
