//===- PlanMaps.cpp - Which tensor maps a kernel reads through -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/ScheduleResources.h"
#include "passes/TileOpt/RowRange.h"
#include "passes/TileToNVVM/Channels.h"
#include "passes/TileToNVVM/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEPLANMAPS
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

/// Limits of cuTensorMapEncodeTiled.
constexpr int64_t mostAxes = 5;

/// Columns beyond a tile's have to arrive as zeros: they do if they lie outside
/// of the buffer, or if there are none.
LogicalResult checkColumns(Operation *copy, rtile::ViewOp view, Value first) {
  int64_t axis = view.getAxes()[1];
  RankedTensorType tile = view.getType().getTileType();
  int64_t panel = SlotImage::of(tile).panelColumns, width = tile.getDimSize(1);
  int64_t columns = view.getBufferType().getDimSize(axis);
  if (width % panel == 0)
    return success();
  bool isWhole = columns == width && matchPattern(first, m_Zero());
  if (!isWhole)
    return copy->emitOpError("expected a tile as wide as its buffer or a "
                             "multiple of ")
           << panel << " columns, found " << width << " columns of "
           << (ShapedType::isDynamic(columns) ? std::string("any number")
                                              : std::to_string(columns));
  return success();
}

/// The maps of a copy: two where a length that the rate does not divide, or
/// that only the call knows, may leave some residues with a row more than
/// others.
FailureOr<SmallVector<rtile::MapAttr>>
getMaps(Operation *copy, TypedValue<rtile::ViewType> source, Value column) {
  auto view = source.getDefiningOp<rtile::ViewOp>();
  rtile::ViewType type = source.getType();
  if (!view || type.getIndexed() || view.getPositions() || view.getPages() ||
      type.getRank() != 2)
    return copy->emitOpError("expected a view of two axes without a table of "
                             "rows or pages, made by rtile.view, found ")
           << type;
  ArrayRef<int64_t> axes = view.getAxes();
  int64_t rank = view.getBufferType().getRank();
  if (axes[1] != rank - 1)
    return copy->emitOpError("expected columns along the last axis of the "
                             "buffer, found axis ")
           << axes[1] << " of " << rank;
  if (failed(checkColumns(copy, view, column)))
    return failure();
  SmallVector<int64_t> fixed;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!llvm::is_contained(axes, axis))
      fixed.push_back(axis);
  // Rows of a residue that lie together are neighbours; what lies behind the
  // last one is another residue.
  int64_t rate = getRowStep(view);
  if (view.getOrder() && rate != 1)
    return copy->emitOpError("expected rows side by side in ")
           << *view.getOrder() << ", found every row number " << rate
           << " (O1)";
  int64_t count = 2 + fixed.size() + (rate > 1);
  if (count > mostAxes)
    return copy->emitOpError("expected a map of at most ")
           << mostAxes << " axes, found " << count
           << (rate > 1 ? ", of which one for the rate" : "");
  int64_t rows = type.getShape()[0];
  if (rows > cost::kMostBoxRows)
    return copy->emitOpError("expected a tile of at most ")
           << cost::kMostBoxRows << " rows, found " << rows;
  auto buffer = cast<BlockArgument>(view.getBuffer());
  int64_t length = view.getBufferType().getDimSize(axes[0]);
  SmallVector<rtile::Residues> parts{rtile::Residues::all};
  if (rate > 1 && (ShapedType::isDynamic(length) || length % rate != 0))
    parts = {rtile::Residues::shorter, rtile::Residues::longer};
  SmallVector<rtile::MapAttr> maps;
  for (rtile::Residues residues : parts)
    maps.push_back(rtile::MapAttr::get(
        copy->getContext(), buffer.getArgNumber(), axes[0], axes[1], fixed,
        rate, {rows, SlotImage::of(type.getTileType()).panelColumns},
        residues));
  return maps;
}

/// A map knows where a buffer ends, not where a view does: what is copied out
/// must not lie behind that.
LogicalResult checkRowsOut(rtile::CopyOutOp copy) {
  auto view = copy.getView().getDefiningOp<rtile::ViewOp>();
  if (!view || view.getType().isSegmented() || view.getType().isStrided() ||
      view->getNumOperands() != 1 + view.getFixed().size())
    return copy.emitOpError("expected a view of all rows of its axis to copy "
                            "to, found ")
           << copy.getView().getType();
  return success();
}

LogicalResult plan(rtile::FuncOp func) {
  llvm::SetVector<Attribute> all;
  Builder builder(func.getContext());
  WalkResult result = func.getBody().walk([&](Operation *copy) {
    FailureOr<SmallVector<rtile::MapAttr>> maps = failure();
    if (auto in = dyn_cast<rtile::CopyOp>(copy)) {
      maps = getMaps(in, in.getView(), in.getOffsets().back());
    } else if (auto out = dyn_cast<rtile::CopyOutOp>(copy)) {
      if (succeeded(checkRowsOut(out)))
        maps = getMaps(out, out.getView(), out.getOffsets().back());
    } else {
      return WalkResult::advance();
    }
    if (failed(maps))
      return WalkResult::interrupt();
    SmallVector<int64_t> numbers;
    for (rtile::MapAttr map : *maps) {
      all.insert(map);
      numbers.push_back(llvm::find(all, map) - all.begin());
    }
    copy->setAttr(mapsOfCopyAttr, builder.getDenseI64ArrayAttr(numbers));
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  func->setAttr(mapsAttr, builder.getArrayAttr(all.getArrayRef()));
  remark::passed(func.getLoc(), remark::RemarkOpts::name("PlanMaps")
                                    .category("rtile-gpu-plan-maps")
                                    .function(func.getSymName()))
      << llvm::formatv("{0}: {1} tensor maps", func.getSymName(), all.size())
             .str();
  return success();
}

struct PlanMaps : ringlet::impl::RTilePlanMapsBase<PlanMaps> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](rtile::FuncOp func) {
      return func.getScheduled() ? WalkResult(plan(func)) : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
