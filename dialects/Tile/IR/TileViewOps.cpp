//===- TileViewOps.cpp - Views, loads and stores -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Layout/Dilation.h"
#include "ringlet/abi/Limits.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::rtile;

bool rtile::isWidenedElement(Type element) {
  return isa<Float8E4M3FNType>(element) || element.isSignlessInteger(8);
}

ViewOp rtile::getWidening(Value view) {
  auto op = view.getDefiningOp<ViewOp>();
  return op && isWidenedElement(op.getBufferType().getElementType()) ? op
                                                                     : ViewOp();
}

/// O1: rows of a segment and residue at equal distances need no table.
static LogicalResult verifyViewOrder(ViewOp op) {
  if (!op.getOrder())
    return success();
  ViewType view = op.getResult().getType();
  if (op.getRows() || op.getPositions())
    return op.emitOpError("expected an order or tables, found both");
  std::shared_ptr<const layout::Order> order = op.getOrder()->getOrder();
  if (order->isIdentity())
    return success();
  if (!view.isStatic())
    return op.emitOpError("expected an order beside a w and rate that are "
                          "known, found ")
           << *op.getOrder() << " beside " << view
           << "; nearest a table of rows (O1)";
  int64_t segment =
      view.isSegmented() ? view.getSegmentLength() : layout::unboundedSegment;
  if (order->rowStep(segment, view.getRate(), /*atTokenZero=*/!op.getOrigin()))
    return success();
  if (!order->slotStep(view.getRate()))
    return op.emitOpError("expected an order with the rows of ")
           << view << " at equal distances, found " << *op.getOrder()
           << "; nearest residue<" << view.getRate() << "> (O1)";
  return op.emitOpError("expected an order that restarts with segments, and "
                        "no origin, found a period of ")
         << order->period() << " tokens beside " << view << " (O1)";
}

OpFoldResult ViewOp::getMixedW() {
  ViewType view = getResult().getType();
  if (view.hasRuntimeW())
    return getW();
  return IntegerAttr::get(IndexType::get(getContext()),
                          view.getSegmentLength());
}

OpFoldResult ViewOp::getMixedRate() {
  ViewType view = getResult().getType();
  if (view.hasRuntimeRate())
    return getRate();
  return IntegerAttr::get(IndexType::get(getContext()), view.getRate());
}

/// B1: what the type has not stands beside it.
static LogicalResult verifyRuntimeSizes(ViewOp op) {
  ViewType view = op.getResult().getType();
  for (auto [name, isRuntime, operand] :
       {std::tuple("w", view.hasRuntimeW(), op.getW()),
        {"rate", view.hasRuntimeRate(), op.getRate()}})
    if (isRuntime != static_cast<bool>(operand))
      return op.emitOpError("expected an operand ")
             << name << " if and only if the view has " << name
             << " = ?, found " << view << " (B1)";
  return success();
}

static LogicalResult verifyGroup(ViewOp op) {
  if (!op.getGroup())
    return success();
  int64_t axis = (*op.getGroup())[0], count = op.getGroupSize();
  MemRefType buffer = op.getBufferType();
  if (axis < 0 || axis >= buffer.getRank() ||
      llvm::is_contained(op.getAxes(), axis))
    return op.emitOpError("expected a group along an axis that has an index, "
                          "found axis ")
           << axis;
  int64_t most = kLongestGroup;
  if (!buffer.isDynamicDim(axis))
    most = std::min(most, buffer.getDimSize(axis));
  if (count < 1 || count > most)
    return op.emitOpError("expected a group of 1 to ")
           << most << " places of axis " << axis << ", found " << count;
  return success();
}

int64_t ViewOp::getStaticIndices() {
  int64_t indices = getBufferType().getDimSize(getAxes()[0]);
  if (!getPages())
    return indices;
  int64_t pages = getPages().getType().getDimSize(1);
  return ShapedType::isDynamic(pages) ? pages : pages * indices;
}

