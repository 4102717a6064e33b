//===- cpu/Levels.cpp - Levels of x86-64, and which runs best -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Levels.h"

#include "../Status.h"

#include <vector>

using namespace ringlet;
using namespace ringlet::rt;

namespace {

/// Intel's processors since Sapphire Rapids, which have AMX for bf16, do one
/// vdpbf16ps in the time of four multiply-adds, so that code with it takes 1.5
/// to 1.6 times as long as code without. Their first ones, Cooper Lake, and
/// AMD's do about as many of one as of the other.
bool hasSlowPairs(const cpu::Machine &machine) {
  const uint32_t cooperLake = 85;
  return machine.vendor == "GenuineIntel" && machine.model != cooperLake;
}

/// The levels of the x86-64 psABI and, beyond them, what makes kernels faster,
/// each on top of the one before.
struct Level {
  const char *name;
  std::vector<const char *> adds;
  /// Where code for it is slower than code for the level before it.
  bool (*isSlower)(const cpu::Machine &) = [](const cpu::Machine &) {
    return false;
  };
};

const std::vector<Level> &levels() {
  static const std::vector<Level> table = {
      {"x86-64", {}},
      {"x86-64-v2",
       {"cx16", "lahf_lm", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"}},
      {"x86-64-v3",
       {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}},
      {"x86-64-v4",
       {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
      {"x86-64-v4-bf16", {"avx512bf16"}, hasSlowPairs},
      {"x86-64-v4-amx", {"amx-tile", "amx-bf16"}}};
  return table;
}

/// The first feature that the machine lacks of all levels up to `level`, or
/// null.
const char *firstMissing(size_t level, const cpu::Machine &machine) {
  for (size_t i = 0; i <= level; ++i)
    for (const char *name : levels()[i].adds)
      if (!machine.has(name))
        return name;
  return nullptr;
}

} // namespace

std::string cpu::highestLevel(const cpu::Machine &machine) {
  if (machine.vendor.empty())
    return "no x86-64";
  size_t highest = 0;
  while (highest + 1 < levels().size() && !firstMissing(highest + 1, machine))
    ++highest;
  return levels()[highest].name;
}

int cpu::rankTarget(const abi::CodeObject &code, const cpu::Machine &machine,
                    std::string &why) {
  std::string target = code.target()->str();
  if (code.format() != abi::CodeFormat::SharedObject) {
    why = "is not code for a CPU";
    return -1;
  }
  for (size_t i = 0; !machine.vendor.empty() && i < levels().size(); ++i) {
    if (target != levels()[i].name)
      continue;
    const char *missing = firstMissing(i, machine);
    std::string extra;
    if (!missing && code.min_features())
      for (const auto *feature : *code.min_features())
        if (extra.empty() && !machine.has(feature->str()))
          extra = feature->str();
    // Ranks are even, but for a slower level, which is just below the one
    // before it.
    if (!missing && extra.empty())
      return 2 * int(i) - (levels()[i].isSlower(machine) ? 3 : 0);
    why = text("needs ", missing ? missing : extra.c_str());
    return -1;
  }
  why = "is another architecture";
  return -1;
}
