//===- EmitMemory.cpp - Loads and stores -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory is read and written row by row, in the form "rows"; panels are made
// of rows, and rows of panels, within scratch memory. Only what exists is
// touched, without masked accesses: pieces of a row are cut to
// powers of two.
//
//===----------------------------------------------------------------------===//

#include "passes/TileCode/Widen.h"
#include "passes/TileToCPU/Emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

/// Rows and columns of the blocks that `repack` turns round in registers.
static constexpr int64_t blockSide = 8;

/// Vectors of a row that are copied without a loop.
static constexpr int64_t fewVectors = 4;

static int64_t getBytes(Type element) {
  return element.getIntOrFloatBitWidth() / 8;
}

/// The address of a row that exists; `index` is what a table of rows has.
Value Emitter::findRow(const View &view, Value row, Value index) {
  code::RowPlace place = code::getPlace(b, view, row, index);
  if (view.pageEntries)
    place.page = b.load(b.getI32Type(), code::getPageEntry(b, view, place),
                        code::pageEntryBytes);
  return getRowAddress(b, view, view.rowZero, place);
}

void Emitter::forEachRow(const View &view, Value row, Value height,
                         RowBody exists,
                         std::optional<function_ref<void(Value)>> missing) {
  Value zero = b.i64(0), one = b.i64(1);
  auto cut = [&](Value bound) {
    return b.min(b.max(b.sub(bound, row), zero), height);
  };
  Value begin = cut(view.rows.begin), end = b.max(cut(view.rows.end), begin);
  auto skip = [&](Value from, Value to) {
    if (missing)
      b.loop(from, to, one, *missing);
  };
  skip(zero, begin);
  b.loop(begin, end, one, [&](Value index) {
    Value at = b.add(row, index);
    if (!view.indices)
      return exists(index, findRow(view, at, nullptr));
    // The table says where the row is, if anywhere.
    Value place = b.load(b.getI64Type(), getEntry(b, view, view.indices, at),
                         code::entryBytes);
    Value inside = isIndex(b, view, place);
    auto then = [&] { exists(index, findRow(view, at, place)); };
    if (missing)
      b.ifElse(inside, then, [&] { (*missing)(index); });
    else
      b.ifElse(inside, then, nullptr);
  });
  skip(end, height);
}

//===----------------------------------------------------------------------===//
// Rows between a buffer and scratch memory
//===----------------------------------------------------------------------===//

/// Whether [at, at + count) lies in [begin, end). Nothing is added to `at`,
/// which may be any number.
Value Emitter::fits(Value begin, Value at, int64_t count, Value end) {
  Value endsInside = b.lessEqual(at, b.sub(end, b.i64(count)));
  return b.both(b.lessEqual(begin, at), endsInside);
}

/// Reads `lanes` neighbouring elements of 8 bits as halves of f32, in which
/// they are exact.
void Emitter::copyWidened(Type stored, int64_t lanes, Value memory, Value tile,
                          const RowForm &form) {
  Value value = loadWidened(stored, lanes, memory);
  Type i32 = b.getVector(b.getI32Type(), lanes);
  Value high = arith::ShRUIOp::create(b, b.bitcast(b.getI32Type(), value),
                                      b.integer(i32, 16));
  storeHalves(
      arith::TruncIOp::create(b, b.getVector(b.getI16Type(), lanes), high),
      tile, form);
}

/// Moves `lanes` neighbouring elements and converts them: f32 in the tile.
void Emitter::copyElement(Type element, int64_t lanes, Value memory, Value tile,
                          const RowForm &form, bool toMemory) {
  int64_t bytes = getBytes(element);
  if (form.stored) {
    Type word = b.getVector(b.getIntegerType(8 * bytes), lanes);
    return b.store(b.load(word, memory, bytes), tile, bytes);
  }
  if (rtile::isWidenedElement(element) && form.pairs != Pairs::None)
    return copyWidened(element, lanes, memory, tile, form);
  Type i32 = b.getVector(b.getI32Type(), lanes);
  Type i16 = b.getVector(b.getI16Type(), lanes);
  if (form.pairs != Pairs::None)
    return storeHalves(b.load(i16, memory, bytes), tile, form);
  if (toMemory) {
    Value value = b.load(b.getVector(b.getF32Type(), lanes), tile, 4);
    // Tiles hold values that are rounded: this is exact.
    if (element.isF16())
      value = b.convertFloat(b.getVector(element, lanes), value);
    else if (element.isBF16())
      value = arith::TruncIOp::create(
          b, i16,
          arith::ShRUIOp::create(b, b.bitcast(b.getI32Type(), value),
                                 b.integer(i32, 16)));
    return b.store(value, memory, bytes);
  }
  b.store(loadWidened(element, lanes, memory), tile, 4);
}

