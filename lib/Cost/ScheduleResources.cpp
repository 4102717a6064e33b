//===- ScheduleResources.cpp - What scheduled kernels take -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/ScheduleResources.h"

#include "lib/Layout/Dilation.h"

#include <algorithm>

using namespace ringlet;
using namespace ringlet::cost;
using layout::ceilDiv;

namespace {

/// Most registers that setmaxnreg gives usefully: a thread can name 255.
constexpr int64_t mostRegisters = 240;
/// What a thread that copies has enough with, whatever it copies: coordinates
/// of dilated segments and a walk that fetches its points take more than 40.
constexpr int64_t amplyToLoad = 56;
/// And if it works out which tiles come next.
constexpr int64_t mostToLoad = 96;
/// Threads of a group, and groups of a block of 1024, one of which loads.
constexpr int64_t groupThreads = 128, mostGroups = 7;
/// Columns of a panel of a slot.
constexpr int64_t panelColumns = 64;
constexpr int64_t elementBytes = 2, barrierBytes = 16;
/// Kept free: panels begin at multiples of it.
constexpr int64_t reservedShared = 1024;

std::string number(int64_t value) { return std::to_string(value); }

} // namespace

int64_t ringlet::cost::slotBytes(int64_t rows, int64_t columns) {
  return rows * ceilDiv(columns, panelColumns) * panelColumns * elementBytes +
         barrierBytes;
}

int64_t ringlet::cost::getSpareOfTiles(const GPUCore &core) {
  return std::max<int64_t>(core.spareRegisters - kRegistersOfSlots, 0);
}

int64_t ringlet::cost::slotLimit(const GPUCore &core, int64_t blocks) {
  // The system has as much beside each block.
  int64_t share = core.sharedBytesOfSM / blocks - reservedShared;
  return std::min(core.sharedBytes, share) - reservedShared;
}

int64_t ringlet::cost::peakRegisters(const std::vector<LiveTile> &tiles) {
  int64_t peak = 0;
  // Where the most are live, one of them begins.
  for (const LiveTile &at : tiles) {
    int64_t here = 0;
    for (const LiveTile &tile : tiles)
      if (tile.begin <= at.begin && at.begin <= tile.end)
        here += tile.registers;
    peak = std::max(peak, here);
  }
  return peak;
}

/// Two elements of 16 bits in a register, 64 rows to 128 threads.
int64_t ringlet::cost::leftRegisters(int64_t depth) {
  return ceilDiv(depth, 16) * 4;
}

int64_t ScheduledTiles::registers(size_t leftInRegisters) const {
  int64_t sum = live;
  for (size_t i = 0; i < leftInRegisters; ++i)
    sum += left[i];
  return sum;
}

RoleRegisters ringlet::cost::shareRegisters(const GPUCore &core, int64_t groups,
                                            bool amply, int64_t blocks) {
  // What the threads of all groups begin with: who asks for more would wait for
  // ever.
  int64_t threads = blocks * (groups + 1) * groupThreads;
  int64_t begin =
      std::min(core.registersOfSM / threads, core.registersOfThread) / 8 * 8;
  int64_t load = amply ? amplyToLoad : groups * blocks <= 2 ? 40 : 32;
  int64_t compute = (begin * (groups + 1) - load) / groups / 8 * 8;
  return {std::min(compute, mostRegisters), load};
}

std::optional<ScheduleResources>
ringlet::cost::findResources(const GPUCore &core, const ScheduledTiles &tiles,
                             std::string &error) {
  if (tiles.groups > mostGroups) {
    error = "expected at most " + number(mostGroups * kGroupRows) +
            " query rows, found " + number(tiles.groups * kGroupRows);
    return std::nullopt;
  }
  std::string ofBlocks =
      tiles.blocks > 1 ? " in " + number(tiles.blocks) + " blocks" : "";
  ScheduleResources result;
  result.registers =
      shareRegisters(core, tiles.groups, /*amply=*/false, tiles.blocks);
  int64_t least = tiles.live + kLeastOtherRegisters;
  if (least > result.registers.compute) {
    error = "expected at most " + number(result.registers.compute) +
            " registers a thread, " + number(tiles.groups) +
            " groups of 64 rows" + ofBlocks + ", found " + number(least) +
            ": " + number(tiles.live) + " for tiles, " +
            number(kLeastOtherRegisters) + " for the rest";
    return std::nullopt;
  }
  int64_t limit = slotLimit(core, tiles.blocks);
  // Where steps do nothing but multiply what was loaded, copies have to be
  // further ahead than where something is computed beside.
  result.slots = tiles.leftInStep ? kMostSlots : 2;
  while (result.slots > 1 && tiles.sharedBytes(result.slots) > limit)
    --result.slots;
  if (tiles.sharedBytes(result.slots) > limit) {
    error = "expected at most " + number(limit) +
            " bytes of shared memory, found " +
            number(tiles.sharedBytes(result.slots)) +
            " for one slot of each channel";
    return std::nullopt;
  }
  while (result.leftInRegisters < tiles.left.size() &&
         tiles.registers(result.leftInRegisters + 1) + kOtherRegisters +
                 getSpareOfTiles(core) <=
             result.registers.compute)
    ++result.leftInRegisters;
  // Keys of short segments come from memory, and groups drift apart, so that
  // one ends its rows beside steps of another.
  bool hasRoom = tiles.registers(result.leftInRegisters) + kOtherRegisters <=
                     result.registers.compute &&
                 tiles.sharedBytes(kMostSlotsOfShort) <= limit;
  if (tiles.areShort && hasRoom && core.spareRegisters == 0)
    result.slots = std::max(result.slots, kMostSlotsOfShort);
  RoleRegisters amply =
      shareRegisters(core, tiles.groups, /*amply=*/true, tiles.blocks);
  int64_t needed = tiles.registers(result.leftInRegisters);
  int64_t others = tiles.loadsByList ? kLeastOtherRegisters : kOtherRegisters;
  if (needed + others <= amply.compute)
    result.registers = amply;
  // What is not needed elsewhere: to work out a list takes many.
  while (tiles.loadsByList && result.registers.load < mostToLoad &&
         needed + kOtherRegisters <= result.registers.compute - 8) {
    result.registers.compute -= 8;
    result.registers.load += 8 * tiles.groups;
  }
  return result;
}
