//===- DTypeTest.cpp - Narrow float conversions -----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/DType.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace ringlet;

namespace {

struct Format {
  const char *name;
  int mantissaBits;
  int exponentBits;
  uint16_t (*narrow)(double);
  float (*widen)(uint16_t);
};

const Format kFormats[] = {{"f16", 10, 5, doubleToF16, f16ToFloat},
                           {"bf16", 7, 8, doubleToBF16, bf16ToFloat}};

/// The value of a bit pattern straight from the definition of the format.
double valueOf(const Format &format, uint16_t bits) {
  int mantissa = bits & ((1 << format.mantissaBits) - 1);
  int exponent =
      (bits >> format.mantissaBits) & ((1 << format.exponentBits) - 1);
  int bias = (1 << (format.exponentBits - 1)) - 1;
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << format.exponentBits) - 1)
    return mantissa ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - bias - format.mantissaBits);
  return sign * std::ldexp(mantissa + (1 << format.mantissaBits),
                           exponent - bias - format.mantissaBits);
}

uint16_t infinityOf(const Format &format) {
  return static_cast<uint16_t>(((1 << format.exponentBits) - 1)
                               << format.mantissaBits);
}

TEST(DType, NamesAndSizes) {
  const std::pair<DType, std::string> names[] = {
      {DType::f16, "f16"}, {DType::bf16, "bf16"},
      {DType::f32, "f32"}, {DType::f64, "f64"},
      {DType::i1, "i1"},   {DType::i32, "i32"},
      {DType::i64, "i64"}, {DType::f8E4M3FN, "f8E4M3FN"},
      {DType::i8, "i8"}};
  const int64_t sizes[] = {2, 2, 4, 8, 1, 4, 8, 1, 1};
  for (int i = 0; i < kNumDTypes; ++i) {
    EXPECT_EQ(nameOf(names[i].first), names[i].second);
    EXPECT_EQ(parseDType(names[i].second), names[i].first);
    EXPECT_EQ(sizeOf(names[i].first), sizes[i]);
    EXPECT_EQ(isFloat(names[i].first), i < 4);
  }
  EXPECT_EQ(parseDType("f8"), std::nullopt);
  EXPECT_EQ(parseDType(""), std::nullopt);
}

TEST(DType, EveryPatternWidensToItsValueAndComesBack) {
  for (const Format &format : kFormats)
    for (int bits = 0; bits < 0x10000; ++bits) {
      auto pattern = static_cast<uint16_t>(bits);
      double expected = valueOf(format, pattern);
      float wide = format.widen(pattern);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(wide)) << format.name << " " << bits;
        uint16_t back = format.narrow(wide);
        // Sign and payload are kept; the quiet bit may be added.
        ASSERT_EQ(back | 1 << (format.mantissaBits - 1),
                  pattern | 1 << (format.mantissaBits - 1));
        continue;
      }
      ASSERT_EQ(wide, expected) << format.name << " " << bits;
      ASSERT_EQ(std::signbit(wide), std::signbit(expected));
      ASSERT_EQ(format.narrow(wide), pattern) << format.name << " " << bits;
    }
}

/// Between each two neighbours: just below the middle, the middle and just
/// above it, in doubles, so that a second rounding in float would be seen.
TEST(DType, NarrowingRoundsOnceToNearestEven) {
  for (const Format &format : kFormats)
    for (int bits = 0; bits + 1 < infinityOf(format); ++bits) {
      auto low = static_cast<uint16_t>(bits);
      auto high = static_cast<uint16_t>(bits + 1);
      double middle = (valueOf(format, low) + valueOf(format, high)) / 2;
      uint16_t even = bits % 2 == 0 ? low : high;
      for (int sign : {0, 0x8000}) {
        double flip = sign ? -1 : 1;
        ASSERT_EQ(format.narrow(flip * std::nextafter(middle, 0.0)),
                  low | sign);
        ASSERT_EQ(format.narrow(flip * middle), even | sign);
        ASSERT_EQ(format.narrow(flip * std::nextafter(middle, HUGE_VAL)),
                  high | sign);
      }
    }
}

TEST(DType, OverflowBecomesInfinityFromTheMiddleOn) {
  for (const Format &format : kFormats) {
    uint16_t infinity = infinityOf(format);
    double greatest = valueOf(format, infinity - 1);
    double step = greatest - valueOf(format, infinity - 2);
    double middle = greatest + step / 2;
    EXPECT_EQ(format.narrow(std::nextafter(middle, 0.0)), infinity - 1);
    EXPECT_EQ(format.narrow(middle), infinity);
    EXPECT_EQ(format.narrow(1e300), infinity);
    EXPECT_EQ(format.narrow(-HUGE_VAL), infinity | 0x8000);
  }
}

TEST(DType, UnderflowBecomesSignedZero) {
  for (const Format &format : kFormats) {
    double least = valueOf(format, 1);
    EXPECT_EQ(format.narrow(least / 2), 0);
    EXPECT_EQ(format.narrow(-least / 2), 0x8000);
    EXPECT_EQ(format.narrow(std::nextafter(least / 2, 1.0)), 1);
    EXPECT_EQ(format.narrow(std::numeric_limits<double>::denorm_min()), 0);
    EXPECT_EQ(format.narrow(-1e-300), 0x8000);
    EXPECT_EQ(format.narrow(-0.0), 0x8000);
  }
}

