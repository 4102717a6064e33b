//===- EmitMasks.cpp - Which keys a panel of queries sees -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What belongs to the rows of a panel is computed once for it, as vectors with
// a lane a row; a column costs comparisons with them.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <limits>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

Value Emitter::getRowOfLane(const Panel &panel) {
  Value lane = b.iota(panel.lanes());
  if (panel.columns == 1)
    return lane;
  return arith::AndIOp::create(b, lane,
                               b.integer(lane.getType(), panel.rows - 1));
}

Value Emitter::getColumnOfLane(const Panel &panel) {
  Value lane = b.iota(panel.lanes());
  return arith::DivUIOp::create(b, lane, b.integer(lane.getType(), panel.rows));
}

/// Each row sees an interval of columns: its ends are computed once a panel,
/// and a column costs two comparisons.
void Emitter::prepareOrdinalMask(rtile::VisibleOp op, Panel &panel) {
  const View &query = views[op.getQuery()], &key = views[op.getKey()];
  PositionBuilder position(b, b.getI64Type());
  Value queryRow = getFirstRow(op, panel);
  Value keyRow = getScalar(op.getKeyRow());
  // Position of the panel's first row, counted from that of column 0.
  Value keyOrdinal = getOrdinal(key, keyRow);
  Value distance = b.sub(getOrdinal(query, queryRow), keyOrdinal);
  // Far more than a tile has rows or columns.
  constexpr int64_t far = 1 << 20;
  Type type = b.getVector(b.getI32Type(), panel.lanes());
  auto spread = [&](Value value) {
    value = b.max(b.min(value, b.i64(far)), b.i64(-far));
    return b.splat(arith::TruncIOp::create(b, b.getI32Type(), value),
                   panel.lanes());
  };
  Value row = getRowOfLane(panel), line = row;
  if (query.memberStride) {
    // Rows of the row axis, counted from that of the panel's first row.
    Value members =
        position.mul(getLine(position, query.rows, queryRow), query.rows.group);
    line =
        arith::DivUIOp::create(b, b.add(row, spread(b.sub(queryRow, members))),
                               b.integer(type, query.rows.group));
  }
  Value first = spread(b.max(b.sub(key.rows.begin, keyRow), b.i64(0)));
  Value last = spread(b.sub(key.rows.end, keyRow));
  if (auto right = getRightLimit(op.getCausal(), op.getWindow())) {
    Value count = position.add(
        position.floorDiv(position.add(distance, *right), key.rows.rate), 1);
    last = b.min(last, b.add(line, spread(count)));
  }
  if (auto left = getLeftLimit(op.getWindow()))
    first =
        b.max(first,
              b.add(line, spread(position.ceilDiv(
                              position.add(distance, -*left), key.rows.rate))));
  // Rows that do not exist see nothing.
  Value belowEnd = b.less(row, spread(b.sub(query.rows.end, queryRow)));
  Value exists = b.both(
      b.lessEqual(spread(b.sub(query.rows.begin, queryRow)), row), belowEnd);
  last = b.select(exists, last, b.integer(type, 0));
  panel.seen[op] = {first, last};
}

/// The position of `row`, or `otherwise` if the row does not exist.
Value Emitter::getPosition(const View &view, Value row, Value otherwise) {
  auto read = [&](Value entries) {
    return b.load(b.getI64Type(), getEntry(b, view, entries, row),
                  code::entryBytes);
  };
  Value inside = b.inRange(view.rows.begin, row, view.rows.end);
  return b.choose(
      inside,
      [&] {
        Value position = read(view.positions);
        return view.indices ? b.select(isIndex(b, view, read(view.indices)),
                                       position, otherwise)
                            : position;
      },
      [&] { return otherwise; });
}

/// Each row sees an interval of positions: tables say where columns lie.
void Emitter::preparePositionMask(rtile::VisibleOp op, Panel &panel) {
  const View &query = views[op.getQuery()];
  // Greater than all positions and limits, their sums and their differences.
  constexpr int64_t beyond = std::numeric_limits<int64_t>::max() / 2;
  auto right = getRightLimit(op.getCausal(), op.getWindow());
  auto left = getLeftLimit(op.getWindow());
  Value queryRow = getFirstRow(op, panel);
  Value nowhere = b.i64(-beyond);
  SmallVector<Value> low, high;
  for (int64_t lane = 0; lane < panel.rows; ++lane) {
    Value position = getPosition(query, b.add(queryRow, b.i64(lane)), nowhere);
    // Rows that do not exist see nothing.
    Value exists = b.less(nowhere, position);
    low.push_back(left ? b.sub(position, b.i64(*left)) : nowhere);
    high.push_back(b.select(
        exists, right ? b.add(position, b.i64(*right + 1)) : b.i64(beyond),
        nowhere));
  }
  panel.seen[op] = {b.gather(low), b.gather(high)};
}

//===----------------------------------------------------------------------===//
// Grids and blocks
//===----------------------------------------------------------------------===//

Value Emitter::getOrdinal(const View &view, Value row) {
  PositionBuilder position(b, b.getI64Type());
  return ringlet::getOrdinal(position, view.rows, row);
}

/// The cell of a row that exists (B5).
SmallVector<Value> Emitter::getCell(const View &view, Value row,
                                    ArrayRef<int64_t> grid) {
  Value position =
      view.positions ? getPosition(view, row, b.i64(0)) : getOrdinal(view, row);
  return getGridCell(b, position, grid);
}

