//===- DType.h - Element types and their exact conversions ------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The element types of host tensors. Every conversion to a narrower type
// rounds once, to nearest, ties to even: going from double to f16 by way of
// float would round twice and differ in one case of some thousands, which is
// more than a comparison against a reference may hide.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_TENSOR_DTYPE_H
#define RINGLET_LIB_TENSOR_DTYPE_H

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace ringlet {

/// Element type. `i1` is a boolean stored in one byte; any byte but 0 is true.
/// `f8E4M3FN` has no infinity, and one NaN of each sign.
enum class DType : uint8_t { f16, bf16, f32, f64, i1, i32, i64, f8E4M3FN, i8 };

inline constexpr int kNumDTypes = 9;

/// Bytes of one element.
int64_t sizeOf(DType dtype);

/// The name as it is spelled in IR: "f16", "bf16", "f32", "f64", "i1", ...
std::string_view nameOf(DType dtype);

/// The inverse of `nameOf`; nothing for an unknown name.
std::optional<DType> parseDType(std::string_view name);

/// True for f16, bf16, f32 and f64, in which there are computations.
bool isFloat(DType dtype);

/// Nearest f16 / bf16, ties to even; overflow gives infinity. A NaN stays a
/// NaN: it keeps its sign and the leading bits of its payload and becomes
/// quiet.
uint16_t doubleToF16(double value);
uint16_t doubleToBF16(double value);
/// Nearest f8E4M3FN, ties to even; NaN beyond the greatest number, 448, as
/// torch has it.
uint8_t doubleToF8E4M3FN(double value);
inline uint16_t floatToF16(float value) { return doubleToF16(value); }
inline uint16_t floatToBF16(float value) { return doubleToBF16(value); }

/// `value` rounded to `dtype` and widened again. Integer types round to the
/// nearest, ties to even, and saturate; NaN becomes 0.
double roundTo(DType dtype, double value);

/// Distance from |value|, rounded to `dtype`, to the next greater number of
/// that type: the unit in the last place. Below the normal range it is the
/// least subnormal; at infinity or NaN it is that of the greatest number.
/// `dtype` must be a float type.
double ulpOf(DType dtype, double value);

inline float floatOfBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline uint32_t bitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float bf16ToFloat(uint16_t bits) {
  return floatOfBits(static_cast<uint32_t>(bits) << 16);
}

/// Exact. Branch-free but for one select, so that loops over rows vectorise:
/// the exponent and mantissa are moved into place as they are and the bias is
/// then fixed by one exact product, which also normalises subnormals.
inline float f16ToFloat(uint16_t bits) {
  uint32_t magnitude = static_cast<uint32_t>(bits & 0x7fff) << 13;
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t wide = bitsOfFloat(floatOfBits(magnitude) * 0x1p112f);
  // Infinity and NaN: all exponent bits set, mantissa kept.
  wide |= (bits & 0x7c00) == 0x7c00 ? 0x7f800000u : 0u;
  return floatOfBits(wide | sign);
}

/// Exact, in the same way.
inline float f8E4M3FNToFloat(uint8_t bits) {
  uint32_t magnitude = static_cast<uint32_t>(bits & 0x7f) << 20;
  uint32_t sign = static_cast<uint32_t>(bits & 0x80) << 24;
  uint32_t wide = bitsOfFloat(floatOfBits(magnitude) * 0x1p120f);
  wide = (bits & 0x7f) == 0x7f ? 0x7fc00000u : wide;
  return floatOfBits(wide | sign);
}

} // namespace ringlet

#endif // RINGLET_LIB_TENSOR_DTYPE_H
