//===- KeyStream.cpp - Keys of other ranks, step by step ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyStream.h"

#include <algorithm>
#include <cstring>

namespace ringlet::rt::ring {

using namespace ringlet::ring;

namespace {

int64_t rowsOf(const Part &part) {
  int64_t rows = 0;
  for (const Rows &set : part.rows)
    rows += set.size();
  return rows;
}

} // namespace

KeyPlan::Placements KeyPlan::forward(const std::vector<Part> &layout,
                                     const Part &part, int64_t head) const {
  Placements result;
  int64_t before = 0;
  for (const Part &there : layout) {
    int64_t rows = rowsOf(there);
    if (there.head <= head && head < there.head + there.heads)
      for (Placement at : place(there.rows, part.rows)) {
        at.from += before + (head - there.head) * rows;
        result.push_back(at);
      }
    before += there.heads * rows;
  }
  return result;
}

KeyPlan::KeyPlan(Schedule schedule, int64_t rank, std::vector<size_t> bytes)
    : schedule(std::move(schedule)), ownRank(rank), rowBytes(std::move(bytes)),
      plans(this->schedule.ranks()) {
  for (size_t size : rowBytes)
    pairBytes += size;
  for (int64_t step = 0; step < steps(); ++step)
    for (Action &action :
         actionsAt(this->schedule, rank, step, Direction::Forward)) {
      Step &plan = plans[step];
      if (!action.isMessage()) {
        plan.layout = layoutOf(this->schedule, rank, action.source.place, step);
        plan.pairs = pairsOf(plan.layout);
        if (step > 0)
          plan.compute = std::move(action);
        continue;
      }
      Message message;
      message.pairs = pairsOf(action.parts);
      if (action.kind == Action::Kind::Receive) {
        size_t &size = buffers[action.target];
        size = std::max(size, static_cast<size_t>(message.pairs) * pairBytes);
      } else if (action.source.place != Place::OwnKeys) {
        int64_t first = action.use / this->schedule.ranksPerHost *
                        this->schedule.ranksPerHost;
        std::vector<Part> layout =
            layoutOf(this->schedule, rank, action.source.place, first);
        message.sourcePairs = pairsOf(layout);
        for (const Part &part : action.parts)
          for (int64_t head = part.head; head < part.head + part.heads; ++head)
            message.placements.push_back(forward(layout, part, head));
      }
      message.action = std::move(action);
      plan.messages.push_back(std::move(message));
    }
}

size_t KeyPlan::bufferBytes() const {
  size_t sum = 0;
  for (const auto &[buffer, bytes] : buffers)
    sum += bytes;
  return sum;
}

KeyStream::KeyStream(const KeyPlan &plan, Ring &ring, std::vector<KeyRows> own)
    : plan(plan), ring(ring), own(std::move(own)) {
  for (const auto &[buffer, bytes] : plan.buffers)
    buffers[buffer].resize(bytes);
}

KeyStream::~KeyStream() {
  // Messages that are under way use memory of this stream.
  if (!finish().ok())
    return;
}

std::vector<char> KeyStream::pack(const KeyPlan::Message &message) const {
  std::vector<char> packed(static_cast<size_t>(message.pairs) * plan.pairBytes);
  char *to = packed.data();
  const Action &action = message.action;
  for (size_t tensor = 0; tensor < own.size(); ++tensor) {
    const size_t bytes = plan.rowBytes[tensor];
    const char *buffer = nullptr;
    if (action.source.place != Place::OwnKeys) {
      // Tensors follow each other in the buffer of the message that came.
      size_t before = 0;
      for (size_t i = 0; i < tensor; ++i)
        before += plan.rowBytes[i];
      buffer = buffers.at(action.source).data() +
               before * static_cast<size_t>(message.sourcePairs);
    }
    size_t number = 0;
    for (const Part &part : action.parts) {
      int64_t rows = rowsOf(part);
      for (int64_t head = part.head; head < part.head + part.heads;
           ++head, ++number) {
        if (buffer) {
          for (const Placement &at : message.placements[number])
            for (int64_t i = 0; i < at.count; ++i)
              std::memcpy(to + (at.to + i * at.toStep) * bytes,
                          buffer + (at.from + i * at.fromStep) * bytes, bytes);
          to += rows * bytes;
          continue;
        }
        const KeyRows &from = own[tensor];
        const char *base = from.data + head * from.headStride;
        for (size_t set = 0; set < part.rows.size(); ++set) {
          const Rows &of = part.rows[set];
          for (int64_t i = 0; i < of.size(); ++i, to += bytes)
            std::memcpy(to,
                        base + (part.local[set] + i % of.run * of.step +
                                i / of.run * part.localStride[set]) *
                                   from.rowStride,
                        bytes);
        }
      }
    }
  }
  return packed;
}

Status KeyStream::arrived(Buffer buffer) {
  auto at = tickets.find(buffer);
  return at == tickets.end() ? Status() : ring.wait(at->second);
}

Status KeyStream::step(int64_t step, std::optional<Chunk> &chunk) {
  chunk.reset();
  ring.computes(step);
  const KeyPlan::Step &now = plan.plans[step];
  Exchange exchanges[Ring::kQueues];
  std::vector<std::vector<char>> packed[Ring::kQueues];
  std::vector<Buffer> filled[Ring::kQueues];
  for (const KeyPlan::Message &message : now.messages) {
    const Action &action = message.action;
    int queue = static_cast<int>(action.level);
    MessageId id = {0, action.use, action.gradients ? 1 : 0};
    size_t size = static_cast<size_t>(message.pairs) * plan.pairBytes;
    if (action.kind == Action::Kind::Receive) {
      exchanges[queue].receives.push_back(
          {action.peer, id, buffers[action.target].data(), size});
      filled[queue].push_back(action.target);
      continue;
    }
    if (action.source.place != Place::OwnKeys)
      RL_TRY(arrived(action.source));
    packed[queue].push_back(pack(message));
    exchanges[queue].sends.push_back(
        {action.peer, id, packed[queue].back().data(), size});
  }
  for (int queue = 0; queue < Ring::kQueues; ++queue) {
    Exchange &exchange = exchanges[queue];
    if (exchange.sends.empty() && exchange.receives.empty())
      continue;
    exchange.step = step;
    uint64_t ticket = ring.post(queue, std::move(exchange));
    for (Buffer buffer : filled[queue])
      tickets[buffer] = ticket;
    for (std::vector<char> &bytes : packed[queue])
      sending.emplace_back(ticket, std::move(bytes));
  }
  while (!sending.empty() && ring.isDone(sending.front().first))
    sending.pop_front();
  if (!now.compute)
    return ring.failure() ? ring.finish() : Status();

  RL_TRY(arrived(now.compute->source));
  Chunk made;
  made.owner = now.compute->owner;
  made.layout = now.layout;
  made.pairs = now.pairs;
  made.seen = now.compute->parts;
  const char *data = buffers[now.compute->source].data();
  for (size_t bytes : plan.rowBytes) {
    made.tensors.push_back(data);
    data += bytes * static_cast<size_t>(now.pairs);
  }
  chunk = std::move(made);
  return {};
}

Status KeyStream::finish() {
  Status status = ring.finish();
  sending.clear();
  return status;
}

} // namespace ringlet::rt::ring
