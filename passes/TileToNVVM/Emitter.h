//===- Emitter.h - Emits the body of a GPU kernel -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_EMITTER_H
#define RINGLET_PASSES_TILETONVVM_EMITTER_H

#include "lib/Arch/GPU.h"
#include "passes/TileCode/Entries.h"
#include "passes/TileCode/ViewAddress.h"
#include "passes/TileToNVVM/AsyncBuilder.h"
#include "passes/TileToNVVM/Channels.h"
#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/GPUBuilder.h"
#include "passes/TileToNVVM/Hazards.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ringlet {
namespace gpu {

using code::Buffer;
using code::View;

/// Emits one point of a kernel's grid for one thread of its block, following
/// the decisions of the passes before. Every value of type index becomes an
/// i64, every tile the elements that the thread holds.
class Emitter {
  using Value = mlir::Value;
  using Type = mlir::Type;

public:
  /// `shared` is the beginning of the block's shared memory; null without any.
  Emitter(rtile::FuncOp func, const arch::GPUArch &row, GPUBuilder &builder,
          Value shared);

  void bind(Value scalar, Value code) { scalars[scalar] = code; }
  void bind(Value buffer, Buffer code) { buffers[buffer] = std::move(code); }

  void emitBlock(mlir::Block &block);
  /// All of a kernel in the scheduled form. `extents` are the grid's, `maps`
  /// the address of its tensor maps, `counter` that of the points taken so far.
  void emitRoles(mlir::ValueRange extents, Value maps, Value counter);
  /// What a thread does before it ends.
  void finish() {
    if (copiesPending)
      b.waitForCopies();
  }

private:
  /// Elements of a tile that this thread holds, in the order that `Fragments`
  /// counts them.
  using Fragment = llvm::SmallVector<Value>;

  //===--------------------------------------------------------------------===//
  // Scalars and control (EmitControl.cpp)
  //===--------------------------------------------------------------------===//

  Value getScalar(Value value) { return scalars.lookup(value); }
  void emitOperation(mlir::Operation *op);
  void emitScalar(mlir::Operation *op);
  void emitLoop(mlir::scf::ForOp loop);
  void emitBranch(mlir::scf::IfOp branch);
  void emitGenerate(rtile::GenerateOp op);
  /// Tiles become several values.
  llvm::SmallVector<Value> flatten(mlir::ValueRange values);
  void bindFlat(mlir::ValueRange values, mlir::ValueRange code);
  /// Places the barrier that an access to shared memory needs.
  void await(const SharedAccess &access);

  //===--------------------------------------------------------------------===//
  // Memory (EmitMemory.cpp)
  //===--------------------------------------------------------------------===//

  /// One tile of a view: what all threads have in common.
  struct Window {
    const View *view;
    Value row;
    /// Address of row 0 of the tile (of the buffer, for an indexed view) at
    /// column 0 of the tile.
    Value base;
    /// Address of row 0 of the view at column 0 of the tile.
    Value origin;
    /// Rows and columns of the tile that exist, as i32. Columns are null where
    /// all exist.
    Value rowBegin, rowEnd, columnBegin, columnEnd;
  };
  struct Row {
    Value pointer, exists;
  };

