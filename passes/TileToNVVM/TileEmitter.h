//===- TileEmitter.h - Code of views and tiles in registers -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_TILEEMITTER_H
#define RINGLET_PASSES_TILETONVVM_TILEEMITTER_H

#include "lib/Arch/GPU.h"
#include "passes/TileCode/Entries.h"
#include "passes/TileCode/ViewAddress.h"
#include "passes/TileToNVVM/AsyncBuilder.h"
#include "passes/TileToNVVM/ThreadPart.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ringlet {
namespace gpu {

using code::Buffer;
using code::View;

/// True for values of rows that a result needs besides its products: their
/// addresses are found anew, so that they do not lie in registers before.
bool isBehindProducts(rtile::LoadOp op);
/// True if an access is made now and then in a loop that does other things.
bool isAside(mlir::Operation *access);

/// Emits what kernels of both forms have, for one thread: scalars, views,
/// accesses to global memory, operations on tiles in registers. Every value of
/// type index becomes an i64, every tile the elements that the thread holds.
/// What differs, control, shared memory and products, is in two classes on top.
class TileEmitter : protected ThreadPart {
public:
  /// `shared` is the beginning of the block's shared memory; null without any.
  TileEmitter(rtile::FuncOp func, const arch::GPUArch &row, GPUBuilder &builder,
              Value shared)
      : ThreadPart(builder), func(func), arch(row), async(builder),
        shared(shared) {}
  TileEmitter(const TileEmitter &) = delete;
  virtual ~TileEmitter() = default;

  void bind(Value scalar, Value code) { scalars[scalar] = code; }
  void bind(Value buffer, Buffer code) { buffers[buffer] = std::move(code); }

protected:
  //===--------------------------------------------------------------------===//
  // Scalars and values (EmitControl.cpp)
  //===--------------------------------------------------------------------===//

  void emitBlock(mlir::Block &block);
  virtual void emitOperation(mlir::Operation *op) = 0;
  /// Emits what is the same in both forms.
  void emitCommon(mlir::Operation *op);
  Value getScalar(Value value) { return scalars.lookup(value); }
  void emitScalar(mlir::Operation *op);
  /// A number of a list, as control may depend on it.
  virtual Value shareScalar(Value loaded) { return loaded; }
  /// Tiles become several values.
  llvm::SmallVector<Value> flatten(mlir::ValueRange values);
  void bindFlat(mlir::ValueRange values, mlir::ValueRange code);
  /// The values of one; how many of `code` it takes.
  virtual void flattenValue(Value value, llvm::SmallVectorImpl<Value> &code);
  virtual size_t bindValue(Value value, mlir::ValueRange code);

  //===--------------------------------------------------------------------===//
  // Memory (EmitMemory.cpp)
  //===--------------------------------------------------------------------===//

  /// One tile of a view: what all threads have in common.
  struct Window {
    const View *view;
    Value row;
    /// Address of row 0 of the tile (of the view, if rows come in groups; of
    /// the buffer, for an indexed view) at column 0 of the tile.
    Value base;
    /// Address of row 0 of the view at column 0 of the tile.
    Value origin;
    /// Bytes from row to row, where these lie at one distance from `base` on.
    Value rowStride;
    /// Of rows in pages: the entry of the page that row 0 of the tile would lie
    /// on, and its place there, as i32. Null where places need 64 bits.
    Value pageEntry, inPage;
    /// After so many rows of the tile comes the next page, from its row 0 on; 0
    /// where none comes.
    int64_t rowsOfPage = 0;
    /// Rows and columns of the tile that exist, as i32. Columns are null where
    /// all exist.
    Value rowBegin, rowEnd, columnBegin, columnEnd;
  };
  struct Row {
    Value pointer, exists;
  };

