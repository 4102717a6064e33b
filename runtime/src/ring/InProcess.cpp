//===- InProcess.cpp - Rings of threads ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InProcess.h"

#include <algorithm>
#include <cstring>

namespace ringlet::rt::ring {

std::shared_ptr<Hub> Hub::create(int64_t ranks) {
  return std::shared_ptr<Hub>(new Hub(ranks));
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

class InProcessTransport final : public Transport {
public:
  InProcessTransport(std::shared_ptr<Hub> hub, int64_t rank, Abort &abort,
                     std::shared_ptr<Device> device = nullptr)
      : hub(std::move(hub)), rank(rank), abort(abort),
        device(std::move(device)) {
    abort.listen([hub = this->hub] {
      std::lock_guard<std::mutex> lock(hub->mutex);
      hub->changed.notify_all();
    });
  }

  Status open(int count) {
    queues.resize(size_t(count));
    for (std::unique_ptr<MessageQueue> &queue : queues)
      RL_TRY(device->driver().openMessages(queue));
    return {};
  }

  const char *name() const override { return device ? "p2p" : "inprocess"; }
  std::optional<Trouble>
  exchange(const Exchange &exchange, Deadline deadline,
           const std::function<void(int64_t)> &waitsFor) override;

private:
  using Offer = Hub::Offer;
  using Lock = std::unique_lock<std::mutex>;

  std::optional<Trouble> takeAll(const Exchange &exchange,
                                 std::vector<bool> &taken, Lock &lock);
  Status copy(const Offer &offer, const Incoming &wanted, int queue);
  /// The offers of an exchange go, however it ends.
  void withdraw(std::vector<std::list<Offer>::iterator> &own, Lock &lock);

  std::shared_ptr<Hub> hub;
  int64_t rank;
  Abort &abort;
  const std::shared_ptr<Device> device; // Null: messages are in the host's.
  std::vector<std::unique_ptr<MessageQueue>> queues;
};

Status InProcessTransport::copy(const Offer &offer, const Incoming &wanted,
                                int queue) {
  if (wanted.size == 0)
    return {};
  if (!device) {
    std::memcpy(wanted.data, offer.data, wanted.size);
    return {};
  }
  MessageQueue &of = *queues[size_t(queue)];
  RL_TRY(of.copy(wanted.data, offer.data, wanted.size, *offer.owner));
  // The sender frees the memory once it is told.
  return waitUntilIdle(of);
}

std::optional<Trouble> InProcessTransport::takeAll(const Exchange &exchange,
                                                   std::vector<bool> &taken,
                                                   Lock &lock) {
  for (size_t i = 0; i < taken.size(); ++i) {
    const Incoming &wanted = exchange.receives[i];
    if (taken[i])
      continue;
    auto at = std::find_if(
        hub->offers.begin(), hub->offers.end(), [&](const Offer &offer) {
          return offer.state == Offer::Waiting && offer.from == wanted.from &&
                 offer.to == rank &&
                 (offer.id == wanted.id || offer.id.call != wanted.id.call);
        });
    if (at == hub->offers.end())
      continue;
    if (at->id.call != wanted.id.call)
      return otherMessage(wanted.from, exchange.step, wanted.id, at->id);
    if (at->size != wanted.size)
      return Trouble{{wanted.from, exchange.step,
                      text("expected a message of ", wanted.size,
                           " bytes, found ", at->size)}};
    at->state = Offer::Copying;
    lock.unlock();
    Status copied = copy(*at, wanted, exchange.queue);
    lock.lock();
    at->state = Offer::Taken;
    taken[i] = true;
    hub->changed.notify_all();
    if (!copied.ok())
      return Trouble{{rank, exchange.step, copied.message()}};
  }
  return std::nullopt;
}

void InProcessTransport::withdraw(std::vector<std::list<Offer>::iterator> &own,
                                  Lock &lock) {
  for (auto offer : own) {
    hub->changed.wait(lock, [&] { return offer->state != Offer::Copying; });
    hub->offers.erase(offer);
  }
}

std::optional<Trouble>
InProcessTransport::exchange(const Exchange &exchange, Deadline deadline,
                             const std::function<void(int64_t)> &waitsFor) {
  Deadline begin = Clock::now();
  Lock lock(hub->mutex);
  std::vector<std::list<Offer>::iterator> own;
  for (const Outgoing &send : exchange.sends)
    own.push_back(hub->offers.insert(
        hub->offers.end(),
        {rank, send.to, send.id, send.data, send.size,
         device ? &device->driver() : nullptr, Offer::Waiting}));
  hub->changed.notify_all();
  std::vector<bool> taken(exchange.receives.size());
  std::optional<Trouble> trouble;
  for (;;) {
    trouble = takeAll(exchange, taken, lock);
    if (trouble)
      break;
    int64_t outstanding = -1;
    for (size_t i = 0; i < own.size() && outstanding < 0; ++i)
      if (own[i]->state != Offer::Taken)
        outstanding = exchange.sends[i].to;
    for (size_t i = 0; i < taken.size() && outstanding < 0; ++i)
      if (!taken[i])
        outstanding = exchange.receives[i].from;
    if (outstanding < 0)
      break;
    if (abort.raised()) {
      trouble = Trouble{*abort.failure()};
      break;
    }
    lock.unlock();
    waitsFor(outstanding);
    lock.lock();
    // What came in between is looked at again before anything is waited for.
    if ((trouble = takeAll(exchange, taken, lock)))
      break;
    if (Clock::now() >= deadline) {
      trouble =
          tooLate(outstanding, exchange.step,
                  std::chrono::duration<double>(deadline - begin).count());
      break;
    }
    hub->changed.wait_until(lock, std::min<Deadline>(deadline, after(0.2)));
  }
  withdraw(own, lock);
  return trouble;
}

//===----------------------------------------------------------------------===//
// The side channel
//===----------------------------------------------------------------------===//

class InProcessChannel final : public SideChannel {
public:
  InProcessChannel(std::shared_ptr<Hub> hub, int64_t rank, Abort &abort)
      : hub(std::move(hub)), ownRank(rank), abort(abort) {
    std::lock_guard<std::mutex> lock(this->hub->mutex);
    this->hub->aborts[rank] = &abort;
  }
  ~InProcessChannel() override { leave(); }

  int64_t rank() const override { return ownRank; }
  int64_t ranks() const override { return hub->ranks(); }

  void report(Activity activity) override {
    std::lock_guard<std::mutex> lock(hub->mutex);
    hub->activities[ownRank] = activity;
  }

  void fail(const Failure &failure) override {
    // Listeners take the mutex themselves.
    std::lock_guard<std::mutex> ending(hub->ending);
    std::vector<Abort *> all;
    {
      std::lock_guard<std::mutex> lock(hub->mutex);
      all = hub->aborts;
    }
    for (Abort *each : all)
      if (each)
        each->raise(failure);
    abort.raise(failure);
  }

  void suspect(int64_t peer, int64_t step, const std::string &reason) override {
    Failure failure = {peer, step, reason};
    {
      std::lock_guard<std::mutex> lock(hub->mutex);
      failure.rank =
          blame(peer, hub->activities, [](int64_t) { return false; });
      if (hub->activities[failure.rank].step >= 0)
        failure.step = hub->activities[failure.rank].step;
    }
    fail(failure);
  }

  Status gather(const std::string &own, std::vector<std::string> &all,
                Deadline deadline) override {
    std::unique_lock<std::mutex> lock(hub->mutex);
    int64_t serial = gatherings++;
    auto &words = hub->words[serial];
    words[ownRank] = own;
    hub->changed.notify_all();
    auto done = [&] {
      return static_cast<int64_t>(words.size()) == ranks() || abort.raised();
    };
    bool inTime = hub->changed.wait_until(lock, deadline, done);
    if (static_cast<int64_t>(words.size()) == ranks()) {
      all.assign(ranks(), "");
      for (const auto &[rank, said] : words)
        all[rank] = said;
      if (++hub->readers[serial] == ranks()) {
        hub->words.erase(serial);
        hub->readers.erase(serial);
      }
      return {};
    }
    if (inTime)
      return abort.status();
    int64_t missing = 0;
    while (words.count(missing))
      ++missing;
    Failure failure = {missing, hub->activities[missing].step,
                       "did not begin a call that others have begun"};
    lock.unlock();
    fail(failure);
    return abort.status();
  }

  void leave() override {
    // Nobody raises the abort of a rank that has left.
    std::lock_guard<std::mutex> ending(hub->ending);
    std::lock_guard<std::mutex> lock(hub->mutex);
    hub->aborts[ownRank] = nullptr;
  }

private:
  std::shared_ptr<Hub> hub;
  int64_t ownRank;
  Abort &abort;
  int64_t gatherings = 0;
};

std::unique_ptr<Transport> Hub::transport(int64_t rank, Abort &abort) {
  return std::make_unique<InProcessTransport>(shared_from_this(), rank, abort);
}

Status Hub::transport(int64_t rank, Abort &abort,
                      const std::shared_ptr<Device> &device, int queues,
                      std::unique_ptr<Transport> &transport) {
  auto made = std::make_unique<InProcessTransport>(shared_from_this(), rank,
                                                   abort, device);
  RL_TRY(made->open(queues));
  transport = std::move(made);
  return {};
}

std::unique_ptr<SideChannel> Hub::channel(int64_t rank, Abort &abort) {
  return std::make_unique<InProcessChannel>(shared_from_this(), rank, abort);
}

} // namespace ringlet::rt::ring
