//===- RunCase.h - Pairs of views, and which keys are seen ------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_INTERPRETER_RUNCASE_H
#define RINGLET_TEST_UNIT_INTERPRETER_RUNCASE_H

#include "Harness.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace ringlet::interpreter::test {

/// The view of one side: queries or keys.
struct Side {
  int64_t height = 4, origin = 0, segment = 0, residue = 0, size = 0;
};

/// Operands of rtile.run and rtile.visible, and their meaning pair by pair.
struct Case {
  int64_t w = 0, rate = 1;
  Side query, key;
  bool causal = false;
  std::optional<std::pair<int64_t, int64_t>> window;
  int64_t row = 0, keyRow = 0;

  std::optional<int64_t> position(const Side &side, int64_t i) const {
    int64_t p = side.segment * w + side.residue + i * rate;
    if (w > 0 && (p < side.segment * w || p >= side.segment * w + w))
      return std::nullopt;
    if (p < side.origin || p >= side.origin + side.size)
      return std::nullopt;
    return p;
  }
  bool sees(int64_t i, int64_t j) const {
    auto p = position(query, i), u = position(key, j);
    if (!p || !u || (causal && *u > *p))
      return false;
    if (!window)
      return true;
    auto [left, right] = *window;
    return (left < 0 || *u >= *p - left) && (right < 0 || *u <= *p + right);
  }
  /// A kernel that stores what both operations give.
  std::string text() const;
};

struct Found {
  int64_t begin, wholeBegin, wholeEnd, end;
};

/// Runs the case, perhaps after a transformation, and fills `mask`.
Found runCase(const Case &c, std::vector<double> &mask, const Options &options,
              llvm::function_ref<void(const Module &)> transform = nullptr);

/// How often which kind of run was seen.
struct Tally {
  int empty = 0, whole = 0, none = 0, partly = 0;
};

/// Checks every promise of rtile.run. `natural`: as many steps must be called
/// whole as are.
void checkRun(const Case &c, const Found &f, bool natural, Tally &tally);

/// `apart` lets the sides differ in segment and residue now and then.
Case randomCase(Random &random, bool apart);

} // namespace ringlet::interpreter::test

#endif // RINGLET_TEST_UNIT_INTERPRETER_RUNCASE_H
