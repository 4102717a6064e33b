//===- ArithTest.cpp - Integers, casts and selection ----------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter::test;

using Values = std::vector<double>;
using Ints = std::vector<int64_t>;

static std::string binaryBody(const std::string &op, const std::string &type,
                              const Ints &a, const Ints &b,
                              const std::string &result) {
  std::string tile = "tensor<" + std::to_string(a.size()) + "x" + type + ">";
  std::string out = "tensor<" + std::to_string(a.size()) + "x" + result + ">";
  std::string to = "tensor<" + std::to_string(a.size()) + "xf32>";
  return "  %a = arith.constant dense<" + list(a) + "> : " + tile +
         "\n  %b = arith.constant dense<" + list(b) + "> : " + tile +
         "\n  %c = arith." + op + " %a, %b : " + tile +
         "\n  %r = arith.sitofp %c : " + out + " to " + to;
}

static Values binary(const std::string &op, const std::string &type,
                     const Ints &a, const Ints &b) {
  return evaluate(binaryBody(op, type, a, b, type),
                  static_cast<int64_t>(a.size()));
}

static std::string binaryError(const std::string &op, const std::string &type,
                               int64_t a, int64_t b) {
  return errorOf(binaryBody(op, type, {a}, {b}, type), 1);
}

TEST(Arith, RingOperationsWrap) {
  EXPECT_EQ(binary("addi", "i32", {1, -5, INT32_MAX}, {2, 3, 1}),
            (Values{3, -2, INT32_MIN}));
  EXPECT_EQ(binary("subi", "i32", {1, -5, INT32_MIN}, {2, 3, 1}),
            (Values{-1, -8, 2147483648.0}));
  EXPECT_EQ(binary("muli", "i32", {7, -5, 1 << 16}, {2, 3, 1 << 16}),
            (Values{14, -15, 0}));
  EXPECT_EQ(binary("muli", "i8", {100}, {3}), (Values{44}));
  EXPECT_EQ(binary("addi", "i64", {INT64_MAX}, {1}),
            (Values{static_cast<double>(INT64_MIN)}));
}

TEST(Arith, PromisesOfNoOverflowAreChecked) {
  auto error = [](const std::string &op, const std::string &flag, int64_t a,
                  int64_t b) {
    return errorOf("  %a = arith.constant dense<" + list(Ints{a}) +
                       "> : tensor<1xi32>\n  %b = arith.constant dense<" +
                       list(Ints{b}) + "> : tensor<1xi32>\n  %c = arith." + op +
                       " %a, %b overflow<" + flag +
                       "> : tensor<1xi32>\n  %r = arith.sitofp %c : "
                       "tensor<1xi32> to tensor<1xf32>",
                   1);
  };
  EXPECT_EQ(error("addi", "nsw", INT32_MAX - 1, 1), "");
  EXPECT_NE(error("addi", "nsw", INT32_MAX, 1).find("overflow of 32 bits"),
            std::string::npos);
  EXPECT_EQ(error("addi", "nuw", INT32_MAX, 1), "");
  EXPECT_NE(error("addi", "nuw", -1, 1), "");
  EXPECT_EQ(error("subi", "nuw", -1, 1), "");
  EXPECT_NE(error("subi", "nuw", 0, 1), "");
  EXPECT_EQ(error("muli", "nuw", 65535, 65537), "");
  EXPECT_NE(error("muli", "nuw", 65536, 65536), "");
  EXPECT_NE(error("muli", "nsw", 65536, 32768), "");
}

TEST(Arith, SignedDivisionRoundsAsNamed) {
  Ints a = {7, -7, 7, -7, 6, -6}, b = {2, 2, -2, -2, 3, 3};
  EXPECT_EQ(binary("divsi", "i32", a, b), (Values{3, -3, -3, 3, 2, -2}));
  EXPECT_EQ(binary("remsi", "i32", a, b), (Values{1, -1, 1, -1, 0, 0}));
  EXPECT_EQ(binary("floordivsi", "i32", a, b), (Values{3, -4, -4, 3, 2, -2}));
  EXPECT_EQ(binary("ceildivsi", "i32", a, b), (Values{4, -3, -3, 4, 2, -2}));
}

