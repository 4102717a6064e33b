//===- Math.cpp - Functions of the math dialect ---------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where float and double differ in the last bit the double function is taken
// and rounded, so that a reference does not depend on the quality of a float
// library. The exception is exp and log, of which kernels are full: glibc
// computes these float functions in double, too.
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Machine.h"

#include <cmath>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

using Unary = float (*)(float);

template <double (*function)(double)>
static float inDouble(float x) {
  return static_cast<float>(function(x));
}

static double reciprocalRoot(double x) { return 1.0 / std::sqrt(x); }

template <Unary function>
static LogicalResult runUnary(Machine &machine,
                              const Instruction &instruction) {
  const std::vector<float> &input = machine.operand(instruction, 0).floats;
  std::vector<float> &result = machine.floatResult(instruction);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = function(input[i]);
  roundValues(result, machine.resultType(instruction).kind);
  return success();
}

template <bool (*function)(float)>
static LogicalResult runTest(Machine &machine, const Instruction &instruction) {
  const std::vector<float> &input = machine.operand(instruction, 0).floats;
  std::vector<int64_t> &result = machine.intResult(instruction);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = -static_cast<int64_t>(function(input[i]));
  return success();
}

template <double (*function)(double, double)>
static LogicalResult runBinary(Machine &machine,
                               const Instruction &instruction) {
  const std::vector<float> &lhs = machine.operand(instruction, 0).floats;
  const std::vector<float> &rhs = machine.operand(instruction, 1).floats;
  std::vector<float> &result = machine.floatResult(instruction);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = static_cast<float>(function(lhs[i], rhs[i]));
  roundValues(result, machine.resultType(instruction).kind);
  return success();
}

static LogicalResult runFma(Machine &machine, const Instruction &instruction) {
  const std::vector<float> &a = machine.operand(instruction, 0).floats;
  const std::vector<float> &b = machine.operand(instruction, 1).floats;
  const std::vector<float> &c = machine.operand(instruction, 2).floats;
  std::vector<float> &result = machine.floatResult(instruction);
  Kind kind = machine.resultType(instruction).kind;
  for (size_t i = 0; i < result.size(); ++i) {
    // A 16-bit product is exact in double; the sum may not be.
    double product = static_cast<double>(a[i]) * b[i];
    double wide = product + c[i];
    double part = wide - product;
    wide = stickToOdd(wide, (product - (wide - part)) + (c[i] - part));
    result[i] = kind == Kind::F32   ? std::fma(a[i], b[i], c[i])
                : kind == Kind::F16 ? f16ToFloat(doubleToF16(wide))
                                    : bf16ToFloat(doubleToBF16(wide));
  }
  return success();
}

static LogicalResult runClamp(Machine &machine,
                              const Instruction &instruction) {
  const std::vector<float> &value = machine.operand(instruction, 0).floats;
  const std::vector<float> &low = machine.operand(instruction, 1).floats;
  const std::vector<float> &high = machine.operand(instruction, 2).floats;
  std::vector<float> &result = machine.floatResult(instruction);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = value[i] < low[i]    ? low[i]
                : value[i] > high[i] ? high[i]
                                     : value[i];
  return success();
}

static LogicalResult runAbsInt(Machine &machine,
                               const Instruction &instruction) {
  unsigned width = machine.resultType(instruction).width;
  const std::vector<int64_t> &input = machine.operand(instruction, 0).ints;
  std::vector<int64_t> &result = machine.intResult(instruction);
  for (size_t i = 0; i < result.size(); ++i) {
    auto bits = static_cast<uint64_t>(input[i]);
    result[i] =
        wrap(static_cast<int64_t>(input[i] < 0 ? 0 - bits : bits), width);
  }
  return success();
}

void ringlet::interpreter::registerMath(HandlerTable &table) {
  table["math.exp"] = runUnary<static_cast<Unary>(std::exp)>;
  table["math.exp2"] = runUnary<static_cast<Unary>(std::exp2)>;
  table["math.log"] = runUnary<static_cast<Unary>(std::log)>;
  table["math.log2"] = runUnary<static_cast<Unary>(std::log2)>;
  table["math.absf"] = runUnary<static_cast<Unary>(std::fabs)>;
  table["math.sqrt"] = runUnary<static_cast<Unary>(std::sqrt)>;
  table["math.floor"] = runUnary<static_cast<Unary>(std::floor)>;
  table["math.ceil"] = runUnary<static_cast<Unary>(std::ceil)>;
  table["math.trunc"] = runUnary<static_cast<Unary>(std::trunc)>;
  table["math.round"] = runUnary<static_cast<Unary>(std::round)>;
  table["math.roundeven"] = runUnary<static_cast<Unary>(std::nearbyint)>;
  table["math.rsqrt"] = runUnary<inDouble<reciprocalRoot>>;
  table["math.cbrt"] = runUnary<inDouble<std::cbrt>>;
  table["math.expm1"] = runUnary<inDouble<std::expm1>>;
  table["math.log1p"] = runUnary<inDouble<std::log1p>>;
  table["math.log10"] = runUnary<inDouble<std::log10>>;
  table["math.sin"] = runUnary<inDouble<std::sin>>;
  table["math.cos"] = runUnary<inDouble<std::cos>>;
  table["math.tan"] = runUnary<inDouble<std::tan>>;
  table["math.atan"] = runUnary<inDouble<std::atan>>;
  table["math.sinh"] = runUnary<inDouble<std::sinh>>;
  table["math.cosh"] = runUnary<inDouble<std::cosh>>;
  table["math.tanh"] = runUnary<inDouble<std::tanh>>;
  table["math.erf"] = runUnary<inDouble<std::erf>>;
  table["math.erfc"] = runUnary<inDouble<std::erfc>>;
  table["math.powf"] = runBinary<std::pow>;
  table["math.atan2"] = runBinary<std::atan2>;
  table["math.copysign"] = runBinary<std::copysign>;
  table["math.isnan"] = runTest<static_cast<bool (*)(float)>(std::isnan)>;
  table["math.isinf"] = runTest<static_cast<bool (*)(float)>(std::isinf)>;
  table["math.isfinite"] = runTest<static_cast<bool (*)(float)>(std::isfinite)>;
  table["math.fma"] = runFma;
  table["math.clampf"] = runClamp;
  table["math.absi"] = runAbsInt;
}
