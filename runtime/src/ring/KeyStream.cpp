//===- KeyStream.cpp - Keys of other ranks, step by step ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyStream.h"

#include <algorithm>

namespace ringlet::rt::ring {

using namespace ringlet::ring;
using ringlet::ring::Place; // Not that of memory.

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

//===----------------------------------------------------------------------===//
// One call
//===----------------------------------------------------------------------===//

Status KeyStream::Block::allocate(KeyMemory &of, size_t size) {
  // A message without bytes has an address, too.
  size = std::max<size_t>(size, 1);
  RL_TRY(of.allocate(size, data));
  memory = &of;
  bytes = size;
  return {};
}

KeyStream::KeyStream(const KeyPlan &plan, Ring &ring, KeyMemory &memory,
                     std::vector<KeyRows> own)
    : plan(plan), ring(ring), memory(memory), own(std::move(own)) {}

KeyStream::~KeyStream() {
  // Messages that are under way use memory of this stream.
  if (!finish().ok())
    return;
}

/// Rows of a part of this rank's own keys, head by head.
Status KeyStream::packOwn(const Part &part, size_t tensor, char *to) const {
  const KeyRows &from = own[tensor];
  const size_t bytes = plan.rowBytes[tensor];
  RowCopy rows;
  rows.bytes = bytes;
  rows.heads = part.heads;
  rows.toHead = rowsOf(part) * static_cast<ptrdiff_t>(bytes);
  rows.fromHead = from.headStride;
  for (size_t set = 0; set < part.rows.size(); ++set) {
    const Rows &of = part.rows[set];
    rows.to = to;
    rows.from = from.data + part.head * from.headStride +
                part.local[set] * from.rowStride;
    rows.run = of.run;
    rows.count = of.count;
    rows.fromStep = of.step * from.rowStride;
    rows.fromStride = part.localStride[set] * from.rowStride;
    RL_TRY(memory.copy(rows));
    to += of.size() * static_cast<ptrdiff_t>(bytes);
  }
  return {};
}

Status KeyStream::pack(const KeyPlan::Message &message, char *to) const {
  const Action &action = message.action;
  // Tensors follow each other in the buffer of a message that came.
  size_t before = 0;
  for (size_t tensor = 0; tensor < own.size(); ++tensor) {
    const auto bytes = static_cast<ptrdiff_t>(plan.rowBytes[tensor]);
    size_t number = 0;
    for (const Part &part : action.parts) {
      if (action.source.place == Place::OwnKeys) {
        RL_TRY(packOwn(part, tensor, to));
        to += rowsOf(part) * part.heads * bytes;
        continue;
      }
      const char *buffer = buffers.at(action.source).get() +
                           before * static_cast<size_t>(message.sourcePairs);
      for (int64_t head = 0; head < part.heads; ++head, ++number) {
        for (const Placement &at : message.placements[number]) {
          RowCopy rows;
          rows.bytes = plan.rowBytes[tensor];
          rows.to = to + at.to * bytes;
          rows.from = buffer + at.from * bytes;
          rows.run = at.count;
          rows.toStep = at.toStep * bytes;
          rows.fromStep = at.fromStep * bytes;
          RL_TRY(memory.copy(rows));
        }
        to += rowsOf(part) * bytes;
      }
    }
    before += plan.rowBytes[tensor];
  }
  return {};
}

Status KeyStream::arrived(Buffer buffer) {
  auto at = tickets.find(buffer);
  return at == tickets.end() ? Status() : ring.wait(at->second);
}

struct KeyStream::Posting {
  Exchange exchanges[Ring::kQueues];
  std::vector<Block> packed[Ring::kQueues];
  std::vector<Buffer> filled[Ring::kQueues];
};

Status KeyStream::gather(const KeyPlan::Message &message, Posting &posting) {
  const Action &action = message.action;
  int queue = static_cast<int>(action.level);
  MessageId id = {0, action.use, action.gradients ? 1 : 0};
  size_t size = static_cast<size_t>(message.pairs) * plan.pairBytes;
  if (action.kind == Action::Kind::Receive) {
    Block &target = buffers[action.target];
    if (!target.get())
      RL_TRY(target.allocate(memory, plan.buffers.at(action.target)));
    posting.exchanges[queue].receives.push_back(
        {action.peer, id, target.get(), size});
    posting.filled[queue].push_back(action.target);
    return {};
  }
  if (action.source.place != Place::OwnKeys)
    RL_TRY(arrived(action.source));
  Block block;
  RL_TRY(block.allocate(memory, size));
  RL_TRY(pack(message, block.get()));
  posting.exchanges[queue].sends.push_back(
      {action.peer, id, block.get(), size});
  posting.packed[queue].push_back(std::move(block));
  return {};
}

Status KeyStream::post(int64_t step, Posting &posting) {
  for (int queue = 0; queue < Ring::kQueues; ++queue) {
    Exchange &exchange = posting.exchanges[queue];
    if (exchange.sends.empty() && exchange.receives.empty())
      continue;
    exchange.step = step;
    RL_TRY(memory.mark(exchange.ready));
    uint64_t ticket = ring.post(queue, std::move(exchange));
    for (Buffer buffer : posting.filled[queue])
      tickets[buffer] = ticket;
    for (Block &block : posting.packed[queue])
      sending.emplace_back(ticket, std::move(block));
  }
  return {};
}

Status KeyStream::step(int64_t step, std::optional<Chunk> &chunk) {
  chunk.reset();
  ring.computes(step);
  const KeyPlan::Step &now = plan.plans[step];
  Posting posting;
  for (const KeyPlan::Message &message : now.messages)
    RL_TRY(gather(message, posting));
  RL_TRY(post(step, posting));
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
  const char *data = buffers[now.compute->source].get();
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
