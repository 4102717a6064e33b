//===- PatternTest.cpp - Which keys a row sees, by hand ---------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One test per rule; the expected keys were written down by hand from the
// text of the rule.
//
//===----------------------------------------------------------------------===//

#include "test/Unit/Oracle/Problem.h"

#include "lib/Oracle/Pattern.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace ringlet;
using namespace ringlet::oracle;
using layout::OffsetRule;

namespace {

TEST(Pattern, S1_DefaultOffsetIsBottomRight) {
  Problem problem = counting(2, 5);
  problem.spec.branches = {branchOf(std::nullopt, 1)};
  problem.spec.causal = true;
  AttentionResult result = solve(problem);
  EXPECT_EQ(keysOf(result, 0), "0 1 2 3");
  EXPECT_EQ(keysOf(result, 1), "0 1 2 3 4");
  problem.qOffset = vectorOf(DType::i64, {0}); // Top-left.
  result = solve(problem);
  EXPECT_EQ(keysOf(result, 0), "0");
  EXPECT_EQ(keysOf(result, 1), "0 1");
}

TEST(Pattern, S1_MoreQueriesThanKeysLeavesTheFirstRowsEmpty) {
  Problem problem = counting(4, 2);
  problem.spec.branches = {branchOf(std::nullopt, 1)};
  problem.spec.causal = true;
  AttentionResult result = solve(problem);
  for (int64_t row : {0, 1}) {
    EXPECT_EQ(keysOf(result, row), "");
    EXPECT_EQ(result.lse.get({0, 0, row}), -HUGE_VAL);
  }
  EXPECT_EQ(keysOf(result, 2), "0");
  EXPECT_EQ(keysOf(result, 3), "0 1");
}

/// Position -1 lies in segment -1, which has no keys; `*` is one segment that
/// holds negative positions, too.
TEST(Pattern, S1_NegativePositionsUseFloorDivision) {
  Problem problem = counting(3, 2);
  problem.spec.branches = {branchOf(4, 1)};
  EXPECT_EQ(keysOf(solve(problem), 0), "");
  EXPECT_EQ(keysOf(solve(problem), 1), "0 1");
  problem.spec.branches = {branchOf(std::nullopt, 1)};
  EXPECT_EQ(keysOf(solve(problem), 0), "0 1");
  // -1 mod 2 is 1: the row is not in the branch of residue 0.
  problem.spec.branches = {branchOf(std::nullopt, 2)};
  EXPECT_EQ(keysOf(solve(problem), 0), "");
  problem.spec.branches[0].offset = OffsetRule::Constant;
  problem.spec.branches[0].constant = 1;
  EXPECT_EQ(keysOf(solve(problem), 0), "1");
}

TEST(Pattern, S1_DecodingEqualsTheRowsOfTheFullPass) {
  Problem full = counting(7, 7);
  full.spec.branches = {branchOf(3, 1), branchOf(6, 2)};
  full.spec.causal = true;
  Problem last = counting(1, 7);
  last.spec = full.spec;
  EXPECT_EQ(keysOf(solve(full), 6), keysOf(solve(last), 0));
}

TEST(Pattern, S2_PaddedLengthsEndEachSequence) {
  Problem problem = zeros(2, 3, 4, 1, 1, 1, 4);
  for (int64_t batch = 0; batch < 2; ++batch)
    for (int64_t u = 0; u < 4; ++u)
      problem.value.set({batch, u, 0, u}, 1);
  // What lies past a length never matters.
  for (int64_t u = 2; u < 4; ++u)
    for (int64_t i = 0; i < 4; ++i)
      problem.value.set({1, u, 0, i}, std::nan(""));
  problem.query.set({1, 2, 0, 0}, std::nan(""));
  problem.key.set({1, 3, 0, 0}, HUGE_VAL);
  problem.spec.branches = {branchOf(std::nullopt, 1)};
  problem.spec.causal = true;
  problem.lengthsQ = vectorOf(DType::i32, {3, 2});
  problem.lengthsK = vectorOf(DType::i64, {4, 2});
  AttentionResult result = solve(problem);
  EXPECT_EQ(keysOf(result, 0), "0 1"); // q_offset 4 - 3.
  EXPECT_EQ(keysOf(result, 2), "0 1 2 3");
  EXPECT_EQ(result.output.get({1, 0, 0, 0}), 1); // q_offset 2 - 2.
  EXPECT_EQ(result.output.get({1, 1, 0, 1}), 0.5);
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(result.output.get({1, 2, 0, i}), 0);
  EXPECT_EQ(result.lse.get({1, 0, 2}), -HUGE_VAL);
}

/// Positions, segments and the default q_offset count from the first key.
TEST(Pattern, S5_KeysBeginLater) {
  Problem problem;
  problem.query = Tensor(DType::f32, {3, 2, 1, 1});
  problem.key = Tensor(DType::f32, {3, 5, 1, 1});
  problem.value = Tensor(DType::f32, {3, 5, 1, 1});
  for (int64_t batch = 0; batch < 3; ++batch)
    for (int64_t u = 0; u < 5; ++u)
      problem.value.set({batch, u, 0, 0}, static_cast<double>(1 << u));
  // What lies before the first key never matters.
  problem.value.set({0, 0, 0, 0}, std::nan(""));
  problem.key.set({0, 0, 0, 0}, HUGE_VAL);
  problem.lengthsQ = vectorOf(DType::i64, {2, 2, 2});
  problem.lengthsK = vectorOf(DType::i64, {5, 4, 3});
  problem.keyBegins = vectorOf(DType::i32, {1, -7, 4});
  problem.spec.branches = {branchOf(2, 1)};
  problem.spec.causal = true;
  AttentionResult result = solve(problem);
  // Rows 1 to 4 are keys 0 to 3, the queries at 2 and 3: one segment.
  EXPECT_EQ(result.output.get({0, 0, 0, 0}), 8);
  EXPECT_EQ(result.output.get({0, 1, 0, 0}), (8 + 16) / 2.0);
  EXPECT_EQ(result.output.get({1, 1, 0, 0}), (4 + 8) / 2.0);
  // A begin behind the end is one of no keys.
  EXPECT_EQ(result.output.get({2, 1, 0, 0}), 0);
  EXPECT_EQ(result.lse.get({2, 0, 1}), -HUGE_VAL);
}

TEST(Pattern, S2_PackedSequencesDoNotSeeEachOther) {
  Problem problem;
  problem.query = Tensor(DType::f32, {6, 1, 1});
  problem.key = Tensor(DType::f32, {5, 1, 1});
  problem.value = Tensor(DType::f32, {5, 1, 1});
  for (int64_t u = 0; u < 5; ++u)
    problem.value.set({u, 0, 0}, static_cast<double>(1 << u));
  problem.cuSeqlensQ = vectorOf(DType::i32, {0, 2, 2, 5}); // One row is past.
  problem.cuSeqlensK = vectorOf(DType::i32, {0, 3, 4, 5});
  problem.spec.branches = {branchOf(2, 1)};
  AttentionResult result = solve(problem);
  EXPECT_EQ(result.output.shape(), (Shape{6, 1, 1}));
  EXPECT_EQ(result.lse.shape(), (Shape{1, 6}));
  // Sequence 0: offset 1, positions 1 and 2, keys 0 1 2 in segments of 2.
  EXPECT_EQ(result.output.get({0, 0, 0}), (1 + 2) / 2.0);
  EXPECT_EQ(result.output.get({1, 0, 0}), 4);
  // Sequence 2: offset -2, positions -2 -1 0, and one key, the fifth row.
  EXPECT_EQ(result.output.get({2, 0, 0}), 0);
  EXPECT_EQ(result.output.get({3, 0, 0}), 0);
  EXPECT_EQ(result.output.get({4, 0, 0}), 16);
  EXPECT_EQ(result.output.get({5, 0, 0}), 0);
  EXPECT_EQ(result.lse.get({0, 5}), -HUGE_VAL);
  EXPECT_EQ(result.lse.get({0, 4}), 0);
}

TEST(Pattern, S2_OnlyOneSidePacked) {
  Problem problem = counting(4, 3);
  problem.query = Tensor(DType::f32, {4, 1, 1});
  problem.cuSeqlensQ = vectorOf(DType::i32, {0, 4});
  problem.spec.branches = {branchOf(2, 1)};
  problem.qOffset = vectorOf(DType::i32, {0});
  AttentionResult result = solve(problem);
  EXPECT_EQ(result.output.shape(), (Shape{4, 1, 3}));
  EXPECT_EQ(result.output.get({1, 0, 0}), 0.5);
  EXPECT_EQ(result.output.get({2, 0, 2}), 1);
}

TEST(Pattern, S1_OffsetsPerSequence) {
  Problem problem = zeros(2, 1, 4, 1, 1, 1, 4);
  for (int64_t batch = 0; batch < 2; ++batch)
    for (int64_t u = 0; u < 4; ++u)
      problem.value.set({batch, u, 0, u}, 1);
  problem.qOffset = vectorOf(DType::i32, {0, 2});
  problem.spec.branches = {branchOf(2, 1)};
  AttentionResult result = solve(problem);
  EXPECT_EQ(result.output.get({0, 0, 0, 1}), 0.5);
  EXPECT_EQ(result.output.get({1, 0, 0, 1}), 0);
  EXPECT_EQ(result.output.get({1, 0, 0, 3}), 0.5);
}

TEST(Pattern, B1_TailsAndLengthsThatDivideNothing) {
  Problem problem = counting(8, 8);
  problem.spec.branches = {branchOf(5, 2)};
  AttentionResult result = solve(problem);
  EXPECT_EQ(keysOf(result, 0), "0 2 4");
  EXPECT_EQ(keysOf(result, 1), ""); // Residue 1, head 0 has offset 0.
  EXPECT_EQ(keysOf(result, 4), "0 2 4");
  EXPECT_EQ(keysOf(result, 5), "5 7"); // The tail segment is short.
  EXPECT_EQ(keysOf(result, 7), "5 7");
  EXPECT_EQ(keysOf(result, 6), "");
  problem.spec.branches = {branchOf(1000, 3)}; // Longer than the sequence.
  EXPECT_EQ(keysOf(solve(problem), 3), "0 3 6");
  problem.spec.branches = {branchOf(3, 3)};
  EXPECT_EQ(keysOf(solve(problem), 3), "3");
}

TEST(Pattern, B1_HugeNumbersDoNotOverflow) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  Problem problem = counting(3, 3);
  problem.spec.branches = {branchOf(most, 1)};
  EXPECT_EQ(keysOf(solve(problem), 1), "0 1 2");
  problem.spec.branches = {branchOf(most, most)};
  EXPECT_EQ(keysOf(solve(problem), 0), "0");
  EXPECT_EQ(keysOf(solve(problem), 1), "");
  problem.spec.branches = {branchOf(std::nullopt, most)};
  EXPECT_EQ(keysOf(solve(problem), 0), "0");
  problem.spec.windowLeft = problem.spec.windowRight = most;
  problem.qOffset = vectorOf(DType::i64, {-0x1p60});
  EXPECT_EQ(keysOf(solve(problem), 1), "");
  problem.spec.branches = {branchOf(most, 1)};
  EXPECT_EQ(keysOf(solve(problem), 1), "");
  problem.spec.branches = {branchOf(std::nullopt, 1)};
  EXPECT_EQ(keysOf(solve(problem), 1), "0 1 2");
  problem.qOffset = vectorOf(DType::i64, {0x1p60});
  EXPECT_EQ(keysOf(solve(problem), 1), "0 1 2");
  problem.spec.branches = {branchOf(most, 1)};
  EXPECT_EQ(keysOf(solve(problem), 1), "0 1 2");
  problem.spec.branches = {branchOf(int64_t{1} << 59, 1)};
  EXPECT_EQ(keysOf(solve(problem), 1), "");
}

