//===- LowerRuns.cpp - Runs, lists and bounds as arithmetic ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileOpt/Passes.h"
#include "passes/TileOpt/RowRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILELOWERRUNS
#include "passes/TileOpt/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// The rows of `view`, computed at the builder's insertion point.
RowRange getRows(ImplicitLocOpBuilder &builder, PositionBuilder &position,
                 rtile::ViewOp view) {
  auto size = [&](Value buffer, int64_t axis) -> Value {
    auto type = cast<MemRefType>(buffer.getType());
    if (!type.isDynamicDim(axis))
      return position.constant(type.getDimSize(axis));
    return memref::DimOp::create(builder, buffer, position.constant(axis));
  };
  auto tableSize = [&](Value table) {
    return table ? size(table, 0) : Value();
  };
  RowOperands operands{
      view.getOrigin(),          view.getSegment(),
      view.getResidue(),         Value(),
      tableSize(view.getRows()), tableSize(view.getPositions()),
      view.getFirst(),           view.getEnd(),
      view.getMixedW(),          view.getMixedRate(),
      view.getGroupSize()};
  if (view.getPages())
    operands.axis = position.mul(size(view.getPages(), 1), view.getPageSize());
  else if (!view.getRows())
    operands.axis = size(view.getBuffer(), view.getAxes()[0]);
  return getRowRange(position, view.getResult().getType(), operands);
}

void lower(rtile::BoundsOp op, rtile::ViewOp view) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  PositionBuilder position(builder, builder.getIndexType());
  RowRange rows = getRows(builder, position, view);
  op.replaceAllUsesWith(ValueRange{rows.begin, rows.end});
  op.erase();
}

/// The results of a run.
struct Run {
  Value begin, wholeBegin, wholeEnd, end;
};

/// Those of its steps from `begin` to `end`.
Run clip(PositionBuilder &position, const Run &all, Value begin, Value end,
         bool hasLeftLimit) {
  Value high = position.min(all.wholeEnd, end);
  Value last = position.min(end, all.end);
  if (!hasLeftLimit)
    return {begin, begin, position.max(begin, high), last};
  Value low = position.max(all.wholeBegin, begin);
  return {begin, position.selectLess(low, high, low, begin),
          position.selectLess(low, high, high, begin), last};
}

/// The part of a run that it asks for.
Run takePart(PositionBuilder &position, rtile::RunOp op, const Run &all) {
  if (op.getPart().empty())
    return all;
  bool hasLeftLimit = getLeftLimit(op.getWindow()).has_value();
  Value number = op.getPart()[0];
  int64_t step = op.getKey().getType().getShape()[0];
  Value steps = position.ceilDiv(position.sub(all.end, all.begin), step);
  Value parts = op.getPart()[1];
  auto getEnd = [&](Value before) {
    Value first =
        position.floorDiv(position.mul(before, steps), OpFoldResult(parts));
    return position.add(all.begin, position.mul(first, step));
  };
  Value begin = getEnd(number);
  Value end = getEnd(position.add(number, 1));
  // From the end of all on, nothing is seen.
  begin = position.selectLess(begin, end, begin, all.end);
  return clip(position, all, begin, end, hasLeftLimit);
}

void lower(rtile::RunOp op, rtile::ViewOp queryView, rtile::ViewOp keyView) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  PositionBuilder position(builder, builder.getIndexType());
  RowRange query = getRows(builder, position, queryView);
  RowRange key = getRows(builder, position, keyView);
  int64_t height = op.getQuery().getType().getShape()[0];
  int64_t step = op.getKey().getType().getShape()[0];

  // First and last row of the query tile that exist.
  Value first = position.max(op.getRow(), query.begin);
  Value stop = position.min(position.add(op.getRow(), height), query.end);
  if (keyView.getPositions()) {
    // No division says which of them are seen.
    Value end = position.max(
        key.begin, position.selectLess(first, stop, key.end, key.begin));
    Run run = takePart(position, op, {key.begin, key.begin, key.begin, end});
    op.replaceAllUsesWith(
        ValueRange{run.begin, run.wholeBegin, run.wholeEnd, run.end});
    op.erase();
    return;
  }

  auto getPosition = [&](Value row) {
    return position.sub(getOrdinal(position, query, row), key.base);
  };
  Value firstPosition = getPosition(first);
  Value lastPosition = getPosition(position.add(stop, -1));

  // Any row of the tile sees [begin, end), each row [wholeLow, wholeHigh).
  Value begin = key.begin, end = key.end;
  Value wholeLow = begin, wholeHigh = end;
  if (auto right = getRightLimit(op.getCausal(), op.getWindow())) {
    auto getEnd = [&](Value from) {
      return position.min(
          key.end,
          position.add(position.floorDiv(position.add(from, *right), key.rate),
                       1));
    };
    end = getEnd(lastPosition);
    wholeHigh = getEnd(firstPosition);
  }
  if (auto left = getLeftLimit(op.getWindow())) {
    auto getBegin = [&](Value from) {
      return position.max(
          key.begin, position.ceilDiv(position.add(from, -*left), key.rate));
    };
    begin = getBegin(firstPosition);
    wholeLow = getBegin(lastPosition);
  }
  end = position.max(begin, position.selectLess(first, stop, end, begin));

  // Whole steps, counted from begin.
  Value zero = position.constant(0);
  auto distance = [&](Value to) {
    return position.max(position.sub(to, begin), zero);
  };
  Value low = position.mul(position.ceilDiv(distance(wholeLow), step), step);
  Value high = position.mul(
      position.floorDiv(distance(position.min(wholeHigh, end)), step), step);
  Value wholeBegin =
      position.add(begin, position.selectLess(low, high, low, zero));
  Value wholeEnd =
      position.add(begin, position.selectLess(low, high, high, zero));
  Run run = takePart(position, op, {begin, wholeBegin, wholeEnd, end});
  op.replaceAllUsesWith(
      ValueRange{run.begin, run.wholeBegin, run.wholeEnd, run.end});
  op.erase();
}

