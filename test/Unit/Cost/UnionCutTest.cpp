//===- UnionCutTest.cpp - Kernels that a union is cut into ------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/UnionCut.h"

#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::cost;
using layout::UnionShape;

namespace {

TEST(UnionCut, AtomsOfOneTileAreThoseOfFewRows) {
  UnionShape shape({{2048, 1}, {8192, 4}, {32768, 16}}, /*residuesNest=*/true);
  UnionPart most{2, 0}, rest{3, 2};
  EXPECT_EQ(getShape(shape, most).rate, 4);
  EXPECT_EQ(countResidues(shape, most), 4);
  EXPECT_EQ(getShape(shape, rest).rate, 16);
  EXPECT_EQ(countResidues(shape, rest), 1);
  EXPECT_EQ(cutCausalUnion(shape, 128, 128),
            (std::vector<UnionPart>{most, rest}));
  // Three quarters of what one kernel takes.
  double steps =
      countSteps(shape, most, 128, 128) + countSteps(shape, rest, 128, 128);
  EXPECT_LT(steps, 0.76 * countSteps(shape, {3, 0}, 128, 128));
}

TEST(UnionCut, AtomsOfManyTilesStayWhole) {
  UnionShape shape({{8192, 1}, {16384, 2}, {32768, 4}}, /*residuesNest=*/true);
  EXPECT_EQ(cutCausalUnion(shape, 128, 128), (std::vector<UnionPart>{{3, 0}}));
}

TEST(UnionCut, BranchesInAnyOrder) {
  UnionShape shape({{32768, 16}, {2048, 1}, {8192, 4}}, /*residuesNest=*/true);
  EXPECT_EQ(cutCausalUnion(shape, 128, 128),
            (std::vector<UnionPart>{{2, 0}, {3, 2}}));
}

TEST(UnionCut, NothingIsKnownOfOthers) {
  UnionShape crossed({{2048, 1}, {8192, 4}}, /*residuesNest=*/false);
  EXPECT_EQ(cutCausalUnion(crossed, 128, 128),
            (std::vector<UnionPart>{{2, 0}}));
  UnionShape endless({{2048, 1}, {layout::unboundedSegment, 16}}, true);
  EXPECT_EQ(cutCausalUnion(endless, 128, 128),
            (std::vector<UnionPart>{{2, 0}}));
}

} // namespace
