//===- Elementwise.cpp - Elementwise operations on vectors -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exponentials, logarithms, tanh and erf are polynomials on vectors: nothing is
// called. Coefficients are minimax fits of relative error on the interval that
// stands with each, rounded to f32.
//
//===----------------------------------------------------------------------===//

#include "passes/TileCode/Elementwise.h"

#include "passes/TileCode/Scalars.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::code;

static constexpr double ln2 = 0.69314718055994530942;
static constexpr double log2e = 1.44269504088896340736;
static constexpr double infinity = std::numeric_limits<double>::infinity();

namespace {

/// Functions of one vector of f32.
class Functions {
public:
  Functions(CodeBuilder &b, Type type) : b(b), type(type) {}

  Value real(double value) { return b.real(type, value); }

  /// max and min with a constant that keep a NaN in `x`, as one instruction
  /// each.
  Value atLeast(Value x, double bound) {
    Value limit = real(bound);
    return b.select(b.compare(arith::CmpFPredicate::OGT, limit, x), limit, x);
  }
  Value atMost(Value x, double bound) {
    Value limit = real(bound);
    return b.select(b.compare(arith::CmpFPredicate::OLT, limit, x), limit, x);
  }

  Value polynomial(Value x, ArrayRef<double> fromHighest) {
    Value sum = real(fromHighest.front());
    for (double coefficient : fromHighest.drop_front())
      sum = b.fma(sum, x, real(coefficient));
    return sum;
  }

  /// x rounded to an integer n, as `magic + 126 + n`, whose low bits are
  /// n + 126.
  Value roundBiased(Value x) {
    return arith::AddFOp::create(b, x, real(magic + 126));
  }
  Value removeBias(Value biased) {
    return arith::SubFOp::create(b, biased, real(magic + 126));
  }

  /// 2^(n + f) for f in [-1/2, 1/2] and n in [-126, 128]: 2^(n-1), made in the
  /// exponent, times a fit of 2^(f+1), so that 2^127.9 does not overflow. It is
  /// 0 for n = -126, and exact for f = 0.
  Value scaledPower(Value biased, Value f) {
    Value power = polynomial(f, {0.002652945229783654, 0.019343025982379913,
                                 0.11101467162370682, 0.48044484853744507,
                                 1.3862940073013306, 2.0});
    Value bits = b.bitcast(b.getI32Type(), biased);
    Value scale = arith::ShLIOp::create(b, bits, b.integer(bits.getType(), 23));
    return arith::MulFOp::create(b, power, b.bitcast(b.getF32Type(), scale));
  }

  Value exp2(Value x) {
    x = atMost(atLeast(x, -126.0), 128.0);
    Value biased = roundBiased(x);
    return scaledPower(biased, arith::SubFOp::create(b, x, removeBias(biased)));
  }

  Value exp(Value x) {
    // Beyond these, 0 and infinity.
    x = atMost(atLeast(x, -87.33), 89.0);
    Value biased = roundBiased(arith::MulFOp::create(b, x, real(log2e)));
    Value n = removeBias(biased);
    // x - n ln 2 in two parts of ln 2, the first short enough for n * part to
    // be exact.
    Value rest = b.fma(n, real(-ln2High), x);
    rest = b.fma(n, real(-ln2Low), rest);
    return scaledPower(biased, arith::MulFOp::create(b, rest, real(log2e)));
  }

  using Divide = llvm::function_ref<Value(Value, Value)>;
  struct Logarithm {
    Value mantissa, exponent;
  };
  /// ln of the mantissa, in [sqrt(1/2), sqrt(2)), and the exponent.
  Logarithm splitLog(Value x, Divide divide) {
    // Subnormal numbers are scaled up first.
    Value small = b.compare(arith::CmpFPredicate::OLT, x,
                            real(std::numeric_limits<float>::min()));
    Value scaled = arith::MulFOp::create(b, x, real(8388608.0));
    Value bits = b.bitcast(b.getI32Type(), b.select(small, scaled, x));
    Type i32 = bits.getType();
    // Distance from sqrt(1/2) in the bit pattern: its exponent is n.
    Value root = b.integer(i32, 0x3f3504f3);
    Value distance = b.sub(bits, root);
    Value n = arith::ShRSIOp::create(b, distance, b.integer(i32, 23));
    Value mantissa =
        b.bitcast(b.getF32Type(),
                  b.sub(bits, arith::ShLIOp::create(b, n, b.integer(i32, 23))));
    Value exponent = arith::SIToFPOp::create(b, type, n);
    exponent = arith::SubFOp::create(b, exponent,
                                     b.select(small, real(23.0), real(0.0)));
    // ln m = 2 atanh s with s = (m - 1) / (m + 1), |s| < 0.172.
    Value above = arith::AddFOp::create(b, mantissa, real(1.0));
    Value below = arith::SubFOp::create(b, mantissa, real(1.0));
    Value s = divide(below, above);
    Value square = arith::MulFOp::create(b, s, s);
    Value series = polynomial(
        square, {0.2987362742424011, 0.39977481961250305, 0.6666677594184875});
    Value cube = arith::MulFOp::create(b, s, square);
    return {b.fma(cube, series, arith::AddFOp::create(b, s, s)), exponent};
  }

