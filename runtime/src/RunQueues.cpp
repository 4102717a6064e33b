//===- RunQueues.cpp - The queues of one run ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunQueues.h"

#include <algorithm>

using namespace ringlet;
using namespace ringlet::rt;

template <typename FunctionT>
Status RunQueues::forEachWait(uint32_t step, FunctionT wait) {
  uint32_t mine = steps[step].queue;
  for (uint32_t q = 0; q < abi::kQueues; ++q) {
    uint32_t count = steps[step].before[q];
    if (q == mine || count <= known[mine][q])
      continue;
    known[mine][q] = count;
    RL_TRY(wait(members[q][count - 1]));
  }
  return {};
}

Status RunQueues::open() {
  auto isBeside = [](const Prepared::Step &step) { return step.queue != 0; };
  if (std::none_of(steps.begin(), steps.end(), isBeside))
    return {};
  RL_TRY(driver.openSide(side));
  if (!side)
    return {};
  waits.assign(steps.size(), false);
  awaited.assign(steps.size(), false);
  events.assign(steps.size(), 0);
  for (uint32_t i = 0; i < steps.size(); ++i) {
    RL_TRY(forEachWait(i, [&](uint32_t other) {
      waits[i] = awaited[other] = true;
      return Status();
    }));
    members[steps[i].queue].push_back(i);
  }
  known = {};
  uint32_t start;
  RL_TRY(side->record(own, start));
  return side->wait(side->stream(), start);
}

bool RunQueues::isApart(uint32_t step) const {
  return side && (waits[step] ||
                  (step > 0 && steps[step - 1].queue != steps[step].queue));
}

Status RunQueues::enter(uint32_t step) {
  if (!side)
    return {};
  return forEachWait(step, [&](uint32_t other) {
    return side->wait(streamOf(step), events[other]);
  });
}

Status RunQueues::leave(uint32_t step) {
  return isAwaited(step) ? side->record(streamOf(step), events[step])
                         : Status();
}

Status RunQueues::join() {
  if (!side || isJoined)
    return {};
  isJoined = true;
  bool hasWaited = true;
  for (uint32_t q = 1; q < abi::kQueues; ++q)
    hasWaited &= known[0][q] == members[q].size();
  if (hasWaited)
    return {};
  uint32_t end;
  RL_TRY(side->record(side->stream(), end));
  return side->wait(own, end);
}

RunQueues::~RunQueues() { (void)join(); }
