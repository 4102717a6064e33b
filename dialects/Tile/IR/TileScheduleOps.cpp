//===- TileScheduleOps.cpp - Operations of scheduled kernels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::rtile;

//===----------------------------------------------------------------------===//
// Roles and channels
//===----------------------------------------------------------------------===//

LogicalResult RoleOp::verify() { return success(); }

static LogicalResult inferSlots(ValueRange operands,
                                SmallVectorImpl<Type> &inferred) {
  for (Value operand : operands) {
    auto channel = dyn_cast<ChannelType>(operand.getType());
    if (!channel)
      return failure();
    inferred.push_back(SlotType::get(channel.getTile()));
  }
  return success();
}

LogicalResult AcquireOp::inferReturnTypes(MLIRContext *,
                                          std::optional<Location>,
                                          ValueRange operands, DictionaryAttr,
                                          OpaqueProperties, RegionRange,
                                          SmallVectorImpl<Type> &inferred) {
  return inferSlots(operands, inferred);
}

LogicalResult AwaitOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                        ValueRange operands, DictionaryAttr,
                                        OpaqueProperties, RegionRange,
                                        SmallVectorImpl<Type> &inferred) {
  return inferSlots(operands, inferred);
}

LogicalResult CopyOp::verify() {
  ViewType view = getView().getType();
  if (static_cast<int64_t>(getOffsets().size()) != view.getRank())
    return emitOpError("expected ")
           << view.getRank() << " offsets, found " << getOffsets().size();
  if (getSlot().getType().getTile() != view.getTileType())
    return emitOpError("expected a slot for tiles of ")
           << view.getTileType() << ", found "
           << getSlot().getType().getTile();
  return success();
}

LogicalResult ReadOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  RankedTensorType held = getSlot().getType().getTile();
  if (tile.getShape() != held.getShape() ||
      tile.getElementType() != held.getElementType())
    return emitOpError("expected a tile of ") << held << ", found " << tile;
  return success();
}

//===----------------------------------------------------------------------===//
// Products under way
//===----------------------------------------------------------------------===//

LogicalResult StartDotOp::verify() {
  return verifyProduct(*this, cast<RankedTensorType>(getLhs().getType()),
                       cast<RankedTensorType>(getRhs().getType()),
                       getTransposed(), getResult().getType().getTile());
}

LogicalResult FinishDotOp::verify() {
  if (getResult().getType() != getPending().getType().getTile())
    return emitOpError("expected a result of ")
           << getPending().getType().getTile() << ", found "
           << getResult().getType();
  return success();
}

LogicalResult InTurnOp::verify() {
  auto yield = getBody().front().empty()
                   ? YieldOp()
                   : dyn_cast<YieldOp>(getBody().front().back());
  if (!yield)
    return emitOpError("expected a body that ends in rtile.yield");
  if (yield.getOperandTypes() != getResultTypes())
    return emitOpError("expected a body that yields ")
           << getResultTypes() << ", found " << yield.getOperandTypes();
  return success();
}
