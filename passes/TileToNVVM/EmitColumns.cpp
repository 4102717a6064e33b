//===- EmitColumns.cpp - Columns put together, taken apart -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread holds the same part of every block of eight columns: operations that
// move whole blocks move nothing at all.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/TileEmitter.h"

#include <cmath>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

void TileEmitter::emitFold(rtile::FoldOp op) {
  RankedTensorType from = getTile(op.getInput()), to = getTile(op);
  int64_t blocks = Fragments::columnBlocks(from.getDimSize(1));
  int64_t width = Fragments::columnBlocks(to.getDimSize(1));
  Fragment result(layout.elements(to));
  // One column after the other: no sum waits for the one before.
  for (int64_t row = 0; row < layout.rowBlocks(to.getDimSize(0)); ++row)
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t which = 0; which < 4; ++which) {
        Value &sum = result[4 * (row * width + block % width) + which];
        Value next =
            getElement(op.getInput(), 4 * (row * blocks + block) + which);
        sum = sum ? arith::AddFOp::create(b, sum, next).getResult() : next;
      }
  fragments[op] = std::move(result);
}

void TileEmitter::emitSlice(rtile::SliceOp op) {
  RankedTensorType from = getTile(op.getInput()), to = getTile(op);
  if (auto known = visible.find(op.getInput()); known != visible.end()) {
    Intervals intervals = known->second;
    for (auto &[low, high] : intervals) {
      low = b.add(low, -int64_t(op.getBegin()));
      high = b.add(high, -int64_t(op.getBegin()));
    }
    visible[op] = std::move(intervals);
    return;
  }
  const Fragment &input = fragments[op.getInput()];
  int64_t blocks = Fragments::columnBlocks(from.getDimSize(1));
  int64_t width = Fragments::columnBlocks(to.getDimSize(1));
  int64_t perBlock = isPacked(from) ? 2 : 4, begin = op.getBegin() / 8;
  Fragment result;
  for (int64_t row = 0; row < layout.rowBlocks(to.getDimSize(0)); ++row)
    llvm::append_range(
        result, ArrayRef<Value>(input).slice((row * blocks + begin) * perBlock,
                                             width * perBlock));
  fragments[op] = std::move(result);
}

void TileEmitter::emitJoin(rtile::JoinOp op) {
  RankedTensorType to = getTile(op);
  int64_t perBlock = isPacked(to) ? 2 : 4;
  Fragment result;
  for (int64_t row = 0; row < layout.rowBlocks(to.getDimSize(0)); ++row)
    for (Value input : op.getInputs()) {
      int64_t count =
          perBlock * Fragments::columnBlocks(getTile(input).getDimSize(1));
      Fragment part =
          visible.contains(input) ? expandVisible(input) : fragments[input];
      llvm::append_range(result,
                         ArrayRef<Value>(part).slice(row * count, count));
    }
  fragments[op] = std::move(result);
}

void TileEmitter::emitAny(rtile::AnyOp op) {
  RankedTensorType tile = getTile(op.getInput());
  Fragment input = unpack(op.getInput());
  int64_t height = tile.getDimSize(0), rank = tile.getRank();
  int64_t blocks = rank == 2 ? Fragments::columnBlocks(tile.getDimSize(1)) : 1;
  Value any = b.i1(false);
  for (auto [index, element] : llvm::enumerate(input)) {
    // What a thread holds beyond the tile's rows and columns does not count.
    int64_t row = rank == 2 ? int64_t(index) / (4 * blocks) : index / 2;
    int64_t half = rank == 2 ? index % 4 / 2 : index % 2;
    Value value = element;
    if ((row + 1) * layout.rowsAtOnce() > height)
      value = b.both(value, b.less(getRowIndex(row, half), b.i32(height)));
    if (rank == 2)
      if (Value inside =
              isInside(tile.getDimSize(1), index / 4 % blocks, index % 2))
        value = b.both(value, inside);
    any = arith::OrIOp::create(b, any, value);
  }
  bind(op, b.anyInBlock(any));
}

void TileEmitter::emitRebase(rtile::RebaseOp op) {
  RankedTensorType sumsTile = getTile(op.getSums());
  const Fragment &reference = fragments[op.getReference()];
  const Fragment &sums = fragments[op.getSums()];
  auto getRowOf = [&](RankedTensorType tile, int64_t index) {
    if (tile.getRank() == 1)
      return index;
    int64_t blocks = Fragments::columnBlocks(tile.getDimSize(1));
    return index / (4 * blocks) * 2 + index % 4 / 2;
  };
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  Value bound = b.real(f32, std::ldexp(1.0, op.getBound()));
  Value over;
  for (Value sum : sums) {
    Value above = b.compare(arith::CmpFPredicate::OGT, sum, bound);
    over = over ? arith::OrIOp::create(b, over, above).getResult() : above;
  }
  SmallVector<Value> before = flatten(op.getOperands());
  auto branch = scf::IfOp::create(b, TypeRange(ValueRange(before)),
                                  async.anyInWarp(over), /*withElse=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<Value> exponents, factors;
    for (size_t row = 0; row < reference.size(); ++row) {
      Value greatest;
      for (auto [index, sum] : llvm::enumerate(sums))
        if (getRowOf(sumsTile, index) == int64_t(row))
          greatest = greatest ? b.maximum(greatest, sum) : sum;
      if (sumsTile.getRank() == 2)
        for (int64_t mask : {1, 2})
          greatest = b.maximum(greatest, b.shuffleXor(greatest, mask));
      Value bits =
          arith::ShRUIOp::create(b, b.bitcast(i32, greatest), b.i32(23));
      // Of an infinity or NaN as well: those stay what they are.
      bits = arith::AndIOp::create(b, bits, b.i32(255));
      Value exponent = b.min(b.max(b.add(bits, -127), b.i32(0)), b.i32(126));
      exponents.push_back(arith::SIToFPOp::create(b, f32, exponent));
      Value factor =
          b.bitcast(f32, arith::ShLIOp::create(b, b.sub(b.i32(127), exponent),
                                               b.i32(23)));
      if (std::optional<int64_t> limit = op.getLimit())
        factor = b.select(b.compare(arith::CmpFPredicate::OGT, greatest,
                                    b.real(f32, std::ldexp(1.0, *limit))),
                          b.real(f32, INFINITY), factor);
      factors.push_back(factor);
    }
    SmallVector<Value> after;
    for (auto [value, exponent] : llvm::zip(reference, exponents))
      after.push_back(arith::AddFOp::create(b, value, exponent));
    auto scale = [&](Value tile) {
      for (auto [index, value] : llvm::enumerate(fragments[tile]))
        after.push_back(arith::MulFOp::create(
            b, value, factors[getRowOf(getTile(tile), index)]));
    };
    scale(op.getSums());
    for (Value tile : op.getTiles())
      scale(tile);
    scf::YieldOp::create(b, after);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, before);
  }
  bindFlat(op->getResults(), branch.getResults());
}
