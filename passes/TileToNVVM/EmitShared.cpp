//===- EmitShared.cpp - Shared memory of plain kernels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands of products go from global to shared memory in pieces of 16 bytes,
// if all of a tile is aligned so, which is known when the kernel runs, and else
// element by element. Other tiles go straight to and from registers.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/PlainEmitter.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

void PlainEmitter::loadColumns(rtile::LoadOp op) {
  Window window = getWindow(views[op.getView()], op.getOffsets());
  RankedTensorType tile = getTile(op);
  Fragment loaded;
  for (int64_t block = 0; block < Fragments::columnBlocks(tile.getDimSize(0));
       ++block)
    for (int64_t which = 0; which < 2; ++which) {
      Row at = getRow(window, getColumnIndex(block, which));
      loaded.push_back(
          loadElement(window, tile.getElementType(), at.pointer, at.exists));
    }
  fragments[op] = std::move(loaded);
}

void PlainEmitter::emitLoad(rtile::LoadOp op) {
  if (isReadAlongColumns(op))
    return loadColumns(op);
  int64_t offset = ringlet::gpu::getShared(op);
  if (offset < 0)
    return loadToRegisters(op);
  Window window = getWindow(views[op.getView()], op.getOffsets());
  RankedTensorType tile = getTile(op);
  SmallVector<SharedAccess> accesses = getSharedAccesses(op);
  await(accesses[0]);
  Image image = getImage(op);
  if (op->hasAttr(stagedAttr) || op->hasAttr(narrowAttr)) {
    Image stored = getBytesImage(op);
    return copyToShared(window, getBytesTile(op), stored,
                        getShared(offset + image.bytes - stored.bytes));
  }
  copyToShared(window, tile, image, getShared(offset));
  if (accesses.size() > 1) {
    await(accesses[1]);
    fragments[op] = readImage(tile, image, offset);
  }
}

void PlainEmitter::storePairs(const Window &window, RankedTensorType tile,
                              const Fragment &values) {
  int64_t rows = 2 * layout.rowBlocks(tile.getDimSize(0));
  int64_t blocks = Fragments::columnBlocks(tile.getDimSize(1));
  int64_t bytes = getBytes(tile.getElementType());
  for (int64_t row = 0; row < rows; ++row) {
    Row at = getRow(window, getRowIndex(row / 2, row % 2));
    Value first = b.at(at.pointer, b.mul(b.toI64(laneColumn), bytes));
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t index = ((row / 2) * blocks + block) * 4 + (row % 2) * 2;
      b.storeGlobalPair(values[index], values[index + 1],
                        b.at(first, layout.columnOf(block) * bytes), at.exists);
    }
  }
}

void PlainEmitter::emitStore(rtile::StoreOp op) {
  Window window = getWindow(views[op.getView()], op.getOffsets());
  RankedTensorType tile = getTile(op.getTile());
  const Fragment &values = fragments[op.getTile()];
  int64_t pairBytes = 2 * getBytes(tile.getElementType());
  if (tile.getRank() == 2 && window.view->contiguous && !window.columnBegin &&
      tile.getDimSize(1) % 8 == 0 && pairBytes >= 4) {
    // All threads find the same.
    b.ifElse(
        isAligned(window, pairBytes), [&] { storePairs(window, tile, values); },
        [&] { storeElements(window, tile, values); });
    return;
  }
  storeElements(window, tile, values);
}

//===----------------------------------------------------------------------===//
// From global to shared memory
//===----------------------------------------------------------------------===//

void PlainEmitter::copyToShared(const Window &window, RankedTensorType tile,
                                const Image &image, Value base) {
  int64_t rowBytes = tile.getDimSize(1) * getBytes(tile.getElementType());
  if (!window.view->contiguous || rowBytes % Image::pieceBytes != 0)
    return copyElements(window, tile, image, base);
  // All threads find the same, and so does every turn of a loop that walks
  // along the rows.
  int64_t elementsOfPiece = Image::pieceBytes / getBytes(tile.getElementType());
  Type stored = window.view->stored;
  Value inPieces = isAligned(window, elementsOfPiece * getBytes(stored));
  // Whether the tile lies between two ends of the window.
  auto isInside = [&](Value begin, int64_t size, Value end) {
    Value endsInside = b.lessEqual(b.i32(size), end);
    return b.both(b.lessEqual(begin, b.i32(0)), endsInside);
  };
  if (window.columnBegin)
    inPieces = b.both(inPieces, isInside(window.columnBegin, tile.getDimSize(1),
                                         window.columnEnd));
  // Whole tiles, nearly all, cost neither comparisons nor registers for them.
  int64_t rows = image.rows;
  auto copyRest = [&] {
    b.ifElse(
        inPieces, [&] { copyPieces(window, tile, image, base, false); },
        [&] { copyElements(window, tile, image, base); });
  };
  Value onPages = areOnPages(window, rows, rowBytes / Image::pieceBytes);
  if (!(window.view->hasEqualSteps() || onPages) ||
      rows != tile.getDimSize(0) ||
      rows % getRowsATurn(rowBytes / Image::pieceBytes) != 0) {
    copyRest();
  } else {
    Value isWhole = isInside(window.rowBegin, rows, window.rowEnd);
    if (onPages)
      isWhole = b.both(isWhole, onPages);
    b.ifElse(
        b.both(inPieces, isWhole),
        [&] {
          copyPieces(onPages ? getOnPages(window, rows) : window, tile, image,
                     base, /*areAllRows=*/true);
        },
        copyRest);
  }
  copiesPending |= arch.hasCpAsync;
}

