//===- CAPITest.cpp - The compiler's C API ----------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet-c/Compiler.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

static const char kGood[] =
    "func.func @f(%q: tensor<1x8x2x16xf32>) -> tensor<1x8x2x16xf32> {\n"
    "  %o, %l = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]\n"
    "      : (tensor<1x8x2x16xf32>, tensor<1x8x2x16xf32>,\n"
    "         tensor<1x8x2x16xf32>)\n"
    "      -> (tensor<1x8x2x16xf32>, tensor<1x2x8xf32>)\n"
    "  return %o : tensor<1x8x2x16xf32>\n"
    "}\n";

namespace {

struct Call {
  rlc_result *result = nullptr;
  rlc_status status;

  Call(const char *text, size_t size, const rlc_options *options)
      : status(rlc_compile(text, size, options, &result)) {}
  ~Call() { rlc_result_destroy(result); }
  std::string diagnostics() const { return rlc_result_diagnostics(result); }
};

rlc_options emitting(const char *emit) {
  rlc_options options = RLC_OPTIONS_INIT;
  options.emit = emit;
  return options;
}

} // namespace

TEST(CompilerC, TextIsTerminatedAndExplained) {
  rlc_options options = emitting("rplan");
  Call call(kGood, std::strlen(kGood), &options);
  ASSERT_EQ(call.status, RLC_OK) << call.diagnostics();
  auto *text = static_cast<const char *>(rlc_result_bytes(call.result));
  EXPECT_EQ(std::strlen(text), rlc_result_size(call.result));
  EXPECT_NE(std::strstr(text, "rplan.func @f"), nullptr);
  EXPECT_NE(
      std::strstr(rlc_result_explanation(call.result), "ringlet-choose-tiling"),
      nullptr);
  EXPECT_EQ(call.diagnostics(), "");
}

TEST(CompilerC, ARefusalHasDiagnosticsAndNoBytes) {
  rlc_options options = RLC_OPTIONS_INIT;
  options.input_name = "mine.mlir";
  Call call("oops", 4, &options);
  EXPECT_EQ(call.status, RLC_REFUSED);
  EXPECT_EQ(call.diagnostics().rfind("mine.mlir:1:1: error:", 0), 0u)
      << call.diagnostics();
  EXPECT_EQ(rlc_result_bytes(call.result), nullptr);
  EXPECT_EQ(rlc_result_size(call.result), 0u);
}

namespace {

struct Heard {
  int32_t severity;
  std::string file, message;
  uint32_t line, column;
};

std::vector<Heard> hear(const std::string &text, rlc_options options,
                        rlc_status expected) {
  std::vector<Heard> heard;
  options.diagnostic = [](void *user, const rlc_diagnostic *said) {
    EXPECT_EQ(said->struct_size, sizeof(rlc_diagnostic));
    static_cast<std::vector<Heard> *>(user)->push_back(
        {said->severity, said->file, said->message, said->line, said->column});
  };
  options.diagnostic_user = &heard;
  Call call(text.c_str(), text.size(), &options);
  EXPECT_EQ(call.status, expected) << call.diagnostics();
  for (const Heard &one : heard)
    EXPECT_NE(call.diagnostics().find(one.message), std::string::npos);
  return heard;
}

} // namespace

TEST(CompilerC, DiagnosticsHavePlaces) {
  rlc_options options = RLC_OPTIONS_INIT;
  options.input_name = "mine.mlir";
  // From MLIR, with a note; from the guard in front of it; of an option.
  auto heard = hear("func.func @f() { return }\nfunc.func @f() { return }\n",
                    options, RLC_REFUSED);
  ASSERT_EQ(heard.size(), 2u);
  EXPECT_EQ(heard[0].severity, RLC_ERROR);
  EXPECT_EQ(heard[0].file, "mine.mlir");
  EXPECT_EQ(heard[0].line, 2u);
  EXPECT_EQ(heard[0].column, 1u);
  EXPECT_EQ(heard[1].severity, RLC_NOTE);
  EXPECT_EQ(heard[1].line, 1u);

  heard = hear("\n" + std::string(300, '('), options, RLC_REFUSED);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].line, 2u);
  EXPECT_EQ(heard[0].file, "mine.mlir");

  options.emit = "exe";
  heard = hear("", options, RLC_INVALID_ARGUMENT);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].file, "");
  EXPECT_EQ(heard[0].line, 0u);

  EXPECT_EQ(hear(kGood, emitting("rplan"), RLC_OK).size(), 0u);
}

TEST(CompilerC, BytecodeNeedsAReader) {
  rlc_options options = emitting("rplan");
  options.allow_bytecode = 1;
  options.reader = "/nowhere/ringlet-compile";
  auto heard = hear("ML\xefR nonsense", options, RLC_REFUSED);
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0].message,
            "expected the reader of bytecode "
            "(rlc_options.reader) '/nowhere/ringlet-compile' to be a program, "
            "found none");
  // Text needs none.
  EXPECT_EQ(hear(kGood, options, RLC_OK).size(), 0u);
}

TEST(CompilerC, Version) {
  EXPECT_EQ(rlc_abi_version().major, RLC_ABI_MAJOR);
  EXPECT_EQ(rlc_abi_version().minor, RLC_ABI_MINOR);
}

