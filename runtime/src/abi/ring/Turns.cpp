//===- Turns.cpp - Which pieces are computed beside each other --*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/ring/Turns.h"

#include "ringlet/abi/ring/Edges.h"

#include <algorithm>

namespace ringlet::ring {

bool Turns::conflict(const Call &one, const Call &other) const {
  if (!one.piece.whole && !other.piece.whole && one.sequence != other.sequence)
    return false;
  return mayMeet(one.piece, other.piece, group);
}

size_t Turns::countBefore(const Call &call, size_t queue) const {
  size_t count = members[queue].size();
  while (count > 0 && !conflict(call, calls[members[queue][count - 1]]))
    --count;
  return count;
}

size_t Turns::queues() const {
  size_t count = members.size();
  while (count > 0 && members[count - 1].empty())
    --count;
  return count;
}

size_t Turns::choose(const Piece &piece, const Clock &needed) const {
  int64_t heads = piece.heads.count * (piece.grouped ? group : 1);
  if (piece.queries.count * heads >= fill)
    return 0;
  // Behind one that it has to follow anyway, if that is the last of its queue.
  for (size_t queue = 0; queue < members.size(); ++queue)
    if (needed[queue] && needed[queue] == members[queue].size())
      return queue;
  return size_t(std::min_element(work.begin(), work.end()) - work.begin());
}

void Turns::add(const Piece &piece, int64_t sequence) {
  Call call;
  call.piece = piece;
  call.sequence = sequence;
  Clock needed;
  for (size_t queue = 0; queue < members.size(); ++queue)
    needed.push_back(countBefore(call, queue));
  size_t own = choose(piece, needed);
  call.turn.queue = int64_t(own);
  call.before = members[own].empty() ? Clock(members.size(), 0)
                                     : calls[members[own].back()].before;
  call.before[own] = members[own].size();
  // The latest first: it may have come after those of other queues.
  std::vector<size_t> waits;
  for (size_t queue = 0; queue < members.size(); ++queue)
    if (needed[queue])
      waits.push_back(members[queue][needed[queue] - 1]);
  std::sort(waits.rbegin(), waits.rend());
  for (size_t other : waits) {
    Call &before = calls[other];
    auto queue = size_t(before.turn.queue);
    if (needed[queue] <= call.before[queue])
      continue;
    call.turn.after.push_back(int64_t(other));
    before.turn.isAwaited = true;
    for (size_t i = 0; i < members.size(); ++i)
      call.before[i] = std::max(call.before[i], before.before[i]);
    call.before[queue] = std::max(call.before[queue], needed[queue]);
  }
  members[own].push_back(calls.size());
  work[own] += double(piece.queries.count) * double(piece.keys.count) *
               double(piece.heads.count);
  calls.push_back(std::move(call));
}

} // namespace ringlet::ring
