//===- SoftmaxRows.h - Where a softmax begins and ends ----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_SOFTMAXROWS_H
#define RINGLET_PASSES_ATTENTIONTOTILE_SOFTMAXROWS_H

#include "passes/AttentionToTile/AttentionGrid.h"
#include "passes/AttentionToTile/Kernels.h"

namespace ringlet {

/// Views of a tile's rows.
struct StateViews {
  mlir::Value accumulator, maximum, sum;
};
/// All but `output` are null where a kernel has none.
struct ResultViews {
  mlir::Value output, addend, lse, sinks;
};

/// The tensors that the softmax of a kernel's rows begins from and ends in, as
/// parameters and views.
class SoftmaxRows {
public:
  /// Adds the parameters.
  SoftmaxRows(KernelBuilder &k, Attention &attention, const SoftmaxEnds &ends,
              unsigned branch);

  /// Makes views of tiles of `tileRows` rows at a point of `grid`; `rows` says
  /// where they lie. `groupRows` are those of a group of tiles, 0 for none.
  /// `inParts` asks for views of some columns of accumulators that others left.
  void makeViews(const AttentionGrid &grid, BranchView &view,
                 const KernelBuilder::Rows &rows, int64_t tileRows,
                 int64_t groupRows, bool inParts);

  /// A view of the marks of `count` rows that follow each other in a segment of
  /// `w`, of all residues; `where` says where it lies.
  mlir::Value viewMarks(const AttentionGrid &grid,
                        const KernelBuilder::Rows &where, int64_t w,
                        int64_t count);

  /// What the softmax goes on from, and what it ends in: one of the two.
  std::optional<StateViews> before, state;
  std::optional<ResultViews> result;
  /// Where parts add up.
  std::optional<StateViews> totals;
  /// What the last piece of rows writes, where there are pieces.
  std::optional<ResultViews> edge;
  /// Of a tile and of a group of tiles; null without marks.
  mlir::Value marks, groupMarks;

  /// Views of other rows. Those that no kernel has are null.
  mlir::Value viewOutput(llvm::StringRef name, const KernelBuilder::Rows &rows);
  mlir::Value viewSinks(llvm::StringRef name, const KernelBuilder::Rows &rows);
  mlir::Value viewLse(llvm::StringRef name, const KernelBuilder::Rows &rows);

private:
  mlir::Value findBranch();
  mlir::Value viewWide(llvm::StringRef name, mlir::Value buffer,
                       const KernelBuilder::Rows &rows, int64_t columns);
  mlir::Value viewOfRows(llvm::StringRef name, mlir::Value buffer,
                         llvm::ArrayRef<mlir::Value> axes,
                         const KernelBuilder::Rows &rows, int64_t count);

  KernelBuilder &k;
  Attention &attention;
  const SoftmaxEnds &ends;
  /// Which has the lse under mix = sum.
  unsigned branch;
  /// Parameters; null where there is none.
  mlir::Value target, partial, maxima, sums, lse, redo, sinks;
  /// Where kernels are told which branch this is, that.
  mlir::Value number;
  StateViews ofTotals;
  ResultViews ofEdge;
  /// Set by makeViews.
  const AttentionGrid *grid = nullptr;
  BranchView *view = nullptr;
  int64_t tileRows = 0;
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_SOFTMAXROWS_H
