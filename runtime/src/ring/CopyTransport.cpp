//===- ring/CopyTransport.cpp - Messages copied between processes ---------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyTransport.h"

#include "Meeting.h"

#include <map>

namespace ringlet::rt::ring {

namespace {

class CopyTransport final : public Transport {
public:
  CopyTransport(int64_t rank, Transport &control, Abort &abort,
                std::shared_ptr<Device> device)
      : rank(rank), meeting(rank, control, abort), abort(abort),
        device(std::move(device)) {}

  Status open(int count) {
    queues.resize(size_t(count));
    for (std::unique_ptr<MessageQueue> &queue : queues)
      RL_TRY(device->driver().openMessages(queue));
    return {};
  }

  const char *name() const override { return "p2p"; }
  std::optional<Trouble>
  exchange(const Exchange &exchange, Deadline deadline,
           const std::function<void(int64_t)> &waitsFor) override;

private:
  Status nameOf(char *data, std::string &name);
  Status push(const Exchange &exchange, const std::vector<std::string> &names);

  const int64_t rank;
  Meeting meeting;
  Abort &abort;
  const std::shared_ptr<Device> device;
  std::vector<std::unique_ptr<MessageQueue>> queues;
  std::mutex mutex; // Guards what follows: exchanges have threads of their own.
  std::map<char *, std::string> names;
};

} // namespace

Status CopyTransport::nameOf(char *data, std::string &name) {
  std::lock_guard<std::mutex> lock(mutex);
  std::string &known = names[data];
  if (known.empty())
    RL_TRY(device->driver().share(data, known));
  name = known;
  return {};
}

Status CopyTransport::push(const Exchange &exchange,
                           const std::vector<std::string> &names) {
  MessageQueue &queue = *queues[size_t(exchange.queue)];
  Status status;
  for (size_t i = 0; i < names.size() && status.ok(); ++i)
    if (exchange.sends[i].size > 0)
      status =
          queue.push(names[i], exchange.sends[i].data, exchange.sends[i].size);
  Status waited = waitUntilIdle(queue);
  return status.ok() ? waited : status;
}

std::optional<Trouble>
CopyTransport::exchange(const Exchange &exchange, Deadline deadline,
                        const std::function<void(int64_t)> &waitsFor) {
  std::vector<std::string> own(exchange.receives.size()), names;
  for (size_t i = 0; i < own.size(); ++i) {
    const Incoming &receive = exchange.receives[i];
    if (receive.size == 0)
      continue;
    Status status = nameOf(static_cast<char *>(receive.data), own[i]);
    if (!status.ok())
      return Trouble{{rank, exchange.step, status.message()}};
  }
  if (auto trouble = meeting.begin(exchange, deadline, waitsFor, own, &names))
    return trouble;
  Status pushed = push(exchange, names);
  // Memory of a process that has ended is gone, which others find out, too.
  if (!pushed.ok())
    return abort.raisedWithin(kReasonGrace)
               ? Trouble{*abort.failure()}
               : Trouble{{rank, exchange.step, pushed.message()}};
  return meeting.end(exchange, deadline, waitsFor);
}

//===----------------------------------------------------------------------===//
// Whether it works
//===----------------------------------------------------------------------===//

namespace {

constexpr char kReady = '+', kUnready = '-';

/// Tells whether all ranks have succeeded so far, and gives all their words.
Status compare(SideChannel &channel, const Status &own,
               const std::string &ownWords, Deadline deadline,
               std::vector<std::string> &words, std::string &whyNot) {
  RL_TRY(channel.gather(own.ok() ? kReady + ownWords : kUnready + own.message(),
                        words, deadline));
  for (size_t rank = 0; rank < words.size(); ++rank) {
    bool good = !words[rank].empty() && words[rank][0] == kReady;
    std::string rest = words[rank].empty() ? "?" : words[rank].substr(1);
    if (!good && whyNot.empty())
      whyNot = text("rank ", rank, ": ", rest);
    words[rank] = rest;
  }
  return {};
}

/// A word for each rank, in memory that it writes to.
class Trial {
public:
  Trial(Device &device, int64_t rank, int64_t ranks)
      : device(device), rank(rank), bytes(uint64_t(ranks) * sizeof(int64_t)) {}
  ~Trial() {
    if (block)
      device.give(block);
  }

  Status name(std::string &name) {
    RL_TRY(device.take(bytes, block));
    std::vector<int64_t> none(size_t(bytes) / sizeof(int64_t), -1);
    RL_TRY(device.driver().transfer(block, none.data(), bytes,
                                    Transfer::ToDevice));
    return device.driver().share(block, name);
  }
  /// Writes this rank's word to each of the others.
  Status write(const std::vector<std::string> &names) {
    char *own = nullptr;
    RL_TRY(device.take(sizeof rank, own));
    std::unique_ptr<MessageQueue> queue;
    Status status = device.driver().openMessages(queue);
    if (status.ok())
      status =
          device.driver().transfer(own, &rank, sizeof rank, Transfer::ToDevice);
    for (size_t peer = 0; peer < names.size() && status.ok(); ++peer)
      if (int64_t(peer) != rank)
        status = queue->push(names[peer], own, sizeof rank,
                             uint64_t(rank) * sizeof rank);
    if (queue) {
      Status waited = waitUntilIdle(*queue);
      status = status.ok() ? waited : status;
    }
    device.give(own);
    return status;
  }
  Status check() {
    std::vector<int64_t> found(size_t(bytes) / sizeof(int64_t));
    RL_TRY(device.driver().transfer(found.data(), block, bytes,
                                    Transfer::FromDevice));
    for (size_t peer = 0; peer < found.size(); ++peer)
      if (int64_t(peer) != rank && found[peer] != int64_t(peer))
        return failure(RL_UNAVAILABLE, "a copy of rank ", peer,
                       " did not arrive");
    return {};
  }

private:
  Device &device;
  const int64_t rank;
  const uint64_t bytes;
  char *block = nullptr;
};

} // namespace

Status connectCopies(SideChannel &channel, Transport &control, Abort &abort,
                     const std::shared_ptr<Device> &device, int queues,
                     Deadline deadline, std::unique_ptr<Transport> &transport,
                     std::string &whyNot) {
  whyNot.clear();
  auto made =
      std::make_unique<CopyTransport>(channel.rank(), control, abort, device);
  Trial trial(*device, channel.rank(), channel.ranks());
  std::string own;
  std::vector<std::string> names, none;
  Status status = made->open(queues);
  if (status.ok())
    status = trial.name(own);
  RL_TRY(compare(channel, status, own, deadline, names, whyNot));
  if (!whyNot.empty())
    return {};
  status = trial.write(names);
  RL_TRY(compare(channel, status, "", deadline, none, whyNot));
  if (!whyNot.empty())
    return {};
  RL_TRY(compare(channel, trial.check(), "", deadline, none, whyNot));
  if (whyNot.empty())
    transport = std::move(made);
  return {};
}

} // namespace ringlet::rt::ring
