//===- RowOrder.cpp - Where the rows of a sequence lie -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/RowOrder.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ringlet;

rlayout::OrderAttr ringlet::dropIdentity(rlayout::OrderAttr order) {
  return order && order.isIdentity() ? nullptr : order;
}

SequenceOrdinals::SequenceOrdinals(HostPlan &plan, Value length, Value offset,
                                   rlayout::OrderAttr memory,
                                   rlayout::OrderAttr pattern, bool isMoved)
    : plan(plan), length(length), offset(offset), memory(dropIdentity(memory)),
      pattern(dropIdentity(pattern)), isMoved(isMoved), first(offset),
      count(length) {
  if (!this->pattern)
    return;
  // An ordinal before the grid is the position of a query before the keys.
  first = plan.min(offset, plan.constant(0));
  count = plan.sub(plan.constant(pattern.getOrder()->period()), first);
}

bool SequenceOrdinals::hasGaps() const {
  std::optional<int64_t> rows = getConstant(length),
                         ordinals = getConstant(count);
  return pattern && !(rows && ordinals && *rows == *ordinals);
}

Value SequenceOrdinals::getSlots() {
  if (memory && !slots)
    slots = plan.orderTable(memory, length, /*inverse=*/true);
  return slots;
}

Value SequenceOrdinals::getTable(Value &table, bool ofRows) {
  if (!table)
    table = ofRows ? plan.ordinalTable(pattern, first, length, offset, memory)
                   : plan.ordinalTable(pattern, first);
  return table;
}

RowOrder SequenceOrdinals::getRows(const BranchSizes &sizes, bool masked) {
  bool isAtZero = getConstant(offset) == 0 && !isMoved;
  if (!pattern) {
    if (!memory)
      return {};
    if (sizes.areKnown() &&
        memory.getOrder()->rowStep(sizes.getW(), sizes.getR(), isAtZero))
      return {memory, nullptr, nullptr};
    return {nullptr, getSlots(), nullptr};
  }
  RowOrder result;
  if (masked)
    result.positions = getTable(positions, /*ofRows=*/false);
  // A token in linear order lies at its position, one in the order of ordinals
  // at its ordinal.
  if (!memory && isAtZero)
    result.rows = getTable(positions, /*ofRows=*/false);
  else if (memory != pattern || !isAtZero || hasGaps())
    result.rows = getTable(rows, /*ofRows=*/true);
  return result;
}

/// How rows are found.
static std::string describe(const RowOrder &rows) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (rows.order)
    stream << "at equal distances in " << rows.order;
  else
    stream << (rows.rows ? "from a table" : "by ordinal");
  if (rows.positions)
    stream << ", their positions from a table";
  return text;
}

void ringlet::reportRows(attn::AttentionOp op, unsigned branch,
                         const RowOrder &queries, const RowOrder &keys) {
  auto isPlain = [](const RowOrder &rows) {
    return !rows.order && !rows.rows && !rows.positions;
  };
  if (isPlain(queries) && isPlain(keys))
    return;
  remark::passed(
      op.getLoc(),
      remark::RemarkOpts::name("RowOrder").category("ringlet-to-rtile"))
      << remark::metric("branch", branch)
      << llvm::formatv("branch {0}: query rows {1}; key rows {2}", branch,
                       describe(queries), describe(keys))
             .str();
}

Value ringlet::requireLength(HostPlan &plan, Value size,
                             rlayout::OrderAttr memory) {
  if (!memory)
    return size;
  std::shared_ptr<const layout::Order> order = memory.getOrder();
  if (order->spec().chunk != 0 || order->period() == 0)
    return size;
  Value volume = plan.constant(order->period());
  plan.requireEqual(size, volume,
                    "expected a length of the volume of the order", "O1");
  return volume;
}

void ringlet::requireFirstPosition(HostPlan &plan, Value offset) {
  // Each ordinal before the grid has an entry in a table.
  plan.requireAtMost(
      plan.constant(-kMostOrdinalsBefore), offset,
      "expected a q_offset of at least -2^24 under a pattern order", "S1");
}

void ringlet::requireVolume(HostPlan &plan, rlayout::OrderAttr pattern,
                            Value length, Value offset) {
  int64_t volume = pattern.getOrder()->period();
  if (volume == 0)
    return;
  // No tokens have no positions.
  Value some = plan.min(length, plan.constant(1));
  plan.requireAtMost(
      plan.mul(some, plan.add(offset, length)), plan.constant(volume),
      "expected a pattern order whose volume exceeds every position", "O2");
}
