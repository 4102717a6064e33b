//===- ScheduleResources.h - What scheduled kernels take -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers and shared memory of kernels in the scheduled form, of which the
// cost model knows the shapes and a pass the products.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COST_SCHEDULERESOURCES_H
#define RINGLET_LIB_COST_SCHEDULERESOURCES_H

#include "lib/Cost/GPUTiling.h"

#include <optional>
#include <string>
#include <vector>

namespace ringlet::cost {

/// Query rows and warps of a group: those of one wgmma.
inline constexpr int64_t kGroupRows = 64, kGroupWarps = 4;

/// What products of groups and the copy engine take: the most columns, of which
/// there is a multiple, the most rows at once and the multiple of key rows.
inline constexpr int64_t kMostColumns = 256, kColumnStep = 8;
inline constexpr int64_t kMostBoxRows = 256, kKeyStep = 16;

/// Registers of a thread beside tiles and sums, on average: addresses, loop
/// counters, row statistics. Kernels ran with fewer, down to the second number,
/// without spilling.
inline constexpr int64_t kOtherRegisters = 40, kLeastOtherRegisters = 32;

/// Slots of a channel beyond which more were measured to gain nothing: where
/// steps do nothing but multiply what was loaded, and where many short tiles of
/// queries follow each other.
inline constexpr int64_t kMostSlots = 4, kMostSlotsOfShort = 3;
/// Registers that kernels of few to spare leave free before tiles do: of three
/// slots each role carries two numbers.
inline constexpr int64_t kRegistersOfSlots = 16;
/// Those of `core.spareRegisters` that tiles leave free.
int64_t getSpareOfTiles(const GPUCore &core);

/// Shared memory of a tile that copies fill: panels of 64 columns, and two
/// barriers.
int64_t slotBytes(int64_t rows, int64_t columns);
/// What a block has for slots if a multiprocessor holds so many.
int64_t slotLimit(const GPUCore &core, int64_t blocks = 1);

/// A tile in registers of the groups that compute, from where it is made to its
/// last use: places of a program, in any unit.
struct LiveTile {
  int64_t begin = 0, end = 0;
  int64_t registers = 0; ///< of a thread
};

/// The most registers of a thread that tiles take at one place.
int64_t peakRegisters(const std::vector<LiveTile> &tiles);

/// What the tiles of a scheduled kernel take.
struct ScheduledTiles {
  int64_t groups = 0;
  /// A multiprocessor holds so many blocks at once.
  int64_t blocks = 1;
  /// Registers of a thread that computes: of tiles, and of each left operand
  /// that comes once and is used in every step, if it is read to registers.
  int64_t live = 0;
  std::vector<int64_t> left;
  /// Steps do nothing but multiply what they load.
  bool leftInStep = false;
  /// The thread that copies works out which tiles come next.
  bool loadsByList = false;
  /// Blocks take points of different lengths as they come, each with the keys
  /// of its segment.
  bool areShort = false;
  /// Of tiles that come once, and of a slot for each that comes every step.
  int64_t onceBytes = 0, stepBytes = 0;

  /// Registers of a thread that computes, but for the others, with the first
  /// left operands read to registers.
  int64_t registers(size_t leftInRegisters) const;
  int64_t sharedBytes(int64_t slots) const {
    return onceBytes + slots * stepBytes;
  }
};

/// Registers of a thread that hold a left operand of so much depth.
int64_t leftRegisters(int64_t depth);

/// Registers of a thread that computes and of one that loads.
struct RoleRegisters {
  int64_t compute, load;
};

/// How a multiprocessor's registers are shared. What those that load leave goes
/// to the groups that compute, so they have few, or amply. A group loads, not a
/// warp: that takes a place in each quarter of a multiprocessor all the same.
RoleRegisters shareRegisters(const GPUCore &core, int64_t groups, bool amply,
                             int64_t blocks = 1);

/// What a kernel gets.
struct ScheduleResources {
  RoleRegisters registers = {0, 0};
  int64_t slots = 0; ///< of each tile that comes every step
  /// So many left operands are read from shared memory once.
  size_t leftInRegisters = 0;
};

/// Nothing, and in `error` why, if a multiprocessor has not enough for `tiles`.
std::optional<ScheduleResources> findResources(const GPUCore &core,
                                               const ScheduledTiles &tiles,
                                               std::string &error);

} // namespace ringlet::cost

#endif // RINGLET_LIB_COST_SCHEDULERESOURCES_H
