//===- EmitTiles.cpp - Operations on tiles in registers -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileCode/Elementwise.h"
#include "passes/TileToNVVM/TileEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

Fragment TileEmitter::unpack(Value value) {
  RankedTensorType tile = getTile(value);
  if (visible.contains(value))
    return expandVisible(value);
  if (!isPacked(tile))
    return fragments[value];
  Fragment elements;
  Type pair = b.getVector(tile.getElementType(), 2);
  for (Value word : fragments[value]) {
    Value both = LLVM::BitcastOp::create(b, pair, word);
    elements.push_back(b.extract(both, 0));
    elements.push_back(b.extract(both, 1));
  }
  return elements;
}

void TileEmitter::bindUnpacked(Value value, Fragment elements) {
  if (!isPacked(getTile(value))) {
    fragments[value] = std::move(elements);
    return;
  }
  Fragment words;
  for (size_t index = 0; index < elements.size(); index += 2)
    words.push_back(b.toWord(b.pair(elements[index], elements[index + 1])));
  fragments[value] = std::move(words);
}

void TileEmitter::emitConstant(arith::ConstantOp op) {
  auto splat = cast<SplatElementsAttr>(op.getValue());
  Value value = arith::ConstantOp::create(
      b, cast<TypedAttr>(splat.getSplatValue<Attribute>()));
  bindUnpacked(op, Fragment(layout.elements(getTile(op)), value));
}

Value TileEmitter::toF32(Value value) {
  Type type = value.getType();
  return isa<FloatType>(type) && !type.isF32()
             ? b.convertFloat(b.getF32Type(), value)
             : value;
}

Value TileEmitter::emitElement(Operation *op, Fragment operands) {
  Type element = getTile(op->getResult(0)).getElementType();
  // These round once or not at all; all others compute in f32.
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return operands[0].getType() == element
               ? operands[0]
               : b.convertFloat(element, operands[0]);
  if (isa<arith::SelectOp>(op))
    return b.select(operands[0], operands[1], operands[2]);
  for (Value &operand : operands)
    operand = toF32(operand);
  // Instructions that GPUs have and vectors of a CPU do not.
  Value value = emitOwn(op, operands);
  if (!value)
    value = isa<math::Exp2Op>(op)        ? b.exp2(operands[0])
            : isa<math::TanhOp>(op)      ? b.tanh(operands[0])
            : isa<arith::MaximumFOp>(op) ? b.maximum(operands[0], operands[1])
            : isa<arith::MinimumFOp>(op) ? b.minimum(operands[0], operands[1])
            : isa<arith::DivFOp>(op)
                ? arith::DivFOp::create(b, operands[0], operands[1]).getResult()
                : code::emitElementwise(b, op, operands);
  return value.getType() == element ? value : b.convertFloat(element, value);
}

void TileEmitter::emitElementwise(Operation *op) {
  Value result = op->getResult(0);
  Fragment code;
  SmallVector<Fragment> tiles;
  for (Value operand : op->getOperands())
    tiles.push_back(getTile(operand) && !visible.contains(operand)
                        ? unpack(operand)
                        : Fragment());
  for (int64_t index = 0; index < layout.elements(getTile(result)); ++index) {
    Fragment operands;
    for (auto [operand, tile] : llvm::zip(op->getOperands(), tiles))
      operands.push_back(!tile.empty() ? tile[index]
                         : visible.contains(operand)
                             ? getElement(operand, index)
                             : getScalar(operand));
    code.push_back(emitElement(op, std::move(operands)));
  }
  bindUnpacked(result, std::move(code));
}

void TileEmitter::emitReduce(rtile::ReduceOp op) {
  RankedTensorType tile = getTile(op.getInput());
  const Fragment &input = fragments[op.getInput()];
  int64_t width = tile.getDimSize(1), blocks = Fragments::columnBlocks(width);
  double infinity = std::numeric_limits<double>::infinity();
  double neutral = op.getKind() == rtile::ReduceKind::sum   ? 0.0
                   : op.getKind() == rtile::ReduceKind::max ? -infinity
                                                            : infinity;
  auto combine = [&](Value x, Value y) -> Value {
    switch (op.getKind()) {
    case rtile::ReduceKind::sum:
      return arith::AddFOp::create(b, x, y);
    case rtile::ReduceKind::max:
      return b.maximum(x, y);
    case rtile::ReduceKind::min:
      return b.minimum(x, y);
    }
    llvm_unreachable("every kind is handled");
  };
  Fragment result;
  for (int64_t row = 0; row < 2 * layout.rowBlocks(tile.getDimSize(0)); ++row) {
    SmallVector<Value> values;
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t which = 0; which < 2; ++which) {
        Value value =
            input[((row / 2) * blocks + block) * 4 + (row % 2) * 2 + which];
        if (Value inside = isInside(width, block, which))
          value = b.select(inside, value, b.real(b.getF32Type(), neutral));
        values.push_back(value);
      }
    // Several chains: they stay short and sums accurate, and few registers hold
    // what is between.
    for (size_t chains : {4, 2, 1}) {
      for (size_t index = chains; index < values.size(); ++index)
        values[index % chains] = combine(values[index % chains], values[index]);
      values.truncate(std::min(chains, values.size()));
    }
    for (int64_t mask : {1, 2})
      values[0] = combine(values[0], b.shuffleXor(values[0], mask));
    result.push_back(values[0]);
  }
  fragments[op] = std::move(result);
}

