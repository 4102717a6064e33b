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
static_assert(turnOfPairs == 2 * stepsPerTurn,
              "expected whole turns over what is trimmed, pairs included");

void Emitter::emitDot(rtile::DotOp dot, Panel &panel) {
  if (dot.getInit())
    prepare(dot.getInit(), panel, getGroup(dot), getPhase(dot));
  if (isNarrow(dot))
    return emitNarrowDot(dot, panel);
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

/// Calls `emit` with the registers of `lanes` lanes that `vectors` fill, one or
/// two each, and puts what it gives side by side.
static Value forEachRegister(CodeBuilder &b, ArrayRef<Value> vectors,
                             int64_t lanes,
                             function_ref<Value(ArrayRef<Value>)> emit) {
  if (CodeBuilder::lanesOf(vectors.front()) == lanes)
    return emit(vectors);
  auto emitPart = [&](int64_t first) {
    auto mask = llvm::to_vector(llvm::seq<int32_t>(first, first + lanes));
    SmallVector<Value> parts;
    for (Value vector : vectors)
      parts.push_back(b.shuffle(vector, vector, mask));
    return emit(parts);
  };
  Value low = emitPart(0), high = emitPart(lanes);
  int64_t all = CodeBuilder::lanesOf(low) + CodeBuilder::lanesOf(high);
  return b.shuffle(low, high, llvm::to_vector(llvm::seq<int32_t>(0, all)));
}

/// An instruction of AVX512-BF16 on registers of as many lanes as the operand
/// in front has.
static Value callOnLanes(CodeBuilder &b, StringRef name, Type result,
                         ArrayRef<Value> operands) {
  int64_t bits = 32 * CodeBuilder::lanesOf(operands.front());
  auto full =
      b.getStringAttr("llvm.x86.avx512bf16." + name + "." + Twine(bits));
  return LLVM::CallIntrinsicOp::create(b, result, full, operands).getResult(0);
}

/// The two columns of f32, rounded to bf16, in the halves of words.
static Value roundToPairs(CodeBuilder &b, Value first, Value second,
                          int64_t lanes) {
  return forEachRegister(b, {first, second}, lanes, [&](ArrayRef<Value> parts) {
    Type halves = b.getVector(b.getBF16Type(), 2 * lanes);
    Value rounded =
        callOnLanes(b, "cvtne2ps2bf16", halves, {parts[1], parts[0]});
    SmallVector<int32_t> woven;
    for (int32_t lane = 0; lane < lanes; ++lane)
      woven.append({lane, static_cast<int32_t>(lanes) + lane});
    return Value(LLVM::BitcastOp::create(b, b.getVector(b.getF32Type(), lanes),
                                         b.shuffle(rounded, rounded, woven)));
  });
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
  Type column = b.getVector(b.getF32Type(), panel.rows);
  auto loadColumn = [&](Value pointer) {
    return b.load(column, pointer, alignment);
  };
  auto makePairs = [&](Value first, Value second) {
    return roundToPairs(b, first, second, geometry.lanes);
  };
  int64_t depth = getTile(tile).getDimSize(1);
  auto [begin, end] = getSteps(dot, depth / 2, panel);
  b.loop(
      begin, end, b.i64(1),
      [&](Value pair) {
        Value first = b.at(from, b.mul(pair, 2 * bytes));
        Value place = b.at(to, b.mul(pair, bytes));
        Value right = loadColumn(b.at(first, bytes));
        b.store(makePairs(loadColumn(first), right), place, alignment);
      },
      Unroll::ByLLVM);
  if (depth % 2) {
    Value place = b.at(to, depth / 2 * bytes);
    Value last = loadColumn(b.at(from, (depth - 1) * bytes));
    b.store(makePairs(last, b.real(column, 0.0)), place, alignment);
  }
  if (dot->hasAttr(amxAttr)) {
    int64_t pairs = llvm::divideCeil(depth, 2);
    b.loop(pairs, llvm::alignTo(pairs, amxSide), 1, [&](Value pair) {
      b.store(b.real(column, 0.0), b.at(to, b.mul(pair, bytes)), alignment);
    });
  }
  return to;
}

/// Adds to each lane of `sum` the products of the two bf16 in the words of `x`
/// and `y`, by instructions on `lanes` lanes. Denormal numbers count as zero.
static Value multiplyPairs(CodeBuilder &b, Value x, Value y, Value sum,
                           int64_t lanes) {
  return forEachRegister(b, {sum, x, y}, lanes, [&](ArrayRef<Value> parts) {
    Type pairs = b.getVector(b.getBF16Type(), 2 * lanes);
    return callOnLanes(b, "dpbf16ps", parts[0].getType(),
                       {parts[0], LLVM::BitcastOp::create(b, pairs, parts[1]),
                        LLVM::BitcastOp::create(b, pairs, parts[2])});
  });
}

std::pair<Value, Value> Emitter::getSteps(rtile::DotOp dot, int64_t count,
                                          const Panel &panel) {
  Operation *left = dot.getLhs().getDefiningOp();
  if (!left || !left->hasAttr(trimmedAttr))
    return {b.i64(0), b.i64(count)};
  auto [begin, end] = panel.trimmed;
  if (!dot->hasAttr(pairedAttr))
    return {begin, end};
  Value two = b.i64(2);
  return {arith::DivUIOp::create(b, begin, two),
          arith::DivUIOp::create(b, end, two)};
}

void Emitter::emitBlocks(rtile::DotOp dot, Panel &panel, Value lhs,
                         int64_t first, int64_t width, int64_t count) {
  bool transposed = dot.getTransposed();
  bool paired = dot->hasAttr(pairedAttr);
  RankedTensorType rhsType =
      paired ? getStored(getPairedLoad(dot.getRhs())) : getTile(dot.getRhs());
  int64_t depth = rhsType.getDimSize(transposed ? 1 : 0);
  StoredRows rhs = getStoredRows(dot);
  // The element of the right operand for a column of the result and a step of
  // the depth.
  auto find = [&](Value from, Value column, Value step) {
    Value row = transposed ? column : step, inRow = transposed ? step : column;
    Value place = b.at(from, b.mul(row, rhs.stride));
    return b.at(place, b.mul(inRow, 4));
  };
  auto findNear = [&](Value from, int64_t column, int64_t step) {
    int64_t row = transposed ? column : step;
    int64_t inRow = 4 * (transposed ? step : column);
    if (rhs.known)
      return b.at(from, row * rhs.known + inRow);
    Value place = row == 0 ? from : b.at(from, b.mul(rhs.stride, row));
    return b.at(place, inRow);
  };
  int64_t vectorBytes = getVectorBytes(panel);
  Type vector = b.getVector(b.getF32Type(), panel.rows);
  Type element = paired ? Type(b.getI32Type()) : Type(b.getF32Type());
  Type operand = b.getVector(element, panel.rows);
  auto multiply = [&](Value repeated, Value rows, Value sum) {
    return paired ? multiplyPairs(b, repeated, rows, sum,
                                  std::min(geometry.lanes, panel.rows))
                  : b.fma(repeated, rows, sum);
  };

  Value result = getPanelAddress(dot.getResult(), panel);

  auto emitBlock = [&](Value start) {
    SmallVector<Value> sums(width, b.real(vector, 0.0));
    Value block = find(rhs.base, start, b.i64(0));
    auto emitSteps = [&](Value step, int64_t steps, ValueRange before) {
      SmallVector<Value> after(before);
      Value left = b.at(lhs, b.mul(step, vectorBytes));
      Value right = find(block, b.i64(0), step);
      for (int64_t i = 0; i < steps; ++i) {
        Value rows = b.load(operand, b.at(left, i * vectorBytes),
                            std::min<int64_t>(vectorBytes, 64));
        for (int64_t column = 0; column < width; ++column) {
          Value one = b.load(element, findNear(right, column, i), 4);
          after[column] =
              multiply(b.splat(one, panel.rows), rows, after[column]);
        }
      }
      return after;
    };
    int64_t whole = depth / stepsPerTurn * stepsPerTurn;
    if (whole > 0) {
      auto [begin, end] = getSteps(dot, whole, panel);
      sums = b.loop(begin, end, stepsPerTurn, sums,
                    [&](Value step, ValueRange before) {
                      return emitSteps(step, stepsPerTurn, before);
                    });
    }
    if (whole < depth)
      sums = emitSteps(b.i64(whole), depth - whole, sums);
    Value to = b.at(result, b.mul(start, vectorBytes));
    // Behind the loop, not in front of it: a sum of a few tiles has fewer
    // digits to lose than one of many terms. Before anything is stored, as the
    // result may lie where what it begins with is computed from.
    for (int64_t column = 0; dot.getInit() && column < width; ++column) {
      Column at(b.add(start, b.i64(column)), getGroup(dot), getPhase(dot));
      sums[column] = arith::AddFOp::create(
          b, getColumnValue(dot.getInit(), panel, at), sums[column]);
    }
    for (int64_t column = 0; column < width; ++column)
      storeTile(sums[column], b.at(to, column * vectorBytes));
  };
  if (dot->hasAttr(trimmedAttr)) {
    auto [begin, end] = panel.trimmed;
    Value before = b.max(b.sub(begin, b.i64(first)), b.i64(0));
    before = b.mul(arith::DivUIOp::create(b, before, b.i64(width)), width);
    end = b.min(end, b.i64(first + width * count));
    return b.loop(b.add(before, b.i64(first)), end, b.i64(width), emitBlock,
                  Unroll::ByLLVM);
  }
  if (count == 1)
    return emitBlock(b.i64(first));
  b.loop(first, first + width * count, width, emitBlock, Unroll::ByLLVM);
}
