//===- ArithFloat.cpp - Floating-point numbers ----------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f32 arithmetic is float arithmetic. A 16-bit operation is computed in float
// and rounded: for + - * / that is the correctly rounded result, as float has
// more than twice the bits. Fast-math flags allow other results than these and
// never require them, so they have no effect.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Machine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

namespace {
struct Add {
  static float apply(float a, float b) { return a + b; }
};
struct Subtract {
  static float apply(float a, float b) { return a - b; }
};
struct Multiply {
  static float apply(float a, float b) { return a * b; }
};
struct Divide {
  static float apply(float a, float b) { return a / b; }
};
struct Remainder {
  static float apply(float a, float b) { return std::fmod(a, b); }
};
/// NaN if either is; +0 is greater than -0.
struct Maximum {
  static float apply(float a, float b) {
    if (std::isnan(a) || std::isnan(b))
      return a + b;
    return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b);
  }
};
struct Minimum {
  static float apply(float a, float b) {
    if (std::isnan(a) || std::isnan(b))
      return a + b;
    return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b);
  }
};
/// The other one if one is NaN.
struct MaxNumber {
  static float apply(float a, float b) { return std::fmax(a, b); }
};
struct MinNumber {
  static float apply(float a, float b) { return std::fmin(a, b); }
};
} // namespace

template <typename Fn>
static LogicalResult runBinary(Machine &machine,
                               const Instruction &instruction) {
  const std::vector<float> &lhs = machine.operand(instruction, 0).floats;
  const std::vector<float> &rhs = machine.operand(instruction, 1).floats;
  std::vector<float> &result = machine.floatResult(instruction);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = Fn::apply(lhs[i], rhs[i]);
  roundValues(result, machine.resultType(instruction).kind);
  return success();
}

static LogicalResult runNegate(Machine &machine,
                               const Instruction &instruction) {
  const std::vector<float> &input = machine.operand(instruction, 0).floats;
  std::vector<float> &result = machine.floatResult(instruction);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = -input[i];
  return success();
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

static bool compare(arith::CmpFPredicate predicate, float a, float b) {
  using Predicate = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case Predicate::AlwaysFalse:
    return false;
  case Predicate::AlwaysTrue:
    return true;
  case Predicate::ORD:
    return !unordered;
  case Predicate::UNO:
    return unordered;
  case Predicate::OEQ:
    return a == b;
  case Predicate::OGT:
    return a > b;
  case Predicate::OGE:
    return a >= b;
  case Predicate::OLT:
    return a < b;
  case Predicate::OLE:
    return a <= b;
  case Predicate::ONE:
    return !unordered && a != b;
  case Predicate::UEQ:
    return unordered || a == b;
  case Predicate::UGT:
    return unordered || a > b;
  case Predicate::UGE:
    return unordered || a >= b;
  case Predicate::ULT:
    return unordered || a < b;
  case Predicate::ULE:
    return unordered || a <= b;
  case Predicate::UNE:
    return unordered || a != b;
  }
  return false;
}