Value Emitter::loadWidened(Type element, int64_t lanes, Value memory) {
  int64_t bytes = getBytes(element);
  Type f32 = b.getVector(b.getF32Type(), lanes);
  Type narrow = b.getVector(element, lanes);
  if (rtile::isWidenedElement(element)) {
    Value stored = b.load(b.getVector(b.getI8Type(), lanes), memory, 1);
    return code::widen(b, element, stored, b.getF32Type());
  }
  if (!element.isBF16()) {
    Value value = b.load(narrow, memory, bytes);
    return element.isF16() ? b.convertFloat(f32, value) : value;
  }
  Type i16 = b.getVector(b.getI16Type(), lanes);
  Type i32 = b.getVector(b.getI32Type(), lanes);
  Value value = arith::ExtUIOp::create(b, i32, b.load(i16, memory, bytes));
  value = arith::ShLIOp::create(b, value, b.integer(i32, 16));
  return b.bitcast(b.getF32Type(), value);
}

void Emitter::storeHalves(Value halves, Value tile, const RowForm &form) {
  if (form.pairs == Pairs::Columns)
    return b.store(halves, tile, 2);
  // The first row of a pair clears the other half of its words, the second one
  // keeps it: 1 << shift, less one, is what remains.
  int64_t lanes = CodeBuilder::lanesOf(halves);
  Type words = b.getVector(b.getI32Type(), lanes);
  Value one = b.integer(b.getI32Type(), 1);
  Value kept =
      arith::SubIOp::create(b, arith::ShLIOp::create(b, one, form.shift), one);
  Value mask = b.splat(kept, lanes);
  Value before = arith::AndIOp::create(b, b.load(words, tile, 4), mask);
  Value shift = b.splat(form.shift, lanes);
  Value here =
      arith::ShLIOp::create(b, arith::ExtUIOp::create(b, words, halves), shift);
  b.store(arith::OrIOp::create(b, before, here), tile, 4);
}

/// Moves `width` neighbouring elements.
void Emitter::copyRun(Type element, int64_t width, Value memory, Value tile,
                      const RowForm &form, bool toMemory) {
  int64_t bytes = getBytes(element);
  int64_t whole = width / geometry.lanes * geometry.lanes;
  auto copyVector = [&](Value index) {
    Value inTile = b.at(tile, b.mul(index, form.step()));
    copyElement(element, geometry.lanes, b.at(memory, b.mul(index, bytes)),
                inTile, form, toMemory);
  };
  if (whole <= fewVectors * geometry.lanes)
    for (int64_t index = 0; index < whole; index += geometry.lanes)
      copyVector(b.i64(index));
  else
    b.loop(0, whole, geometry.lanes, copyVector, Unroll::ByLLVM);
  for (int64_t lanes = geometry.lanes / 2; lanes > 0; lanes /= 2)
    if (width & lanes) {
      Value inTile = b.at(tile, whole * form.step());
      copyElement(element, lanes, b.at(memory, whole * bytes), inTile, form,
                  toMemory);
      whole += lanes;
    }
}

/// Moves the columns [column, column + width) of one row, of which those that
/// do not exist read as zero. `memory` is the address of column 0.
void Emitter::copyRow(const View &view, Value column, int64_t width,
                      Value memory, Value tile, const RowForm &form,
                      bool toMemory) {
  Type element = view.stored;
  if (view.type.getRank() == 1)
    return copyElement(element, 1, memory, tile, form, toMemory);
  auto copyAll = [&] {
    copyRun(element, width, b.at(memory, b.mul(column, getBytes(element))),
            tile, form, toMemory);
  };
  auto copyEach = [&] {
    b.loop(0, width, 1, [&](Value index) {
      Value at = b.add(column, index);
      Value to = b.at(tile, b.mul(index, form.step()));
      Value exists = b.inRange(b.i64(0), at, view.columns);
      auto copy = [&] {
        copyElement(element, 1, b.at(memory, b.mul(at, view.columnStride)), to,
                    form, toMemory);
      };
      auto clear = [&] {
        if (form.stored)
          b.store(b.integer(b.getIntegerType(8 * form.stored), 0), to,
                  form.stored);
        else if (form.pairs == Pairs::None)
          b.store(b.real(b.getF32Type(), 0.0), to, 4);
        else
          storeHalves(b.integer(b.getI16Type(), 0), to, form);
      };
      if (toMemory)
        b.ifElse(exists, copy, nullptr);
      else
        b.ifElse(exists, copy, clear);
    });
  };
  if (!view.contiguous)
    return copyEach();
  APInt start;
  if (matchPattern(column, m_ConstantInt(&start)) &&
      !ShapedType::isDynamic(view.staticColumns)) {
    int64_t first = start.getSExtValue();
    if (first >= 0 && first <= view.staticColumns - width)
      return copyAll();
  }
  Value inside = fits(b.i64(0), column, width, view.columns);
  b.ifElse(inside, copyAll, copyEach);
}

