//===- ResultTest.cpp - Numbers of the oracle, by hand ----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/Oracle/Problem.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::oracle;

namespace {

/// One row, two keys with scores 0 and `score`, values 0 and 1.
Problem twoKeys(double score) {
  Problem problem = zeros(1, 1, 2, 1, 1, 4, 1);
  problem.spec.branches = {branchOf(std::nullopt, 1)};
  problem.query.set({0, 0, 0, 0}, 1);
  problem.key.set({0, 1, 0, 0}, 2 * score); // 1 / sqrt(4) halves it.
  problem.value.set({0, 1, 0, 0}, 1);
  return problem;
}

double outputOf(const Problem &problem) {
  return solve(problem).output.get({0, 0, 0, 0});
}

TEST(Result, SoftmaxOfTwoKeys) {
  EXPECT_NEAR(outputOf(twoKeys(1)), 1 / (1 + std::exp(-1)), 1e-15);
  EXPECT_NEAR(solve(twoKeys(1)).lse.get({0, 0, 0}), std::log(1 + std::exp(1)),
              1e-15);
  Problem problem = twoKeys(1);
  problem.spec.scale = 0.25;
  EXPECT_NEAR(outputOf(problem), 1 / (1 + std::exp(-0.5)), 1e-15);
  problem.spec.softcap = 0.125;
  double capped = 0.125 * std::tanh(0.5 / 0.125);
  EXPECT_NEAR(outputOf(problem), 1 / (1 + std::exp(-capped)), 1e-15);
}

TEST(Result, LargeScoresDoNotOverflow) {
  EXPECT_EQ(outputOf(twoKeys(1e5)), 1);
  EXPECT_EQ(solve(twoKeys(1e5)).lse.get({0, 0, 0}), 1e5);
  EXPECT_EQ(outputOf(twoKeys(-1e5)), 0);
  EXPECT_EQ(solve(twoKeys(-1e5)).lse.get({0, 0, 0}), 0);
}

TEST(Result, AllScoresMinusInfinityGiveZeroAndNoNaN) {
  Problem problem = twoKeys(0);
  problem.key.set({0, 0, 0, 0}, -HUGE_VAL);
  problem.key.set({0, 1, 0, 0}, -HUGE_VAL);
  EXPECT_EQ(outputOf(problem), 0);
  EXPECT_EQ(solve(problem).lse.get({0, 0, 0}), -HUGE_VAL);
}

TEST(Result, R1_SharedKeysCountTwice) {
  Problem problem = counting(4, 4);
  problem.spec.branches = {branchOf(2, 1), branchOf(4, 2)};
  AttentionResult result = solve(problem);
  EXPECT_EQ(keysOf(result, 0), "0 0 1 2");
  EXPECT_EQ(keysOf(result, 1), "0 1");
  EXPECT_NEAR(result.lse.get({0, 0, 0}), std::log(4), 1e-15);
}

/// R1: equal to weighting each branch by the softmax of the branches' lse.
TEST(Result, R1_EqualsTheMixOfBranchesByLse) {
  std::mt19937_64 random(5);
  Problem problem = zeros(1, 13, 13, 2, 1, 8, 3);
  fillRandom(problem.query, random, 3);
  fillRandom(problem.key, random, 3);
  fillRandom(problem.value, random);
  std::vector<Branch> branches = {branchOf(4, 1), branchOf(9, 2),
                                  branchOf(std::nullopt, 3)};
  std::vector<AttentionResult> parts;
  for (const Branch &branch : branches) {
    problem.spec.branches = {branch};
    parts.push_back(solve(problem));
  }
  problem.spec.branches = branches;
  AttentionResult whole = solve(problem);
  for (int64_t row = 0; row < 13; ++row)
    for (int64_t head = 0; head < 2; ++head) {
      double lse = whole.lse.get({0, head, row});
      double weights = 0;
      double value = 0;
      for (const AttentionResult &part : parts) {
        double weight = std::exp(part.lse.get({0, head, row}) - lse);
        weights += weight;
        value += weight * part.output.get({0, row, head, 1});
      }
      EXPECT_NEAR(weights, 1, 1e-12);
      EXPECT_NEAR(value, whole.output.get({0, row, head, 1}), 1e-12);
    }
}

TEST(Result, R2_SumOfBranchesWithTheirOwnLse) {
  Problem problem = counting(4, 4);
  problem.spec.branches = {branchOf(2, 1), branchOf(4, 2)};
  problem.spec.mix = Mix::Sum;
  problem.spec.outputScale = 0.5;
  AttentionResult result = solve(problem);
  EXPECT_EQ(result.lse.shape(), (Shape{2, 1, 1, 4}));
  // Row 0: half of (1/2, 1/2, 0, 0) + (1/2, 0, 1/2, 0).
  EXPECT_EQ(result.output.get({0, 0, 0, 0}), 0.5);
  EXPECT_EQ(result.output.get({0, 0, 0, 1}), 0.25);
  EXPECT_EQ(result.output.get({0, 0, 0, 2}), 0.25);
  EXPECT_NEAR(result.lse.get({1, 0, 0, 0}), std::log(2), 1e-15);
  // Row 1 is not in branch 1.
  EXPECT_EQ(result.output.get({0, 1, 0, 1}), 0.25);
  EXPECT_EQ(result.lse.get({1, 0, 0, 1}), -HUGE_VAL);
  problem.spec.outputScale.reset();
  EXPECT_EQ(solve(problem).output.get({0, 0, 0, 0}), 1);
}

TEST(Result, R2_PackedLseHasTheBranchAxisFirst) {
  Problem problem;
  problem.query = Tensor(DType::f32, {5, 3, 2});
  problem.key = Tensor(DType::f32, {4, 3, 2});
  problem.value = Tensor(DType::f32, {4, 3, 7});
  problem.cuSeqlensQ = vectorOf(DType::i32, {0, 5});
  problem.cuSeqlensK = vectorOf(DType::i32, {0, 4});
  problem.spec.branches = {branchOf(2, 1), branchOf(4, 2)};
  EXPECT_EQ(solve(problem).lse.shape(), (Shape{3, 5}));
  EXPECT_EQ(solve(problem).output.shape(), (Shape{5, 3, 7}));
  problem.spec.mix = Mix::Sum;
  EXPECT_EQ(solve(problem).lse.shape(), (Shape{2, 3, 5}));
}

TEST(Result, R3_SinkJoinsTheUnionOnceAndIsNeitherScaledNorCapped) {
  Problem problem = counting(1, 3);
  problem.spec.branches = {branchOf(std::nullopt, 1),
                           branchOf(std::nullopt, 1)};
  problem.spec.scale = 100;
  problem.spec.softcap = 0.01;
  problem.sink = vectorOf(DType::f32, {2});
  double total = 6 + std::exp(2);
  AttentionResult result = solve(problem);
  EXPECT_NEAR(result.output.get({0, 0, 0, 1}), 2 / total, 1e-15);
  EXPECT_NEAR(result.lse.get({0, 0, 0}), std::log(total), 1e-15);
}

TEST(Result, R3_SinkUnderSumJoinsEachBranchThatTheRowIsIn) {
  Problem problem = counting(2, 2);
  problem.spec.branches = {branchOf(2, 1), branchOf(2, 2)};
  problem.spec.mix = Mix::Sum;
  problem.sink = vectorOf(DType::f32, {0});
  AttentionResult result = solve(problem);
  EXPECT_NEAR(result.output.get({0, 0, 0, 0}), 1 / 3.0 + 1 / 2.0, 1e-15);
  EXPECT_NEAR(result.lse.get({0, 0, 0, 0}), std::log(3), 1e-15);
  EXPECT_NEAR(result.lse.get({1, 0, 0, 0}), std::log(2), 1e-15);
  EXPECT_EQ(result.lse.get({1, 0, 0, 1}), -HUGE_VAL); // Not in it: no sink.
}

TEST(Result, R3_KeylessRows) {
  Problem problem = counting(2, 2);
  problem.spec.branches = {branchOf(2, 2)}; // Row 1 is in no branch.
  AttentionResult result = solve(problem);
  EXPECT_EQ(result.output.get({0, 1, 0, 0}), 0);
  EXPECT_EQ(result.lse.get({0, 0, 1}), -HUGE_VAL);
  problem.sink = vectorOf(DType::f16, {1.5});
  result = solve(problem);
  EXPECT_EQ(result.output.get({0, 1, 0, 0}), 0);
  EXPECT_EQ(result.lse.get({0, 0, 1}), 1.5);
  problem.sink = vectorOf(DType::f32, {-HUGE_VAL}); // As if there were none.
  result = solve(problem);
  EXPECT_EQ(result.output.get({0, 0, 0, 0}), 1);
  EXPECT_EQ(result.lse.get({0, 0, 1}), -HUGE_VAL);
  // Rows past a length have no sink.
  problem.sink = vectorOf(DType::f32, {1.5});
  problem.lengthsQ = vectorOf(DType::i32, {1});
  result = solve(problem);
  EXPECT_EQ(result.lse.get({0, 0, 1}), -HUGE_VAL);
  // No key at all.
  problem = zeros(1, 2, 0, 1, 1, 4, 3);
  problem.spec.branches = {branchOf(2, 1)};
  result = solve(problem);
  EXPECT_EQ(result.output.get({0, 1, 0, 2}), 0);
  EXPECT_EQ(result.lse.get({0, 0, 1}), -HUGE_VAL);
}

TEST(Result, StridedInputsGiveTheSameNumbers) {
  std::mt19937_64 random(11);
  Problem problem = zeros(2, 6, 6, 2, 2, 5, 5);
  fillRandom(problem.query, random);
  fillRandom(problem.key, random);
  fillRandom(problem.value, random);
  problem.spec.branches = {branchOf(4, 1), branchOf(6, 2)};
  AttentionResult expected = solve(problem);

  // Q, K and V inside one fused [B, H, S, 3, D] tensor, read as [B, S, H, D].
  Tensor fused(DType::f32, {2, 2, 6, 3, 5});
  const Tensor *parts[] = {&problem.query, &problem.key, &problem.value};
  AttentionInputs inputs;
  TensorView *views[] = {&inputs.query, &inputs.key, &inputs.value};
  for (int64_t part = 0; part < 3; ++part) {
    MutableTensorView view(fused.as<float>() + part * 5, DType::f32,
                           {2, 6, 2, 5}, {180, 15, 90, 1});
    copyElements(parts[part]->view(), view);
    *views[part] = view;
  }
  std::optional<AttentionResult> got = attention(problem.spec, inputs, nullptr);
  ASSERT_TRUE(got);
  forEachIndex(expected.output.shape(), [&](const int64_t *indices) {
    EXPECT_EQ(got->output.view().get(indices),
              expected.output.view().get(indices));
  });
}

TEST(Result, StrideZeroAxesAreOneRowManyTimes) {
  Problem problem = zeros(1, 3, 3, 1, 1, 2, 1);
  problem.spec.branches = {branchOf(std::nullopt, 1)};
  problem.value.set({0, 0, 0, 0}, 6);
  AttentionInputs inputs = problem.inputs();
  inputs.value =
      TensorView(problem.value.data(), DType::f32, {1, 3, 1, 1}, {0, 0, 0, 1});
  std::optional<AttentionResult> result =
      attention(problem.spec, inputs, nullptr);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->output.get({0, 2, 0, 0}), 6);
}

