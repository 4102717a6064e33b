//===- BranchSoftmax.h - Streaming softmax over one branch -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_BRANCHSOFTMAX_H
#define RINGLET_PASSES_ATTENTIONTOTILE_BRANCHSOFTMAX_H

#include "passes/AttentionToTile/KeyTiles.h"

namespace ringlet {

/// Views of the rows of one segment and residue; null where a kernel has none.
struct BranchViews {
  mlir::Value query, key, value, target, partial, maximum, sum, lse, redo,
      sinks;
};

/// Emits what one tile of query rows is computed by: it visits the key tiles
/// that it sees, with a running maximum m, sum l and accumulator acc (Milakov
/// and Gimelshein, arXiv:1805.02867; Rabe and Staats, arXiv:2112.05682).
/// Exponentials are to the base 2, with log2(e) folded into the scale.
class BranchSoftmax {
public:
  BranchSoftmax(KernelBuilder &k, const BranchStep &step,
                attn::TilingAttr tiling, KeyTiles &keyTiles);

  /// With `marksRows`, also says of each row whether weights kept within f32.
  void emit(const BranchViews &views, const KeyTiles::Place &place,
            bool marksRows);

private:
  struct State {
    mlir::Value maximum, sum, accumulator;
  };
  State getInitialState(const BranchViews &views, mlir::Value row);
  State emitLoop(const BranchViews &views, const KeyTiles::Place &place,
                 mlir::Value queryTile, const State &initial);
  llvm::SmallVector<mlir::Value>
  addKeys(const BranchViews &views, const KeyTiles::Place &place,
          mlir::Value queryTile, mlir::Value keyRow, mlir::ValueRange state);
  void storeMarks(const State &state, mlir::Value view, mlir::Value row);
  /// Output and lse of the tile's rows.
  void storeResult(const BranchViews &views, State state, mlir::Value row);
  mlir::Value getScores(mlir::Value product);
  bool goesOn(const BranchViews &views) const {
    return views.sum && !step.last;
  }

  mlir::Value exp2(llvm::StringRef name, mlir::Value tile);
  mlir::Value alongColumns(llvm::StringRef name, mlir::Value rows,
                           int64_t columns);

  KernelBuilder &k;
  const BranchStep &step;
  attn::AttentionOp op;
  KeyTiles &keyTiles;
  int64_t keyRows;
  mlir::RankedTensorType rowType, scoreType, wideType;
  /// Of all steps of the loop; `cap` is null without a softcap.
  mlir::Value scale, cap, hidden;
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_BRANCHSOFTMAX_H
