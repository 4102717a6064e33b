//===- Precision.h - Products of f32 in parts -------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix instructions multiply numbers of fewer digits than f32 has. A factor
// of f32 is rounded to such a number, or is the sum of two of them but for the
// last digits, of which three products are made (R7).
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_TENSOR_PRECISION_H
#define RINGLET_LIB_TENSOR_PRECISION_H

#include "lib/Tensor/DType.h"

#include <string_view>

namespace ringlet {

/// What factors of f32 become in products.
enum class Precision : uint8_t {
  /// Themselves.
  f32,
  /// 11 significant digits.
  tf32,
  /// Two numbers of 11 digits each.
  tf32x3,
  /// Two numbers of 8 digits each.
  bf16x3
};

inline constexpr Precision kPrecisions[] = {
    Precision::f32, Precision::tf32, Precision::tf32x3, Precision::bf16x3};

/// The name as it is spelled in IR.
inline std::string_view nameOf(Precision precision) {
  constexpr std::string_view names[] = {"f32", "tf32", "tf32x3", "bf16x3"};
  return names[static_cast<size_t>(precision)];
}

/// Whether a factor becomes a sum of two numbers.
inline bool isSplit(Precision precision) {
  return precision == Precision::tf32x3 || precision == Precision::bf16x3;
}

/// The nearest number of 11 digits; of two, the greater in magnitude. An
/// infinity and a NaN stay what they are.
inline float roundToTF32(float value) {
  uint32_t bits = bitsOfFloat(value);
  if ((bits & 0x7f800000u) == 0x7f800000u)
    return value;
  return floatOfBits((bits + 0x1000u) & 0xffffe000u);
}

/// The leading 11 digits.
inline float cutToTF32(float value) {
  return floatOfBits(bitsOfFloat(value) & 0xffffe000u);
}

/// A factor as the sum of two numbers. Without a split `low` is 0.
struct Parts {
  float high, low;

  Parts(Precision precision, float value) : high(value), low(0) {
    switch (precision) {
    case Precision::f32:
      break;
    case Precision::tf32:
      high = roundToTF32(value);
      break;
    case Precision::tf32x3:
      high = roundToTF32(value);
      low = cutToTF32(value - high);
      break;
    case Precision::bf16x3:
      high = bf16ToFloat(floatToBF16(value));
      low = bf16ToFloat(floatToBF16(value - high));
      break;
    }
  }
};

/// What a product of two factors is; that of both low parts is left out. Exact
/// but for the last digits of f64.
inline double multiplyAs(Precision precision, float left, float right) {
  if (precision == Precision::f32)
    return static_cast<double>(left) * right;
  Parts a(precision, left), b(precision, right);
  return static_cast<double>(a.high) * b.high +
         (static_cast<double>(a.high) * b.low +
          static_cast<double>(a.low) * b.high);
}

} // namespace ringlet

#endif // RINGLET_LIB_TENSOR_PRECISION_H