void TileEmitter::emitBroadcast(rtile::BroadcastOp op) {
  RankedTensorType tile = getTile(op);
  int64_t blocks = Fragments::columnBlocks(tile.getDimSize(1));
  Fragment result;
  const Fragment &input = fragments[op.getInput()];
  for (int64_t row = 0; row < layout.rowBlocks(tile.getDimSize(0)); ++row)
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t which = 0; which < 4; ++which)
        result.push_back(input[2 * row + which / 2]);
  bindUnpacked(op, std::move(result));
}

Value TileEmitter::getElement(Value value, int64_t index) {
  auto mask = visible.find(value);
  if (mask == visible.end())
    return fragments[value][index];
  return isVisible(mask->second,
                   Fragments::columnBlocks(getTile(value).getDimSize(1)),
                   index);
}

/// Each row sees an interval of columns: its ends are computed once, and an
/// element costs two comparisons.
TileEmitter::Intervals TileEmitter::getIntervals(rtile::VisibleOp op) {
  const View &query = views[op.getQuery()], &key = views[op.getKey()];
  PositionBuilder position(b, b.getI64Type());
  Value queryRow = getScalar(op.getQueryRow());
  Value keyRow = getScalar(op.getKeyRow());
  // Position of the tile's first row, counted from that of its first column.
  Value keyOrdinal = getOrdinal(key, keyRow);
  Value distance = b.sub(getOrdinal(query, queryRow), keyOrdinal);
  Value first = b.clampToI32(b.max(b.sub(key.rows.begin, keyRow), b.i64(0)));
  Value last = b.clampToI32(b.sub(key.rows.end, keyRow));
  Value existBegin = b.clampToI32(b.sub(query.rows.begin, queryRow));
  Value existEnd = b.clampToI32(b.sub(query.rows.end, queryRow));
  Value right, left;
  if (auto limit = getRightLimit(op.getCausal(), op.getWindow()))
    right = b.clampToI32(position.add(
        position.floorDiv(position.add(distance, *limit), key.rows.rate), 1));
  if (auto limit = getLeftLimit(op.getWindow()))
    left = b.clampToI32(
        position.ceilDiv(position.add(distance, -*limit), key.rows.rate));

  // Lines of groups, counted from that of the tile's first row.
  Value member;
  if (query.memberStride)
    member = b.toI32(
        b.sub(queryRow, position.mul(getLine(position, query.rows, queryRow),
                                     query.rows.group)));
  Intervals intervals;
  int64_t rows = layout.rowBlocks(getTile(op).getDimSize(0));
  for (int64_t row = 0; row < 2 * rows; ++row) {
    Value index = getRowIndex(row / 2, row % 2), line = index;
    if (member)
      line = b.divUnsigned(b.add(index, member), query.rows.group);
    Value low = left ? b.max(first, b.add(line, left)) : first;
    Value high = right ? b.min(last, b.add(line, right)) : last;
    // Rows that do not exist see nothing.
    Value exists = b.inRange(existBegin, index, existEnd);
    high = b.select(exists, high, b.i32(0));
    // Counted from the first column of the thread, so that columns are numbers
    // that the assembler knows.
    high = b.sub(high, laneColumn);
    intervals.emplace_back(b.sub(low, laneColumn), high);
  }
  return intervals;
}

//===----------------------------------------------------------------------===//
// Masks by element
//===----------------------------------------------------------------------===//

Value TileEmitter::getOrdinal(const View &view, Value row) {
  PositionBuilder position(b, b.getI64Type());
  return ringlet::getOrdinal(position, view.rows, row);
}

