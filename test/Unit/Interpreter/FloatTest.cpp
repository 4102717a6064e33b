//===- FloatTest.cpp - Floating-point arithmetic and functions ------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter::test;

using Values = std::vector<double>;

static constexpr double kNaN = NAN;
static constexpr double kInf = INFINITY;

/// `op` on constants of `type`, widened to f32.
static Values apply(const std::string &op, const std::string &type,
                    const std::vector<Values> &operands) {
  size_t count = operands[0].size();
  std::string n = std::to_string(count);
  std::string wide = "tensor<" + n + "xf32>";
  std::string tile = "tensor<" + n + "x" + type + ">";
  std::string body, names;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string name = "%x" + std::to_string(i);
    bool narrow = type != "f32";
    body += "  " + name + (narrow ? "w" : "") + " = arith.constant dense<" +
            list(operands[i]) + "> : " + wide + "\n";
    if (narrow)
      body += "  " + name + " = arith.truncf " + name + "w : " + wide + " to " +
              tile + "\n";
    names += (i == 0 ? "" : ", ") + name;
  }
  if (type == "f32")
    body += "  %r = " + op + " " + names + " : " + tile;
  else
    body += "  %n = " + op + " " + names + " : " + tile +
            "\n  %r = arith.extf %n : " + tile + " to " + wide;
  return evaluate(body, static_cast<int64_t>(count));
}

/// NaNs equal each other, zeros of different signs do not.
static void expectSame(const Values &found, const Values &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(found[i])) << i << ": " << found[i];
      continue;
    }
    EXPECT_EQ(found[i], expected[i]) << i;
    EXPECT_EQ(std::signbit(found[i]), std::signbit(expected[i])) << i;
  }
}

TEST(Float, F32ArithmeticRoundsToF32) {
  float tenth = 0.1f, third = 1.0f / 3.0f;
  expectSame(apply("arith.addf", "f32", {{tenth, 1e8}, {0.2f, 1}}),
             {tenth + 0.2f, 1e8});
  expectSame(apply("arith.subf", "f32", {{1, kInf}, {third, kInf}}),
             {1.0f - third, kNaN});
  expectSame(apply("arith.mulf", "f32", {{tenth, 1e38}, {third, 10}}),
             {tenth * third, kInf});
  expectSame(apply("arith.divf", "f32", {{1, 1, 0}, {3, 0, 0}}),
             {third, kInf, kNaN});
  expectSame(apply("arith.remf", "f32", {{7.5, -7.5}, {2, 2}}), {1.5, -1.5});
  expectSame(apply("arith.negf", "f32", {{0, -2, kInf}}), {-0.0, 2, -kInf});
}

TEST(Float, NarrowArithmeticRoundsAfterEachOperation) {
  // bf16 has 8 bits: 256 + 1 is a tie and stays even, 258 + 1 goes up.
  expectSame(apply("arith.addf", "bf16", {{256, 258, 1}, {1, 1, 0.0078125}}),
             {256, 260, 1.0078125});
  // f16 has 11 bits and ends at 65504.
  expectSame(apply("arith.addf", "f16", {{2048, 2050, 65504}, {1, 1, 16}}),
             {2048, 2052, kInf});
  expectSame(apply("arith.mulf", "f16", {{0.1}, {0.1}}),
             {roundTo(DType::f16,
                      roundTo(DType::f16, 0.1) * roundTo(DType::f16, 0.1))});
  // Computed in float the sum would keep its last bit until the end.
  expectSame(evaluate(R"(
    %a = arith.constant dense<2.560000e+02> : tensor<1xbf16>
    %b = arith.constant dense<1.000000e+00> : tensor<1xbf16>
    %c = arith.addf %a, %b : tensor<1xbf16>
    %d = arith.addf %c, %b : tensor<1xbf16>
    %r = arith.extf %d : tensor<1xbf16> to tensor<1xf32>)",
                      1),
             {256});
}

TEST(Float, TruncationRoundsToNearestEven) {
  auto truncate = [](const std::string &type, const Values &values) {
    std::string n = std::to_string(values.size());
    return evaluate("  %a = arith.constant dense<" + list(values) +
                        "> : tensor<" + n + "xf32>\n  %b = arith.truncf %a : " +
                        "tensor<" + n + "xf32> to tensor<" + n + "x" + type +
                        ">\n  %r = arith.extf %b : tensor<" + n + "x" + type +
                        "> to tensor<" + n + "xf32>",
                    static_cast<int64_t>(values.size()));
  };
  Random random(1);
  Values values = {257, 259, -257, 1e-45, kInf, kNaN, 3.4e38, 65520, 65519};
  for (int i = 0; i < 200; ++i)
    values.push_back(static_cast<float>(
        std::ldexp(random.uniform(), static_cast<int>(random.pick(-30, 20)))));
  for (auto [name, type] :
       {std::pair("f16", DType::f16), std::pair("bf16", DType::bf16)}) {
    Values expected;
    for (double value : values)
      expected.push_back(roundTo(type, static_cast<float>(value)));
    expectSame(truncate(name, values), expected);
  }
}