/// On each axis of the grid, the ends of the interval of coordinates that each
/// row is near to.
void Emitter::prepareGrid(rtile::VisibleOp op, Panel &panel) {
  ArrayRef<int64_t> grid = *op.getGrid(), reach = *op.getReach();
  SmallVector<SmallVector<Value>> lanes(grid.size());
  for (int64_t lane = 0; lane < panel.rows; ++lane)
    for (auto [axis, at] : llvm::enumerate(
             getCell(views[op.getQuery()], getPanelRow(op, panel, lane), grid)))
      lanes[axis].push_back(at);
  for (size_t axis = 0; axis < grid.size(); ++axis) {
    Value at = b.gather(lanes[axis]);
    Value far = b.integer(at.getType(), getGridReach(grid, reach, axis));
    Value last = b.add(at, far);
    panel.near[op].emplace_back(b.sub(at, far), last);
  }
}

Value Emitter::emitGrid(rtile::VisibleOp op, Panel &panel, Value keyRow,
                        Value mask) {
  auto cell = getCell(views[op.getKey()], keyRow, *op.getGrid());
  for (auto [at, ends] : llvm::zip_equal(cell, panel.near[op])) {
    Value wide = b.splat(at, panel.rows);
    Value reached = b.lessEqual(wide, ends.second);
    mask = b.both(mask, b.both(b.lessEqual(ends.first, wide), reached));
  }
  return mask;
}

/// The mask block of a row that exists (B6).
Value Emitter::getBlock(const View &view, Value row, int64_t size) {
  return arith::DivUIOp::create(b, getOrdinal(view, row), b.i64(size));
}

void Emitter::prepareBlocks(rtile::VisibleOp op, Panel &panel) {
  for (int64_t lane = 0; lane < panel.rows; ++lane)
    panel.blocks[op].push_back(getBlock(views[op.getQuery()],
                                        getPanelRow(op, panel, lane),
                                        (*op.getBlockSize())[0]));
}

/// Rows that do not exist may have no block.
Value Emitter::emitBlocks(rtile::VisibleOp op, Panel &panel, Value keyRow,
                          Value mask) {
  const Buffer &buffer = buffers[op.getBlocks()];
  Value key = getBlock(views[op.getKey()], keyRow, (*op.getBlockSize())[1]);
  auto isIn = [&](Value block, Value count) {
    return b.compare(arith::CmpIPredicate::ult, block, count);
  };
  Value keyIsIn = isIn(key, buffer.sizes[1]);
  SmallVector<Value> lanes;
  for (Value query : panel.blocks[op])
    lanes.push_back(b.choose(
        b.both(keyIsIn, isIn(query, buffer.sizes[0])),
        [&] { return loadElement(op.getBlocks(), {query, key}); },
        [&] { return b.integer(b.getI1Type(), 0); }));
  return b.both(mask, b.gather(lanes));
}

//===----------------------------------------------------------------------===//
// All conditions
//===----------------------------------------------------------------------===//

Value Emitter::getFirstRow(rtile::VisibleOp op, const Panel &panel) {
  Value above = b.mul(panel.index, panel.rows);
  return b.add(getScalar(op.getQueryRow()), above);
}

Value Emitter::getPanelRow(rtile::VisibleOp op, const Panel &panel,
                           int64_t lane) {
  return b.add(getFirstRow(op, panel), b.i64(lane));
}

void Emitter::prepareMask(rtile::VisibleOp op, Panel &panel) {
  if (panel.seen.count(op))
    return;
  if (views[op.getKey()].positions)
    preparePositionMask(op, panel);
  else
    prepareOrdinalMask(op, panel);
  if (op.getGrid())
    prepareGrid(op, panel);
  if (op.getBlocks())
    prepareBlocks(op, panel);
}

void Emitter::trim(rtile::VisibleOp op, int64_t multiple, Panel &panel) {
  prepareMask(op, panel);
  auto [first, last] = panel.seen.lookup(op);
  auto widen = [&](Value number) -> Value {
    return arith::ExtSIOp::create(b, b.getI64Type(), number);
  };
  Type i32 = b.getI32Type();
  Value begin = widen(LLVM::vector_reduce_smin::create(b, i32, first));
  Value end = widen(LLVM::vector_reduce_smax::create(b, i32, last));
  Value width = b.i64(getTile(op.getResult()).getDimSize(1));
  Value whole = b.i64(-multiple);
  end = b.max(b.min(end, width), b.i64(0));
  panel.trimmed = {
      arith::AndIOp::create(b, begin, whole),
      arith::AndIOp::create(b, b.add(end, b.i64(multiple - 1)), whole)};
}

Value Emitter::emitMask(rtile::VisibleOp op, Panel &panel, Column &column) {
  auto [first, last] = panel.seen.lookup(op);
  const View &key = views[op.getKey()];
  bool byRow = key.positions || op.getGrid() || op.getBlocks();
  Value keyRow =
      byRow ? b.add(getScalar(op.getKeyRow()), column.index) : Value();
  Value mask;
  if (key.positions) {
    Value beyond = b.i64(std::numeric_limits<int64_t>::max());
    Value position = b.splat(getPosition(key, keyRow, beyond), panel.rows);
    mask = b.inRange(first, position, last);
  } else {
    Value index =
        b.splat(arith::TruncIOp::create(b, b.getI32Type(), column.index),
                panel.lanes());
    if (panel.columns > 1)
      index = arith::AddIOp::create(b, index, getColumnOfLane(panel));
    mask = b.inRange(first, index, last);
  }
  if (op.getGrid())
    mask = emitGrid(op, panel, keyRow, mask);
  if (op.getBlocks())
    mask = emitBlocks(op, panel, keyRow, mask);
  return mask;
}