  /// Rows of which `needed`, a tile of booleans, is false are not read, but 0;
  /// null if all are.
  void loadToRegisters(rtile::LoadOp op, Value needed = {});
  Window getWindow(const View &view, mlir::ValueRange offsets);
  Row getRow(const Window &window, Value row);
  void placeInPages(Window &window);
  /// Where a row of `page`, as its table has it, lies.
  Value getPointerInPage(const Window &window, Value page, Value inPage);
  /// Whether the first `rows` rows of a tile, which exist, lie on one page;
  /// null if they never do. Then `getOnPage` is where they are.
  Value isOnPage(const Window &window, int64_t rows);
  Window getOnPage(Window window);
  /// Where a number of a table or a boolean of a mask lies.
  Value findElement(Value parameter, mlir::ValueRange indices);
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
  void storeElements(const Window &window, mlir::RankedTensorType tile,
                     const Fragment &values);
  /// One that exists, or 0: as stored, or widened to `element`.
  Value loadElement(const Window &window, mlir::Type element, Value pointer,
                    Value exists);
  /// Calls `element` for each element that the thread holds.
  void forEachElement(
      const Window &window, mlir::RankedTensorType tile,
      llvm::function_ref<void(int64_t index, Value pointer, Value exists)>
          element);
  /// Finds the addresses of a view anew for one access, so that none of them
  /// lies in registers from the beginning of a point to its end.
  class RenewedView {
  public:
    RenewedView(TileEmitter &emitter, Value view)
        : emitter(emitter), view(view), before(emitter.views.lookup(view)) {
      emitter.renewView(view);
    }
    /// The access may be in a region, beyond which no value of it is known.
    ~RenewedView() { emitter.views[view] = before; }

  private:
    TileEmitter &emitter;
    Value view;
    View before;
  };
  /// The same for an access that a loop makes now and then: nor does what
  /// follows from the number of the thread lie in registers meanwhile.
  class AccessAside : RenewedView {
  public:
    AccessAside(TileEmitter &emitter, Value view)
        : RenewedView(emitter, view), part(emitter), before(emitter) {
      part.laneRow = part.b.opaque(part.laneRow);
      part.laneColumn = part.b.opaque(part.laneColumn);
    }
    ~AccessAside() {
      part.laneRow = before.laneRow;
      part.laneColumn = before.laneColumn;
    }

  private:
    ThreadPart &part;
    ThreadPart before;
  };
  /// A store to memory that the loop loads from, too, now and then: other lanes
  /// have loaded before one of them stores for all, and load what it stored.
  class StoreAside : AccessAside {
  public:
    StoreAside(TileEmitter &emitter, Value view)
        : AccessAside(emitter, view), b(emitter.b) {
      b.warpBarrier();
    }
    ~StoreAside() { b.warpBarrier(); }

  private:
    GPUBuilder &b;
  };
  void renewView(Value view);

  //===--------------------------------------------------------------------===//
  // Tiles (EmitTiles.cpp, EmitColumns.cpp)
  //===--------------------------------------------------------------------===//

  void emitConstant(mlir::arith::ConstantOp op);
  void emitElementwise(mlir::Operation *op);
  /// One element of an elementwise operation.
  Value emitElement(mlir::Operation *op, Fragment operands);
  /// The same by an instruction that only one form takes for it; null if there
  /// is none.
  virtual Value emitOwn(mlir::Operation *, mlir::ValueRange) { return {}; }
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
  Value getOrdinal(const View &view, Value row);
  Value seesPosition(rtile::VisibleOp op, const Token &query, const Token &key);
  Value isNear(rtile::VisibleOp op, const Token &query, const Token &key);
  Fragment expandVisible(Value mask);

  Value toF32(Value value);

  void emitFold(rtile::FoldOp op);
  void emitAny(rtile::AnyOp op);
  void emitSlice(rtile::SliceOp op);
  void emitJoin(rtile::JoinOp op);
  void emitRebase(rtile::RebaseOp op);

  /// True where two neighbours of 16 bits share a register, an i32.
  virtual bool isPacked(mlir::RankedTensorType) const { return false; }
  /// The type of a tile, or of the tile that a product under way will be; null
  /// of other values.
  mlir::RankedTensorType getHeld(Value value) {
    auto pending = mlir::dyn_cast<rtile::PendingType>(value.getType());
    return pending ? pending.getTile() : getTile(value);
  }
  Type getRegister(mlir::RankedTensorType tile) {
    return isPacked(tile) ? Type(b.getI32Type()) : tile.getElementType();
  }
  int64_t getRegisters(mlir::RankedTensorType tile) {
    return layout.elements(tile) / (isPacked(tile) ? 2 : 1);
  }
  Fragment unpack(Value tile);
  void bindUnpacked(Value tile, Fragment elements);

  /// One element of a tile.
  virtual Value getElement(Value tile, int64_t index);

  rtile::FuncOp func;
  const arch::GPUArch &arch;
  AsyncBuilder async;
  Value shared;
  llvm::DenseMap<Value, Value> scalars;
  llvm::DenseMap<Value, Buffer> buffers;
  llvm::DenseMap<Value, View> views;
  llvm::DenseMap<Value, Fragment> fragments;
  llvm::DenseMap<Value, Intervals> visible;
};

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_TILEEMITTER_H
