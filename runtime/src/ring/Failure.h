//===- Failure.h - Why a ring ended ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A ring ends once, for one reason: whatever fails on any rank, all ranks are
// told of the first failure, and every wait of theirs ends with it (G3).
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_FAILURE_H
#define RINGLET_RUNTIME_RING_FAILURE_H

#include "../Status.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace ringlet::rt::ring {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

inline Deadline after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(seconds));
}

/// Of two signs of one failure, a closed connection or an error of a library
/// and the reason that a rank gives, the former may come first: by so many
/// seconds.
constexpr double kReasonGrace = 1;

/// Milliseconds until then, for poll(): from 0 to `most`.
int millisecondsUntil(Deadline deadline, int most = 1000);

/// Between looks at what goes on by itself: short at first, as it takes
/// microseconds at best.
void pauseBetweenLooks(int looks);

struct Failure {
  /// The rank to blame.
  int64_t rank = -1;
  /// Its step, or that of those who waited; -1 before the first one.
  int64_t step = -1;
  std::string reason;

  /// "rank 2, step 5: connection closed".
  std::string text() const;
};

/// The failure of a ring, as one rank knows it. Any thread may raise it; the
/// first one counts.
class Abort {
public:
  Abort();
  ~Abort();
  Abort(const Abort &) = delete;
  Abort &operator=(const Abort &) = delete;

  /// True if this is the first failure.
  bool raise(const Failure &failure);
  bool raised() const { return flag.load(std::memory_order_acquire); }
  std::optional<Failure> failure() const;
  /// RL_PEER_ERROR with the failure's text; success before there is one.
  Status status() const;

  /// Readable once there is a failure: to wait for it beside other files.
  int descriptor() const { return event; }
  /// Calls `listener` when it is raised, at once if it has been.
  void listen(std::function<void()> listener);
  /// True if it is raised by then: what one sees of a failure may arrive before
  /// its reason does.
  bool raisedWithin(double seconds) const;

private:
  int event;
  std::atomic<bool> flag{false};
  mutable std::mutex mutex; // Guards what follows.
  std::optional<Failure> first;
  std::vector<std::function<void()>> listeners;
};

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_FAILURE_H
