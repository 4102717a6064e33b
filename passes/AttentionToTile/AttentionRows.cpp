//===- AttentionRows.cpp - Where queries and keys lie -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/AttentionRows.h"

#include "lib/Layout/IndexTable.h"
#include "passes/AttentionToTile/SequenceRows.h"

using namespace mlir;
using namespace ringlet;

AttentionRows::AttentionRows(HostPlan &plan, attn::AttentionOp op,
                             const SequenceLists &lists, Value queryRows,
                             Value keyRows, Value queryOffset)
    : plan(plan), op(op), lists(lists), queryRows(queryRows), keyRows(keyRows),
      queryOffset(queryOffset),
      queryOrder(dropIdentity(rlayout::getOrder(op.getQuery().getType()))),
      keyOrder(dropIdentity(rlayout::getOrder(op.getKey().getType()))),
      pattern(op.getOrdinalOrder()),
      queries(plan, queryRows, queryOffset, queryOrder, pattern,
              hasPositionsOfSequence(op)),
      keys(plan, keyRows, plan.constant(0), keyOrder, pattern,
           bool(op.getKeyBegins())),
      ordinalCount(queries.getCount()) {
  if (lists.arePacked())
    ordinalCount = queryRows;
  else if (pattern && hasPositionsOfSequence(op))
    // Those of the grid, and before it at most as many as there are rows.
    ordinalCount =
        plan.add(queryRows, plan.constant(pattern.getOrder()->period()));
}

void AttentionRows::requirePositions() {
  rlayout::OrderAttr order = op.getPatternOrderAttr();
  if (!order || order.getOrder()->period() == 0)
    return;
  bool knowsFirst = !hasPositionsOfSequence(op);
  if (knowsFirst)
    requireFirstPosition(plan, queryOffset);
  else
    plan.requireAtMost(
        queryRows, plan.constant(layout::OrdinalTable::longest),
        "expected at most 2^30 rows of sequences under a pattern order", "O2");
  if (knowsFirst && !op.isPacked())
    requireVolume(plan, order, queryRows, queryOffset);
  if (!op.isPacked())
    requireVolume(plan, order, keyRows, plan.constant(0));
}

bool AttentionRows::areOfSequences(Side side) const {
  // Where some keys are behind all that queries see, a kernel leaves them out:
  // a table of the host would be another one for each q_offset.
  if (pattern)
    return lists.haveLengths() ||
           (side == Side::Query ? hasPositionsOfSequence(op)
                                : getReachOfQueries(op).has_value());
  return lists.arePacked() && getMemory(side);
}

int64_t AttentionRows::getOrdinalsOfSequence(Side side) const {
  return areOfSequences(side) ? getVolume() : 0;
}

RowOrder AttentionRows::getRows(Side side, const BranchSizes &sizes) {
  if (areOfSequences(side))
    return *getTable(side);
  bool masked = op.getCausal() || op.getWindow() || op.getGridWindow() ||
                queries.hasGaps() || keys.hasGaps() ||
                (pattern && areOfSequences(Side::Query));
  return (side == Side::Query ? queries : keys).getRows(sizes, masked);
}

void AttentionRows::emitTable(const Twine &name, Side ofSide) {
  SequenceSide side;
  side.lists = lists;
  side.queryRows = queryRows;
  side.keyRows = keyRows;
  side.queryOffset = queryOffset;
  side.hasPositions = hasPositionsOfSequence(op);
  side.reach = getReachOfQueries(op);
  side.side = ofSide;
  side.memory = getMemory(ofSide);
  RowOrder table;
  if (pattern)
    table = emitOrdinalsOfSequences(plan, name, side, pattern);
  else
    table.rows = emitSlotsOfSequences(plan, name, side);
  getTable(ofSide) = table;
}

Value AttentionRows::getQuerySlots() {
  return lists.arePacked() ? Value() : queries.getSlots();
}
