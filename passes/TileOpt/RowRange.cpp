//===- RowRange.cpp - Which rows of a view exist -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileOpt/RowRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ringlet;

/// The number that an attribute says.
static int64_t getKnown(OpFoldResult number) {
  return cast<IntegerAttr>(cast<Attribute>(number)).getInt();
}

Value PositionBuilder::constant(int64_t value) {
  return arith::ConstantOp::create(builder,
                                   builder.getIntegerAttr(type, value));
}
Value PositionBuilder::add(Value a, Value b) {
  return arith::AddIOp::create(builder, a, b);
}
Value PositionBuilder::add(Value a, int64_t b) {
  return b == 0 ? a : add(a, constant(b));
}
Value PositionBuilder::sub(Value a, Value b) {
  return arith::SubIOp::create(builder, a, b);
}
Value PositionBuilder::mul(Value a, int64_t b) {
  return b == 1 ? a : arith::MulIOp::create(builder, a, constant(b));
}
Value PositionBuilder::mul(Value a, Value b) {
  return arith::MulIOp::create(builder, a, b);
}
Value PositionBuilder::floorDiv(Value a, int64_t b) {
  return b == 1 ? a : arith::FloorDivSIOp::create(builder, a, constant(b));
}
Value PositionBuilder::ceilDiv(Value a, int64_t b) {
  return b == 1 ? a : arith::CeilDivSIOp::create(builder, a, constant(b));
}
Value PositionBuilder::add(Value a, OpFoldResult b) {
  return isa<Value>(b) ? add(a, cast<Value>(b)) : add(a, getKnown(b));
}
Value PositionBuilder::mul(Value a, OpFoldResult b) {
  return isa<Value>(b) ? mul(a, cast<Value>(b)) : mul(a, getKnown(b));
}
Value PositionBuilder::floorDiv(Value a, OpFoldResult b) {
  if (!isa<Value>(b))
    return floorDiv(a, getKnown(b));
  return arith::FloorDivSIOp::create(builder, a, cast<Value>(b));
}
Value PositionBuilder::ceilDiv(Value a, OpFoldResult b) {
  if (!isa<Value>(b))
    return ceilDiv(a, getKnown(b));
  return arith::CeilDivSIOp::create(builder, a, cast<Value>(b));
}
Value PositionBuilder::min(Value a, Value b) {
  return arith::MinSIOp::create(builder, a, b);
}
Value PositionBuilder::max(Value a, Value b) {
  return arith::MaxSIOp::create(builder, a, b);
}
Value PositionBuilder::selectLess(Value a, Value b, Value x, Value y) {
  Value less = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, a, b);
  return arith::SelectOp::create(builder, less, x, y);
}

RowRange ringlet::getRowRange(PositionBuilder &builder, rtile::ViewType view,
                              const RowOperands &operands) {
  Value size = operands.rows ? operands.rows : operands.axis;
  if (operands.positions && operands.positions != size)
    size = builder.min(size, operands.positions);
  // Numbers of rows, those of a part of the axis cut to it.
  Value low, high = size;
  if (operands.first) {
    Value zero = builder.constant(0);
    auto cut = [&](Value number) {
      return builder.min(builder.max(number, zero), size);
    };
    low = cut(operands.first);
    high = cut(operands.end);
  }
  // Their ordinals, cut to the segment.
  if (Value origin = operands.origin) {
    low = low ? builder.add(origin, low) : origin;
    high = builder.add(origin, high);
  } else if (!low) {
    low = builder.constant(0);
  }
  Value base = builder.constant(0);
  if (view.isSegmented()) {
    base = builder.mul(operands.segment, operands.w);
    low = builder.max(low, base);
    high = builder.min(high, builder.add(base, operands.w));
  }
  if (operands.residue)
    base = builder.add(base, operands.residue);
  auto getRow = [&](Value ordinal) {
    Value line = builder.ceilDiv(builder.sub(ordinal, base), operands.rate);
    return builder.mul(line, operands.group);
  };
  return {base, getRow(low), getRow(high), operands.rate, operands.group};
}

Value ringlet::getLine(PositionBuilder &builder, const RowRange &rows,
                       Value row) {
  return builder.floorDiv(row, rows.group);
}

