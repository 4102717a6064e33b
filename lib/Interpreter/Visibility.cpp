//===- Visibility.cpp - Which keys a tile of queries sees -----------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules B4 to B6 row by row. The closed forms that a lowering uses are what
// this is to be compared with, so there are none here.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Rows.h"

#include "lib/Layout/Dilation.h"
#include "lib/Layout/Grid.h"

#include <algorithm>
#include <map>

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

  /// The span of a query at `query`, as far as `keys` can have positions.
  Span span(Wide query, const Rows &keys) const {
    constexpr Wide farthest = Wide(1) << 100;
    Span span{-farthest, farthest};
    if (!keys.hasPositions())
      span = {keys.lowest(), keys.highest() - 1};
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

namespace {
/// A row that exists.
struct Token {
  Wide ordinal, position;
  /// Coordinates on the grid, if there is one.
  std::vector<int64_t> cell;
};
} // namespace

/// The rows [first, first + count), of those that exist.
static SmallVector<std::optional<Token>>
tokensOf(const Rows &rows, int64_t first, int64_t count) {
  SmallVector<std::optional<Token>> tokens(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t row;
    if (__builtin_add_overflow(first, i, &row))
      break;
    if (std::optional<Place> place = rows.place(row))
      tokens[i] = Token{rows.ordinal(row), place->position, {}};
  }
  return tokens;
}

namespace {
/// Who sees whom, as far as positions say it (B4 and B5).
class Sight {
public:
  template <typename OpTy>
  explicit Sight(OpTy op) : conditions{op.getCausal(), op.getWindow()} {
    if (!op.getGrid())
      return;
    sides.assign(op.getGrid()->begin(), op.getGrid()->end());
    reach = *op.getReach();
  }

  /// Gives each token its cell.
  LogicalResult place(Machine &machine, const Instruction &instruction,
                      MutableArrayRef<std::optional<Token>> tokens) const;
  bool sees(const Token &query, const Token &key, const Rows &keys) const {
    Span span = conditions.span(query.position, keys);
    if (key.position < span.first || key.position > span.last)
      return false;
    for (size_t axis = 0; axis < reach.size(); ++axis)
      if (std::abs(query.cell[axis] - key.cell[axis]) > reach[axis])
        return false;
    return true;
  }

private:
  Conditions conditions;
  std::vector<int64_t> sides;
  ArrayRef<int64_t> reach;
};
} // namespace

LogicalResult Sight::place(Machine &machine, const Instruction &instruction,
                           MutableArrayRef<std::optional<Token>> tokens) const {
  if (sides.empty())
    return success();
  int64_t volume = *layout::gridVolume(sides);
  for (std::optional<Token> &token : tokens) {
    if (!token)
      continue;
    auto position = static_cast<int64_t>(token->position);
    if (position < 0 || position >= volume)
      return machine.fail(instruction, "expected positions on a grid of " +
                                           Twine(volume) + " cells, found " +
                                           Twine(position) + " (B5)");
    token->cell = layout::gridCell(sides, position);
  }
  return success();
}

static LogicalResult runVisible(Machine &machine,
                                const Instruction &instruction) {
  auto op = cast<rtile::VisibleOp>(instruction.op);
  const View &queryView = machine.operand(instruction, 0).view;
  int64_t queryRow = machine.scalar(instruction, 1);
  const View &keyView = machine.operand(instruction, 2).view;
  int64_t keyRow = machine.scalar(instruction, 3);
  auto queryType = op.getQuery().getType(), keyType = op.getKey().getType();
  Rows queryRows(queryView), keyRows(keyView);
  auto queries = tokensOf(queryRows, queryRow, queryType.getShape()[0]);
  auto keys = tokensOf(keyRows, keyRow, keyType.getShape()[0]);
  Sight sight(op);
  if (failed(sight.place(machine, instruction, queries)) ||
      failed(sight.place(machine, instruction, keys)))
    return failure();
  auto isSet = [&](const Token &query, const Token &key) -> FailureOr<bool> {
    if (!op.getBlocks())
      return true;
    auto block = [&](const Token &token, unsigned side) {
      return layout::floorDiv(static_cast<int64_t>(token.ordinal),
                              (*op.getBlockSize())[side]);
    };
    return readBlock(machine, instruction,
                     *machine.operand(instruction, 4).buffer, block(query, 0),
                     block(key, 1));
  };
  std::vector<int64_t> &result = machine.intResult(instruction);
  size_t next = 0;
  for (const std::optional<Token> &query : queries)
    for (const std::optional<Token> &key : keys) {
      bool seen = query && key && sight.sees(*query, *key, keyRows);
      if (seen) {
        FailureOr<bool> set = isSet(*query, *key);
        if (failed(set))
          return failure();
        seen = *set;
      }
      result[next++] = -static_cast<int64_t>(seen);
    }
  return success();
}

/// Reads a list, and checks what it says of every key of the view.
static LogicalResult runList(Machine &machine, const Instruction &instruction) {
  auto op = cast<rtile::ListOp>(instruction.op);
  const Buffer &index = *machine.operand(instruction, 0).buffer;
  auto read = [&](int64_t place) -> FailureOr<int64_t> {
    FailureOr<const char *> address =
        findElement(machine, instruction, index, {place});
    if (failed(address))
      return failure();
    return loadInt(*address, DType::i64, 0);
  };
  int64_t number = machine.scalar(instruction, 1), header;
  if (__builtin_mul_overflow(number, 2, &header) || header > INT64_MAX - 2)
    return machine.fail(instruction,
                        "expected a list of the index, found " + Twine(number));
  int64_t bounds[3];
  for (int64_t i = 0; i < 3; ++i) {
    FailureOr<int64_t> bound = read(header + i);
    if (failed(bound))
      return failure();
    machine.intResult(instruction, i)[0] = bounds[i] = *bound;
  }
  std::map<int64_t, bool> isWhole;
  for (int64_t place = bounds[0]; place < bounds[2]; ++place) {
    FailureOr<int64_t> row = read(place);
    if (failed(row))
      return failure();
    isWhole[*row] = place < bounds[1];
  }

  auto queryType = op.getQuery().getType(), keyType = op.getKey().getType();
  Rows queryRows(machine.operand(instruction, 2).view);
  Rows keyRows(machine.operand(instruction, 4).view);
  auto queries = tokensOf(queryRows, machine.scalar(instruction, 3),
                          queryType.getShape()[0]);
  Sight sight(op);
  if (failed(sight.place(machine, instruction, queries)))
    return failure();
  int64_t height = keyType.getShape()[0];
  // An index knows nothing of an end that the kernel reads.
  auto keyView = op.getKey().getDefiningOp<rtile::ViewOp>();
  bool mayEnd = keyView && keyView.getEnd();
  // In a segment before the keys, rows that exist would begin far behind 0.
  Wide first = std::max<Wide>(keyRows.begin(), 0) / height * height;
  for (Wide row = first; row < keyRows.end(); row += height) {
    auto keys = tokensOf(keyRows, static_cast<int64_t>(row), height);
    if (failed(sight.place(machine, instruction, keys)))
      return failure();
    bool any = false, all = true;
    for (const std::optional<Token> &query : queries)
      for (const std::optional<Token> &key : keys) {
        bool seen = query && key && sight.sees(*query, *key, keyRows);
        any |= seen;
        all &= seen || !query || (!key && mayEnd);
      }
    auto entry = isWhole.find(static_cast<int64_t>(row));
    if (entry == isWhole.end() ? any : entry->second && !all)
      return machine.fail(instruction,
                          "expected list " + Twine(number) +
                              " of the index to say what the query tile sees "
                              "of the keys from row " +
                              Twine(static_cast<int64_t>(row)) + " on, found " +
                              (any ? "no entry or a whole tile for some of "
                                     "them"
                                   : "a whole tile for none of them"));
  }
  return success();
}

/// The steps of the part that `op` asks for, of a run of `steps` steps from
/// `begin` to `end`.
static LogicalResult findPart(Machine &machine, const Instruction &instruction,
                              rtile::RunOp op, Wide begin, Wide end, Wide steps,
                              Wide &first, Wide &last) {
  int64_t number = machine.scalar(instruction, 3);
  int64_t parts = machine.scalar(instruction, 4);
  if (number < 0 || number >= parts)
    return machine.fail(instruction, "expected a part from 0 to " +
                                         Twine(parts - 1) + ", found " +
                                         Twine(number));
  first = number * steps / parts;
  last = (number + 1) * steps / parts;
  return success();
}

static LogicalResult runRun(Machine &machine, const Instruction &instruction) {
  auto op = cast<rtile::RunOp>(instruction.op);
  const View &queryView = machine.operand(instruction, 0).view;
  int64_t row = machine.scalar(instruction, 1);
  const View &keyView = machine.operand(instruction, 2).view;
  auto queryType = op.getQuery().getType(), keyType = op.getKey().getType();
  Rows queryRows(queryView), keyRows(keyView);
  Conditions conditions{op.getCausal(), op.getWindow()};

  // Key rows that any query sees, and those that every one sees, half-open.
  bool any = false, none = true;
  Wide begin = 0, end = 0, wholeBegin = 0, wholeEnd = 0;
  for (const std::optional<Token> &query :
       tokensOf(queryRows, row, queryType.getShape()[0])) {
    if (!query || keyRows.hasPositions())
      continue;
    Span span = conditions.span(query->position, keyRows);
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
  if (keyRows.hasPositions()) {
    begin = wholeBegin = wholeEnd = keyRows.begin();
    end = keyRows.end();
    any = begin < end;
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
  if (!op.getPart().empty()) {
    // No steps where nothing is seen, wherever that is said to begin.
    Wide steps = any ? (end - begin + step - 1) / step : 0;
    Wide first = 0, last = 0;
    if (failed(
            findPart(machine, instruction, op, begin, end, steps, first, last)))
      return failure();
    Wide endOfAll = end;
    end = any ? std::min(end, begin + last * step) : end;
    begin += first * step;
    if (any && first == last)
      begin = end = endOfAll;
    firstStep = std::clamp<Wide>(firstStep - first, 0, last - first);
    lastStep = std::clamp<Wide>(lastStep - first, firstStep, last - first);
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
  table["rtile.list"] = runList;
}