TEST(Float, OtherRoundingsAreRefused) {
  std::string error = errorOf(R"(
    %a = arith.constant dense<1.0> : tensor<1xf32>
    %b = arith.truncf %a upward : tensor<1xf32> to tensor<1xbf16>
    %r = arith.extf %b : tensor<1xbf16> to tensor<1xf32>)",
                              1);
  EXPECT_NE(error.find("expected rounding to nearest even, found 'upward'"),
            std::string::npos)
      << error;
}

TEST(Float, MinimaMaximaAndNaN) {
  Values a = {1, kNaN, -0.0, 0, -kInf}, b = {2, 3, 0, -0.0, kNaN};
  expectSame(apply("arith.maximumf", "f32", {a, b}), {2, kNaN, 0, 0, kNaN});
  expectSame(apply("arith.minimumf", "f32", {a, b}),
             {1, kNaN, -0.0, -0.0, kNaN});
  Values numbers = apply("arith.maxnumf", "f32", {a, b});
  EXPECT_EQ(numbers[1], 3);
  EXPECT_EQ(numbers[4], -kInf);
  EXPECT_EQ(apply("arith.minnumf", "f32", {a, b})[1], 3);
}

TEST(Float, EveryComparison) {
  Values a = {1, 2, 3, kNaN}, b = {2, 2, 2, 2};
  auto compare = [&](const std::string &predicate) {
    return evaluate("  %a = arith.constant dense<" + list(a) +
                        "> : tensor<4xf32>\n  %b = arith.constant dense<" +
                        list(b) + "> : tensor<4xf32>\n  %c = arith.cmpf " +
                        predicate +
                        ", %a, %b : tensor<4xf32>\n  %r = arith.uitofp %c : "
                        "tensor<4xi1> to tensor<4xf32>",
                    4);
  };
  EXPECT_EQ(compare("false"), (Values{0, 0, 0, 0}));
  EXPECT_EQ(compare("oeq"), (Values{0, 1, 0, 0}));
  EXPECT_EQ(compare("ogt"), (Values{0, 0, 1, 0}));
  EXPECT_EQ(compare("oge"), (Values{0, 1, 1, 0}));
  EXPECT_EQ(compare("olt"), (Values{1, 0, 0, 0}));
  EXPECT_EQ(compare("ole"), (Values{1, 1, 0, 0}));
  EXPECT_EQ(compare("one"), (Values{1, 0, 1, 0}));
  EXPECT_EQ(compare("ord"), (Values{1, 1, 1, 0}));
  EXPECT_EQ(compare("ueq"), (Values{0, 1, 0, 1}));
  EXPECT_EQ(compare("ugt"), (Values{0, 0, 1, 1}));
  EXPECT_EQ(compare("uge"), (Values{0, 1, 1, 1}));
  EXPECT_EQ(compare("ult"), (Values{1, 0, 0, 1}));
  EXPECT_EQ(compare("ule"), (Values{1, 1, 0, 1}));
  EXPECT_EQ(compare("une"), (Values{1, 0, 1, 1}));
  EXPECT_EQ(compare("uno"), (Values{0, 0, 0, 1}));
  EXPECT_EQ(compare("true"), (Values{1, 1, 1, 1}));
}

