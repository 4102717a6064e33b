//===- PieceQueues.cpp - Queues for the pieces of a run on a ring -*- C++ -*-=//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PieceQueues.h"

using namespace ringlet;
using namespace ringlet::rt;

ringlet::ring::Queues PieceQueues::of(const Driver &driver) {
  if (driver.usesHostMemory())
    return {};
  // What is idle behind the last blocks of a call that fills the device four
  // times, with blocks of 128 rows, is little.
  return {4, int64_t(driver.multiprocessors()) * 128 * 4};
}

// Events are recorded and awaited by the first side queue, of any stream.

Status PieceQueues::open() {
  if (turns.queues() <= 1)
    return {};
  std::vector<std::unique_ptr<SideQueue>> opened(turns.queues() - 1);
  for (std::unique_ptr<SideQueue> &side : opened) {
    RL_TRY(driver.openSide(side));
    if (!side) // Calls are complete on return.
      return {};
  }
  events.assign(turns.size(), 0);
  uint32_t start = 0;
  RL_TRY(opened.front()->record(own, start));
  for (std::unique_ptr<SideQueue> &side : opened)
    RL_TRY(opened.front()->wait(side->stream(), start));
  sides = std::move(opened);
  return {};
}

Status PieceQueues::enter(Stream &stream) {
  stream = own;
  if (sides.empty())
    return {};
  const ringlet::ring::Turn &turn = turns[next];
  stream = streamOf(turn);
  for (int64_t call : turn.after)
    RL_TRY(sides.front()->wait(stream, events[size_t(call)]));
  return {};
}

Status PieceQueues::leave() {
  size_t call = next++;
  if (sides.empty() || !turns[call].isAwaited)
    return {};
  return sides.front()->record(streamOf(turns[call]), events[call]);
}

Status PieceQueues::join() {
  for (std::unique_ptr<SideQueue> &side : sides) {
    uint32_t end = 0;
    RL_TRY(sides.front()->record(side->stream(), end));
    RL_TRY(sides.front()->wait(own, end));
  }
  sides.clear();
  return {};
}
