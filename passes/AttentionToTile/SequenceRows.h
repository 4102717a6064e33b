//===- SequenceRows.h - Tables of rows, made on the device ------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An order restarts with each sequence. Where only the device knows how long
// sequences are and where they lie, the host cannot say which row an ordinal or
// a token has: a kernel writes that down for those that come after it.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_SEQUENCEROWS_H
#define RINGLET_PASSES_ATTENTIONTOTILE_SEQUENCEROWS_H

#include "passes/AttentionToTile/RowOrder.h"
#include "passes/AttentionToTile/Sequences.h"

namespace ringlet {

/// The ordinals that the rows of one sequence may have under a pattern order
/// (O2), from `firstOrdinal` on, and their entries in a table of those of all
/// sequences.
struct OrdinalEntries {
  mlir::Value firstOrdinal, first, end;
};

/// Those of the keys of sequence number `sequence`: the positions of the grid,
/// of `volume` cells.
OrdinalEntries placeKeyOrdinals(KernelBuilder &k, int64_t volume,
                                mlir::Value sequence);

/// Those of its queries, `length` rows from `position` on; `before` counts the
/// rows of the sequences before it. An ordinal before the grid is the position
/// of a query.
OrdinalEntries placeQueryOrdinals(KernelBuilder &k, int64_t volume,
                                  mlir::Value sequence, mlir::Value before,
                                  mlir::Value length, mlir::Value position);

/// Queries or keys of sequences that have lengths or positions of their own.
struct SequenceSide {
  SequenceLists lists;
  /// Sizes of the axes of queries and keys.
  mlir::Value queryRows, keyRows;
  /// Position of query row 0, if all sequences have the same.
  mlir::Value queryOffset;
  bool hasPositions = false;
  /// As of getReachOfQueries.
  std::optional<int64_t> reach;
  Side side = Side::Query;
  /// The order of the rows in memory (O1); null if that is linear.
  rlayout::OrderAttr memory;
};

/// Rows and positions of the ordinals of all sequences along `pattern`, which
/// has a volume: entries as of placeQueryOrdinals and placeKeyOrdinals.
RowOrder emitOrdinalsOfSequences(HostPlan &plan, const llvm::Twine &name,
                                 const SequenceSide &side,
                                 rlayout::OrderAttr pattern);

/// The row of each token of packed sequences, whose order in memory has a
/// chunk.
mlir::Value emitSlotsOfSequences(HostPlan &plan, const llvm::Twine &name,
                                 const SequenceSide &side);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_SEQUENCEROWS_H
