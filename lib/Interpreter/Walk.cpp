//===- Walk.cpp - In which order a launch hands out its points ------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Walk.h"

#include <algorithm>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

static int64_t divideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }

Walk::Walk(rtile::FuncOp function, ArrayRef<int64_t> extents, int64_t blocks,
           ArrayRef<const Datum *> arguments)
    : walk(function.getWalkAttr()), grid(extents) {
  if (walk)
    order.append(walk.getOrder().begin(), walk.getOrder().end());
  for (size_t axis = 0; order.size() < grid.size(); ++axis)
    order.push_back(static_cast<int64_t>(axis));
  for (int64_t extent : grid)
    points *= extent;
  if (walk && walk.getSection() && grid.size() > 1 && points > 0)
    section = findSection(blocks, arguments);
}

int64_t Walk::findSection(int64_t blocks,
                          ArrayRef<const Datum *> arguments) const {
  int64_t slowest = grid[order.back()], others = points / slowest;
  int64_t wanted = std::min<int64_t>(walk.getSection(), others);
  if (walk.getRows() != 0) {
    ArrayRef<int64_t> length = walk.getLength();
    int64_t rows = arguments[length[0]]->buffer->sizes[length[1]];
    int64_t times = walk.getRows() / std::max<int64_t>(rows, 1);
    wanted *= std::clamp<int64_t>(times, 1, others);
  }
  // A thousand points of every block are a long section.
  if (int64_t perBlock = std::min<int64_t>(walk.getPerBlock(), 1024))
    // No longer than leaves eight readers to the same rows.
    wanted = std::max(
        wanted, std::min(divideUp(blocks * perBlock, slowest), blocks / 8));
  wanted = std::clamp<int64_t>(wanted, 1, others);
  return divideUp(others, others / wanted);
}

SmallVector<int64_t, 4> Walk::at(int64_t item) const {
  SmallVector<int64_t, 4> point(grid.size());
  ArrayRef<int64_t> axes = order;
  if (section) {
    int64_t slowest = grid[axes.back()], others = points / slowest;
    int64_t first = item / (slowest * section) * section;
    int64_t inSection = item % (slowest * section);
    // The last section may be shorter.
    int64_t width = std::min(others - first, section);
    point[axes.back()] = inSection / width;
    item = first + inSection % width;
    axes = axes.drop_back();
  }
  for (int64_t axis : axes) {
    point[axis] = item % grid[axis];
    item /= grid[axis];
  }
  if (walk)
    for (int64_t axis : walk.getReversed())
      point[axis] = grid[axis] - 1 - point[axis];
  return point;
}
