//===- GPUSchedule.h - Cost model of scheduled attention -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels in the scheduled form: one warp copies tiles of K and V to two slots
// each, groups of four warps multiply them by 64 query rows a group, with
// products that run beside the softmax (wgmma, see `rtile.role`). Elements have
// 16 bits.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COST_GPUSCHEDULE_H
#define RINGLET_LIB_COST_GPUSCHEDULE_H

#include "lib/Cost/CPUTiling.h"
#include "lib/Cost/GPUTiling.h"
#include "lib/Cost/ScheduleResources.h"

namespace ringlet::cost {

struct GPUSchedule {
  int64_t query, key;     ///< rows of the tiles of Q and of K and V
  int64_t groups;         ///< of four warps that compute
  bool queryInRegisters;  ///< the tile of Q is read from shared memory once
  double cyclesPerScore;  ///< estimate, of a multiprocessor, for a useful pair
  double dotShare;        ///< part of it that the two products would take alone
  int64_t sharedBytes;    ///< of a block
  int64_t registers;      ///< of a thread that computes, estimated
  int64_t registerLimit;  ///< what it may have
  bool fits;              ///< a block does not exceed the multiprocessor
  int64_t candidates = 1; ///< shapes that were compared
};

/// The tiles of a kernel with these rows of Q and of K and V.
ScheduledTiles forwardTiles(const BranchShape &branch, int64_t query,
                            int64_t key);

/// The estimate for one shape: `query` a multiple of 64, `key` of 16.
GPUSchedule estimateSchedule(const GPUCore &core, const BranchShape &branch,
                             int64_t query, int64_t key);

/// The candidate of least estimated cycles among those that fit; if there is
/// none, one with `fits` false.
GPUSchedule chooseSchedule(const GPUCore &core, const BranchShape &branch);

/// Tiles in the scheduled form for few queries, but more than those of `low`,
/// which are not and end with one tile of them: some for any call, and some for
/// calls that leave multiprocessors without work. Empty where they do not fit.
/// A key head has `group` query heads.
std::vector<KeySplit> chooseSplits(const GPUCore &core,
                                   const BranchShape &branch, KeySplit &low,
                                   int64_t group);

/// Cycles of a multiprocessor for a row of queries that sees so many keys: what
/// a tile of queries costs beside its keys included.
double countCyclesOfRow(const GPUSchedule &schedule, double keys);

/// What steps of a causal union cost beside steps that hide nothing: each
/// branch has some with a mask. Measured 1.05 to 1.31 on an H200, for four
/// lists.
inline constexpr double kCausalUnionLoss = 1.28;

/// Cycles of a multiprocessor for the state of a row in f32, of so many
/// columns, that comes from memory or goes there.
double countCyclesOfState(int64_t columns);

/// One line for people: the choice and the figures behind it.
std::string explain(const GPUSchedule &schedule);

} // namespace ringlet::cost

#endif // RINGLET_LIB_COST_GPUSCHEDULE_H
