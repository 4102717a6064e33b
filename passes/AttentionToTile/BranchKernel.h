//===- BranchKernel.h - The kernels of one branch ---------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What AttentionToTile emits for each branch: parameters, grid and views of a
// kernel that computes one tile of query rows of one segment and residue at
// each point. How it does is in BranchSoftmax.cpp, and what a second kernel
// does with rows that the first one has marked in BranchRedo.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_BRANCHKERNEL_H
#define RINGLET_PASSES_ATTENTIONTOTILE_BRANCHKERNEL_H

#include "passes/AttentionToTile/BranchSoftmax.h"
#include "passes/AttentionToTile/Kernels.h"
#include "passes/AttentionToTile/PackedSequences.h"

#include <algorithm>
#include <optional>

namespace ringlet {

/// Of the kernel that redoes marked rows: rows whose marks one point of its
/// grid looks at, and points below which each looks at fewer.
constexpr int64_t kMostRowsOfPoint = 1024, kFewestPoints = 256;

/// What a kernel has to do with the marks of rows to compute again.
enum class Marks { None, Writes, Reads };

/// One kernel of a branch, while it is emitted.
class BranchKernel {
public:
  BranchKernel(HostPlan &plan, const BranchStep &step, const llvm::Twine &name,
               attn::TilingAttr tiling, Marks marks)
      : plan(plan), step(step), op(step.op), k(plan, name),
        branch(llvm::cast<attn::BranchAttr>(op.getBranches()[step.branch])),
        keyTiles(plan, k, step, tiling), softmax(k, step, tiling, keyTiles),
        marks(marks), queryRows(tiling.getQuery()), keyRows(tiling.getKey()) {
    if (tiling.getRecipe())
      k.setRecipe(toTileRecipe(*tiling.getRecipe()));
  }

  void emit();

private:
  static rtile::Recipe toTileRecipe(attn::Recipe recipe);
  void onlyIf(mlir::Value condition, llvm::function_ref<void()> body);
  void declare();
  mlir::Value placePacked();
  void readSequence(mlir::Value first);
  void placeOnCurve();
  mlir::Value getOrigin(mlir::Value firstRank, const SequencePart &part);
  /// Whether a block mask may end before positions that the device knows.
  bool blocksMayEnd() {
    return step.blockMask && (hasPositionsOfSequence(op) || packed ||
                              step.queryOrder.ranksOfSequence != 0);
  }
  mlir::Value makeResidue();
  mlir::Value makeResidue(int64_t c);
  void makeViews();
  llvm::SmallVector<mlir::Value> getAxes(mlir::Value ofHead);
  llvm::SmallVector<mlir::Value> getRowAxes();
  llvm::SmallVector<mlir::Value> getLseAxes();
  mlir::Value firstRow(llvm::StringRef name, mlir::Value view);
  void streamKeys();
  void fillOthers();
  mlir::Value mayBeUnfilled(mlir::Value marked);
  mlir::Value anyMarked(mlir::Value view);
  void redoTiles();
  void forEachTile(mlir::Value first, mlir::Value last,
                   llvm::function_ref<void(mlir::Value)> body);
  mlir::Value getSize(mlir::Value parameter, int64_t known) {
    return parameter ? parameter : k.constant(known);
  }
  mlir::Value getW() { return getSize(w, step.sizes.getW()); }
  mlir::Value getR() { return getSize(r, step.sizes.getR()); }
  rtile::ViewType viewType(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                           const KernelBuilder::Rows &rows) {
    return rtile::ViewType::get(shape, element, step.sizes.getW(),
                                step.sizes.getR(),
                                /*indexed=*/bool(rows.table));
  }
  void addTable(llvm::StringRef name, mlir::Value table);
  mlir::Value getTable(mlir::Value table);
  /// Tiles whose marks one point of the second kernel looks at, at most.
  int64_t mostTilesOfPoint() {
    return std::max<int64_t>(1, kMostRowsOfPoint / queryRows);
  }
  HostPlan &plan;
  const BranchStep &step;
  attn::AttentionOp op;
  KernelBuilder k;
  attn::BranchAttr branch;
  KeyTiles keyTiles;
  BranchSoftmax softmax;
  Marks marks;
  int64_t queryRows, keyRows;

  // Parameters and the point of the grid; null where there is none.
  mlir::Value Q, K, V, target, partial, maxima, sums, lse, redo, sinks,
      firstRank;
  std::optional<SequenceReader> sequences;
  std::optional<PackedSequences> packed;
  /// The number of this sequence.
  mlir::Value sequence;
  SequencePart queryPart, keyPart;
  /// Of the branch, where only the call knows them.
  mlir::Value w, r;
  /// Tables that are parameters of the kernel, by the host's.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> tables;
  mlir::Value tile, segment, residue, head, keyHead, batch;
  /// The segment, counted from the first one of the grid.
  mlir::Value gridSegment;
  /// Tiles that one point of the second kernel's grid is for.
  mlir::Value tilesOfPoint;
  BranchViews views;
  mlir::Value redoGroupView;
  /// Where queries, and what belongs to them, lie in memory.
  KernelBuilder::Rows queries;
  /// The first row of the tile.
  mlir::Value row;
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_BRANCHKERNEL_H
