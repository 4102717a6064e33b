//===- CPU.cpp - Table of CPU instruction-set levels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/CPU.h"

#include "lib/Arch/Rows.h"

using namespace ringlet;

const std::vector<arch::CPULevel> &arch::getCPULevels() {
  static const std::vector<CPULevel> levels = {
      // name, processor, features, bits, registers, L1, L2, f16, bf16, AMX
      {"x86-64-v3", "x86-64-v3", "", 256, 16, 32 << 10, 256 << 10, true, false,
       false},
      {"x86-64-v4", "x86-64-v4", "", 512, 32, 32 << 10, 1 << 20, true, false,
       false},
      {"x86-64-v4-bf16", "x86-64-v4", "+avx512bf16", 512, 32, 32 << 10, 1 << 20,
       true, true, false},
      {"x86-64-v4-amx", "x86-64-v4", "+avx512bf16,+amx-tile,+amx-bf16", 512, 32,
       48 << 10, 2 << 20, true, true, true},
  };
  return levels;
}

const arch::CPULevel *arch::lookupCPULevel(const std::string &name,
                                           std::string *error) {
  const CPULevel *level = findRow(getCPULevels(), name);
  if (!level && error)
    *error = "expected a CPU level (" + listNames(getCPULevels()) +
             "), found '" + name + "'";
  return level;
}