Value Emitter::loadElement(Value parameter, ValueRange indices) {
  Type element = cast<MemRefType>(parameter.getType()).getElementType();
  Value address = getElementAddress(b, buffers[parameter], element, indices);
  if (!element.isInteger(1))
    return b.load(element, address, getBytes(element));
  Value byte = b.load(b.getI8Type(), address, 1);
  return b.compare(arith::CmpIPredicate::ne, byte,
                   b.integer(byte.getType(), 0));
}

void cpu::prefetch(CodeBuilder &b, Value pointer, int64_t bytes) {
  constexpr int64_t lineBytes = 64;
  for (int64_t at = 0; at < bytes; at += lineBytes)
    LLVM::Prefetch::create(b, b.at(pointer, at), /*rw=*/0, /*hint=*/2,
                           /*cache=*/1);
}

void Emitter::copyColumns(rtile::LoadOp op, const View &view, Value panels) {
  RankedTensorType tile = getTile(op);
  int64_t height = tile.getDimSize(0), width = tile.getDimSize(1);
  int64_t rows = geometry.panelRows(height);
  Value firstRow = getScalar(op.getOffsets()[0]);
  Value firstColumn = getScalar(op.getOffsets()[1]);
  auto copyPiece = [&](Value panel, Value index) {
    Value row = b.add(firstRow, b.mul(panel, rows));
    Value column = b.add(firstColumn, index);
    Value to = b.at(panels, b.mul(panel, geometry.panelBytes(height, width)));
    to = b.at(to, b.mul(index, 4 * rows));
    Value from = b.at(view.rowZero, b.mul(column, view.columnStride));
    auto fromRow = [&](Value at) {
      return b.at(from, b.mul(at, view.rowStride));
    };
    auto copyWhole = [&] {
      copyRun(view.stored, rows, fromRow(row), to, RowForm(),
              /*toMemory=*/false);
    };
    Value exists = b.inRange(b.i64(0), column, view.columns);
    auto copyEach = [&] {
      b.loop(0, rows, 1, [&](Value lane) {
        Value at = b.add(row, lane), inTile = b.at(to, b.mul(lane, 4));
        auto clear = [&] { b.store(b.real(b.getF32Type(), 0.0), inTile, 4); };
        auto copy = [&] {
          copyElement(view.stored, 1, fromRow(at), inTile, RowForm(),
                      /*toMemory=*/false);
        };
        b.ifElse(b.both(exists, b.inRange(view.rows.begin, at, view.rows.end)),
                 copy, clear);
      });
    };
    Value inside = fits(view.rows.begin, row, rows, view.rows.end);
    b.ifElse(b.both(exists, inside), copyWhole, copyEach);
  };
  b.loop(0, geometry.panels(height), 1, [&](Value panel) {
    b.loop(0, width, 1, [&](Value index) { copyPiece(panel, index); });
  });
}

void Emitter::emitLoad(rtile::LoadOp op) {
  const View &view = views[op.getView()];
  bool isPlain = getPairs(op) == Pairs::None && !weavesInPanels(op) &&
                 !feedsAMX(op) && !hasForm(op, "rows");
  if (view.hasAdjacentRows && isPlain)
    return copyColumns(op, view, getPlace(getSlots(op)[0]));
  if (!isReadAsStored(op))
    return loadRows(op);
  // Rows that all exist are read where they are.
  RankedTensorType tile = getTile(op);
  int64_t height = tile.getDimSize(0), width = tile.getDimSize(1);
  Value copies = getPlace(getSlots(op)[1]);
  Value copiedStride = b.i64(geometry.rowStride(width));
  auto &rows = storedRows[op];
  rows = {copies, copiedStride, view.stored, /*known=*/0};
  bool isRun = view.contiguous && view.hasEqualSteps() &&
               width % geometry.lanes == 0 && view.staticColumns == width &&
               matchPattern(op.getOffsets()[1], m_Zero());
  if (!isRun)
    return loadRows(op);
  Value row = getScalar(op.getOffsets()[0]);
  Value inside = fits(view.rows.begin, row, height, view.rows.end);
  rows.base = b.choose(
      inside, [&] { return b.at(view.rowZero, b.mul(row, view.rowStride)); },
      [&] {
        loadRows(op);
        return copies;
      });
  rows.stride = b.select(inside, view.rowStride, copiedStride);
  if (auto ahead = op->getAttrOfType<IntegerAttr>(aheadAttr))
    rows.ahead = b.mul(rows.stride, ahead.getInt());
}

