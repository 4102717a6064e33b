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
Value PositionBuilder::floorDiv(Value a, int64_t b) {
  return b == 1 ? a : arith::FloorDivSIOp::create(builder, a, constant(b));
}
Value PositionBuilder::ceilDiv(Value a, int64_t b) {
  return b == 1 ? a : arith::CeilDivSIOp::create(builder, a, constant(b));
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
                              Value size, Value origin, Value segment,
                              Value residue) {
  int64_t rate = view.getRate();
  // Positions of the buffer, cut to the segment.
  Value low = origin ? origin : builder.constant(0);
  Value high = origin ? builder.add(origin, size) : size;
  Value base = builder.constant(0);
  if (view.isSegmented()) {
    base = builder.mul(segment, view.getSegmentLength());
    low = builder.max(low, base);
    high = builder.min(high, builder.add(base, view.getSegmentLength()));
  }
  if (residue)
    base = builder.add(base, residue);
  return {base, builder.ceilDiv(builder.sub(low, base), rate),
          builder.ceilDiv(builder.sub(high, base), rate)};
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
