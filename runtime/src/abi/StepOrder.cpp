//===- StepOrder.cpp - Which steps of a plan come before which ---*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepOrder.h"

#include <algorithm>

using namespace ringlet::abi;

StepOrder::StepOrder(const Plan &plan) {
  uint32_t count = sizeOf(plan.steps());
  counts.reserve(count);
  queues.reserve(count);
  // What comes before the next step of each queue.
  std::array<QueueCounts, kQueues> last = {};
  for (uint32_t i = 0; i < count; ++i) {
    const Step &step = *plan.steps()->Get(i);
    uint32_t queue = numberOf(step.queue());
    QueueCounts &mine = last[queue];
    for (uint32_t j = 0; j < sizeOf(step.waits()); ++j) {
      uint32_t other = step.waits()->Get(j);
      for (uint32_t q = 0; q < kQueues; ++q)
        mine[q] = std::max(mine[q], counts[other][q]);
      uint32_t &itself = mine[queues[other]];
      itself = std::max(itself, placeOf(other) + 1);
    }
    counts.push_back(mine);
    queues.push_back(queue);
    ++mine[queue];
  }
}

void StepSpan::add(const StepOrder &order, uint32_t step) {
  const QueueCounts &before = order.before(step);
  for (uint32_t q = 0; q < kQueues; ++q)
    begin[q] = std::min(begin[q], before[q]);
  uint32_t &last = end[order.queueOf(step)];
  last = std::max(last, order.placeOf(step) + 1);
}

bool StepSpan::isBefore(const StepSpan &other) const {
  for (uint32_t q = 0; q < kQueues; ++q)
    if (end[q] > other.begin[q])
      return false;
  return true;
}
