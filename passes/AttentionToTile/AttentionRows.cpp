//===- AttentionRows.cpp - Where queries and keys lie -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/AttentionRows.h"

#include "lib/Layout/IndexTable.h"
#include "passes/AttentionToTile/Kernels.h"
#include "passes/AttentionToTile/SequenceRows.h"

using namespace mlir;
using namespace ringlet;

AttentionRows::AttentionRows(HostPlan &plan, const Twine &name,
                             attn::AttentionOp op, const SequenceLists &lists,
                             Value queryRows, Value keyRows, Value queryOffset)
    : plan(plan), name(name.str()), op(op), lists(lists), queryRows(queryRows),
      keyRows(keyRows), queryOffset(queryOffset),
      queryOrder(dropIdentity(rlayout::getOrder(op.getQuery().getType()))),
      keyOrder(dropIdentity(rlayout::getOrder(op.getKey().getType()))),
      pattern(dropIdentity(op.getPatternOrderAttr())),
      queries(plan, queryRows, queryOffset, queryOrder, pattern,
              hasPositionsOfSequence(op)),
      keys(plan, keyRows, plan.constant(0), keyOrder, pattern) {}

void AttentionRows::requirePositions() {
  rlayout::OrderAttr order = op.getPatternOrderAttr();
  if (!order || order.getOrder()->period() == 0)
    return;
  bool knowsFirst = !hasPositionsOfSequence(op);
  if (knowsFirst)
    requireFirstPosition(plan, queryOffset);
  else
    plan.requireAtMost(queryRows, plan.constant(layout::RankTable::longest),
                       "expected at most 2^30 rows of sequences under a "
                       "pattern order (O2)");
  if (knowsFirst && !op.isPacked())
    requireVolume(plan, order, queryRows, queryOffset);
  if (!op.isPacked())
    requireVolume(plan, order, keyRows, plan.constant(0));
}

/// Whether the ranks or rows of a side are not the same in each sequence.
bool AttentionRows::areRowsOfSequences(bool ofQueries) const {
  if (pattern)
    return lists.haveLengths() || (ofQueries && hasPositionsOfSequence(op));
  return lists.arePacked() && (ofQueries ? queryOrder : keyOrder);
}

Value AttentionRows::getRankCount() const {
  // Those of the grid, and before it at most as many as there are rows.
  bool isOpen = pattern && !lists.arePacked() && hasPositionsOfSequence(op);
  if (isOpen)
    return plan.add(queryRows, plan.constant(pattern.getOrder()->period()));
  return lists.arePacked() ? queryRows : queries.getCount();
}

RowOrder AttentionRows::getQueries(const BranchSizes &sizes) {
  return getRows(queries, /*ofQueries=*/true, sizes);
}

RowOrder AttentionRows::getKeys(const BranchSizes &sizes) {
  return getRows(keys, /*ofQueries=*/false, sizes);
}

RowOrder AttentionRows::getRows(RankedSequence &side, bool ofQueries,
                                const BranchSizes &sizes) {
  if (areRowsOfSequences(ofQueries)) {
    std::optional<RowOrder> &made =
        ofQueries ? queriesOfSequences : keysOfSequences;
    if (!made)
      made = makeRowsOfSequences(ofQueries);
    return *made;
  }
  bool masked = op.getCausal() || op.getWindow() || op.getGridWindow() ||
                queries.hasGaps() || keys.hasGaps() ||
                (pattern && areRowsOfSequences(/*ofQueries=*/true));
  return side.getRows(sizes, masked);
}

RowOrder AttentionRows::makeRowsOfSequences(bool ofQueries) {
  SequenceSide side;
  side.lists = lists;
  side.queryRows = queryRows;
  side.keyRows = keyRows;
  side.queryOffset = queryOffset;
  side.hasPositions = hasPositionsOfSequence(op);
  side.ofQueries = ofQueries;
  side.memory = ofQueries ? queryOrder : keyOrder;
  std::string kernel = name + (ofQueries ? "_query_rows" : "_key_rows");
  if (pattern)
    return emitRanksOfSequences(plan, kernel, side, pattern);
  RowOrder result;
  result.rows = emitSlotsOfSequences(plan, kernel, side);
  return result;
}

Value AttentionRows::getQuerySlots() {
  return lists.arePacked() ? Value() : queries.getSlots();
}