  /// The values of a logarithm where the formula does not hold: of 0, of
  /// negative numbers, and infinity and NaNs, which are their own. They are
  /// made beside the formula, and one selection is left behind it.
  Value finishLog(Value x, Value result) {
    Value zero = real(0.0);
    Value other = b.select(b.compare(arith::CmpFPredicate::OLT, x, zero),
                           real(std::numeric_limits<double>::quiet_NaN()), x);
    other = b.select(b.compare(arith::CmpFPredicate::OEQ, x, zero),
                     real(-infinity), other);
    // The bit patterns of positive finite numbers.
    Value bits = b.bitcast(b.getI32Type(), x);
    Type i32 = bits.getType();
    Value holds = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                        b.sub(bits, b.integer(i32, 1)),
                                        b.integer(i32, 0x7f7fffff));
    return b.select(holds, result, other);
  }

  Value log(Value x, Divide divide) {
    auto [mantissa, exponent] = splitLog(x, divide);
    Value low = b.fma(exponent, real(ln2Low), mantissa);
    return finishLog(x, b.fma(exponent, real(ln2High), low));
  }

  Value log2(Value x, Divide divide) {
    auto [mantissa, exponent] = splitLog(x, divide);
    return finishLog(x, b.fma(mantissa, real(log2e), exponent));
  }

  /// 2 / (e^2x + 1) for x that is not negative.
  Value getTanhRest(Value x) {
    Value power = exp(arith::AddFOp::create(b, x, x));
    return arith::DivFOp::create(b, real(2.0),
                                 arith::AddFOp::create(b, power, real(1.0)));
  }

  Value tanh(Value x, llvm::function_ref<Value(Value)> getRest) {
    Value size = b.absolute(x);
    // Below 0.625 an odd polynomial; above it 1 - 2 / (e^2|x| + 1).
    Value square = arith::MulFOp::create(b, x, x);
    Value series =
        polynomial(square, {-0.005515165627002716, 0.0204694215208292,
                            -0.05368802323937416, 0.1333083063364029,
                            -0.3333325982093811});
    Value cube = arith::MulFOp::create(b, x, square);
    Value small = b.fma(cube, series, x);
    Value large = arith::SubFOp::create(b, real(1.0), getRest(size));
    Value result = b.select(
        b.compare(arith::CmpFPredicate::OGE, size, real(0.625)), large, small);
    return b.copySign(result, x);
  }

  Value erf(Value x) {
    Value size = b.absolute(x);
    // Below 1 an odd polynomial; above it 1 - erfc |x|, of whose logarithm
    // there is a fit. From 4 on the difference rounds to 1.
    Value square = arith::MulFOp::create(b, x, x);
    Value series = polynomial(
        square, {7.853861461626366e-05, -0.0008010193705558777,
                 0.005188327748328447, -0.026853812858462334,
                 0.1128358542919159, -0.3761262595653534, 0.12837916612625122});
    Value small = b.fma(x, series, x);
    Value logarithm = polynomial(atMost(size, 4.0),
                                 {0.00018637916946318, -0.0029476580675691366,
                                  0.02183806337416172, -0.10310675203800201,
                                  -0.638144850730896, -1.1270891427993774,
                                  -0.0003415232349652797});
    Value rest = exp(logarithm);
    Value large = arith::SubFOp::create(b, real(1.0), rest);
    Value result = b.select(
        b.compare(arith::CmpFPredicate::OGE, size, real(1.0)), large, small);
    return b.copySign(result, x);
  }

private:
  /// Adding it leaves an integer in the low bits of an f32.
  static constexpr double magic = 12582912.0;
  /// ln 2 in two parts; the first has 9 low zero bits.
  static constexpr double ln2High = 0.693145751953125;
  static constexpr double ln2Low = 1.42860682030941723212e-6;

