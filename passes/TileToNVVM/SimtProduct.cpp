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

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

struct SimtProduct : BlockProduct {
  StringRef getName() const override { return "simt"; }
  bool takes(rtile::DotOp, const arch::GPUArch &) const override {
    return true;
  }
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

namespace {

/// What one product multiplies: rows of the left image that the thread has, and
/// where its columns of the right one begin.
class Multiplier {
public:
  Multiplier(const ThreadPart &part, rtile::DotOp op, Value shared,
             const ImageOperand &lhs, const ImageOperand &rhs);

  int64_t getRows() const { return static_cast<int64_t>(leftRows.size()); }
  /// Adds the product to sums of the column blocks from `first` on, which lie
  /// row block by row block.
  Fragment add(int64_t first, Fragment sums) const;

private:
  /// Steps along the depth in one turn of the loop: 16 bytes of f32. More of
  /// shorter elements would take more registers.
  static constexpr int64_t steps = 4;
  using Lefts = SmallVector<SmallVector<Value>>;

  Lefts loadLefts(Value depth) const;
  void addTransposed(Value depth, int64_t first, const Lefts &lefts,
                     Fragment &sums) const;
  void addPlain(Value depth, int64_t first, const Lefts &lefts,
                Fragment &sums) const;
  /// The product of a column of the right operand at one step.
  void addColumn(const Lefts &lefts, int64_t step, int64_t column, Value value,
                 Fragment &sums) const;

  GPUBuilder &b;
  const Image &leftImage, &rightImage;
  Type leftElement, rightElement;
  int64_t leftBytes, rightBytes;
  bool isTransposed;
  SmallVector<Value> leftRows, rightRows;
};

} // namespace

Multiplier::Multiplier(const ThreadPart &part, rtile::DotOp op, Value shared,
                       const ImageOperand &lhs, const ImageOperand &rhs)
    : b(part.b), leftImage(lhs.image), rightImage(rhs.image),
      leftElement(lhs.tile.getElementType()),
      rightElement(rhs.tile.getElementType()), leftBytes(getBytes(leftElement)),
      rightBytes(getBytes(rightElement)), isTransposed(op.getTransposed()) {
  const Fragments &layout = part.layout;
  int64_t rows = 2 * layout.rowBlocks(lhs.tile.getDimSize(0));
  int64_t blocks = Fragments::columnBlocks(getTile(op).getDimSize(1));
  for (int64_t row = 0; row < rows; ++row) {
    Value index = part.getRowIndex(row / 2, row % 2);
    if ((row / 2 + 1) * layout.rowsAtOnce() > leftImage.rows)
      index = b.min(index, b.i32(leftImage.rows - 1));
    Value toRow = b.mul(b.toI64(index), leftImage.pitch);
    leftRows.push_back(b.at(b.at(shared, lhs.offset), toRow));
  }
  Value lanePlace = b.toI64(part.laneColumn);
  if (isTransposed) {
    Value toRow = b.mul(lanePlace, rightImage.pitch);
    Value first = b.at(b.at(shared, rhs.offset), toRow);
    for (int64_t column = 0; column < 2 * blocks; ++column)
      rightRows.push_back(
          b.at(first, (8 * (column / 2) + column % 2) * rightImage.pitch));
  } else {
    Value toColumn = b.mul(lanePlace, rightBytes);
    rightRows.push_back(b.at(b.at(shared, rhs.offset), toColumn));
  }
}

Multiplier::Lefts Multiplier::loadLefts(Value depth) const {
  Value leftStep = b.mul(depth, leftBytes);
  Lefts lefts;
  for (Value row : leftRows) {
    Value piece = b.load(b.getVector(leftElement, steps), b.at(row, leftStep),
                         steps * leftBytes);
    lefts.emplace_back();
    for (int64_t step = 0; step < steps; ++step)
      lefts.back().push_back(toF32(b, b.extract(piece, step)));
  }
  return lefts;
}

void Multiplier::addColumn(const Lefts &lefts, int64_t step, int64_t column,
                           Value value, Fragment &sums) const {
  int64_t blocks = static_cast<int64_t>(sums.size()) / (2 * getRows());
  for (int64_t row = 0; row < getRows(); ++row) {
    Value &sum = sums[((row / 2) * blocks + column / 2) * 4 + (row % 2) * 2 +
                      column % 2];
    sum = b.fma(lefts[row][step], value, sum);
  }
}

void Multiplier::addTransposed(Value depth, int64_t first, const Lefts &lefts,
                               Fragment &sums) const {
  int64_t columns = static_cast<int64_t>(sums.size()) / getRows();
  Value rightStep = b.mul(depth, rightBytes);
  for (int64_t column = 0; column < columns; ++column) {
    Value piece = b.load(b.getVector(rightElement, steps),
                         b.at(rightRows[2 * first + column], rightStep),
                         steps * rightBytes);
    for (int64_t step = 0; step < steps; ++step)
      addColumn(lefts, step, column, toF32(b, b.extract(piece, step)), sums);
  }
}

void Multiplier::addPlain(Value depth, int64_t first, const Lefts &lefts,
                          Fragment &sums) const {
  int64_t blocks = static_cast<int64_t>(sums.size()) / (2 * getRows());
  Value row = b.at(rightRows[0], b.mul(depth, rightImage.pitch));
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t block = 0; block < blocks; ++block) {
      int64_t place =
          step * rightImage.pitch + 8 * (first + block) * rightBytes;
      Value pair = b.load(b.getVector(rightElement, 2), b.at(row, place),
                          2 * rightBytes);
      for (int64_t which = 0; which < 2; ++which)
        addColumn(lefts, step, 2 * block + which,
                  toF32(b, b.extract(pair, which)), sums);
    }
}

