//===- UnfusedTest.cpp - The yardstick and what it lets pass ----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A comparison is worth something if it accepts every sound kernel and refuses
// every unsound one. The kernel here is a scalar model of a fused one: tiles of
// keys, a running maximum in powers of 2, probabilities rounded before they are
// normalised. It can be told to make the mistakes that such kernels make.
//
//===----------------------------------------------------------------------===//

#include "test/Unit/Oracle/RandomProblem.h"

#include "lib/Oracle/Check.h"
#include "lib/Oracle/Pattern.h"
#include "lib/Oracle/Unfused.h"
#include "lib/Tensor/Safetensors.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::oracle;

namespace {

enum class Fault {
  None,
  DropLastKey,
  CountPaddingKey,
  ForgetRescale,
  KeepOldSum,
  NaturalExp,
  IgnoreScale,
  RoundAccumulator,
  LseWithoutMax,
  ZeroForEmptyLse,
  WrongKeyHead,
};

const Fault kFaults[] = {
    Fault::DropLastKey,      Fault::CountPaddingKey, Fault::ForgetRescale,
    Fault::KeepOldSum,       Fault::NaturalExp,      Fault::IgnoreScale,
    Fault::RoundAccumulator, Fault::LseWithoutMax,   Fault::ZeroForEmptyLse,
    Fault::WrongKeyHead,
};

/// Mix::Softmax without sink or softcap, padded operands.
AttentionResult fusedModel(const Problem &problem, int64_t tile, Fault fault) {
  const AttentionSpec &spec = problem.spec;
  AttentionInputs inputs = problem.inputs();
  Pattern pattern(spec, inputs);
  DType dtype = problem.query.dtype();
  const Shape &shape = problem.query.shape();
  int64_t dim = shape[3];
  int64_t valueDim = problem.value.shape()[3];
  AttentionResult result;
  result.output = Tensor(dtype, {shape[0], shape[1], shape[2], valueDim});
  result.lse = Tensor(DType::f32, {shape[0], shape[2], shape[1]});
  auto scale = static_cast<float>(
      spec.scale.value_or(1 / std::sqrt(static_cast<double>(dim))) *
      (fault == Fault::NaturalExp ? 1 : 1.4426950408889634));
  if (fault == Fault::IgnoreScale)
    scale = 1.4426950408889634f;

  const Tensor query = Tensor::copyOf(problem.query.view(), DType::f32);
  const Tensor key = Tensor::copyOf(problem.key.view(), DType::f32);
  const Tensor value = Tensor::copyOf(problem.value.view(), DType::f32);
  auto rowOf = [](const Tensor &tensor, int64_t batch, int64_t row,
                  int64_t head) {
    const Shape &sizes = tensor.shape();
    return tensor.as<float>() +
           ((batch * sizes[1] + row) * sizes[2] + head) * sizes[3];
  };

  std::vector<int64_t> keys;
  std::vector<float> scores;
  std::vector<float> sums(static_cast<size_t>(valueDim));
  forEachIndex({shape[0], shape[1], shape[2]}, [&](const int64_t *at) {
    QueryRow row = pattern.locate(at[0], at[1]);
    int64_t head = at[2];
    int64_t keyHead = fault == Fault::WrongKeyHead ? head % pattern.keyHeads()
                                                   : pattern.keyHead(head);
    const float *queryRow = rowOf(query, at[0], at[1], head);
    keys.clear();
    for (const Branch &branch : spec.branches)
      pattern.forEachKey(branch, row, head,
                         [&](int64_t u) { keys.push_back(u); });
    if (fault == Fault::DropLastKey && !keys.empty())
      keys.pop_back();

    float max = -INFINITY;
    float total = 0;
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (size_t begin = 0; begin < keys.size();
         begin += static_cast<size_t>(tile)) {
      size_t end = std::min(keys.size(), begin + static_cast<size_t>(tile));
      scores.clear();
      float next = max;
      for (size_t k = begin; k < end; ++k) {
        float sum = 0;
        const float *keyRow = rowOf(key, at[0], keys[k], keyHead);
        for (int64_t i = 0; i < dim; ++i)
          sum += queryRow[i] * keyRow[i];
        scores.push_back(sum);
        next = std::max(next, scores.back());
      }
      float factor = std::exp2(scale * (max - next));
      max = next;
      if (fault != Fault::KeepOldSum)
        total *= factor;
      for (float &sum : sums) {
        if (fault != Fault::ForgetRescale)
          sum *= factor;
        if (fault == Fault::RoundAccumulator)
          sum = static_cast<float>(roundTo(DType::bf16, sum));
      }
      for (size_t k = begin; k < end; ++k) {
        float weight = std::exp2(scale * (scores[k - begin] - max));
        total += weight;
        auto rounded = static_cast<float>(roundTo(dtype, weight));
        const float *valueRow = rowOf(value, at[0], keys[k], keyHead);
        for (int64_t i = 0; i < valueDim; ++i)
          sums[i] += rounded * valueRow[i];
      }
    }
    if (fault == Fault::CountPaddingKey && !keys.empty())
      total += std::exp2(-max * scale);
    for (int64_t i = 0; i < valueDim; ++i)
      result.output.set({at[0], at[1], head, i},
                        total > 0 ? sums[i] / total : 0);
    float lse = fault == Fault::LseWithoutMax
                    ? std::log(total)
                    : (max * scale + std::log2(total)) * 0.6931471805599453f;
    if (keys.empty())
      lse = fault == Fault::ZeroForEmptyLse ? -1e30f : -INFINITY;
    result.lse.set({at[0], head, at[1]}, lse);
  });
  return result;
}

Verdict judge(const Problem &problem, const AttentionResult &actual) {
  std::string error;
  std::optional<Verdict> verdict =
      checkAttention(problem.spec, problem.inputs(), actual.output.view(),
                     actual.lse.view(), &error, {std::nullopt, 1});
  EXPECT_TRUE(verdict) << error;
  return verdict.value_or(Verdict());
}

/// LongNet-like: nested branches over some tens of tokens, two key heads. The
/// first rows lie before the keys: they have none.
Problem randomLongNet(std::mt19937_64 &random, DType dtype) {
  auto between = [&](int64_t least, int64_t greatest) {
    return std::uniform_int_distribution<int64_t>(least, greatest)(random);
  };
  Problem problem;
  int64_t rows = between(20, 150);
  int64_t dim = 8 * between(1, 4);
  problem.query = Tensor(dtype, {1, rows, 4, dim});
  problem.key = Tensor(dtype, {1, rows, 2, dim});
  problem.value = Tensor(dtype, {1, rows, 2, dim});
  fillRandom(problem.query, random, 1.5);
  fillRandom(problem.key, random, 1.5);
  fillRandom(problem.value, random);
  int64_t segment = between(5, 40);
  problem.spec.branches = {branchOf(segment, 1), branchOf(3 * segment, 3),
                           branchOf(std::nullopt, 4)};
  problem.spec.causal = between(0, 1) != 0;
  problem.spec.branches[2].segment = rows;
  problem.qOffset = vectorOf(DType::i32, {-2});
  return problem;
}

TEST(Unfused, EveryArithmeticIsWithinAFewUlpsOfTheOracle) {
  std::mt19937_64 random(99);
  const std::vector<Arithmetic> &ways = arithmeticsFor(DType::f32);
  for (size_t i = 0; i < 600; ++i) {
    Problem problem = randomProblem(random, 1 + i % 30);
    SCOPED_TRACE(describe(problem));
    std::string error;
    std::optional<AttentionResult> exact =
        attention(problem.spec, problem.inputs(), &error, {std::nullopt, 1});
    std::optional<AttentionResult> unfused =
        unfusedAttention(problem.spec, problem.inputs(), &error,
                         {std::nullopt, 1}, ways[i % ways.size()]);
    ASSERT_TRUE(exact && unfused) << error;
    DType dtype = problem.query.dtype();
    ASSERT_EQ(unfused->output.dtype(), dtype);
    ASSERT_EQ(unfused->lse.dtype(), DType::f32);
    ASSERT_EQ(unfused->output.shape(), exact->output.shape());
    ASSERT_EQ(unfused->lse.shape(), exact->lse.shape());
    // Values are about 1; up to four branches and some factor are added up.
    double factor =
        std::max(1.0, std::fabs(problem.spec.outputScale.value_or(1)));
    double bound = 4 * 4 * factor * ulpOf(dtype, 4.0);
    forEachIndex(exact->output.shape(), [&](const int64_t *indices) {
      ASSERT_NEAR(unfused->output.view().get(indices),
                  exact->output.view().get(indices), bound);
    });
    forEachIndex(exact->lse.shape(), [&](const int64_t *indices) {
      double got = unfused->lse.view().get(indices);
      double expected = exact->lse.view().get(indices);
      if (std::isinf(expected)) {
        ASSERT_EQ(got, expected);
      } else {
        ASSERT_NEAR(got, expected, 1e-4);
      }
    });
  }
}

/// Row sums use unrounded probabilities (R4), so with values of 1 the output is
/// 1 but for the rounding of P and of the sums.
TEST(Unfused, ValuesOfOneGiveOne) {
  std::mt19937_64 random(4);
  for (DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    Problem problem = randomLongNet(random, dtype);
    MutableTensorView view = problem.value.view();
    forEachIndex(view.sizes(),
                 [&](const int64_t *indices) { view.set(indices, 1); });
    std::optional<AttentionResult> result =
        unfusedAttention(problem.spec, problem.inputs(), nullptr);
    ASSERT_TRUE(result);
    std::optional<AttentionResult> exact =
        attention(problem.spec, problem.inputs(), nullptr);
    forEachIndex(result->output.shape(), [&](const int64_t *indices) {
      double expected = exact->output.view().get(indices);
      ASSERT_TRUE(std::fabs(expected - 1) < 1e-12 || expected == 0);
      ASSERT_NEAR(result->output.view().get(indices), expected,
                  8 * ulpOf(dtype, 1));
    });
  }
}

/// A sum to which 300000 equal terms are added one after the other is off by
/// 2e-3.
TEST(Unfused, LongSumsAreSumsOfParts) {
  constexpr int64_t keys = 300000;
  Tensor query(DType::f32, {1, 1, 1, 1});
  Tensor key(DType::f32, {1, keys, 1, 1}), value(DType::f32, {1, keys, 1, 1});
  std::fill_n(value.as<float>(), keys, 0.1f);
  AttentionSpec spec;
  spec.branches.push_back({});
  AttentionInputs inputs;
  inputs.query = std::as_const(query).view();
  inputs.key = std::as_const(key).view();
  inputs.value = std::as_const(value).view();
  for (Arithmetic arithmetic : arithmeticsFor(DType::f32)) {
    std::optional<AttentionResult> result =
        unfusedAttention(spec, inputs, nullptr, {}, arithmetic);
    ASSERT_TRUE(result);
    EXPECT_NEAR(result->output.view().get({0, 0, 0, 0}), 0.1f, 3e-4 * 0.1f);
  }
  // So a kernel that does it does not pass.
  Tensor output(DType::f32, {1, 1, 1, 1});
  *output.as<float>() = 0.1f * 1.002f;
  std::optional<Verdict> verdict = checkAttention(
      spec, inputs, std::as_const(output).view(), std::nullopt, nullptr);
  ASSERT_TRUE(verdict);
  EXPECT_FALSE(verdict->ok()) << verdict->text();
}

TEST(Unfused, SoundKernelsPass) {
  std::mt19937_64 random(7);
  int64_t judged = 0;
  for (int i = 0; i < 150; ++i) {
    auto dtype = static_cast<DType>(i % 3);
    Problem problem = randomLongNet(random, dtype);
    for (int64_t tile : {1, 16, 64}) {
      Verdict verdict = judge(problem, fusedModel(problem, tile, Fault::None));
      judged += verdict.output.elements;
      EXPECT_TRUE(verdict.ok()) << describe(problem) << " tile " << tile << "\n"
                                << verdict.text();
    }
  }
  EXPECT_GT(judged, 1000000);
}

/// The weight of one key beside others that are far below or above it: a
/// handful of roundings, in which three forms may all do better than a sound
/// kernel.
TEST(Unfused, SoundKernelsPassWhereFewRoundingsDecide) {
  std::mt19937_64 random(8);
  int lucky = 0;
  for (int i = 0; i < 1500; ++i) {
    Problem problem;
    int64_t keys = 2 + i % 3;
    problem.query = Tensor(DType::f32, {1, 1, 2, 8});
    problem.key = Tensor(DType::f32, {1, keys, 1, 8});
    problem.value = Tensor(DType::f32, {1, keys, 1, 2});
    fillRandom(problem.query, random, 3);
    fillRandom(problem.key, random, 3);
    fillRandom(problem.value, random);
    problem.spec.branches = {branchOf(std::nullopt, 1)};
    AttentionResult kernel = fusedModel(problem, 16, Fault::None);
    Verdict verdict = judge(problem, kernel);
    EXPECT_TRUE(verdict.ok()) << keys << " keys\n" << verdict.text();
    auto error = [&](const AttentionResult &result) {
      auto exact = attention(problem.spec, problem.inputs(), nullptr);
      return std::fabs(result.output.get({0, 0, 0, 0}) -
                       exact->output.get({0, 0, 0, 0}));
    };
    double most = 0;
    for (Arithmetic way : arithmeticsFor(DType::f16))
      most =
          std::max(most, error(*unfusedAttention(problem.spec, problem.inputs(),
                                                 nullptr, {}, way)));
    lucky += error(kernel) > 2 * most + ulpOf(DType::f32, 0.5);
  }
  // The forms alone would not do.
  EXPECT_GT(lucky, 3);
}

TEST(Unfused, EveryFaultIsCaughtInEveryType) {
  for (Fault fault : kFaults)
    for (int type = 0; type < 3; ++type) {
      std::mt19937_64 random(21);
      auto dtype = static_cast<DType>(type);
      // To bf16 inputs a sum in bf16 does not look worse than P in bf16.
      if (fault == Fault::RoundAccumulator && dtype == DType::bf16)
        continue;
      Problem problem = randomLongNet(random, dtype);
      Verdict verdict = judge(problem, fusedModel(problem, 4, fault));
      EXPECT_FALSE(verdict.ok()) << "fault " << static_cast<int>(fault)
                                 << " in " << describe(problem) << "\n"
                                 << verdict.text();
    }
}

/// The committed operands of a real model, on a sample of rows: each unfused
/// result passes as if it were ours, and a wrong one does not.
TEST(Check, RealOperandsOnSampledRows) {
  std::string error;
  std::optional<Safetensors> file = readSafetensors(
      std::string(RINGLET_TEST_DATA) + "/minilm_qkv.safetensors", &error);
  ASSERT_TRUE(file) << error;
  Problem problem;
  problem.query = *file->find("query");
  problem.key = *file->find("key");
  problem.value = *file->find("value");
  ASSERT_EQ(problem.query.shape(), (Shape{1, 5120, 4, 32}));
  problem.spec.branches = {branchOf(1024, 1), branchOf(2048, 2),
                           branchOf(std::nullopt, 4)};
  AttentionOptions options;
  options.rows = {0, 1, 1023, 1024, 2050, 4095, 5119};
  std::optional<AttentionResult> some =
      unfusedAttention(problem.spec, problem.inputs(), &error, options);
  ASSERT_TRUE(some) << error;

  // A whole result that holds NaN in the rows that are not looked at.
  Tensor output(DType::f16, {1, 5120, 4, 32});
  Tensor lse(DType::f32, {1, 4, 5120});
  MutableTensorView outputView = output.view();
  forEachIndex(output.shape(), [&](const int64_t *indices) {
    outputView.set(indices, std::nan(""));
  });
  forEachIndex(some->output.shape(), [&](const int64_t *at) {
    outputView.set({0, (*options.rows)[at[1]], at[2], at[3]},
                   some->output.view().get(at));
  });
  forEachIndex(some->lse.shape(), [&](const int64_t *at) {
    lse.set({0, at[1], (*options.rows)[at[2]]}, some->lse.view().get(at));
  });
  auto check = [&] {
    std::optional<Verdict> verdict =
        checkAttention(problem.spec, problem.inputs(), output.view(),
                       lse.view(), &error, options);
    EXPECT_TRUE(verdict) << error;
    return verdict.value_or(Verdict());
  };
  Verdict verdict = check();
  EXPECT_TRUE(verdict.ok()) << verdict.text();
  EXPECT_EQ(verdict.output.elements, 7 * 4 * 32);
  EXPECT_GT(verdict.output.maxError, 0);
  EXPECT_LT(verdict.output.maxError, 4e-3) << verdict.text();
  // 1024 + 1024 + 1280 keys: the lse is near the log of their number.
  EXPECT_NEAR(lse.get({0, 0, 0}), std::log(3328), 5);

  output.set({0, 4095, 2, 7}, output.get({0, 4095, 2, 7}) + 0.01);
  verdict = check();
  EXPECT_FALSE(verdict.output.ok);
  EXPECT_TRUE(verdict.lse->ok);
  EXPECT_EQ(verdict.output.worst, (Shape{0, 5, 2, 7}));
  lse.set({0, 3, 1023}, -HUGE_VAL);
  EXPECT_FALSE(check().lse->ok);
}

TEST(Check, RefusesOtherShapesAndBrokenRules) {
  std::mt19937_64 random(1);
  Problem problem = randomLongNet(random, DType::f32);
  Tensor output(DType::f32, problem.query.shape());
  std::string error;
  EXPECT_TRUE(checkAttention(problem.spec, problem.inputs(), output.view(),
                             std::nullopt, &error));
  Tensor shorter(DType::f32, {1, 2, 4, 8});
  EXPECT_FALSE(checkAttention(problem.spec, problem.inputs(), shorter.view(),
                              std::nullopt, &error));
  EXPECT_NE(error.find("found [1, 2, 4, 8]"), std::string::npos) << error;
  EXPECT_FALSE(checkAttention(problem.spec, problem.inputs(), output.view(),
                              output.view(), &error));
  EXPECT_NE(error.find("expected lse of shape"), std::string::npos) << error;
  problem.spec.branches.clear();
  EXPECT_FALSE(checkAttention(problem.spec, problem.inputs(), output.view(),
                              std::nullopt, &error));
  EXPECT_NE(error.find("branch"), std::string::npos) << error;
}

} // namespace