/// The index that stands at `place` of a table.
Value readIndex(ImplicitLocOpBuilder &builder, Value table, Value place) {
  Value entry = memref::LoadOp::create(builder, table, place);
  return arith::IndexCastOp::create(builder, builder.getIndexType(), entry);
}

void lower(rtile::ListOp op) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  PositionBuilder position(builder, builder.getIndexType());
  Value place = position.mul(op.getNumber(), 2);
  SmallVector<Value> results;
  for (int64_t i = 0; i < 3; ++i)
    results.push_back(
        readIndex(builder, op.getIndex(), position.add(place, i)));
  op.replaceAllUsesWith(results);
  op.erase();
}

/// The mask blocks that a tile's rows from `row` on lie in, half-open. None if
/// it has no rows.
std::pair<Value, Value> getBlocks(ImplicitLocOpBuilder &builder,
                                  PositionBuilder &position, rtile::ViewOp view,
                                  Value row, int64_t size) {
  RowRange rows = getRows(builder, position, view);
  rtile::ViewType type = view.getResult().getType();
  Value first = position.max(row, rows.begin);
  Value stop = position.min(position.add(row, type.getShape()[0]), rows.end);
  auto getBlock = [&](Value row) {
    return position.floorDiv(getOrdinal(position, rows, row), size);
  };
  Value begin = getBlock(first);
  Value end = position.add(getBlock(position.add(stop, -1)), 1);
  return {begin, position.selectLess(first, stop, end, begin)};
}

void lower(rtile::AnyBlockOp op, rtile::ViewOp queryView,
           rtile::ViewOp keyView) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  PositionBuilder position(builder, builder.getIndexType());
  auto [queryBegin, queryEnd] = getBlocks(
      builder, position, queryView, op.getQueryRow(), op.getBlockSize()[0]);
  auto [keyBegin, keyEnd] = getBlocks(builder, position, keyView,
                                      op.getKeyRow(), op.getBlockSize()[1]);
  Value one = position.constant(1);
  Value none = arith::ConstantOp::create(builder, builder.getBoolAttr(false));
  auto createLoop = [&](Value begin, Value end, Value init) {
    auto loop = scf::ForOp::create(builder, begin, end, one, init);
    builder.setInsertionPointToStart(loop.getBody());
    return loop;
  };
  scf::ForOp queries = createLoop(queryBegin, queryEnd, none);
  scf::ForOp keys = createLoop(keyBegin, keyEnd, queries.getRegionIterArg(0));
  Value set = memref::LoadOp::create(
      builder, op.getBlocks(),
      ValueRange{queries.getInductionVar(), keys.getInductionVar()});
  scf::YieldOp::create(
      builder,
      arith::OrIOp::create(builder, keys.getRegionIterArg(0), set).getResult());
  builder.setInsertionPointAfter(keys);
  scf::YieldOp::create(builder, keys.getResults());
  op.replaceAllUsesWith(queries.getResult(0));
  op.erase();
}

struct LowerRuns : ringlet::impl::RTileLowerRunsBase<LowerRuns> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    WalkResult result = getOperation()->walk([&](Operation *op) {
      if (!isa<rtile::RunOp, rtile::BoundsOp, rtile::ListOp, rtile::AnyBlockOp>(
              op))
        return WalkResult::advance();
      for (Value operand : op->getOperands())
        if (isa<rtile::ViewType>(operand.getType()) &&
            !operand.getDefiningOp<rtile::ViewOp>()) {
          op->emitOpError("expected views made by rtile.view, found ")
              << (operand.getDefiningOp()
                      ? operand.getDefiningOp()->getName().getStringRef()
                      : StringRef("a block argument"));
          return WalkResult::interrupt();
        }
      ops.push_back(op);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    for (Operation *op : ops) {
      auto getView = [&](Value value) {
        return value.getDefiningOp<rtile::ViewOp>();
      };
      llvm::TypeSwitch<Operation *>(op)
          .Case([&](rtile::BoundsOp op) { lower(op, getView(op.getView())); })
          .Case<rtile::RunOp, rtile::AnyBlockOp>([&](auto op) {
            lower(op, getView(op.getQuery()), getView(op.getKey()));
          })
          .Case([&](rtile::ListOp op) { lower(op); });
    }
  }
};

} // namespace
