//===- DilationTest.cpp - Integer rules of segments -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Dilation.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

using namespace ringlet::layout;

namespace {

constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
constexpr int64_t highest = std::numeric_limits<int64_t>::max();

// The three divisions are usable in constants of the compiler.
static_assert(floorDiv(-1, 4) == -1 && floorMod(-1, 4) == 3 &&
              ceilDiv(-1, 4) == 0 && ceilDiv(1, 4) == 1);

TEST(Dilation, DivisionsMeetTheirDefinition) {
  for (int64_t b = 1; b <= 9; ++b)
    for (int64_t a = -40; a <= 40; ++a) {
      EXPECT_LE(floorDiv(a, b) * b, a);
      EXPECT_GT((floorDiv(a, b) + 1) * b, a);
      EXPECT_EQ(floorMod(a, b), a - floorDiv(a, b) * b);
      EXPECT_GE(ceilDiv(a, b) * b, a);
      EXPECT_LT((ceilDiv(a, b) - 1) * b, a);
    }
}

TEST(Dilation, DivisionsAtTheEnds) {
  for (int64_t a : {lowest, lowest + 1, highest - 1, highest})
    for (int64_t b : {int64_t(1), int64_t(2), int64_t(3), highest}) {
      int64_t q = floorDiv(a, b), m = floorMod(a, b);
      EXPECT_GE(m, 0);
      EXPECT_LT(m, b);
      // a = q b + m, in the ring of 64 bits, where both sides fit.
      EXPECT_EQ(uint64_t(a), uint64_t(q) * uint64_t(b) + uint64_t(m));
      EXPECT_EQ(ceilDiv(a, b), q + (m ? 1 : 0));
    }
}

// B2, by hand for 8 heads.
TEST(Dilation, HeadResidueByHand) {
  const int64_t modulo3[] = {0, 1, 2, 0, 1, 2, 0, 1};
  const int64_t block3[] = {0, 0, 0, 1, 1, 1, 2, 2}; // ceil(8 / 3) = 3
  for (int64_t x = 0; x < 8; ++x) {
    EXPECT_EQ(headResidue(OffsetRule::Modulo, x, 8, 3), modulo3[x]);
    EXPECT_EQ(headResidue(OffsetRule::Block, x, 8, 3), block3[x]);
    EXPECT_EQ(headResidue(OffsetRule::Constant, x, 8, 3, 7), 1);
    EXPECT_EQ(headResidue(OffsetRule::Constant, x, 8, 3, -1), 2);
    EXPECT_EQ(headResidue(OffsetRule::Block, x, 8, 4), x / 2);
    // More residues than heads: one head a residue, the rest unused.
    EXPECT_EQ(headResidue(OffsetRule::Block, x, 8, 100), x);
  }
}

TEST(Dilation, HeadResidueIsAResidue) {
  for (OffsetRule rule :
       {OffsetRule::Modulo, OffsetRule::Block, OffsetRule::Constant})
    for (int64_t heads = 1; heads <= 40; ++heads)
      for (int64_t rate = 1; rate <= 50; ++rate)
        for (int64_t x = 0; x < heads; ++x) {
          int64_t o = headResidue(rule, x, heads, rate, x - 20);
          ASSERT_TRUE(o >= 0 && o < rate)
              << "heads " << heads << " rate " << rate << " head " << x;
        }
}

// Those of a range of heads, each once.
TEST(Dilation, HeadResiduesAreThoseOfTheHeads) {
  for (OffsetRule rule :
       {OffsetRule::Modulo, OffsetRule::Block, OffsetRule::Constant})
    for (int64_t heads = 1; heads <= 9; ++heads)
      for (int64_t rate = 1; rate <= 12; ++rate)
        for (int64_t begin = 0; begin < heads; ++begin)
          for (int64_t end = begin + 1; end <= heads; ++end) {
            std::set<int64_t> expected, found;
            for (int64_t x = begin; x < end; ++x)
              expected.insert(headResidue(rule, x, heads, rate, -5));
            ResidueRange range =
                headResidues(rule, begin, end, heads, rate, -5);
            for (int64_t place = 0; place < range.count; ++place)
              found.insert(range.at(place, rate));
            ASSERT_EQ(found, expected)
                << "heads " << begin << " to " << end << " rate " << rate;
            ASSERT_EQ(int64_t(found.size()), range.count);
          }
  // A huge rate costs nothing.
  EXPECT_EQ(headResidues(OffsetRule::Modulo, 3, 8, 8, int64_t(1) << 40).count,
            5);
}

// B3: within a segment, each residue is met by every rate-th position.
TEST(Dilation, SegmentsAndResidues) {
  for (int64_t width : {1, 3, 8, 10})
    for (int64_t rate : {1, 2, 3, 8})
      for (int64_t p = -30; p < 30; ++p) {
        int64_t segment = segmentOf(p, width);
        ASSERT_LE(segment * width, p);
        ASSERT_GT((segment + 1) * width, p);
        ASSERT_EQ(residueOf(p, width, rate), (p - segment * width) % rate);
      }
  EXPECT_EQ(segmentOf(lowest, unboundedSegment), 0);
  EXPECT_EQ(segmentOf(highest, unboundedSegment), 0);
  EXPECT_EQ(residueOf(-1, unboundedSegment, 4), 3);
  EXPECT_EQ(residueOf(6, unboundedSegment, 4), 2);
}

} // namespace
