//===- Visibility.cpp - Segments shared by queries and keys ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Visibility.h"

#include "lib/Layout/Dilation.h"

#include <algorithm>

namespace ringlet::ring {

using layout::floorDiv;
using layout::floorMod;

Reach reachOf(const Attention &attention) {
  Reach reach = {std::min(attention.left.value_or(kFar), kFar),
                 std::min(attention.right.value_or(kFar), kFar)};
  if (attention.causal)
    reach.right = 0;
  return reach;
}

static int64_t residueOf(const Attention &attention, const Branch &branch,
                         int64_t head) {
  int64_t group = attention.queryHeads / attention.keyHeads;
  return layout::headResidue(static_cast<layout::OffsetRule>(branch.offset),
                             branch.offsetByQuery ? head : head / group,
                             branch.offsetByQuery ? attention.queryHeads
                                                  : attention.keyHeads,
                             branch.dilation, branch.constant);
}

std::vector<std::pair<int64_t, int64_t>>
residuesOf(const Attention &attention, const Branch &branch, int64_t keyHead) {
  int64_t group = attention.queryHeads / attention.keyHeads;
  int64_t end = std::min((keyHead + 1) * group, branch.headEnd);
  std::vector<int64_t> residues;
  for (int64_t head = std::max(keyHead * group, branch.headBegin); head < end;
       ++head)
    residues.push_back(residueOf(attention, branch, head));
  std::sort(residues.begin(), residues.end());
  std::vector<std::pair<int64_t, int64_t>> result;
  for (int64_t residue : residues)
    if (!result.empty() && result.back().first == residue)
      ++result.back().second;
    else
      result.emplace_back(residue, 1);
  return result;
}

ResidueClass SharedSegment::keyClass(int64_t residue, int64_t rate) const {
  return {rate, floorMod(origin + residue, rate)};
}

ResidueClass SharedSegment::queryClass(int64_t residue, int64_t rate) const {
  return {rate, floorMod(origin + residue - shift, rate)};
}

int64_t &segmentVisits() {
  static thread_local int64_t visits = 0;
  return visits;
}

void forEachSharedSegment(
    const Attention &attention, const Branch &branch, const Stretch &queries,
    Interval keys, const std::function<void(const SharedSegment &)> &visit) {
  const std::vector<Sequence> &sequences = attention.sequences;
  Interval queryHull = hull(queries);
  // Ends of sequences ascend, on both sides.
  auto sequence = std::lower_bound(
      sequences.begin(), sequences.end(), 0, [&](const Sequence &at, int) {
        return at.query + at.queries <= queryHull.begin ||
               at.key + at.keys <= keys.begin;
      });
  for (; sequence != sequences.end() && sequence->query < queryHull.end &&
         sequence->key < keys.end;
       ++sequence) {
    SharedSegment shared;
    shared.shift = sequence->key + sequence->offset - sequence->query;
    Interval own = overlap(
        queryHull, {sequence->query, sequence->query + sequence->queries});
    Interval theirs =
        overlap(keys, {sequence->key, sequence->key + sequence->keys});
    if (own.empty() || theirs.empty())
      continue;
    if (branch.segment == 0) {
      shared.queries = own;
      shared.keys = {sequence->key, sequence->key + sequence->keys};
      shared.origin = sequence->key;
      visit(shared);
      continue;
    }
    // Segments by number, from the positions of the outermost rows; those
    // before position 0 have no keys.
    auto segmentAt = [&](int64_t keyRow) {
      return floorDiv(keyRow - sequence->key, branch.segment);
    };
    int64_t first =
        std::max(segmentAt(own.begin + shared.shift), segmentAt(theirs.begin));
    int64_t last = std::min(segmentAt(own.end - 1 + shared.shift),
                            segmentAt(theirs.end - 1));
    auto visitOne = [&](int64_t segment) {
      ++segmentVisits();
      shared.origin = sequence->key + segment * branch.segment;
      Interval rows = {shared.origin, shared.origin + branch.segment};
      shared.queries =
          overlap(own, {rows.begin - shared.shift, rows.end - shared.shift});
      shared.keys =
          overlap(rows, {sequence->key, sequence->key + sequence->keys});
      visit(shared);
    };
    if (queries.rows.count == 1 || queries.rows.stride <= branch.segment) {
      for (int64_t segment = first; segment <= last; ++segment)
        visitOne(segment);
      continue;
    }
    // Between two repetitions lie segments without a query.
    Interval numbers = repetitionsIn(queries, own);
    for (int64_t i = numbers.begin; i < numbers.end; ++i) {
      Interval rows = overlap(repetition(queries, i), own);
      first = std::max(first, segmentAt(rows.begin + shared.shift));
      int64_t end = std::min(last, segmentAt(rows.end - 1 + shared.shift));
      for (; first <= end; ++first)
        visitOne(first);
    }
  }
}

} // namespace ringlet::ring
