//===- EmitRoleTiles.cpp - Tiles in the registers of a role -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What differs from plain kernels: two neighbours of 16 bits share a register
// from their rounding to the product that reads them.
//
// Elementwise operations are put off until something needs their elements, and
// then one element goes through all of them before the next one begins. That
// is the order in which the assembler keeps few registers busy, and exponential
// functions among additions.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

//===----------------------------------------------------------------------===//
// Pairs of 16 bits
//===----------------------------------------------------------------------===//

Emitter::Fragment Emitter::unpack(Value value) {
  RankedTensorType tile = getTile(value);
  if (visible.contains(value))
    return expandVisible(value);
  if (!isPacked(tile))
    return fragments[value];
  Fragment elements;
  Type pair = b.getVector(tile.getElementType(), 2);
  for (Value word : fragments[value]) {
    Value both = LLVM::BitcastOp::create(b, pair, word);
    elements.push_back(b.extract(both, 0));
    elements.push_back(b.extract(both, 1));
  }
  return elements;
}

void Emitter::bindUnpacked(Value value, Fragment elements) {
  if (!isPacked(getTile(value))) {
    fragments[value] = std::move(elements);
    return;
  }
  Fragment words;
  for (size_t index = 0; index < elements.size(); index += 2)
    words.push_back(b.toWord(b.pair(elements[index], elements[index + 1])));
  fragments[value] = std::move(words);
}

//===----------------------------------------------------------------------===//
// Operations put off
//===----------------------------------------------------------------------===//

