//===- GPUTest.cpp - Table of NVIDIA architectures -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/Target.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

using namespace ringlet;

TEST(GPU, RowsAreFoundByName) {
  std::set<std::string> names;
  for (const arch::GPUArch &row : arch::getGPUArchs()) {
    EXPECT_EQ(arch::lookupGPUArch(row.name), &row);
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

TEST(GPU, RowsMakeSense) {
  int before = 0;
  for (const arch::GPUArch &row : arch::getGPUArchs()) {
    int number = std::atoi(row.name + 3);
    EXPECT_GT(number, before) << row.name;
    before = number;
    EXPECT_GE(row.sharedBytes, 48 << 10) << row.name;
    EXPECT_LE(row.sharedBytes, row.sharedBytesOfSM) << row.name;
    // A block of the most threads fits, with the fewest registers that ptxas
    // would give each.
    EXPECT_GE(row.registersOfSM, 32 * arch::kMaxBlockThreads) << row.name;
    EXPECT_GE(row.threadsOfSM, arch::kMaxBlockThreads) << row.name;
    // bf16 came after f16, and never alone.
    EXPECT_LE(row.mmaDepthBF16, row.mmaDepthF16) << row.name;
    EXPECT_EQ(row.mmaDepthF16 % 8, 0) << row.name;
    // Before sm_75 no instruction of those columns exists.
    EXPECT_TRUE(number >= 75 || row.mmaDepthF16 == 0) << row.name;
    // PTX ISA, "mma": both since sm_80.
    EXPECT_FALSE(row.hasMmaOfParts(Precision::f32)) << row.name;
    for (Precision precision :
         {Precision::tf32, Precision::tf32x3, Precision::bf16x3})
      EXPECT_EQ(row.hasMmaOfParts(precision), number >= 80) << row.name;
    EXPECT_TRUE(number >= 80 || !row.hasCpAsync) << row.name;
    // wgmma came with sm_90 and left with it; the copy engine stayed.
    EXPECT_EQ(row.hasWgmma, number == 90) << row.name;
    EXPECT_EQ(row.hasTensorCopies, number >= 90) << row.name;
    EXPECT_EQ(row.hasScheduledForm(), number == 90) << row.name;
    // What only checks an older text is itself a row.
    EXPECT_NE(arch::lookupGPUArch(row.ptxasName), nullptr) << row.name;
    EXPECT_EQ(row.hasCubin(), number >= 75) << row.name;
    EXPECT_EQ(std::string(row.ptxFeature).rfind("+ptx", 0), 0u) << row.name;
  }
}

TEST(GPU, UnknownNameListsRows) {
  std::string error;
  EXPECT_EQ(arch::lookupGPUArch("sm_90", &error), nullptr);
  EXPECT_EQ(error, "expected a GPU architecture (sm_60, sm_61, sm_70, sm_75, "
                   "sm_80, sm_86, sm_89, sm_90a, sm_100, sm_120), found "
                   "'sm_90'");
  EXPECT_EQ(arch::lookupGPUArch("", nullptr), nullptr);
}

TEST(Target, EitherTable) {
  EXPECT_EQ(arch::lookupTarget("sm_80").gpu, arch::lookupGPUArch("sm_80"));
  EXPECT_EQ(arch::lookupTarget("sm_80").cpu, nullptr);
  EXPECT_EQ(arch::lookupTarget("x86-64-v4").cpu,
            arch::lookupCPULevel("x86-64-v4"));
  EXPECT_STREQ(arch::lookupTarget("sm_90a").name(), "sm_90a");
  std::string error;
  EXPECT_FALSE(arch::lookupTarget("pentium", &error));
  EXPECT_EQ(error, "expected a CPU level (x86-64-v3, x86-64-v4, "
                   "x86-64-v4-bf16, x86-64-v4-amx) or a GPU "
                   "architecture (sm_60, sm_61, sm_70, sm_75, sm_80, sm_86, "
                   "sm_89, sm_90a, sm_100, sm_120), found 'pentium'");
}
