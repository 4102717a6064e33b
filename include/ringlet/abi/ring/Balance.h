//===- Balance.h - Shards by the work that they are ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How evenly work falls on the ranks of a ring, and shards that make it even.
// Work is counted in scores, which is what attention spends its time on.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_ABI_RING_BALANCE_H
#define RINGLET_ABI_RING_BALANCE_H

#include "ringlet/abi/ring/Schedule.h"

namespace ringlet::ring {

/// Scores of each rank. Where ranks differ in speed, a rank's scores are
/// divided by its weight.
struct Balance {
  struct Step {
    double least = 0, most = 0, mean = 0;
  };
  std::vector<Step> steps;
  /// Of all steps together.
  Step total;

  /// The time that the slowest rank takes over that of an even split, minus 1:
  /// of all steps together, and where each step ends with its slowest rank.
  double imbalance() const;
  double imbalanceOfSteps() const;
};

/// `weights`, one for each rank, are relative speeds; none stands for equal
/// ones.
Balance balanceOf(const Schedule &schedule,
                  const std::vector<double> &weights = {});

/// Shards of the query axis, of `length` rows, whose work is in proportion to
/// the weights, cut between tiles of `tile` rows. A rank of weight 0 gets no
/// rows.
///  * Contiguous: the least possible work of the busiest rank.
///  * Zigzag: the same for the axis folded in the middle, where a tile of the
///    front lies beside one of the back.
///  * Striped: blocks are tiles, dealt in turns as numerous as the weights ask;
///    the attention does not matter.
std::optional<Shards> balancedShards(const Attention &attention, Sharding kind,
                                     int64_t length,
                                     const std::vector<double> &weights,
                                     int64_t tile, std::string *error);

} // namespace ringlet::ring

#endif // RINGLET_ABI_RING_BALANCE_H
