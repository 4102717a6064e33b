//===- Pieces.h - What a rank computes with a chunk of keys ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel takes rows of queries and of keys that lie at equal distances in
// memory, and masks by how far they are from each other. What a rank computes
// with the keys of one owner is cut into such pieces.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_ABI_RING_PIECES_H
#define RINGLET_ABI_RING_PIECES_H

#include "ringlet/abi/ring/Attention.h"

namespace ringlet::ring {

/// `count` rows or heads of memory, from `first` on, `step` apart.
struct Lane {
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
};

/// Queries and keys of one branch that are computed in one call.
struct Piece {
  int64_t branch = 0;
  /// All heads, and all residues of all segments; the first key has the first
  /// position of one. Else the keys of one residue of one segment, which all
  /// queries see but for causality and window, and of some heads.
  bool whole = false;
  /// Whether the keys are the rank's own.
  bool ofOwn = false;
  /// Rows of the rank's own queries.
  Lane queries;
  /// Rows of keys: of the rank's own ones their numbers, of a chunk those of
  /// pairs, for the first head.
  Lane keys;
  /// Query heads, or where `grouped` is set key heads with all their query
  /// heads; and of the keys the first one's number, and what is between two: a
  /// number of heads of own keys, of pairs of a chunk, which lie part by part,
  /// row by row and, within a row, head by head.
  Lane heads;
  bool grouped = false;
  int64_t keyHead = 0;
  int64_t keyHeadStep = 0;
  /// The position of the first query if the first key has position 0. Rows of a
  /// piece that is not whole are counted: those between do not exist.
  int64_t offset = 0;
};

/// How the kernels of a branch take a piece that is not whole: by key heads
/// with all their query heads, which must have one residue, or by query heads.
bool takesGroups(const Attention &attention, const Branch &branch);

/// All that the queries of `rank` see of the keys of `owner`, each triple of a
/// branch, a query of a head and a key in one piece. Own keys lie as the shard
/// has them (`layout` is null), others as a chunk's layout says.
std::vector<Piece> piecesOf(const ShardedAttention &sharded, int64_t rank,
                            int64_t owner, const std::vector<Part> *layout);

} // namespace ringlet::ring

#endif // RINGLET_ABI_RING_PIECES_H
