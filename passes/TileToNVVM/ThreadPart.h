//===- ThreadPart.h - What a thread holds of tiles -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_THREADPART_H
#define RINGLET_PASSES_TILETONVVM_THREADPART_H

#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/GPUBuilder.h"

namespace ringlet {
namespace gpu {

/// Elements of a tile that this thread holds, in the order that `Fragments`
/// counts them; in roles two of 16 bits share a register.
using Fragment = llvm::SmallVector<mlir::Value>;

/// Which rows and columns of a tile the thread holds whose code is emitted.
class ThreadPart {
protected:
  using Value = mlir::Value;
  using Type = mlir::Type;

public:
  explicit ThreadPart(GPUBuilder &builder) : layout{1}, b(builder) {}

  /// `number` is the thread's among those that `fragments` lays tiles out for.
  void setThread(Value number, Fragments fragments);

  /// Row of the tile that the thread's element 0 or 2 (`half` 1) lies in, for
  /// one block of rows; column of its element 0 or 1, for one block of columns.
  Value getRowIndex(int64_t block, int64_t half) const {
    return b.add(laneRow, block * layout.rowsAtOnce() + 8 * half);
  }
  Value getColumnIndex(int64_t block, int64_t which) const {
    return b.add(laneColumn, layout.columnOf(block) + which);
  }
  /// True where the column belongs to the tile; null if that is known.
  Value isInside(int64_t width, int64_t block, int64_t which) const {
    return layout.fills(width, block)
               ? Value()
               : b.less(getColumnIndex(block, which), b.i32(width));
  }

  Fragments layout;
  GPUBuilder &b;
  /// Number, lane, warp, first row and column that the thread holds.
  Value thread, lane, warp, laneRow, laneColumn;
};

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_THREADPART_H
