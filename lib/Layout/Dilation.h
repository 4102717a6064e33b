//===- Dilation.h - Integer rules of segments and dilation ------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Floor division on positions and the rules B2 and B3 of the specification.
// Positions count tokens and may be negative; the compiler, the runtime and
// the oracle all take these few lines from here so that they cannot differ.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_LAYOUT_DILATION_H
#define RINGLET_LIB_LAYOUT_DILATION_H

#include <cstdint>

namespace ringlet::layout {

/// The largest integer q with q * b <= a. Needs b > 0; every a is fine.
constexpr int64_t floorDiv(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

/// a - b * floorDiv(a, b), in [0, b). Needs b > 0; every a is fine.
constexpr int64_t floorMod(int64_t a, int64_t b) {
  return a % b + (a % b < 0 ? b : 0);
}

/// The smallest integer q with q * b >= a. Needs b > 0; every a is fine: the
/// usual (a + b - 1) / b would overflow near the ends.
constexpr int64_t ceilDiv(int64_t a, int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

/// How a head picks the residue that it attends to (B2).
enum class OffsetRule {
  Modulo,   ///< o = x mod r, the rule of the LongNet paper and the default.
  Block,    ///< o = x / ceil(heads / r), the rule of torchscale.
  Constant, ///< o = c mod r, the same for every head.
};

/// The residue o of head `x` out of `heads` under dilation `rate` (B2), always
/// in [0, rate). Needs rate >= 1 and, for Block, 0 <= x < heads. `constant` is
/// the c of the Constant rule, any sign, and is ignored by the others.
constexpr int64_t headResidue(OffsetRule rule, int64_t x, int64_t heads,
                              int64_t rate, int64_t constant = 0) {
  switch (rule) {
  case OffsetRule::Modulo:
    return floorMod(x, rate);
  case OffsetRule::Block:
    return x / ceilDiv(heads, rate);
  case OffsetRule::Constant:
    return floorMod(constant, rate);
  }
  return 0;
}

/// Residues that follow each other, `count` of them from `first` on; the
/// greatest of a rate is followed by 0.
struct ResidueRange {
  int64_t first = 0, count = 1;

  constexpr bool operator==(const ResidueRange &other) const {
    return first == other.first && count == other.count;
  }
  /// The residue at a place below `count`.
  constexpr int64_t at(int64_t place, int64_t rate) const {
    return (first + place) % rate;
  }
};

/// The residues of the heads from `begin` to before `end` (B2), of which there
/// is one at least.
constexpr ResidueRange headResidues(OffsetRule rule, int64_t begin, int64_t end,
                                    int64_t heads, int64_t rate,
                                    int64_t constant = 0) {
  int64_t first = headResidue(rule, begin, heads, rate, constant);
  if (rule != OffsetRule::Modulo)
    return {first,
            headResidue(rule, end - 1, heads, rate, constant) - first + 1};
  if (end - begin >= rate)
    return {0, rate};
  return {first, end - begin};
}

/// The segment length that stands for `*`: one segment holds every position.
constexpr int64_t unboundedSegment = 0;

/// The segment of position `p` for segments of `width` tokens (B3). Needs
/// width >= 1, or unboundedSegment, for which it is 0.
constexpr int64_t segmentOf(int64_t p, int64_t width) {
  return width == unboundedSegment ? 0 : floorDiv(p, width);
}

/// The residue class of position `p` inside its segment: `(p mod w) mod r`
/// (B3), and `p mod r` where the segment is unbounded. Needs rate >= 1.
constexpr int64_t residueOf(int64_t p, int64_t width, int64_t rate) {
  return floorMod(width == unboundedSegment ? p : floorMod(p, width), rate);
}

/// The keys of padding that a query at position `p`, which is in the branch,
/// has among `keys` keys beside its own (B7): those by which its segment,
/// filled up to a whole one and to a multiple of `rate`, has more keys of the
/// residue. A segment that holds no key, and what lies before position 0, has
/// none. Needs rate >= 1, a width of at least 1 or `unboundedSegment`, and 0 <=
/// residue.
constexpr int64_t countPadding(int64_t p, int64_t width, int64_t rate,
                               int64_t residue, int64_t keys) {
  if (p < 0 || keys <= 0)
    return 0;
  bool isOne = width == unboundedSegment || width >= keys;
  int64_t whole = isOne ? keys : width;
  int64_t number = width == unboundedSegment ? 0 : p / width;
  // No later than the last key, so that no product overflows.
  if (number > (keys - 1) / whole)
    return 0;
  int64_t rest = keys - number * whole;
  int64_t existing = rest < whole ? rest : whole;
  return ceilDiv(whole, rate) -
         (existing > residue ? ceilDiv(existing - residue, rate) : 0);
}

/// Whether there is none for any query and residue.
constexpr bool hasNoPadding(int64_t width, int64_t rate, int64_t keys) {
  bool isOne = width == unboundedSegment || width >= keys;
  return keys <= 0 ||
         (isOne ? keys % rate == 0 : keys % width == 0 && width % rate == 0);
}

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_DILATION_H
