//===- EmitPTXTest.cpp - Kernels that were compiled one by one -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/EmitPTX.h"
#include "lib/Arch/GPU.h"
#include "test/Unit/Compiler/TestContext.h"

#include <gtest/gtest.h>

using namespace ringlet;

namespace {

std::string emit(llvm::StringRef text) {
  TestContext context;
  auto module = context.parse(text);
  if (!module)
    return "error: " + context.messages;
  auto code = GPUKernelCode::translate(*module, *arch::lookupGPUArch("sm_80"),
                                       GPUCodeKind::PTX);
  if (!code)
    return "error: " + context.messages;
  auto output = code->emit();
  return output ? *output : "error: " + llvm::toString(output.takeError());
}

TEST(EmitPTX, WhatStandsInFrontOfKernelsIsThereOnce) {
  EXPECT_EQ(joinPTX({"//\n// Made\n//\n\n.version 8\n\t// .globl\ta\n"
                     ".extern .shared x[];\n\n.visible .entry a(\n)\n{\n}\n",
                     "//\n// Made\n//\n\n.version 8\n\t// .globl\tb\n"
                     ".extern .shared y[];\n.extern .shared x[];\n"
                     "\n.visible .entry b(\n)\n{\n}\n"}),
            "//\n// Made\n//\n\n.version 8\n.extern .shared x[];\n\n"
            ".extern .shared y[];\n\n.visible .entry a(\n)\n{\n}\n"
            "\n.visible .entry b(\n)\n{\n}\n");
}

TEST(EmitPTX, KernelsKeepTheirOrder) {
  std::string ptx = emit(R"mlir(
    llvm.mlir.global external @many() {addr_space = 3 : i32} : !llvm.array<0 x i8>
    llvm.func ptx_kernelcc @second(%p: !llvm.ptr<1>) {
      %s = llvm.mlir.addressof @many : !llvm.ptr<3>
      %v = llvm.load %s : !llvm.ptr<3> -> i32
      llvm.store %v, %p : i32, !llvm.ptr<1>
      llvm.return
    }
    llvm.func ptx_kernelcc @first(%p: !llvm.ptr<1>) {
      %s = llvm.mlir.addressof @many : !llvm.ptr<3>
      %v = llvm.load %p : !llvm.ptr<1> -> i32
      llvm.store %v, %s : i32, !llvm.ptr<3>
      llvm.return
    }
  )mlir");
  size_t version = ptx.find(".version"), shared = ptx.find(".extern .shared"),
         second = ptx.find(".entry rl_second("),
         first = ptx.find(".entry rl_first(");
  ASSERT_NE(first, std::string::npos) << ptx;
  EXPECT_LT(version, shared) << ptx;
  EXPECT_LT(shared, second) << ptx;
  EXPECT_LT(second, first) << ptx;
  EXPECT_EQ(ptx.find(".version", version + 1), std::string::npos) << ptx;
  EXPECT_EQ(ptx.find(".extern", shared + 1), std::string::npos) << ptx;
}

TEST(EmitPTX, NoKernelIsTextToo) {
  std::string ptx = emit("module {}");
  EXPECT_NE(ptx.find(".target sm_80"), std::string::npos) << ptx;
  EXPECT_EQ(ptx.find(".entry"), std::string::npos) << ptx;
}

} // namespace
