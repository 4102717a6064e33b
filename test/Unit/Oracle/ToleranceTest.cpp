//===- ToleranceTest.cpp - The comparison itself ----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Oracle/Tolerance.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace ringlet;
using namespace ringlet::oracle;

namespace {

Tensor tensorOf(DType dtype, std::initializer_list<double> values) {
  Tensor result(dtype, {static_cast<int64_t>(values.size())});
  int64_t i = 0;
  for (double value : values)
    result.set({i++}, value);
  return result;
}

struct Case {
  Tensor actual, reference, unfused;
  Comparison compare(Quantity quantity = Quantity::Output,
                     DType inputs = DType::f32) const {
    return oracle::compare(actual.view(), reference.view(), {unfused.view()},
                           quantity, inputs);
  }
};

Case caseOf(std::initializer_list<double> actual,
            std::initializer_list<double> reference,
            std::initializer_list<double> unfused) {
  return {tensorOf(DType::f32, actual), tensorOf(DType::f64, reference),
          tensorOf(DType::f32, unfused)};
}

TEST(Tolerance, OneRowWithAReasonForEachTypeAndQuantity) {
  std::set<std::pair<DType, Quantity>> rows;
  for (const Tolerance &row : toleranceTable()) {
    EXPECT_TRUE(rows.insert({row.inputs, row.quantity}).second);
    EXPECT_GT(std::string(row.reason).size(), 5u);
    EXPECT_EQ(findTolerance(row.inputs, row.quantity), &row);
    EXPECT_LE(row.factor, 2); // Section 7.
    EXPECT_LE(row.ulps, row.quantity == Quantity::Lse ? 2 : 1);
  }
  EXPECT_EQ(rows.size(), 6u);
  EXPECT_EQ(findTolerance(DType::i32, Quantity::Output), nullptr);
}

TEST(Tolerance, LimitIsTwiceTheUnfusedErrorPlusOneUlp) {
  double ulp = ulpOf(DType::f32, 1);
  double error = 0x1p-10;
  EXPECT_TRUE(caseOf({1 + 2 * error + ulp}, {1}, {1 + error}).compare().ok);
  EXPECT_FALSE(
      caseOf({1 + 2 * error + 2 * ulp}, {1}, {1 - error}).compare().ok);
  EXPECT_TRUE(caseOf({1 + ulp}, {1}, {1}).compare().ok);
  EXPECT_FALSE(caseOf({1 + 2 * ulp}, {1}, {1}).compare().ok);
  Comparison result = caseOf({1 + ulp}, {1}, {1 + error}).compare();
  EXPECT_EQ(result.maxError, ulp);
  EXPECT_EQ(result.unfusedMaxError, error);
  EXPECT_EQ(result.maxLimit, 2 * error + ulp);
}

/// The ulp is that of the element, not of the greatest one.
TEST(Tolerance, SmallElementsHaveSmallUlps) {
  EXPECT_FALSE(caseOf({1024, 1 + 0x1p-20}, {1024, 1}, {1024, 1}).compare().ok);
  EXPECT_TRUE(caseOf({1024 + 0x1p-13, 1}, {1024, 1}, {1024, 1}).compare().ok);
}

TEST(Tolerance, RmsCatchesErrorsThatTheMaximumAllows) {
  // One bad element of the unfused result would excuse all of ours.
  std::initializer_list<double> exact = {1, 1, 1, 1, 1, 1, 1, 1,
                                         1, 1, 1, 1, 1, 1, 1, 1};
  Case test = {tensorOf(DType::f32, exact), tensorOf(DType::f64, exact),
               tensorOf(DType::f32, exact)};
  test.unfused.set({3}, 1 + 0x1p-10);
  for (int64_t i = 0; i < 16; ++i)
    test.actual.set({i}, 1 + 0x1p-10);
  Comparison result = test.compare();
  EXPECT_LE(result.maxError, result.maxLimit);
  EXPECT_GT(result.rmsError, result.rmsLimit);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.rmsError, 0x1p-10);
  EXPECT_EQ(result.unfusedRmsError, 0x1p-12);
}

TEST(Tolerance, SeveralUnfusedResultsCountAsTheWorstAtEachElement) {
  Tensor actual = tensorOf(DType::f32, {1, 1});
  Tensor reference = tensorOf(DType::f64, {1, 1});
  Tensor first = tensorOf(DType::f32, {1.5, 1});
  Tensor second = tensorOf(DType::f32, {1.25, 0.75});
  Comparison result =
      compare(actual.view(), reference.view(), {first.view(), second.view()},
              Quantity::Output, DType::f32);
  EXPECT_EQ(result.unfusedMaxError, 0.5);
  EXPECT_EQ(result.unfusedRmsError, std::sqrt((0.25 + 0.0625) / 2));
  result = compare(actual.view(), reference.view(), {}, Quantity::Output,
                   DType::f32);
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.text.find("found none"), std::string::npos);
}