  CodeBuilder &b;
  Type type;
};

/// The operation itself, on vectors.
Value repeat(CodeBuilder &b, Operation *op, ValueRange operands, Type type) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(type);
  for (NamedAttribute attr : op->getAttrs())
    if (!attr.getName().strref().starts_with("rtile."))
      state.addAttribute(attr.getName(), attr.getValue());
  return b.create(state)->getResult(0);
}

} // namespace

Value code::emitRounding(CodeBuilder &b, Type element, Value vector) {
  Type type = vector.getType();
  if (element.isF16()) {
    Type narrow = CodeBuilder::withElement(type, element);
    return b.convertFloat(type, b.convertFloat(narrow, vector));
  }
  // bf16: add just under half of the last place, or half if that is odd.
  Value bits = b.bitcast(b.getI32Type(), vector);
  Type i32 = bits.getType();
  Value odd = arith::AndIOp::create(
      b, arith::ShRUIOp::create(b, bits, b.integer(i32, 16)),
      b.integer(i32, 1));
  Value rounded = b.add(b.add(bits, b.integer(i32, 0x7fff)), odd);
  // A NaN must neither become an infinity nor carry into the sign.
  Value quiet = arith::OrIOp::create(b, bits, b.integer(i32, 0x400000));
  Value isNaN = b.compare(arith::CmpFPredicate::UNO, vector, vector);
  Value chosen = b.select(isNaN, quiet, rounded);
  return b.bitcast(b.getF32Type(),
                   b.both(chosen, b.integer(i32, int32_t(0xffff0000))));
}

Value code::emitTanh(CodeBuilder &b, Value x,
                     llvm::function_ref<Value(Value)> getRest) {
  return Functions(b, x.getType()).tanh(x, getRest);
}

Value code::emitLog(CodeBuilder &b, Value x, bool isBinary,
                    llvm::function_ref<Value(Value, Value)> divide) {
  Functions functions(b, x.getType());
  return isBinary ? functions.log2(x, divide) : functions.log(x, divide);
}

Value code::emitElementwise(CodeBuilder &b, Operation *op,
                            ValueRange operands) {
  Value x = operands.front();
  Type element = getTile(op->getResult(0)).getElementType();
  Type registers = isa<FloatType>(element) ? Type(b.getF32Type()) : element;
  Type type = b.getVector(registers, CodeBuilder::lanesOf(operands.back()));
  Functions functions(b, type);
  auto divide = [&](Value above, Value below) -> Value {
    return arith::DivFOp::create(b, above, below);
  };
  bool exact = false;
  Value result =
      TypeSwitch<Operation *, Value>(op)
          .Case([&](arith::ExtFOp) { return exact = true, x; })
          .Case([&](arith::TruncFOp) { return x; })
          .Case([&](arith::SelectOp) {
            exact = true;
            return b.select(operands[0], operands[1], operands[2]);
          })
          .Case([&](math::Exp2Op) { return functions.exp2(x); })
          .Case([&](math::ExpOp) { return functions.exp(x); })
          .Case([&](math::LogOp) { return functions.log(x, divide); })
          .Case([&](math::Log2Op) { return functions.log2(x, divide); })
          .Case([&](math::TanhOp) {
            return functions.tanh(
                x, [&](Value size) { return functions.getTanhRest(size); });
          })
          .Case([&](math::ErfOp) { return functions.erf(x); })
          .Case([&](math::SqrtOp) { return b.squareRoot(x); })
          .Case([&](math::RsqrtOp) {
            return arith::DivFOp::create(b, functions.real(1.0),
                                         b.squareRoot(x));
          })
          .Case([&](math::AbsFOp) { return b.absolute(x); })
          .Case([&](math::FloorOp) { return b.floor(x); })
          .Case([&](math::CeilOp) { return b.ceil(x); })
          .Case([&](math::RoundEvenOp) { return b.roundEven(x); })
          .Case([&](math::FmaOp) {
            return b.fma(operands[0], operands[1], operands[2]);
          })
          .Default([&](Operation *) { return repeat(b, op, operands, type); });
  // f32 has more than twice the digits of f16 and bf16: rounding its result
  // again is rounding once.
  if (!exact && isa<FloatType>(element) && !element.isF32())
    result = emitRounding(b, element, result);
  return result;
}
