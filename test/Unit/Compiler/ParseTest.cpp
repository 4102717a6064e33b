//===- ParseTest.cpp - Names of arguments, foreign operations ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestContext.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace ringlet;

static std::string namesOf(ModuleOp module) {
  std::string names;
  module.walk([&](func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      names +=
          function.getArgAttrOfType<StringAttr>(i, "ringlet.name").str() + " ";
  });
  return names;
}

static std::string parsedNames(StringRef text) {
  TestContext context;
  auto module = context.parse(text);
  return module ? namesOf(*module) : context.messages;
}

TEST(Parse, ArgumentsAreNamedAsInTheText) {
  EXPECT_EQ(parsedNames("func.func private @f(tensor<i64>)\n"
                        "func.func @g(%q: tensor<i64>, %the.key_1: "
                        "tensor<i64>, %2: tensor<i64>) { return }"),
            "arg0 q the.key_1 arg2 ");
  // Comments and new lines in between, and a module around it.
  EXPECT_EQ(parsedNames("module {\n func.func @g(\n // %x\n %q\n : "
                        "tensor<i64>) { return } }"),
            "q ");
}

TEST(Parse, AnAttributeWins) {
  EXPECT_EQ(parsedNames("func.func @f(%q: tensor<i64> {ringlet.name = \"Q\"}, "
                        "%k: tensor<i64>) { return }"),
            "Q k ");
}

TEST(Parse, NamesMustDiffer) {
  std::string message = parsedNames(
      "func.func @f(%q: tensor<i64>, %k: tensor<i64> {ringlet.name = \"q\"}) "
      "{ return }");
  EXPECT_NE(message.find("expected arguments of different names, found \"q\" "
                         "for arguments 0 and 1"),
            std::string::npos)
      << message;
  message = parsedNames("func.func @f(%result0: tensor<i64>) -> tensor<i64> "
                        "{ return %result0 : tensor<i64> }");
  EXPECT_NE(message.find("argument 0 with the name of a result"),
            std::string::npos)
      << message;
  message = parsedNames("func.func @f(%q: tensor<i64> {ringlet.name = 3}) "
                        "{ return }");
  EXPECT_NE(message.find("expected ringlet.name of argument 0"),
            std::string::npos)
      << message;
}

TEST(Parse, MessagesShowTheLine) {
  TestContext context;
  EXPECT_FALSE(context.parse("func.func @f() {\n  oops\n}"));
  EXPECT_NE(context.messages.find("test.mlir:2:3: error:"), std::string::npos)
      << context.messages;
  EXPECT_NE(context.messages.find("  oops\n  ^"), std::string::npos)
      << context.messages;
}

// A location may name any file; reading this one would never end.
TEST(Parse, MessagesOpenNoFile) {
  TestContext context;
  auto module = context.parse("func.func @f(%a: tensor<i64>, %b: tensor<i64> "
                              "{ringlet.name = \"a\"}) { return } "
                              "loc(\"/dev/zero\":7:8)");
  EXPECT_FALSE(module);
  EXPECT_EQ(context.messages.rfind("/dev/zero:7:8: error: expected", 0), 0u)
      << context.messages;
}

static std::string vocabulary(StringRef text) {
  TestContext context;
  auto module = context.parse(text);
  if (!module)
    return context.messages;
  return succeeded(verifyVocabulary(*module)) ? "" : context.messages;
}

TEST(Vocabulary, ForeignOperationsAreNamed) {
  EXPECT_EQ(vocabulary("func.func @f(%q: tensor<i64>) -> tensor<i64> { "
                       "return %q : tensor<i64> }"),
            "");
  for (auto [text, name] : {
           std::pair("func.func @f() { func.call @f() : () -> () return }",
                     "func.call"),
           std::pair("func.func @f() { %c = arith.constant 1 : index "
                     "%d = arith.addi %c, %c : index return }",
                     "arith.addi"),
           std::pair("memref.global @g : memref<4xf32>", "memref.global"),
           std::pair("module { module {} }", "builtin.module"),
           std::pair("rtile.func @f() grid(%i: index) { rplan.return }",
                     "rplan.return"),
       })
    EXPECT_NE(vocabulary(text).find(name), std::string::npos)
        << text << "\n"
        << vocabulary(text);
}
