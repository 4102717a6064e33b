//===- CPUTest.cpp - Table of CPU levels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/CPU.h"

#include <gtest/gtest.h>

#include <set>

using namespace ringlet;

TEST(CPU, RowsAreFoundByName) {
  std::set<std::string> names;
  for (const arch::CPULevel &level : arch::getCPULevels()) {
    EXPECT_EQ(arch::lookupCPULevel(level.name), &level);
    EXPECT_TRUE(names.insert(level.name).second) << level.name;
  }
}

TEST(CPU, RowsMakeSense) {
  for (const arch::CPULevel &level : arch::getCPULevels()) {
    EXPECT_EQ(level.lanes() & (level.lanes() - 1), 0) << level.name;
    EXPECT_GE(level.lanes(), 4) << level.name;
    EXPECT_GE(level.vectorRegisters, 16) << level.name;
    EXPECT_LT(level.l1Bytes, level.l2Bytes) << level.name;
    // LLVM has to be told of what its processor lacks.
    EXPECT_EQ(level.hasBF16, std::string(level.features).find("avx512bf16") !=
                                 std::string::npos)
        << level.name;
    EXPECT_EQ(level.hasAMX,
              std::string(level.features).find("amx-bf16") != std::string::npos)
        << level.name;
    EXPECT_TRUE(level.hasBF16 || !level.hasAMX) << level.name;
  }
}

TEST(CPU, UnknownNameListsRows) {
  std::string error;
  EXPECT_EQ(arch::lookupCPULevel("x86-64-v9", &error), nullptr);
  EXPECT_EQ(error, "expected a CPU level (x86-64-v3, x86-64-v4, "
                   "x86-64-v4-bf16, x86-64-v4-amx), "
                   "found 'x86-64-v9'");
  EXPECT_EQ(arch::lookupCPULevel("", nullptr), nullptr);
}
