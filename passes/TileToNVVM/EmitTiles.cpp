//===- EmitTiles.cpp - Operations on tiles in registers -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileCode/Elementwise.h"
#include "passes/TileToNVVM/Emitter.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

void Emitter::emitConstant(arith::ConstantOp op) {
  auto splat = cast<SplatElementsAttr>(op.getValue());
  Value value = arith::ConstantOp::create(
      b, cast<TypedAttr>(splat.getSplatValue<Attribute>()));
  bindUnpacked(op, Fragment(layout.elements(getTile(op)), value));
}

Value Emitter::toF32(Value value) {
  Type type = value.getType();
  return isa<FloatType>(type) && !type.isF32()
             ? b.convertFloat(b.getF32Type(), value)
             : value;
}

/// A quotient that rtile-gpu-divide-rows allows to be off by two units in the
/// last place. An exact one may end in a call, which makes the assembler wait
/// for the products of warp groups: a role has none.
Value Emitter::divide(arith::DivFOp op, Value x, Value y) {
  bool isFree = bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn);
  return role && isFree ? b.divideFast(x, y)
                        : Value(arith::DivFOp::create(b, x, y));
}

Value Emitter::emitElement(Operation *op, Fragment operands) {
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
  Value value =
      isa<math::Exp2Op>(op)           ? b.exp2(operands[0])
      : role && isa<math::LogOp>(op)  ? b.log(operands[0])
      : role && isa<math::Log2Op>(op) ? b.log2(operands[0])
      : isa<math::TanhOp>(op)         ? b.tanh(operands[0])
      : isa<arith::MaximumFOp>(op)    ? b.maximum(operands[0], operands[1])
      : isa<arith::MinimumFOp>(op)    ? b.minimum(operands[0], operands[1])
      : isa<arith::DivFOp>(op)
          ? divide(cast<arith::DivFOp>(op), operands[0], operands[1])
          : code::emitElementwise(b, op, operands);
  return value.getType() == element ? value : b.convertFloat(element, value);
}

void Emitter::emitRescale(arith::MulFOp op) {
  auto wide = op.getRhs().getDefiningOp<rtile::BroadcastOp>();
  Value isNeeded = b.i1(false), one = b.real(b.getF32Type(), 1.0);
  for (Value factor : fragments[wide.getInput()])
    isNeeded = arith::OrIOp::create(
        b, isNeeded, b.compare(arith::CmpFPredicate::UNE, factor, one));
  const Fragment &sums = fragments[op.getLhs()];
  const Fragment &factors = fragments[op.getRhs()];
  SmallVector<Type> types(sums.size(), b.getF32Type());
  auto branch = scf::IfOp::create(b, types, b.anyInWarp(isNeeded), true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Fragment scaled;
    for (auto [sum, factor] : llvm::zip(sums, factors))
      scaled.push_back(arith::MulFOp::create(b, sum, factor));
    scf::YieldOp::create(b, scaled);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, sums);
  }
  ResultRange results = branch.getResults();
  fragments[op] = Fragment(results.begin(), results.end());
}

void Emitter::emitElementwise(Operation *op) {
  if (op->hasAttr(skipOnesAttr))
    return emitRescale(cast<arith::MulFOp>(op));
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

void Emitter::emitReduce(rtile::ReduceOp op) {
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

void Emitter::emitBroadcast(rtile::BroadcastOp op) {
  RankedTensorType tile = getTile(op);
  int64_t width = tile.getDimSize(1), blocks = Fragments::columnBlocks(width);
  int64_t rows = layout.rowBlocks(tile.getDimSize(0));
  Fragment result;
  if (!op.getColumns()) {
    const Fragment &input = fragments[op.getInput()];
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t block = 0; block < blocks; ++block)
        for (int64_t which = 0; which < 4; ++which)
          result.push_back(input[2 * row + which / 2]);
    bindUnpacked(op, std::move(result));
    return;
  }
  SmallVector<SharedAccess> list = getSharedAccesses(op);
  ArrayRef<SharedAccess> accesses = list;
  int64_t offset = prepareImage(op.getInputMutable(), accesses);
  await(accesses.front());
  Type element = tile.getElementType();
  bool isBool = element.isInteger(1);
  int64_t bytes = getBytes(element);
  SmallVector<Value> columns;
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t which = 0; which < 2; ++which) {
      Value index = getColumnIndex(block, which);
      if (isInside(width, block, which))
        index = b.min(index, b.i32(width - 1));
      Value toColumn = b.mul(b.toI64(index), bytes);
      Value pointer = b.at(getShared(offset), toColumn);
      Value value =
          b.load(isBool ? Type(b.getI8Type()) : element, pointer, bytes);
      columns.push_back(
          isBool ? arith::TruncIOp::create(b, element, value).getResult()
                 : value);
    }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t which = 0; which < 4; ++which)
        result.push_back(columns[2 * block + which % 2]);
  fragments[op] = std::move(result);
}

/// Each row sees an interval of columns: its ends are computed once, and an
/// element costs two comparisons.
Emitter::Intervals Emitter::getIntervals(rtile::VisibleOp op) {
  const View &query = views[op.getQuery()], &key = views[op.getKey()];
  PositionBuilder position(b, b.getI64Type());
  Value queryRow = getScalar(op.getQueryRow());
  Value keyRow = getScalar(op.getKeyRow());
  // Position of the tile's first row, counted from that of its first column.
  Value keyRank = getRank(key, keyRow);
  Value distance = b.sub(getRank(query, queryRow), keyRank);
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

  Intervals intervals;
  int64_t rows = layout.rowBlocks(getTile(op).getDimSize(0));
  for (int64_t row = 0; row < 2 * rows; ++row) {
    Value index = getRowIndex(row / 2, row % 2);
    Value low = left ? b.max(first, b.add(index, left)) : first;
    Value high = right ? b.min(last, b.add(index, right)) : last;
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

Value Emitter::getRank(const View &view, Value row) {
  PositionBuilder position(b, b.getI64Type());
  return ringlet::getRank(position, view.rows, row);
}

Emitter::Token Emitter::getToken(rtile::VisibleOp op, bool isKey, Value index) {
  const View &view = views[isKey ? op.getKey() : op.getQuery()];
  Token token;
  Value below = b.toI64(index);
  Value row =
      b.add(getScalar(isKey ? op.getKeyRow() : op.getQueryRow()), below);
  Value position = getRank(view, row);
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
Value Emitter::seesPosition(rtile::VisibleOp op, const Token &query,
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
Value Emitter::isNear(rtile::VisibleOp op, const Token &query,
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

void Emitter::emitVisible(rtile::VisibleOp op) {
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
            isSet(getElement(op.getBlocks(), {query.block, key.block}), value);
      seen[index] = value;
    }
  }
  fragments[op] = std::move(seen);
}

Value Emitter::isVisible(const Intervals &intervals, int64_t blocks,
                         int64_t index) {
  auto [low, high] = intervals[index / (4 * blocks) * 2 + index % 4 / 2];
  Value column = b.i32(index / 4 % blocks * 8 + index % 2);
  return b.inRange(low, column, high);
}

Emitter::Fragment Emitter::expandVisible(Value mask) {
  RankedTensorType tile = getTile(mask);
  int64_t blocks = Fragments::columnBlocks(tile.getDimSize(1));
  Fragment result;
  for (int64_t index = 0; index < layout.elements(tile); ++index)
    result.push_back(isVisible(visible[mask], blocks, index));
  return result;
}