void Emitter::loadRows(rtile::LoadOp op) {
  const View &view = views[op.getView()];
  RankedTensorType tile = getTile(op);
  int64_t height = tile.getDimSize(0);
  bool single = tile.getRank() == 1;
  int64_t width = single ? 1 : tile.getDimSize(1);
  RankedTensorType copied = single ? tile : getCopied(op);
  int64_t copiedWidth = single ? 1 : copied.getDimSize(1);
  int64_t rowBytes = single ? 4 : geometry.rowStride(copiedWidth);
  Value row = getScalar(op.getOffsets()[0]);
  Value column = single ? Value() : getScalar(op.getOffsets()[1]);
  Value rows = getPlace(getSlots(op)[single ? 0 : 1]);
  bool weaves = weavesInPanels(op);
  Pairs pairs = weaves ? Pairs::Columns : getPairs(op);
  bool padded = endsInZeros(op);
  int64_t stored = isReadAsStored(op) ? getBytes(view.stored) : 0;

  auto getRow = [&](Value index) {
    if (pairs == Pairs::Rows)
      index = arith::ShRUIOp::create(b, index, b.i64(1));
    return b.at(rows, b.mul(index, rowBytes));
  };
  // 0 for the first row of a pair, 16 for the second.
  auto getShift = [&](Value index) -> Value {
    Value odd = arith::AndIOp::create(b, index, b.i64(1));
    return arith::TruncIOp::create(b, b.getI32Type(), b.mul(odd, 16));
  };
  auto copy = [&](Value index, Value memory) {
    RowForm form{pairs, pairs == Pairs::Rows ? getShift(index) : Value(),
                 stored};
    Value to = getRow(index);
    copyRow(view, column, width, memory, to, form, /*toMemory=*/false);
    if (auto ahead = op->getAttrOfType<IntegerAttr>(aheadAttr)) {
      int64_t bytes = getBytes(view.stored);
      Value next = b.at(memory, b.mul(view.rowStride, ahead.getInt()));
      prefetch(b, b.at(next, b.mul(column, bytes)), width * bytes);
    }
    if (pairs == Pairs::Columns && width % 2)
      storeHalves(b.integer(b.getI16Type(), 0), b.at(to, 2 * width), form);
    int64_t rest = geometry.paddedColumns(copiedWidth) - copiedWidth;
    if (stored && rest > 0)
      b.store(b.integer(b.getVector(b.getIntegerType(8 * stored), rest), 0),
              b.at(to, stored * copiedWidth), stored);
    else if (padded && !weaves && rest > 0)
      b.store(b.real(b.getVector(b.getF32Type(), rest), 0.0),
              b.at(to, 4 * copiedWidth), 4);
  };
  auto clearRow = [&](Value index) {
    Value to = getRow(index);
    if (single)
      return b.store(b.real(b.getF32Type(), 0.0), to, 4);
    Type vector = b.getVector(b.getF32Type(), geometry.lanes);
    b.loop(0, 4 * geometry.paddedColumns(copiedWidth), 4 * geometry.lanes,
           [&](Value at) {
             b.store(b.real(vector, 0.0), b.at(to, at), Geometry::rowAlignment);
           });
  };
  auto clear = [&](Value index) {
    if (pairs != Pairs::Rows)
      return clearRow(index);
    // The first row of a pair has left zeros in the half of the second.
    Value isFirst = b.compare(arith::CmpIPredicate::eq, getShift(index),
                              b.integer(b.getI32Type(), 0));
    b.ifElse(isFirst, [&] { clearRow(index); }, nullptr);
  };
  // What a group reads, it reads panel by panel.
  bool readsWhole = false;
  walkUses(op, [&](OpOperand &use, bool whole) {
    readsWhole |= whole || getGroup(use.getOwner()) < 0;
  });
  Value panelCount =
      readsWhole ? b.i64(geometry.panels(height)) : getPanels(height);
  Value filled =
      readsWhole
          ? b.i64(height)
          : b.min(b.i64(height), b.mul(panelCount, geometry.panelRows(height)));
  auto copyRows = [&] { forEachRow(view, row, filled, copy, clear); };
  if (single && view.contiguous && view.hasEqualSteps()) {
    Value inside = fits(view.rows.begin, row, height, view.rows.end);
    b.ifElse(
        inside,
        [&] {
          copyRun(view.stored, height,
                  b.at(view.rowZero, b.mul(row, view.rowStride)), rows,
                  RowForm(), /*toMemory=*/false);
        },
        copyRows);
  } else {
    copyRows();
  }
  if (single && geometry.isNarrow(height))
    repeatRows(rows, height);
  if (single || !hasForm(op, "panels"))
    return;
  Value panels = getPlace(getSlots(op)[0]);
  if (!weaves)
    return repack(rows, panels, panelCount, height, copiedWidth,
                  /*toPanels=*/true);
  b.loop(height, copied.getDimSize(0), 1, clearRow);
  weave(rows, panels, getStored(op));
}

