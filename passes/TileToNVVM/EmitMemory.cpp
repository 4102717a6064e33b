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

#include "passes/TileCode/Widen.h"
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
  if (view.hasEqualSteps()) {
    window.base = b.at(window.base, b.mul(window.row, view.rowStride));
    window.rowStride = view.rowStride;
  }
  placeInPages(window);
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

/// Counts places from the tile on, in 32 bits, where they fit.
void TileEmitter::placeInPages(Window &window) {
  const View &view = *window.view;
  auto rate = dyn_cast<Attribute>(view.rows.rate);
  if (!view.pageEntries || view.indices || view.memberStride || !rate)
    return;
  // A page has at most 2^20 rows.
  constexpr int64_t most = int64_t(1) << 30;
  int64_t rows = view.type.getShape()[0];
  if (cast<IntegerAttr>(rate).getInt() > most / rows)
    return;
  PositionBuilder position(b, b.getI64Type());
  Value index = code::getPlace(b, view, window.row).index;
  Value page = position.floorDiv(index, view.pageRows);
  window.inPage = b.toI32(b.sub(index, b.mul(page, view.pageRows)));
  window.pageEntry = b.at(view.pageEntries, b.mul(page, view.entryStride));
}

static int64_t getRate(const View &view) {
  return cast<IntegerAttr>(cast<Attribute>(view.rows.rate)).getInt();
}

Value TileEmitter::getPointerInPage(const Window &window, Value page,
                                    Value inPage) {
  const View &view = *window.view;
  // Whatever the table says, it is a page of the pool.
  page = b.min(page, b.clampToI32(view.lastPage));
  page = b.max(page, b.i32(0));
  Value row = b.mul(b.toI64(inPage), view.rowStride);
  return b.at(b.at(window.base, b.mul(b.toI64(page), view.pageStride)), row);
}

Value TileEmitter::isOnPage(const Window &window, int64_t rows) {
  if (!window.inPage)
    return nullptr;
  int64_t last = (rows - 1) * getRate(*window.view);
  if (last >= window.view->pageRows)
    return nullptr;
  return b.less(window.inPage, b.i32(window.view->pageRows - last));
}

TileEmitter::Window TileEmitter::getOnPage(Window window) {
  Value page = b.loadGlobal(b.getI32Type(), window.pageEntry, b.i1(true));
  window.base = getPointerInPage(window, page, window.inPage);
  window.rowStride = b.mul(window.view->rowStride, getRate(*window.view));
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
  if (view.hasEqualSteps())
    return {b.at(window.base, b.mul(below, view.rowStride)), exists};
  if (window.inPage) {
    Value place = b.add(b.mul(row, getRate(view)), window.inPage);
    Value number = b.divUnsigned(place, view.pageRows);
    Value entry =
        b.at(window.pageEntry, b.mul(b.toI64(number), view.entryStride));
    Value page = b.loadGlobal(b.getI32Type(), entry, exists);
    Value inPage = b.sub(place, b.mul(number, view.pageRows));
    return {getPointerInPage(window, page, inPage), exists};
  }
  Value at = b.add(window.row, below), index;
  if (view.indices) {
    // The table says where the row is, if anywhere.
    index = loadEntry(view, view.indices, at, exists);
    exists = b.both(exists, code::isIndex(b, view, index));
  }
  code::RowPlace place = code::getPlace(b, view, at, index);
  if (view.pageEntries) {
    Value entry = code::getPageEntry(b, view, place);
    place.page = b.loadGlobal(b.getI32Type(), entry, exists);
  }
  return {code::getRowAddress(b, view, window.base, place), exists};
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
    return b.at(row.pointer, b.mul(place, getBytes(view.stored)));
  return b.at(row.pointer, b.mul(place, view.columnStride));
}

Value TileEmitter::isAligned(const Window &window, int64_t bytes) {
  Value places = LLVM::PtrToIntOp::create(b, b.getI64Type(), window.origin);
  for (Value stride : {window.view->rowStride, window.view->memberStride,
                       window.view->pageStride})
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

Value TileEmitter::loadElement(const Window &window, Type element,
                               Value pointer, Value exists) {
  const View &view = *window.view;
  if (!view.widens())
    return b.loadGlobal(element, pointer, exists);
  Value byte = arith::TruncIOp::create(b, b.getI8Type(),
                                       b.loadGlobalByte(pointer, exists));
  if (getBytes(element) == 1)
    return byte;
  return code::widen(b, view.stored, byte, element);
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
    loaded[index] = loadElement(window, tile.getElementType(), pointer, exists);
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
