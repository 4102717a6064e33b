//===- UnionCut.h - Kernels that a union is cut into ------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Causal tiles of a union compute the more for nothing the fewer of them an
// atom has: with one, half of the scores of the queries' own segment. Atoms
// have few rows where one branch has a great rate, and just that branch has few
// rows. So a kernel may leave the branches of great rates out and have larger
// atoms. Its rows that are in one of these are not what they have to be, and
// the next kernel, which knows more branches, computes them once more.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COST_UNIONCUT_H
#define RINGLET_LIB_COST_UNIONCUT_H

#include "lib/Layout/UnionShape.h"

namespace ringlet::cost {

/// A kernel of a union: it has the first `branches` branches, from the shortest
/// segment to the longest, and computes the rows that branch number `rowsOf`
/// has, or all if that is 0.
struct UnionPart {
  size_t branches, rowsOf = 0;

  bool operator==(const UnionPart &other) const {
    return branches == other.branches && rowsOf == other.rowsOf;
  }
};

/// The shape of a part of a union of nested branches.
layout::UnionShape getShape(const layout::UnionShape &whole,
                            const UnionPart &part);

/// The residues of a part's shape whose rows it computes: the first so many in
/// the order of UnionWalk::getResidue.
int64_t countResidues(const layout::UnionShape &whole, const UnionPart &part);

/// Steps of key tiles that a part takes for a base segment of a head, on
/// average over those of its longest segment, and what a tile of queries costs
/// beside them.
double countSteps(const layout::UnionShape &whole, const UnionPart &part,
                  int64_t queryRows, int64_t keyRows);

/// The kernels, in their order, that take the fewest steps under causality, of
/// tiles with so many rows. One where branches do not nest or base segments are
/// no multiples of the greatest rate, or where there are too many tiles to
/// count.
std::vector<UnionPart> cutCausalUnion(const layout::UnionShape &shape,
                                      int64_t queryRows, int64_t keyRows);

} // namespace ringlet::cost

#endif // RINGLET_LIB_COST_UNIONCUT_H
