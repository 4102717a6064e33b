//===- SimtProduct.cpp - Products of multiply-adds -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each thread makes its elements by multiply-adds, of operands in shared memory
// of any type. It is there on every architecture.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Product.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

struct SimtProduct : BlockProduct {
  StringRef getName() const override { return "simt"; }
  bool takes(Type, Type, const arch::GPUArch &) const override { return true; }
  bool isOfMatrices() const override { return false; }
  bool takesThroughMemory(unsigned) const override { return true; }
  Fragment emit(const ThreadPart &part, const arch::GPUArch &, rtile::DotOp op,
                Value shared, const ImageOperand &lhs, const ImageOperand &rhs,
                Fragment sums) const override;
};

} // namespace

const BlockProduct &ringlet::gpu::getSimtProduct() {
  static const SimtProduct product;
  return product;
}

static Value toF32(GPUBuilder &b, Value value) {
  return value.getType().isF32() ? value
                                 : b.convertFloat(b.getF32Type(), value);
}

Fragment SimtProduct::emit(const ThreadPart &part, const arch::GPUArch &,
                           rtile::DotOp op, Value shared,
                           const ImageOperand &lhs, const ImageOperand &rhs,
                           Fragment sums) const {
  GPUBuilder &b = part.b;
  RankedTensorType left = lhs.tile, right = rhs.tile;
  const Fragments &layout = part.layout;
  const Image &leftImage = lhs.image, &rightImage = rhs.image;
  Type leftElement = left.getElementType();
  Type rightElement = right.getElementType();
  int64_t leftBytes = getBytes(leftElement);
  int64_t rightBytes = getBytes(rightElement);
  int64_t rows = 2 * layout.rowBlocks(left.getDimSize(0));
  int64_t blocks = Fragments::columnBlocks(getTile(op).getDimSize(1));
  // Steps along the depth in one turn of the loop: 16 bytes of f32. More of
  // shorter elements would take more registers.
  constexpr int64_t steps = 4;

  SmallVector<Value> leftRows, rightRows;
  for (int64_t row = 0; row < rows; ++row) {
    Value index = part.getRowIndex(row / 2, row % 2);
    if ((row / 2 + 1) * layout.rowsAtOnce() > leftImage.rows)
      index = b.min(index, b.i32(leftImage.rows - 1));
    Value toRow = b.mul(b.toI64(index), leftImage.pitch);
    leftRows.push_back(b.at(b.at(shared, lhs.offset), toRow));
  }
  Value lanePlace = b.toI64(part.laneColumn);
  if (op.getTransposed()) {
    Value toRow = b.mul(lanePlace, rightImage.pitch);
    Value first = b.at(b.at(shared, rhs.offset), toRow);
    for (int64_t column = 0; column < 2 * blocks; ++column)
      rightRows.push_back(
          b.at(first, (8 * (column / 2) + column % 2) * rightImage.pitch));
  } else {
    Value toColumn = b.mul(lanePlace, rightBytes);
    rightRows.push_back(b.at(b.at(shared, rhs.offset), toColumn));
  }

  auto multiply = [&](SmallVector<Value> &after, int64_t row, int64_t column,
                      Value x, Value y) {
    Value &sum = after[((row / 2) * blocks + column / 2) * 4 + (row % 2) * 2 +
                       column % 2];
    sum = b.fma(x, y, sum);
  };
  Fragment result = b.loop(
      0, leftImage.columns, steps, sums, [&](Value depth, ValueRange before) {
        SmallVector<Value> after(before);
        Value leftStep = b.mul(depth, leftBytes);
        SmallVector<SmallVector<Value>> lefts;
        for (Value row : leftRows) {
          Value piece = b.load(b.getVector(leftElement, steps),
                               b.at(row, leftStep), steps * leftBytes);
          lefts.emplace_back();
          for (int64_t step = 0; step < steps; ++step)
            lefts.back().push_back(toF32(b, b.extract(piece, step)));
        }
        if (op.getTransposed()) {
          Value rightStep = b.mul(depth, rightBytes);
          for (int64_t column = 0; column < 2 * blocks; ++column) {
            Value piece =
                b.load(b.getVector(rightElement, steps),
                       b.at(rightRows[column], rightStep), steps * rightBytes);
            for (int64_t step = 0; step < steps; ++step) {
              Value y = toF32(b, b.extract(piece, step));
              for (int64_t row = 0; row < rows; ++row)
                multiply(after, row, column, lefts[row][step], y);
            }
          }
          return after;
        }
        Value first = b.at(rightRows[0], b.mul(depth, rightImage.pitch));
        for (int64_t step = 0; step < steps; ++step)
          for (int64_t block = 0; block < blocks; ++block) {
            Value pair = b.load(
                b.getVector(rightElement, 2),
                b.at(first, step * rightImage.pitch + 8 * block * rightBytes),
                2 * rightBytes);
            for (int64_t which = 0; which < 2; ++which) {
              Value y = toF32(b, b.extract(pair, which));
              for (int64_t row = 0; row < rows; ++row)
                multiply(after, row, 2 * block + which, lefts[row][step], y);
            }
          }
        return after;
      });
  // Sums take most of the registers: there is no room for a second step.
  b.forbidUnrolling(result);
  return result;
}
