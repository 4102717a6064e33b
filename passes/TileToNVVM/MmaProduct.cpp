//===- MmaProduct.cpp - Products by mma.sync -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each warp makes the elements of its rows by matrix instructions. The right
// operand, and a left one that was loaded, come from shared memory by ldmatrix;
// a left one that was computed is in the right registers.
//
// A right operand of 8-bit elements comes by ldmatrix as well, which takes two
// of them for one of 16, and is widened in registers: a lane then gets four
// neighbours along a row where it would have two. So threads hold four columns
// side by side (Fragments), and what else the instruction counts, columns of
// sums or depth, is numbered such that lane c of a row of four has numbers
// 4 c to 4 c + 3 of every 16. The instruction does not mind, as long as left
// and right operand agree.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/ImagePlaces.h"
#include "passes/TileToNVVM/WidenWords.h"

#include <array>
#include <optional>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

/// Depth of one instruction, 0 if there is none.
int64_t getDepth(Type element, const arch::GPUArch &arch) {
  if (element.isF16())
    return arch.mmaDepthF16;
  return element.isBF16() ? arch.mmaDepthBF16 : 0;
}

struct MmaProduct : BlockProduct {
  StringRef getName() const override { return "mma"; }
  bool takes(rtile::DotOp op, const arch::GPUArch &arch) const override {
    return getDepth(getTile(op.getLhs()).getElementType(), arch) > 0;
  }
  bool isOfMatrices() const override { return true; }
  bool takesThroughMemory(unsigned operand) const override {
    return operand == 1;
  }
  bool widens(Type element, const arch::GPUArch &arch) const override {
    return getDepth(element, arch) == 16;
  }
  Fragment emit(const ThreadPart &part, const arch::GPUArch &arch,
                rtile::DotOp op, Value shared, const ImageOperand &lhs,
                const ImageOperand &rhs, Fragment sums) const override;
};

/// Depth of what is multiplied at a time.
constexpr int64_t chunkDepth = 16;

/// The code of one product.
class MmaCode {
public:
  MmaCode(const ThreadPart &part, const arch::GPUArch &arch, rtile::DotOp op,
          Value shared, const ImageOperand &lhs, const ImageOperand &rhs)
      : part(part), b(part.b), layout(part.layout), arch(arch), op(op),
        shared(shared), lhs(lhs), rhs(rhs), element(lhs.tile.getElementType()),
        depth(getDepth(element, arch)),
        rowBlocks(layout.rowBlocks(lhs.tile.getDimSize(0))),
        blocks(Fragments::columnBlocks(getTile(op).getDimSize(1))) {
    rowOfMatrix = b.remUnsigned(part.lane, 8);
    matrix = b.divUnsigned(part.lane, 8);
    low = b.remUnsigned(matrix, 2);
    high = b.divUnsigned(matrix, 2);
  }

  void run(MutableArrayRef<Value> sums);

private:
  /// Sums of 16 rows and 8 columns, by number, and the two words of the right
  /// operand that they get products of.
  struct Part {
    std::array<int64_t, 4> sums;
    std::array<Value, 2> words;
  };

  bool isNarrow() const { return bool(rhs.stored); }
  void placeLeft();
  SmallVector<Value> loadLeft(int64_t rowBlock, int64_t chunk);
  Value packLeft(int64_t rowBlock, int64_t half, int64_t block);
  /// The parts of one chunk from block `block` on, of those that one load
  /// brings.
  SmallVector<Part> loadRight(int64_t chunk, int64_t block);
  SmallVector<Part> loadWide(int64_t chunk, int64_t block);
  SmallVector<Part> loadNarrow(int64_t chunk, int64_t block);
  SmallVector<Part> widenKeys(ArrayRef<Value> words, int64_t block);
  SmallVector<Part> widenValues(ArrayRef<Value> words, int64_t block);
  /// Where a lane reads matrices of bytes; of two matrices, twice the same.
  ImagePlaces placeNarrow(bool isPair);
  void multiply(MutableArrayRef<Value> sums, ArrayRef<Value> left,
                const Part &right, int64_t rowBlock);

  const ThreadPart &part;
  GPUBuilder &b;
  const Fragments &layout;
  const arch::GPUArch &arch;
  rtile::DotOp op;
  Value shared;
  const ImageOperand &lhs, &rhs;
  Type element;
  int64_t depth, rowBlocks, blocks;
  /// Lane l gives the address of row l mod 8 of matrix l / 8, which is
  /// 2 `high` + `low`.
  Value rowOfMatrix, matrix, low, high;
  SmallVector<ImagePlaces> leftPlaces;
  std::optional<ImagePlaces> rightPlaces, pairPlaces;
};

} // namespace

