//===- AttentionGrid.h - A grid over tiles of rows --------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_ATTENTIONGRID_H
#define RINGLET_PASSES_ATTENTIONTOTILE_ATTENTIONGRID_H

#include "passes/AttentionToTile/BranchView.h"
#include "passes/AttentionToTile/PackedSequences.h"
#include "passes/AttentionToTile/PointSequence.h"

#include <optional>

namespace ringlet {

/// The grid of a kernel that computes a tile of query rows of one segment and
/// residue, or several, at each point: tiles of a segment, segments, heads,
/// sequences. The first axis is shared by packed sequences, by residues where
/// heads do not say them, and by parts of the keys.
class AttentionGrid {
public:
  /// Rows are those of `view`; a tile has `tileRows`.
  AttentionGrid(HostPlan &plan, KernelBuilder &k, Attention &attention,
                BranchView &view, PointSequence &sequence, int64_t tileRows);

  /// Counts the tiles of the heads `firstHead` to `endHead`, in the plan.
  void count(int64_t firstHead, int64_t endHead);
  /// Gives the grid points for so many residues.
  void addResidues(int64_t count) { residues = count; }
  /// Lets tiles hold rows of so many heads, before they are counted.
  void setHeadsOfTile(int64_t count) { headsOfTile = count; }
  /// Gives each tile `count` points, each for a part of the keys. The state of
  /// the first one is number `first` of all that are merged.
  void addParts(mlir::Value first, mlir::Value count);
  /// Gives each point up to `most` tiles, if enough points are left for a
  /// device. Returns how many, in the kernel.
  mlir::Value shareTiles(int64_t most);
  /// The same for residues, of which a point then has the first one.
  mlir::Value shareResidues();
  /// Adds what finds a packed sequence.
  void declareSequences();

  /// Those of a segment, in the plan. If sequences are packed, of all.
  mlir::Value getTiles() const { return tiles; }
  mlir::Value getSegments() const { return segments; }
  /// The number of the first one.
  mlir::Value getFirstSegment() const { return firstSegment; }

  /// Adds the axes, and finds out where a point stands.
  void addAxes();

  /// A point. Its segment is null where there is one, the residue where points
  /// do not say it, the batch where sequences are packed.
  struct Point {
    mlir::Value tile, segment, residue, head, keyHead, batch;
    /// The segment, counted from the first one of the grid.
    mlir::Value gridSegment;
    /// The part of the keys, and the number of its state; null without parts.
    mlir::Value part, state;
  };
  const Point &getPoint() const { return point; }
  /// How many parts a tile's keys have, in the kernel; null without parts.
  mlir::Value getParts() const { return parts; }

  /// The axes of a view of rows of `ofHead`, in tensors that have a head behind
  /// the rows, and of what belongs to rows.
  llvm::SmallVector<mlir::Value> getAxes(mlir::Value ofHead) const;
  llvm::SmallVector<mlir::Value> getRowAxes() const;

private:
  void countSegments();
  void placeSegment();
  /// So many of `all` for each plane of the grid that enough points are left.
  mlir::Value share(mlir::Value all, int64_t most);

  HostPlan &plan;
  KernelBuilder &k;
  Attention &attention;
  BranchView &view;
  PointSequence &sequence;
  int64_t tileRows, firstHead = 0, headsOfTile = 1;
  /// In the kernel, where branches share it that have other heads; else null.
  mlir::Value firstHeadOperand;
  /// 0 where points say none.
  int64_t residues = 0;
  /// Of a point, in the plan and in the kernel; null for one.
  mlir::Value residuesTogether, residuesOfPoint;
  /// In the plan and, of parts, in the kernel.
  mlir::Value partCount, firstState, parts;
  /// In the plan.
  mlir::Value tiles, segments, firstSegment, heads, together;
  std::optional<PackedSequences> packed;
  Point point;
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_ATTENTIONGRID_H
