//===- StepOrder.h - Which steps of a plan come before which ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps of a queue run one after the other; queues run beside each other. So
// what comes before a step, whatever the speed of the queues, is for each queue
// a number of its first steps: those that the step waits for, directly or
// through others.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_ABI_STEPORDER_H
#define RINGLET_RUNTIME_ABI_STEPORDER_H

#include "Lists.h"

#include "ringlet/abi/ArtifactGenerated.h"

#include <array>
#include <vector>

namespace ringlet::abi {

inline constexpr uint32_t kQueues = uint32_t(Queue::MAX) + 1;
inline uint32_t numberOf(Queue queue) { return uint32_t(queue); }

/// For each queue, a number of its steps.
using QueueCounts = std::array<uint32_t, kQueues>;

class StepOrder {
public:
  /// Every step has a queue and waits for earlier ones. One step of
  /// requirements more or less changes nothing for others.
  explicit StepOrder(const Plan &plan);

  /// Of each queue, the steps that come before this one.
  const QueueCounts &before(uint32_t step) const { return counts[step]; }
  uint32_t queueOf(uint32_t step) const { return queues[step]; }
  /// The place of a step in its queue, from 0 on.
  uint32_t placeOf(uint32_t step) const { return counts[step][queues[step]]; }

private:
  std::vector<QueueCounts> counts;
  std::vector<uint32_t> queues;
};

/// When a piece of memory is in use.
class StepSpan {
public:
  void add(const StepOrder &order, uint32_t step);
  /// True if each use of this memory comes before each of the other.
  bool isBefore(const StepSpan &other) const;
  bool meets(const StepSpan &other) const {
    return !isBefore(other) && !other.isBefore(*this);
  }

private:
  /// Steps that come before all uses; and up to the last use.
  QueueCounts begin = makeFull(), end = {};

  static QueueCounts makeFull() {
    QueueCounts full;
    full.fill(UINT32_MAX);
    return full;
  }
};

/// Calls `use(buffer, writes)` for each buffer of a step, and for those of what
/// runs in its place. What an exchange sends must stay until it has ended.
template <typename FunctionT>
void forEachUse(const Artifact &artifact, const Plan &plan, uint32_t number,
                FunctionT use) {
  const Step &step = *plan.steps()->Get(number);
  const Exchange *exchange = step.action_as_Exchange();
  if (const Attend *attend = step.action_as_Attend()) {
    exchange = plan.steps()->Get(attend->exchange())->action_as_Exchange();
    for (uint32_t buffer :
         {attend->accumulator(), attend->maximum(), attend->sum()})
      use(buffer, true);
    for (int32_t buffer : {attend->output(), attend->lse()})
      if (buffer >= 0)
        use(uint32_t(buffer), true);
  }
  if (exchange) {
    for (uint32_t buffer :
         {exchange->key(), exchange->value(), exchange->query()})
      use(buffer, false);
    for (int32_t list : {exchange->query_starts(), exchange->key_starts(),
                         exchange->query_lengths(), exchange->key_lengths(),
                         exchange->offsets()})
      if (list >= 0)
        use(uint32_t(list), false);
  }
  if (const Copy *copy = step.action_as_Copy()) {
    use(copy->source(), false);
    use(copy->destination(), true);
  }
  for (const Launch *launch = step.action_as_Launch(); launch;
       launch = launch->otherwise()) {
    const auto *params = artifact.kernels()->Get(launch->kernel())->params();
    for (uint32_t i = 0; i < sizeOf(launch->args()); ++i)
      if (launch->args()->Get(i)->kind() == LaunchArgKind::Buffer)
        use(launch->args()->Get(i)->index(), params->Get(i)->writes());
  }
}

} // namespace ringlet::abi

#endif // RINGLET_RUNTIME_ABI_STEPORDER_H