/// S4: pages are the axis in front of their rows.
static LogicalResult verifyPages(ViewOp op) {
  if (!op.getPages())
    return success();
  int64_t axis = op.getAxes()[0];
  if (!llvm::is_sorted(op.getAxes()))
    return op.emitOpError("expected pages or a transposed view, found both "
                          "(S4)");
  if (axis == 0)
    return op.emitOpError("expected an axis of pages in front of the row axis, "
                          "found none (S4)");
  int64_t rows = op.getPageSize();
  if (rows < 1 || rows > abi::kMaxPageRows)
    return op.emitOpError("expected pages of 1 to ")
           << abi::kMaxPageRows << " rows in the buffer's type, found "
           << op.getBufferType() << " (S4)";
  if (op.getGroup() && (*op.getGroup())[0] == axis - 1)
    return op.emitOpError("expected a group along another axis than that of "
                          "pages, found axis ")
           << axis - 1 << " (S4)";
  if (op.getOrder() && !op.getOrder()->isIdentity())
    return op.emitOpError("expected pages or an order, found both; nearest a "
                          "table of rows (O1, S4)");
  return success();
}

LogicalResult ViewOp::verify() {
  ViewType view = getResult().getType();
  MemRefType buffer = getBufferType();
  ArrayRef<int64_t> axes = getAxes();
  if (static_cast<int64_t>(axes.size()) != view.getRank())
    return emitOpError("expected ") << view.getRank() << " axes ('*') for "
                                    << view << ", found " << axes.size();
  if (static_cast<int64_t>(axes.size() + getFixed().size()) != buffer.getRank())
    return emitOpError("expected one entry for each of the ")
           << buffer.getRank() << " axes of the buffer, found "
           << axes.size() + getFixed().size();
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= buffer.getRank() ||
        llvm::is_contained(axes.take_front(i), axes[i]))
      return emitOpError("expected different axes below ")
             << buffer.getRank() << ", found " << axes[i];
  if (buffer.getElementType() != view.getElementType() &&
      !isWidenedElement(buffer.getElementType()))
    return emitOpError("expected a view with elements of ")
           << buffer.getElementType() << ", found " << view.getElementType();
  if (view.isSegmented() != static_cast<bool>(getSegment()))
    return emitOpError("expected a segment if and only if the view has a w, "
                       "found ")
           << view;
  if (view.isStrided() != static_cast<bool>(getResidue()))
    return emitOpError("expected a residue if and only if the view has a "
                       "rate, found ")
           << view;
  if (view.getIndexed() != static_cast<bool>(getRows()))
    return emitOpError("expected rows if and only if the view is indexed, "
                       "found ")
           << view;
  if (static_cast<bool>(getFirst()) != static_cast<bool>(getEnd()))
    return emitOpError("expected the first and the end of rows together, "
                       "found one of them (S2)");
  if (failed(verifyRuntimeSizes(*this)) || failed(verifyGroup(*this)) ||
      failed(verifyPages(*this)))
    return failure();
  return verifyViewOrder(*this);
}

void BoundsOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getBegin(), "first_row");
  setName(getEnd(), "end_row");
}

static LogicalResult verifyAccess(Operation *op, ViewType view, size_t offsets,
                                  Type tile) {
  if (static_cast<int64_t>(offsets) != view.getRank())
    return op->emitOpError("expected ")
           << view.getRank() << " offsets, found " << offsets;
  auto found = cast<RankedTensorType>(tile);
  if (found.getShape() != view.getShape() ||
      found.getElementType() != view.getElementType())
    return op->emitOpError("expected a tile of ")
           << view.getTileType() << ", found " << tile;
  return verifyInRegisters(op, tile);
}

LogicalResult LoadOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                       ValueRange operands, DictionaryAttr,
                                       OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &inferred) {
  auto view =
      operands.empty() ? ViewType() : dyn_cast<ViewType>(operands[0].getType());
  if (!view)
    return failure();
  inferred.push_back(view.getTileType());
  return success();
}

bool LoadOp::isCompatibleReturnTypes(TypeRange inferred, TypeRange found) {
  return inferred.size() == found.size();
}

LogicalResult LoadOp::verify() {
  return verifyAccess(*this, getView().getType(), getOffsets().size(),
                      getResult().getType());
}

LogicalResult StoreOp::verify() {
  if (ViewOp view = getWidening(getView()))
    return emitOpError("expected a view that does not widen, found one of ")
           << view.getBufferType() << " (S6)";
  return verifyAccess(*this, getView().getType(), getOffsets().size(),
                      getTile().getType());
}