  void emitLoad(rtile::LoadOp op);
  void emitStore(rtile::StoreOp op);
  Window getWindow(const View &view, mlir::ValueRange offsets);
  Row getRow(const Window &window, Value row);
  /// Where a number of a table or a boolean of a mask lies.
  Value getElement(Value parameter, mlir::ValueRange indices);
  /// The boolean at `element`, false if there is none.
  Value isSet(Value element, Value exists);
  /// What a table says of row `at`, 0 unless it exists; `entries` is that of
  /// row 0.
  Value loadEntry(const View &view, Value entries, Value at, Value exists);
  /// Address of a column and, in `exists`, whether it and its row exist.
  Value getColumn(const Window &window, const Row &row, Value column,
                  Value &exists);
  /// True if the rows of the view begin, at the column of the tile, at
  /// multiples of that many bytes.
  Value isAligned(const Window &window, int64_t bytes);
  void storePairs(const Window &window, mlir::RankedTensorType tile,
                  const Fragment &values);
  void storeElements(const Window &window, mlir::RankedTensorType tile,
                     const Fragment &values);
  /// Calls `element` for each element that the thread holds.
  void forEachElement(
      const Window &window, mlir::RankedTensorType tile,
      llvm::function_ref<void(int64_t index, Value pointer, Value exists)>
          element);
  /// Into the image at `base`.
  void copyToShared(const Window &window, mlir::RankedTensorType tile,
                    const Image &image, Value base);
  /// `areAllRows`: every row of the tile exists.
  void copyPieces(const Window &window, mlir::RankedTensorType tile,
                  const Image &image, Value base, bool areAllRows);
  /// Threads that copy a row of so many pieces, and rows that all copy at once.
  int64_t getThreadsOfRow(int64_t pieces) {
    return std::min<int64_t>(llvm::PowerOf2Ceil(pieces), layout.threads());
  }
  int64_t getRowsATurn(int64_t pieces) {
    return layout.threads() / getThreadsOfRow(pieces);
  }
  void copyElements(const Window &window, mlir::RankedTensorType tile,
                    const Image &image, Value base);
  /// Where byte `place` of a row lies in it.
  Value swizzle(const Image &image, Value row, Value place);
  /// Between registers and an image in shared memory.
  void writeImage(mlir::RankedTensorType tile, const Fragment &fragment,
                  int64_t offset);
  Fragment readImage(mlir::RankedTensorType tile, const Image &image,
                     int64_t offset);
  Value getShared(int64_t offset) { return b.at(shared, offset); }

  //===--------------------------------------------------------------------===//
  // Tiles (EmitTiles.cpp, EmitDot.cpp)
  //===--------------------------------------------------------------------===//

  void emitConstant(mlir::arith::ConstantOp op);
  void emitElementwise(mlir::Operation *op);
  /// One element of an elementwise operation.
  Value emitElement(mlir::Operation *op, Fragment operands);
  Value divide(mlir::arith::DivFOp op, Value x, Value y);
  /// A product with factors of rows that a warp skips if they are all 1.
  void emitRescale(mlir::arith::MulFOp op);
  void emitReduce(rtile::ReduceOp op);
  void emitBroadcast(rtile::BroadcastOp op);
  /// Of each row of a tile that the thread holds, the columns that it sees:
  /// the first one and one past the last, counted from the thread's first
  /// column.
  using Intervals = llvm::SmallVector<std::pair<Value, Value>>;
  void emitVisible(rtile::VisibleOp op);
  Value isVisible(const Intervals &intervals, int64_t blocks, int64_t index);
  Intervals getIntervals(rtile::VisibleOp op);
  /// What the mask of a tile asks of a row of queries or of keys, null where it
  /// does not.
  struct Token {
    Value position, exists;
    /// Coordinates, and the number of the mask block, of a row that exists.
    llvm::SmallVector<Value> cell;
    Value block;
  };
  Token getToken(rtile::VisibleOp op, bool isKey, Value index);
  Value getRank(const View &view, Value row);
  Value seesPosition(rtile::VisibleOp op, const Token &query, const Token &key);
  Value isNear(rtile::VisibleOp op, const Token &query, const Token &key);
  Fragment expandVisible(Value mask);
  void emitDot(rtile::DotOp op);
  /// Writes the operand's image if it has none yet; its offset.
  int64_t prepareImage(mlir::OpOperand &operand,
                       llvm::ArrayRef<SharedAccess> &accesses);
  Fragment emitSimt(rtile::DotOp op, int64_t lhs, int64_t rhs, Fragment sums);
  Fragment emitMma(rtile::DotOp op, int64_t lhs, int64_t rhs, Fragment sums);

  /// Row of the tile that the thread's element 0 or 2 (`half` 1) lies in, for
  /// one block of rows; column of its element 0 or 1, for one block of columns.
  Value getRowIndex(int64_t block, int64_t half) {
    return b.add(laneRow, block * layout.rowsAtOnce() + 8 * half);
  }
  Value getColumnIndex(int64_t block, int64_t which) {
    return b.add(laneColumn, 8 * block + which);
  }
  /// True where the column belongs to the tile; null if that is known.
  Value isInside(int64_t width, int64_t block, int64_t which) {
    return 8 * (block + 1) <= width
               ? Value()
               : b.less(getColumnIndex(block, which), b.i32(width));
  }
  Value toF32(Value value);

