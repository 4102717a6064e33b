//===- EmitMemory.cpp - Views, loads and stores -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Addresses of rows are 64-bit, and every access is predicated on the existence
// of what it touches.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/TileEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

void TileEmitter::renewView(Value view) {
  auto op = view.getDefiningOp<rtile::ViewOp>();
  Buffer &buffer = buffers[op.getBuffer()];
  Buffer known = buffer;
  auto renew = [&](Value &value) {
    if (!value.getDefiningOp<arith::ConstantOp>())
      value = async.hold(value).front();
  };
  renew(buffer.base);
  llvm::for_each(buffer.sizes, renew);
  llvm::for_each(buffer.strides, renew);
  views[op] = code::addressView(b, op, scalars, buffers);
  buffers[op.getBuffer()] = known;
}

TileEmitter::Window TileEmitter::getWindow(const View &view,
                                           ValueRange offsets) {
  Window window;
  window.view = &view;
  window.row = getScalar(offsets[0]);
  ArrayRef<int64_t> shape = view.type.getShape();
  window.base = view.rowZero;
  if (!view.indices && !view.memberStride)
    window.base = b.at(window.base, b.mul(window.row, view.rowStride));
  auto distance = [&](Value bound, Value from) {
    return b.clampToI32(b.sub(bound, from));
  };
  window.rowBegin = distance(view.rows.begin, window.row);
  window.rowEnd = b.min(distance(view.rows.end, window.row), b.i32(shape[0]));
  if (shape.size() == 1)
    return window;
  Value column = getScalar(offsets[1]);
  Value columnBytes = b.mul(column, view.columnStride);
  window.origin = b.at(view.rowZero, columnBytes);
  window.base = b.at(window.base, columnBytes);
  APInt first;
  if (matchPattern(offsets[1], m_ConstantInt(&first)) &&
      !ShapedType::isDynamic(view.staticColumns) && !first.isNegative() &&
      first.getSExtValue() <= view.staticColumns - shape[1])
    return window;
  window.columnBegin = distance(b.i64(0), column);
  window.columnEnd = b.min(distance(view.columns, column), b.i32(shape[1]));
  return window;
}

Value TileEmitter::loadEntry(const View &view, Value entries, Value at,
                             Value exists) {
  return b.loadGlobal(b.getI64Type(), code::getEntry(b, view, entries, at),
                      exists);
}

Value TileEmitter::findElement(Value parameter, ValueRange indices) {
  Type element = cast<MemRefType>(parameter.getType()).getElementType();
  return code::getElementAddress(b, buffers[parameter], element, indices);
}

Value TileEmitter::isSet(Value element, Value exists) {
  return b.compare(arith::CmpIPredicate::ne, b.loadGlobalByte(element, exists),
                   b.i32(0));
}

TileEmitter::Row TileEmitter::getRow(const Window &window, Value row) {
  Value exists = b.inRange(window.rowBegin, row, window.rowEnd);
  const View &view = *window.view;
  Value below = b.toI64(row);
  if (!view.indices && !view.memberStride)
    return {b.at(window.base, b.mul(below, view.rowStride)), exists};
  Value at = b.add(window.row, below), place;
  if (view.indices) {
    // The table says where the row is, if anywhere.
    place = loadEntry(view, view.indices, at, exists);
    exists = b.both(exists, code::isIndex(b, view, place));
  }
  return {code::getRowAddress(b, view, window.base, at, place), exists};
}

Value TileEmitter::getColumn(const Window &window, const Row &row, Value column,
                             Value &exists) {
  const View &view = *window.view;
  exists = row.exists;
  if (window.columnBegin)
    exists =
        b.both(exists, b.inRange(window.columnBegin, column, window.columnEnd));
  Value place = b.toI64(column);
  if (view.contiguous)
    return b.at(row.pointer,
                b.mul(place, getBytes(view.type.getElementType())));
  return b.at(row.pointer, b.mul(place, view.columnStride));
}

Value TileEmitter::isAligned(const Window &window, int64_t bytes) {
  Value places = LLVM::PtrToIntOp::create(b, b.getI64Type(), window.origin);
  for (Value stride : {window.view->rowStride, window.view->memberStride})
    if (stride)
      places = arith::OrIOp::create(b, places, stride);
  Value unaligned = b.both(places, b.i64(bytes - 1));
  return b.compare(arith::CmpIPredicate::eq, unaligned, b.i64(0));
}

//===----------------------------------------------------------------------===//
// Between global memory and registers
//===----------------------------------------------------------------------===//

void TileEmitter::forEachElement(
    const Window &window, RankedTensorType tile,
    function_ref<void(int64_t, Value, Value)> element) {
  if (isAlongColumns(tile)) {
    for (int64_t index = 0; index < layout.elements(tile); ++index) {
      Row at = getRow(window, getColumnIndex(index / 2, index % 2));
      element(index, at.pointer, at.exists);
    }
    return;
  }
  int64_t rows = 2 * layout.rowBlocks(tile.getDimSize(0));
  if (tile.getRank() == 1) {
    for (int64_t row = 0; row < rows; ++row) {
      Row at = getRow(window, getRowIndex(row / 2, row % 2));
      element(row, at.pointer, at.exists);
    }
    return;
  }
  int64_t width = tile.getDimSize(1), blocks = Fragments::columnBlocks(width);
  for (int64_t row = 0; row < rows; ++row) {
    Row at = getRow(window, getRowIndex(row / 2, row % 2));
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t which = 0; which < 2; ++which) {
        Value exists;
        Value pointer =
            getColumn(window, at, getColumnIndex(block, which), exists);
        if (Value inside = isInside(width, block, which))
          exists = b.both(exists, inside);
        element(((row / 2) * blocks + block) * 4 + (row % 2) * 2 + which,
                pointer, exists);
      }
  }
}

void TileEmitter::loadToRegisters(rtile::LoadOp op, Value needed) {
  Window window = getWindow(views[op.getView()], op.getOffsets());
  RankedTensorType tile = getTile(op);
  Fragment loaded(layout.elements(tile));
  int64_t ofRows = needed ? 4 * Fragments::columnBlocks(tile.getDimSize(1)) : 0;
  forEachElement(window, tile, [&](int64_t index, Value pointer, Value exists) {
    if (needed)
      exists = b.both(exists,
                      getElement(needed, index / ofRows * 2 + index % 4 / 2));
    loaded[index] = b.loadGlobal(tile.getElementType(), pointer, exists);
  });
  bindUnpacked(op, std::move(loaded));
}

void TileEmitter::storeElements(const Window &window, RankedTensorType tile,
                                const Fragment &values) {
  // All four lanes of a row hold its value, and all rows that of a column: the
  // first one stores it.
  Value first =
      b.compare(arith::CmpIPredicate::eq,
                isAlongColumns(tile) ? laneRow : laneColumn, b.i32(0));
  forEachElement(window, tile, [&](int64_t index, Value pointer, Value exists) {
    if (tile.getRank() == 1)
      exists = b.both(exists, first);
    b.storeGlobal(values[index], pointer, exists);
  });
}
