//===- Scalars.cpp - Elementwise operations on single numbers -------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Evaluator/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace ringlet::evaluator;

//===----------------------------------------------------------------------===//
// Floating point
//===----------------------------------------------------------------------===//

using Unary = double (*)(double);
using Binary = double (*)(double, double);

template <Unary function>
static bool unary(Operation *, const Scalar *operands, Scalar &result) {
  result.real = function(operands[0].real);
  return true;
}

template <Binary function>
static bool binary(Operation *, const Scalar *operands, Scalar &result) {
  result.real = function(operands[0].real, operands[1].real);
  return true;
}

static double add(double a, double b) { return a + b; }
static double subtract(double a, double b) { return a - b; }
static double multiply(double a, double b) { return a * b; }
static double divide(double a, double b) { return a / b; }
static double negate(double a) { return -a; }
static double keep(double a) { return a; }
static double reciprocalRoot(double a) { return 1 / std::sqrt(a); }
/// NaN if either is.
static double maximum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::fmax(a, b);
}
static double minimum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? a + b : std::fmin(a, b);
}

static bool fusedMultiplyAdd(Operation *, const Scalar *operands,
                             Scalar &result) {
  result.real = std::fma(operands[0].real, operands[1].real, operands[2].real);
  return true;
}

static bool compareFloats(Operation *op, const Scalar *operands,
                          Scalar &result) {
  result.integer = -static_cast<int64_t>(arith::applyCmpPredicate(
      cast<arith::CmpFOp>(op).getPredicate(), APFloat(operands[0].real),
      APFloat(operands[1].real)));
  return true;
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static unsigned widthOf(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

/// Sets an integer result: its low bits, sign-extended.
static bool setInteger(Operation *op, uint64_t value, Scalar &result) {
  unsigned unused = 64 - widthOf(op->getResult(0));
  result.integer = static_cast<int64_t>(value << unused) >> unused;
  return true;
}

static uint64_t zeroExtended(Operation *op, const Scalar *operands) {
  unsigned unused = 64 - widthOf(op->getOperand(0));
  return static_cast<uint64_t>(operands[0].integer) << unused >> unused;
}

/// Two's complement is the same for signed and unsigned operands.
template <typename Function>
static bool modular(Operation *op, const Scalar *operands, Scalar &result) {
  return setInteger(op,
                    Function()(static_cast<uint64_t>(operands[0].integer),
                               static_cast<uint64_t>(operands[1].integer)),
                    result);
}

template <bool isRemainder>
static bool divideSigned(Operation *op, const Scalar *operands,
                         Scalar &result) {
  int64_t a = operands[0].integer, b = operands[1].integer;
  if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min()))
    return false;
  return setInteger(op, static_cast<uint64_t>(isRemainder ? a % b : a / b),
                    result);
}

template <bool isMaximum>
static bool extremeSigned(Operation *, const Scalar *operands, Scalar &result) {
  int64_t a = operands[0].integer, b = operands[1].integer;
  result.integer = isMaximum ? std::max(a, b) : std::min(a, b);
  return true;
}

