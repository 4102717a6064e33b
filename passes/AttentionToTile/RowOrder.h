//===- RowOrder.h - Where the rows of a sequence lie -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_ROWORDER_H
#define RINGLET_PASSES_ATTENTIONTOTILE_ROWORDER_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "passes/AttentionToTile/BranchSizes.h"
#include "passes/AttentionToTile/HostPlan.h"

namespace ringlet {

/// Null for an order in which tokens lie as in none.
rlayout::OrderAttr dropIdentity(rlayout::OrderAttr order);

/// What a view of a sequence's rows needs beside its ordinals: an order with
/// rows at equal distances, or tables. All null: rows lie in the order of
/// ordinals.
struct RowOrder {
  rlayout::OrderAttr order;
  mlir::Value rows, positions;
};

/// Positions before the keys that ordinals along a pattern order may have.
constexpr int64_t kMostOrdinalsBefore = int64_t(1) << 24;

/// One side of an attention, queries or keys: a range of ordinals (B3, O2),
/// whose rows lie in a memory order (O1).
class SequenceOrdinals {
public:
  /// `length` tokens in the order `memory`, the first of them at the position
  /// `offset`, or if `isMoved` at another one in each sequence, which the
  /// device knows. Ordinals count along `pattern`. Both orders may be null:
  /// linear.
  SequenceOrdinals(HostPlan &plan, mlir::Value length, mlir::Value offset,
                   rlayout::OrderAttr memory, rlayout::OrderAttr pattern,
                   bool isMoved = false);

  /// The ordinals from `getFirst()` on, as many as `getCount()`, hold all rows.
  mlir::Value getFirst() const { return first; }
  mlir::Value getCount() const { return count; }

  /// Whether some ordinal of the range may have no row.
  bool hasGaps() const;

  /// A table of the slots of tokens; null if each lies at its own number.
  mlir::Value getSlots();

  /// How a branch finds the rows. `masked`: some condition speaks of positions.
  RowOrder getRows(const BranchSizes &sizes, bool masked);

private:
  mlir::Value getTable(mlir::Value &table, bool ofRows);

  HostPlan &plan;
  mlir::Value length, offset;
  /// Null where they change nothing.
  rlayout::OrderAttr memory, pattern;
  bool isMoved;
  mlir::Value first, count;
  /// Made when a kernel needs them.
  mlir::Value slots, rows, positions;
};

/// Says as a remark how branch number `branch` of `op` finds its rows, if that
/// is not by their ordinals alone.
void reportRows(attn::AttentionOp op, unsigned branch, const RowOrder &queries,
                const RowOrder &keys);

/// The length of a sequence in memory: what an order without a chunk asks for
/// (O1), which the plan then requires, else `size`.
mlir::Value requireLength(HostPlan &plan, mlir::Value size,
                          rlayout::OrderAttr memory);

/// Requires that a q_offset leaves room for the ordinals before a grid (S1,
/// O2).
void requireFirstPosition(HostPlan &plan, mlir::Value offset);

/// Requires that the volume of a pattern order exceeds the positions of
/// `length` tokens from `offset` on (O2).
void requireVolume(HostPlan &plan, rlayout::OrderAttr pattern,
                   mlir::Value length, mlir::Value offset);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_ROWORDER_H