Value PlainEmitter::swizzle(const Image &image, Value row, Value place) {
  if (!image.swizzled)
    return place;
  Value turned =
      b.mul(b.remUnsigned(row, Image::swizzledRows), Image::pieceBytes);
  return arith::XOrIOp::create(b, place, turned);
}

void PlainEmitter::copyElements(const Window &window, RankedTensorType tile,
                                const Image &image, Value base) {
  Type element = tile.getElementType();
  int64_t bytes = getBytes(element);
  int64_t total = image.rows * image.columns;
  // Nothing of this path is worth a register elsewhere.
  Value first = b.toI64(b.opaque(thread));
  b.rolledLoop(first, b.i64(total), b.i64(layout.threads()), [&](Value start) {
    Value index = b.toI32(start);
    Value row = b.divUnsigned(index, image.columns);
    Value column = b.remUnsigned(index, image.columns);
    Value exists;
    Value from = getColumn(window, getRow(window, row), column, exists);
    if (tile.getDimSize(1) < image.columns)
      exists = b.both(exists, b.less(column, b.i32(tile.getDimSize(1))));
    Value alongRow = swizzle(image, row, b.mul(column, bytes));
    Value place = b.add(b.mul(row, image.pitch), alongRow);
    Value to = b.at(base, b.toI64(place));
    b.store(loadElement(window, element, from, exists), to, bytes);
  });
}

//===----------------------------------------------------------------------===//
// Between registers and shared memory
//===----------------------------------------------------------------------===//

void PlainEmitter::writeImage(RankedTensorType tile, const Fragment &fragment,
                              int64_t offset) {
  Type element = tile.getElementType();
  int64_t bytes = getBytes(element);
  Image shape = getImage(tile);
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
            Value toRow = b.mul(b.toI64(index), bytes);
            b.store(value, b.at(getShared(offset), toRow), bytes);
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
      Value alongRow = b.mul(laneColumn, bytes);
      Value place = b.toI64(b.add(b.mul(index, shape.pitch), alongRow));
      Value to = b.at(getShared(offset), place);
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
        Value toBlock = b.at(to, layout.columnOf(block) * bytes);
        b.store(b.pair(values[0], values[1]), toBlock, 2 * bytes);
      }
    };
    if ((row / 2 + 1) * layout.rowsAtOnce() > shape.rows)
      b.ifElse(b.less(index, b.i32(shape.rows)), write, nullptr);
    else
      write();
  }
}

Fragment PlainEmitter::readImage(RankedTensorType tile, const Image &image,
                                 int64_t offset) {
  Type element = tile.getElementType();
  int64_t bytes = getBytes(element);
  int64_t rows = 2 * layout.rowBlocks(tile.getDimSize(0));
  int64_t blocks = Fragments::columnBlocks(tile.getDimSize(1));
  Fragment fragment(layout.elements(tile));
  for (int64_t row = 0; row < rows; ++row) {
    Value index = getRowIndex(row / 2, row % 2);
    if ((row / 2 + 1) * layout.rowsAtOnce() > image.rows)
      index = b.min(index, b.i32(image.rows - 1));
    Value toRow = b.toI64(b.mul(index, image.pitch));
    Value first = b.at(getShared(offset), toRow);
    for (int64_t block = 0; block < blocks; ++block) {
      Value place =
          b.add(b.mul(laneColumn, bytes), layout.columnOf(block) * bytes);
      Value pair =
          b.load(b.getVector(element, 2),
                 b.at(first, b.toI64(swizzle(image, index, place))), 2 * bytes);
      for (int64_t which = 0; which < 2; ++which)
        fragment[((row / 2) * blocks + block) * 4 + (row % 2) * 2 + which] =
            b.extract(pair, which);
    }
  }
  return fragment;
}
