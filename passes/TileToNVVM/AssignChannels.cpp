//===- AssignChannels.cpp - Where channels lie in shared memory -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/GPU.h"
#include "passes/TileToNVVM/Channels.h"
#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEASSIGNCHANNELS
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

//===----------------------------------------------------------------------===//
// What roles say about channels
//===----------------------------------------------------------------------===//

bool ringlet::gpu::isSingleThread(rtile::RoleOp role) {
  WalkResult found = role.getBody().walk([](Operation *op) {
    auto isTile = [](Type type) { return isa<RankedTensorType>(type); };
    return llvm::any_of(op->getResultTypes(), isTile) ||
                   llvm::any_of(op->getOperandTypes(), isTile)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return !found.wasInterrupted();
}

bool ringlet::gpu::hasTurns(rtile::RoleOp role) {
  return role.getWarps() > 4 &&
         role.getBody()
             .walk([](rtile::InTurnOp) { return WalkResult::interrupt(); })
             .wasInterrupted();
}

int64_t ringlet::gpu::getTurnBarrier(rtile::RoleOp role) {
  int64_t number = 1;
  for (auto other : role->getParentOfType<rtile::FuncOp>()
                        .getBody()
                        .getOps<rtile::RoleOp>()) {
    if (other == role)
      break;
    if (hasTurns(other))
      number += other.getWarps() / 4;
  }
  return number;
}

bool ringlet::gpu::isDynamic(rtile::FuncOp func) {
  rtile::WalkAttr walk = func.getWalkAttr();
  return func.getScheduled() && walk &&
         walk.getDispatch() == rtile::Dispatch::dynamic;
}

int64_t ringlet::gpu::getThreads(rtile::FuncOp func) {
  int64_t warps = 0;
  for (auto role : func.getBody().getOps<rtile::RoleOp>())
    warps += role.getWarps();
  return 32 * warps;
}

int64_t ringlet::gpu::getBlocks(rtile::FuncOp func) {
  return func.getBlocks().value_or(1);
}

int64_t ringlet::gpu::getLaunchRegisters(rtile::FuncOp func,
                                         const arch::GPUArch &row) {
  return row.launchRegisters(getBlocks(func) * getThreads(func));
}

int64_t ringlet::gpu::getReleases(rtile::ChannelOp channel) {
  llvm::SmallPtrSet<Operation *, 4> readers;
  int64_t releases = 0;
  for (Operation *user : channel->getUsers()) {
    auto role = user->getParentOfType<rtile::RoleOp>();
    if (isa<rtile::AwaitOp>(user) && readers.insert(role).second)
      releases += isSingleThread(role) ? 1 : role.getWarps();
  }
  return releases;
}

rtile::WriteOp ringlet::gpu::getWrite(rtile::ChannelOp channel) {
  for (Operation *user : channel->getUsers())
    if (auto acquire = dyn_cast<rtile::AcquireOp>(user))
      for (Operation *filler : acquire.getSlot().getUsers())
        if (auto write = dyn_cast<rtile::WriteOp>(filler))
          return write;
  return nullptr;
}

namespace {

/// What a slot begins with a multiple of (the 128-byte swizzle).
constexpr int64_t slotAlignment = 1024;

LogicalResult refuse(rtile::FuncOp func, const arch::GPUArch &row,
                     int64_t total) {
  int64_t limit = row.sharedOfBlock(getBlocks(func));
  rtile::ChannelOp largest;
  int64_t bytes = 0;
  for (auto channel : func.getBody().getOps<rtile::ChannelOp>()) {
    int64_t own =
        channel.getSlots() *
        SlotImage::of(channel.getResult().getType().getTile()).bytes();
    if (own > bytes) {
      bytes = own;
      largest = channel;
    }
  }
  RankedTensorType tile = largest.getResult().getType().getTile();
  int64_t slots = largest.getSlots();
  SlotImage image = SlotImage::of(tile);
  int64_t left = limit - (total - bytes);
  int64_t rows = left / (slots * image.panels * SlotImage::rowBytes) / 8 * 8;
  if (tile.getRank() == 1)
    rows = 0;
  auto diagnostic = largest.emitOpError("expected channels that need at most ")
                    << limit << " bytes of shared memory on " << row.name
                    << ", found " << total << ", of which " << bytes << " for "
                    << slots << (slots == 1 ? " slot of " : " slots of ")
                    << tile;
  if (int64_t fewer = left / image.bytes(); fewer > 0)
    diagnostic << "; " << fewer << (fewer == 1 ? " slot" : " slots")
               << " of it would fit";
  else if (rows > 0)
    diagnostic << "; " << rows << " rows of it would fit";
  else
    diagnostic << "; several tiles of the kernel must be smaller";
  return diagnostic;
}

/// A group of warps that asks for registers waits until others have given
/// enough away. If together they ask for more than the block begins with, it
/// waits for ever.
LogicalResult checkRegisters(rtile::FuncOp func, const arch::GPUArch &row) {
  int64_t launch = getLaunchRegisters(func, row), warps = 0, asked = 0;
  for (auto role : func.getBody().getOps<rtile::RoleOp>()) {
    int64_t own = role.getRegisters() ? role.getRegisters() : launch;
    warps += role.getWarps();
    asked += role.getWarps() * own;
  }
  if (asked <= warps * launch)
    return success();
  return func.emitOpError("expected roles that ask for at most ")
         << warps * launch * arch::kWarpThreads << " registers, " << launch
         << " for each of " << warps * arch::kWarpThreads << " threads on "
         << row.name << ", found " << asked * arch::kWarpThreads;
}

/// True if something else of the module may lie in shared memory, in front of
/// what is dynamic.
bool hasStaticShared(ModuleOp module) {
  return llvm::any_of(module.getOps<LLVM::GlobalOp>(),
                      [](auto global) { return global.getAddrSpace() == 3; });
}

LogicalResult assign(rtile::FuncOp func, const arch::GPUArch &row,
                     bool fromSymbol) {
  if (!row.hasScheduledForm())
    return func.emitOpError("is a scheduled kernel; expected an architecture "
                            "with products of warp groups and a copy engine, "
                            "found ")
           << row.name;
  if (failed(checkRegisters(func, row)))
    return failure();
  int64_t offset = 0;
  auto channels = llvm::to_vector(func.getBody().getOps<rtile::ChannelOp>());
  for (rtile::ChannelOp channel : channels) {
    RankedTensorType tile = channel.getResult().getType().getTile();
    SlotImage image = SlotImage::of(tile);
    if (tile.getRank() == 2 && image.panelBytes() % slotAlignment != 0)
      return channel.emitOpError("expected slots whose rows are a multiple of ")
             << slotAlignment / SlotImage::rowBytes << ", found " << tile;
    channel.setOffset(offset);
    offset = llvm::alignTo(offset + channel.getSlots() * image.bytes(),
                           slotAlignment);
  }
  int64_t slotBytes = offset;
  for (rtile::ChannelOp channel : channels) {
    channel.setBarriers(offset);
    offset += 2 * channel.getSlots() * barrierBytes;
  }
  Builder builder(func.getContext());
  if (isDynamic(func)) {
    offset = llvm::alignTo(offset, Mailbox::letterBytes);
    func->setAttr(mailboxAttr, builder.getI64IntegerAttr(offset));
    offset += Mailbox::bytes;
  }
  offset += pinBytes;
  int64_t limit = row.sharedOfBlock(getBlocks(func));
  if (offset > limit)
    return refuse(func, row, offset);
  func->setAttr(sharedBytesAttr, builder.getI64IntegerAttr(offset));
  fromSymbol |= hasStaticShared(func->getParentOfType<ModuleOp>());
  if (!fromSymbol)
    func->setAttr(sharedBaseAttr, builder.getI64IntegerAttr(sharedBaseAddress));
  std::string from =
      fromSymbol ? ", at a symbol"
                 : llvm::formatv(", from address {0}", sharedBaseAddress).str();
  remark::passed(func.getLoc(), remark::RemarkOpts::name("AssignChannels")
                                    .category("rtile-gpu-assign-channels")
                                    .function(func.getSymName()))
      << llvm::formatv("{0}: {1} bytes for slots, {2} of {3} bytes of shared "
                       "memory on {4}{5}",
                       func.getSymName(), slotBytes, offset, limit, row.name,
                       from)
             .str();
  return success();
}

struct AssignChannels : ringlet::impl::RTileAssignChannelsBase<AssignChannels> {
  using Base::Base;

  void runOnOperation() override {
    const arch::GPUArch *row = lookupArch(getOperation(), arch);
    if (!row)
      return signalPassFailure();
    WalkResult result = getOperation()->walk([&](rtile::FuncOp func) {
      return func.getScheduled() ? WalkResult(assign(func, *row, fromSymbol))
                                 : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
