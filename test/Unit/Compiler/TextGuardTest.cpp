//===- TextGuardTest.cpp - Hostile and harmless texts -----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/TextGuard.h"

#include <gtest/gtest.h>

using namespace ringlet;

namespace {

std::string repeat(std::string_view text, size_t count) {
  std::string result;
  for (size_t i = 0; i < count; ++i)
    result += text;
  return result;
}

/// The message of the refusal, or "" if the text passes.
std::string refusal(std::string_view text, const TextLimits &limits = {}) {
  auto error = guardText(text, /*allowBytecode=*/false, limits);
  return error ? error->format("t") : "";
}

TEST(TextGuard, AcceptsWhatPeopleWrite) {
  EXPECT_EQ(refusal(""), "");
  EXPECT_EQ(refusal(R"mlir(
#map = affine_map<(d0, d1) -> (d0 * 2 + d1 floordiv 4, -d1)>
#set = affine_set<(d0) : (d0 - 3 >= 0, d0 == 1)>
!t = tensor<?x4x8xf32>
// ((((( a comment may hold anything: "
func.func @f(%a: !t) -> (i64, !t) attributes {x = "([{<\"", y = -1 : i64} {
  %0 = arith.constant dense<[[-1.0, 2.5e-3]]> : tensor<1x2xf32>
  return %a : !t
}
)mlir"),
            "");
}

TEST(TextGuard, LinesOfNegativeConstantsAreNoExpression) {
  EXPECT_EQ(refusal("func.func @f() {\n" +
                    repeat("  %c = arith.constant -1 : index\n", 5000) + "}"),
            "");
  EXPECT_EQ(refusal("#a = [" + repeat("-1, ", 100000) + "-1]"), "");
}

TEST(TextGuard, DepthIsCountedAcrossKindsOfBrackets) {
  for (const char *level : {"module {", "[", "tuple<", "(", "{a = [<("})
    EXPECT_NE(refusal(repeat(level, 20000)), "") << level;
  EXPECT_EQ(refusal(repeat("[", 256)), "");
  EXPECT_EQ(refusal("\n  " + repeat("[", 257)),
            "t:2:259: error: expected at most 256 brackets open at once, "
            "found 257");
  // Siblings are not nested.
  EXPECT_EQ(refusal(repeat("module {}\n", 20000)), "");
}

TEST(TextGuard, ArrowsAndComparisonsCloseNothing) {
  // If `->` closed a bracket, this depth would go unnoticed.
  EXPECT_NE(refusal(repeat("tuple<() -> ", 300)), "");
  EXPECT_NE(refusal(repeat("(a >= ", 300)), "");
}

TEST(TextGuard, AliasesCarryTheirDepth) {
  std::string types = "!a0 = i1\n", lines = types, arrows = types, attrs;
  attrs = "#a0 = 1\n";
  for (int i = 1; i < 300; ++i) {
    std::string before = std::to_string(i - 1), name = std::to_string(i);
    types += "!a" + name + " = tuple<!a" + before + ">\n";
    lines += "!a" + name + " =\n  // comment\n  tuple<!a" + before + ">\n";
    arrows += "!a" + name + " = () ->\ntuple<!a" + before + ">\n";
    attrs += "#a" + name + " = [#a" + before + "]\n";
  }
  for (const std::string &text : {types, lines, arrows, attrs})
    EXPECT_NE(refusal(text).find("expected at most 256 brackets"),
              std::string::npos)
        << text.substr(0, 80);
}

TEST(TextGuard, AnOperationEndsAnAlias) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += "#m" + std::to_string(i) + " = [1]\nmodule {\n  f(#m" +
            std::to_string(i) + ")\n}\n";
  EXPECT_EQ(refusal(text), "");
}

TEST(TextGuard, ExponentialAliasesAreRefused) {
  std::string text = "!a0 = tuple<i1, i1>\n";
  for (int i = 1; i < 60; ++i) {
    std::string before = "!a" + std::to_string(i - 1);
    text +=
        "!a" + std::to_string(i) + " = tuple<" + before + ", " + before + ">\n";
  }
  EXPECT_NE(refusal(text).find("once aliases are replaced"), std::string::npos);
}

TEST(TextGuard, LongWordsStringsAndExpressions) {
  EXPECT_EQ(refusal("x = " + std::string(4097, '9')),
            "t:1:5: error: expected a word or number of at most 4096 bytes, "
            "found 4097");
  EXPECT_NE(refusal("tensor<" + repeat("1x", 4000) + "f32>"), "");
  EXPECT_NE(refusal("#" + std::string(5000, 'a')), "");
  TextLimits limits;
  limits.string = 10;
  EXPECT_EQ(refusal("\"12345678\"", limits), "");
  EXPECT_NE(refusal("\"123456789\"", limits), "");
  for (const char *op : {" + d0", " - d0", " * 2", " mod 2", " floordiv 2"})
    EXPECT_NE(refusal("affine_map<(d0) -> (d0" + repeat(op, 513) + ")>"), "")
        << op;
  EXPECT_NE(refusal("affine_map<(d0) -> (" + repeat("-", 100000) + "d0)>"), "");
}

TEST(TextGuard, WideIntegers) {
  for (const char *type : {"i1025", "si16777215", "ui99999999999999999999",
                           "tensor<4xi16777215>", "tensor<?xi2000>"})
    EXPECT_NE(refusal(type), "") << type;
  for (const char *type :
       {"i1024", "tensor<4xi64>", "max2000", "pi4000", "index", "bf16", "i"})
    EXPECT_EQ(refusal(type), "") << type;
}

TEST(TextGuard, BytesThatAreNoText) {
  EXPECT_EQ(refusal("ML\xefR..."),
            "t: error: expected text, found MLIR bytecode, which is read only "
            "with --allow-bytecode");
  EXPECT_FALSE(guardText("ML\xefR...", /*allowBytecode=*/true));
  EXPECT_NE(refusal(std::string_view("module\0{}", 9)), "");
  TextLimits limits;
  limits.bytes = 4;
  EXPECT_NE(refusal("12345", limits), "");
  EXPECT_TRUE(guardText("ML\xefR.", /*allowBytecode=*/true, limits));
}

TEST(TextGuard, UnfinishedTextEnds) {
  for (const char *text : {"\"", "\"\\", "\"a\\", "#", "!", "#a =", "!a = ",
                           "//", "/", "-", ">", ")", "#a-", "#a->"})
    EXPECT_EQ(refusal(text), "") << text;
}

} // namespace
