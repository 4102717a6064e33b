//===- EmitDot.cpp - Matrix products by register blocks -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block is all rows of a panel times a few columns of the result, all in
// registers. For each step along the depth it takes one column of the left
// operand's panel, which is one or two vectors in sequence, and an element of
// the right operand for each of its columns, repeated in every lane. Loops run
// over the depth and over blocks of equal width; only the block itself is
// unrolled.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Emitter.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

/// Steps along the depth in one turn of the innermost loop: few turns, whose
/// end the processor can foresee.
static constexpr int64_t stepsPerTurn = 4;

void Emitter::emitDot(rtile::DotOp dot, Panel &panel) {
  if (dot.getInit())
    prepare(dot.getInit(), panel, getGroup(dot), getPhase(dot));
  auto blocks = dot->getAttrOfType<DenseI64ArrayAttr>(blocksAttr);
  int64_t first = 0;
  for (ArrayRef<int64_t> rest = blocks; !rest.empty();
       rest = rest.drop_front(2)) {
    emitBlocks(dot, panel, first, rest[0], rest[1]);
    first += rest[0] * rest[1];
  }
}

void Emitter::emitBlocks(rtile::DotOp dot, Panel &panel, int64_t first,
                         int64_t width, int64_t count) {
  bool transposed = dot.getTransposed();
  RankedTensorType rhsType = getTile(dot.getRhs());
  int64_t depth = rhsType.getDimSize(transposed ? 1 : 0);
  int64_t rhsRow = geometry.rowStride(rhsType.getDimSize(1));
  // Bytes in the right operand to the next column of the result and to the
  // next step of the depth.
  int64_t columnStep = transposed ? rhsRow : 4;
  int64_t depthStep = transposed ? 4 : rhsRow;
  int64_t vectorBytes = getVectorBytes(panel);
  Type vector = b.getVector(b.getF32Type(), panel.rows);

  Value lhs = getPanelAddress(dot.getLhs(), panel);
  // A load has its rows in its second slot, and so has a repacked operand.
  Operation *packed = dot->hasAttr(repackAttr) ? dot.getOperation()
                                               : dot.getRhs().getDefiningOp();
  Value rhs = getPlace(getSlots(packed)[1]);
  Value result = getPanelAddress(dot.getResult(), panel);

  auto emitBlock = [&](Value start) {
    SmallVector<Value> sums;
    for (int64_t column = 0; column < width; ++column) {
      if (!dot.getInit()) {
        sums.push_back(b.real(vector, 0.0));
        continue;
      }
      Column at(b.add(start, b.i64(column)), getGroup(dot), getPhase(dot));
      sums.push_back(getColumnValue(dot.getInit(), panel, at));
    }
    Value block = b.at(rhs, b.mul(start, columnStep));
    auto emitSteps = [&](Value step, int64_t steps, ValueRange before) {
      SmallVector<Value> after(before);
      Value left = b.at(lhs, b.mul(step, vectorBytes));
      Value right = b.at(block, b.mul(step, depthStep));
      for (int64_t i = 0; i < steps; ++i) {
        Value rows = b.load(vector, b.at(left, i * vectorBytes),
                            std::min<int64_t>(vectorBytes, 64));
        for (int64_t column = 0; column < width; ++column) {
          Value element =
              b.load(b.getF32Type(),
                     b.at(right, i * depthStep + column * columnStep), 4);
          after[column] =
              b.fma(b.splat(element, panel.rows), rows, after[column]);
        }
      }
      return after;
    };
    int64_t whole = depth / stepsPerTurn * stepsPerTurn;
    if (whole > 0)
      sums = b.loop(0, whole, stepsPerTurn, sums,
                    [&](Value step, ValueRange before) {
                      return emitSteps(step, stepsPerTurn, before);
                    });
    if (whole < depth)
      sums = emitSteps(b.i64(whole), depth - whole, sums);
    Value to = b.at(result, b.mul(start, vectorBytes));
    for (int64_t column = 0; column < width; ++column)
      storeTile(sums[column], b.at(to, column * vectorBytes));
  };
  if (count == 1)
    return emitBlock(b.i64(first));
  b.loop(first, first + width * count, width, emitBlock, Unroll::ByLLVM);
}
