//===- Grid.cpp - Token grids and counting in them --------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Grid.h"

#include <limits>

using namespace ringlet::layout;

std::optional<int64_t>
ringlet::layout::gridVolume(const std::vector<int64_t> &sides) {
  int64_t volume = 1;
  for (int64_t side : sides) {
    if (side < 1 || volume > std::numeric_limits<int64_t>::max() / side)
      return std::nullopt;
    volume *= side;
  }
  return volume;
}

std::vector<int64_t>
ringlet::layout::gridCell(const std::vector<int64_t> &sides, int64_t token) {
  std::vector<int64_t> cell(sides.size());
  for (size_t a = sides.size(); a-- > 0;) {
    cell[a] = token % sides[a];
    token /= sides[a];
  }
  return cell;
}

Grid::Grid(const std::vector<int64_t> &sides) {
  for (int64_t length : sides)
    if (length > 1)
      side.push_back(length);
  stride.resize(side.size());
  volume = 1;
  for (size_t a = side.size(); a-- > 0;) {
    stride[a] = volume;
    volume *= side[a];
  }
}
