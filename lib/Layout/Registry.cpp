//===- Registry.cpp - The table of curves, looked up ------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Curve.h"

#include <algorithm>

namespace ringlet::layout {
#define RINGLET_CURVE(NAME, GRID, RATE, TABLE, CREATE)                         \
  std::unique_ptr<Curve> CREATE(const OrderSpec &spec, std::string &error);
#include "lib/Layout/Curves.def"
} // namespace ringlet::layout

using namespace ringlet::layout;

const std::vector<CurveRow> &ringlet::layout::curveRows() {
  static const std::vector<CurveRow> rows = {
#define RINGLET_CURVE(NAME, GRID, RATE, TABLE, CREATE)                         \
  {#NAME, Use::GRID, Use::RATE, Use::TABLE, CREATE},
#include "lib/Layout/Curves.def"
  };
  return rows;
}

const CurveRow *ringlet::layout::findCurve(const std::string &name) {
  for (const CurveRow &row : curveRows())
    if (name == row.name)
      return &row;
  return nullptr;
}

/// Insertions, deletions and replacements between two words, by the usual
/// table of prefixes, of which one row is kept.
static size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

const CurveRow &ringlet::layout::nearestCurve(const std::string &name) {
  // What follows the first 64 letters of a word cannot change which is nearest
  // by much, and an absurd word should not cost much either.
  std::string head = name.substr(0, 64);
  const std::vector<CurveRow> &rows = curveRows();
  return *std::min_element(
      rows.begin(), rows.end(), [&](const CurveRow &a, const CurveRow &b) {
        return editDistance(head, a.name) < editDistance(head, b.name);
      });
}

// For curves whose token() is O(1) or so; the others override.
void Curve::fill(int64_t *out, int64_t count, int64_t base) const {
  for (int64_t m = 0; m < count; ++m)
    out[m] = base + token(m, count);
}
