//===- RunQueues.h - The queues of one run ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RUNQUEUES_H
#define RINGLET_RUNTIME_RUNQUEUES_H

#include "Driver.h"
#include "Prepared.h"

#include <array>
#include <memory>
#include <vector>

namespace ringlet::rt {

/// On which stream each step of a run is queued, and which events stand before
/// and behind it. A run of one queue, or on a driver whose work is complete on
/// return, has the caller's stream and no events.
class RunQueues {
public:
  using Steps = std::vector<Prepared::Step>;

  RunQueues(Driver &driver, Stream own, const Steps &steps)
      : driver(driver), own(own), steps(steps) {}
  RunQueues(const RunQueues &) = delete;
  RunQueues &operator=(const RunQueues &) = delete;
  /// Whatever has been queued on other streams ends before what the caller
  /// queues next, also where a run has failed.
  ~RunQueues();

  /// Before the first step.
  Status open();
  /// Behind the last one.
  Status join();

  bool areSeveral() const { return side != nullptr; }
  Stream streamOf(uint32_t step) const {
    return side && steps[step].queue != 0 ? side->stream() : own;
  }
  /// True if a step begins with events, or on another stream than the step in
  /// front of it.
  bool isApart(uint32_t step) const;
  bool isAwaited(uint32_t step) const { return side && awaited[step]; }

  Status enter(uint32_t step);
  Status leave(uint32_t step);

private:
  /// Calls `wait(queue, number)` for each queue of which `step` has to wait for
  /// its first steps, and takes down that its queue has.
  template <typename FunctionT>
  Status forEachWait(uint32_t step, FunctionT wait);

  Driver &driver;
  const Stream own;
  const Steps &steps;
  std::unique_ptr<SideQueue> side;
  bool isJoined = false;
  std::vector<bool> waits, awaited; // One for each step.
  std::vector<uint32_t> events;     // The same; of those that are awaited.
  /// Of each queue, its steps.
  std::array<std::vector<uint32_t>, abi::kQueues> members;
  /// Of each queue, the steps of each that it has waited for.
  std::array<abi::QueueCounts, abi::kQueues> known = {};
};

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_RUNQUEUES_H
