//===- LevelsTest.cpp - Which code a processor runs, and best -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/cpu/Levels.h"
#include "runtime/src/cpu/Features.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

namespace ringlet::test {

using abi::CodeFormat;
using rt::cpu::Machine;

namespace {

const std::set<std::string> v3 = {
    "cx16", "lahf_lm", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3", "avx",
    "avx2", "bmi",     "bmi2",   "f16c", "fma",    "lzcnt",  "movbe"};
const std::set<std::string> avx512 = {"avx512f", "avx512bw", "avx512cd",
                                      "avx512dq", "avx512vl"};
const std::set<std::string> bf16 = {"avx512bf16"};
const std::set<std::string> amx = {"amx-tile", "amx-bf16"};

Machine machine(const std::string &vendor, uint32_t model,
                std::initializer_list<std::set<std::string>> groups) {
  std::set<std::string> features;
  for (const std::set<std::string> &group : groups)
    features.insert(group.begin(), group.end());
  return {vendor, model,
          [=](const std::string &name) { return features.count(name) > 0; }};
}

const Machine haswell = machine("GenuineIntel", 60, {v3});
const Machine skylake = machine("GenuineIntel", 85, {v3, avx512});
const Machine cooperLake = machine("GenuineIntel", 85, {v3, avx512, bf16});
/// Where the operating system lets the process use AMX, and where it does not.
const Machine sapphireRapids =
    machine("GenuineIntel", 143, {v3, avx512, bf16, amx});
const Machine withoutAmx = machine("GenuineIntel", 143, {v3, avx512, bf16});
const Machine zen5 = machine("AuthenticAMD", 2, {v3, avx512, bf16});

int rankOf(const Machine &machine, const std::string &target, std::string &why,
           std::vector<std::string> extra = {},
           CodeFormat format = CodeFormat::SharedObject) {
  flatbuffers::FlatBufferBuilder builder;
  abi::CodeObjectT object;
  object.target = target;
  object.format = format;
  object.min_features = std::move(extra);
  builder.Finish(abi::CodeObject::Pack(builder, &object));
  return rt::cpu::rankTarget(
      *flatbuffers::GetRoot<abi::CodeObject>(builder.GetBufferPointer()),
      machine, why);
}

/// The levels that the machine runs, worst first, in words.
std::string order(const Machine &machine) {
  std::vector<std::pair<int, std::string>> ranks;
  for (const char *level : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4",
                            "x86-64-v4-bf16", "x86-64-v4-amx"}) {
    std::string why;
    int rank = rankOf(machine, level, why);
    EXPECT_EQ(rank < 0, !why.empty()) << level;
    if (rank >= 0)
      ranks.emplace_back(rank, level + 6);
  }
  std::sort(ranks.begin(), ranks.end());
  std::string words;
  for (size_t i = 0; i < ranks.size(); ++i) {
    EXPECT_TRUE(i == 0 || ranks[i].first > ranks[i - 1].first);
    words += ranks[i].second + " ";
  }
  return words;
}

} // namespace

// A higher level is taken before a lower one, but for code with vdpbf16ps where
// that instruction takes longer than the multiply-adds in its place.
TEST(Levels, FasterIsHigher) {
  EXPECT_EQ(order(haswell), " -v2 -v3 ");
  EXPECT_EQ(order(skylake), " -v2 -v3 -v4 ");
  EXPECT_EQ(order(cooperLake), " -v2 -v3 -v4 -v4-bf16 ");
  EXPECT_EQ(order(zen5), " -v2 -v3 -v4 -v4-bf16 ");
  EXPECT_EQ(order(sapphireRapids), " -v2 -v3 -v4-bf16 -v4 -v4-amx ");
  EXPECT_EQ(order(withoutAmx), " -v2 -v3 -v4-bf16 -v4 ");
}

TEST(Levels, Highest) {
  EXPECT_EQ(rt::cpu::highestLevel(haswell), "x86-64-v3");
  EXPECT_EQ(rt::cpu::highestLevel(skylake), "x86-64-v4");
  EXPECT_EQ(rt::cpu::highestLevel(withoutAmx), "x86-64-v4-bf16");
  EXPECT_EQ(rt::cpu::highestLevel(sapphireRapids), "x86-64-v4-amx");
  EXPECT_EQ(rt::cpu::highestLevel(machine("", 0, {})), "no x86-64");
}

TEST(Levels, RefusalsSayWhatIsMissing) {
  std::string why;
  EXPECT_EQ(rankOf(withoutAmx, "x86-64-v4-amx", why), -1);
  EXPECT_EQ(why, "needs amx-tile");
  EXPECT_EQ(rankOf(haswell, "x86-64-v4-bf16", why), -1);
  EXPECT_EQ(why, "needs avx512f");
  // What a code object wants beyond its level.
  EXPECT_EQ(rankOf(zen5, "x86-64-v4", why, {"avx2", "avx512fp16"}), -1);
  EXPECT_EQ(why, "needs avx512fp16");
  EXPECT_GE(rankOf(zen5, "x86-64-v4", why, {"avx2"}), 0);
  EXPECT_EQ(rankOf(zen5, "x86-64-v9", why), -1);
  EXPECT_EQ(why, "is another architecture");
  EXPECT_EQ(rankOf(machine("", 0, {}), "x86-64", why), -1);
  EXPECT_EQ(why, "is another architecture");
  EXPECT_EQ(rankOf(zen5, "sm_80", why, {}, CodeFormat::Ptx), -1);
  EXPECT_EQ(why, "is not code for a CPU");
}

TEST(Features, AreNested) {
  const Machine &here = rt::cpu::thisMachine();
  EXPECT_FALSE(here.has("no-such-feature"));
  auto implies = [&](const char *more, const char *less) {
    return !here.has(more) || here.has(less);
  };
  EXPECT_TRUE(implies("avx512bw", "avx512f"));
  EXPECT_TRUE(implies("avx512f", "avx2"));
  EXPECT_TRUE(implies("avx2", "sse4.2"));
  EXPECT_TRUE(implies("avx512bf16", "avx512bw"));
  EXPECT_TRUE(implies("amx-bf16", "amx-tile"));
}

#if defined(__x86_64__)
TEST(Features, AreThoseOfTheProcessor) {
  const Machine &here = rt::cpu::thisMachine();
  EXPECT_EQ(here.has("avx2"), bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(here.has("fma"), bool(__builtin_cpu_supports("fma")));
  EXPECT_EQ(here.has("avx512vl"), bool(__builtin_cpu_supports("avx512vl")));
  EXPECT_EQ(here.has("avx512bf16"), bool(__builtin_cpu_supports("avx512bf16")));
  EXPECT_EQ(here.vendor == "GenuineIntel", bool(__builtin_cpu_is("intel")));
  EXPECT_EQ(here.vendor == "AuthenticAMD", bool(__builtin_cpu_is("amd")));
}

// Linux reads the same registers.
TEST(Features, ModelIsThatOfTheSystem) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model\t", 0) == 0) {
      EXPECT_EQ(rt::cpu::thisMachine().model,
                std::stoul(line.substr(line.find(':') + 1)));
      return;
    }
  GTEST_SKIP() << "/proc/cpuinfo names no model";
}
#endif

} // namespace ringlet::test
