//===- TileStream.h - Tiles of queries, once or once more -------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_TILESTREAM_H
#define RINGLET_PASSES_ATTENTIONTOTILE_TILESTREAM_H

#include "passes/AttentionToTile/TileKernel.h"

namespace ringlet {

/// A kernel that computes one tile of queries at each point, or the tiles of a
/// group again that have marked rows: one with a recipe marks rows that it
/// could not compute.
class TileStream : protected TileKernel {
public:
  virtual ~TileStream() = default;

  /// Computes each tile once.
  void emitOnce();
  /// Computes the tiles with marked rows.
  void emitRedo();

protected:
  using TileKernel::TileKernel;

  /// The rest of the parameters, axes and views. `groupRows` are those of a
  /// group of tiles with marks, 0 for none.
  virtual void place(int64_t groupRows) = 0;
  /// Residues whose tiles a point may have, all of those of a segment: few have
  /// so few rows that their marks are looked at together. 0 if it has one.
  virtual int64_t getResiduesOfPoint() { return 0; }
  /// The views of a point's tiles in the residue at a place, of such points.
  virtual void placeResidue(mlir::Value place) {}
  /// Computes a tile of queries that begins at `row`.
  virtual void streamKeys(mlir::Value tile, mlir::Value row,
                          const TileRows &of) = 0;
  /// Whether rows of other residues are to be filled, and those beside a tile.
  virtual bool fillsOthers() const { return false; }
  virtual void fillOthers(mlir::Value tile) {}

private:
  void emitRedoOfResidues(int64_t residues);
  void redoTiles(mlir::Value first, mlir::Value end);
  void launchRedo();
  void onlyIf(mlir::Value condition, llvm::function_ref<void()> body);
  /// Calls `body` with the number and first row of each tile of a group.
  void
  forEachTile(mlir::Value first, mlir::Value end,
              llvm::function_ref<void(mlir::Value tile, mlir::Value row)> body);
  void forEach(llvm::StringRef name, mlir::Value first, mlir::Value end,
               llvm::function_ref<void(mlir::Value number)> body);
  mlir::Value anyMarked(mlir::Value view, mlir::Value row);
  /// Of a tile, the rows that are marked, or all.
  mlir::Value getCounted(mlir::Value row);
  /// As `marked`, or whether the tile lies behind the rows of the view.
  mlir::Value mayBeUnfilled(mlir::Value marked, mlir::Value row);

  /// Whether all rows count as marked, whatever the marks say: then the kernel
  /// does what the marking one does, and leaves no row marked.
  mlir::Value allCount();
  mlir::Value getMarked(mlir::Value view, mlir::Value row);
  mlir::Value someMarked(mlir::Value view, mlir::Value row);
  mlir::Value anyOfGroup(mlir::Value marks,
                         llvm::function_ref<mlir::Value()> getRow);
  mlir::Value all;
  unsigned allArgument = 0;
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_TILESTREAM_H
