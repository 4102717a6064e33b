//===- Emitter.h - Emits the body of a CPU kernel -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETOCPU_EMITTER_H
#define RINGLET_PASSES_TILETOCPU_EMITTER_H

#include "passes/TileCode/Entries.h"
#include "passes/TileCode/ViewAddress.h"
#include "passes/TileToCPU/Decisions.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ringlet {
namespace cpu {

using code::Buffer;
using code::CodeBuilder;
using code::Unroll;
using code::View;

/// Emits one point of a kernel's grid, following the decisions of the passes
/// before. Every value of type index becomes an i64.
class Emitter {
  using Value = mlir::Value;

public:
  Emitter(rtile::FuncOp func, CodeBuilder &builder, Value scratch)
      : geometry(Geometry::of(func)), b(builder), scratch(scratch) {
    findTrimmedRows(func);
  }

  void bind(Value scalar, Value code) { scalars[scalar] = code; }
  void bind(Value buffer, Buffer code) { buffers[buffer] = std::move(code); }

  void emitBlock(mlir::Block &block);

private:
  //===--------------------------------------------------------------------===//
  // Scalars and control (Emitter.cpp)
  //===--------------------------------------------------------------------===//

  Value getScalar(Value value) { return scalars.lookup(value); }
  void emitOperation(mlir::Operation *op);
  void emitScalar(mlir::Operation *op);
  void emitLoop(mlir::scf::ForOp loop);
  void emitBranch(mlir::scf::IfOp branch);
  void emitGenerate(rtile::GenerateOp op);
  mlir::SmallVector<Value> getScalars(mlir::ValueRange values);
  /// Copies tiles to the places that a loop or branch has for them.
  void emitYield(mlir::Operation *parent, mlir::ValueRange values);
  void copyTo(int64_t slot, Value tile);

  //===--------------------------------------------------------------------===//
  // Memory (EmitMemory.cpp)
  //===--------------------------------------------------------------------===//

  /// A number of a table, or a boolean of a mask.
  Value loadElement(Value parameter, mlir::ValueRange indices);
  void emitLoad(rtile::LoadOp op);
  void emitStore(rtile::StoreOp op);
  using RowBody = llvm::function_ref<void(Value index, Value pointer)>;
  /// Calls `exists` for each row of a tile that exists, with its address, and
  /// `missing`, if any, for the others.
  Value findRow(const View &view, Value row, Value index);
  void forEachRow(const View &view, Value row, Value height, RowBody exists,
                  std::optional<llvm::function_ref<void(Value)>> missing);
  /// How the elements of one row lie in scratch memory.
  struct RowForm {
    Pairs pairs = Pairs::None;
    /// Where rows are paired, the bits by which this one is shifted in words.
    Value shift;
    /// Bytes of an element that is copied as it is; 0 if it becomes f32.
    int64_t stored = 0;

    /// Bytes from one element to the next.
    int64_t step() const {
      return stored ? stored : pairs == Pairs::Columns ? 2 : 4;
    }
  };
  void copyRow(const View &view, Value column, int64_t width, Value memory,
               Value tile, const RowForm &form, bool toMemory);
  void copyRun(mlir::Type element, int64_t width, Value memory, Value tile,
               const RowForm &form, bool toMemory);
  Value fits(Value begin, Value at, int64_t count, Value end);
  void loadRows(rtile::LoadOp op);
  /// Reads `lanes` neighbouring elements as f32.
  Value loadWidened(mlir::Type element, int64_t lanes, Value memory);
  /// Makes panels of rows that are neighbours in memory: pieces of columns.
  void copyColumns(rtile::LoadOp op, const View &view, Value panels);
  void copyWidened(mlir::Type stored, int64_t lanes, Value memory, Value tile,
                   const RowForm &form);
  void copyElement(mlir::Type element, int64_t lanes, Value memory, Value tile,
                   const RowForm &form, bool toMemory);
  /// Stores bf16, as i16, at their half of the words.
  void storeHalves(Value halves, Value tile, const RowForm &form);
  /// `count` panels.
  void repack(Value rows, Value panels, Value count, int64_t height,
              int64_t width, bool toPanels);
  /// The same for the panel of a narrow tile.
  void repackNarrow(Value rows, Value panel, int64_t height, int64_t width,
                    bool toPanels);
  /// Repeats the values of a narrow tile of one axis up to a whole vector.
  void repeatRows(Value place, int64_t height);
  /// Makes panels of `words`, which two rows share, of rows of bf16.
  void weave(Value rows, Value panels, mlir::RankedTensorType words);

