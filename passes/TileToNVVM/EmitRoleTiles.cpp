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

#include "passes/TileToNVVM/RoleEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

//===----------------------------------------------------------------------===//
// Operations put off
//===----------------------------------------------------------------------===//

bool RoleEmitter::putOff(Operation *op) {
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

Value RoleEmitter::getElement(Value value, int64_t index) {
  if (visible.contains(value))
    return TileEmitter::getElement(value, index);
  if (Value known = fragments[value][index])
    return known;
  Value element = computeElement(value.getDefiningOp(), index);
  fragments[value][index] = element;
  return element;
}

Value RoleEmitter::computeElement(Operation *op, int64_t index) {
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
    return getElement(broadcast.getInput(),
                      broadcast.getColumns()
                          ? index / 4 % (rowElements / 4) * 2 + index % 2
                          : getRow());
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

/// Logarithms, and quotients that rtile-gpu-divide-rows or their author allows
/// to be off by two units in the last place. An exact one may end in a call,
/// which makes the assembler wait for the products of warp groups.
Value RoleEmitter::emitOwn(Operation *op, ValueRange operands) {
  if (isa<math::LogOp>(op))
    return b.log(operands[0]);
  if (isa<math::Log2Op>(op))
    return b.log2(operands[0]);
  auto divide = dyn_cast<arith::DivFOp>(op);
  if (divide &&
      bitEnumContainsAll(divide.getFastmath(), arith::FastMathFlags::afn))
    return b.divideFast(operands[0], operands[1]);
  return {};
}

void RoleEmitter::compute(Value value) {
  RankedTensorType tile = getTile(value);
  if (!tile || isPacked(tile) || visible.contains(value))
    return;
  for (int64_t index = 0; index < layout.elements(tile); ++index)
    getElement(value, index);
}

void RoleEmitter::computeWaiting() {
  for (Value value : waiting)
    compute(value);
  waiting.clear();
}

bool RoleEmitter::emitRounding(Operation *op) {
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

/// Four lanes hold a row of four blocks of columns, each a part of every block.
/// Makes each hold one block, and all of it.
void RoleEmitter::transposeQuad(MutableArrayRef<Value> words) {
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

void RoleEmitter::storeAligned(const Window &window, Value value) {
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
void RoleEmitter::emitStore(rtile::StoreOp op) {
  RankedTensorType tile = getTile(op.getTile());
  RenewedView renewed(*this, op.getView());
  const View &view = views[op.getView()];
  Window window = getWindow(view, op.getOffsets());
  if (tile.getRank() != 2)
    return TileEmitter::storeElements(window, tile, fragments[op.getTile()]);
  auto storeElements = [&] {
    Fragment elements = unpack(op.getTile());
    forEachElement(window, tile,
                   [&](int64_t index, Value pointer, Value exists) {
                     b.storeGlobal(elements[index], pointer, exists);
                   });
  };
  if (!view.contiguous || tile.getDimSize(1) % 8 != 0 ||
      tile.getElementType().isInteger(1)) {
    return storeElements();
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
}
