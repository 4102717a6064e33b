//===- Visibility.cpp - Which keys a tile of queries sees -----------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rule B4 row by row. The closed forms that a lowering uses are what this is
// to be compared with, so there are none here.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Rows.h"

#include <algorithm>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

namespace {
/// The positions that a query may see: [first, last].
struct Span {
  Wide first, last;
};

struct Conditions {
  bool causal;
  std::optional<ArrayRef<int64_t>> window;

  /// `lowest` and `highest` (one past) bound all keys.
  Span span(Wide query, Wide lowest, Wide highest) const {
    Span span{lowest, highest - 1};
    if (causal)
      span.last = std::min(span.last, query);
    if (window && (*window)[0] >= 0)
      span.first = std::max(span.first, query - (*window)[0]);
    if (window && (*window)[1] >= 0)
      span.last = std::min(span.last, query + (*window)[1]);
    return span;
  }
};
} // namespace

/// Positions of the rows [first, first + count) that exist.
static SmallVector<std::optional<Wide>>
positionsOf(const Rows &rows, int64_t first, int64_t count) {
  SmallVector<std::optional<Wide>> positions(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t row;
    if (!__builtin_add_overflow(first, i, &row))
      positions[i] = rows.position(row);
  }
  return positions;
}

static LogicalResult runVisible(Machine &machine,
                                const Instruction &instruction) {
  auto op = cast<rtile::VisibleOp>(instruction.op);
  const View &queryView = machine.operand(instruction, 0).view;
  int64_t queryRow = machine.scalar(instruction, 1);
  const View &keyView = machine.operand(instruction, 2).view;
  int64_t keyRow = machine.scalar(instruction, 3);
  auto queryType = op.getQuery().getType(), keyType = op.getKey().getType();
  Rows queryRows(queryView, queryType), keyRows(keyView, keyType);
  auto queries = positionsOf(queryRows, queryRow, queryType.getShape()[0]);
  auto keys = positionsOf(keyRows, keyRow, keyType.getShape()[0]);
  Conditions conditions{op.getCausal(), op.getWindow()};
  std::vector<int64_t> &result = machine.intResult(instruction);
  size_t next = 0;
  for (std::optional<Wide> query : queries) {
    Span span{0, -1};
    if (query)
      span = conditions.span(*query, keyRows.lowest(), keyRows.highest());
    for (std::optional<Wide> key : keys) {
      bool seen = query && key && *key >= span.first && *key <= span.last;
      result[next++] = -static_cast<int64_t>(seen);
    }
  }
  return success();
}

static LogicalResult runRun(Machine &machine, const Instruction &instruction) {
  auto op = cast<rtile::RunOp>(instruction.op);
  const View &queryView = machine.operand(instruction, 0).view;
  int64_t row = machine.scalar(instruction, 1);
  const View &keyView = machine.operand(instruction, 2).view;
  auto queryType = op.getQuery().getType(), keyType = op.getKey().getType();
  Rows queryRows(queryView, queryType), keyRows(keyView, keyType);
  Conditions conditions{op.getCausal(), op.getWindow()};

  // Key rows that any query sees, and those that every one sees, half-open.
  bool any = false, none = true;
  Wide begin = 0, end = 0, wholeBegin = 0, wholeEnd = 0;
  for (std::optional<Wide> query :
       positionsOf(queryRows, row, queryType.getShape()[0])) {
    if (!query)
      continue;
    Span span = conditions.span(*query, keyRows.lowest(), keyRows.highest());
    Wide first = keyRows.firstRowAt(span.first);
    Wide last = std::max(first, keyRows.firstRowAt(span.last + 1));
    wholeBegin = none ? first : std::max(wholeBegin, first);
    wholeEnd = none ? last : std::min(wholeEnd, last);
    none = false;
    if (first == last)
      continue;
    begin = any ? std::min(begin, first) : first;
    end = any ? std::max(end, last) : last;
    any = true;
  }
  if (!any) {
    begin = end = std::clamp<Wide>(keyRows.begin(), INT64_MIN, INT64_MAX);
    wholeBegin = wholeEnd = begin;
  }

  // Whole steps, counted from begin.
  int64_t step = keyType.getShape()[0];
  Wide firstStep = (wholeBegin - begin + step - 1) / step;
  Wide lastStep = std::max(firstStep, (wholeEnd - begin) / step);
  const Options &options = machine.run.options;
  if (options.chooseFreely) {
    uint64_t choice = mix(options.seed.value_or(0),
                          {queryView.origin, queryView.segment,
                           queryView.residue, keyView.origin, row, 2});
    if (!any) {
      begin += static_cast<int64_t>(choice % 301) - 150;
      end = begin - static_cast<int64_t>(choice / 301 % 40);
    } else {
      // Fewer steps may be called whole, but the first of them comes first
      // where no left window hides keys.
      auto pick = [&](Wide bound) {
        choice = mix(choice, {3});
        return static_cast<int64_t>(
            choice % static_cast<uint64_t>(static_cast<int64_t>(bound) + 1));
      };
      lastStep -= pick(lastStep - firstStep);
      if (op.getWindow() && (*op.getWindow())[0] >= 0)
        firstStep += pick(lastStep - firstStep);
    }
  }
  if (firstStep == lastStep)
    firstStep = lastStep = 0;
  Wide results[] = {begin, begin + firstStep * step, begin + lastStep * step,
                    end};
  for (unsigned i = 0; i < 4; ++i) {
    if (results[i] != static_cast<int64_t>(results[i]))
      return machine.fail(
          instruction, "expected rows within 64 bits for "
                       "segment " +
                           Twine(keyView.segment) + " and origin " +
                           Twine(keyView.origin) + ", found an overflow (S3)");
    machine.intResult(instruction, i)[0] = static_cast<int64_t>(results[i]);
  }
  return success();
}

void interpreter::registerVisibility(HandlerTable &table) {
  table["rtile.run"] = runRun;
  table["rtile.visible"] = runVisible;
}