  void emitFold(rtile::FoldOp op);
  void emitAny(rtile::AnyOp op);
  void emitSlice(rtile::SliceOp op);
  void emitJoin(rtile::JoinOp op);
  void emitRebase(rtile::RebaseOp op);

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
  void emitBarriers();
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
  void setThread(Value number, Fragments fragments);
  /// True if the operation was one that only roles have, or has another form
  /// in them.
  bool emitInRole(mlir::Operation *op);
  void emitRoleLoop(mlir::scf::ForOp loop);
  void emitRoleBranch(mlir::scf::IfOp branch);

  //===--------------------------------------------------------------------===//
  // Channels and products under way (EmitChannels.cpp)
  //===--------------------------------------------------------------------===//

  Channels getVisited(mlir::Operation *op);
  llvm::SmallVector<Value> flattenCursors(llvm::ArrayRef<rtile::ChannelOp> of);
  void bindCursors(llvm::ArrayRef<rtile::ChannelOp> of, mlir::ValueRange code);
  Slot visit(rtile::ChannelOp channel);
  Place getFull(const Slot &slot);
  Place getEmpty(const Slot &slot);
  /// Beginning of the slot's memory.
  Place getMemory(const Slot &slot);
  void emitAcquire(rtile::AcquireOp op);
  void emitCopy(rtile::CopyOp op);
  void emitAwait(rtile::AwaitOp op);
  void emitRead(rtile::ReadOp op);
  void emitRelease(rtile::ReleaseOp op);
  void emitStartDot(rtile::StartDotOp op);
  void emitTurn(rtile::InTurnOp op);
  void emitFinishDot(rtile::FinishDotOp op);
  /// Puts an operation on tiles off, if that is possible: its elements are
  /// null until somebody asks for them.
  bool putOff(mlir::Operation *op);
  Value getElement(Value tile, int64_t index);
  Value computeElement(mlir::Operation *op, int64_t index);
  /// Computes all elements of a value; of every value that was put off.
  void compute(Value value);
  void computeWaiting();
  /// Rounds to 16 bits, two elements a register; false if the operation does
  /// something else.
  bool emitRounding(mlir::Operation *op);
  bool emitRoleStore(rtile::StoreOp op);
  void storeAligned(const Window &window, Value tile);
  void transposeQuad(llvm::MutableArrayRef<Value> words);
  /// Finds the addresses of a view anew, so that none of them lies in registers
  /// from the beginning of a point to its end.
  void renewView(Value view);

  /// Two neighbours of 16 bits share a register in roles, an i32.
  bool isPacked(mlir::RankedTensorType tile) {
    return role && tile.getRank() == 2 &&
           tile.getElementType().isIntOrFloat() &&
           tile.getElementType().getIntOrFloatBitWidth() == 16;
  }
  Type getRegister(mlir::RankedTensorType tile) {
    return isPacked(tile) ? Type(b.getI32Type()) : tile.getElementType();
  }
  int64_t getRegisters(mlir::RankedTensorType tile) {
    return layout.elements(tile) / (isPacked(tile) ? 2 : 1);
  }
  Fragment unpack(Value tile);
  void bindUnpacked(Value tile, Fragment elements);

  rtile::FuncOp func;
  /// The role that is emitted; null in plain kernels.
  rtile::RoleOp role;
  Value maps, counter;
  /// Number of points.
  Value points;
  /// Extents of the grid, as i32.
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
  /// Results of the current block that were put off.
  llvm::SmallVector<Value> waiting;

  Fragments layout;
  const arch::GPUArch &arch;
  GPUBuilder &b;
  AsyncBuilder async;
  Value shared;
  /// Of the thread: number, lane, warp, first row and column that it holds.
  Value thread, lane, warp, laneRow, laneColumn;
  Hazards hazards;
  /// Asynchronous copies may be under way.
  bool copiesPending = false;
  llvm::DenseMap<Value, Value> scalars;
  llvm::DenseMap<Value, Buffer> buffers;
  llvm::DenseMap<Value, View> views;
  llvm::DenseMap<Value, Fragment> fragments;
  llvm::DenseMap<Value, Intervals> visible;
};

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_EMITTER_H