TEST(Float, FunctionsAreWithinOneUnitOfTheExactValue) {
  using Function = double (*)(double);
  std::pair<const char *, Function> functions[] = {
      {"exp", std::exp},
      {"exp2", std::exp2},
      {"log", std::log},
      {"log2", std::log2},
      {"log10", std::log10},
      {"log1p", std::log1p},
      {"expm1", std::expm1},
      {"tanh", std::tanh},
      {"sqrt", std::sqrt},
      {"cbrt", std::cbrt},
      {"sin", std::sin},
      {"cos", std::cos},
      {"tan", std::tan},
      {"atan", std::atan},
      {"sinh", std::sinh},
      {"cosh", std::cosh},
      {"erf", std::erf},
      {"erfc", std::erfc},
      {"absf", std::fabs},
      {"floor", std::floor},
      {"ceil", std::ceil},
      {"trunc", std::trunc},
      {"round", std::round},
      {"roundeven", std::nearbyint},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }}};
  Random random(2);
  Values inputs = {0.5, 1, 1.5, 2.5};
  for (int i = 0; i < 60; ++i)
    inputs.push_back(static_cast<float>(2 + 1.99 * random.uniform()));
  for (auto [name, function] : functions) {
    Values found = apply(std::string("math.") + name, "f32", {inputs});
    for (size_t i = 0; i < inputs.size(); ++i) {
      double exact = function(inputs[i]);
      EXPECT_LE(std::fabs(found[i] - exact), ulpOf(DType::f32, exact))
          << name << " of " << inputs[i];
    }
  }
  // The values that attention leans on.
  expectSame(apply("math.exp2", "f32", {{-kInf, 0, kInf, kNaN}}),
             {0, 1, kInf, kNaN});
  expectSame(apply("math.log", "f32", {{0, 1, -1}}), {-kInf, 0, kNaN});
  expectSame(apply("math.exp", "bf16", {{1}}), {roundTo(DType::bf16, M_E)});
}

TEST(Float, FunctionsOfSeveralOperands) {
  // The exact product of 1 + 2^-12 with itself has a bit that float loses.
  double x = 1 + 0x1p-12;
  expectSame(apply("math.fma", "f32", {{x}, {x}, {-(1 + 0x1p-11)}}), {0x1p-24});
  expectSame(apply("math.fma", "f16", {{3}, {5}, {0.5}}), {15.5});
  // 129 * 192 is a tie of bf16; what breaks it is too small for a double.
  double a = std::ldexp(129, 30), b = std::ldexp(192, 30), tiny = 0x1p-10;
  expectSame(
      apply("math.fma", "bf16", {{a, a, a}, {b, b, b}, {0, tiny, -tiny}}),
      {std::ldexp(194, 67), std::ldexp(194, 67), std::ldexp(193, 67)});
  expectSame(apply("math.powf", "f32", {{2, 9}, {10, 0.5}}), {1024, 3});
  expectSame(apply("math.copysign", "f32", {{2, -3}, {-0.0, 1}}), {-2, 3});
  expectSame(apply("math.atan2", "f32", {{0}, {-1}}), {float(M_PI)});
}

TEST(Float, Classification) {
  auto test = [](const std::string &op) {
    return evaluate("  %a = arith.constant dense<" +
                        list(Values{1, kInf, kNaN}) +
                        "> : tensor<3xf32>\n  %c = math." + op +
                        " %a : tensor<3xf32>\n  %r = arith.uitofp %c : "
                        "tensor<3xi1> to tensor<3xf32>",
                    3);
  };
  EXPECT_EQ(test("isnan"), (Values{0, 0, 1}));
  EXPECT_EQ(test("isinf"), (Values{0, 1, 0}));
  EXPECT_EQ(test("isfinite"), (Values{1, 0, 0}));
}

TEST(Float, ConversionsToIntegersSaturate) {
  EXPECT_EQ(evaluate("  %a = arith.constant dense<" +
                         list(Values{-2.9, 2.9, 1e20, kNaN, -kInf}) +
                         R"(> : tensor<5xf32>
    %b = arith.fptosi %a : tensor<5xf32> to tensor<5xi32>
    %r = arith.sitofp %b : tensor<5xi32> to tensor<5xf32>)",
                     5),
            (Values{-2, 2, 2147483648.0, 0, -2147483648.0}));
  EXPECT_EQ(evaluate("  %a = arith.constant dense<" +
                         list(Values{-2.9, 2.9, 1e20}) +
                         R"(> : tensor<3xf32>
    %b = arith.fptoui %a : tensor<3xf32> to tensor<3xi8>
    %r = arith.uitofp %b : tensor<3xi8> to tensor<3xf32>)",
                     3),
            (Values{0, 2, 255}));
}

TEST(Float, BitsSurviveACast) {
  EXPECT_EQ(evaluate(R"(
    %a = arith.constant dense<[1.0, -2.0]> : tensor<2xf32>
    %b = arith.bitcast %a : tensor<2xf32> to tensor<2xi32>
    %c = arith.constant dense<8388608> : tensor<2xi32>
    %d = arith.addi %b, %c : tensor<2xi32>
    %r = arith.bitcast %d : tensor<2xi32> to tensor<2xf32>)",
                     2),
            (Values{2, -4}));
  EXPECT_EQ(evaluate(R"(
    %a = arith.constant dense<1.0> : tensor<1xbf16>
    %b = arith.bitcast %a : tensor<1xbf16> to tensor<1xi16>
    %r = arith.sitofp %b : tensor<1xi16> to tensor<1xf32>)",
                     1),
            (Values{0x3f80}));
}
