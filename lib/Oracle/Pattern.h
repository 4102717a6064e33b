//===- Pattern.h - Which keys a query sees ----------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rules S1, S2, S5, B1 to B6 and O2, without any arithmetic on values: where a
// row stands, whether it is in a branch and which keys it then has.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_ORACLE_PATTERN_H
#define RINGLET_LIB_ORACLE_PATTERN_H

#include "lib/Layout/Order.h"
#include "lib/Oracle/AttentionSpec.h"

#include <memory>

namespace ringlet::oracle {

/// The sequences of one side, queries or keys: packed and padded tensors both
/// become a `[batch, row, head, dim]` view and, for each sequence, a place in
/// it (S2).
struct Sequences {
  TensorView view;
  bool packed = false;
  /// Batch index, first row and length of each sequence.
  struct Extent {
    int64_t batch;
    int64_t first;
    int64_t length;
  };
  std::vector<Extent> extents;

  static Sequences make(const TensorView &tensor,
                        const std::optional<TensorView> &cuSeqlens,
                        const std::optional<TensorView> &lengths,
                        const std::optional<TensorView> &begins = {});
};

/// A query row at its place in its sequence.
struct QueryRow {
  /// Where it lies in the query view.
  int64_t batch = 0;
  int64_t row = 0;
  /// Index of the sequence, or -1 past every length (S2): such a row has
  /// neither keys nor sink.
  int64_t sequence = -1;
  int64_t position = 0;
  int64_t ordinal = 0;
  /// Coordinates on the grid of the grid window, if there is one.
  std::vector<int64_t> cell;
};

class Pattern {
public:
  /// Both must have passed `validate` and outlive the pattern.
  Pattern(const AttentionSpec &spec, const AttentionInputs &inputs);

  const Sequences &queries() const { return querySide; }
  const Sequences &keys() const { return keySide; }
  int64_t queryHeads() const { return querySide.view.size(2); }
  int64_t keyHeads() const { return keySide.view.size(2); }
  /// g(h).
  int64_t keyHead(int64_t head) const {
    return head / (queryHeads() / keyHeads());
  }

  /// The row of index `row` of batch item `batch` of the query view.
  QueryRow locate(int64_t batch, int64_t row) const;

  /// Whether the row is in the branch (B3).
  bool isIn(const Branch &branch, const QueryRow &query, int64_t head) const;

  /// The keys of padding that (row, head) counts in the branch (B7).
  int64_t countPadding(const Branch &branch, const QueryRow &query,
                       int64_t head) const;

  /// Calls `visit(u)` for every key of (row, head) in the branch (B4 to B6).
  template <typename Visit>
  void forEachKey(const Branch &branch, const QueryRow &query, int64_t head,
                  Visit visit) const {
    if (!isIn(branch, query, head))
      return;
    int64_t length = keySide.extents[query.sequence].length;
    OrdinalRange range = ordinalsOfSegment(branch, query, length);
    for (int64_t ordinal = range.begin; ordinal < range.end;
         ordinal += branch.dilation) {
      int64_t key = keyAt(ordinal);
      if (key < length && isVisible(query, key, ordinal))
        visit(key);
      // A dilation near 2^63 must not wrap around.
      if (branch.dilation > range.end - ordinal)
        break;
    }
  }

private:
  /// Ordinals of one residue of one segment: begin, begin + r, ... below end.
  struct OrdinalRange {
    int64_t begin;
    int64_t end;
  };
  OrdinalRange ordinalsOfSegment(const Branch &branch, const QueryRow &query,
                                 int64_t length) const;
  int64_t ordinalOf(int64_t position) const {
    return order ? order->ordinal(position) : position;
  }
  int64_t keyAt(int64_t ordinal) const {
    return !order                 ? ordinal
           : keyOfOrdinal.empty() ? order->token(ordinal, order->period())
                                  : keyOfOrdinal[ordinal];
  }
  bool isVisible(const QueryRow &query, int64_t key, int64_t keyOrdinal) const;

  const AttentionSpec &spec;
  const AttentionInputs &inputs;
  Sequences querySide;
  Sequences keySide;
  /// Null when ordinals are positions.
  std::shared_ptr<const layout::Order> order;
  /// The order's tokens, written out when they are few.
  std::vector<int64_t> keyOfOrdinal;
};

} // namespace ringlet::oracle

#endif // RINGLET_LIB_ORACLE_PATTERN_H
