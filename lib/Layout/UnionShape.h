//===- UnionShape.h - Segments and residues of several branches -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_LAYOUT_UNIONSHAPE_H
#define RINGLET_LIB_LAYOUT_UNIONSHAPE_H

#include "lib/Layout/Dilation.h"

#include <algorithm>
#include <numeric>
#include <tuple>
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
///
/// Branches *nest* if each w and each r, from the shortest segment to the
/// longest, is a multiple of the one before, and a query of a branch is one of
/// all branches before it.
struct UnionShape {
  /// `residuesNest` says of the residues of heads (B2) that one modulo an r is
  /// the same modulo each r that divides it, and that every head has every
  /// branch.
  explicit UnionShape(std::vector<UnionBranch> of, bool residuesNest = false)
      : branches(std::move(of)) {
    for (const UnionBranch &branch : branches) {
      width = std::gcd(width, branch.width);
      rate = std::lcm(rate, branch.rate);
    }
    isNested = residuesNest && branches.size() <= mostNested && areMultiples();
  }

  /// Numbers of branches from the shortest segment to the longest.
  std::vector<size_t> getOrder() const {
    std::vector<size_t> order(branches.size());
    std::iota(order.begin(), order.end(), size_t(0));
    auto key = [&](size_t i) {
      const UnionBranch &branch = branches[i];
      return std::tuple(branch.width == unboundedSegment, branch.width,
                        branch.rate, i);
    };
    std::sort(order.begin(), order.end(),
              [&](size_t x, size_t y) { return key(x) < key(y); });
    return order;
  }

  std::vector<UnionBranch> branches;
  int64_t width = unboundedSegment;
  int64_t rate = 1;
  /// Whether keys of several branches are known by division, so that each one
  /// is visited once.
  bool isNested = false;

private:
  /// A list of keys has a part for each pair of nested branches.
  static constexpr size_t mostNested = 6;

  bool areMultiples() const {
    std::vector<size_t> order = getOrder();
    for (size_t i = 1; i < order.size(); ++i) {
      const UnionBranch &before = branches[order[i - 1]];
      const UnionBranch &branch = branches[order[i]];
      bool fits = branch.width == unboundedSegment ||
                  (before.width != unboundedSegment &&
                   branch.width % before.width == 0);
      // Residues count from where a branch's own segment begins.
      bool isAligned = before.width % before.rate == 0;
      if (!fits || !isAligned || branch.rate % before.rate != 0)
        return false;
    }
    return true;
  }
};

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_UNIONSHAPE_H