TileEmitter::Token TileEmitter::getToken(rtile::VisibleOp op, bool isKey,
                                         Value index) {
  const View &view = views[isKey ? op.getKey() : op.getQuery()];
  Token token;
  Value below = b.toI64(index);
  Value row =
      b.add(getScalar(isKey ? op.getKeyRow() : op.getQueryRow()), below);
  Value position = getOrdinal(view, row);
  if (op.getBlocks())
    token.block =
        arith::DivUIOp::create(b, position, b.i64((*op.getBlockSize())[isKey]));
  if (view.positions) {
    token.exists = b.inRange(view.rows.begin, row, view.rows.end);
    if (view.indices)
      token.exists = b.both(
          token.exists,
          code::isIndex(b, view,
                        loadEntry(view, view.indices, row, token.exists)));
    position = loadEntry(view, view.positions, row, token.exists);
    token.position = b.toI32(position);
  }
  if (op.getGrid())
    token.cell = getGridCell(b, position, *op.getGrid());
  return token;
}

/// Whether a key with a position is seen from a query with one (B4).
Value TileEmitter::seesPosition(rtile::VisibleOp op, const Token &query,
                                const Token &key) {
  // Positions lie within +-2^30: no distance is greater than this.
  constexpr int64_t farthest = std::numeric_limits<int32_t>::max();
  auto getLimit = [](std::optional<int64_t> limit) -> std::optional<int64_t> {
    return limit && *limit < farthest ? limit : std::nullopt;
  };
  Value distance = b.sub(key.position, query.position);
  Value seen = b.both(query.exists, key.exists);
  if (auto right = getLimit(getRightLimit(op.getCausal(), op.getWindow())))
    seen = b.both(seen, b.lessEqual(distance, b.i32(*right)));
  if (auto left = getLimit(getLeftLimit(op.getWindow())))
    seen = b.both(seen, b.lessEqual(b.i32(-*left), distance));
  return seen;
}

/// Whether the cells of two rows that exist are near on each axis (B5).
Value TileEmitter::isNear(rtile::VisibleOp op, const Token &query,
                          const Token &key) {
  Value near;
  for (auto [axis, from, to] : llvm::enumerate(query.cell, key.cell)) {
    int64_t far = getGridReach(*op.getGrid(), *op.getReach(), axis);
    auto integer = [&](int64_t value) {
      return b.integer(to.getType(), value);
    };
    // From 0 to twice the reach, without sign.
    Value distance = b.add(b.sub(to, from), integer(far));
    Value inside =
        b.compare(arith::CmpIPredicate::ule, distance, integer(2 * far));
    near = near ? b.both(near, inside) : inside;
  }
  return near;
}

void TileEmitter::emitVisible(rtile::VisibleOp op) {
  bool byPosition = bool(views[op.getKey()].positions);
  Intervals intervals;
  if (!byPosition)
    intervals = getIntervals(op);
  if (!byPosition && !op.getGrid() && !op.getBlocks()) {
    // Each element is compared where it is used: there are more of them than
    // predicate registers.
    visible[op] = std::move(intervals);
    return;
  }
  RankedTensorType tile = getTile(op);
  int64_t rows = 2 * layout.rowBlocks(tile.getDimSize(0));
  int64_t blocks = Fragments::columnBlocks(tile.getDimSize(1));
  SmallVector<Token> queries;
  for (int64_t row = 0; row < rows; ++row)
    queries.push_back(
        getToken(op, /*isKey=*/false, getRowIndex(row / 2, row % 2)));
  Fragment seen(layout.elements(tile));
  // Column by column: what belongs to one is not alive while others are.
  for (int64_t column = 0; column < 2 * blocks; ++column) {
    Token key =
        getToken(op, /*isKey=*/true, getColumnIndex(column / 2, column % 2));
    for (auto [row, query] : llvm::enumerate(queries)) {
      int64_t index =
          (row / 2 * blocks + column / 2) * 4 + row % 2 * 2 + column % 2;
      Value value = byPosition ? seesPosition(op, query, key)
                               : isVisible(intervals, blocks, index);
      if (op.getGrid())
        value = b.both(value, isNear(op, query, key));
      // Only what is seen otherwise has a block for certain.
      if (op.getBlocks())
        value =
            isSet(findElement(op.getBlocks(), {query.block, key.block}), value);
      seen[index] = value;
    }
  }
  fragments[op] = std::move(seen);
}

Value TileEmitter::isVisible(const Intervals &intervals, int64_t blocks,
                             int64_t index) {
  auto [low, high] = intervals[index / (4 * blocks) * 2 + index % 4 / 2];
  Value column = b.i32(layout.columnOf(index / 4 % blocks) + index % 2);
  return b.inRange(low, column, high);
}

Fragment TileEmitter::expandVisible(Value mask) {
  RankedTensorType tile = getTile(mask);
  int64_t blocks = Fragments::columnBlocks(tile.getDimSize(1));
  Fragment result;
  for (int64_t index = 0; index < layout.elements(tile); ++index)
    result.push_back(isVisible(visible[mask], blocks, index));
  return result;
}
