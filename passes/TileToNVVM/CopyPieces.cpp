//===- CopyPieces.cpp - Tiles to shared memory by pieces -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile goes from global to shared memory in pieces of 16 bytes. All threads
// copy one each in a turn, of as many rows as there are threads for.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/PlainEmitter.h"
#include "passes/TileToNVVM/WidenWords.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

/// How many pieces one thread has under way at a time.
static constexpr int64_t piecesInFlight = 4;
/// The same for copies that need no registers.
static constexpr int64_t copiesInFlight = 16;
/// The same for pieces that are widened, which come as half of them at most.
static constexpr int64_t widenedInFlight = 8;

//===----------------------------------------------------------------------===//
// Rows in pages
//===----------------------------------------------------------------------===//

/// Whether so many rows that begin with a page fill several.
static bool walksPages(const code::View &view, int64_t rows) {
  auto rate = dyn_cast<Attribute>(view.rows.rate);
  return rate && cast<IntegerAttr>(rate).getInt() == 1 &&
         rows > view.pageRows && rows % view.pageRows == 0;
}

Value PlainEmitter::areOnPages(const Window &window, int64_t rows,
                               int64_t pieces) {
  if (Value onOne = isOnPage(window, rows))
    return onOne;
  int64_t rowsATurn = getRowsATurn(pieces);
  if (!window.inPage || !walksPages(*window.view, rows) ||
      window.view->pageRows % rowsATurn != 0 ||
      (rows > copiesInFlight * rowsATurn &&
       copiesInFlight * rowsATurn % window.view->pageRows != 0))
    return nullptr;
  return b.compare(arith::CmpIPredicate::eq, window.inPage, b.i32(0));
}

