//===- UnionShape.h - Segments and residues of several branches -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_LAYOUT_UNIONSHAPE_H
#define RINGLET_LIB_LAYOUT_UNIONSHAPE_H

#include "lib/Layout/Dilation.h"

#include <numeric>
#include <utility>
#include <vector>

namespace ringlet::layout {

/// w and r of a branch (B1); w may be `unboundedSegment`.
struct UnionBranch {
  int64_t width = unboundedSegment;
  int64_t rate = 1;
};

/// How one kernel cuts a sequence to compute several branches. *Base segments*
/// have the common divisor of all w as their length, `unboundedSegment` if no
/// branch has a w. An *atom* is what lies in one of them at one residue modulo
/// the common multiple of all r: the queries and the keys of every branch are
/// whole atoms.
struct UnionShape {
  explicit UnionShape(std::vector<UnionBranch> of) : branches(std::move(of)) {
    for (const UnionBranch &branch : branches) {
      width = std::gcd(width, branch.width);
      rate = std::lcm(rate, branch.rate);
    }
  }

  std::vector<UnionBranch> branches;
  int64_t width = unboundedSegment;
  int64_t rate = 1;
};

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_UNIONSHAPE_H
