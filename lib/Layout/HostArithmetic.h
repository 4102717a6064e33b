//===- HostArithmetic.h - Numbers of the host for a walk --------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_LAYOUT_HOSTARITHMETIC_H
#define RINGLET_LIB_LAYOUT_HOSTARITHMETIC_H

#include "lib/Layout/Dilation.h"

#include <algorithm>

namespace ringlet::layout {

/// What UnionWalk and UnionTiles compute with, on the host.
struct HostArithmetic {
  using Number = int64_t;
  using Condition = bool;

  int64_t constant(int64_t value) { return value; }
  int64_t add(int64_t a, int64_t b) { return a + b; }
  int64_t sub(int64_t a, int64_t b) { return a - b; }
  int64_t mul(int64_t a, int64_t b) { return a * b; }
  int64_t div(int64_t a, int64_t b) { return a / b; }
  int64_t rem(int64_t a, int64_t b) { return a % b; }
  int64_t floorMod(int64_t a, int64_t b) { return layout::floorMod(a, b); }
  int64_t ceilDiv(int64_t a, int64_t b) { return layout::ceilDiv(a, b); }
  int64_t narrow(int64_t a) { return a; }
  int64_t widen(int64_t a) { return a; }
  int64_t min(int64_t a, int64_t b) { return std::min(a, b); }
  int64_t max(int64_t a, int64_t b) { return std::max(a, b); }
  bool less(int64_t a, int64_t b) { return a < b; }
  bool divides(int64_t a, int64_t b) { return b % a == 0; }
  bool both(bool a, bool b) { return a && b; }
  int64_t select(bool condition, int64_t a, int64_t b) {
    return condition ? a : b;
  }
  bool always() { return true; }
  bool never() { return false; }
};

} // namespace ringlet::layout

#endif // RINGLET_LIB_LAYOUT_HOSTARITHMETIC_H
