//===- LowerRuns.cpp - rtile.run and rtile.bounds as arithmetic -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileOpt/Passes.h"
#include "passes/TileOpt/RowRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

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
  if (view.getRows())
    return {position.constant(0), position.constant(0),
            size(view.getRows(), 0)};
  return getRowRange(position, view.getResult().getType(),
                     size(view.getBuffer(), view.getAxes()[0]),
                     view.getOrigin(), view.getSegment(), view.getResidue());
}

void lower(rtile::BoundsOp op, rtile::ViewOp view) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  PositionBuilder position(builder, builder.getIndexType());
  RowRange rows = getRows(builder, position, view);
  op.replaceAllUsesWith(ValueRange{rows.begin, rows.end});
  op.erase();
}

void lower(rtile::RunOp op, rtile::ViewOp queryView, rtile::ViewOp keyView) {
  ImplicitLocOpBuilder builder(op.getLoc(), op);
  PositionBuilder position(builder, builder.getIndexType());
  RowRange query = getRows(builder, position, queryView);
  RowRange key = getRows(builder, position, keyView);
  int64_t height = op.getQuery().getType().getShape()[0];
  int64_t step = op.getKey().getType().getShape()[0];
  int64_t rate = op.getKey().getType().getRate();

  // First and last row of the query tile that exist.
  Value first = position.max(op.getRow(), query.begin);
  Value stop = position.min(position.add(op.getRow(), height), query.end);
  auto getPosition = [&](Value row) {
    return position.sub(position.add(query.base, position.mul(row, rate)),
                        key.base);
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
          position.add(position.floorDiv(position.add(from, *right), rate), 1));
    };
    end = getEnd(lastPosition);
    wholeHigh = getEnd(firstPosition);
  }
  if (auto left = getLeftLimit(op.getWindow())) {
    auto getBegin = [&](Value from) {
      return position.max(key.begin,
                          position.ceilDiv(position.add(from, -*left), rate));
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
  op.replaceAllUsesWith(ValueRange{begin, wholeBegin, wholeEnd, end});
  op.erase();
}

struct LowerRuns : ringlet::impl::RTileLowerRunsBase<LowerRuns> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    WalkResult result = getOperation()->walk([&](Operation *op) {
      if (!isa<rtile::RunOp, rtile::BoundsOp>(op))
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
      if (auto bounds = dyn_cast<rtile::BoundsOp>(op))
        lower(bounds, getView(bounds.getView()));
      else if (auto run = cast<rtile::RunOp>(op))
        lower(run, getView(run.getQuery()), getView(run.getKey()));
    }
  }
};

} // namespace