  //===--------------------------------------------------------------------===//
  // Groups of row-parallel operations (EmitRows, EmitDot and EmitAMX.cpp)
  //===--------------------------------------------------------------------===//

  /// The panel at work.
  struct Panel {
    Panel(const Geometry &geometry, int64_t height)
        : height(height), rows(geometry.panelRows(height)),
          columns(geometry.columnsOfVector(height)) {}

    Value index;
    int64_t height, rows;
    /// Those that a vector has, lane after lane all rows of one.
    int64_t columns;
    int64_t lanes() const { return rows * columns; }
    llvm::DenseMap<Value, Value> rowValues;
    /// What each row of an rtile.visible sees, as [first, second): columns, as
    /// i32, or positions of keys, as i64.
    llvm::DenseMap<mlir::Operation *, std::pair<Value, Value>> seen;
    /// On each axis of a grid, the coordinates that each row is near to, both
    /// ends included.
    llvm::DenseMap<mlir::Operation *,
                   llvm::SmallVector<std::pair<Value, Value>>>
        near;
    /// The mask block of each row.
    llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Value>> blocks;
    /// The columns that trimmed phases compute, as [first, second).
    std::pair<Value, Value> trimmed;
  };
  /// The column at work, with the values computed or loaded for it.
  struct Column {
    Column(Value index, int64_t group, int64_t phase)
        : index(index), group(group), phase(phase) {}

    Value index;
    int64_t group, phase;
    llvm::DenseMap<Value, Value> values;
  };

  void emitGroup(llvm::ArrayRef<mlir::Operation *> members);
  /// The first and the end of the columns of `op`'s tile to compute.
  std::pair<Value, Value> getColumns(mlir::Operation *op, const Panel &panel);
  void emitRowsPhase(llvm::ArrayRef<mlir::Operation *> members, Panel &panel);
  void emitColumnsPhase(llvm::ArrayRef<mlir::Operation *> members,
                        Panel &panel);
  void emitDot(rtile::DotOp dot, Panel &panel);
  /// The left operand of a product in the panel at work; pairs of bf16 are made
  /// here if it does not lie in pairs.
  Value getLeft(rtile::DotOp dot, Panel &panel);
  /// Puts the initial value of a product by AMX where its result will be.
  void storeInit(rtile::DotOp dot, Panel &panel);
  void emitTileBlocks(rtile::DotOp dot, Panel &panel, Value left, int64_t first,
                      int64_t width, int64_t count);
  void emitBlocks(rtile::DotOp dot, Panel &panel, Value left, int64_t first,
                  int64_t width, int64_t count);
  /// Products of few rows (EmitNarrow.cpp).
  void emitNarrowDot(rtile::DotOp dot, Panel &panel);
  void emitAlongDepth(rtile::DotOp dot, Panel &panel);
  void emitColumnsBlock(rtile::DotOp dot, Panel &panel, int64_t first,
                        int64_t vectors);
  /// The right operand's rows in scratch memory.
  Value getRight(rtile::DotOp dot);
  /// Rows of a right operand, and what their elements are.
  struct StoredRows {
    Value base, stride;
    mlir::Type element;
    /// The stride where it is a constant, else 0.
    int64_t known;
    /// Bytes to the rows of the next turn, which are to be fetched; or null.
    Value ahead = nullptr;
  };
  StoredRows getStoredRows(rtile::DotOp dot);
  /// The row of the panel that each lane belongs to, and its column of those
  /// that a vector has.
  Value getRowOfLane(const Panel &panel);
  Value getColumnOfLane(const Panel &panel);
  /// The first and the end of those to take of `count` steps along the depth.
  std::pair<Value, Value> getSteps(rtile::DotOp dot, int64_t count,
                                   const Panel &panel);

  void forEachPanel(int64_t height, llvm::function_ref<void(Panel &)> body);

  //===--------------------------------------------------------------------===//
  // Panels without rows (EmitRows.cpp)
  //===--------------------------------------------------------------------===//

