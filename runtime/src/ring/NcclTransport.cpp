//===- ring/NcclTransport.cpp - Messages between GPUs by NCCL ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NcclTransport.h"

#include "Communicator.h"
#include "Meeting.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace ringlet::rt::ring {

namespace {

class NcclTransport final : public Transport {
public:
  NcclTransport(int64_t rank, Transport &control, Abort &abort)
      : rank(rank), meeting(rank, control, abort), abort(abort) {}

  const char *name() const override { return "nccl"; }
  uint32_t multiprocessors() const override {
    return Communicator::multiprocessors;
  }
  std::optional<Trouble>
  exchange(const Exchange &exchange, Deadline deadline,
           const std::function<void(int64_t)> &waitsFor) override;

  std::vector<std::unique_ptr<Communicator>> communicators; // Of each queue.

private:
  std::optional<Trouble> move(const Exchange &exchange, Deadline deadline,
                              const std::function<void(int64_t)> &waitsFor);

  const int64_t rank;
  Meeting meeting;
  Abort &abort;
};

} // namespace

std::optional<Trouble>
NcclTransport::exchange(const Exchange &exchange, Deadline deadline,
                        const std::function<void(int64_t)> &waitsFor) {
  std::optional<Trouble> trouble = move(exchange, deadline, waitsFor);
  // A rank that waits within NCCL cannot tell for whom. One that has stopped is
  // known by its silence.
  if (trouble && trouble->suspicion && abort.raisedWithin(kReasonGrace))
    return Trouble{*abort.failure()};
  return trouble;
}

std::optional<Trouble>
NcclTransport::move(const Exchange &exchange, Deadline deadline,
                    const std::function<void(int64_t)> &waitsFor) {
  const Deadline begin = Clock::now();
  if (auto trouble = meeting.begin(exchange, deadline, waitsFor))
    return trouble;
  // Between two ranks messages have an order and nothing else: the same on both
  // ends.
  std::vector<Outgoing> sends = exchange.sends;
  std::vector<Incoming> receives = exchange.receives;
  auto isEmpty = [](const auto &message) { return message.size == 0; };
  sends.erase(std::remove_if(sends.begin(), sends.end(), isEmpty), sends.end());
  receives.erase(std::remove_if(receives.begin(), receives.end(), isEmpty),
                 receives.end());
  std::sort(sends.begin(), sends.end(),
            [](const Outgoing &a, const Outgoing &b) {
              return std::tie(a.to, a.id.use, a.id.part) <
                     std::tie(b.to, b.id.use, b.id.part);
            });
  std::sort(receives.begin(), receives.end(),
            [](const Incoming &a, const Incoming &b) {
              return std::tie(a.from, a.id.use, a.id.part) <
                     std::tie(b.from, b.id.use, b.id.part);
            });
  if (sends.empty() && receives.empty())
    return std::nullopt;
  return communicators[size_t(exchange.queue)]->exchange(
      rank, exchange.step, sends, receives, begin, deadline);
}

//===----------------------------------------------------------------------===//
// How devices find each other
//===----------------------------------------------------------------------===//

namespace {

/// What a rank needs before it can begin.
struct Setup {
  const NcclApi *api = nullptr;
  NcclHandle user = nullptr;
  std::vector<NcclId> ids; // On rank 0, without a communicator of the user's.
};

Status checkUser(const NcclApi &api, NcclHandle user, int64_t rank,
                 int64_t ranks, int ordinal) {
  int found[3] = {};
  const struct {
    const char *what;
    NcclResult (*ask)(NcclHandle, int *);
    int64_t wanted;
  } questions[] = {{"ranks", api.count, ranks},
                   {"as its rank", api.rank, rank},
                   {"as its device", api.device, ordinal}};
  for (int i = 0; i < 3; ++i) {
    const auto &[what, ask, wanted] = questions[i];
    RL_TRY(api.check(ask(user, &found[i]), "describe the communicator", user));
    if (found[i] != wanted)
      return invalid("expected a communicator with ", wanted, " ", what,
                     ", found ", found[i]);
  }
  return {};
}

Status prepare(Setup &setup, int64_t rank, int64_t ranks, Device &device,
               int queues) {
  if (setup.user) {
    RL_TRY(NcclApi::getLoaded(setup.api));
    return checkUser(*setup.api, setup.user, rank, ranks,
                     device.driver().ordinal());
  }
  RL_TRY(NcclApi::get(setup.api));
  if (rank > 0)
    return {};
  setup.ids.resize(size_t(queues));
  for (NcclId &id : setup.ids)
    RL_TRY(setup.api->check(setup.api->uniqueId(&id), "make an id", nullptr));
  return {};
}

constexpr char kGood = '+', kBad = '-';

/// What the ranks say of their setups. The first one that cannot begin is the
/// reason on all of them.
Status compare(SideChannel &channel, Setup &setup, const Status &own,
               Deadline deadline) {
  std::string words;
  if (own.ok()) {
    words = text(kGood, setup.user ? "part of a communicator" : "own",
                 ", NCCL ", setup.api->versionName(), '\n');
    for (const NcclId &id : setup.ids)
      words.append(id.bytes, sizeof id.bytes);
  } else {
    words = kBad + own.message();
  }
  std::vector<std::string> all;
  RL_TRY(channel.gather(words, all, deadline));
  auto begins = [&](size_t rank) {
    return all[rank].substr(0, all[rank].find('\n'));
  };
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].empty() || all[rank][0] != kGood)
      return failure(own.ok() ? RL_UNAVAILABLE : own.code(), "rank ", rank,
                     ": ", all[rank].empty() ? "?" : all[rank].substr(1));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (begins(rank) != begins(0))
      return invalid("rank ", rank, ": expected ", begins(0).substr(1),
                     ", as on rank 0, found ", begins(rank).substr(1));
  std::string ids = all[0].substr(begins(0).size() + 1);
  setup.ids.resize(ids.size() / sizeof(NcclId));
  if (!ids.empty())
    std::memcpy(setup.ids.data(), ids.data(),
                setup.ids.size() * sizeof(NcclId));
  return {};
}

} // namespace

Status connectNccl(SideChannel &channel, Transport &control, Abort &abort,
                   const std::shared_ptr<Device> &device, int queues,
                   void *userCommunicator, Deadline deadline,
                   std::unique_ptr<Transport> &transport) {
  const int64_t rank = channel.rank(), ranks = channel.ranks();
  Setup setup;
  setup.user = static_cast<NcclHandle>(userCommunicator);
  Status own = prepare(setup, rank, ranks, *device, queues);
  RL_TRY(compare(channel, setup, own, deadline));
  auto made = std::make_unique<NcclTransport>(rank, control, abort);
  for (int queue = 0; queue < queues; ++queue) {
    made->communicators.push_back(
        std::make_unique<Communicator>(*setup.api, device, abort));
    Communicator &each = *made->communicators.back();
    Status status =
        setup.user
            ? each.split(setup.user, rank, deadline)
            : each.create(rank, ranks, setup.ids[size_t(queue)], deadline);
    if (!status.ok()) {
      // The others would wait for this one.
      if (!abort.raisedWithin(status.code() == RL_PEER_ERROR ? kReasonGrace
                                                             : 0))
        channel.fail({rank, -1, status.message()});
      return abort.status();
    }
  }
  transport = std::move(made);
  return {};
}

} // namespace ringlet::rt::ring
