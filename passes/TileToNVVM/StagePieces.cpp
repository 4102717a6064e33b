//===- StagePieces.cpp - Staged tiles are widened -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asynchronous copies bring elements of 8 bits as they are, behind the image of
// the tile that they become. Where a product reads it, all threads together
// write that image.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/PlainEmitter.h"
#include "passes/TileToNVVM/WidenWords.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

/// Pieces of a thread that are read before the first is written.
static constexpr int64_t piecesAtOnce = 4;

void PlainEmitter::widenStaged(rtile::LoadOp load) {
  RankedTensorType tile = getTile(load);
  Type element = tile.getElementType();
  Type stored = views[load.getView()].stored;
  Image image = getImage(load), staged = getBytesImage(load);
  int64_t offset = ringlet::gpu::getShared(load);
  Value to = getShared(offset);
  Value from = getShared(offset + image.bytes - staged.bytes);
  int64_t ofRow = staged.columns / Image::pieceBytes;
  int64_t pieces = staged.rows * ofRow, threads = layout.threads();
  Type words = b.getVector(b.getI32Type(), 4);
  Value here = b.opaque(thread);

  auto read = [&](Value piece) {
    return b.load(words, b.at(from, b.toI64(b.mul(piece, Image::pieceBytes))),
                  Image::pieceBytes);
  };
  auto write = [&](Value piece, Value bytes) {
    SmallVector<Value> wide;
    for (int64_t word = 0; word < 4; ++word)
      llvm::append_range(
          wide, widenWord(b, arch, stored, element, b.extract(bytes, word)));
    Value row = b.divUnsigned(piece, ofRow);
    Value first = b.mul(b.remUnsigned(piece, ofRow), 2 * Image::pieceBytes);
    Value toRow = b.at(to, b.toI64(b.mul(row, image.pitch)));
    for (int64_t half = 0; half < 2; ++half) {
      Value place = swizzle(image, row, b.add(first, half * Image::pieceBytes));
      b.store(b.gather(ArrayRef(wide).slice(4 * half, 4)),
              b.at(toRow, b.toI64(place)), Image::pieceBytes);
    }
  };
  // Pieces beyond the last one are the last one again, for all that write it
  // alike.
  auto widenSome = [&](Value first, int64_t count) {
    SmallVector<Value> places, brought;
    for (int64_t turn = 0; turn < count; ++turn) {
      Value piece = b.add(first, turn * threads);
      if (pieces % threads != 0)
        piece = b.min(piece, b.i32(pieces - 1));
      places.push_back(piece);
      brought.push_back(read(piece));
    }
    for (auto [piece, bytes] : llvm::zip_equal(places, brought))
      write(piece, bytes);
  };
  int64_t turns = llvm::divideCeil(pieces, threads);
  int64_t whole = turns / piecesAtOnce * piecesAtOnce;
  if (whole > piecesAtOnce)
    b.rolledLoop(b.i64(0), b.i64(whole), b.i64(piecesAtOnce), [&](Value turn) {
      Value before = b.mul(b.toI32(turn), threads);
      widenSome(b.add(here, before), piecesAtOnce);
    });
  else if (whole > 0)
    widenSome(here, piecesAtOnce);
  if (turns > whole)
    widenSome(b.add(here, whole * threads), turns - whole);
}