void Emitter::emitStore(rtile::StoreOp op) {
  const View &view = views[op.getView()];
  RankedTensorType tile = getTile(op.getTile());
  int64_t height = tile.getDimSize(0);
  bool single = tile.getRank() == 1;
  int64_t width = single ? 1 : tile.getDimSize(1);
  int64_t rowBytes = single ? 4 : geometry.rowStride(width);
  Value row = getScalar(op.getOffsets()[0]);
  Value column = single ? Value() : getScalar(op.getOffsets()[1]);

  Value rows;
  if (single) {
    rows = getPlace(getSlot(op.getTile()));
  } else if (getSlots(op)[0] >= 0) {
    rows = getPlace(getSlots(op)[0]);
    Value panels = getPlace(getSlot(op.getTile()));
    repack(rows, panels, getPanels(height), height, width, /*toPanels=*/false);
  } else {
    rows = getPlace(getSlots(op.getTile().getDefiningOp())[1]);
  }
  auto copyRows = [&] {
    forEachRow(
        view, row, b.i64(height),
        [&](Value index, Value memory) {
          copyRow(view, column, width, memory,
                  b.at(rows, b.mul(index, rowBytes)), RowForm(),
                  /*toMemory=*/true);
        },
        std::nullopt);
  };
  if (!single || !view.contiguous || !view.hasEqualSteps())
    return copyRows();
  Value inside = fits(view.rows.begin, row, height, view.rows.end);
  b.ifElse(
      inside,
      [&] {
        copyRun(tile.getElementType(), height,
                b.at(view.rowZero, b.mul(row, view.rowStride)), rows, RowForm(),
                /*toMemory=*/true);
      },
      copyRows);
}

//===----------------------------------------------------------------------===//
// Rows to panels and back
//===----------------------------------------------------------------------===//

/// Turns a square of 8 vectors round in three steps, each of which the machine
/// does in one instruction a vector: pairs of elements, of pairs, of halves.
static SmallVector<Value> transpose(CodeBuilder &b, ArrayRef<Value> rows) {
  SmallVector<Value> now(rows), next(blockSide);
  for (int64_t i = 0; i < blockSide; i += 2) {
    next[i] = b.shuffle(now[i], now[i + 1], {0, 8, 1, 9, 4, 12, 5, 13});
    next[i + 1] = b.shuffle(now[i], now[i + 1], {2, 10, 3, 11, 6, 14, 7, 15});
  }
  std::swap(now, next);
  for (int64_t i = 0; i < blockSide; i += 4)
    for (int64_t j = 0; j < 2; ++j) {
      Value low = now[i + j], high = now[i + j + 2];
      next[i + 2 * j] = b.shuffle(low, high, {0, 1, 8, 9, 4, 5, 12, 13});
      next[i + 2 * j + 1] = b.shuffle(low, high, {2, 3, 10, 11, 6, 7, 14, 15});
    }
  std::swap(now, next);
  for (int64_t i = 0; i < blockSide / 2; ++i) {
    next[i] = b.shuffle(now[i], now[i + 4], {0, 1, 2, 3, 8, 9, 10, 11});
    next[i + 4] = b.shuffle(now[i], now[i + 4], {4, 5, 6, 7, 12, 13, 14, 15});
  }
  return next;
}

