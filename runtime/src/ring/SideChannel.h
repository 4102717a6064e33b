//===- SideChannel.h - Life signs, failures, handshakes ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A channel of its own for what must get through when messages do not: signs of
// life, failures, and the question whether all ranks mean the same call.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_SIDECHANNEL_H
#define RINGLET_RUNTIME_RING_SIDECHANNEL_H

#include "Failure.h"

#include <memory>
#include <utility>

namespace ringlet::rt::ring {

/// What a rank is doing.
struct Activity {
  int64_t step = -1;
  /// The rank whose message it waits for; -1 if it computes.
  int64_t waitsFor = -1;
};

class SideChannel {
public:
  virtual ~SideChannel() = default;

  virtual int64_t rank() const = 0;
  virtual int64_t ranks() const = 0;

  /// Says what this rank does now. Costs next to nothing.
  virtual void report(Activity activity) = 0;

  /// Ends the ring on every rank, but for one that has ended already.
  virtual void fail(const Failure &failure) = 0;

  /// This rank has waited for `peer` too long. Whom that one waits for is
  /// looked up, and so on; the rank at the end is to blame.
  virtual void suspect(int64_t peer, int64_t step,
                       const std::string &reason) = 0;

  /// Gives every rank the words of all, by rank. Every rank calls it as often
  /// as the others; who does not by the deadline ends the ring.
  virtual Status gather(const std::string &own, std::vector<std::string> &all,
                        Deadline deadline) = 0;

  /// Nothing more will come from this rank: its silence is no failure.
  virtual void leave() = 0;
};

/// The rank at the end of the chain of waits that begins with `first`. A rank
/// of which nothing is heard ends it: whom it waits for may be long past. Ranks
/// that wait for each other in a circle are all as late as the first.
int64_t blame(int64_t first, const std::vector<Activity> &activities,
              const std::function<bool(int64_t)> &isSilent);

/// What a call is, by name and value; the names are the same and in the same
/// order on every rank.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Success on every rank if all have the same facts; else on every rank the
/// same refusal, which names the first rank that differs from most, and what
/// differs. The ring can be used on.
Status agree(SideChannel &channel, const Facts &facts, Deadline deadline);

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_SIDECHANNEL_H
