//===- PrefixOrdinal.cpp - Small values in a prefix, counted ----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/PrefixOrdinal.h"

#include <bitset>
#include <utility>

using namespace ringlet::layout;

PrefixOrdinal::PrefixOrdinal(std::vector<int64_t> values) {
  size_t size = values.size();
  std::vector<int64_t> sorted(size);
  int depth = 0;
  while (size >> depth > 0)
    ++depth;
  // Every limit up to size itself has at most `depth` bits.
  for (int bit = depth - 1; bit >= 0; --bit) {
    Level level;
    level.bits.assign(size / 64 + 1, 0);
    for (size_t i = 0; i < size; ++i)
      level.bits[i / 64] |= uint64_t(values[i] >> bit & 1) << i % 64;
    int64_t ones = 0;
    for (uint64_t word : level.bits) {
      level.onesBefore.push_back(ones);
      ones += static_cast<int64_t>(std::bitset<64>(word).count());
    }
    level.zeros = static_cast<int64_t>(size) - ones;
    // The stable sort by this bit: zeros first.
    int64_t zero = 0, one = level.zeros;
    for (int64_t value : values)
      sorted[value >> bit & 1 ? one++ : zero++] = value;
    values.swap(sorted);
    levels.push_back(std::move(level));
  }
}

int64_t PrefixOrdinal::Level::ones(int64_t prefix) const {
  uint64_t below = (uint64_t(1) << prefix % 64) - 1;
  return onesBefore[prefix / 64] +
         static_cast<int64_t>(
             std::bitset<64>(bits[prefix / 64] & below).count());
}

int64_t PrefixOrdinal::countBelow(int64_t prefix, int64_t limit) const {
  // [from, to) are the entries of the prefix that agree with `limit` in all
  // bits so far, where this level's sorting has put them.
  int64_t from = 0, to = prefix, found = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    const Level &level = levels[i];
    int64_t onesFrom = level.ones(from), onesTo = level.ones(to);
    if (limit >> (levels.size() - 1 - i) & 1) {
      found += (to - from) - (onesTo - onesFrom);
      from = level.zeros + onesFrom;
      to = level.zeros + onesTo;
    } else {
      from -= onesFrom;
      to -= onesTo;
    }
  }
  return found;
}