/// The residue that each of the heads sees, by which of keys 0..r-1 it has.
std::vector<std::string> residues(Problem problem, const Branch &branch) {
  problem.spec.branches = {branch};
  AttentionResult result = solve(problem);
  std::vector<std::string> found;
  for (int64_t head = 0; head < problem.query.shape()[2]; ++head) {
    std::string keys;
    for (int64_t row = 0; row < problem.query.shape()[1]; ++row)
      keys += keysOf(result, row, head);
    found.push_back(keys);
  }
  return found;
}

using Heads = std::vector<std::string>;

TEST(Pattern, B2_OffsetRules) {
  // 6 heads, one segment of 3, dilation 3: each head sees one key.
  Problem problem = counting(3, 3, 6, 6);
  Branch branch = branchOf(3, 3);
  EXPECT_EQ(residues(problem, branch), (Heads{"0", "1", "2", "0", "1", "2"}));
  branch.offset = OffsetRule::Block;
  EXPECT_EQ(residues(problem, branch), (Heads{"0", "0", "1", "1", "2", "2"}));
  branch.offset = OffsetRule::Constant;
  branch.constant = 5;
  EXPECT_EQ(residues(problem, branch), (Heads(6, "2")));
  branch.constant = -1;
  EXPECT_EQ(residues(problem, branch), (Heads(6, "2")));
  // ceil(4 / 3) = 2: residue 2 is nobody's.
  problem = counting(3, 3, 4, 4);
  branch.offset = OffsetRule::Block;
  EXPECT_EQ(residues(problem, branch), (Heads{"0", "0", "1", "1"}));
}

