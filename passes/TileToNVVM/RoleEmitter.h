//===- RoleEmitter.h - Emits the roles of a scheduled kernel -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_ROLEEMITTER_H
#define RINGLET_PASSES_TILETONVVM_ROLEEMITTER_H

#include "passes/TileToNVVM/Channels.h"
#include "passes/TileToNVVM/TileEmitter.h"

namespace ringlet {
namespace gpu {

/// Emits a kernel in the scheduled form: warps part into roles, each of which
/// walks over the points of the grid.
class RoleEmitter : public TileEmitter {
public:
  using TileEmitter::TileEmitter;

  /// `extents` are the grid's, `maps` the address of the kernel's tensor maps,
  /// `counter` that of the points taken so far.
  void emitRoles(mlir::ValueRange extents, Value maps, Value counter);

private:
  //===--------------------------------------------------------------------===//
  // Roles (EmitRoles.cpp), their points (EmitWalk.cpp)
  //===--------------------------------------------------------------------===//

  /// Where a role is on its way round a channel.
  struct Cursor {
    /// Either visits so far, or the next slot and how often the ring has gone
    /// round (only its parity counts).
    llvm::SmallVector<Value> values;
  };
  struct Slot {
    rtile::ChannelOp channel;
    /// As i32; null for the only slot.
    Value number;
    Value parity;
  };
  using Channels = llvm::SmallVector<rtile::ChannelOp>;

  void emitRoleChain(llvm::ArrayRef<rtile::RoleOp> roles, int64_t firstWarp,
                     Value warpNumber);
  void emitRole(rtile::RoleOp role, int64_t firstWarp);
  void emitPoint(rtile::RoleOp role, llvm::ArrayRef<Value> visitedPoint);
  /// Lets what follows from parameters be found after this point.
  void renewParameters();
  void emitBarriers();
  void countPoints();
  /// The points of the grid that the block visits.
  void emitStridedWalk(rtile::RoleOp role);
  void emitDynamicWalk(rtile::RoleOp role);
  /// The next point, which one role takes and tells all others; its first index
  /// is negative if there is none.
  llvm::SmallVector<Value> takePoint(Value taken, Value letter);
  llvm::SmallVector<Value> receivePoint(Value letter);
  /// A negative first index instead of a point beyond the last.
  llvm::SmallVector<Value> markEnd(llvm::SmallVector<Value> point, Value item);
  /// Point number `item` of the grid, as the kernel's walk counts them, but for
  /// axes that run backwards.
  llvm::SmallVector<Value> decodePoint(Value item);
  /// How many `points` of all axes but the slowest, which has `tiles`, a
  /// section of the walk has.
  Value getSection(Value points, Value tiles);
  /// The point `distance` further on.
  llvm::SmallVector<Value> movePoint(llvm::ArrayRef<Value> point,
                                     llvm::ArrayRef<Value> distance);
  /// True if the operation was one that only roles have, or has another form
  /// in them.
  bool emitInRole(mlir::Operation *op);
  void emitOperation(mlir::Operation *op) override;
  void provideFor(mlir::Block &block);
  Value shareScalar(Value loaded) override;
  void flattenValue(Value value, llvm::SmallVectorImpl<Value> &code) override;
  size_t bindValue(Value value, mlir::ValueRange code) override;
  bool isPacked(mlir::RankedTensorType tile) const override;
  Value emitOwn(mlir::Operation *op, mlir::ValueRange operands) override;
  void emitRoleLoop(mlir::scf::ForOp loop);
  void emitRoleBranch(mlir::scf::IfOp branch);

  //===--------------------------------------------------------------------===//
  // Channels and products under way (EmitChannels.cpp)
  //===--------------------------------------------------------------------===//

