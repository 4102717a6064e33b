//===- TileScheduleOps.cpp - Operations of scheduled kernels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/ListReads.h"
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::rtile;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Types and operations of the scheduled form alone.
static LogicalResult verifyPlain(Operation *op) {
  if (isa<RoleOp, ChannelOp>(op))
    return op->emitOpError("expected a kernel marked as scheduled around it");
  auto check = [&](Type type) -> LogicalResult {
    if (getWarpsOf(type) != 0 || liesInSlot(type))
      return op->emitOpError("expected tiles without encoding in a plain "
                             "kernel, found ")
             << type;
    if (isa<ChannelType, SlotType, PendingType>(type))
      return op->emitOpError("expected types of the plain form in a plain "
                             "kernel, found ")
             << type;
    return success();
  };
  for (Type type : op->getResultTypes())
    if (failed(check(type)))
      return failure();
  for (Region &region : op->getRegions())
    for (Type type : region.getArgumentTypes())
      if (failed(check(type)))
        return failure();
  return success();
}

bool rtile::isListElement(Type type) {
  return type.isSignlessInteger(32) || type.isSignlessInteger(64);
}

bool rtile::readsList(Operation *op) {
  auto load = dyn_cast<memref::LoadOp>(op);
  auto func = op->getParentOfType<FuncOp>();
  return load && func && isListElement(load.getType()) &&
         llvm::is_contained(func.getParameters(), load.getMemRef());
}

