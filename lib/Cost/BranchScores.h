//===- BranchScores.h - Scores that several branches ask for ----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COST_BRANCHSCORES_H
#define RINGLET_LIB_COST_BRANCHSCORES_H

#include "lib/Layout/UnionShape.h"

#include <optional>
#include <vector>

namespace ringlet::cost {

/// Scores a row, on average over the rows of a segment that holds those of all
/// branches, for heads of every residue.
struct BranchScores {
  /// Of each branch, for the heads that have it.
  std::vector<double> ofBranches;
  /// Those that a union computes: of nested branches each once, of others for
  /// the heads that have them.
  double ofUnion = 0;
  /// The part of them that lies in the base segment of the query.
  double ownShare = 0;
  /// Places of the list of atoms that a tile of queries goes through.
  double places = 0;
};

/// Cycles in which a processor finds out about a place.
constexpr double cyclesOfPlace = 150;

/// `shares` are the parts of all heads that have each branch, none where every
/// head has every branch. Nothing if a branch has no segments, or if there are
/// too many atoms to count.
std::optional<BranchScores> countScores(const layout::UnionShape &shape,
                                        bool causal,
                                        const std::vector<double> &shares = {});

} // namespace ringlet::cost

#endif // RINGLET_LIB_COST_BRANCHSCORES_H
