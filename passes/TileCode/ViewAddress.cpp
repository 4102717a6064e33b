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

/// Where the pages of sequence number `sequence` are, and how many indices they
/// give the row axis.
static void addPages(CodeBuilder &b, View &view, rtile::ViewOp op,
                     Value sequence, const Buffer &buffer,
                     const Buffer &table) {
  int64_t axis = op.getAxes()[0] - 1;
  int64_t bytes = getBytes(op.getBufferType().getElementType());
  view.pageRows = op.getPageSize();
  Value before = b.mul(b.mul(sequence, table.strides[0]), pageEntryBytes);
  view.pageEntries = b.at(table.base, before);
  view.entryStride = b.mul(table.strides[1], pageEntryBytes);
  view.lastPage = b.sub(buffer.sizes[axis], b.i64(1));
  view.pageStride = b.mul(buffer.strides[axis], bytes);
  view.size = b.mul(table.sizes[1], view.pageRows);
}

View code::addressView(CodeBuilder &b, rtile::ViewOp op,
                       const DenseMap<Value, Value> &scalars,
                       const DenseMap<Value, Buffer> &buffers) {
  const Buffer &buffer = buffers.find(op.getBuffer())->second;
  rtile::ViewType type = op.getResult().getType();
  Type stored = op.getBufferType().getElementType();
  int64_t bytes = getBytes(stored);
  int64_t rank = op.getBufferType().getRank();
  ArrayRef<int64_t> axes = op.getAxes();
  auto getScalar = [&](Value value) {
    return value ? scalars.lookup(value) : Value();
  };

  View view;
  view.type = type;
  view.stored = stored;
  Value base = buffer.base;
  auto fixed = op.getFixed().begin();
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (llvm::is_contained(axes, axis))
      continue;
    Value index = getScalar(*fixed++);
    if (op.getPages() && axis + 1 == axes[0])
      addPages(b, view, op, index, buffer, buffers.find(op.getPages())->second);
    else
      base = b.at(base, b.mul(b.mul(index, buffer.strides[axis]), bytes));
  }

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
  if (!view.pageEntries)
    view.size = buffer.sizes[axes[0]];
  else
    view.rowStride = stride;
  view.contiguous = axes.back() == rank - 1 && (axes.size() == 2 || step == 1);
  if (auto group = op.getGroup()) {
    view.memberStride = b.mul(buffer.strides[(*group)[0]], bytes);
    view.contiguous &= axes.size() == 2;
  }
  view.hasAdjacentRows = axes.size() == 2 && axes[0] == rank - 1 && step == 1 &&
                         !op.getRows() && !op.getGroup() && !op.getPages();
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
    if (!view.pageEntries)
      view.rowZero = b.at(base, b.mul(view.firstIndex, stride));
  }
  return view;
}

RowPlace code::getPlace(CodeBuilder &b, const View &view, Value row,
                        Value index) {
  RowPlace place{row, index, nullptr, nullptr};
  if (!view.pageEntries)
    return place;
  if (!index) {
    PositionBuilder position(b, b.getI64Type());
    Value line = getLine(position, view.rows, row);
    place.index = b.add(view.firstIndex, position.mul(line, view.rows.rate));
  }
  return place;
}

Value code::getPageEntry(CodeBuilder &b, const View &view, RowPlace &place) {
  Value page = b.divUnsigned(place.index, view.pageRows);
  place.inPage = b.sub(place.index, b.mul(page, view.pageRows));
  return b.at(view.pageEntries, b.mul(page, view.entryStride));
}

Value code::getRowAddress(CodeBuilder &b, const View &view, Value rowZero,
                          const RowPlace &place) {
  PositionBuilder position(b, b.getI64Type());
  Value line =
      view.memberStride ? getLine(position, view.rows, place.row) : place.row;
  Value index = place.index ? place.index : line;
  if (view.pageEntries) {
    // Whatever the table says, it is a page of the pool.
    Value page = arith::ExtSIOp::create(b, b.getI64Type(), place.page);
    page = b.min(page, view.lastPage);
    page = b.max(page, b.i64(0));
    rowZero = b.at(rowZero, b.mul(page, view.pageStride));
    index = place.inPage;
  }
  Value address = b.at(rowZero, b.mul(index, view.rowStride));
  if (!view.memberStride)
    return address;
  Value member = b.sub(place.row, position.mul(line, view.rows.group));
  return b.at(address, b.mul(member, view.memberStride));
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