TEST(Arith, UnsignedDivisionSeesAllBits) {
  EXPECT_EQ(binary("divui", "i8", {-1, 100}, {2, 7}), (Values{127, 14}));
  EXPECT_EQ(binary("remui", "i8", {-1, 100}, {2, 7}), (Values{1, 2}));
  EXPECT_EQ(binary("ceildivui", "i8", {-3, 98}, {4, 7}), (Values{64, 14}));
}

TEST(Arith, UndefinedOperandsAreErrors) {
  for (const char *op : {"divsi", "remsi", "floordivsi", "ceildivsi", "divui",
                         "remui", "ceildivui"})
    EXPECT_NE(
        binaryError(op, "i32", 5, 0).find("is undefined for operands 5 and 0"),
        std::string::npos)
        << op;
  for (const char *op : {"divsi", "floordivsi", "ceildivsi"}) {
    EXPECT_NE(binaryError(op, "i32", INT32_MIN, -1), "") << op;
    EXPECT_NE(binaryError(op, "i64", INT64_MIN, -1), "") << op;
  }
  EXPECT_EQ(binaryError("remsi", "i64", INT64_MIN, -1), "");
  for (const char *op : {"shli", "shrsi", "shrui"}) {
    EXPECT_EQ(binaryError(op, "i32", 1, 31), "") << op;
    EXPECT_NE(binaryError(op, "i32", 1, 32), "") << op;
    EXPECT_NE(binaryError(op, "i32", 1, -1), "") << op;
  }
}

TEST(Arith, BitsAndShifts) {
  EXPECT_EQ(binary("andi", "i32", {12, -1}, {10, 255}), (Values{8, 255}));
  EXPECT_EQ(binary("ori", "i32", {12, -256}, {10, 255}), (Values{14, -1}));
  EXPECT_EQ(binary("xori", "i32", {12, -1}, {10, 255}), (Values{6, -256}));
  EXPECT_EQ(binary("shli", "i8", {3, 3}, {1, 7}), (Values{6, -128}));
  EXPECT_EQ(binary("shrsi", "i8", {-8, 8}, {1, 1}), (Values{-4, 4}));
  EXPECT_EQ(binary("shrui", "i8", {-8, 8}, {1, 1}), (Values{124, 4}));
}

TEST(Arith, MinimaAndMaxima) {
  EXPECT_EQ(binary("maxsi", "i32", {-1, 2}, {1, 1}), (Values{1, 2}));
  EXPECT_EQ(binary("minsi", "i32", {-1, 2}, {1, 1}), (Values{-1, 1}));
  EXPECT_EQ(binary("maxui", "i32", {-1, 2}, {1, 1}), (Values{-1, 2}));
  EXPECT_EQ(binary("minui", "i32", {-1, 2}, {1, 1}), (Values{1, 1}));
}

TEST(Arith, EveryComparison) {
  Ints a = {1, 2, 3, -1}, b = {2, 2, 2, 1};
  auto compare = [&](const std::string &predicate) {
    return evaluate(binaryBody("cmpi " + predicate + ",", "i32", a, b, "i1"),
                    4);
  };
  // A true i1 is -1 as a signed number.
  EXPECT_EQ(compare("eq"), (Values{0, -1, 0, 0}));
  EXPECT_EQ(compare("ne"), (Values{-1, 0, -1, -1}));
  EXPECT_EQ(compare("slt"), (Values{-1, 0, 0, -1}));
  EXPECT_EQ(compare("sle"), (Values{-1, -1, 0, -1}));
  EXPECT_EQ(compare("sgt"), (Values{0, 0, -1, 0}));
  EXPECT_EQ(compare("sge"), (Values{0, -1, -1, 0}));
  EXPECT_EQ(compare("ult"), (Values{-1, 0, 0, 0}));
  EXPECT_EQ(compare("ule"), (Values{-1, -1, 0, 0}));
  EXPECT_EQ(compare("ugt"), (Values{0, 0, -1, -1}));
  EXPECT_EQ(compare("uge"), (Values{0, -1, -1, -1}));
}

