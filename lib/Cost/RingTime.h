//===- RingTime.h - How long a ring would take ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The schedules of all ranks, run on a model of their machines: computations
// take time by their scores, messages by the size and the kind of link, and
// whatever waits for each other on a real ring waits here.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COST_RINGTIME_H
#define RINGLET_LIB_COST_RINGTIME_H

#include "ringlet/abi/ring/Schedule.h"

#include <functional>
#include <utility>
#include <vector>

namespace ringlet::cost {

/// The time of a message by its size: measured points (bytes, seconds), sizes
/// ascending, joined by straight lines and continued by the last one.
struct LinkTime {
  std::vector<std::pair<double, double>> points;

  double seconds(double bytes) const;
};

struct RingMachine {
  /// Scores (a query, a query head, a key) that a rank computes in a second.
  double scoresPerSecond = 1;
  /// What a launch takes beside its scores.
  double launchSeconds = 0;
  /// Ranks of one host; ranks of different hosts.
  LinkTime host, network;
  /// Of a row of K and V of one key head.
  double bytesPerPair = 1;
};

struct RingTime {
  /// Until the last rank ends, and the time of one rank that has all the rows.
  double seconds = 0;
  double oneRankSeconds = 0;
  /// Of the slowest rank: waiting for messages, and computing.
  double waiting = 0;
  double computing = 0;
  /// Bytes received by the rank that receives most.
  double hostBytes = 0;
  double networkBytes = 0;
  double forwardedBytes = 0;
  /// Room for keys of other ranks, of the rank with most.
  double bufferBytes = 0;

  /// The speed over that of as many ranks without any loss.
  double efficiency(int64_t ranks) const {
    return seconds > 0 ? oneRankSeconds / (seconds * static_cast<double>(ranks))
                       : 1;
  }
};

/// `progress`, if given, hears which of the steps are done.
RingTime predictRing(const ring::Schedule &schedule, const RingMachine &machine,
                     const std::function<void(int64_t)> &progress = {});

} // namespace ringlet::cost

#endif // RINGLET_LIB_COST_RINGTIME_H