Value ringlet::getOrdinal(PositionBuilder &builder, const RowRange &rows,
                          Value row) {
  Value line = getLine(builder, rows, row);
  return builder.add(rows.base, builder.mul(line, rows.rate));
}

/// The slot of `token` in the order residue<r>, which may restart.
static Value getResidueSlot(PositionBuilder &builder,
                            const layout::OrderSpec &order, Value token,
                            Value length) {
  Value start = builder.constant(0), inside = token, count = length;
  if (order.chunk != 0) {
    start = builder.mul(builder.floorDiv(token, order.chunk), order.chunk);
    inside = builder.sub(token, start);
    count =
        builder.min(builder.constant(order.chunk), builder.sub(length, start));
  }
  // The first residues have a token more than the others.
  Value run = builder.floorDiv(count, order.rate);
  Value longRuns = builder.sub(count, builder.mul(run, order.rate));
  Value place = builder.floorDiv(inside, order.rate);
  Value residue = builder.sub(inside, builder.mul(place, order.rate));
  Value longBefore = builder.min(residue, longRuns);
  Value before = builder.add(builder.mul(residue, run), longBefore);
  return builder.add(start, builder.add(before, place));
}

/// Whether rows of a segment and residue lie in slots of residue<a>, which is
/// what the verifier lets through.
static bool hasResidueOrder(rtile::ViewOp view) {
  return view.getOrder() && !view.getOrder()->isIdentity();
}

int64_t ringlet::getRowStep(rtile::ViewOp view) {
  rtile::ViewType type = view.getResult().getType();
  if (type.getIndexed())
    return 1;
  return hasResidueOrder(view)
             ? type.getRate() / view.getOrder()->getSpec().rate
             : type.getRate();
}

Value ringlet::getFirstEntry(PositionBuilder &builder,
                             const RowOperands &operands, Value base) {
  return operands.origin ? builder.sub(base, operands.origin) : base;
}

Value ringlet::getFirstIndex(PositionBuilder &builder, rtile::ViewOp view,
                             const RowOperands &operands, Value base) {
  // Without tables, ordinals are those of tokens.
  Value token = getFirstEntry(builder, operands, base);
  if (!hasResidueOrder(view))
    return token;
  return getResidueSlot(builder, view.getOrder()->getSpec(), token,
                        operands.axis);
}

SmallVector<Value> ringlet::getGridCell(ImplicitLocOpBuilder &builder,
                                        Value position,
                                        ArrayRef<int64_t> grid) {
  int64_t volume = 1;
  for (int64_t side : grid)
    volume *= side;
  Type type = position.getType();
  if (volume <= int64_t(1) << 30) {
    type = builder.getI32Type();
    position = arith::TruncIOp::create(builder, type, position);
  }
  SmallVector<Value> cell(grid.size());
  for (size_t axis = grid.size(); axis-- > 0;) {
    Value side = arith::ConstantOp::create(
        builder, builder.getIntegerAttr(type, grid[axis]));
    cell[axis] =
        axis == 0 ? position : arith::RemUIOp::create(builder, position, side);
    position = arith::DivUIOp::create(builder, position, side);
  }
  return cell;
}

int64_t ringlet::getGridReach(ArrayRef<int64_t> grid, ArrayRef<int64_t> reach,
                              size_t axis) {
  // Positions lie within 2^61.
  return std::min({reach[axis], grid[axis], int64_t(1) << 61});
}

/// One side of a window, nothing if it is unlimited. No position is that far
/// from another one, and a sum with a greater number would not fit in 64 bits.
static std::optional<int64_t> getLimit(std::optional<ArrayRef<int64_t>> window,
                                       unsigned side) {
  constexpr int64_t farthest = int64_t(1) << 62;
  if (window && (*window)[side] >= 0 && (*window)[side] <= farthest)
    return (*window)[side];
  return std::nullopt;
}

std::optional<int64_t>
ringlet::getRightLimit(bool causal, std::optional<ArrayRef<int64_t>> window) {
  return causal ? 0 : getLimit(window, 1);
}

std::optional<int64_t>
ringlet::getLeftLimit(std::optional<ArrayRef<int64_t>> window) {
  return getLimit(window, 0);
}
