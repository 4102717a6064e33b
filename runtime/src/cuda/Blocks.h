//===- cuda/Blocks.h - A strided copy as plain ones ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CUDA_BLOCKS_H
#define RINGLET_RUNTIME_CUDA_BLOCKS_H

#include "../Driver.h"

#include <vector>

namespace ringlet::rt::cuda {

/// Rows of the same length at the same distance, in bytes. `height` is 1 where
/// all is in one piece.
struct Block {
  int64_t source, target; // From the views' data.
  int64_t width, height;
  int64_t sourcePitch, targetPitch; // At least width where height is above 1.
};

/// An axis outside a contiguous piece; strides in bytes.
struct Axis {
  int64_t size, source, target;
};

/// The bytes that are contiguous in both views, and the fewest axes outside of
/// them, the innermost first.
int64_t mergeAxes(const TensorView &source, const TensorView &target,
                  std::vector<Axis> &axes);

/// Few blocks that are together the copy of one view to another one of the
/// same type and sizes. Not empty, and the last axis is contiguous.
std::vector<Block> splitCopy(const TensorView &source, const TensorView &target,
                             int64_t mostPitch);

} // namespace ringlet::rt::cuda

#endif // RINGLET_RUNTIME_CUDA_BLOCKS_H