/// 1 + 2^-11 + 2^-40 is above the middle of two f16 numbers, yet rounds to
/// that middle in float.
TEST(DType, NoDoubleRoundingThroughFloat) {
  double value = 1 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(doubleToF16(value), 0x3c01);
  EXPECT_EQ(doubleToF16(static_cast<float>(value)), 0x3c00);
}

TEST(DType, RandomDoublesGoToTheNearest) {
  std::mt19937_64 random(17);
  for (const Format &format : kFormats)
    for (int i = 0; i < 100000; ++i) {
      double value =
          std::ldexp(std::uniform_real_distribution<>(-1, 1)(random),
                     std::uniform_int_distribution<>(-30, 14)(random));
      uint16_t got = format.narrow(value);
      double error = std::fabs(valueOf(format, got) - value);
      for (int step : {-1, 1}) {
        auto other = static_cast<uint16_t>(got + step);
        if ((other & 0x8000) == (got & 0x8000)) {
          ASSERT_LE(error, std::fabs(valueOf(format, other) - value));
        }
      }
    }
}

/// By the definition: 4 bits of exponent, less 7, and 3 of digits; no infinity.
TEST(DType, EveryF8E4M3FN) {
  for (int bits = 0; bits < 0x100; ++bits) {
    auto pattern = static_cast<uint8_t>(bits);
    int exponent = bits >> 3 & 15, digits = bits & 7;
    double size = exponent ? std::ldexp(8 + digits, exponent - 10)
                           : std::ldexp(digits, -9);
    float wide = f8E4M3FNToFloat(pattern);
    EXPECT_EQ(std::signbit(wide), bits >= 0x80);
    if ((bits & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(wide));
      continue;
    }
    EXPECT_EQ(wide, bits & 0x80 ? -size : size);
    EXPECT_EQ(doubleToF8E4M3FN(wide), pattern);
    // Half way to the next one the even one is taken, past that the next.
    if ((bits & 0x7f) == 0x7e)
      continue;
    double next = f8E4M3FNToFloat(static_cast<uint8_t>(bits + 1));
    double middle = (wide + next) / 2;
    EXPECT_EQ(doubleToF8E4M3FN(middle), bits + (bits & 1)) << bits;
    EXPECT_EQ(doubleToF8E4M3FN(std::nextafter(middle, next)), bits + 1);
    EXPECT_EQ(doubleToF8E4M3FN(std::nextafter(middle, 0.0)), bits);
  }
  EXPECT_EQ(doubleToF8E4M3FN(464), 0x7e);
  EXPECT_EQ(doubleToF8E4M3FN(-464), 0xfe);
  EXPECT_EQ(doubleToF8E4M3FN(std::nextafter(464.0, 500.0)), 0x7f);
  EXPECT_EQ(doubleToF8E4M3FN(-HUGE_VAL), 0xff);
  EXPECT_EQ(doubleToF8E4M3FN(std::nan("")), 0x7f);
  EXPECT_EQ(doubleToF8E4M3FN(-0.0), 0x80);
}

TEST(DType, RoundToIntegersSaturates) {
  EXPECT_EQ(roundTo(DType::i8, 1e3), 127);
  EXPECT_EQ(roundTo(DType::i8, -128.5), -128);
  EXPECT_EQ(roundTo(DType::i32, 2.5), 2);
  EXPECT_EQ(roundTo(DType::i32, 3.5), 4);
  EXPECT_EQ(roundTo(DType::i32, 1e20), 2147483647);
  EXPECT_EQ(roundTo(DType::i32, -1e20), -2147483648.0);
  EXPECT_EQ(roundTo(DType::i64, -1e30), -0x1p63);
  EXPECT_EQ(roundTo(DType::i64, std::nan("")), 0);
  EXPECT_EQ(roundTo(DType::i1, 0.25), 1);
}

TEST(DType, UlpIsTheStepToTheNextNumber) {
  for (const Format &format : kFormats) {
    DType dtype = *parseDType(format.name);
    for (int bits = 0; bits + 1 < infinityOf(format); ++bits) {
      double value = valueOf(format, static_cast<uint16_t>(bits));
      double next = valueOf(format, static_cast<uint16_t>(bits + 1));
      ASSERT_EQ(ulpOf(dtype, value), next - value);
      ASSERT_EQ(ulpOf(dtype, -value), next - value);
    }
    double greatest = valueOf(format, infinityOf(format) - 1);
    EXPECT_EQ(ulpOf(dtype, HUGE_VAL), ulpOf(dtype, greatest));
    EXPECT_EQ(ulpOf(dtype, std::nan("")), ulpOf(dtype, greatest));
  }
  EXPECT_EQ(ulpOf(DType::f32, 1.0), 0x1p-23);
  EXPECT_EQ(ulpOf(DType::f32, 0.0), 0x1p-149);
  EXPECT_EQ(ulpOf(DType::f64, 1.0), 0x1p-52);
}

} // namespace
