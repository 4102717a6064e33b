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

/// The first row of own keys that lie as they are to travel, if they do.
std::optional<int64_t> findOrder(const std::vector<Part> &parts,
                                 int64_t keyHeads) {
  if (parts.size() != 1 || parts[0].heads != keyHeads || parts[0].rows.empty())
    return std::nullopt;
  const Part &part = parts[0];
  int64_t next = part.local[0];
  for (size_t set = 0; set < part.rows.size(); ++set) {
    const Rows &rows = part.rows[set];
    bool goesOn = part.local[set] == next &&
                  (rows.run == 1 || rows.step == 1) &&
                  (rows.count == 1 || part.localStride[set] == rows.run);
    if (!goesOn)
      return std::nullopt;
    next += rows.size();
  }
  return part.local[0];
}

/// What a tensor's part of an action's message is called.
MessageId idOf(const Action &action, size_t tensor) {
  return {0, action.use, 2 * static_cast<int64_t>(tensor) + action.gradients};
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
        at.from = before + at.from * there.heads + (head - there.head);
        at.fromStep *= there.heads;
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
      } else if (action.source.place == Place::OwnKeys) {
        message.inOrderFrom =
            findOrder(action.parts, this->schedule.sharded.attention.keyHeads);
      } else {
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

size_t KeyPlan::bytesBefore(size_t tensor) const {
  size_t sum = 0;
  for (size_t i = 0; i < tensor; ++i)
    sum += rowBytes[i];
  return sum;
}

size_t KeyPlan::bufferBytes() const {
  size_t sum = 0;
  for (const auto &[buffer, bytes] : buffers)
    sum += bytes;
  return sum;
}

bool KeyPlan::isInPlace(const Message &message, size_t tensor,
                        const KeyRows &from) const {
  if (!message.inOrderFrom || from.axisRows > 0)
    return false;
  auto bytes = static_cast<ptrdiff_t>(rowBytes[tensor]);
  int64_t heads = message.action.parts[0].heads;
  return (heads == 1 || from.headStride == bytes) &&
         (message.pairs == heads || from.rowStride == heads * bytes);
}

size_t KeyPlan::packedBytes(const std::vector<KeyRows> &own) const {
  // Those of a step are packed while those of the one before travel.
  size_t most = 0, before = 0;
  for (const Step &step : plans) {
    size_t bytes = 0;
    for (const Message &message : step.messages)
      for (size_t tensor = 0; tensor < own.size(); ++tensor)
        if (message.action.kind == Action::Kind::Send &&
            !isInPlace(message, tensor, own[tensor]))
          bytes += static_cast<size_t>(message.pairs) * rowBytes[tensor];
    most = std::max(most, before + bytes);
    before = bytes;
  }
  return most;
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

Status KeyStream::copyOwn(const KeyRows &from, RowCopy form, Rows of,
                          int64_t place, int64_t stride) const {
  auto axisOf = [&](int64_t at) {
    return from.axisRows > 0 ? at / from.axisRows : 0;
  };
  auto copy = [&](int64_t run, int64_t count, ptrdiff_t runStride) {
    int64_t axis = axisOf(place);
    RowCopy rows = form;
    rows.from += axis * from.axisStride +
                 (place - axis * from.axisRows) * from.rowStride;
    rows.run = run;
    rows.count = count;
    rows.fromStep = of.step * from.rowStride;
    rows.fromStride = runStride;
    form.to += run * count * form.toStep;
    return memory.copy(rows);
  };
  while (of.count > 0) {
    const int64_t axis = axisOf(place), last = place + (of.run - 1) * of.step;
    const int64_t end = (axis + 1) * from.axisRows;
    if (axisOf(last) != axis) { // A run goes on in the next axis.
      const int64_t first = (end - 1 - place) / of.step + 1;
      Rows rest = {0, of.run - first, of.step, 1, 1};
      RL_TRY(copy(first, 1, 0));
      RL_TRY(copyOwn(from, form, rest, place + first * of.step, 0));
      form.to += rest.run * form.toStep;
      place += stride;
      --of.count;
      continue;
    }
    if (from.axisRows > 0 && of.count > 1 && stride % from.axisRows == 0)
      return copy(of.run, of.count, stride / from.axisRows * from.axisStride);
    int64_t count = of.count;
    if (from.axisRows > 0 && stride > 0)
      count = std::min(count, (end - 1 - last) / stride + 1);
    RL_TRY(copy(of.run, count, stride * from.rowStride));
    place += count * stride;
    of.count -= count;
  }
  return {};
}

/// Rows of a part of this rank's own keys.
Status KeyStream::packOwn(const Part &part, size_t tensor, char *to) const {
  const KeyRows &from = own[tensor];
  const size_t bytes = plan.rowBytes[tensor];
  RowCopy rows;
  rows.bytes = bytes;
  rows.heads = part.heads;
  rows.toHead = static_cast<ptrdiff_t>(bytes);
  rows.toStep = part.heads * rows.toHead;
  rows.fromHead = from.headStride;
  rows.from = from.data + part.head * from.headStride;
  for (size_t set = 0; set < part.rows.size(); ++set) {
    rows.to = to;
    RL_TRY(copyOwn(from, rows, part.rows[set], part.local[set],
                   part.localStride[set]));
    to += part.rows[set].size() * rows.toStep;
  }
  return {};
}

Status KeyStream::pack(const KeyPlan::Message &message, size_t tensor,
                       char *to) const {
  const Action &action = message.action;
  const auto bytes = static_cast<ptrdiff_t>(plan.rowBytes[tensor]);
  size_t number = 0;
  for (const Part &part : action.parts) {
    if (action.source.place == Place::OwnKeys) {
      RL_TRY(packOwn(part, tensor, to));
      to += rowsOf(part) * part.heads * bytes;
      continue;
    }
    // Tensors follow each other in the buffer of a message that came.
    const char *buffer =
        buffers.at(action.source).get() +
        plan.bytesBefore(tensor) * static_cast<size_t>(message.sourcePairs);
    for (int64_t head = 0; head < part.heads; ++head, ++number)
      for (const Placement &at : message.placements[number]) {
        RowCopy rows;
        rows.bytes = plan.rowBytes[tensor];
        rows.to = to + (at.to * part.heads + head) * bytes;
        rows.from = buffer + at.from * bytes;
        rows.run = at.count;
        rows.toStep = at.toStep * part.heads * bytes;
        rows.fromStep = at.fromStep * bytes;
        RL_TRY(memory.copy(rows));
      }
    to += rowsOf(part) * part.heads * bytes;
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

Status KeyStream::receive(const KeyPlan::Message &message, Posting &posting) {
  const Action &action = message.action;
  int queue = static_cast<int>(action.level);
  auto pairs = static_cast<size_t>(message.pairs);
  Block &target = buffers[action.target];
  if (!target.get())
    RL_TRY(target.allocate(memory, plan.buffers.at(action.target)));
  for (size_t tensor = 0; tensor < own.size(); ++tensor)
    posting.exchanges[queue].receives.push_back(
        {action.peer, idOf(action, tensor),
         target.get() + pairs * plan.bytesBefore(tensor),
         pairs * plan.rowBytes[tensor]});
  posting.filled[queue].push_back(action.target);
  return {};
}

/// A message for each tensor. What lies there as it is to travel is sent from
/// there; the rest is packed.
Status KeyStream::send(const KeyPlan::Message &message, Posting &posting) {
  const Action &action = message.action;
  int queue = static_cast<int>(action.level);
  if (action.source.place != Place::OwnKeys)
    RL_TRY(arrived(action.source));
  for (size_t tensor = 0; tensor < own.size(); ++tensor) {
    size_t size = static_cast<size_t>(message.pairs) * plan.rowBytes[tensor];
    const KeyRows &from = own[tensor];
    const char *data;
    if (plan.isInPlace(message, tensor, from)) {
      data = from.data + *message.inOrderFrom * from.rowStride;
    } else {
      Block block;
      RL_TRY(block.allocate(memory, size));
      RL_TRY(pack(message, tensor, block.get()));
      data = block.get();
      posting.packed[queue].push_back(std::move(block));
    }
    posting.exchanges[queue].sends.push_back(
        {action.peer, idOf(action, tensor), data, size});
  }
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
  while (!sending.empty() && ring.isDone(sending.front().first))
    sending.pop_front();
  Posting posting;
  for (const KeyPlan::Message &message : now.messages)
    RL_TRY(message.action.kind == Action::Kind::Receive
               ? receive(message, posting)
               : send(message, posting));
  RL_TRY(post(step, posting));
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
