//===- EmitDot.cpp - Matrix products -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/PlainEmitter.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

int64_t PlainEmitter::prepareImage(OpOperand &operand,
                                   ArrayRef<SharedAccess> &accesses) {
  if (isLoadedImage(operand))
    return gpu::getShared(getImageLoad(operand.get()));
  int64_t offset =
      gpu::getShared(operand.getOwner(), operand.getOperandNumber());
  await(accesses.front());
  accesses = accesses.drop_front();
  writeImage(getTile(operand.get()), fragments[operand.get()], offset);
  return offset;
}

void PlainEmitter::emitDot(rtile::DotOp op) {
  SmallVector<SharedAccess> list = getSharedAccesses(op);
  ArrayRef<SharedAccess> accesses = list;
  int64_t offsets[2] = {-1, -1};
  for (OpOperand *operand : {&op.getLhsMutable(), &op.getRhsMutable()})
    if (needsImage(*operand))
      offsets[operand->getOperandNumber()] = prepareImage(*operand, accesses);
  for (const SharedAccess &access : accesses)
    await(access);
  Fragment sums = op.getInit() ? fragments[op.getInit()]
                               : Fragment(layout.elements(getTile(op)),
                                          b.real(b.getF32Type(), 0.0));
  fragments[op] = isMma(op)
                      ? emitMma(op, offsets[0], offsets[1], std::move(sums))
                      : emitSimt(op, offsets[0], offsets[1], std::move(sums));
}

//===----------------------------------------------------------------------===//
// simt: each thread makes its elements by multiply-adds
//===----------------------------------------------------------------------===//

PlainEmitter::Fragment PlainEmitter::emitSimt(rtile::DotOp op, int64_t lhs,
                                              int64_t rhs, Fragment sums) {
  RankedTensorType left = getTile(op.getLhs()), right = getTile(op.getRhs());
  Image leftImage = getImage(op.getLhsMutable());
  Image rightImage = getImage(op.getRhsMutable());
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
    Value index = getRowIndex(row / 2, row % 2);
    if ((row / 2 + 1) * layout.rowsAtOnce() > leftImage.rows)
      index = b.min(index, b.i32(leftImage.rows - 1));
    Value toRow = b.mul(b.toI64(index), leftImage.pitch);
    leftRows.push_back(b.at(getShared(lhs), toRow));
  }
  Value lanePlace = b.toI64(laneColumn);
  if (op.getTransposed()) {
    Value toRow = b.mul(lanePlace, rightImage.pitch);
    Value first = b.at(getShared(rhs), toRow);
    for (int64_t column = 0; column < 2 * blocks; ++column)
      rightRows.push_back(
          b.at(first, (8 * (column / 2) + column % 2) * rightImage.pitch));
  } else {
    Value toColumn = b.mul(lanePlace, rightBytes);
    rightRows.push_back(b.at(getShared(rhs), toColumn));
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
            lefts.back().push_back(toF32(b.extract(piece, step)));
        }
        if (op.getTransposed()) {
          Value rightStep = b.mul(depth, rightBytes);
          for (int64_t column = 0; column < 2 * blocks; ++column) {
            Value piece =
                b.load(b.getVector(rightElement, steps),
                       b.at(rightRows[column], rightStep), steps * rightBytes);
            for (int64_t step = 0; step < steps; ++step) {
              Value y = toF32(b.extract(piece, step));
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
              Value y = toF32(b.extract(pair, which));
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

//===----------------------------------------------------------------------===//
// mma: each warp makes the elements of its rows by matrix instructions
//===----------------------------------------------------------------------===//

PlainEmitter::Fragment PlainEmitter::emitMma(rtile::DotOp op, int64_t lhs,
                                             int64_t rhs, Fragment sums) {
  RankedTensorType left = getTile(op.getLhs());
  Type element = left.getElementType();
  Image leftImage = getImage(op.getLhsMutable());
  Image rightImage = getImage(op.getRhsMutable());
  int64_t depth = left.getDimSize(1);
  int64_t leftBlocks = Fragments::columnBlocks(depth);
  int64_t blocks = Fragments::columnBlocks(getTile(op).getDimSize(1));
  int64_t step = element.isF16() ? arch.mmaDepthF16 : arch.mmaDepthBF16;
  Value zero = b.real(element, 0.0);

  /// Two elements of the left operand from registers: rows `half`, columns
  /// 8 * block and on.
  auto pack = [&](int64_t rowBlock, int64_t half, int64_t block) -> Value {
    SmallVector<Value> values;
    for (int64_t which = 0; which < 2; ++which) {
      Value value = zero;
      if (block < leftBlocks) {
        value = fragments[op.getLhs()][(rowBlock * leftBlocks + block) * 4 +
                                       half * 2 + which];
        if (Value inside = isInside(depth, block, which))
          value = b.select(inside, value, zero);
      }
      values.push_back(value);
    }
    return b.toWord(values[0], values[1]);
  };

  // Lane l gives the address of row l mod 8 of matrix l / 8.
  Value rowOfMatrix = b.remUnsigned(lane, 8);
  Value matrix = b.divUnsigned(lane, 8);
  Value low = b.remUnsigned(matrix, 2), high = b.divUnsigned(matrix, 2);
  auto place = [&](int64_t offset, const Image &image, Value row,
                   Value columns8) {
    Value piece =
        image.swizzled
            ? arith::XOrIOp::create(b, columns8, rowOfMatrix).getResult()
            : columns8;
    Value alongRow = b.mul(piece, 16);
    Value bytes = b.toI64(b.add(b.mul(row, image.pitch), alongRow));
    return b.at(getShared(offset), bytes);
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
  Value rightLane =
      op.getTransposed()
          ? place(rhs, rightImage, b.add(rowOfMatrix, b.mul(high, 8)), low)
          : place(rhs, rightImage, b.add(rowOfMatrix, b.mul(low, 8)), high);
  // Left operand: matrices go along the rows first.
  SmallVector<Value> leftLanes;
  if (lhs >= 0)
    for (int64_t block = 0; block < layout.rowBlocks(left.getDimSize(0));
         ++block) {
      Value first = b.add(b.mul(warp, 16), block * layout.rowsAtOnce());
      if ((block + 1) * layout.rowsAtOnce() > leftImage.rows)
        first = b.min(first, b.i32(leftImage.rows - 16));
      leftLanes.push_back(place(lhs, leftImage,
                                b.add(first, b.add(rowOfMatrix, b.mul(low, 8))),
                                high));
    }

  for (int64_t chunk = 0; chunk < leftImage.columns / 16; ++chunk) {
    SmallVector<SmallVector<Value>> lefts;
    for (int64_t block = 0; block < layout.rowBlocks(left.getDimSize(0));
         ++block) {
      if (lhs >= 0) {
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
