//===- cuda/Blocks.cpp - A strided copy as plain ones ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Blocks.h"

#include "ringlet/abi/Verify.h"

#include <algorithm>

using namespace ringlet;
using namespace ringlet::rt;
using namespace ringlet::rt::cuda;

int64_t cuda::mergeAxes(const TensorView &source, const TensorView &target,
                        std::vector<Axis> &axes) {
  auto element = int64_t(abi::dtypeSize(source.dtype));
  int64_t width = element;
  for (uint32_t i = source.rank; i-- > 0;) {
    Axis axis = {source.sizes[i], source.strides[i] * element,
                 target.strides[i] * element};
    if (axis.size == 1)
      continue;
    // An axis that goes on where the ones within it end is part of them.
    if (axes.empty() && axis.source == width && axis.target == width) {
      width *= axis.size;
    } else if (!axes.empty() &&
               axis.source == axes.back().source * axes.back().size &&
               axis.target == axes.back().target * axes.back().size) {
      axes.back().size *= axis.size;
    } else {
      axes.push_back(axis);
    }
  }
  return width;
}

std::vector<Block> cuda::splitCopy(const TensorView &source,
                                   const TensorView &target,
                                   int64_t mostPitch) {
  std::vector<Axis> axes;
  int64_t width = mergeAxes(source, target, axes);
  Block block = {0, 0, width, 1, width, width};
  // The longest axis that can be the rows.
  auto isRows = [&](const Axis &axis) {
    return axis.source >= width && axis.target >= width &&
           axis.source <= mostPitch && axis.target <= mostPitch;
  };
  auto rows = axes.end();
  for (auto it = axes.begin(); it != axes.end(); ++it)
    if (isRows(*it) && (rows == axes.end() || it->size > rows->size))
      rows = it;
  if (rows != axes.end()) {
    block.height = rows->size;
    block.sourcePitch = rows->source;
    block.targetPitch = rows->target;
    axes.erase(rows);
  }
  std::vector<Block> blocks = {block};
  for (const Axis &axis : axes) {
    size_t count = blocks.size();
    blocks.reserve(count * size_t(axis.size));
    for (int64_t i = 1; i < axis.size; ++i)
      for (size_t j = 0; j < count; ++j) {
        Block next = blocks[j];
        next.source += i * axis.source;
        next.target += i * axis.target;
        blocks.push_back(next);
      }
  }
  return blocks;
}
