//===- VerifyOrder.cpp - Rules of queues and of what they share ---*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepOrder.h"
#include "Verifier.h"
#include "ringlet/abi/Format.h"

#include <map>
#include <utility>

using namespace ringlet::abi;

bool Verifier::verifyWaits(const std::string &place, const Plan &plan,
                           uint32_t index) {
  const Step &step = *plan.steps()->Get(index);
  if (step.queue() > Queue::MAX)
    return fail(place, formatText("expected a queue from 0 to {}, found {}",
                                  int(Queue::MAX), int(step.queue())));
  bool isRequire = step.action_as_Require() != nullptr;
  if (isRequire && (step.queue() != Queue::Compute || sizeOf(step.waits())))
    return fail(place,
                formatText("expected a requirement on no queue that waits for "
                           "nothing, found queue {} and {} waits",
                           int(step.queue()), sizeOf(step.waits())));
  for (uint32_t i = 0; i < sizeOf(step.waits()); ++i) {
    uint32_t other = step.waits()->Get(i);
    if (!checkIndex(place, "an earlier step to wait for", other, index))
      return false;
    if (plan.steps()->Get(other)->action_as_Require())
      return fail(place, formatText("expected to wait for a launch or a copy, "
                                    "found step {}, a requirement",
                                    other));
  }
  return true;
}

namespace {

/// The last accesses of each queue to a piece of memory, with the number of
/// steps of the queue up to there; 0: none yet.
struct Accesses {
  struct Last {
    uint32_t count = 0, step = 0;
  };
  std::array<Last, kQueues> reads, writes;
};

/// A buffer's memory: an argument may be several buffers.
std::pair<bool, uint32_t> memoryOf(const Buffer &buffer, uint32_t index) {
  return buffer.kind() == BufferKind::Argument ? std::pair(true, buffer.index())
                                               : std::pair(false, index);
}

} // namespace

bool Verifier::verifyRaces(const std::string &place, const Plan &plan) {
  StepOrder order(plan);
  std::map<std::pair<bool, uint32_t>, Accesses> memory;
  for (uint32_t step = 0; step < sizeOf(plan.steps()); ++step) {
    const QueueCounts &before = order.before(step);
    uint32_t mine = order.queueOf(step);
    bool good = true;
    auto isOrdered = [&](const Accesses::Last &last, uint32_t queue,
                         uint32_t buffer) {
      if (last.count <= before[queue])
        return true;
      return fail(
          formatText("{}, step {}", place, step),
          formatText("uses buffer {} beside step {} of another queue; as one "
                     "of them writes it, expected this one to wait for it",
                     buffer, last.step));
    };
    forEachUse(artifact, plan, step, [&](uint32_t index, bool writes) {
      Accesses &known = memory[memoryOf(*plan.buffers()->Get(index), index)];
      for (uint32_t q = 0; q < kQueues && good; ++q)
        good = q == mine || (isOrdered(known.writes[q], q, index) &&
                             (!writes || isOrdered(known.reads[q], q, index)));
      auto &list = writes ? known.writes : known.reads;
      list[mine] = {order.placeOf(step) + 1, step};
    });
    if (!good)
      return false;
  }
  return true;
}
