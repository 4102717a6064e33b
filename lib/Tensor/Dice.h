//===- Dice.h - Random numbers that are the same everywhere -----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The distributions of the standard library may differ between its
// implementations; a case must be the same everywhere, so these are our own.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_TENSOR_DICE_H
#define RINGLET_LIB_TENSOR_DICE_H

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace ringlet {

class Dice {
public:
  /// Streams of different numbers are independent.
  Dice(uint64_t seed, uint64_t stream) : state(mix(seed ^ mix(stream))) {}

  uint64_t next() { return mix(state += 0x9e3779b97f4a7c15u); }
  /// In [least, greatest].
  int64_t between(int64_t least, int64_t greatest) {
    auto range = static_cast<uint64_t>(greatest - least) + 1;
    return least + static_cast<int64_t>(next() % range);
  }
  bool oneIn(int64_t n) { return between(1, n) == 1; }
  bool percent(int64_t n) { return between(0, 99) < n; }
  template <typename T>
  T pick(std::initializer_list<T> list) {
    return list.begin()[between(0, static_cast<int64_t>(list.size()) - 1)];
  }
  template <typename T>
  const T &pick(const std::vector<T> &list) {
    return list[between(0, static_cast<int64_t>(list.size()) - 1)];
  }
  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// Nearly normal, of deviation 1, within [-3.5, 3.5].
  double normal() {
    double sum = 0;
    for (int i = 0; i < 4; ++i)
      sum += uniform();
    return (sum - 2) * 1.7320508075688772;
  }

private:
  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t state;
};

} // namespace ringlet

#endif // RINGLET_LIB_TENSOR_DICE_H