TEST(Pattern, B2_KeyHeadsDecideUnlessQueryHeadsAreAsked) {
  Problem problem = counting(2, 2, 4, 2);
  Branch branch = branchOf(2, 2);
  EXPECT_EQ(residues(problem, branch), (Heads{"0", "0", "1", "1"}));
  branch.offset = OffsetRule::Block;
  EXPECT_EQ(residues(problem, branch), (Heads{"0", "0", "1", "1"}));
  branch.offsetByQuery = true;
  EXPECT_EQ(residues(problem, branch), (Heads{"0", "0", "1", "1"}));
  branch.offset = OffsetRule::Modulo;
  EXPECT_EQ(residues(problem, branch), (Heads{"0", "1", "0", "1"}));
}

TEST(Pattern, B3_HeadRanges) {
  Problem problem = counting(2, 2, 3, 1);
  Branch branch = branchOf(2, 1);
  branch.heads = HeadRange{1, 3};
  EXPECT_EQ(residues(problem, branch), (Heads{"", "0 10 1", "0 10 1"}));
  branch.heads = HeadRange{2, 2};
  EXPECT_EQ(residues(problem, branch), (Heads{"", "", ""}));
}

TEST(Pattern, B4_Windows) {
  Problem problem = counting(8, 8);
  problem.spec.branches = {branchOf(std::nullopt, 1)};
  problem.spec.windowLeft = 2;
  EXPECT_EQ(keysOf(solve(problem), 5), "3 4 5 6 7");
  problem.spec.windowRight = 1;
  EXPECT_EQ(keysOf(solve(problem), 5), "3 4 5 6");
  EXPECT_EQ(keysOf(solve(problem), 0), "0 1");
  problem.spec.causal = true;
  EXPECT_EQ(keysOf(solve(problem), 5), "3 4 5");
  problem.spec.branches = {branchOf(4, 1)}; // Cut off by the segment, too.
  EXPECT_EQ(keysOf(solve(problem), 5), "4 5");
  problem.spec.branches = {branchOf(std::nullopt, 2)};
  EXPECT_EQ(keysOf(solve(problem), 4), "2 4");
}

