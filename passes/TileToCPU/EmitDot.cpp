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
// Pairs of bf16 are the same with a word for an element: a step is two steps
// along the depth. Products by AMX share the loop over blocks and the left
// operand; the blocks themselves are in EmitAMX.cpp.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

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
  Value left = getLeft(dot, panel);
  bool byAMX = dot->hasAttr(amxAttr);
  if (byAMX && dot.getInit())
    storeInit(dot, panel);
  int64_t first = 0;
  for (ArrayRef<int64_t> rest = blocks; !rest.empty();
       rest = rest.drop_front(2)) {
    if (byAMX)
      emitTileBlocks(dot, panel, left, first, rest[0], rest[1]);
    else
      emitBlocks(dot, panel, left, first, rest[0], rest[1]);
    first += rest[0] * rest[1];
  }
}

Value Emitter::getLeft(rtile::DotOp dot, Panel &panel) {
  Value tile = dot.getLhs();
  if (rtile::LoadOp load = getPairedLoad(tile))
    return getPanelAddress(getSlot(tile), getStored(load), /*local=*/false,
                           panel);
  Value from = getPanelAddress(tile, panel);
  if (!dot->hasAttr(pairedAttr))
    return from;
  Value to = getPlace(getSlots(dot)[1]);
  int64_t bytes = getVectorBytes(panel);
  int64_t alignment = std::min<int64_t>(bytes, 64);
  Type words = b.getVector(b.getI32Type(), panel.rows);
  // The tile holds rounded f32, whose upper halves are the bf16.
  auto loadLower = [&](Value pointer) -> Value {
    return arith::ShRUIOp::create(b, b.load(words, pointer, alignment),
                                  b.integer(words, 16));
  };
  int64_t depth = getTile(tile).getDimSize(1);
  b.loop(
      0, depth / 2, 1,
      [&](Value pair) {
        Value first = b.at(from, b.mul(pair, 2 * bytes));
        Value upper = b.load(words, b.at(first, bytes), alignment);
        upper = arith::AndIOp::create(
            b, upper, b.integer(words, static_cast<int32_t>(0xffff0000)));
        b.store(arith::OrIOp::create(b, loadLower(first), upper),
                b.at(to, b.mul(pair, bytes)), alignment);
      },
      Unroll::ByLLVM);
  if (depth % 2)
    b.store(loadLower(b.at(from, (depth - 1) * bytes)),
            b.at(to, depth / 2 * bytes), alignment);
  if (dot->hasAttr(amxAttr)) {
    int64_t pairs = llvm::divideCeil(depth, 2);
    b.loop(pairs, llvm::alignTo(pairs, amxSide), 1, [&](Value pair) {
      b.store(b.integer(words, 0), b.at(to, b.mul(pair, bytes)), alignment);
    });
  }
  return to;
}

/// Adds to each lane of `sum` the products of the two bf16 in the words of `x`
/// and `y`, by instructions on `lanes` lanes. Denormal numbers count as zero.
static Value multiplyPairs(CodeBuilder &b, Value x, Value y, Value sum,
                           int64_t lanes) {
  int64_t count = CodeBuilder::lanesOf(sum) / lanes;
  Type sums = b.getVector(b.getF32Type(), lanes);
  Type pairs = b.getVector(b.getBF16Type(), 2 * lanes);
  auto name =
      b.getStringAttr("llvm.x86.avx512bf16.dpbf16ps." + Twine(32 * lanes));
  auto getPart = [&](Value vector, int64_t part) {
    if (count == 1)
      return vector;
    auto mask =
        llvm::to_vector(llvm::seq<int32_t>(part * lanes, (part + 1) * lanes));
    return b.shuffle(vector, vector, mask);
  };
  auto getPairs = [&](Value words, int64_t part) -> Value {
    return LLVM::BitcastOp::create(b, pairs, getPart(words, part));
  };
  Value result;
  for (int64_t part = 0; part < count; ++part) {
    Value next = LLVM::CallIntrinsicOp::create(b, sums, name,
                                               ValueRange{getPart(sum, part),
                                                          getPairs(x, part),
                                                          getPairs(y, part)})
                     .getResult(0);
    // Panels have one or two vectors.
    auto all = llvm::to_vector(llvm::seq<int32_t>(0, 2 * lanes));
    result = result ? b.shuffle(result, next, all) : next;
  }
  return result;
}

void Emitter::emitBlocks(rtile::DotOp dot, Panel &panel, Value lhs,
                         int64_t first, int64_t width, int64_t count) {
  bool transposed = dot.getTransposed();
  bool paired = dot->hasAttr(pairedAttr);
  RankedTensorType rhsType =
      paired ? getStored(getPairedLoad(dot.getRhs())) : getTile(dot.getRhs());
  int64_t depth = rhsType.getDimSize(transposed ? 1 : 0);
  int64_t rhsRow = geometry.rowStride(rhsType.getDimSize(1));
  // Bytes in the right operand to the next column of the result and to the
  // next step of the depth.
  int64_t columnStep = transposed ? rhsRow : 4;
  int64_t depthStep = transposed ? 4 : rhsRow;
  int64_t vectorBytes = getVectorBytes(panel);
  Type vector = b.getVector(b.getF32Type(), panel.rows);
  Type element = paired ? Type(b.getI32Type()) : Type(b.getF32Type());
  Type operand = b.getVector(element, panel.rows);
  auto multiply = [&](Value repeated, Value rows, Value sum) {
    return paired ? multiplyPairs(b, repeated, rows, sum,
                                  std::min(geometry.lanes, panel.rows))
                  : b.fma(repeated, rows, sum);
  };

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
        Value rows = b.load(operand, b.at(left, i * vectorBytes),
                            std::min<int64_t>(vectorBytes, 64));
        for (int64_t column = 0; column < width; ++column) {
          Value one = b.load(
              element, b.at(right, i * depthStep + column * columnStep), 4);
          after[column] =
              multiply(b.splat(one, panel.rows), rows, after[column]);
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