const BlockProduct &ringlet::gpu::getMmaProduct() {
  static const MmaProduct product;
  return product;
}

Fragment MmaProduct::emit(const ThreadPart &part, const arch::GPUArch &arch,
                          rtile::DotOp op, Value shared,
                          const ImageOperand &lhs, const ImageOperand &rhs,
                          Fragment sums) const {
  MmaCode(part, arch, op, shared, lhs, rhs).run(sums);
  return sums;
}

void MmaCode::run(MutableArrayRef<Value> sums) {
  if (lhs.offset >= 0)
    placeLeft();
  for (int64_t chunk = 0; chunk < lhs.image.columns / chunkDepth; ++chunk) {
    SmallVector<SmallVector<Value>> lefts;
    for (int64_t rowBlock = 0; rowBlock < rowBlocks; ++rowBlock)
      lefts.push_back(loadLeft(rowBlock, chunk));
    for (int64_t block = 0; block < blocks; block += isNarrow() ? 4 : 2)
      for (const Part &right : loadRight(chunk, block))
        for (auto [rowBlock, left] : llvm::enumerate(lefts))
          multiply(sums, left, right, rowBlock);
  }
}

void MmaCode::multiply(MutableArrayRef<Value> sums, ArrayRef<Value> left,
                       const Part &right, int64_t rowBlock) {
  SmallVector<Value, 4> part;
  for (int64_t number : right.sums)
    part.push_back(sums[rowBlock * blocks * 4 + number]);
  ArrayRef<Value> words = right.words;
  if (depth == chunkDepth) {
    b.mma(element, depth, part, left, words);
  } else {
    b.mma(element, depth, part, left.take_front(2), words.take_front(1));
    b.mma(element, depth, part, left.drop_front(2), words.drop_front(1));
  }
  for (auto [number, sum] : llvm::zip_equal(right.sums, part))
    sums[rowBlock * blocks * 4 + number] = sum;
}

//===----------------------------------------------------------------------===//
// Left operand
//===----------------------------------------------------------------------===//

void MmaCode::placeLeft() {
  for (int64_t rowBlock = 0; rowBlock < rowBlocks; ++rowBlock) {
    Value first = b.add(b.mul(part.warp, 16), rowBlock * layout.rowsAtOnce());
    if ((rowBlock + 1) * layout.rowsAtOnce() > lhs.image.rows)
      first = b.min(first, b.i32(lhs.image.rows - 16));
    // Matrices go along the rows first. Where four columns lie side by side, a
    // lane reads those of its own row.
    Value inRows = b.add(rowOfMatrix, b.mul(low, 8)), piece = high;
    Value turn = rowOfMatrix;
    if (isNarrow()) {
      inRows = turn = b.divUnsigned(part.lane, 4);
      piece = b.divUnsigned(b.remUnsigned(part.lane, 4), 2);
    }
    Value row = b.add(first, inRows);
    leftPlaces.emplace_back(b, shared, lhs, row, turn, piece);
  }
}

SmallVector<Value> MmaCode::loadLeft(int64_t rowBlock, int64_t chunk) {
  SmallVector<Value> words;
  if (lhs.offset < 0) {
    for (int64_t word = 0; word < 4; ++word)
      words.push_back(packLeft(rowBlock, word % 2, 2 * chunk + word / 2));
    return words;
  }
  const ImagePlaces &places = leftPlaces[rowBlock];
  if (!isNarrow())
    return b.loadMatrices(places.at(0, 2 * chunk), false);
  Type pair = b.getVector(b.getI32Type(), 2);
  constexpr int64_t bytes = 8;
  Value inPiece = b.toI64(b.mul(b.remUnsigned(part.lane, 2), bytes));
  SmallVector<Value> halves;
  for (int64_t rows : {0, 8}) {
    Value place = b.at(places.at(rows, 2 * chunk), inPiece);
    halves.push_back(b.load(pair, place, bytes));
  }
  for (int64_t word = 0; word < 4; ++word)
    words.push_back(b.extract(halves[word % 2], word / 2));
  return words;
}

/// Two elements of the left operand from registers: rows `half`, the thread's
/// columns of a block.
Value MmaCode::packLeft(int64_t rowBlock, int64_t half, int64_t block) {
  int64_t width = lhs.tile.getDimSize(1);
  int64_t leftBlocks = Fragments::columnBlocks(width);
  Value zero = b.real(element, 0.0);
  SmallVector<Value> values;
  for (int64_t which = 0; which < 2; ++which) {
    Value value = zero;
    if (block < leftBlocks) {
      value =
          lhs.elements[(rowBlock * leftBlocks + block) * 4 + half * 2 + which];
      if (Value inside = part.isInside(width, block, which))
        value = b.select(inside, value, zero);
    }
    values.push_back(value);
  }
  return b.toWord(values[0], values[1]);
}

