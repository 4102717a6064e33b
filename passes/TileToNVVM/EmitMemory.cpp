//===- EmitMemory.cpp - Views, loads and stores -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands of products go from global to shared memory in pieces of 16 bytes,
// if all of a tile is aligned so, which is known when the kernel runs, and else
// element by element. Other tiles go straight to and from registers.
// Addresses of rows are 64-bit, and every access is predicated on the existence
// of what it touches.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

/// Bytes of a piece, and how many of them one thread has under way at a time.
static constexpr int64_t pieceBytes = 16;
static constexpr int64_t piecesInFlight = 4;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

void Emitter::emitView(rtile::ViewOp op) {
  const Buffer &buffer = buffers[op.getBuffer()];
  rtile::ViewType type = op.getResult().getType();
  int64_t bytes = getBytes(type.getElementType());
  int64_t rank = op.getBufferType().getRank();
  ArrayRef<int64_t> axes = op.getAxes();

  Value base = buffer.base;
  auto fixed = op.getFixed().begin();
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!llvm::is_contained(axes, axis))
      base = b.at(
          base, b.mul(b.mul(getScalar(*fixed++), buffer.strides[axis]), bytes));

  View view;
  view.type = type;
  Value stride = b.mul(buffer.strides[axes[0]], bytes);
  view.rowStride = b.mul(stride, type.getRate());
  view.size = buffer.sizes[axes[0]];
  view.contiguous = axes.size() == 2 && axes.back() == rank - 1;
  view.staticColumns = 1;
  if (axes.size() == 2) {
    view.columnStride = b.mul(buffer.strides[axes[1]], bytes);
    view.columns = buffer.sizes[axes[1]];
    view.staticColumns = op.getBufferType().getDimSize(axes[1]);
  }
  Value zero = b.i64(0);
  view.origin = op.getOrigin() ? getScalar(op.getOrigin()) : zero;
  if (type.getIndexed()) {
    const Buffer &table = buffers[op.getRows()];
    view.table = table.base;
    view.rows = {zero, zero, table.sizes[0]};
    view.rowStride = stride;
    view.rowZero = base;
  } else {
    PositionBuilder position(b, b.getI64Type());
    auto get = [&](Value value) { return value ? getScalar(value) : Value(); };
    view.rows = getRowRange(position, type, view.size, get(op.getOrigin()),
                            get(op.getSegment()), get(op.getResidue()));
    view.rowZero =
        b.at(base, b.mul(b.sub(view.rows.base, view.origin), stride));
  }
  views[op] = view;
}

Emitter::Window Emitter::getWindow(const View &view, ValueRange offsets) {
  Window window;
  window.view = &view;
  window.row = getScalar(offsets[0]);
  ArrayRef<int64_t> shape = view.type.getShape();
  window.base = view.rowZero;
  if (!view.table)
    window.base = b.at(window.base, b.mul(window.row, view.rowStride));
  auto distance = [&](Value bound, Value from) {
    return b.clampToI32(b.sub(bound, from));
  };
  window.rowBegin = distance(view.rows.begin, window.row);
  window.rowEnd = b.min(distance(view.rows.end, window.row), b.i32(shape[0]));
  if (shape.size() == 1)
    return window;
  Value column = getScalar(offsets[1]);
  window.base = b.at(window.base, b.mul(column, view.columnStride));
  APInt first;
  if (matchPattern(offsets[1], m_ConstantInt(&first)) &&
      !ShapedType::isDynamic(view.staticColumns) && !first.isNegative() &&
      first.getSExtValue() <= view.staticColumns - shape[1])
    return window;
  window.columnBegin = distance(b.i64(0), column);
  window.columnEnd = b.min(distance(view.columns, column), b.i32(shape[1]));
  return window;
}

Emitter::Row Emitter::getRow(const Window &window, Value row) {
  Value exists =
      b.both(b.lessEqual(window.rowBegin, row), b.less(row, window.rowEnd));
  const View &view = *window.view;
  Value place = b.toI64(row);
  if (view.table) {
    // The table says where the row is, if anywhere.
    Value entry = b.at(view.table, b.mul(b.add(window.row, place), 8));
    place = b.sub(b.loadGlobal(b.getI64Type(), entry, exists), view.origin);
    exists = b.both(
        exists, b.both(b.lessEqual(b.i64(0), place), b.less(place, view.size)));
  }
  return {b.at(window.base, b.mul(place, view.rowStride)), exists};
}

Value Emitter::getColumn(const Window &window, const Row &row, Value column,
                         Value &exists) {
  const View &view = *window.view;
  exists = row.exists;
  if (window.columnBegin)
    exists = b.both(exists, b.both(b.lessEqual(window.columnBegin, column),
                                   b.less(column, window.columnEnd)));
  Value place = b.toI64(column);
  if (view.contiguous)
    return b.at(row.pointer,
                b.mul(place, getBytes(view.type.getElementType())));
  return b.at(row.pointer, b.mul(place, view.columnStride));
}