TEST(Tolerance, NaNAgainstANumberFailsEitherWay) {
  double nan = std::nan("");
  EXPECT_FALSE(caseOf({nan}, {1}, {1}).compare().ok);
  EXPECT_FALSE(caseOf({1}, {nan}, {1}).compare().ok);
  // A NaN of the yardstick excuses nothing.
  EXPECT_FALSE(caseOf({1.5}, {1}, {nan}).compare().ok);
  EXPECT_FALSE(caseOf({nan}, {1}, {nan}).compare().ok);
  EXPECT_TRUE(caseOf({nan, 1}, {nan, 1}, {1, 1}).compare().ok);
  Comparison result = caseOf({1, nan, 2}, {1, 5, 2.5}, {1, 5, 2.5}).compare();
  EXPECT_EQ(result.worst, Shape{1});
  EXPECT_NE(result.text.find("1 NaN or infinity"), std::string::npos)
      << result.text;
}

TEST(Tolerance, MinusInfinityMustBeMetExactly) {
  double infinity = HUGE_VAL;
  auto lse = [](const Case &test) {
    return test.compare(Quantity::Lse, DType::f16).ok;
  };
  EXPECT_TRUE(lse(caseOf({-infinity, 1}, {-infinity, 1}, {-infinity, 1})));
  EXPECT_FALSE(lse(caseOf({-1e30, 1}, {-infinity, 1}, {-infinity, 1})));
  EXPECT_FALSE(lse(caseOf({infinity, 1}, {-infinity, 1}, {-infinity, 1})));
  EXPECT_FALSE(lse(caseOf({-infinity, 1}, {-80, 1}, {-infinity, 1})));
}

TEST(Tolerance, OverflowOfTheStoredTypeIsAnInfinity) {
  Case test = {tensorOf(DType::f16, {HUGE_VAL, 1}),
               tensorOf(DType::f64, {70000, 1}),
               tensorOf(DType::f16, {HUGE_VAL, 1})};
  EXPECT_TRUE(test.compare(Quantity::Output, DType::f16).ok);
  test.actual.set({0}, 65504);
  EXPECT_FALSE(test.compare(Quantity::Output, DType::f16).ok);
}

TEST(Tolerance, LseNearZeroHasTheUlpOfOne) {
  double ulp = ulpOf(DType::f32, 1);
  Case test = caseOf({2 * ulp}, {0}, {0});
  EXPECT_TRUE(test.compare(Quantity::Lse).ok);
  EXPECT_FALSE(test.compare(Quantity::Output).ok);
  EXPECT_FALSE(caseOf({3 * ulp}, {0}, {0}).compare(Quantity::Lse).ok);
}

TEST(Tolerance, FarReferencesCostTheLseADigit) {
  Tensor exact(DType::f64, {1}), found(DType::f32, {1});
  auto isOk = [&](double error, DType inputs, bool isFar) {
    found.as<float>()[0] = static_cast<float>(error);
    return compare(found.view(), exact.view(), {exact.view()}, Quantity::Lse,
                   inputs, isFar)
        .ok;
  };
  EXPECT_TRUE(isOk(1.5e-6, DType::bf16, true));
  EXPECT_FALSE(isOk(1.6e-6, DType::bf16, true));
  EXPECT_FALSE(isOk(1.5e-6, DType::bf16, false));
  EXPECT_FALSE(isOk(1.5e-6, DType::f32, true));
}

TEST(Tolerance, ArgumentsThatDoNotFitAreFailures) {
  Case test = caseOf({1, 2}, {1, 2}, {1, 2});
  test.actual = tensorOf(DType::f32, {1});
  EXPECT_FALSE(test.compare().ok);
  EXPECT_NE(test.compare().text.find("expected shape [2], found [1]"),
            std::string::npos);
  test = caseOf({1}, {1}, {1});
  EXPECT_FALSE(test.compare(Quantity::Output, DType::f16).ok);
  EXPECT_NE(test.compare(Quantity::Output, DType::f16)
                .text.find("expected type f16, found f32"),
            std::string::npos);
  EXPECT_FALSE(test.compare(Quantity::Output, DType::f64).ok);
}

TEST(Tolerance, TextSaysWhereAndHowMuch) {
  Comparison result =
      caseOf({1, 2, 4}, {1, 2, 3}, {1, 2, 3 + 0x1p-20}).compare();
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.worst, Shape{2});
  EXPECT_EQ(result.worstActual, 4);
  EXPECT_EQ(result.worstReference, 3);
  EXPECT_NE(result.text.find("output: out of tolerance"), std::string::npos);
  EXPECT_NE(result.text.find("worst at [2]: got 4, exact 3"), std::string::npos)
      << result.text;
  EXPECT_TRUE(caseOf({}, {}, {}).compare().ok);
}

} // namespace
