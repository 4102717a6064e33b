//===- BranchScoresTest.cpp - Scores of several branches --------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/BranchScores.h"

#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::cost;
using layout::UnionShape;

namespace {

TEST(BranchScores, LongNet) {
  UnionShape shape({{2048, 1}, {4096, 2}, {8192, 4}}, /*residuesNest=*/true);
  std::optional<BranchScores> scores = countScores(shape, /*causal=*/false);
  ASSERT_TRUE(scores);
  // A branch has 2048 keys for each of its rows, one in r.
  EXPECT_EQ(scores->ofBranches, (std::vector<double>{2048, 1024, 512}));
  // Half of the keys of a longer segment are those of a shorter one, too.
  EXPECT_EQ(scores->ofUnion, 2048 + 512 + 256);
  // Base segments times residues.
  EXPECT_EQ(scores->places, 4 + 1 * 2 / 2. + 2 * 1 / 4.);
}

TEST(BranchScores, KeysOfBranchesThatDoNotNestCountInEachOne) {
  std::optional<BranchScores> scores = countScores(
      UnionShape({{2048, 1}, {4096, 2}, {8192, 4}}), /*causal=*/false);
  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->ofUnion, 2048 + 1024 + 512);
  EXPECT_EQ(scores->places, 4 + 2 * 2 / 2. + 4 * 1 / 4.);
}

TEST(BranchScores, HeadsOfOneBranchEach) {
  double third = 1 / 3.;
  std::optional<BranchScores> scores =
      countScores(UnionShape({{2048, 1}, {4096, 2}, {8192, 4}}),
                  /*causal=*/false, {third, third, third});
  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->ofBranches, (std::vector<double>{2048, 1024, 512}));
  EXPECT_NEAR(scores->ofUnion, (2048 + 1024 + 512) / 3., 1e-9);
}

TEST(BranchScores, LongNetOfFewRowsAnAtom) {
  std::optional<BranchScores> scores = countScores(
      UnionShape({{2048, 1}, {8192, 4}, {32768, 16}}, /*residuesNest=*/true),
      /*causal=*/false);
  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->ofBranches, (std::vector<double>{2048, 512, 128}));
  EXPECT_EQ(scores->ofUnion, 2048 + 512 * 3 / 4. + 128 * 3 / 4.);
}

TEST(BranchScores, CausalRowsSeeHalfOfThemselves) {
  std::optional<BranchScores> scores =
      countScores(UnionShape({{64, 1}, {128, 1}}, true), /*causal=*/true);
  ASSERT_TRUE(scores);
  EXPECT_EQ(scores->ofBranches, (std::vector<double>{32, 64}));
  // The first half of the longer segment sees what it sees of the shorter one.
  EXPECT_EQ(scores->ofUnion, 64);
  // Of its own base segment a row sees 32.
  EXPECT_EQ(scores->ownShare, 0.5);
}

TEST(BranchScores, NothingIsKnownOfKeysWithoutSegments) {
  EXPECT_FALSE(
      countScores(UnionShape({{64, 1}, {layout::unboundedSegment, 2}}), false));
}

TEST(BranchScores, TooManyAtomsToCount) {
  EXPECT_FALSE(countScores(UnionShape({{1, 1}, {1 << 20, 1}}), false));
  EXPECT_FALSE(countScores(
      UnionShape({{int64_t(1) << 60, 1}, {(int64_t(1) << 60) - 1, 1}}), false));
}

TEST(BranchScores, TooManyResiduesAreNotCounted) {
  // Their square is no number of 64 bits, and would be taken for 0.
  int64_t many = int64_t(1) << 32;
  EXPECT_FALSE(countScores(UnionShape({{many, many}, {4 * many, 2 * many}}),
                           /*causal=*/false));
}

} // namespace
