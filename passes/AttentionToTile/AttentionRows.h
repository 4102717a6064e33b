//===- AttentionRows.h - Where queries and keys lie -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_ATTENTIONROWS_H
#define RINGLET_PASSES_ATTENTIONTOTILE_ATTENTIONROWS_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "passes/AttentionToTile/RowOrder.h"
#include "passes/AttentionToTile/Sequences.h"

namespace ringlet {

/// The rows of both sides of an attention: which ordinals they have (B3, O2),
/// and where in memory each lies (O1). All that is the same for every sequence
/// becomes a table of the host, the rest one that a kernel writes.
class AttentionRows {
public:
  /// `queryRows` and `keyRows` are sizes of axes.
  AttentionRows(HostPlan &plan, attn::AttentionOp op,
                const SequenceLists &lists, mlir::Value queryRows,
                mlir::Value keyRows, mlir::Value queryOffset);

  /// Requires that the volume of a pattern order exceeds every position, as far
  /// as the host knows them (O2).
  void requirePositions();

  /// The ordinals of a sequence's queries begin with this one, if it is the
  /// same for all sequences, and are no more than `getOrdinalCount()`.
  mlir::Value getFirstOrdinal() const { return queries.getFirst(); }
  mlir::Value getOrdinalCount() const { return ordinalCount; }

  /// How a branch finds its rows.
  RowOrder getRows(Side side, const BranchSizes &sizes);

  /// Whether the ordinals or rows of a side are not the same in each sequence.
  /// Then `emitTable`, which emits a kernel, comes before `getRows`.
  bool areOfSequences(Side side) const;
  void emitTable(const llvm::Twine &name, Side side);

  bool hasPattern() const { return bool(pattern); }
  /// The ordinals of a pattern order with a volume, else 0.
  int64_t getVolume() const {
    return pattern ? pattern.getOrder()->period() : 0;
  }
  /// How many entries each sequence has in the tables of such a side beside one
  /// for each row, else 0.
  int64_t getOrdinalsOfSequence(Side side) const;

  /// A table of the slots of all tokens of the axis of queries; null if each
  /// lies at its own number, as those do that no packed sequence has.
  mlir::Value getQuerySlots();

private:
  rlayout::OrderAttr getMemory(Side side) const {
    return side == Side::Query ? queryOrder : keyOrder;
  }
  std::optional<RowOrder> &getTable(Side side) {
    return side == Side::Query ? queryTable : keyTable;
  }

  HostPlan &plan;
  attn::AttentionOp op;
  SequenceLists lists;
  mlir::Value queryRows, keyRows, queryOffset;
  /// Null where they change nothing.
  rlayout::OrderAttr queryOrder, keyOrder, pattern;
  SequenceOrdinals queries, keys;
  mlir::Value ordinalCount;
  /// What kernels write.
  std::optional<RowOrder> queryTable, keyTable;
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_ATTENTIONROWS_H