  /// Tiles of a height of which only some panels are worked on.
  struct TrimmedRows {
    int64_t height;
    llvm::SmallVector<rtile::StoreOp> stores;
    mlir::Operation *known;
    Value panels;
  };
  void findTrimmedRows(rtile::FuncOp func);
  /// Counts panels, as soon as `op` makes it known which rows exist.
  void countPanels(mlir::Operation *op);
  /// Those to work on.
  Value getPanels(int64_t height);

  /// Makes ready what `tile` needs outside the loop over columns.
  void prepare(Value tile, Panel &panel, int64_t group, int64_t phase);
  Value emitConstant(mlir::arith::ConstantOp op, int64_t lanes);
  Value getRowValue(Value tile, Panel &panel);
  Value getColumnValue(Value tile, Panel &panel, Column &column);
  mlir::Type getRegisterType(mlir::RankedTensorType tile, int64_t lanes);
  Value loadTile(mlir::RankedTensorType tile, Value pointer, int64_t lanes);
  void storeTile(Value vector, Value pointer);

  //===--------------------------------------------------------------------===//
  // Masks (EmitMasks.cpp)
  //===--------------------------------------------------------------------===//

  void prepareMask(rtile::VisibleOp op, Panel &panel);
  /// Leaves to trimmed phases the columns that some row of the panel sees.
  void trim(rtile::VisibleOp op, int64_t multiple, Panel &panel);
  Value emitMask(rtile::VisibleOp op, Panel &panel, Column &column);
  void prepareOrdinalMask(rtile::VisibleOp op, Panel &panel);
  void preparePositionMask(rtile::VisibleOp op, Panel &panel);
  void prepareGrid(rtile::VisibleOp op, Panel &panel);
  void prepareBlocks(rtile::VisibleOp op, Panel &panel);
  /// `mask`, and what the grid or the blocks say of the keys at `keyRow`.
  Value emitGrid(rtile::VisibleOp op, Panel &panel, Value keyRow, Value mask);
  Value emitBlocks(rtile::VisibleOp op, Panel &panel, Value keyRow, Value mask);
  Value getPosition(const View &view, Value row, Value otherwise);
  Value getOrdinal(const View &view, Value row);
  /// Of the queries of a panel.
  Value getFirstRow(rtile::VisibleOp op, const Panel &panel);
  Value getPanelRow(rtile::VisibleOp op, const Panel &panel, int64_t lane);
  mlir::SmallVector<Value> getCell(const View &view, Value row,
                                   llvm::ArrayRef<int64_t> grid);
  Value getBlock(const View &view, Value row, int64_t size);

  //===--------------------------------------------------------------------===//
  // Operations on whole tiles (EmitColumns.cpp)
  //===--------------------------------------------------------------------===//

  /// rtile.fold, rtile.slice or rtile.join.
  void emitColumns(mlir::Operation *op);
  void emitAny(rtile::AnyOp op);

  //===--------------------------------------------------------------------===//
  // Places
  //===--------------------------------------------------------------------===//

  static llvm::ArrayRef<int64_t> getSlots(mlir::Operation *op);
  /// Offset of a tile's place, in panels, or -1.
  static int64_t getSlot(Value tile);
  Value getPlace(int64_t slot) { return b.at(scratch, slot); }
  /// Address of a panel of a tile (of its rows, for a tile of one axis).
  Value getPanelAddress(int64_t slot, mlir::RankedTensorType tile, bool local,
                        const Panel &panel);
  Value getPanelAddress(Value tile, const Panel &panel);
  int64_t getVectorBytes(const Panel &panel) const { return 4 * panel.rows; }

  Geometry geometry;
  CodeBuilder &b;
  Value scratch;
  llvm::DenseMap<Value, Value> scalars;
  llvm::DenseMap<Value, Buffer> buffers;
  llvm::DenseMap<Value, View> views;
  llvm::DenseMap<mlir::Operation *, StoredRows> storedRows;
  llvm::SmallVector<TrimmedRows, 1> trimmedRows;
};

/// Asks for `bytes` from `pointer` on to come to the second cache. Nothing has
/// to be there.
void prefetch(CodeBuilder &b, mlir::Value pointer, int64_t bytes);

/// Around a kernel with products by AMX: tile registers of full size, which
/// nobody else has set up, and afterwards none, so that nobody has to save
/// them.
void setUpTileRegisters(CodeBuilder &b);
void releaseTileRegisters(CodeBuilder &b);

} // namespace cpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETOCPU_EMITTER_H
