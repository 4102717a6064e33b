//===- CPU.h - Table of CPU instruction-set levels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_ARCH_CPU_H
#define RINGLET_LIB_ARCH_CPU_H

#include <cstdint>
#include <string>
#include <vector>

namespace ringlet {
namespace arch {

/// What code generation may assume of a processor. Everything that differs
/// between levels is a column here: passes read columns and never ask for a
/// name.
struct CPULevel {
  /// Name of the level: the artefact's code is chosen by it.
  const char *name;
  /// Name of the processor in LLVM's tables.
  const char *processor;
  /// Features beyond the processor's own, as LLVM writes them.
  const char *features;
  int vectorBits;
  int vectorRegisters;
  /// Data cache of one core. Assumed, not asked for: a level stands for many
  /// processors.
  int64_t l1Bytes;
  int64_t l2Bytes;
  /// Has instructions between f16 and f32.
  bool hasF16;
  /// Has an instruction that multiplies pairs of bf16 and adds to f32.
  bool hasBF16;
  /// Has registers for matrices and instructions that multiply those of bf16
  /// (AMX); such a level has pairs of bf16, too.
  bool hasAMX;

  /// Values of 32 bits in one vector register.
  int lanes() const { return vectorBits / 32; }
};

/// Every level, the least demanding one first.
const std::vector<CPULevel> &getCPULevels();

/// The row of that name. If there is none, null, and `error` (unless null)
/// lists the rows.
const CPULevel *lookupCPULevel(const std::string &name,
                               std::string *error = nullptr);

} // namespace arch
} // namespace ringlet

#endif // RINGLET_LIB_ARCH_CPU_H