TEST(Pattern, B5_GridWindowIsCutOffAtTheBorders) {
  Problem problem = counting(12, 12); // Grid 3 x 4:  0  1  2  3
  problem.spec.branches = {branchOf(std::nullopt, 1)};  //  4  5  6  7
  problem.spec.gridWindow = GridWindow{{3, 4}, {1, 1}}; //  8  9 10 11
  AttentionResult result = solve(problem);
  EXPECT_EQ(keysOf(result, 5), "0 1 2 4 5 6 8 9 10");
  EXPECT_EQ(keysOf(result, 3), "2 3 6 7");
  problem.spec.gridWindow->radius = {0, 2};
  EXPECT_EQ(keysOf(solve(problem), 11), "9 10 11");
  problem.spec.gridWindow = GridWindow{{2, 3, 2}, {1, 0, 1}};
  EXPECT_EQ(keysOf(solve(problem), 3), "2 3 8 9");
}

TEST(Pattern, B6_BlockMask) {
  Problem problem = counting(5, 5);
  problem.spec.branches = {branchOf(std::nullopt, 1)};
  problem.spec.blockMask = BlockSizes{2, 3};
  problem.blockMask = Tensor(DType::i1, {3, 2});
  problem.blockMask->set({0, 1}, 1);
  problem.blockMask->set({2, 0}, 1);
  AttentionResult result = solve(problem);
  EXPECT_EQ(keysOf(result, 0), "3 4");
  EXPECT_EQ(keysOf(result, 1), "3 4");
  EXPECT_EQ(keysOf(result, 2), "");
  EXPECT_EQ(keysOf(result, 4), "0 1 2");
  problem.spec.causal = true;
  EXPECT_EQ(keysOf(solve(problem), 1), "");
}

