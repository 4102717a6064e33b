//===- Edges.h - First and last pieces of rows ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The softmax of a row goes on from piece to piece in a state. The first piece
// of a row finds none, and the last one leaves none to anybody: neither has to
// pass through memory.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_ABI_RING_EDGES_H
#define RINGLET_ABI_RING_EDGES_H

#include "ringlet/abi/ring/Pieces.h"
#include "ringlet/abi/ring/Schedule.h"

#include <vector>

namespace ringlet::ring {

/// Whether two pieces may have a row and head in common. `group` query heads
/// share a key head.
bool mayMeet(const Piece &one, const Piece &other, int64_t group);

/// Of all rows and heads of a piece: whether no piece before has any of them,
/// and no piece behind.
struct Edge {
  bool isFirst = false, isLast = false;

  /// As kernels are told.
  int64_t number() const { return int64_t(isFirst) | int64_t(isLast) << 1; }
};

/// Those of the pieces of a rank's steps. Of more than `mostPieces`, which
/// would take long to compare, none is known to be first or last.
std::vector<std::vector<Edge>>
edgesOf(const std::vector<std::vector<Piece>> &steps, int64_t group);
inline constexpr size_t mostPieces = 1024;

/// Moves pieces that end their rows behind those of all steps: own keys that a
/// branch shows to every row, where it shows none of other ranks. Else few rows
/// would end where the last step has some residues of them. They stay where too
/// little would be left to compute in step 0, while the first keys travel.
void putLast(const Attention &attention,
             std::vector<std::vector<Piece>> &steps);

/// What a rank computes: of each step, the pieces, and their edges.
struct RankPieces {
  RankPieces() = default;
  /// `layouts`, of each step: how keys of other ranks lie. That of step 0, of
  /// own ones, is not looked at; where another one is empty, nothing is seen.
  /// `mayEnd`: last pieces may end the softmax of their rows.
  RankPieces(const Schedule &schedule, int64_t rank,
             const std::vector<std::vector<Part>> &layouts, bool mayEnd);

  std::vector<std::vector<Piece>> pieces;
  std::vector<std::vector<Edge>> edges;
};

} // namespace ringlet::ring

#endif // RINGLET_ABI_RING_EDGES_H