static LogicalResult runCompare(Machine &machine,
                                const Instruction &instruction) {
  auto predicate = cast<arith::CmpFOp>(instruction.op).getPredicate();
  const std::vector<float> &lhs = machine.operand(instruction, 0).floats;
  const std::vector<float> &rhs = machine.operand(instruction, 1).floats;
  std::vector<int64_t> &result = machine.intResult(instruction);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = -static_cast<int64_t>(compare(predicate, lhs[i], rhs[i]));
  return success();
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// extf and truncf.
static LogicalResult runResize(Machine &machine,
                               const Instruction &instruction) {
  if (auto truncate = dyn_cast<arith::TruncFOp>(instruction.op))
    if (auto mode = truncate.getRoundingmode())
      if (*mode != arith::RoundingMode::to_nearest_even)
        return machine.fail(instruction,
                            "expected rounding to nearest even, found '" +
                                arith::stringifyRoundingMode(*mode) + "' (R4)");
  const std::vector<float> &input = machine.operand(instruction, 0).floats;
  std::vector<float> &result = machine.floatResult(instruction);
  result = input;
  roundValues(result, machine.resultType(instruction).kind);
  return success();
}

template <bool isSigned>
static LogicalResult runIntToFloat(Machine &machine,
                                   const Instruction &instruction) {
  unsigned width = machine.type(instruction.operands[0]).width;
  uint64_t mask = width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  const std::vector<int64_t> &input = machine.operand(instruction, 0).ints;
  std::vector<float> &result = machine.floatResult(instruction);
  Kind kind = machine.resultType(instruction).kind;
  for (size_t i = 0; i < result.size(); ++i) {
    // One rounding: exact in long double, whose mantissa has 64 bits.
    long double exact =
        isSigned
            ? static_cast<long double>(input[i])
            : static_cast<long double>(static_cast<uint64_t>(input[i]) & mask);
    if (kind == Kind::F32) {
      result[i] = static_cast<float>(exact);
      continue;
    }
    auto rounded = static_cast<double>(exact);
    rounded = stickToOdd(rounded, static_cast<double>(exact - rounded));
    result[i] = kind == Kind::F16 ? f16ToFloat(doubleToF16(rounded))
                                  : bf16ToFloat(doubleToBF16(rounded));
  }
  return success();
}

/// Values that do not fit are undefined in arith; rows outside a view may well
/// compute some, so they saturate here instead of failing.
template <bool isSigned>
static LogicalResult runFloatToInt(Machine &machine,
                                   const Instruction &instruction) {
  unsigned width = machine.resultType(instruction).width;
  long double low = isSigned ? -std::ldexp(1.0L, width - 1) : 0.0L;
  long double high = std::ldexp(1.0L, isSigned ? width - 1 : width) - 1;
  const std::vector<float> &input = machine.operand(instruction, 0).floats;
  std::vector<int64_t> &result = machine.intResult(instruction);
  for (size_t i = 0; i < result.size(); ++i) {
    long double value = std::trunc(static_cast<long double>(input[i]));
    value = std::isnan(value) ? 0 : std::fmin(std::fmax(value, low), high);
    int64_t bits = isSigned
                       ? static_cast<int64_t>(value)
                       : static_cast<int64_t>(static_cast<uint64_t>(value));
    result[i] = wrap(bits, width);
  }
  return success();
}

static int64_t bitsOf(float value, Kind kind) {
  if (kind == Kind::F16)
    return floatToF16(value);
  if (kind == Kind::BF16)
    return floatToBF16(value);
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

static float ofBits(int64_t bits, Kind kind) {
  if (kind == Kind::F16)
    return f16ToFloat(static_cast<uint16_t>(bits));
  if (kind == Kind::BF16)
    return bf16ToFloat(static_cast<uint16_t>(bits));
  auto narrow = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &narrow, sizeof value);
  return value;
}

static LogicalResult runBitcast(Machine &machine,
                                const Instruction &instruction) {
  const SlotType &from = machine.type(instruction.operands[0]);
  const SlotType &to = machine.resultType(instruction);
  const Datum &input = machine.operand(instruction, 0);
  for (int64_t i = 0; i < to.count; ++i) {
    int64_t bits =
        from.isFloat() ? bitsOf(input.floats[i], from.kind) : input.ints[i];
    if (to.isFloat())
      machine.floatResult(instruction)[i] = ofBits(bits, to.kind);
    else
      machine.intResult(instruction)[i] = wrap(bits, to.width);
  }
  return success();
}

void ringlet::interpreter::registerArithFloat(HandlerTable &table) {
  table["arith.addf"] = runBinary<Add>;
  table["arith.subf"] = runBinary<Subtract>;
  table["arith.mulf"] = runBinary<Multiply>;
  table["arith.divf"] = runBinary<Divide>;
  table["arith.remf"] = runBinary<Remainder>;
  table["arith.maximumf"] = runBinary<Maximum>;
  table["arith.minimumf"] = runBinary<Minimum>;
  table["arith.maxnumf"] = runBinary<MaxNumber>;
  table["arith.minnumf"] = runBinary<MinNumber>;
  table["arith.negf"] = runNegate;
  table["arith.cmpf"] = runCompare;
  table["arith.extf"] = runResize;
  table["arith.truncf"] = runResize;
  table["arith.sitofp"] = runIntToFloat<true>;
  table["arith.uitofp"] = runIntToFloat<false>;
  table["arith.fptosi"] = runFloatToInt<true>;
  table["arith.fptoui"] = runFloatToInt<false>;
  table["arith.bitcast"] = runBitcast;
}