//===----------------------------------------------------------------------===//
// Between global memory and registers
//===----------------------------------------------------------------------===//

void Emitter::forEachElement(
    const Window &window, RankedTensorType tile,
    function_ref<void(int64_t, Value, Value)> element) {
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

void Emitter::emitLoad(rtile::LoadOp op) {
  Window window = getWindow(views[op.getView()], op.getOffsets());
  RankedTensorType tile = getTile(op);
  if (int64_t offset = gpu::getShared(op); offset >= 0) {
    SmallVector<SharedAccess> accesses = getSharedAccesses(op);
    await(accesses[0]);
    copyToShared(window, tile, offset);
    if (accesses.size() > 1) {
      await(accesses[1]);
      fragments[op] = readImage(tile, offset);
    }
    return;
  }
  Fragment loaded(layout.elements(tile));
  forEachElement(window, tile, [&](int64_t index, Value pointer, Value exists) {
    loaded[index] = b.loadGlobal(tile.getElementType(), pointer, exists);
  });
  fragments[op] = std::move(loaded);
}

void Emitter::emitStore(rtile::StoreOp op) {
  Window window = getWindow(views[op.getView()], op.getOffsets());
  RankedTensorType tile = getTile(op.getTile());
  const Fragment &values = fragments[op.getTile()];
  // All four lanes of a row hold a tile of one axis: the first one stores it.
  Value first = b.compare(arith::CmpIPredicate::eq, laneColumn, b.i32(0));
  forEachElement(window, tile, [&](int64_t index, Value pointer, Value exists) {
    if (tile.getRank() == 1)
      exists = b.both(exists, first);
    b.storeGlobal(values[index], pointer, exists);
  });
}

//===----------------------------------------------------------------------===//
// From global to shared memory
//===----------------------------------------------------------------------===//

void Emitter::copyToShared(const Window &window, RankedTensorType tile,
                           int64_t offset) {
  Value image = getShared(offset);
  int64_t rowBytes = tile.getDimSize(1) * getBytes(tile.getElementType());
  if (!window.view->contiguous || rowBytes % pieceBytes != 0)
    return copyElements(window, tile, image);
  // All threads find the same.
  Value address = LLVM::PtrToIntOp::create(b, b.getI64Type(), window.base);
  Value unaligned = arith::AndIOp::create(
      b, arith::OrIOp::create(b, address, window.view->rowStride),
      b.i64(pieceBytes - 1));
  Value inPieces = b.compare(arith::CmpIPredicate::eq, unaligned, b.i64(0));
  if (window.columnBegin)
    inPieces = b.both(
        inPieces,
        b.both(b.lessEqual(window.columnBegin, b.i32(0)),
               b.lessEqual(b.i32(tile.getDimSize(1)), window.columnEnd)));
  b.ifElse(
      inPieces, [&] { copyPieces(window, tile, image); },
      [&] { copyElements(window, tile, image); });
  copiesPending |= arch.hasCpAsync;
}

void Emitter::copyPieces(const Window &window, RankedTensorType tile,
                         Value image) {
  int64_t bytes = getBytes(tile.getElementType());
  Image shape = Image::of(tile);
  int64_t pieces = shape.columns * bytes / pieceBytes;
  int64_t existing = tile.getDimSize(1) * bytes / pieceBytes;
  int64_t total = shape.rows * pieces, threads = layout.threads();

  auto copy = [&](Value first, int64_t count) {
    SmallVector<std::pair<Value, Value>> loaded;
    for (int64_t turn = 0; turn < count; ++turn) {
      Value index = b.add(first, turn * threads);
      // Beyond the end, threads repeat the last piece.
      if (total % (count * threads) != 0)
        index = b.min(index, b.i32(total - 1));
      Value row = b.divUnsigned(index, pieces);
      Value piece = b.remUnsigned(index, pieces);
      Value place = b.toI64(b.mul(piece, pieceBytes));
      Row from = getRow(window, row);
      Value exists = from.exists;
      if (existing < pieces)
        exists = b.both(exists, b.less(piece, b.i32(existing)));
      Value to = b.at(b.at(image, b.toI64(b.mul(row, shape.pitch))), place);
      // A copy of nothing still names an address: one that is aligned.
      Value pointer = b.select(exists, b.at(from.pointer, place), window.base);
      if (arch.hasCpAsync)
        b.copyAsync16(to, pointer, exists);
      else
        loaded.emplace_back(b.loadGlobal16(pointer, exists), to);
    }
    for (auto [value, to] : loaded)
      b.store(value, to, pieceBytes);
  };
  int64_t turns = llvm::divideCeil(total, threads);
  if (turns <= piecesInFlight)
    return copy(thread, turns);
  b.loop(0, llvm::alignTo(total, piecesInFlight * threads),
         piecesInFlight * threads, [&](Value start) {
           copy(b.add(thread, b.toI32(start)), piecesInFlight);
         });
}

void Emitter::copyElements(const Window &window, RankedTensorType tile,
                           Value image) {
  Type element = tile.getElementType();
  int64_t bytes = getBytes(element);
  Image shape = Image::of(tile);
  int64_t total = shape.rows * shape.columns;
  b.loop(b.toI64(thread), b.i64(total), b.i64(layout.threads()),
         [&](Value start) {
           Value index = b.toI32(start);
           Value row = b.divUnsigned(index, shape.columns);
           Value column = b.remUnsigned(index, shape.columns);
           Value exists;
           Value from = getColumn(window, getRow(window, row), column, exists);
           if (tile.getDimSize(1) < shape.columns)
             exists = b.both(exists, b.less(column, b.i32(tile.getDimSize(1))));
           Value place = b.add(b.mul(row, shape.pitch), b.mul(column, bytes));
           b.store(b.loadGlobal(element, from, exists),
                   b.at(image, b.toI64(place)), bytes);
         });
}

//===----------------------------------------------------------------------===//
// Between registers and shared memory
//===----------------------------------------------------------------------===//

void Emitter::writeImage(RankedTensorType tile, const Fragment &fragment,
                         int64_t offset) {
  Type element = tile.getElementType();
  int64_t bytes = getBytes(element);
  Image shape = Image::of(tile);
  int64_t height = tile.getDimSize(0);
  int64_t rows = 2 * layout.rowBlocks(height);
  if (tile.getRank() == 1) {
    Value first = b.compare(arith::CmpIPredicate::eq, laneColumn, b.i32(0));
    for (int64_t row = 0; row < rows; ++row) {
      Value index = getRowIndex(row / 2, row % 2);
      Value value = fragment[row];
      if (element.isInteger(1))
        value = arith::ExtUIOp::create(b, b.getI8Type(), value);
      b.ifElse(
          b.both(first, b.less(index, b.i32(height))),
          [&] {
            b.store(value,
                    b.at(getShared(offset), b.mul(b.toI64(index), bytes)),
                    bytes);
          },
          nullptr);
    }
    return;
  }
  int64_t width = tile.getDimSize(1), blocks = Fragments::columnBlocks(width);
  Value zero = b.real(element, 0.0);
  for (int64_t row = 0; row < rows; ++row) {
    Value index = getRowIndex(row / 2, row % 2);
    // Padding is zero: as rows or columns of an operand it adds nothing.
    bool beyond = (row / 2 + 1) * layout.rowsAtOnce() > height;
    Value exists = beyond ? b.less(index, b.i32(height)) : Value();
    auto write = [&] {
      Value place = b.add(b.mul(index, shape.pitch), b.mul(laneColumn, bytes));
      Value to = b.at(getShared(offset), b.toI64(place));
      for (int64_t block = 0; block < shape.columns / 8; ++block) {
        SmallVector<Value> values;
        for (int64_t which = 0; which < 2; ++which) {
          Value value = zero;
          if (block < blocks) {
            value = fragment[((row / 2) * blocks + block) * 4 + (row % 2) * 2 +
                             which];
            if (Value inside = isInside(width, block, which))
              value = b.select(inside, value, zero);
            if (exists)
              value = b.select(exists, value, zero);
          }
          values.push_back(value);
        }
        b.store(b.pair(values[0], values[1]), b.at(to, 8 * block * bytes),
                2 * bytes);
      }
    };
    if ((row / 2 + 1) * layout.rowsAtOnce() > shape.rows)
      b.ifElse(b.less(index, b.i32(shape.rows)), write, nullptr);
    else
      write();
  }
}

Emitter::Fragment Emitter::readImage(RankedTensorType tile, int64_t offset) {
  Type element = tile.getElementType();
  int64_t bytes = getBytes(element);
  Image shape = Image::of(tile);
  int64_t rows = 2 * layout.rowBlocks(tile.getDimSize(0));
  int64_t blocks = Fragments::columnBlocks(tile.getDimSize(1));
  Fragment fragment(layout.elements(tile));
  for (int64_t row = 0; row < rows; ++row) {
    Value index = getRowIndex(row / 2, row % 2);
    if ((row / 2 + 1) * layout.rowsAtOnce() > shape.rows)
      index = b.min(index, b.i32(shape.rows - 1));
    Value place = b.add(b.mul(index, shape.pitch), b.mul(laneColumn, bytes));
    Value from = b.at(getShared(offset), b.toI64(place));
    for (int64_t block = 0; block < blocks; ++block) {
      Value pair = b.load(b.getVector(element, 2),
                          b.at(from, 8 * block * bytes), 2 * bytes);
      for (int64_t which = 0; which < 2; ++which)
        fragment[((row / 2) * blocks + block) * 4 + (row % 2) * 2 + which] =
            b.extract(pair, which);
    }
  }
  return fragment;
}
