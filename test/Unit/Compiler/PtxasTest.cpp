//===- PtxasTest.cpp - What ptxas prints, and what it means ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Ptxas.h"

#include <gtest/gtest.h>

using namespace ringlet;

namespace {

const char *const clean = R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_80'
ptxas info    : Function properties for first
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 170 registers, used 1 barriers, 576 bytes cmem[0]
ptxas info    : Compile time = 182.094 ms
ptxas info    : Compiling entry function 'second' for 'sm_80'
ptxas info    : Function properties for second
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers, 360 bytes cmem[0]
)";

const char *const spilling =
    R"(ptxas info    : Compiling entry function 'wide' for 'sm_80'
ptxas info    : Function properties for wide
    24 bytes stack frame, 208 bytes spill stores, 392 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 576 bytes cmem[0]
)";

const char *const slow =
    R"(ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to non wgmma instructions defining accumulator registers
ptxas info    : Compiling entry function 'wide' for 'sm_90a'
ptxas info    : Function properties for wide
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 90 registers, used 1 barriers
)";

TEST(Ptxas, ReportOfEachKernel) {
  PtxasReport report = parsePtxasReport(clean);
  ASSERT_EQ(report.kernels.size(), 2u);
  const KernelReport *first = report.find("first");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->registers, 170);
  EXPECT_EQ(first->stackBytes, 16);
  ASSERT_NE(report.find("second"), nullptr);
  EXPECT_EQ(report.find("second")->registers, 8);
  EXPECT_EQ(report.find("third"), nullptr);
  EXPECT_TRUE(report.complaints.empty());
  EXPECT_FALSE(bool(checkPtxasReport(report, "sm_80")));
}

TEST(Ptxas, SpillsAreErrors) {
  PtxasReport report = parsePtxasReport(spilling);
  EXPECT_EQ(llvm::toString(checkPtxasReport(report, "sm_80")),
            "expected kernel 'wide' to fit in registers on sm_80, found 208 "
            "bytes of spill stores and 392 of spill loads with 255 registers a "
            "thread; choose smaller tiles");
}

TEST(Ptxas, PerformanceLossIsAnError) {
  PtxasReport report = parsePtxasReport(slow);
  ASSERT_EQ(report.complaints.size(), 1u);
  std::string message = llvm::toString(checkPtxasReport(report, "sm_90a"));
  EXPECT_NE(message.find("(C7510)"), std::string::npos) << message;
}

TEST(Ptxas, WarningsAreErrors) {
  PtxasReport report = parsePtxasReport(
      "ptxas warning : Unresolved extern variable 'x' in whole program\n");
  std::string message = llvm::toString(checkPtxasReport(report, "sm_80"));
  EXPECT_NE(message.find("Unresolved extern"), std::string::npos) << message;
}

TEST(Ptxas, NothingOfNothing) {
  PtxasReport report = parsePtxasReport("");
  EXPECT_TRUE(report.kernels.empty());
  EXPECT_FALSE(bool(checkPtxasReport(report, "sm_80")));
}

TEST(Ptxas, NamedProgramMustExist) {
  auto found = findPtxas("/nowhere/ptxas");
  ASSERT_FALSE(bool(found));
  EXPECT_EQ(llvm::toString(found.takeError()),
            "expected ptxas '/nowhere/ptxas' to be a program, found none");
}

} // namespace
