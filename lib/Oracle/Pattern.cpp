//===- Pattern.cpp - Which keys a query sees --------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Oracle/Pattern.h"

#include "lib/Layout/Grid.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace ringlet::oracle {

using layout::floorDiv;
using layout::floorMod;

namespace {

/// Longest pattern order that is written out as a table.
constexpr int64_t kLongestTable = int64_t{1} << 24;

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

TensorView asBatchOfOne(const TensorView &packed) {
  Shape sizes = packed.sizes();
  Shape strides = packed.strides();
  sizes.insert(sizes.begin(), 1);
  strides.insert(strides.begin(), 0);
  return TensorView(packed.data(), packed.dtype(), std::move(sizes),
                    std::move(strides));
}

/// The residue o(h) of B2.
int64_t residueOfHead(const Branch &branch, int64_t head,
                      const Pattern &pattern) {
  int64_t x = branch.offsetByQuery ? head : pattern.keyHead(head);
  int64_t heads =
      branch.offsetByQuery ? pattern.queryHeads() : pattern.keyHeads();
  return layout::headResidue(branch.offset, x, heads, branch.dilation,
                             branch.constant);
}

} // namespace

Sequences Sequences::make(const TensorView &tensor,
                          const std::optional<TensorView> &cuSeqlens,
                          const std::optional<TensorView> &lengths,
                          const std::optional<TensorView> &begins) {
  Sequences result;
  result.packed = cuSeqlens.has_value();
  if (cuSeqlens) {
    result.view = asBatchOfOne(tensor);
    for (int64_t i = 0; i + 1 < cuSeqlens->size(0); ++i) {
      int64_t first = cuSeqlens->getInt({i});
      int64_t next = cuSeqlens->getInt({i + 1});
      result.extents.push_back({0, first, next - first});
    }
    return result;
  }
  result.view = tensor;
  for (int64_t batch = 0; batch < tensor.size(0); ++batch) {
    int64_t end = lengths ? lengths->getInt({batch}) : tensor.size(1);
    int64_t first =
        begins ? std::clamp<int64_t>(begins->getInt({batch}), 0, end) : 0;
    result.extents.push_back({batch, first, end - first});
  }
  return result;
}

Pattern::Pattern(const AttentionSpec &spec, const AttentionInputs &inputs)
    : spec(spec), inputs(inputs),
      querySide(
          Sequences::make(inputs.query, inputs.cuSeqlensQ, inputs.lengthsQ)),
      keySide(Sequences::make(inputs.key, inputs.cuSeqlensK, inputs.lengthsK,
                              inputs.keyBegins)) {
  if (spec.patternOrder)
    order = layout::makeOrder(*spec.patternOrder);
  if (order && (order->isIdentity() || !order->period()))
    order = nullptr;
  if (order && order->period() <= kLongestTable)
    keyOfOrdinal = order->permutation(order->period());
}

QueryRow Pattern::locate(int64_t batch, int64_t row) const {
  QueryRow result;
  result.batch = batch;
  result.row = row;
  const std::vector<Sequences::Extent> &extents = querySide.extents;
  // The last sequence that begins at or before the row; empty ones before it
  // begin at the same place.
  int64_t sequence = batch;
  if (querySide.packed)
    sequence = std::upper_bound(extents.begin(), extents.end(), row,
                                [](int64_t row, const auto &extent) {
                                  return row < extent.first;
                                }) -
               extents.begin() - 1;
  if (sequence < 0 || row - extents[sequence].first >= extents[sequence].length)
    return result;

  result.sequence = sequence;
  int64_t offset =
      keySide.extents[sequence].length - extents[sequence].length; // S1
  if (inputs.qOffset)
    offset =
        inputs.qOffset->getInt({inputs.qOffset->size(0) == 1 ? 0 : sequence});
  result.position = offset + row - extents[sequence].first;
  result.ordinal = ordinalOf(result.position);
  if (spec.gridWindow)
    result.cell = layout::gridCell(spec.gridWindow->grid, result.position);
  return result;
}

bool Pattern::isIn(const Branch &branch, const QueryRow &query,
                   int64_t head) const {
  if (query.sequence < 0)
    return false;
  if (branch.heads && (head < branch.heads->begin || head >= branch.heads->end))
    return false;
  int64_t place =
      branch.segment ? floorMod(query.ordinal, *branch.segment) : query.ordinal;
  return floorMod(place, branch.dilation) ==
         residueOfHead(branch, head, *this); // B3
}

int64_t Pattern::countPadding(const Branch &branch, const QueryRow &query,
                              int64_t head) const {
  if (!branch.countsPadding || spec.causal || !isIn(branch, query, head))
    return 0;
  return layout::countPadding(
      query.position, branch.segment.value_or(layout::unboundedSegment),
      branch.dilation, residueOfHead(branch, head, *this),
      keySide.extents[query.sequence].length);
}

Pattern::OrdinalRange Pattern::ordinalsOfSegment(const Branch &branch,
                                                 const QueryRow &query,
                                                 int64_t length) const {
  // Keys have ordinals in [0, limit); segments before 0 hold none.
  int64_t limit = order ? order->period() : length;
  int64_t width = branch.segment.value_or(kUnbounded);
  int64_t segment = branch.segment ? floorDiv(query.ordinal, width) : 0;
  if (segment < 0)
    return {0, 0};
  int64_t start = segment * width;
  int64_t end = width > limit - start ? limit : start + width;
  // The same residue as the query's own place: B3 and B4 together.
  return {start + floorMod(query.ordinal - start, branch.dilation), end};
}

bool Pattern::isVisible(const QueryRow &query, int64_t key,
                        int64_t keyOrdinal) const {
  int64_t ahead = key - query.position;
  if (spec.causal && ahead > 0)
    return false;
  if (spec.windowLeft && -ahead > *spec.windowLeft)
    return false;
  if (spec.windowRight && ahead > *spec.windowRight)
    return false;
  if (spec.gridWindow) { // B5
    int64_t rest = key;
    for (size_t axis = spec.gridWindow->grid.size(); axis-- > 0;) {
      int64_t side = spec.gridWindow->grid[axis];
      if (std::abs(rest % side - query.cell[axis]) >
          spec.gridWindow->radius[axis])
        return false;
      rest /= side;
    }
  }
  if (spec.blockMask) // B6
    return inputs.blockMask->getInt({query.ordinal / spec.blockMask->query,
                                     keyOrdinal / spec.blockMask->key}) != 0;
  return true;
}

} // namespace ringlet::oracle