bool Emitter::putOff(Operation *op) {
  if (op->getNumResults() != 1 || !getTile(op->getResult(0)) ||
      op->getNumOperands() == 0)
    return false;
  for (Value value :
       llvm::concat<const Value>(llvm::to_vector_of<Value>(op->getOperands()),
                                 llvm::to_vector_of<Value>(op->getResults())))
    if (RankedTensorType tile = getTile(value); tile && isPacked(tile))
      return false;
  if (isa<rtile::SliceOp>(op) && visible.contains(op->getOperand(0)))
    return false;
  if (!isa<rtile::BroadcastOp, rtile::SliceOp, rtile::JoinOp>(op) &&
      !isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return false;
  Value result = op->getResult(0);
  fragments[result] = Fragment(layout.elements(getTile(result)));
  waiting.push_back(result);
  return true;
}

Value Emitter::getElement(Value value, int64_t index) {
  auto mask = visible.find(value);
  if (mask != visible.end())
    return isVisible(mask->second,
                     Fragments::columnBlocks(getTile(value).getDimSize(1)),
                     index);
  if (Value known = fragments[value][index])
    return known;
  Value element = computeElement(value.getDefiningOp(), index);
  fragments[value][index] = element;
  return element;
}

Value Emitter::computeElement(Operation *op, int64_t index) {
  RankedTensorType tile = getTile(op->getResult(0));
  int64_t rowElements =
      tile.getRank() == 2 ? 4 * Fragments::columnBlocks(tile.getDimSize(1)) : 2;
  auto getRow = [&] {
    return tile.getRank() == 2 ? index / rowElements * 2 + index % 4 / 2
                               : index;
  };
  // Number of the element in a tile with other columns, `shift` elements
  // further to the right.
  auto getElsewhere = [&](Value other, int64_t shift) {
    int64_t others = 4 * Fragments::columnBlocks(getTile(other).getDimSize(1));
    return getElement(other, index / rowElements * others +
                                 index % rowElements + shift);
  };
  if (auto broadcast = dyn_cast<rtile::BroadcastOp>(op))
    return getElement(broadcast.getInput(), getRow());
  if (auto slice = dyn_cast<rtile::SliceOp>(op))
    return getElsewhere(slice.getInput(), slice.getBegin() / 8 * 4);
  if (auto join = dyn_cast<rtile::JoinOp>(op)) {
    int64_t begin = 0, column = index % rowElements;
    for (Value input : join.getInputs()) {
      int64_t width = 4 * Fragments::columnBlocks(getTile(input).getDimSize(1));
      if (column < begin + width)
        return getElsewhere(input, -begin);
      begin += width;
    }
    llvm_unreachable("the verifier has compared the widths");
  }
  Fragment operands;
  for (Value operand : op->getOperands())
    operands.push_back(getTile(operand) ? getElement(operand, index)
                                        : getScalar(operand));
  return emitElement(op, std::move(operands));
}

void Emitter::compute(Value value) {
  RankedTensorType tile = getTile(value);
  if (!tile || isPacked(tile) || visible.contains(value))
    return;
  for (int64_t index = 0; index < layout.elements(tile); ++index)
    getElement(value, index);
}

void Emitter::computeWaiting() {
  for (Value value : waiting)
    compute(value);
  waiting.clear();
}

bool Emitter::emitRounding(Operation *op) {
  RankedTensorType tile =
      isa<arith::TruncFOp>(op) ? getTile(op->getResult(0)) : nullptr;
  if (!tile || !isPacked(tile) ||
      !getTile(op->getOperand(0)).getElementType().isF32())
    return false;
  Fragment words;
  for (int64_t index = 0; index < layout.elements(tile); index += 2) {
    Value first = getElement(op->getOperand(0), index);
    Value second = getElement(op->getOperand(0), index + 1);
    words.push_back(b.roundPair(tile.getElementType(), first, second));
  }
  fragments[op->getResult(0)] = std::move(words);
  return true;
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

void Emitter::renewView(Value view) {
  auto op = view.getDefiningOp<rtile::ViewOp>();
  Buffer &buffer = buffers[op.getBuffer()];
  Buffer known = buffer;
  auto renew = [&](Value &value) {
    if (!value.getDefiningOp<arith::ConstantOp>())
      value = async.hold(value).front();
  };
  renew(buffer.base);
  llvm::for_each(buffer.sizes, renew);
  llvm::for_each(buffer.strides, renew);
  views[op] = code::addressView(b, op, scalars, buffers);
  buffers[op.getBuffer()] = known;
}

/// Four lanes hold a row of four blocks of columns, each a part of every block.
/// Makes each hold one block, and all of it.
void Emitter::transposeQuad(MutableArrayRef<Value> words) {
  for (int64_t bit : {1, 2}) {
    Value isOdd =
        b.compare(arith::CmpIPredicate::ne,
                  arith::AndIOp::create(b, lane, b.i32(bit)), b.i32(0));
    for (int64_t first = 0; first < 4; ++first) {
      if (first & bit)
        continue;
      Value &low = words[first], &high = words[first + bit];
      Value sent = b.bitcast(b.getF32Type(), b.select(isOdd, low, high));
      Value received = b.bitcast(b.getI32Type(), b.shuffleXor(sent, bit));
      low = b.select(isOdd, received, low);
      high = b.select(isOdd, high, received);
    }
  }
}

void Emitter::storeAligned(const Window &window, Value value) {
  RankedTensorType tile = getTile(value);
  int64_t bytes = getBytes(tile.getElementType());
  int64_t blocks = Fragments::columnBlocks(tile.getDimSize(1));
  ArrayRef<Value> registers = fragments[value];
  // Of eight columns all exist or none.
  auto exist = [&](Value row, Value column) {
    return window.columnEnd ? b.both(row, b.less(column, window.columnEnd))
                            : row;
  };
  for (int64_t row = 0; row < 2 * layout.rowBlocks(tile.getDimSize(0)); ++row) {
    Row at = getRow(window, getRowIndex(row / 2, row % 2));
    Value part = b.at(at.pointer, b.mul(b.toI64(laneColumn), bytes));
    auto getPair = [&](int64_t block) {
      return ((row / 2) * blocks + block) * 2 + row % 2;
    };
    int64_t block = 0;
    if (isPacked(tile)) {
      // 8 columns of 16 bits are 16 bytes; lane q has columns 2q and 2q + 1.
      Value whole = b.at(at.pointer, b.mul(b.toI64(laneColumn), 8));
      for (; block + 4 <= blocks; block += 4) {
        SmallVector<Value> words;
        for (int64_t next = 0; next < 4; ++next)
          words.push_back(registers[getPair(block + next)]);
        transposeQuad(words);
        Value column;
        if (window.columnEnd)
          column = b.add(b.mul(laneColumn, 4), 8 * block);
        b.storeGlobalVector(words, whole, 16 * block, exist(at.exists, column));
      }
    }
    int64_t perPair = isPacked(tile) ? 1 : 2;
    for (; block < blocks; ++block)
      b.storeGlobalVector(registers.slice(getPair(block) * perPair, perPair),
                          part, 8 * block * bytes,
                          exist(at.exists, b.i32(8 * block)));
  }
}

/// Several neighbours are stored at once, if addresses allow that, which is
/// known when the kernel runs.
bool Emitter::emitRoleStore(rtile::StoreOp op) {
  RankedTensorType tile = getTile(op.getTile());
  renewView(op.getView());
  if (tile.getRank() != 2)
    return false;
  const View &view = views[op.getView()];
  Window window = getWindow(view, op.getOffsets());
  auto storeElements = [&] {
    Fragment elements = unpack(op.getTile());
    forEachElement(window, tile,
                   [&](int64_t index, Value pointer, Value exists) {
                     b.storeGlobal(elements[index], pointer, exists);
                   });
  };
  if (!view.contiguous || tile.getDimSize(1) % 8 != 0 ||
      tile.getElementType().isInteger(1)) {
    storeElements();
    return true;
  }
  constexpr int64_t alignment = 16;
  Value address = LLVM::PtrToIntOp::create(b, b.getI64Type(), window.base);
  Value unaligned =
      arith::AndIOp::create(b, arith::OrIOp::create(b, address, view.rowStride),
                            b.i64(alignment - 1));
  Value isAligned = b.compare(arith::CmpIPredicate::eq, unaligned, b.i64(0));
  if (window.columnBegin) {
    Value fromFirst = b.lessEqual(window.columnBegin, b.i32(0));
    Value inEights = b.compare(arith::CmpIPredicate::eq,
                               b.remUnsigned(window.columnEnd, 8), b.i32(0));
    isAligned = b.both(isAligned, b.both(fromFirst, inEights));
  }
  b.ifElse(
      isAligned, [&] { storeAligned(window, op.getTile()); }, storeElements);
  return true;
}