static bool compareIntegers(Operation *op, const Scalar *operands,
                            Scalar &result) {
  APInt a(64, static_cast<uint64_t>(operands[0].integer));
  APInt b(64, static_cast<uint64_t>(operands[1].integer));
  result.integer = -static_cast<int64_t>(
      arith::applyCmpPredicate(cast<arith::CmpIOp>(op).getPredicate(), a, b));
  return true;
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

static bool selectOne(Operation *, const Scalar *operands, Scalar &result) {
  result = operands[0].integer ? operands[1] : operands[2];
  return true;
}

static bool resizeSigned(Operation *op, const Scalar *operands,
                         Scalar &result) {
  return setInteger(op, static_cast<uint64_t>(operands[0].integer), result);
}

static bool resizeUnsigned(Operation *op, const Scalar *operands,
                           Scalar &result) {
  return setInteger(op, zeroExtended(op, operands), result);
}

static bool signedToFloat(Operation *, const Scalar *operands, Scalar &result) {
  result.real = static_cast<double>(operands[0].integer);
  return true;
}

static bool unsignedToFloat(Operation *op, const Scalar *operands,
                            Scalar &result) {
  result.real = static_cast<double>(zeroExtended(op, operands));
  return true;
}

static bool floatToSigned(Operation *op, const Scalar *operands,
                          Scalar &result) {
  double value = std::trunc(operands[0].real);
  double limit =
      std::ldexp(1.0, static_cast<int>(widthOf(op->getResult(0))) - 1);
  if (!(value >= -limit && value < limit))
    return false;
  result.integer = static_cast<int64_t>(value);
  return true;
}

ScalarFunction ringlet::evaluator::lookupScalarFunction(Operation *op) {
  static const llvm::StringMap<ScalarFunction> functions = {
      {"arith.addf", binary<add>},
      {"arith.subf", binary<subtract>},
      {"arith.mulf", binary<multiply>},
      {"arith.divf", binary<divide>},
      {"arith.remf", binary<static_cast<Binary>(std::fmod)>},
      {"arith.maximumf", binary<maximum>},
      {"arith.minimumf", binary<minimum>},
      {"arith.maxnumf", binary<static_cast<Binary>(std::fmax)>},
      {"arith.minnumf", binary<static_cast<Binary>(std::fmin)>},
      {"arith.negf", unary<negate>},
      {"arith.extf", unary<keep>},
      {"arith.truncf", unary<keep>},
      {"arith.cmpf", compareFloats},
      {"arith.addi", modular<std::plus<uint64_t>>},
      {"arith.subi", modular<std::minus<uint64_t>>},
      {"arith.muli", modular<std::multiplies<uint64_t>>},
      {"arith.andi", modular<std::bit_and<uint64_t>>},
      {"arith.ori", modular<std::bit_or<uint64_t>>},
      {"arith.xori", modular<std::bit_xor<uint64_t>>},
      {"arith.divsi", divideSigned<false>},
      {"arith.remsi", divideSigned<true>},
      {"arith.maxsi", extremeSigned<true>},
      {"arith.minsi", extremeSigned<false>},
      {"arith.cmpi", compareIntegers},
      {"arith.select", selectOne},
      {"arith.extsi", resizeSigned},
      {"arith.extui", resizeUnsigned},
      {"arith.trunci", resizeSigned},
      {"arith.index_cast", resizeSigned},
      {"arith.index_castui", resizeUnsigned},
      {"arith.sitofp", signedToFloat},
      {"arith.uitofp", unsignedToFloat},
      {"arith.fptosi", floatToSigned},
      {"math.absf", unary<static_cast<Unary>(std::fabs)>},
      {"math.atan", unary<static_cast<Unary>(std::atan)>},
      {"math.cbrt", unary<static_cast<Unary>(std::cbrt)>},
      {"math.ceil", unary<static_cast<Unary>(std::ceil)>},
      {"math.cos", unary<static_cast<Unary>(std::cos)>},
      {"math.erf", unary<static_cast<Unary>(std::erf)>},
      {"math.exp", unary<static_cast<Unary>(std::exp)>},
      {"math.exp2", unary<static_cast<Unary>(std::exp2)>},
      {"math.expm1", unary<static_cast<Unary>(std::expm1)>},
      {"math.floor", unary<static_cast<Unary>(std::floor)>},
      {"math.log", unary<static_cast<Unary>(std::log)>},
      {"math.log1p", unary<static_cast<Unary>(std::log1p)>},
      {"math.log2", unary<static_cast<Unary>(std::log2)>},
      {"math.round", unary<static_cast<Unary>(std::round)>},
      {"math.roundeven", unary<static_cast<Unary>(std::nearbyint)>},
      {"math.rsqrt", unary<reciprocalRoot>},
      {"math.sin", unary<static_cast<Unary>(std::sin)>},
      {"math.sqrt", unary<static_cast<Unary>(std::sqrt)>},
      {"math.tanh", unary<static_cast<Unary>(std::tanh)>},
      {"math.trunc", unary<static_cast<Unary>(std::trunc)>},
      {"math.atan2", binary<static_cast<Binary>(std::atan2)>},
      {"math.copysign", binary<static_cast<Binary>(std::copysign)>},
      {"math.powf", binary<static_cast<Binary>(std::pow)>},
      {"math.fma", fusedMultiplyAdd},
  };
  return functions.lookup(op->getName().getStringRef());
}