/// What stands in front of the roles of a scheduled kernel: what all roles
/// know, without effects but for reads of lists, and without tiles other than
/// constants.
static LogicalResult verifyShared(Operation *op) {
  if (isa<ChannelOp>(op))
    return success();
  WalkResult result = op->walk([](Operation *part) {
    if (isa<scf::ForOp, scf::IfOp>(part) || isMemoryEffectFree(part) ||
        readsList(part))
      return WalkResult::advance();
    part->emitOpError(
        "expected operations without effects, or reads of lists "
        "of integers that the kernel gets, in front of its roles");
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  if (op->hasTrait<OpTrait::ConstantLike>())
    return success();
  for (Type type : op->getResultTypes())
    if (!type.isIntOrIndexOrFloat() && !isa<ViewType>(type))
      return op->emitOpError("expected scalars and views in front of the roles "
                             "of a kernel, found ")
             << type;
  return success();
}

static LogicalResult verifyScheduled(FuncOp func) {
  int64_t warps = 0;
  SmallVector<StringRef> names;
  for (Operation &op : func.getBody().front().without_terminator()) {
    auto role = dyn_cast<RoleOp>(op);
    if (!role) {
      if (!names.empty())
        return op.emitOpError("expected nothing but roles behind the first "
                              "role of a kernel");
      if (failed(verifyShared(&op)))
        return failure();
      continue;
    }
    if (llvm::is_contained(names, role.getName()))
      return role.emitOpError("expected roles of different names, found '")
             << role.getName() << "' twice";
    names.push_back(role.getName());
    warps += role.getWarps();
  }
  if (names.empty())
    return func.emitOpError("expected at least one role in a scheduled kernel");
  if (warps > mostWarps)
    return func.emitOpError("expected roles of at most ")
           << mostWarps << " warps together, found " << warps;
  return success();
}

static LogicalResult verifyWalk(FuncOp func, WalkAttr walk) {
  int64_t rank = func.getGridRank();
  if (!walk.getOrder().empty() &&
      static_cast<int64_t>(walk.getOrder().size()) != rank)
    return func.emitOpError("expected an order of the ")
           << rank << " axes of the grid, found " << walk.getOrder().size();
  SmallVector<int64_t> seen;
  for (int64_t axis : walk.getReversed()) {
    if (axis >= rank)
      return func.emitOpError("expected reversed axes below ")
             << rank << ", found " << axis;
    if (llvm::is_contained(seen, axis))
      return func.emitOpError("expected reversed axes once, found ")
             << axis << " twice";
    seen.push_back(axis);
  }
  ArrayRef<int64_t> length = walk.getLength();
  if (length.empty())
    return success();
  ValueRange parameters = func.getParameters();
  auto buffer = length[0] < static_cast<int64_t>(parameters.size())
                    ? dyn_cast<MemRefType>(parameters[length[0]].getType())
                    : MemRefType();
  if (!buffer || length[1] >= buffer.getRank())
    return func.emitOpError(
               "expected a length that is a size of a buffer, found "
               "axis ")
           << length[1] << " of argument " << length[0];
  return success();
}

/// What a schedule says fits the kernel's parameters and its grid.
static LogicalResult verifySchedule(FuncOp func, ScheduleAttr schedule) {
  if (func.getScheduled())
    return func.emitOpError(
        "expected a schedule of a plain kernel; a scheduled "
        "one has roles");
  ValueRange parameters = func.getParameters();
  for (ScheduleOperandAttr operand : schedule.getOperands())
    if (operand.getBuffer() >= static_cast<int64_t>(parameters.size()) ||
        !isa<MemRefType>(parameters[operand.getBuffer()].getType()))
      return func.emitOpError("expected operands of a schedule to come from "
                              "buffers, found parameter ")
             << operand.getBuffer() << " of " << parameters.size();
  return verifyWalk(func, schedule.getWalk());
}

LogicalResult FuncOp::verifyRegions() {
  if (ScheduleAttr schedule = getScheduleAttr())
    if (failed(verifySchedule(*this, schedule)))
      return failure();
  if (WalkAttr walk = getWalkAttr())
    if (failed(verifyWalk(*this, walk)))
      return failure();
  if (getScheduled())
    return verifyScheduled(*this);
  WalkResult result = getBody().walk<WalkOrder::PreOrder>([](Operation *op) {
    return failed(verifyPlain(op)) ? WalkResult::interrupt()
                                   : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

LogicalResult RoleOp::verify() {
  return verifyWarpsOfRole([&] { return emitOpError(); }, getWarps(),
                           getRegisters());
}

/// Checks that tiles of `type` lie in the registers of `role` if they lie in
/// registers.
static LogicalResult verifyWarps(Operation *op, Type type, RoleOp role) {
  if (auto pending = dyn_cast<PendingType>(type))
    type = pending.getTile();
  int64_t warps = getWarpsOf(type);
  if (warps != 0 && warps != static_cast<int64_t>(role.getWarps()))
    return op->emitOpError("expected tiles in the registers of the ")
           << role.getWarps() << " warps of role '" << role.getName()
           << "', found " << type;
  return success();
}

LogicalResult RoleOp::verifyRegions() {
  WalkResult result = getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto check = [&](TypeRange types) {
      return llvm::all_of(types, [&](Type type) {
        return succeeded(verifyWarps(op, type, *this));
      });
    };
    if (!check(op->getOperandTypes()) || !check(op->getResultTypes()))
      return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      if (!check(region.getArgumentTypes()))
        return WalkResult::interrupt();
    // Upstream operations know of no slots.
    if (op->hasTrait<OpTrait::Elementwise>() && failed(verifyOneEncoding(op)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// The role around `op`; reports if there is none.
static RoleOp roleOf(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  if (!role)
    op->emitOpError("expected a role (rtile.role) around it");
  return role;
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// One role fills a channel, others read it.
static LogicalResult verifyEnds(ChannelOp channel) {
  RoleOp writer, reader;
  for (Operation *user : channel.getResult().getUsers()) {
    auto role = user->getParentOfType<RoleOp>();
    if (!role)
      continue;
    if (isa<AwaitOp>(user)) {
      reader = role;
      continue;
    }
    if (writer && writer != role)
      return channel.emitOpError("expected one role that acquires slots of it, "
                                 "found '")
             << writer.getName() << "' and '" << role.getName() << "'";
    writer = role;
  }
  if (!writer || !reader)
    return channel.emitOpError("expected a role that ")
           << (writer ? "awaits" : "acquires") << " slots of it, found none";
  return success();
}

/// All slots of a channel are filled in one way, which their barriers count.
static LogicalResult verifyFilling(ChannelOp channel) {
  Operation *first = nullptr;
  for (Operation *user : channel.getResult().getUsers()) {
    auto acquire = dyn_cast<AcquireOp>(user);
    if (!acquire)
      continue;
    for (Operation *filler : acquire.getSlot().getUsers()) {
      if (!isa<CopyOp, WriteOp>(filler))
        continue;
      if (first && first->getName() != filler->getName())
        return channel.emitOpError("expected slots that are all filled by one "
                                   "operation, found ")
               << CopyOp::getOperationName() << " and "
               << WriteOp::getOperationName();
      first = filler;
    }
  }
  return success();
}

LogicalResult ChannelOp::verify() {
  if (getOffset().has_value() != getBarriers().has_value())
    return emitOpError("expected an offset and barriers, or neither");
  auto isPlace = [](std::optional<uint64_t> place, int64_t unit) {
    auto value = static_cast<int64_t>(place.value_or(0));
    return value >= 0 && value % unit == 0;
  };
  if (!isPlace(getOffset(), 1024))
    return emitOpError("expected an offset that is a multiple of 1024, found ")
           << static_cast<int64_t>(*getOffset());
  if (!isPlace(getBarriers(), 8))
    return emitOpError("expected barriers at a multiple of 8, found ")
           << static_cast<int64_t>(*getBarriers());
  for (Operation *user : getResult().getUsers())
    if (!isa<AcquireOp, AwaitOp>(user))
      return emitOpError("expected rtile.acquire and rtile.await as its only "
                         "uses, found ")
             << user->getName();
  if (failed(verifyEnds(*this)))
    return failure();
  return verifyFilling(*this);
}

static LogicalResult verifyMade(Operation *op, ValueRange channels) {
  if (!roleOf(op))
    return failure();
  for (Value channel : channels)
    if (!channel.getDefiningOp<ChannelOp>())
      return op->emitOpError("expected a channel made by rtile.channel, found "
                             "one that passes through a block or an operation");
  return success();
}

LogicalResult AcquireOp::verify() { return verifyMade(*this, getChannel()); }

LogicalResult AwaitOp::verify() {
  if (getChannels().empty())
    return emitOpError("expected at least one channel");
  SmallVector<Value> seen;
  for (Value channel : getChannels()) {
    if (llvm::is_contained(seen, channel))
      return emitOpError("expected each channel once");
    seen.push_back(channel);
  }
  return verifyMade(*this, getChannels());
}

/// Checks that a slot whose origin is in sight comes from an OpT.
template <typename OpT>
static LogicalResult verifyOrigin(Operation *op, Value slot) {
  Operation *origin = slot.getDefiningOp();
  if (isa_and_nonnull<AcquireOp, AwaitOp>(origin) && !isa<OpT>(origin))
    return op->emitOpError("expected a slot of ")
           << OpT::getOperationName() << ", found one of " << origin->getName();
  return success(roleOf(op) != nullptr);
}

LogicalResult ReleaseOp::verify() {
  return verifyOrigin<AwaitOp>(*this, getSlot());
}

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

/// Checks a copy between a slot and a view.
static LogicalResult verifyCopy(Operation *op, ViewType view,
                                ValueRange offsets, SlotType slot) {
  if (static_cast<int64_t>(offsets.size()) != view.getRank())
    return op->emitOpError("expected ")
           << view.getRank() << " offsets, found " << offsets.size();
  if (slot.getTile() != view.getTileType())
    return op->emitOpError("expected a slot for tiles of ")
           << view.getTileType() << ", found " << slot.getTile();
  return success();
}

/// The copy engine brings bytes as they are.
static LogicalResult verifyNotWidening(Operation *op, Value view) {
  if (ViewOp widening = getWidening(view))
    return op->emitOpError("expected a view that does not widen, found one of ")
           << widening.getBufferType() << " (S6)";
  return success();
}

LogicalResult CopyOp::verify() {
  if (failed(verifyNotWidening(*this, getView())))
    return failure();
  if (failed(verifyCopy(*this, getView().getType(), getOffsets(),
                        getSlot().getType())))
    return failure();
  return verifyOrigin<AcquireOp>(*this, getSlot());
}

LogicalResult CopyOutOp::verify() {
  if (failed(verifyNotWidening(*this, getView())))
    return failure();
  if (failed(verifyCopy(*this, getView().getType(), getOffsets(),
                        getSlot().getType())))
    return failure();
  if (getAdd() && !getView().getType().getElementType().isF32())
    return emitOpError("expected tiles of f32 to add, found ")
           << getView().getType().getElementType();
  return verifyOrigin<AwaitOp>(*this, getSlot());
}

LogicalResult WriteOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  RankedTensorType held = getSlot().getType().getTile();
  if (tile.getShape() != held.getShape() ||
      tile.getElementType() != held.getElementType())
    return emitOpError("expected a tile of ") << held << ", found " << tile;
  // Barriers count those that write, so it has to be in sight.
  if (!getSlot().getDefiningOp<AcquireOp>())
    return emitOpError("expected a slot of ")
           << AcquireOp::getOperationName() << " in the same block or around "
           << "it, found one that passes through a block or an operation";
  if (failed(verifyInRegisters(*this, tile)))
    return failure();
  return success(roleOf(*this) != nullptr);
}

LogicalResult ReadOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  RankedTensorType held = getSlot().getType().getTile();
  if (tile.getShape() != held.getShape() ||
      tile.getElementType() != held.getElementType())
    return emitOpError("expected a tile of ") << held << ", found " << tile;
  return verifyOrigin<AwaitOp>(*this, getSlot());
}

//===----------------------------------------------------------------------===//
// Products under way
//===----------------------------------------------------------------------===//

LogicalResult StartDotOp::verify() {
  if (!roleOf(*this))
    return failure();
  if (getInit() && getOnto())
    return emitOpError("expected init or onto, found both");
  return verifyProduct(*this, cast<RankedTensorType>(getLhs().getType()),
                       cast<RankedTensorType>(getRhs().getType()),
                       getTransposed(), getResult().getType().getTile());
}

LogicalResult WaitDotOp::verify() { return success(roleOf(*this) != nullptr); }

LogicalResult FinishDotOp::verify() {
  if (!roleOf(*this))
    return failure();
  if (getResult().getType() != getPending().getType().getTile())
    return emitOpError("expected a result of ")
           << getPending().getType().getTile() << ", found "
           << getResult().getType();
  return success();
}

LogicalResult InTurnOp::verify() {
  RoleOp role = roleOf(*this);
  if (!role)
    return failure();
  if (role.getWarps() % 4 != 0)
    return emitOpError("expected a role of a multiple of 4 warps, found ")
           << role.getWarps();
  if ((*this)->getParentOfType<InTurnOp>())
    return emitOpError("expected turns that are not inside others");
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