TEST(CompilerC, TheSizeEndsTheText) {
  // What follows the first function is not read.
  std::string text = std::string(kGood) + "oops";
  rlc_options options = emitting("rplan");
  EXPECT_EQ(Call(text.c_str(), std::strlen(kGood), &options).status, RLC_OK);
  EXPECT_EQ(Call(text.c_str(), text.size(), &options).status, RLC_REFUSED);
}

TEST(CompilerC, ArgumentsAreChecked) {
  EXPECT_EQ(rlc_compile("", 0, nullptr, nullptr), RLC_INVALID_ARGUMENT);
  EXPECT_EQ(Call(nullptr, 4, nullptr).status, RLC_INVALID_ARGUMENT);
  EXPECT_EQ(Call(nullptr, 0, nullptr).status, RLC_REFUSED);
  rlc_options options = emitting("exe");
  EXPECT_NE(Call("", 0, &options).diagnostics().find("found 'exe'"),
            std::string::npos);
  options = RLC_OPTIONS_INIT;
  options.target = "cpu:x86-64-v9";
  EXPECT_EQ(Call("", 0, &options).status, RLC_INVALID_ARGUMENT);
  options = RLC_OPTIONS_INIT;
  options.struct_size = 0;
  EXPECT_EQ(Call("", 0, &options).status, RLC_INVALID_ARGUMENT);
  rlc_result_destroy(nullptr);
  EXPECT_STREQ(rlc_result_diagnostics(nullptr), "");
}

TEST(CompilerC, RecipesHaveNames) {
  rlc_options options = emitting("rplan");
  options.recipe = "fast";
  Call wrong(kGood, std::strlen(kGood), &options);
  EXPECT_EQ(wrong.status, RLC_INVALID_ARGUMENT);
  EXPECT_EQ(wrong.diagnostics(),
            "error: expected one of auto, plain, fa_fwd_lazy, fa_fwd_overlap, "
            "pipelined, found 'fast'\n");
  options.recipe = "plain";
  Call plain(kGood, std::strlen(kGood), &options);
  EXPECT_EQ(plain.status, RLC_OK) << plain.diagnostics();
}

TEST(CompilerC, OrdersHaveNames) {
  rlc_options options = emitting("ringlet");
  options.order = "peano";
  Call wrong(kGood, std::strlen(kGood), &options);
  EXPECT_EQ(wrong.status, RLC_INVALID_ARGUMENT);
  // Whatever other curves there are.
  std::string said = wrong.diagnostics();
  EXPECT_EQ(said.find("error: expected one of auto, linear, hilbert, "), 0u);
  EXPECT_NE(said.find("residue, found 'peano'\n"), std::string::npos) << said;
  options.order = "residue";
  Call residue(kGood, std::strlen(kGood), &options);
  ASSERT_EQ(residue.status, RLC_OK) << residue.diagnostics();
  EXPECT_NE(std::strstr(rlc_result_explanation(residue.result),
                        "K and V in residue<1>, as asked for"),
            nullptr)
      << rlc_result_explanation(residue.result);
}

TEST(CompilerC, APtxasThatIsNone) {
  rlc_options options = RLC_OPTIONS_INIT;
  options.target = "sm_80";
  options.ptxas = "/nowhere/ptxas";
  Call call(kGood, std::strlen(kGood), &options);
  EXPECT_NE(call.status, RLC_OK);
  EXPECT_NE(call.diagnostics().find("expected ptxas '/nowhere/ptxas' to be a "
                                    "program, found none"),
            std::string::npos)
      << call.diagnostics();
}

TEST(CompilerC, OptionsOfOtherVersions) {
  // An older caller knows the first option only; what lies behind its struct
  // is not read.
  struct {
    size_t struct_size;
    const char *target;
    uintptr_t garbage;
  } older = {offsetof(rlc_options, emit), "cpu:x86-64-v4", ~uintptr_t(0)};
  Call old("", 0, reinterpret_cast<const rlc_options *>(&older));
  EXPECT_EQ(old.status, RLC_REFUSED) << old.diagnostics();

  // A newer one may say more, as long as that is nothing.
  struct {
    rlc_options known;
    int64_t later;
  } newer = {RLC_OPTIONS_INIT, 0};
  newer.known.struct_size = sizeof newer;
  EXPECT_EQ(Call("", 0, &newer.known).status, RLC_REFUSED);
  newer.later = 1;
  EXPECT_EQ(Call("", 0, &newer.known).status, RLC_INVALID_ARGUMENT);
}

TEST(CompilerC, ManyThreadsGetTheSame) {
  rlc_options options = emitting("rtile");
  std::vector<std::string> outputs(4);
  std::vector<std::thread> threads;
  for (std::string &output : outputs)
    threads.emplace_back([&] {
      Call call(kGood, std::strlen(kGood), &options);
      output.assign(static_cast<const char *>(rlc_result_bytes(call.result)),
                    rlc_result_size(call.result));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_FALSE(outputs[0].empty());
  for (const std::string &output : outputs)
    EXPECT_EQ(output, outputs[0]);
}