/// Sampled rows, in any order and repeated, are those of the whole result;
/// so is every number of threads.
TEST(Result, SampledRowsAndThreads) {
  std::mt19937_64 random(3);
  Problem problem = zeros(2, 9, 11, 4, 2, 6, 3);
  fillRandom(problem.query, random);
  fillRandom(problem.key, random);
  fillRandom(problem.value, random);
  problem.spec.branches = {branchOf(4, 1), branchOf(8, 2)};
  problem.spec.mix = Mix::Sum;
  AttentionResult whole = solve(problem, {std::nullopt, 1});
  std::vector<int64_t> rows = {8, 0, 3, 3};
  AttentionResult some = solve(problem, {rows, 7});
  EXPECT_EQ(some.output.shape(), (Shape{2, 4, 4, 3}));
  Tensor output = takeIndices(whole.output.view(), 1, rows);
  Tensor lse = takeIndices(whole.lse.view(), 3, rows);
  forEachIndex(output.shape(), [&](const int64_t *indices) {
    EXPECT_EQ(some.output.view().get(indices), output.view().get(indices));
  });
  forEachIndex(lse.shape(), [&](const int64_t *indices) {
    EXPECT_EQ(some.lse.view().get(indices), lse.view().get(indices));
  });
  std::string error;
  EXPECT_FALSE(attention(problem.spec, problem.inputs(), &error,
                         {std::vector<int64_t>{9}, 1}));
  EXPECT_NE(error.find("rows in [0, 9), found 9"), std::string::npos) << error;
}

TEST(Result, EmptyBatchAndNoRows) {
  Problem problem = zeros(0, 4, 4, 1, 1, 2, 2);
  problem.spec.branches = {branchOf(2, 1)};
  EXPECT_EQ(solve(problem).output.shape(), (Shape{0, 4, 1, 2}));
  problem = zeros(2, 0, 4, 1, 1, 2, 2);
  problem.spec.branches = {branchOf(2, 1)};
  EXPECT_EQ(solve(problem).lse.shape(), (Shape{2, 1, 0}));
}

} // namespace
