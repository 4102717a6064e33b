//===- OrderChecks.h - What the tests ask of an order -----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_LAYOUT_ORDERCHECKS_H
#define RINGLET_TEST_UNIT_LAYOUT_ORDERCHECKS_H

#include "lib/Layout/Order.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace ringlet::layout {

using Tokens = std::vector<int64_t>;

/// An order on a grid, without chunk.
inline OrderSpec gridSpec(const char *curve, Tokens grid) {
  OrderSpec spec;
  spec.curve = curve;
  spec.grid = std::move(grid);
  return spec;
}

/// The order, which must exist.
inline std::shared_ptr<const Order> make(const OrderSpec &spec) {
  std::string error;
  std::shared_ptr<const Order> order = makeOrder(spec, &error);
  EXPECT_TRUE(order) << describe(spec) << ": " << error;
  return order;
}

/// Whether `tokens` holds each of [0, size) once.
inline bool isPermutation(const Tokens &tokens) {
  std::vector<char> seen(tokens.size(), 0);
  for (int64_t token : tokens)
    if (token < 0 || token >= static_cast<int64_t>(tokens.size()) ||
        seen[token]++)
      return false;
  return true;
}

/// The number of steps that do not lead to one of the neighbours along an
/// axis.
inline int64_t nonUnitSteps(const Tokens &tokens, const Tokens &grid) {
  int64_t found = 0;
  for (size_t m = 1; m < tokens.size(); ++m) {
    int64_t from = tokens[m - 1], to = tokens[m], distance = 0;
    for (size_t a = grid.size(); a-- > 0;) {
      distance += std::abs(from % grid[a] - to % grid[a]);
      from /= grid[a];
      to /= grid[a];
    }
    found += distance != 1;
  }
  return found;
}

/// Compares token() and slot() with the permutation at every `stride`-th slot;
/// returns the first that differs, or -1.
inline int64_t firstMismatch(const Order &order, const Tokens &tokens,
                             int64_t stride = 1) {
  auto length = static_cast<int64_t>(tokens.size());
  for (int64_t m = 0; m < length; m += stride)
    if (order.token(m, length) != tokens[m] ||
        order.slot(tokens[m], length) != m)
      return m;
  return -1;
}

/// The tokens below `count`, in their order in `tokens`.
inline Tokens filtered(const Tokens &tokens, int64_t count) {
  Tokens result;
  for (int64_t token : tokens)
    if (token < count)
      result.push_back(token);
  return result;
}

} // namespace ringlet::layout

#endif // RINGLET_TEST_UNIT_LAYOUT_ORDERCHECKS_H
