//===- EmitSlots.cpp - Between slots and registers -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/RoleEmitter.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

/// Four matrices of 8 x 8 at a time: two of rows by two of columns. Lane l
/// names row l mod 16 of them, and of that row one of two pieces of 16 bytes.
void RoleEmitter::forEachQuad(
    RankedTensorType tile, Place memory,
    function_ref<void(Place, ArrayRef<int64_t>)> quad) {
  SlotImage image = SlotImage::of(tile);
  int64_t blocks = Fragments::columnBlocks(tile.getDimSize(1));
  Value inPart = b.remUnsigned(lane, 16), side = b.divUnsigned(lane, 16);
  Value swizzle = b.remUnsigned(lane, 8);
  for (int64_t part = 0; part < layout.rowBlocks(tile.getDimSize(0)); ++part) {
    Value row =
        b.add(b.add(b.mul(warp, 16), inPart), part * layout.rowsAtOnce());
    Value rowPlace = b.mul(row, SlotImage::rowBytes);
    if (memory.more)
      rowPlace = b.add(rowPlace, memory.more);
    for (int64_t block = 0; block < blocks; block += 2) {
      Value piece = arith::XOrIOp::create(b, b.add(side, block % 8), swizzle);
      SmallVector<int64_t> words;
      for (int64_t word = 0; word < 4; ++word)
        words.push_back(block + word / 2 < blocks
                            ? (part * blocks + block) * 2 + word
                            : -1);
      quad({memory.address + block / 8 * image.panelBytes(),
            b.add(rowPlace, b.mul(piece, Image::pieceBytes))},
           words);
    }
  }
}

void RoleEmitter::forEachPart(
    RankedTensorType tile, Place memory,
    function_ref<void(Place, int64_t, int64_t)> part) {
  auto call = [&](int64_t constant, Value more, int64_t first, int64_t count) {
    if (memory.more)
      more = b.add(more, memory.more);
    part({memory.address + constant, more}, first, count);
  };
  constexpr int64_t bytes = 4;
  Value pair = b.mul(laneColumn, bytes);
  if (isAlongColumns(tile)) {
    for (int64_t block = 0; block < Fragments::columnBlocks(tile.getDimSize(0));
         ++block)
      call(8 * block * bytes, pair, 2 * block, 2);
    return;
  }
  int64_t rows = 2 * layout.rowBlocks(tile.getDimSize(0));
  if (tile.getRank() == 1) {
    for (int64_t row = 0; row < rows; ++row)
      call(0, b.mul(getRowIndex(row / 2, row % 2), bytes), row, 1);
    return;
  }
  // A block of eight columns is two pieces; a lane has half of one of them.
  SlotImage image = SlotImage::of(tile);
  int64_t blocks = Fragments::columnBlocks(tile.getDimSize(1));
  constexpr int64_t panelBlocks = SlotImage::rowBytes / (8 * bytes);
  Value swizzle = b.divUnsigned(lane, 4);
  Value side = b.divUnsigned(pair, Image::pieceBytes);
  Value inPiece = b.remUnsigned(pair, Image::pieceBytes);
  for (int64_t row = 0; row < rows; ++row) {
    Value rowPlace = b.mul(getRowIndex(row / 2, row % 2), SlotImage::rowBytes);
    rowPlace = b.add(rowPlace, inPiece);
    for (int64_t block = 0; block < blocks; ++block) {
      Value piece = arith::XOrIOp::create(
          b, b.add(side, block % panelBlocks * 2), swizzle);
      call(block / panelBlocks * image.panelBytes(),
           b.add(rowPlace, b.mul(piece, Image::pieceBytes)),
           (row / 2 * blocks + block) * 4 + row % 2 * 2, 2);
    }
  }
}

void RoleEmitter::emitRead(rtile::ReadOp op) {
  Slot slot = slots[op.getSlot()];
  RankedTensorType tile = getTile(op.getTile());
  if (isa<rtile::SwizzledAttr>(tile.getEncoding())) {
    slots[op] = slot;
    return;
  }
  Fragment words(getRegisters(tile));
  if (isPacked(tile))
    forEachQuad(tile, getMemory(slot),
                [&](Place place, ArrayRef<int64_t> numbers) {
                  for (auto [number, word] :
                       llvm::zip(numbers, async.loadMatrices(place)))
                    if (number >= 0)
                      words[number] = word;
                });
  else
    forEachPart(tile, getMemory(slot),
                [&](Place place, int64_t first, int64_t count) {
                  for (auto [number, word] :
                       llvm::enumerate(async.readWords(place, count)))
                    words[first + number] = b.bitcast(b.getF32Type(), word);
                });
  fragments[op] = std::move(words);
}

void RoleEmitter::emitWrite(rtile::WriteOp op) {
  Slot slot = slots[op.getSlot()];
  RankedTensorType tile = getTile(op.getTile());
  const Fragment &words = fragments[op.getTile()];
  if (isPacked(tile)) {
    forEachQuad(tile, getMemory(slot),
                [&](Place place, ArrayRef<int64_t> numbers) {
                  SmallVector<Value> quad;
                  for (int64_t number : numbers)
                    quad.push_back(words[number]);
                  async.storeMatrices(place, quad);
                });
  } else {
    // Of lanes that hold the same, one writes.
    Value writes;
    if (tile.getRank() == 1)
      writes = b.compare(arith::CmpIPredicate::eq,
                         isAlongColumns(tile) ? laneRow : laneColumn, b.i32(0));
    forEachPart(
        tile, getMemory(slot), [&](Place place, int64_t first, int64_t count) {
          async.writeWords(place, ArrayRef<Value>(words).slice(first, count),
                           writes);
        });
  }
  // Each thread for what it wrote, and then the warp for all of its threads.
  async.fenceShared();
  b.warpBarrier();
  async.arrive(getFull(slot), isFirstLane);
}