//===----------------------------------------------------------------------===//
// Right operand
//===----------------------------------------------------------------------===//

SmallVector<MmaCode::Part> MmaCode::loadRight(int64_t chunk, int64_t block) {
  return isNarrow() ? loadNarrow(chunk, block) : loadWide(chunk, block);
}

/// Two blocks of columns: matrices go along the depth first.
SmallVector<MmaCode::Part> MmaCode::loadWide(int64_t chunk, int64_t block) {
  bool isTransposed = op.getTransposed();
  if (!rightPlaces) {
    Value row = b.add(rowOfMatrix, b.mul(isTransposed ? high : low, 8));
    rightPlaces.emplace(b, shared, rhs, row, rowOfMatrix,
                        isTransposed ? low : high);
  }
  Value place = isTransposed ? rightPlaces->at(8 * block, 2 * chunk)
                             : rightPlaces->at(chunkDepth * chunk, block);
  SmallVector<Value> words = b.loadMatrices(place, !isTransposed);
  SmallVector<Part> parts;
  for (int64_t which = 0; which < 2 && block + which < blocks; ++which) {
    int64_t first = 4 * (block + which);
    parts.push_back({{first, first + 1, first + 2, first + 3},
                     {words[2 * which], words[2 * which + 1]}});
  }
  return parts;
}

/// Rows of a chunk, or of 16 columns of sums, are numbered as columns are: the
/// first matrix has those that are numbers 0 and 1 of each four, the second one
/// the others. The third and fourth are the next 16 columns of sums.
ImagePlaces MmaCode::placeNarrow(bool isPair) {
  Value four = b.divUnsigned(rowOfMatrix, 2);
  Value inFour = b.add(b.remUnsigned(rowOfMatrix, 2), b.mul(low, 2));
  Value row = b.add(b.mul(four, 4), inFour);
  Value turn = b.remUnsigned(row, Image::swizzledRows);
  Value next = isPair ? b.i32(0) : high;
  if (op.getTransposed())
    return {b, shared, rhs, b.add(row, b.mul(next, 16)), turn, b.i32(0)};
  return {b, shared, rhs, row, turn, next};
}

/// Four blocks of columns, or the last two.
SmallVector<MmaCode::Part> MmaCode::loadNarrow(int64_t chunk, int64_t block) {
  bool isPair = block + 2 == blocks;
  std::optional<ImagePlaces> &places = isPair ? pairPlaces : rightPlaces;
  if (!places)
    places.emplace(placeNarrow(isPair));
  bool isTransposed = op.getTransposed();
  Value place = isTransposed ? places->at(8 * block, chunk)
                             : places->at(chunkDepth * chunk, block / 2);
  SmallVector<Value> words = b.loadMatrices(place, !isTransposed);
  if (isPair)
    words.truncate(2);
  return isTransposed ? widenKeys(words, block) : widenValues(words, block);
}

/// Each word has four neighbours along the depth.
SmallVector<MmaCode::Part> MmaCode::widenKeys(ArrayRef<Value> words,
                                              int64_t block) {
  SmallVector<Part> parts;
  for (auto [which, word] : llvm::enumerate(words)) {
    SmallVector<Value> wide = widenWord(b, arch, rhs.stored, element, word);
    int64_t first = 4 * (block + which);
    parts.push_back(
        {{first, first + 1, first + 2, first + 3}, {wide[0], wide[1]}});
  }
  return parts;
}

/// Each word has two neighbouring columns of two rows: every second column of
/// 16 makes one part.
SmallVector<MmaCode::Part> MmaCode::widenValues(ArrayRef<Value> words,
                                                int64_t block) {
  SmallVector<Part> parts;
  for (size_t pair = 0; pair < words.size(); pair += 2) {
    SmallVector<Value> wide[2];
    for (int64_t half = 0; half < 2; ++half)
      wide[half] = widenWord(b, arch, rhs.stored, element, words[pair + half],
                             Halves::everySecond);
    // A lane has numbers 4 c and 4 c + 2, or 4 c + 1 and 4 c + 3: elements of
    // both blocks.
    for (int64_t which = 0; which < 2; ++which) {
      int64_t first = 4 * (block + pair) + which;
      parts.push_back({{first, first + 4, first + 2, first + 6},
                       {wide[0][which], wide[1][which]}});
    }
  }
  return parts;
}
