//===- PrecisionTest.cpp - Products of f32 in parts -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/Precision.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace ringlet;

namespace {

/// Numbers of all signs and exponents whose parts are normal numbers.
float drawNumber(std::mt19937_64 &random) {
  std::uniform_real_distribution<double> fraction(-2, 2);
  std::uniform_int_distribution<int> exponent(-40, 40);
  return static_cast<float>(std::ldexp(fraction(random), exponent(random)));
}

TEST(Precision, TF32HasElevenDigits) {
  EXPECT_EQ(roundToTF32(1), 1.0f);
  EXPECT_EQ(roundToTF32(1 + 0x1p-10f), 1 + 0x1p-10f);
  // Of two numbers at one distance, the greater in magnitude.
  EXPECT_EQ(roundToTF32(1 + 0x1p-11f), 1 + 0x1p-10f);
  EXPECT_EQ(roundToTF32(-1 - 0x1p-11f), -1 - 0x1p-10f);
  EXPECT_EQ(roundToTF32(1 + 0x1p-11f - 0x1p-23f), 1.0f);
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(roundToTF32(infinity), infinity);
  EXPECT_EQ(roundToTF32(std::numeric_limits<float>::max()), infinity);
  EXPECT_TRUE(std::isnan(roundToTF32(std::nanf(""))));
}

TEST(Precision, ExactProductsAreThoseOfF64) {
  EXPECT_EQ(multiplyAs(Precision::f32, 0.1f, 0.3f),
            double(0.1f) * double(0.3f));
}

/// The bounds of R7, and that they are no looser than by a factor of 3.
TEST(Precision, ProductsAreOffByWhatTheRuleSays) {
  struct {
    Precision precision;
    double bound;
  } rows[] = {{Precision::tf32, 0x1p-10},
              {Precision::tf32x3, 5 * 0x1p-22},
              {Precision::bf16x3, 3 * 0x1p-16}};
  std::mt19937_64 random(1);
  for (auto [precision, bound] : rows) {
    SCOPED_TRACE(nameOf(precision));
    double worst = 0;
    for (int i = 0; i < 200000; ++i) {
      float a = drawNumber(random), b = drawNumber(random);
      double exact = double(a) * double(b);
      double error = std::fabs(multiplyAs(precision, a, b) - exact);
      worst = std::max(worst, error / std::fabs(exact));
    }
    EXPECT_LE(worst, 1.01 * bound);
    EXPECT_GE(worst, bound / 3);
  }
}

TEST(Precision, PartsAreWhatInstructionsTake) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 10000; ++i) {
    float value = drawNumber(random);
    Parts tf32(Precision::tf32x3, value), bf16(Precision::bf16x3, value);
    EXPECT_EQ(bitsOfFloat(tf32.high) & 0x1fff, 0u);
    EXPECT_EQ(bitsOfFloat(tf32.low) & 0x1fff, 0u);
    EXPECT_EQ(bitsOfFloat(bf16.high) & 0xffff, 0u);
    EXPECT_EQ(bitsOfFloat(bf16.low) & 0xffff, 0u);
    EXPECT_EQ(Parts(Precision::tf32, value).low, 0.0f);
    EXPECT_EQ(Parts(Precision::f32, value).high, value);
  }
}

} // namespace