Fragment Multiplier::add(int64_t first, Fragment sums) const {
  Fragment result = b.loop(0, leftImage.columns, steps, sums,
                           [&](Value depth, ValueRange before) {
                             Fragment after(before);
                             Lefts lefts = loadLefts(depth);
                             if (isTransposed)
                               addTransposed(depth, first, lefts, after);
                             else
                               addPlain(depth, first, lefts, after);
                             return after;
                           });
  // Sums take most of the registers: there is no room for a second step.
  b.forbidUnrolling(result);
  return result;
}

Fragment SimtProduct::emit(const ThreadPart &part, const arch::GPUArch &,
                           rtile::DotOp op, Value shared,
                           const ImageOperand &lhs, const ImageOperand &rhs,
                           Fragment sums) const {
  GPUBuilder &b = part.b;
  Multiplier product(part, op, shared, lhs, rhs);
  // Added one by one to what was summed before, products would each be rounded
  // to the last digit of that, which may be large. So those of one tile are
  // summed from 0, as many sums at once as there are registers for. Where sums
  // are many and products few, as of 224 columns and 16 keys, none are left.
  constexpr int64_t sumsAtOnce = 32, manySums = 96, fewProducts = 16;
  bool isFull = static_cast<int64_t>(sums.size()) > manySums &&
                lhs.image.columns <= fewProducts;
  if (!op.getInit() || isFull)
    return product.add(0, std::move(sums));
  int64_t rows = product.getRows();
  int64_t blocks = static_cast<int64_t>(sums.size()) / (2 * rows);
  int64_t group = std::max<int64_t>(1, sumsAtOnce / (2 * rows));
  for (int64_t first = 0; first < blocks; first += group) {
    int64_t count = std::min(group, blocks - first);
    Fragment own = product.add(
        first, Fragment(2 * rows * count, b.real(b.getF32Type(), 0.0)));
    // Four for each block of rows and columns.
    for (auto [place, sum] : llvm::enumerate(own)) {
      int64_t number = static_cast<int64_t>(place) / 4;
      Value &total =
          sums[((number / count) * blocks + first + number % count) * 4 +
               place % 4];
      total = arith::AddFOp::create(b, total, sum);
    }
  }
  return sums;
}