TEST(Pattern, O2_SegmentsCountAlongTheCurveAndCausalityDoesNot) {
  // Snake over 2 x 3:   0 1 2   so ordinals 0..5 are tokens 0 1 2 5 4 3.
  //                     3 4 5
  Problem problem = counting(6, 6);
  problem.spec.branches = {branchOf(2, 1)};
  layout::OrderSpec order;
  order.curve = "snake";
  order.grid = {2, 3};
  problem.spec.patternOrder = order;
  AttentionResult result = solve(problem);
  EXPECT_EQ(keysOf(result, 2), "2 5");
  EXPECT_EQ(keysOf(result, 5), "2 5");
  EXPECT_EQ(keysOf(result, 3), "3 4");
  problem.spec.causal = true;
  EXPECT_EQ(keysOf(solve(problem), 2), "2");
  problem.spec.causal = false;
  problem.spec.branches = {branchOf(6, 2)};
  EXPECT_EQ(keysOf(solve(problem), 4), "0 2 4"); // Ordinals 0 2 4.
  EXPECT_EQ(keysOf(solve(problem), 5), "");      // Ordinal 3.
  // Blocks of a mask are counted in ordinals, as well.
  problem.spec.branches = {branchOf(std::nullopt, 1)};
  problem.spec.blockMask = BlockSizes{2, 3};
  problem.blockMask = Tensor(DType::i1, {3, 2});
  problem.blockMask->set({1, 1}, 1); // Tokens 2 5 see tokens 5 4 3.
  EXPECT_EQ(keysOf(solve(problem), 5), "3 4 5");
  EXPECT_EQ(keysOf(solve(problem), 3), "");
}

TEST(Pattern, O2_AGridLargerThanTheSequence) {
  Problem problem = counting(4, 4);
  problem.spec.branches = {branchOf(3, 1)};
  layout::OrderSpec order; // Ordinals 0..5 are tokens 0 1 2 5 4 3.
  order.curve = "snake";
  order.grid = {2, 3};
  problem.spec.patternOrder = order;
  EXPECT_EQ(keysOf(solve(problem), 3), "3"); // Tokens 4 and 5 are no keys.
  EXPECT_EQ(keysOf(solve(problem), 0), "0 1 2");
}

TEST(Pattern, LocateFindsRowsOfPackedSequences) {
  Problem problem;
  problem.query = Tensor(DType::f32, {5, 1, 1});
  problem.key = problem.value = Tensor(DType::f32, {5, 1, 1});
  problem.cuSeqlensQ = problem.cuSeqlensK =
      vectorOf(DType::i64, {0, 0, 2, 2, 4});
  problem.spec.branches = {branchOf(2, 1)};
  AttentionInputs inputs = problem.inputs();
  ASSERT_TRUE(validate(problem.spec, inputs, nullptr));
  Pattern pattern(problem.spec, inputs);
  const int64_t sequences[] = {1, 1, 3, 3, -1};
  const int64_t positions[] = {0, 1, 0, 1, 0};
  for (int64_t row = 0; row < 5; ++row) {
    EXPECT_EQ(pattern.locate(0, row).sequence, sequences[row]) << row;
    EXPECT_EQ(pattern.locate(0, row).position, positions[row]) << row;
  }
}

} // namespace
