//===- PackedSequences.h - Grids over packed sequences -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_PACKEDSEQUENCES_H
#define RINGLET_PASSES_ATTENTIONTOTILE_PACKEDSEQUENCES_H

#include "passes/AttentionToTile/HostPlan.h"
#include "passes/AttentionToTile/KernelBuilder.h"
#include "passes/AttentionToTile/Sequences.h"

namespace ringlet {

/// An axis of a grid over the tiles of sequences that lie one behind the other
/// (S2). The host knows how many rows and sequences there are, but not where
/// each begins. A span of rows, that of a segment or else of a tile, has
/// `tiles` tiles; the points of sequence b begin at the number
///
///     starts[b] * tiles / span + b * spare
///
/// which leaves each at least length * tiles / span + spare of them, rounded
/// down. The spare ones are for tiles that are not full: the last one and,
/// where a sequence begins within a segment, the last one of that. Where a
/// sequence may have more ordinals than rows, starts[b] grows by b times as
/// many. A kernel finds its sequence by bisection. Points that are left over
/// have no rows.
class PackedSequences {
public:
  /// Adds parameters to the kernel, which has those of `reader`. There are
  /// `count` sequences with `rows` in all, and `ordinalsOfEach` in each
  /// sequence beside its rows. `w` is null for one segment. A tile covers
  /// `coveredRows`, those of other residues among them.
  PackedSequences(HostPlan &plan, KernelBuilder &k, SequenceReader &reader,
                  mlir::Value count, mlir::Value rows, int64_t ordinalsOfEach,
                  mlir::Value w, mlir::Value coveredRows,
                  mlir::Value tilesOfSegment);

  /// The extent of the axis.
  mlir::Value getExtent() const { return extent; }

  /// A sequence, its first row, and which of its tiles.
  struct Place {
    mlir::Value sequence, first, tile;
  };
  /// `rows` are those of the axis, in the kernel.
  Place find(mlir::Value rows, mlir::Value point);

  /// A segment, and which of its tiles.
  struct Segment {
    mlir::Value number, tile;
  };
  /// That of a tile of a sequence of `length` rows, the first of which has the
  /// ordinal `firstOrdinal`, or 0 if that is null.
  Segment placeInSegment(mlir::Value tile, mlir::Value firstOrdinal,
                         mlir::Value length, mlir::Value w);

private:
  mlir::Value addOrdinals(mlir::Value start, mlir::Value sequence);

  KernelBuilder &k;
  SequenceReader &sequences;
  int64_t ordinalsOfEach, spare;
  mlir::Value extent;
  /// In the kernel.
  mlir::Value span, tiles, halvings, coveredRows;
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_PACKEDSEQUENCES_H
