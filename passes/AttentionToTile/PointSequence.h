//===- PointSequence.h - The sequence of a grid's point ---------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_POINTSEQUENCE_H
#define RINGLET_PASSES_ATTENTIONTOTILE_POINTSEQUENCE_H

#include "passes/AttentionToTile/Attention.h"
#include "passes/AttentionToTile/KernelBuilder.h"

#include <optional>

namespace ringlet {

/// The sequence that a point of a kernel's grid works on: which rows and
/// ordinals it has of either side (S1, S2, O2).
class PointSequence {
public:
  /// `query` and `key` are parameters of the kernel. Adds those that say where
  /// sequences lie.
  PointSequence(KernelBuilder &k, Attention &attention, mlir::Value query,
                mlir::Value key);

  /// Reads what lists say of sequence `number`, whose queries begin at row
  /// `firstRow` if sequences are packed.
  void read(mlir::Value number, mlir::Value firstRow);

  /// The ordinal of the first query; null for 0.
  mlir::Value getFirstOrdinal() const { return firstOrdinal; }

  /// The entries of the axis, or of a table of ordinals.
  const SequencePart &getPart(Side side) const {
    return side == Side::Query ? queries : keys;
  }
  /// The ordinal of number 0 of the axis, or of a table; null for 0.
  mlir::Value getOrigin(Side side);
  /// How many numbers a part of all has: the rows of the axis, or the entries
  /// of a table of ordinals.
  mlir::Value getCount(Side side);
  /// The rows of the axis of a side.
  mlir::Value getRows(Side side);
  /// The number of the sequence, and the pages of all (S4), a parameter; null
  /// without pages.
  mlir::Value getNumber() const { return number; }
  mlir::Value getPages() const { return pages; }
  /// The entries of keys that come before the first one that no query sees,
  /// nor any behind it: those of `getPart` where all may be seen.
  const SequencePart &getSeenKeys() const { return seenKeys; }

  SequenceReader &getReader() { return *reader; }

private:
  void placeQueriesOnCurve();
  SequencePart clampToSeen();

  KernelBuilder &k;
  Attention &attention;
  mlir::Value query, key, pages;
  std::optional<SequenceReader> reader;
  mlir::Value number, firstOrdinal;
  SequencePart queries, keys, seenKeys;
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_POINTSEQUENCE_H
