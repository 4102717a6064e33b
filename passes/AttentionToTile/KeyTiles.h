//===- KeyTiles.h - Which keys a kernel streams over -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_KEYTILES_H
#define RINGLET_PASSES_ATTENTIONTOTILE_KEYTILES_H

#include "lib/Layout/TileIndex.h"
#include "passes/AttentionToTile/BranchView.h"

namespace ringlet {

/// The key tiles that a tile of queries visits, and what is hidden in each.
/// Tiles follow from a division (`rtile.run`) or, where a pattern order (O2) or
/// a grid window (B5) scatters keys over the segment, from an index
/// (`rtile.list`). Of a block mask (B6) nothing is known before the kernel
/// runs: it looks at the blocks of each tile.
class KeyTiles {
public:
  /// Those of branch number `branch`, whose rows are those of `view`.
  KeyTiles(HostPlan &plan, KernelBuilder &k, Attention &attention,
           unsigned branch, const BranchView &view, attn::TilingAttr tiling);

  /// Adds what the kernel needs to be told. Its grid has `tiles` tiles of each
  /// of `segments` segments, the first of which has the number `firstSegment`.
  void declare(mlir::Value tiles, mlir::Value segments,
               mlir::Value firstSegment);

  /// A tile has rows of so many heads.
  void setHeadsOfTile(int64_t count) { headsOfTile = count; }
  /// Visits a part of the keys only, by its number and that of all.
  void takePart(mlir::Value number, mlir::Value count) {
    part = {number, count};
  }
  /// A tile of queries: views, the first row, and where it stands in the grid.
  /// Null where there is one segment or residue.
  struct Place {
    mlir::Value query, row, key;
    mlir::Value tile, segment, residue;
  };

  /// A loop over the key tiles.
  struct Range {
    mlir::Value begin, end, step;
  };
  Range getRange(const Place &place);
  /// The first row of the key tile that the loop is at.
  mlir::Value getRow(mlir::Value loopVariable);

  /// Those of a part of `count` numbers whose ordinals a block mask has blocks
  /// for. Number n of the part has the ordinal n + `origin`, n if that is null.
  SequencePart clampToMask(SequencePart part, mlir::Value origin,
                           mlir::Value count, Side side);
  /// Whether a mask may end before positions that the device knows.
  bool blocksMayEnd() const {
    return attention.blockMask &&
           (hasPositionsOfSequence(op) || attention.sequences.arePacked() ||
            attention.rows.getOrdinalsOfSequence(Side::Query));
  }

  /// Whether a key tile may hold a key that some query sees; null if each one
  /// of the range may.
  mlir::Value mayBeSeen(const Place &place, mlir::Value keyRow);
  /// Which pairs of query and key see each other.
  mlir::Value getMask(const Place &place, mlir::Value keyRow);

private:
  mlir::DenseI64ArrayAttr getWindow();
  /// Says as a remark where key tiles come from, if not from a division alone.
  void report();
  /// Whether key tiles come from an index: where no division finds them. Where
  /// only the call knows w or r, masks alone find the keys.
  /// Where only the device knows positions, the host can list nothing.
  bool usesIndex() const {
    return (grid || view.getOrder(Side::Key).positions) &&
           view.getSizes().areKnown() && !hasPositionsOfSequence(op) &&
           !attention.sequences.haveParts() &&
           !attention.rows.getOrdinalsOfSequence(Side::Key);
  }
  /// The window, narrowed by that on the grid.
  mlir::DenseI64ArrayAttr getReach();
  /// The place of a residue among those that have lists.
  mlir::Value getPlace(mlir::Value residue);
  /// Whether each tile lies in one block of the mask.
  bool fillsBlocks();

  HostPlan &plan;
  KernelBuilder &k;
  Attention &attention;
  unsigned branch;
  const BranchView &view;
  attn::AttentionOp op;
  int64_t queryRows, keyRows, headsOfTile = 1;
  llvm::SmallVector<mlir::Value, 2> part;
  mlir::DenseI64ArrayAttr window, grid, reach;
  /// That have lists in the index: those of the branch's heads.
  layout::ResidueRange residues;
  /// Parameters of the kernel; null where there is none.
  mlir::Value index, blocks, tiles, segments;
};

/// Requires that masks say something of each position (B5, B6): that all lie on
/// the grid of the grid window, and their ordinals in blocks of `mask`.
void requireMasks(HostPlan &plan, attn::AttentionOp op, mlir::Value queryLength,
                  mlir::Value queryOffset, mlir::Value keyLength,
                  const HostTensor &mask);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_KEYTILES_H
