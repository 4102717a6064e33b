//===- ViewAddress.cpp - Where the rows of a view lie -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileCode/ViewAddress.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::code;

static int64_t getBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

View code::addressView(CodeBuilder &b, rtile::ViewOp op,
                       const DenseMap<Value, Value> &scalars,
                       const DenseMap<Value, Buffer> &buffers) {
  const Buffer &buffer = buffers.find(op.getBuffer())->second;
  rtile::ViewType type = op.getResult().getType();
  int64_t bytes = getBytes(type.getElementType());
  int64_t rank = op.getBufferType().getRank();
  ArrayRef<int64_t> axes = op.getAxes();
  auto getScalar = [&](Value value) {
    return value ? scalars.lookup(value) : Value();
  };

  Value base = buffer.base;
  auto fixed = op.getFixed().begin();
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!llvm::is_contained(axes, axis))
      base = b.at(
          base, b.mul(b.mul(getScalar(*fixed++), buffer.strides[axis]), bytes));

  View view;
  view.type = type;
  Value stride = b.mul(buffer.strides[axes[0]], bytes);
  auto getExtent = [&](OpFoldResult extent) -> OpFoldResult {
    auto value = dyn_cast<Value>(extent);
    return value ? scalars.lookup(value) : extent;
  };
  PositionBuilder position(b, b.getI64Type());
  OpFoldResult rate = getExtent(op.getMixedRate());
  int64_t step = getRowStep(op);
  view.rowStride = ShapedType::isDynamic(step) ? position.mul(stride, rate)
                                               : b.mul(stride, step);
  view.size = buffer.sizes[axes[0]];
  view.contiguous = axes.back() == rank - 1 && (axes.size() == 2 || step == 1);
  if (auto group = op.getGroup()) {
    view.memberStride = b.mul(buffer.strides[(*group)[0]], bytes);
    view.contiguous &= axes.size() == 2;
  }
  view.staticColumns = 1;
  if (axes.size() == 2) {
    view.columnStride = b.mul(buffer.strides[axes[1]], bytes);
    view.columns = buffer.sizes[axes[1]];
    view.staticColumns = op.getBufferType().getDimSize(axes[1]);
  }

  auto getTable = [&](Value table) {
    return table ? &buffers.find(table)->second : nullptr;
  };
  const Buffer *rows = getTable(op.getRows());
  const Buffer *positions = getTable(op.getPositions());
  RowOperands operands{getScalar(op.getOrigin()),
                       getScalar(op.getSegment()),
                       getScalar(op.getResidue()),
                       view.size,
                       rows ? rows->sizes[0] : Value(),
                       positions ? positions->sizes[0] : Value(),
                       getScalar(op.getFirst()),
                       getScalar(op.getEnd()),
                       getExtent(op.getMixedW()),
                       rate,
                       op.getGroupSize()};
  view.rows = getRowRange(position, type, operands);
  auto getEntries = [&](const Buffer *table) -> Value {
    if (!table)
      return nullptr;
    Value number = getFirstEntry(position, operands, view.rows.base);
    return b.at(table->base, b.mul(number, entryBytes));
  };
  view.indices = getEntries(rows);
  view.positions = getEntries(positions);
  view.rowZero = base;
  if (!view.indices) {
    view.firstIndex = getFirstIndex(position, op, operands, view.rows.base);
    view.rowZero = b.at(base, b.mul(view.firstIndex, stride));
  }
  return view;
}

Value code::getRowAddress(CodeBuilder &b, const View &view, Value rowZero,
                          Value row, Value index) {
  if (!view.memberStride)
    return b.at(rowZero, b.mul(index ? index : row, view.rowStride));
  PositionBuilder position(b, b.getI64Type());
  Value line = getLine(position, view.rows, row);
  Value member = b.sub(row, position.mul(line, view.rows.group));
  Value place = b.at(rowZero, b.mul(index ? index : line, view.rowStride));
  return b.at(place, b.mul(member, view.memberStride));
}

Value code::getEntry(CodeBuilder &b, const View &view, Value entries,
                     Value row) {
  PositionBuilder position(b, b.getI64Type());
  Value line = getLine(position, view.rows, row);
  return b.at(entries, b.mul(position.mul(line, view.rows.rate), entryBytes));
}

Value code::isIndex(CodeBuilder &b, const View &view, Value index) {
  return b.inRange(b.i64(0), index, view.size);
}

Value code::getElementAddress(CodeBuilder &b, const Buffer &buffer,
                              Type element, ValueRange indices) {
  Value address = buffer.base;
  for (auto [index, stride] : llvm::zip_equal(indices, buffer.strides))
    address = b.at(address, b.mul(b.mul(index, stride), getBytes(element)));
  return address;
}