TEST(Arith, Casts) {
  EXPECT_EQ(evaluate(R"(
    %a = arith.constant dense<[200, -1, 5]> : tensor<3xi16>
    %b = arith.trunci %a : tensor<3xi16> to tensor<3xi8>
    %r = arith.sitofp %b : tensor<3xi8> to tensor<3xf32>)",
                     3),
            (Values{-56, -1, 5}));
  EXPECT_EQ(evaluate(R"(
    %a = arith.constant dense<[-56, -1, 5]> : tensor<3xi8>
    %b = arith.extui %a : tensor<3xi8> to tensor<3xi32>
    %r = arith.sitofp %b : tensor<3xi32> to tensor<3xf32>)",
                     3),
            (Values{200, 255, 5}));
  EXPECT_EQ(evaluate(R"(
    %a = arith.constant dense<[-56, -1, 5]> : tensor<3xi8>
    %b = arith.extsi %a : tensor<3xi8> to tensor<3xi32>
    %c = arith.index_cast %b : tensor<3xi32> to tensor<3xindex>
    %d = arith.index_cast %c : tensor<3xindex> to tensor<3xi64>
    %r = arith.sitofp %d : tensor<3xi64> to tensor<3xf32>)",
                     3),
            (Values{-56, -1, 5}));
  EXPECT_EQ(evaluate(R"(
    %a = arith.constant dense<[true, false]> : tensor<2xi1>
    %r = arith.uitofp %a : tensor<2xi1> to tensor<2xf32>)",
                     2),
            (Values{1, 0}));
  EXPECT_EQ(evaluate(R"(
    %a = arith.constant dense<[-1]> : tensor<1xi32>
    %b = arith.index_castui %a : tensor<1xi32> to tensor<1xindex>
    %c = arith.index_cast %b : tensor<1xindex> to tensor<1xi64>
    %r = arith.sitofp %c : tensor<1xi64> to tensor<1xf32>)",
                     1),
            (Values{4294967296.0}));
}

TEST(Arith, IntegersRoundOnceOnTheirWayToFloat) {
  // 2^24 + 1 and 2^54 + 2^30 + 1: the second one double-rounds to f32 wrongly.
  EXPECT_EQ(evaluate(R"(
    %a = arith.constant dense<[16777217, 18014399583223809]> : tensor<2xi64>
    %r = arith.sitofp %a : tensor<2xi64> to tensor<2xf32>)",
                     2),
            (Values{16777216.0, 18014400656965632.0}));
  // Halfway between the bf16 numbers 256 and 258, and just above; the last one
  // is above by less than a double resolves.
  EXPECT_EQ(evaluate(R"(
    %a = arith.constant dense<[257, 1028, 4629700416936869889]> : tensor<3xi64>
    %b = arith.sitofp %a : tensor<3xi64> to tensor<3xbf16>
    %r = arith.extf %b : tensor<3xbf16> to tensor<3xf32>)",
                     3),
            (Values{256, 1024, 4647714815446351872.0}));
}

TEST(Arith, SelectsByElementOrAsAWhole) {
  EXPECT_EQ(evaluate(R"(
    %a = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %b = arith.constant dense<[3.0, 4.0]> : tensor<2xf32>
    %c = arith.constant dense<[true, false]> : tensor<2xi1>
    %r = arith.select %c, %a, %b : tensor<2xi1>, tensor<2xf32>)",
                     2),
            (Values{1, 4}));
  EXPECT_EQ(evaluate(R"(
    %a = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %b = arith.constant dense<[3.0, 4.0]> : tensor<2xf32>
    %c = arith.cmpi ne, %zero, %point : index
    %r = arith.select %c, %a, %b : tensor<2xf32>)",
                     2),
            (Values{3, 4}));
  EXPECT_EQ(evaluate(R"(
    %a = arith.constant dense<[1, 2]> : tensor<2xi32>
    %b = arith.constant dense<[3, 4]> : tensor<2xi32>
    %c = arith.constant dense<[false, true]> : tensor<2xi1>
    %d = arith.select %c, %a, %b : tensor<2xi1>, tensor<2xi32>
    %r = arith.sitofp %d : tensor<2xi32> to tensor<2xf32>)",
                     2),
            (Values{3, 2}));
}