void Emitter::repack(Value rows, Value panels, Value count, int64_t height,
                     int64_t width, bool toPanels) {
  if (geometry.isNarrow(height))
    return repackNarrow(rows, panels, height, width, toPanels);
  int64_t panelRows = geometry.panelRows(height);
  int64_t paddedWidth = geometry.paddedColumns(width);
  int64_t panelBytes = geometry.panelBytes(height, width);
  Type vector = b.getVector(b.getF32Type(), blockSide);
  // Strides of the two forms; both are padded to whole blocks.
  int64_t rowBytes = geometry.rowStride(width), columnBytes = 4 * panelRows;
  constexpr int64_t alignment = Geometry::rowAlignment;
  auto move = [&](Value from, int64_t fromStride, Value to, int64_t toStride) {
    SmallVector<Value> block;
    for (int64_t i = 0; i < blockSide; ++i)
      block.push_back(b.load(vector, b.at(from, i * fromStride), alignment));
    for (auto [i, value] : llvm::enumerate(transpose(b, block)))
      b.store(value, b.at(to, i * toStride), alignment);
  };
  b.loop(b.i64(0), count, b.i64(1), [&](Value panel) {
    Value panelStart = b.at(panels, b.mul(panel, panelBytes));
    Value rowStart = b.at(rows, b.mul(panel, panelRows * rowBytes));
    b.loop(0, panelRows, blockSide, [&](Value row) {
      b.loop(0, paddedWidth, blockSide, [&](Value column) {
        Value acrossRow = b.mul(column, 4);
        Value inRows = b.at(b.at(rowStart, b.mul(row, rowBytes)), acrossRow);
        Value downColumn = b.mul(row, 4);
        Value inPanel =
            b.at(b.at(panelStart, b.mul(column, columnBytes)), downColumn);
        if (toPanels)
          move(inRows, rowBytes, inPanel, columnBytes);
        else
          move(inPanel, columnBytes, inRows, rowBytes);
      });
    });
  });
}

void Emitter::weave(Value rows, Value panels, RankedTensorType words) {
  int64_t height = words.getDimSize(0), width = words.getDimSize(1);
  int64_t panelRows = geometry.panelRows(height), columnBytes = 4 * panelRows;
  int64_t rowBytes = geometry.rowStride(llvm::divideCeil(width, 2));
  // A register has two squares of words side by side. Within 128 bits the lower
  // or the upper halves of two of them are woven by one instruction, so a
  // square has every other four columns.
  constexpr int64_t columns = 2 * blockSide, together = 4;
  Type line = b.getVector(b.getI16Type(), columns);
  constexpr int64_t alignment = Geometry::rowAlignment;
  auto getColumn = [&](int64_t square, int64_t index) {
    return index / together * 2 * together + square * together +
           index % together;
  };
  auto emitBlock = [&](Value from, Value to) {
    SmallVector<Value> lines;
    for (int64_t i = 0; i < 2 * blockSide; ++i)
      lines.push_back(b.load(line, b.at(from, i * rowBytes), alignment));
    for (int64_t square = 0; square < 2; ++square) {
      SmallVector<int32_t> mask;
      for (int64_t index = 0; index < blockSide; ++index) {
        int32_t column = getColumn(square, index);
        mask.append({column, static_cast<int32_t>(columns) + column});
      }
      SmallVector<Value> pairs;
      for (int64_t i = 0; i < blockSide; ++i)
        pairs.push_back(LLVM::BitcastOp::create(
            b, b.getVector(b.getF32Type(), blockSide),
            b.shuffle(lines[2 * i], lines[2 * i + 1], mask)));
      for (auto [index, value] : llvm::enumerate(transpose(b, pairs)))
        b.store(value, b.at(to, getColumn(square, index) * columnBytes),
                alignment);
    }
  };
  Value perPanel = b.i64(panelRows);
  b.loop(0, llvm::alignTo(height, amxSide), blockSide, [&](Value word) {
    Value panel = arith::DivUIOp::create(b, word, perPanel);
    Value inPanel = arith::RemUIOp::create(b, word, perPanel);
    Value from = b.at(rows, b.mul(word, 2 * rowBytes));
    Value to = b.at(panels, b.mul(panel, geometry.panelBytes(height, width)));
    to = b.at(to, b.mul(inPanel, 4));
    b.loop(0, llvm::alignTo(width, columns), columns, [&](Value column) {
      Value toColumn = b.at(to, b.mul(column, columnBytes));
      emitBlock(b.at(from, b.mul(column, 2)), toColumn);
    });
  });
}
