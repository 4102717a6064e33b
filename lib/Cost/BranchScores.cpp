//===- BranchScores.cpp - Scores that several branches ask for -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/BranchScores.h"

#include <algorithm>

using namespace ringlet;
using namespace ringlet::cost;

/// Pairs of atoms to look at, at most.
static constexpr int64_t mostPairs = int64_t(1) << 20;

std::optional<BranchScores>
ringlet::cost::countScores(const layout::UnionShape &shape, bool causal,
                           const std::vector<double> &shares) {
  int64_t longest = 0;
  for (const layout::UnionBranch &branch : shape.branches) {
    if (branch.width == layout::unboundedSegment)
      return std::nullopt;
    longest = std::max(longest, branch.width);
  }
  size_t count = shape.branches.size();
  int64_t segments = longest / shape.width;
  int64_t pairs;
  if (__builtin_mul_overflow(segments, segments, &pairs) ||
      __builtin_mul_overflow(pairs, shape.rate, &pairs) ||
      __builtin_mul_overflow(pairs, shape.rate, &pairs) || pairs > mostPairs)
    return std::nullopt;
  BranchScores scores;
  scores.ofBranches.assign(count, 0);
  // Head 0 of the modulo rule stands for all: what heads share is the same.
  double rows =
      static_cast<double>(shape.width) / static_cast<double>(shape.rate);
  auto isIn = [&](const layout::UnionBranch &branch, int64_t segment,
                  int64_t residue) {
    int64_t begin = segment * shape.width % branch.width;
    return (begin + residue) % branch.rate == 0;
  };
  auto visit = [&](int64_t query, int64_t residue, int64_t key, int64_t other) {
    double seen = !causal || key < query ? rows : key == query ? rows / 2 : 0;
    bool isAny = false;
    for (size_t i = 0; i < count; ++i) {
      const layout::UnionBranch &branch = shape.branches[i];
      if (!isIn(branch, query, residue) || !isIn(branch, key, other) ||
          query * shape.width / branch.width !=
              key * shape.width / branch.width)
        continue;
      scores.ofBranches[i] += seen;
      if (shape.isNested && isAny)
        continue;
      isAny = true;
      double share = shares.empty() ? 1 : shares[i];
      scores.ofUnion += seen * share;
      scores.ownShare += key == query ? seen * share : 0;
      scores.places += share;
    }
  };
  for (int64_t query = 0; query < segments; ++query)
    for (int64_t residue = 0; residue < shape.rate; ++residue)
      for (int64_t key = 0; key < segments; ++key)
        for (int64_t other = 0; other < shape.rate; ++other)
          visit(query, residue, key, other);
  if (scores.ofUnion > 0)
    scores.ownShare /= scores.ofUnion;
  double atoms = static_cast<double>(segments * shape.rate);
  for (double &branch : scores.ofBranches)
    branch /= atoms;
  scores.ofUnion /= atoms;
  scores.places /= atoms;
  return scores;
}
