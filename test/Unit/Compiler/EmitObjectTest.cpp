//===- EmitObjectTest.cpp - Machine code and its linker ---------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/EmitObject.h"
#include "Doubling.h"
#include "TestContext.h"
#include "lib/Arch/CPU.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace mlir;
using namespace ringlet;

namespace {

/// The output, or "error: " and the message.
std::string emit(StringRef text, CodeKind kind, const char *level,
                 StringRef linker = "") {
  TestContext context;
  auto module = context.parse(text);
  if (!module)
    return "error: " + context.messages;
  auto code = KernelCode::translate(*module, *arch::lookupCPULevel(level));
  if (!code)
    return "error: " + context.messages;
  auto output = code->emit(kind, linker);
  if (!output)
    return "error: " + llvm::toString(output.takeError());
  return *output;
}

bool contains(const std::string &text, StringRef part) {
  return text.find(part.str()) != std::string::npos;
}

} // namespace

// One sum of sixteen floats: a register of 512 bits, or two of 256.
static const char *const kVector = R"mlir(
llvm.func @add(%p: !llvm.ptr) {
  %x = llvm.load %p : !llvm.ptr -> vector<16xf32>
  %y = llvm.fadd %x, %x : vector<16xf32>
  %z = llvm.fadd %y, %x : vector<16xf32>
  llvm.store %z, %p : vector<16xf32>, !llvm.ptr
  llvm.return
}
)mlir";

TEST(EmitObject, LevelsDiffer) {
  std::string v3 = emit(kVector, CodeKind::Assembly, "x86-64-v3");
  std::string v4 = emit(kVector, CodeKind::Assembly, "x86-64-v4");
  EXPECT_TRUE(contains(v3, "ymm")) << v3;
  EXPECT_FALSE(contains(v3, "zmm"));
  EXPECT_TRUE(contains(v4, "zmm")) << v4;
}

TEST(EmitObject, TextIsOptimised) {
  std::string text = emit("llvm.func @f() -> i64 {\n"
                          "  %a = llvm.mlir.constant(20 : i64) : i64\n"
                          "  %b = llvm.add %a, %a : i64\n"
                          "  llvm.return %b : i64\n}",
                          CodeKind::LLVMText, "x86-64-v3");
  EXPECT_TRUE(contains(text, "ret i64 40")) << text;
}

TEST(EmitObject, LoopsUnrollOnlyIfTheySaySo) {
  auto loop = [](StringRef annotation) {
    return ("llvm.func @f(%p: !llvm.ptr, %end: i64) {\n"
            "  %zero = llvm.mlir.constant(0 : i64) : i64\n"
            "  %one = llvm.mlir.constant(1 : i64) : i64\n"
            "  llvm.br ^head(%zero : i64)\n"
            "^head(%i: i64):\n"
            "  %q = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, "
            "i64\n"
            "  %x = llvm.load volatile %q : !llvm.ptr -> i64\n"
            "  %n = llvm.add %i, %one : i64\n"
            "  %more = llvm.icmp \"slt\" %n, %end : i64\n"
            "  llvm.cond_br %more, ^head(%n : i64), ^exit " +
            annotation + "\n^exit:\n  llvm.return\n}")
        .str();
  };
  auto loads = [&](StringRef annotation) {
    std::string text = emit(loop(annotation), CodeKind::LLVMText, "x86-64-v3");
    EXPECT_FALSE(contains(text, "error:")) << text;
    return StringRef(text).count("load volatile");
  };
  EXPECT_EQ(loads(""), 1u);
  EXPECT_GE(loads("{loop_annotation = #llvm.loop_annotation<unroll = "
                  "<disable = false, count = 4 : i32>>}"),
            4u);
}

TEST(EmitObject, ObjectsAreElf) {
  for (CodeKind kind : {CodeKind::Object, CodeKind::SharedObject}) {
    std::string bytes = emit(kDoublingCode, kind, "x86-64-v3");
    ASSERT_GT(bytes.size(), 64u) << bytes;
    EXPECT_EQ(bytes.substr(0, 4), "\x7f"
                                  "ELF");
    // ET_REL is 1, ET_DYN 3.
    EXPECT_EQ(bytes[16], kind == CodeKind::Object ? 1 : 3);
  }
}

TEST(EmitObject, LoopsStayLoops) {
  // A loop that fills with zeros is memset to LLVM, and there is no C library.
  std::string text = emit(R"mlir(
llvm.func @fill(%params: !llvm.ptr, %begin: i64, %end: i64,
                %scratch: !llvm.ptr) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  llvm.br ^head(%begin : i64)
^head(%i: i64):
  %p = llvm.getelementptr %scratch[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %zero, %p : f32, !llvm.ptr
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "slt" %next, %end : i64
  llvm.cond_br %more, ^head(%next : i64), ^exit
^exit:
  llvm.return
}
)mlir",
                          CodeKind::SharedObject, "x86-64-v3");
  EXPECT_FALSE(contains(text, "error:")) << text;
}

TEST(EmitObject, CallsOutsideAreRefusedByName) {
  std::string text = emit("llvm.func @sinf(f32) -> f32\n"
                          "llvm.func @abort()\n"
                          "llvm.func @k(%x: f32) -> f32 {\n"
                          "  llvm.call @abort() : () -> ()\n"
                          "  %y = llvm.call @sinf(%x) : (f32) -> f32\n"
                          "  llvm.return %y : f32\n}",
                          CodeKind::SharedObject, "x86-64-v3");
  EXPECT_EQ(text, "error: expected kernels that call nothing outside, found "
                  "'abort', 'sinf'");
}

TEST(EmitObject, AMissingLinkerIsNamed) {
  std::string text = emit(kDoublingCode, CodeKind::SharedObject, "x86-64-v3",
                          "/nowhere/ld.lld");
  EXPECT_EQ(text, "error: expected the linker '/nowhere/ld.lld' to be a "
                  "program, found none");
  std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  text = emit(kDoublingCode, CodeKind::SharedObject, "x86-64-v3");
  setenv("PATH", path.c_str(), 1);
  EXPECT_TRUE(contains(text, "install the package lld-22")) << text;
}

TEST(EmitObject, AFailingLinkerIsQuoted) {
  std::string text =
      emit(kDoublingCode, CodeKind::SharedObject, "x86-64-v3", "/bin/false");
  EXPECT_TRUE(contains(text, "/bin/false failed with status 1")) << text;
}