  Channels getVisited(mlir::Operation *op);
  llvm::SmallVector<Value> flattenCursors(llvm::ArrayRef<rtile::ChannelOp> of);
  void bindCursors(llvm::ArrayRef<rtile::ChannelOp> of, mlir::ValueRange code);
  Slot visit(rtile::ChannelOp channel);
  /// A place so many bytes into the block's shared memory, and `more`.
  Place getPlace(int64_t offset, Value more = {});
  Place getFull(const Slot &slot);
  Place getEmpty(const Slot &slot);
  /// Beginning of the slot's memory.
  Place getMemory(const Slot &slot);
  void emitAcquire(rtile::AcquireOp op);
  /// The map of a copy and where in it its tile begins.
  struct Box {
    Value map;
    llvm::SmallVector<Value> coordinates;
  };
  Box getBox(mlir::Operation *copy, mlir::TypedValue<rtile::ViewType> view,
             mlir::ValueRange offsets);
  void emitCopy(rtile::CopyOp op);
  void emitCopyOut(rtile::CopyOutOp op);
  void emitAwait(rtile::AwaitOp op);
  void emitRead(rtile::ReadOp op);
  void emitWrite(rtile::WriteOp op);
  /// Of a tile of 16 bits in a slot: calls `quad` with what a lane names of
  /// each four matrices of 8 x 8 and the numbers of their registers, -1 for
  /// those beyond the tile.
  void forEachQuad(
      mlir::RankedTensorType tile, Place memory,
      llvm::function_ref<void(Place, llvm::ArrayRef<int64_t> words)> quad);
  /// Of a tile of f32 in a slot: calls `part` with the place of each part that
  /// a thread holds in neighbouring registers, the first one and their number.
  void forEachPart(
      mlir::RankedTensorType tile, Place memory,
      llvm::function_ref<void(Place, int64_t first, int64_t count)> part);
  void emitRelease(rtile::ReleaseOp op);
  void emitStartDot(rtile::StartDotOp op);
  void emitTurn(rtile::InTurnOp op);
  void emitFinishDot(rtile::FinishDotOp op);
  void holdBack(rtile::FinishDotOp op);
  void emitWaitDot(rtile::WaitDotOp op);
  /// A product goes on under another name.
  void renameProduct(Value from, Value to) {
    if (mlir::isa<rtile::PendingType>(from.getType()))
      std::replace(underWay.begin(), underWay.end(), from, to);
  }
  /// The products up to this one are done, those behind it go on.
  llvm::SmallVector<Value> waitFor(Value pending);
  /// Puts an operation on tiles off, if that is possible: its elements are
  /// null until somebody asks for them.
  bool putOff(mlir::Operation *op);
  Value getElement(Value tile, int64_t index) override;
  Value computeElement(mlir::Operation *op, int64_t index);
  /// Computes all elements of a value; of every value that was put off.
  void compute(Value value);
  void computeWaiting();
  /// Rounds to 16 bits, two elements a register; false if the operation does
  /// something else.
  bool emitRounding(mlir::Operation *op);
  void emitStore(rtile::StoreOp op);
  void storeAligned(const Window &window, Value tile);
  void transposeQuad(llvm::MutableArrayRef<Value> words);

  /// The role that is emitted; null around all of them.
  rtile::RoleOp role;
  Value maps, counter;
  /// Where shared memory begins: a known address, or else, as i32, that of the
  /// symbol.
  int64_t knownBase = 0;
  Value unknownBase;
  /// Extents of the grid, as the launch gives them.
  llvm::SmallVector<Value> launchExtents;
  /// Number of points.
  Value points;
  /// Extents of the grid as i32, found by each role for itself.
  llvm::SmallVector<Value> gridExtents;
  /// True in the role's first thread, in the first lane of each warp; null in a
  /// role of one thread.
  Value isLeader, isFirstLane;
  /// Number of the role's group of four warps.
  Value group;
  llvm::DenseMap<mlir::Operation *, Cursor> cursors;
  llvm::DenseMap<Value, Slot> slots;
  /// Products that were started and not waited for, the oldest first.
  llvm::SmallVector<Value> underWay;
  /// Operations around the roles that are emitted already.
  llvm::DenseSet<mlir::Operation *> provided;
  /// Results of the current block that were put off.
  llvm::SmallVector<Value> waiting;
  /// Of divisions by what a row has in common.
  llvm::DenseMap<mlir::Operation *, Fragment> reciprocals;
};

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_ROLEEMITTER_H
