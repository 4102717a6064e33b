//===- DType.cpp - Element types and their exact conversions ----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/DType.h"

#include <cmath>
#include <limits>

namespace ringlet {

namespace {

struct DTypeInfo {
  std::string_view name;
  int64_t size;
  /// Explicit mantissa bits and exponent bits; 0 for a type that no computation
  /// has.
  int mantissaBits;
  int exponentBits;
};

constexpr DTypeInfo kInfo[kNumDTypes] = {
    {"f16", 2, 10, 5},  {"bf16", 2, 7, 8},     {"f32", 4, 23, 8},
    {"f64", 8, 52, 11}, {"i1", 1, 0, 0},       {"i32", 4, 0, 0},
    {"i64", 8, 0, 0},   {"f8E4M3FN", 1, 0, 0}, {"i8", 1, 0, 0},
};

const DTypeInfo &infoOf(DType dtype) { return kInfo[static_cast<int>(dtype)]; }

/// The 16-bit pattern nearest to `value` in a format with an implicit leading
/// bit, `mantissaBits` after it and `exponentBits` of biased exponent.
uint16_t narrow(double value, int mantissaBits, int exponentBits) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  auto sign = static_cast<uint32_t>(bits >> 63)
              << (mantissaBits + exponentBits);
  int exponent = static_cast<int>(bits >> 52) & 0x7ff;
  uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  uint32_t infinity = ((1u << exponentBits) - 1) << mantissaBits;

  if (exponent == 0x7ff) {
    if (mantissa == 0)
      return static_cast<uint16_t>(sign | infinity);
    auto payload = static_cast<uint32_t>(mantissa >> (52 - mantissaBits));
    uint32_t quiet = 1u << (mantissaBits - 1);
    return static_cast<uint16_t>(sign | infinity | quiet | payload);
  }
  // Doubles below their own normal range are far below half of the least
  // subnormal of every 16-bit format.
  if (exponent == 0)
    return static_cast<uint16_t>(sign);

  int biased = exponent - 1023 + (1 << (exponentBits - 1)) - 1;
  uint64_t significand = mantissa | (uint64_t{1} << 52);
  int shift = 52 - mantissaBits;
  if (biased <= 0)
    shift += 1 - biased;
  if (shift >= 54)
    return static_cast<uint16_t>(sign);

  uint64_t quotient = significand >> shift;
  uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  uint64_t half = uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (quotient & 1)))
    ++quotient;
  // The leading bit of a normal quotient adds one to the exponent field; so
  // does a carry out of the mantissa, in both ranges.
  uint64_t magnitude = quotient;
  if (biased > 0)
    magnitude += static_cast<uint64_t>(biased - 1) << mantissaBits;
  if (magnitude >= infinity)
    magnitude = infinity;
  return static_cast<uint16_t>(sign | magnitude);
}

template <typename Int>
double roundToInt(double value) {
  if (std::isnan(value))
    return 0;
  double rounded = std::nearbyint(value);
  constexpr auto least = static_cast<double>(std::numeric_limits<Int>::min());
  constexpr auto greatest =
      static_cast<double>(std::numeric_limits<Int>::max());
  return rounded < least ? least : rounded > greatest ? greatest : rounded;
}

} // namespace

int64_t sizeOf(DType dtype) { return infoOf(dtype).size; }

std::string_view nameOf(DType dtype) { return infoOf(dtype).name; }

std::optional<DType> parseDType(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (kInfo[i].name == name)
      return static_cast<DType>(i);
  return std::nullopt;
}

bool isFloat(DType dtype) { return infoOf(dtype).mantissaBits != 0; }

uint16_t doubleToF16(double value) { return narrow(value, 10, 5); }

uint16_t doubleToBF16(double value) { return narrow(value, 7, 8); }

uint8_t doubleToF8E4M3FN(double value) {
  uint8_t sign = std::signbit(value) ? 0x80 : 0;
  double magnitude = std::fabs(value);
  // Half way to where the next number would be goes to the even one, 448.
  if (!(magnitude <= 464))
    return sign | 0x7f;
  constexpr int leastExponent = -6, mantissaBits = 3;
  int exponent = leastExponent;
  if (magnitude >= 0x1p-6)
    exponent = std::ilogb(magnitude);
  double units = std::nearbyint(std::ldexp(magnitude, mantissaBits - exponent));
  int above = (exponent - leastExponent) << mantissaBits;
  return sign | static_cast<uint8_t>(above + static_cast<int>(units));
}

double roundTo(DType dtype, double value) {
  switch (dtype) {
  case DType::f16:
    return f16ToFloat(doubleToF16(value));
  case DType::bf16:
    return bf16ToFloat(doubleToBF16(value));
  case DType::f32:
    return static_cast<float>(value);
  case DType::f64:
    return value;
  case DType::i1:
    return value != 0;
  case DType::i32:
    return roundToInt<int32_t>(value);
  case DType::i64:
    return roundToInt<int64_t>(value);
  case DType::f8E4M3FN:
    return f8E4M3FNToFloat(doubleToF8E4M3FN(value));
  case DType::i8:
    return roundToInt<int8_t>(value);
  }
  return value;
}

double ulpOf(DType dtype, double value) {
  const DTypeInfo &info = infoOf(dtype);
  int bias = (1 << (info.exponentBits - 1)) - 1;
  int least = 1 - bias;
  int exponent = bias;
  double rounded = std::fabs(roundTo(dtype, value));
  if (rounded == 0)
    exponent = least;
  else if (std::isfinite(rounded))
    exponent = std::ilogb(rounded);
  if (exponent < least)
    exponent = least;
  return std::ldexp(1.0, exponent - info.mantissaBits);
}

} // namespace ringlet
