//===- cpu/Features.cpp - What this processor can execute ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Features.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

using namespace ringlet;
using namespace ringlet::rt;

namespace {

enum Register { EAX, EBX, ECX, EDX };

/// State that the operating system must save before the feature may be used,
/// as bits of XCR0.
enum OsState : uint64_t { None = 0, Ymm = 0x6, Zmm = 0xe6, Amx = 0x60006 };

struct Feature {
  const char *name;
  uint32_t leaf, subleaf;
  Register reg;
  unsigned bit;
  OsState state;
};

const Feature features[] = {
    {"sse3", 1, 0, ECX, 0, None},
    {"ssse3", 1, 0, ECX, 9, None},
    {"fma", 1, 0, ECX, 12, Ymm},
    {"cx16", 1, 0, ECX, 13, None},
    {"sse4.1", 1, 0, ECX, 19, None},
    {"sse4.2", 1, 0, ECX, 20, None},
    {"movbe", 1, 0, ECX, 22, None},
    {"popcnt", 1, 0, ECX, 23, None},
    {"avx", 1, 0, ECX, 28, Ymm},
    {"f16c", 1, 0, ECX, 29, Ymm},
    {"bmi", 7, 0, EBX, 3, None},
    {"avx2", 7, 0, EBX, 5, Ymm},
    {"bmi2", 7, 0, EBX, 8, None},
    {"avx512f", 7, 0, EBX, 16, Zmm},
    {"avx512dq", 7, 0, EBX, 17, Zmm},
    {"avx512ifma", 7, 0, EBX, 21, Zmm},
    {"avx512cd", 7, 0, EBX, 28, Zmm},
    {"avx512bw", 7, 0, EBX, 30, Zmm},
    {"avx512vl", 7, 0, EBX, 31, Zmm},
    {"avx512vbmi", 7, 0, ECX, 1, Zmm},
    {"avx512vnni", 7, 0, ECX, 11, Zmm},
    {"amx-bf16", 7, 0, EDX, 22, Amx},
    {"avx512fp16", 7, 0, EDX, 23, Zmm},
    {"amx-tile", 7, 0, EDX, 24, Amx},
    {"amx-int8", 7, 0, EDX, 25, Amx},
    {"avxvnni", 7, 1, EAX, 4, Ymm},
    {"avx512bf16", 7, 1, EAX, 5, Zmm},
    {"lahf_lm", 0x80000001, 0, ECX, 0, None},
    {"lzcnt", 0x80000001, 0, ECX, 5, None},
};

#if defined(__x86_64__)

uint64_t savedState() {
  uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1u << 27)))
    return 0; // No OSXSAVE: xgetbv itself would fault.
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

/// One bit for each row of `features`. Read once: under a hypervisor every
/// cpuid is a trap.
uint64_t detect() {
  uint64_t found = 0, saved = savedState();
  uint32_t regs[4] = {};
  const Feature *last = nullptr;
  for (size_t i = 0; i < std::size(features); ++i) {
    const Feature &feature = features[i];
    if (!last || last->leaf != feature.leaf || last->subleaf != feature.subleaf)
      if (!__get_cpuid_count(feature.leaf, feature.subleaf, &regs[EAX],
                             &regs[EBX], &regs[ECX], &regs[EDX]))
        std::fill(std::begin(regs), std::end(regs), 0);
    last = &feature;
    if ((regs[feature.reg] >> feature.bit & 1) &&
        (saved & feature.state) == feature.state)
      found |= uint64_t(1) << i;
  }
  return found;
}

/// Linux has room for the registers of AMX, 8 KiB a thread, only in processes
/// that ask for it, and may refuse.
bool askForAmx() {
  constexpr long requestPermission = 0x1023, tileData = 18;
  return ::syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

#else

uint64_t detect() { return 0; }
bool askForAmx() { return false; }

#endif

static_assert(std::size(features) <= 64, "detect() has one bit for each");

/// Asked once, and only where something wants to know: the answer is about the
/// whole process.
bool mayUseAmx() {
  static const bool granted = askForAmx();
  return granted;
}

bool hasFeature(const std::string &name) {
  static const uint64_t found = detect();
  for (size_t i = 0; i < std::size(features); ++i)
    if (name == features[i].name)
      return (found >> i & 1) && (features[i].state != Amx || mayUseAmx());
  return false;
}

cpu::Machine identify() {
  cpu::Machine machine;
  machine.has = hasFeature;
#if defined(__x86_64__)
  uint32_t last, text[3], eax, others[3];
  if (__get_cpuid(0, &last, &text[0], &text[2], &text[1]))
    machine.vendor.assign(reinterpret_cast<const char *>(text), sizeof(text));
  if (__get_cpuid(1, &eax, &others[0], &others[1], &others[2]))
    machine.model = (eax >> 4 & 0xf) | (eax >> 12 & 0xf0);
#endif
  return machine;
}

} // namespace

std::string cpu::processorName() {
  std::string name;
#if defined(__x86_64__)
  for (uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    uint32_t regs[4];
    if (!__get_cpuid(leaf, &regs[EAX], &regs[EBX], &regs[ECX], &regs[EDX]))
      break;
    name.append(reinterpret_cast<const char *>(regs), sizeof(regs));
  }
  name.erase(std::find(name.begin(), name.end(), '\0'), name.end());
  name.erase(0, name.find_first_not_of(' '));
#endif
  return name.empty() ? "unknown processor" : name;
}

const cpu::Machine &cpu::thisMachine() {
  static const cpu::Machine machine = identify();
  return machine;
}
