//===- GPUTiling.h - Cost model of attention tiles on a GPU -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COST_GPUTILING_H
#define RINGLET_LIB_COST_GPUTILING_H

#include "lib/Cost/CPUTiling.h"
#include "lib/Tensor/Precision.h"

#include <optional>

namespace ringlet::arch {
struct GPUArch;
} // namespace ringlet::arch

namespace ringlet::cost {

/// What the model knows of a multiprocessor.
struct GPUCore {
  /// `spare`: see spareRegisters.
  static GPUCore of(const arch::GPUArch &row, bool hasMma, int64_t spare,
                    Precision precision = Precision::f32);

  int64_t sharedBytes;     ///< most of a block
  int64_t sharedBytesOfSM; ///< of all its blocks
  int64_t registersOfSM;
  int64_t registersOfThread; ///< most of one
  int64_t threadsOfSM;
  bool hasMma; ///< matrix instructions for the element type of the branch
  bool hasAsyncCopies = false; ///< from global to shared memory
  /// Most registers that sums of matrix instructions and what is made of them
  /// may take.
  int64_t sumRegisters = 224;
  /// Registers of a thread that tiles are to leave free beside what the model
  /// counts.
  int64_t spareRegisters = 0;
  /// What factors of f32 become in matrix instructions (R7).
  Precision precision = Precision::f32;
};

struct GPUTiling {
  int64_t query, key;    ///< rows of the tiles of Q and of K and V
  double cyclesPerScore; ///< estimate, of a multiprocessor, for a useful pair
  double dotShare;       ///< part of it that the two products would take alone
  int64_t sharedBytes;   ///< of a block
  int64_t registers;     ///< of a thread, estimated
  int64_t threads;       ///< of a block
  int64_t blocks;        ///< that a multiprocessor holds at once
  bool fits;             ///< a block does not exceed the multiprocessor
  int64_t candidates;    ///< shapes that were compared
};

/// Warps of a block whose tiles have that many rows, of which a warp holds 16
/// or 32 at a time; sums of products take `columns` f32 of each row. With
/// matrix instructions 32 rows are better, as a warp then reads half as much
/// from shared memory for a product, where that leaves four warps or more and
/// registers suffice. Without rows it has as many warps as blocks have at most:
/// its threads then compute each for itself.
int64_t chooseWarps(int64_t rows, int64_t columns, bool hasMma);

/// True if so many warps that read the same rows of 8-bit elements, of so many
/// columns, widen them in registers each (rtile-gpu-widen-fragments), not all
/// together once.
bool widensInRegisters(int64_t warps, int64_t columns);

/// What a block computes: one tile of queries, or, one after the other, those
/// of several tiles that have a marked row.
enum class TileKernel { Plain, Redo };

/// The estimate for one shape and elements of Q, K and V of that many bytes.
GPUTiling estimate(const GPUCore &core, const BranchShape &branch,
                   int64_t elementBytes, int64_t query, int64_t key,
                   TileKernel kernel = TileKernel::Plain);

/// The candidate of least estimated cycles among those that fit; if none does,
/// the smallest one.
GPUTiling chooseTiling(const GPUCore &core, const BranchShape &branch,
                       int64_t elementBytes,
                       TileKernel kernel = TileKernel::Plain);

/// Tiles of few queries beside others, for which a multiprocessor takes
/// `otherCycles` a score in tiles of `otherRows` rows. A key head has `group`
/// query heads, of which `heads` may share a tile.
KeySplit chooseSplit(const GPUCore &core, const BranchShape &branch,
                     int64_t elementBytes, int64_t otherRows,
                     double otherCycles, int64_t group, int64_t heads);

/// Tiles for more queries than `low` is then for, which would read keys and
/// values for each of its tiles. None for elements that are not multiplied as
/// they are stored, or where none fits.
std::optional<KeySplit> chooseTallSplit(const GPUCore &core,
                                        const BranchShape &branch,
                                        int64_t elementBytes, int64_t otherRows,
                                        double otherCycles, int64_t group,
                                        KeySplit &low);

/// One line for people: the choice and the figures behind it.
std::string explain(const GPUTiling &tiling);

} // namespace ringlet::cost

#endif // RINGLET_LIB_COST_GPUTILING_H
