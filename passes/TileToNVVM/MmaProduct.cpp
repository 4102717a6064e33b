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
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Product.h"

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
  bool takes(Type lhs, Type rhs, const arch::GPUArch &arch) const override {
    return lhs == rhs && getDepth(lhs, arch) > 0;
  }
  bool isOfMatrices() const override { return true; }
  bool takesThroughMemory(unsigned operand) const override {
    return operand == 1;
  }
  Fragment emit(const ThreadPart &part, const arch::GPUArch &arch,
                rtile::DotOp op, Value shared, const ImageOperand &lhs,
                const ImageOperand &rhs, Fragment sums) const override;
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
  GPUBuilder &b = part.b;
  const Fragments &layout = part.layout;
  RankedTensorType left = lhs.tile;
  Type element = left.getElementType();
  const Image &leftImage = lhs.image, &rightImage = rhs.image;
  int64_t depth = left.getDimSize(1);
  int64_t leftBlocks = Fragments::columnBlocks(depth);
  int64_t blocks = Fragments::columnBlocks(getTile(op).getDimSize(1));
  int64_t step = getDepth(element, arch);
  Value zero = b.real(element, 0.0);

  /// Two elements of the left operand from registers: rows `half`, columns
  /// 8 * block and on.
  auto pack = [&](int64_t rowBlock, int64_t half, int64_t block) -> Value {
    SmallVector<Value> values;
    for (int64_t which = 0; which < 2; ++which) {
      Value value = zero;
      if (block < leftBlocks) {
        value = lhs.elements[(rowBlock * leftBlocks + block) * 4 + half * 2 +
                             which];
        if (Value inside = part.isInside(depth, block, which))
          value = b.select(inside, value, zero);
      }
      values.push_back(value);
    }
    return b.toWord(values[0], values[1]);
  };

  // Lane l gives the address of row l mod 8 of matrix l / 8.
  Value rowOfMatrix = b.remUnsigned(part.lane, 8);
  Value matrix = b.divUnsigned(part.lane, 8);
  Value low = b.remUnsigned(matrix, 2), high = b.divUnsigned(matrix, 2);
  auto place = [&](int64_t offset, const Image &image, Value row,
                   Value columns8) {
    Value piece =
        image.swizzled
            ? arith::XOrIOp::create(b, columns8, rowOfMatrix).getResult()
            : columns8;
    Value alongRow = b.mul(piece, 16);
    Value bytes = b.toI64(b.add(b.mul(row, image.pitch), alongRow));
    return b.at(b.at(shared, offset), bytes);
  };
  // A lane's place so many bytes further along its row, an even number of
  // pieces, and then rows below.
  auto move = [&](const Image &image, Value place, int64_t bytes,
                  int64_t rows) {
    int64_t turned = image.swizzled ? bytes % (16 * Image::swizzledRows) : 0;
    if (turned)
      place = b.flipBits(place, turned);
    return b.at(place, bytes - turned + rows * image.pitch);
  };
  // Right operand, two blocks of columns at a time: matrices go along the depth
  // first.
  Value rightLane = op.getTransposed()
                        ? place(rhs.offset, rightImage,
                                b.add(rowOfMatrix, b.mul(high, 8)), low)
                        : place(rhs.offset, rightImage,
                                b.add(rowOfMatrix, b.mul(low, 8)), high);
  // Left operand: matrices go along the rows first.
  SmallVector<Value> leftLanes;
  if (lhs.offset >= 0)
    for (int64_t block = 0; block < layout.rowBlocks(left.getDimSize(0));
         ++block) {
      Value first = b.add(b.mul(part.warp, 16), block * layout.rowsAtOnce());
      if ((block + 1) * layout.rowsAtOnce() > leftImage.rows)
        first = b.min(first, b.i32(leftImage.rows - 16));
      leftLanes.push_back(place(lhs.offset, leftImage,
                                b.add(first, b.add(rowOfMatrix, b.mul(low, 8))),
                                high));
    }

  for (int64_t chunk = 0; chunk < leftImage.columns / 16; ++chunk) {
    SmallVector<SmallVector<Value>> lefts;
    for (int64_t block = 0; block < layout.rowBlocks(left.getDimSize(0));
         ++block) {
      if (lhs.offset >= 0) {
        lefts.push_back(b.loadMatrices(
            move(leftImage, leftLanes[block], 32 * chunk, 0), false));
        continue;
      }
      lefts.emplace_back();
      for (int64_t word = 0; word < 4; ++word)
        lefts.back().push_back(pack(block, word % 2, 2 * chunk + word / 2));
    }
    for (int64_t block = 0; block < blocks; block += 2) {
      Value place = op.getTransposed()
                        ? move(rightImage, rightLane, 32 * chunk, 8 * block)
                        : move(rightImage, rightLane, 16 * block, 16 * chunk);
      SmallVector<Value> rights = b.loadMatrices(place, !op.getTransposed());
      for (int64_t which = 0; which < 2 && block + which < blocks; ++which)
        for (auto [row, words] : llvm::enumerate(lefts)) {
          MutableArrayRef<Value> sum = MutableArrayRef<Value>(sums).slice(
              (row * blocks + block + which) * 4, 4);
          ArrayRef<Value> a = words;
          ArrayRef<Value> right = ArrayRef<Value>(rights).slice(2 * which, 2);
          if (step == 16) {
            b.mma(element, 16, sum, a, right);
            continue;
          }
          b.mma(element, 8, sum, a.take_front(2), right.take_front(1));
          b.mma(element, 8, sum, a.drop_front(2), right.drop_front(1));
        }
    }
  }
  return sums;
}
