//===- TileKernel.h - Kernels over tiles of queries -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_TILEKERNEL_H
#define RINGLET_PASSES_ATTENTIONTOTILE_TILEKERNEL_H

#include "passes/AttentionToTile/SoftmaxBody.h"

namespace ringlet {

/// What a kernel is made of that streams tiles of queries over keys. The rows
/// of a tile lie in one segment and residue of given sizes.
class TileKernel {
protected:
  /// `branch` is the one whose keys a single walk visits.
  TileKernel(HostPlan &plan, const llvm::Twine &name, Attention &attention,
             const SoftmaxEnds &ends, unsigned branch, const BranchSizes &sizes,
             attn::TilingAttr tiling);

  /// The rest of the parameters, and the axes, after the grid has counted.
  void declareGrid();
  /// What views say of rows of a side in a segment and residue.
  KernelBuilder::Rows getRows(Side side, mlir::Value segment,
                              mlir::Value ofResidue);
  /// The scale of the point's sequence and head of keys, in each row.
  mlir::Value loadScale(llvm::StringRef name, mlir::Value scales);
  /// Makes the views of a point's queries, those of `residue`, and of what
  /// belongs to them. `groupRows` are those of a group of tiles with marks, 0
  /// for none.
  void viewQueries();
  void viewResults(int64_t groupRows);
  struct KeyViews {
    mlir::Value key, value;
  };
  KeyViews viewKeys(KernelBuilder::Rows where);

  /// The first row of tile number `tile` in a view, which is not row 0 where
  /// the positions do not begin with the segment.
  mlir::Value getFirstRow(llvm::StringRef name, mlir::Value view,
                          mlir::Value tile);
  /// Says where sums of the tile that begins at `row` may add up, if they may.
  void declareTotals(mlir::Value row);
  /// The state of a tile of queries after the keys of one walk, whose values
  /// are those of `values`.
  SoftmaxBody::State visitKeys(const KeyTiles::Place &place,
                               mlir::Value values);
  /// What is known of the rows of a tile; null otherwise.
  struct TileRows {
    /// The view in which rows are marked that could not be computed.
    mlir::Value marks;
    /// Those that are computed; the others are as they should be.
    mlir::Value counted;
    /// Whether no row sees a key.
    mlir::Value isEmpty;
  };
  /// Writes what a tile of queries that begins at `row` ends in.
  void store(SoftmaxBody::State state, mlir::Value row, const TileRows &of);

  HostPlan &plan;
  Attention &attention;
  const SoftmaxEnds &ends;
  KernelBuilder k;
  mlir::Value query, key, value;
  SoftmaxRows rows;
  PointSequence sequence;
  BranchView view;
  AttentionGrid grid;
  KeyTiles keys;
  SoftmaxBody body;
  /// Parameters; null where there are none (S6).
  mlir::Value keyScales, valueScales;
  /// Which of the pieces of its rows this is; null without pieces.
  mlir::Value edge;
  /// That of the point's values, in each row.
  mlir::Value valueScale;
  int64_t queryRows, keyRows;
  /// After so many keys sums move into totals.
  int64_t mostKeysOfSum;
  /// Whether what others left joins after the keys: where sums would be too
  /// long with it, and where rows that a recipe cannot compute keep their
  /// state, with which these are computed again.
  bool joinsLate;
  /// Whose rows are in a tile.
  int64_t headsOfTile = 1;
  mlir::Value residue, queryView;
  /// Where queries, and what belongs to them, lie in memory.
  KernelBuilder::Rows queries;

private:
  /// Whether bit number `bit` of the edge is set, or is not.
  mlir::Value hasEdge(llvm::StringRef name, int64_t bit, bool isSet);
  mlir::Value makeView(llvm::StringRef name, mlir::Value buffer,
                       llvm::ArrayRef<mlir::Value> axes, int64_t count,
                       int64_t columns, const KernelBuilder::Rows &where);
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_TILEKERNEL_H
