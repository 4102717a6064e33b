//===- cpu/Levels.h - Levels of x86-64, and which runs best -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CPU_LEVELS_H
#define RINGLET_RUNTIME_CPU_LEVELS_H

#include "ringlet/abi/ArtifactGenerated.h"

#include <functional>
#include <string>

namespace ringlet::rt::cpu {

/// What matters of a processor.
struct Machine {
  std::string vendor; ///< As cpuid spells it; empty if this is no x86-64.
  uint32_t model = 0; ///< Of the vendor's family.
  /// Whether it has, and this process may use, what LLVM calls so.
  std::function<bool(const std::string &)> has;
};

/// The highest level that the machine has ("x86-64-v3"); for messages.
std::string highestLevel(const Machine &machine);

/// Place of the code object's target among the levels that the machine runs,
/// faster ones higher; -1 and the reason if it does not run it.
int rankTarget(const abi::CodeObject &code, const Machine &machine,
               std::string &why);

} // namespace ringlet::rt::cpu

#endif // RINGLET_RUNTIME_CPU_LEVELS_H
