//===- EmitRoleTiles.cpp - Tiles in the registers of a role -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What differs from plain kernels: two neighbours of 16 bits share a register
// from their rounding to the product that reads them, and what all elements of
// a row have in common is worked out once for the row.
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
// Elementwise operations
//===----------------------------------------------------------------------===//

bool Emitter::emitRoleElementwise(Operation *op) {
  RankedTensorType tile =
      op->getNumResults() == 1 ? getTile(op->getResult(0)) : nullptr;
  if (!tile)
    return false;
  if (isa<arith::TruncFOp>(op) && isPacked(tile) &&
      getTile(op->getOperand(0)).getElementType().isF32()) {
    const Fragment &wide = fragments[op->getOperand(0)];
    Fragment words;
    for (size_t index = 0; index < wide.size(); index += 2)
      words.push_back(
          b.roundPair(tile.getElementType(), wide[index], wide[index + 1]));
    fragments[op->getResult(0)] = std::move(words);
    return true;
  }
  if (!tile.getElementType().isF32())
    return false;
  auto select = dyn_cast<arith::SelectOp>(op);
  if (auto mask = select
                      ? select.getCondition().getDefiningOp<rtile::VisibleOp>()
                      : nullptr) {
    int64_t blocks = Fragments::columnBlocks(tile.getDimSize(1));
    const Fragment &seen = fragments[select.getTrueValue()];
    const Fragment &hidden = fragments[select.getFalseValue()];
    const Intervals &intervals = visible[select.getCondition()];
    Fragment result;
    for (auto [index, value] : llvm::enumerate(seen))
      result.push_back(
          b.select(isVisible(intervals, blocks, index), value, hidden[index]));
    fragments[op->getResult(0)] = std::move(result);
    return true;
  }
  if (isa<math::LogOp>(op)) {
    constexpr double ln2 = 0.69314718055994530942;
    Fragment logarithms;
    for (Value value : fragments[op->getOperand(0)])
      logarithms.push_back(
          arith::MulFOp::create(b, b.log2(value), b.real(b.getF32Type(), ln2)));
    fragments[op->getResult(0)] = std::move(logarithms);
    return true;
  }
  auto divide = dyn_cast<arith::DivFOp>(op);
  auto divisor =
      divide ? divide.getRhs().getDefiningOp<rtile::BroadcastOp>() : nullptr;
  if (!divisor || divisor.getColumns())
    return false;
  // One reciprocal a row, then products.
  Value one = b.real(b.getF32Type(), 1.0);
  Fragment reciprocals, quotients;
  for (Value value : fragments[divisor.getInput()])
    reciprocals.push_back(b.divideFast(one, value));
  const Fragment &dividends = fragments[divide.getLhs()];
  int64_t rowElements = 4 * Fragments::columnBlocks(tile.getDimSize(1));
  for (auto [index, value] : llvm::enumerate(dividends))
    quotients.push_back(arith::MulFOp::create(
        b, value, reciprocals[index / rowElements * 2 + index % 4 / 2]));
  fragments[op->getResult(0)] = std::move(quotients);
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
  emitView(op);
  buffers[op.getBuffer()] = known;
}

/// Two neighbours are stored at once, if addresses allow that, which is known
/// when the kernel runs.
bool Emitter::emitRoleStore(rtile::StoreOp op) {
  RankedTensorType tile = getTile(op.getTile());
  renewView(op.getView());
  if (tile.getRank() != 2)
    return false;
  const View &view = views[op.getView()];
  Window window = getWindow(view, op.getOffsets());
  Fragment elements = unpack(op.getTile());
  auto storeElements = [&] {
    forEachElement(window, tile,
                   [&](int64_t index, Value pointer, Value exists) {
                     b.storeGlobal(elements[index], pointer, exists);
                   });
  };
  int64_t bytes = getBytes(tile.getElementType());
  if (!view.contiguous || window.columnBegin || tile.getDimSize(1) % 8 != 0 ||
      tile.getElementType().isInteger(1)) {
    storeElements();
    return true;
  }
  Value address = LLVM::PtrToIntOp::create(b, b.getI64Type(), window.base);
  Value unaligned =
      arith::AndIOp::create(b, arith::OrIOp::create(b, address, view.rowStride),
                            b.i64(2 * bytes - 1));
  b.ifElse(
      b.compare(arith::CmpIPredicate::eq, unaligned, b.i64(0)),
      [&] {
        int64_t blocks = Fragments::columnBlocks(tile.getDimSize(1));
        const Fragment &registers = fragments[op.getTile()];
        int64_t perPair = isPacked(tile) ? 1 : 2;
        for (int64_t row = 0; row < 2 * layout.rowBlocks(tile.getDimSize(0));
             ++row) {
          Row at = getRow(window, getRowIndex(row / 2, row % 2));
          Value pointer = b.at(at.pointer, b.mul(b.toI64(laneColumn), bytes));
          for (int64_t block = 0; block < blocks; ++block) {
            int64_t pair = ((row / 2) * blocks + block) * 2 + row % 2;
            b.storeGlobalVector(
                ArrayRef<Value>(registers).slice(pair * perPair, perPair),
                pointer, 8 * block * bytes, at.exists);
          }
        }
      },
      storeElements);
  return true;
}