PlainEmitter::Window PlainEmitter::getOnPages(Window window, int64_t rows) {
  if (!walksPages(*window.view, rows))
    return getOnPage(window);
  window.rowStride = window.view->rowStride;
  window.rowsOfPage = window.view->pageRows;
  return window;
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

class PlainEmitter::PieceCopier {
public:
  PieceCopier(PlainEmitter &emitter, const Window &window, const Image &image,
              Value base, bool areAllRows)
      : emitter(emitter), b(emitter.b), window(window), view(*window.view),
        image(image), base(base), areAllRows(areAllRows) {}

  void run(RankedTensorType tile);

private:
  void placeColumn(int64_t column, int64_t pieces, int64_t existing);
  void copyColumn();
  /// Some turns, whose first row of the thread is `first`; `before` counts the
  /// rows of earlier ones, which are whole pages.
  void copyTurns(Value first, int64_t count, Value before);
  SmallVector<Value> loadPages(int64_t count, Value before);
  Value getTarget(Value row);
  Value moveTarget(Value target, Value first, int64_t turn);

  struct Piece {
    Value from, to;
    /// Whether it exists, else it is 0, and whether it is written.
    Value exists, writes;
  };
  /// Of a turn of which some rows may not exist.
  Piece findPiece(Value first, int64_t turn);
  Piece goOn(const Piece &before, Value first, int64_t turn, Value page);
  void start(const Piece &piece);
  /// Of so many elements that are to be widened.
  Value loadNarrow(const Piece &piece);
  /// A piece as it is in shared memory.
  Value widen(Value narrow);

  PlainEmitter &emitter;
  GPUBuilder &b;
  const Window &window;
  const View &view;
  const Image &image;
  Value base;
  /// Every row of the tile exists.
  bool areAllRows;
  /// Threads of a row, and rows that all copy at once.
  int64_t perRow = 0, rowsATurn = 0;
  /// Of a piece in the buffer, and whether it is widened on its way.
  int64_t sourceBytes = 0;
  bool widens = false;
  /// The thread, its row in the first turn, and bytes from turn to turn.
  Value here, firstRow, stride;
  /// The byte of a row where its piece begins, and that of the buffer's row,
  /// whether it is one of the tile's columns, and whether it writes it; null if
  /// it does.
  Value place, source, inColumns, isPiece;
  /// Where the piece of the first turn goes.
  Value begin;
  /// What is not in shared memory yet.
  SmallVector<std::pair<Value, Piece>> loaded;
};

void PlainEmitter::copyPieces(const Window &window, RankedTensorType tile,
                              const Image &image, Value base, bool areAllRows) {
  PieceCopier(*this, window, image, base, areAllRows).run(tile);
}

void PlainEmitter::PieceCopier::run(RankedTensorType tile) {
  int64_t bytes = getBytes(tile.getElementType());
  int64_t pieces = image.columns * bytes / Image::pieceBytes;
  int64_t existing = tile.getDimSize(1) * bytes / Image::pieceBytes;
  // So many threads take a row that a thread keeps its column from turn to turn
  // and its addresses go on by constants.
  sourceBytes = Image::pieceBytes / bytes * getBytes(view.stored);
  widens = sourceBytes != Image::pieceBytes;
  perRow = emitter.getThreadsOfRow(pieces);
  rowsATurn = emitter.getRowsATurn(pieces);
  // Addresses are made where they are needed: sums of products need nearly all
  // registers.
  here = b.opaque(emitter.thread);
  firstRow = b.divUnsigned(here, perRow);
  if (areAllRows)
    stride = b.mul(window.rowStride, rowsATurn);
  for (int64_t column = 0; column < pieces; column += perRow) {
    placeColumn(column, pieces, existing);
    copyColumn();
  }
}

/// Beyond the end, threads look at the last piece or row and write nothing:
/// another thread does.
void PlainEmitter::PieceCopier::placeColumn(int64_t column, int64_t pieces,
                                            int64_t existing) {
  Value piece = b.add(b.remUnsigned(here, perRow), column);
  isPiece = nullptr;
  if (column + perRow > pieces) {
    isPiece = b.less(piece, b.i32(pieces));
    piece = b.min(piece, b.i32(pieces - 1));
  }
  place = b.mul(piece, Image::pieceBytes);
  source = b.mul(piece, sourceBytes);
  inColumns = existing < pieces ? b.less(piece, b.i32(existing)) : b.i1(true);
}

void PlainEmitter::PieceCopier::copyColumn() {
  // Rows in part are rare, but for those that a table finds.
  bool fromTable = view.indices || view.pageEntries;
  int64_t inFlight = widens                     ? widenedInFlight
                     : !emitter.arch.hasCpAsync ? piecesInFlight
                     : areAllRows || fromTable  ? copiesInFlight
                                                : 1;
  int64_t turns = llvm::divideCeil(image.rows, rowsATurn);
  int64_t whole = turns > inFlight ? turns / inFlight * inFlight : 0;
  if (whole > 0)
    b.rolledLoop(b.i64(0), b.i64(whole), b.i64(inFlight), [&](Value turn) {
      Value rows = b.mul(b.toI32(turn), rowsATurn);
      copyTurns(b.add(firstRow, rows), inFlight, rows);
    });
  // Where all rows exist nothing keeps a turn too many inside of the image.
  if (turns > whole) {
    Value before = b.i32(whole * rowsATurn);
    copyTurns(b.add(firstRow, whole * rowsATurn), turns - whole, before);
  }
}

/// The pages of some turns, where a new one comes after so many rows.
SmallVector<Value> PlainEmitter::PieceCopier::loadPages(int64_t count,
                                                        Value before) {
  SmallVector<Value> pages;
  int64_t turnsOfPage = window.rowsOfPage / rowsATurn;
  for (int64_t turn = 0; turnsOfPage && turn < count; turn += turnsOfPage) {
    Value earlier = b.toI64(b.divUnsigned(before, window.rowsOfPage));
    Value number = b.add(earlier, b.i64(turn / turnsOfPage));
    Value entry = b.at(window.pageEntry, b.mul(number, view.entryStride));
    pages.push_back(b.loadGlobal(b.getI32Type(), entry, b.i1(true)));
  }
  return pages;
}

Value PlainEmitter::PieceCopier::getTarget(Value row) {
  Value alongRow = emitter.swizzle(image, row, place);
  return b.at(base, b.toI64(b.add(b.mul(row, image.pitch), alongRow)));
}

/// The target of the first row of a copy so many turns on. The first row of a
/// copy is one of those that threads begin with, or whole rows of eight further
/// on: turns before the eighth row turn bits of places.
Value PlainEmitter::PieceCopier::moveTarget(Value target, Value first,
                                            int64_t turn) {
  bool isComputed = image.swizzled && rowsATurn % Image::swizzledRows != 0 &&
                    Image::swizzledRows % rowsATurn != 0;
  int64_t rows = turn * rowsATurn;
  if (isComputed)
    return getTarget(b.add(first, rows));
  int64_t turned = image.swizzled ? rows % Image::swizzledRows : 0;
  if (turned)
    target = b.flipBits(target, turned * Image::pieceBytes);
  return b.at(target, rows * image.pitch);
}

PlainEmitter::PieceCopier::Piece
PlainEmitter::PieceCopier::findPiece(Value first, int64_t turn) {
  Piece piece;
  piece.writes = isPiece;
  Value row = b.add(first, turn * rowsATurn);
  if (image.rows % rowsATurn != 0) {
    Value isRow = b.less(row, b.i32(image.rows));
    piece.writes = isPiece ? b.both(isRow, isPiece) : isRow;
    row = b.min(row, b.i32(image.rows - 1));
  }
  Row at = emitter.getRow(window, row);
  piece.from = b.at(at.pointer, b.toI64(source));
  piece.to = getTarget(row);
  piece.exists = b.both(at.exists, inColumns);
  return piece;
}

Value PlainEmitter::PieceCopier::loadNarrow(const Piece &piece) {
  return b.loadGlobal(b.getIntegerType(8 * sourceBytes), piece.from,
                      piece.exists);
}

Value PlainEmitter::PieceCopier::widen(Value narrow) {
  constexpr int64_t wordBytes = 4;
  SmallVector<Value> words;
  for (int64_t at = 0; at < sourceBytes; at += wordBytes) {
    Value word = narrow;
    if (sourceBytes > wordBytes)
      word = arith::TruncIOp::create(
          b, b.getI32Type(), arith::ShRUIOp::create(b, narrow, b.i64(8 * at)));
    llvm::append_range(words, widenWord(b, emitter.arch, view.stored,
                                        view.type.getElementType(), word));
  }
  return b.gather(words);
}

/// A copy of nothing reads nothing, wherever it points to.
void PlainEmitter::PieceCopier::start(const Piece &piece) {
  if (widens)
    loaded.emplace_back(loadNarrow(piece), piece);
  else if (emitter.arch.hasCpAsync)
    b.copyAsync16(piece.to, piece.from, piece.exists, piece.writes);
  else
    loaded.emplace_back(b.loadGlobal16(piece.from, piece.exists), piece);
}

/// Of a tile of which all rows exist, from that of the turn before.
PlainEmitter::PieceCopier::Piece
PlainEmitter::PieceCopier::goOn(const Piece &before, Value first, int64_t turn,
                                Value page) {
  Piece piece{nullptr, nullptr, inColumns, isPiece};
  if (page) {
    Value ofPage = emitter.getPointerInPage(window, page, firstRow);
    piece.from = b.at(ofPage, b.toI64(source));
  } else if (turn > 0) {
    piece.from = b.at(before.from, stride);
  } else {
    Value distance = b.mul(b.toI64(first), window.rowStride);
    piece.from = b.at(window.base, b.add(distance, b.toI64(source)));
  }
  if (turn == 0)
    begin = getTarget(first);
  piece.to = turn > 0 ? moveTarget(begin, first, turn) : begin;
  return piece;
}

/// All numbers of pages, and all loads to registers, are under way before the
/// first is waited for.
void PlainEmitter::PieceCopier::copyTurns(Value first, int64_t count,
                                          Value before) {
  SmallVector<Value> pages = loadPages(count, before);
  int64_t turnsOfPage = window.rowsOfPage / rowsATurn;
  SmallVector<Piece> waiting;
  Piece piece{};
  for (int64_t turn = 0; turn < count; ++turn) {
    if (areAllRows) {
      bool isNew = turnsOfPage && turn % turnsOfPage == 0;
      piece =
          goOn(piece, first, turn, isNew ? pages[turn / turnsOfPage] : Value());
    } else {
      piece = findPiece(first, turn);
    }
    if (view.pageEntries && !areAllRows)
      waiting.push_back(piece);
    else
      start(piece);
  }
  for (const Piece &each : waiting)
    start(each);
  for (const auto &[value, each] : loaded)
    b.storeShared16(widens ? widen(value) : value, each.to, each.writes);
  loaded.clear();
}
