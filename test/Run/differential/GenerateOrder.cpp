//===- GenerateOrder.cpp - Random memory orders -----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/differential/Generate.h"

#include <numeric>

namespace ringlet::differential {

layout::OrderSpec drawOrder(Dice &dice, std::optional<int64_t> &length) {
  layout::OrderSpec order;
  if (dice.oneIn(4)) {
    order.curve = "residue";
    order.rate = dice.between(1, 9);
    if (dice.oneIn(3))
      order.chunk = dice.between(1, 50);
    return order;
  }
  order.curve = dice.pick<const char *>(
      {"hilbert", "hilbert", "morton", "snake", "linear", "table"});
  if (order.curve == "table") {
    // The length may already be that of another order.
    int64_t count = length.value_or(dice.between(1, 40));
    order.table.resize(static_cast<size_t>(count));
    std::iota(order.table.begin(), order.table.end(), 0);
    for (int64_t i = count - 1; i > 0; --i)
      std::swap(order.table[i], order.table[dice.between(0, i)]);
    if (dice.oneIn(2) || count == 0)
      order.chunk = count;
    else
      length = count;
    return order;
  }
  int64_t volume = 1;
  if (dice.oneIn(2) || length) {
    int64_t rank = dice.between(2, 3);
    for (int64_t i = 0; i < rank; ++i)
      order.grid.push_back(dice.between(1, rank == 2 ? 12 : 5));
    for (int64_t side : order.grid)
      volume *= side;
    order.chunk = volume;
  } else {
    order.grid = {dice.between(1, 14), dice.between(1, 14)};
    length = order.grid[0] * order.grid[1];
  }
  return order;
}

layout::OrderSpec drawChunkedOrder(Dice &dice) {
  std::optional<int64_t> length = dice.between(1, 60);
  layout::OrderSpec order = drawOrder(dice, length);
  if (order.chunk == 0)
    order.chunk = *length;
  return order;
}

layout::OrderSpec drawPatternOrder(Dice &dice, std::optional<int64_t> &volume) {
  layout::OrderSpec order;
  order.curve = dice.pick<const char *>(
      {"hilbert", "hilbert", "morton", "snake", "linear", "residue"});
  int64_t rank = dice.between(2, 3), cells = 1;
  for (int64_t i = 0; i < rank; ++i)
    order.grid.push_back(dice.between(2, rank == 2 ? 12 : 5));
  for (int64_t side : order.grid)
    cells *= side;
  if (order.curve == "residue") {
    order.grid.clear();
    order.rate = dice.between(2, 9);
    order.chunk = cells;
  }
  volume = cells;
  return order;
}

std::vector<int64_t> gridOf(const layout::OrderSpec &pattern) {
  return pattern.grid.empty() ? std::vector<int64_t>{pattern.chunk}
                              : pattern.grid;
}

oracle::GridWindow drawGridWindow(Dice &dice, std::vector<int64_t> grid) {
  oracle::GridWindow window;
  for (size_t axis = 0; axis < grid.size(); ++axis)
    window.radius.push_back(dice.between(0, 4));
  window.grid = std::move(grid);
  return window;
}

} // namespace ringlet::differential
