//===- SystemMemory.cpp - How much memory the system can give ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SystemMemory.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

/// The number after `key` at the start of a line of a file; of the whole file
/// if `key` is empty. False if there is none ("max" is none).
static bool readNumber(const char *path, const char *key, uint64_t &number) {
  std::FILE *file = std::fopen(path, "re");
  if (!file)
    return false;
  bool found = false;
  char line[256];
  size_t length = std::strlen(key);
  unsigned long long value;
  while (!found && std::fgets(line, sizeof(line), file))
    found = std::strncmp(line, key, length) == 0 &&
            std::sscanf(line + length, " %llu", &value) == 1;
  std::fclose(file);
  if (found)
    number = value;
  return found;
}

uint64_t ringlet::rt::cpu::availableSystemMemory() {
  uint64_t available = UINT64_MAX, kilobytes, limit, current, reclaimable;
  if (readNumber("/proc/meminfo", "MemAvailable:", kilobytes))
    available = kilobytes * 1024;
  // Files that the group has read count as its own until somebody needs the
  // memory.
  if (readNumber("/sys/fs/cgroup/memory.max", "", limit) &&
      readNumber("/sys/fs/cgroup/memory.current", "", current) &&
      readNumber("/sys/fs/cgroup/memory.stat", "inactive_file ", reclaimable)) {
    current -= std::min(current, reclaimable);
    available = std::min(available, limit > current ? limit - current : 0);
  }
  return available;
}

uint64_t ringlet::rt::cpu::totalSystemMemory() {
  uint64_t kilobytes = 0;
  if (!readNumber("/proc/meminfo", "MemTotal:", kilobytes))
    return 0;
  return kilobytes * 1024;
}
