//===- TcpChannel.cpp - The side channel between processes ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TcpChannel.h"

#include <algorithm>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace ringlet::rt::ring {

namespace {

constexpr size_t kHeader = 8;
constexpr uint32_t kMostPayload = 1u << 24;
/// What waits to be sent to a peer that does not read.
constexpr size_t kMostWaiting = size_t(1) << 26;
/// Others may find out more: they get so long before a rank speaks for itself.
constexpr double kGrace = 2;
// A rank on a busy host may be late with a few signs of life.
constexpr double kMissedSigns = 5;
// For how long a caller looks for words itself: a sleeping thread hears of them
// some 50 us late, and words go from a rank to rank 0 and on.
constexpr double kAttention = 200e-6;

void append(std::string &to, int64_t value) {
  to.append(reinterpret_cast<const char *>(&value), sizeof value);
}

int64_t takeNumber(const std::string &from, size_t &at) {
  int64_t value = 0;
  if (at + sizeof value <= from.size())
    std::memcpy(&value, from.data() + at, sizeof value);
  at += sizeof value;
  return value;
}

std::string writeFailure(const Failure &failure) {
  std::string payload;
  append(payload, failure.rank);
  append(payload, failure.step);
  return payload + failure.reason;
}

Failure readFailure(const std::string &payload) {
  size_t at = 0;
  Failure failure;
  failure.rank = takeNumber(payload, at);
  failure.step = takeNumber(payload, at);
  failure.reason = payload.substr(std::min(at, payload.size()));
  return failure;
}

} // namespace

TcpChannel::TcpChannel(int64_t rank, int64_t ranks,
                       const TcpChannelOptions &options, Abort &abort)
    : ownRank(rank), rankCount(ranks), options(options), abort(abort),
      event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), activities(ranks) {}

Status TcpChannel::create(int64_t rank, int64_t ranks,
                          std::vector<File> control,
                          const TcpChannelOptions &options, Abort &abort,
                          std::unique_ptr<SideChannel> &channel) {
  std::unique_ptr<TcpChannel> made(new TcpChannel(rank, ranks, options, abort));
  for (size_t i = 0; i < control.size(); ++i)
    if (control[i]) {
      Peer peer;
      peer.rank = rank == 0 ? static_cast<int64_t>(i) : 0;
      peer.connection = std::move(control[i]);
      peer.heard = Clock::now();
      made->peers.push_back(std::move(peer));
    }
  if (made->event < 0)
    return Status(RL_UNAVAILABLE, "no descriptor left for an event");
  try {
    made->watchdog = std::thread(&TcpChannel::run, made.get());
  } catch (const std::exception &) {
    return Status(RL_UNAVAILABLE, "no thread left for a ring");
  }
  channel = std::move(made);
  return {};
}

TcpChannel::~TcpChannel() {
  leave();
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  wake();
  if (watchdog.joinable())
    watchdog.join();
  if (event >= 0)
    close(event);
}

void TcpChannel::wake() {
  uint64_t one = 1;
  if (::write(event, &one, sizeof one) < 0)
    return; // It is awake already.
}

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

void TcpChannel::send(Peer &peer, Kind kind, const std::string &payload) {
  if (peer.gone || peer.sending.size() > kMostWaiting)
    return;
  uint32_t header[2] = {static_cast<uint32_t>(payload.size()),
                        static_cast<uint32_t>(kind)};
  peer.sending.append(reinterpret_cast<const char *>(header), kHeader);
  peer.sending += payload;
}

void TcpChannel::sendToAll(Kind kind, const std::string &payload, int64_t but) {
  for (Peer &peer : peers)
    if (peer.rank != but)
      send(peer, kind, payload);
}

std::string TcpChannel::sign() const {
  std::string payload;
  append(payload, activities[ownRank].step);
  append(payload, activities[ownRank].waitsFor);
  return payload;
}

void TcpChannel::report(Activity activity) {
  std::lock_guard<std::mutex> lock(mutex);
  bool moved = activity.step != activities[ownRank].step;
  activities[ownRank] = activity;
  // Rank 0 knows the step of a rank that dies; its own is told with its signs.
  if (!moved || isRoot() || leaving)
    return;
  sendToAll(Kind::Alive, sign());
  wake();
}

void TcpChannel::fail(const Failure &failure) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    end(failure, ownRank);
  }
  wake();
}

void TcpChannel::suspect(int64_t peer, int64_t step,
                         const std::string &reason) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (isRoot()) {
      judge(peer, step, reason);
    } else {
      sendToAll(Kind::Suspect, writeFailure(Failure{peer, step, reason}));
    }
  }
  wake();
  if (!abort.raisedWithin(kGrace))
    fail({peer, step, reason});
}

Status TcpChannel::gather(const std::string &own, std::vector<std::string> &all,
                          Deadline deadline) {
  std::unique_lock<std::mutex> lock(mutex);
  int64_t serial = gatherings++;
  if (isRoot()) {
    collect(serial, 0, own);
  } else {
    std::string payload;
    append(payload, serial);
    sendToAll(Kind::Words, payload + own);
  }
  auto done = [&] { return complete.count(serial) || abort.raised(); };
  attend(lock, done);
  wake();
  // Rank 0 knows who is missing, and says so first.
  if (!changed.wait_until(
          lock,
          isRoot() ? deadline
                   : deadline + std::chrono::milliseconds(
                                    static_cast<int64_t>(kGrace * 1e3)),
          done)) {
    int64_t missing = 0;
    if (isRoot())
      while (missing + 1 < rankCount && heard[serial].count(missing))
        ++missing;
    end({missing, activities[missing].step,
         "did not begin a call that others have begun"},
        ownRank);
    lock.unlock();
    wake();
    return abort.status();
  }
  if (!complete.count(serial))
    return abort.status();
  all.assign(rankCount, "");
  for (const auto &[rank, words] : complete[serial])
    all[rank] = words;
  complete.erase(serial);
  return {};
}

void TcpChannel::attend(std::unique_lock<std::mutex> &lock,
                        const std::function<bool()> &done) {
  Deadline end = after(kAttention);
  while (true) {
    for (Peer &peer : peers)
      if (peer.connection)
        hear(peer);
    for (Peer &peer : peers)
      flush(peer);
    if (done() || Clock::now() >= end)
      return;
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
}

void TcpChannel::leave() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (leaving)
      return;
    leaving = true;
    sendToAll(Kind::Leave, "");
  }
  wake();
}

//===----------------------------------------------------------------------===//
// What is heard
//===----------------------------------------------------------------------===//

void TcpChannel::end(const Failure &failure, int64_t from) {
  if (!abort.raise(failure))
    return;
  // Rank 0 passes it on; whoever said it knows.
  sendToAll(Kind::Fail, writeFailure(failure), from == ownRank ? -1 : from);
  changed.notify_all();
}

void TcpChannel::judge(int64_t peer, int64_t step, const std::string &reason) {
  auto isSilent = [&](int64_t rank) {
    for (const Peer &other : peers)
      if (other.rank == rank)
        return Clock::now() - other.heard >
               std::chrono::duration<double>(kMissedSigns * options.interval);
    return false;
  };
  int64_t at = blame(peer, activities, isSilent);
  end({at, activities[at].step >= 0 ? activities[at].step : step, reason},
      ownRank);
}

void TcpChannel::collect(int64_t serial, int64_t from,
                         const std::string &words) {
  Words &of = heard[serial];
  of[from] = words;
  if (static_cast<int64_t>(of.size()) < rankCount)
    return;
  std::string payload;
  append(payload, serial);
  for (const auto &[rank, said] : of) {
    append(payload, static_cast<int64_t>(said.size()));
    payload += said;
  }
  sendToAll(Kind::AllWords, payload);
  complete[serial] = std::move(of);
  heard.erase(serial);
  changed.notify_all();
}

void TcpChannel::understand(Peer &peer, Kind kind, const std::string &payload) {
  size_t at = 0;
  switch (kind) {
  case Kind::Alive: {
    Activity activity;
    activity.step = takeNumber(payload, at);
    activity.waitsFor = takeNumber(payload, at);
    if (activity.waitsFor >= rankCount)
      activity.waitsFor = -1;
    activities[peer.rank] = activity;
    return;
  }
  case Kind::Fail:
    end(readFailure(payload), peer.rank);
    return;
  case Kind::Suspect: {
    Failure suspicion = readFailure(payload);
    if (isRoot() && suspicion.rank >= 0 && suspicion.rank < rankCount)
      judge(suspicion.rank, suspicion.step, suspicion.reason);
    return;
  }
  case Kind::Words:
    if (isRoot()) {
      int64_t serial = takeNumber(payload, at);
      collect(serial, peer.rank, payload.substr(std::min(at, payload.size())));
    }
    return;
  case Kind::AllWords: {
    int64_t serial = takeNumber(payload, at);
    Words words;
    for (int64_t rank = 0; rank < rankCount; ++rank) {
      size_t size = static_cast<size_t>(takeNumber(payload, at));
      words[rank] = payload.substr(std::min(at, payload.size()), size);
      at += words[rank].size();
    }
    complete[serial] = std::move(words);
    changed.notify_all();
    return;
  }
  case Kind::Leave:
    peer.gone = true;
    return;
  }
  lose(peer, "sent what no rank of this version sends");
}

void TcpChannel::lose(Peer &peer, const std::string &reason) {
  if (peer.gone)
    return;
  peer.gone = true;
  // Who has heard that this rank leaves does not say so when it leaves itself;
  // and what becomes of the others, they find out without this rank.
  if (leaving)
    return;
  int64_t step = activities[peer.rank].step;
  end({peer.rank, step >= 0 ? step : activities[ownRank].step, reason},
      ownRank);
}

void TcpChannel::hear(Peer &peer) {
  char bytes[4096];
  ptrdiff_t count;
  while ((count = receiveSome(peer.connection, bytes, sizeof bytes)) > 0) {
    peer.received.append(bytes, static_cast<size_t>(count));
    peer.heard = Clock::now();
  }
  size_t at = 0;
  while (peer.received.size() - at >= kHeader) {
    uint32_t header[2];
    std::memcpy(header, peer.received.data() + at, kHeader);
    if (header[0] > kMostPayload) {
      lose(peer, "sent what no rank of this version sends");
      break;
    }
    if (peer.received.size() - at - kHeader < header[0])
      break;
    understand(peer, static_cast<Kind>(header[1]),
               peer.received.substr(at + kHeader, header[0]));
    at += kHeader + header[0];
  }
  peer.received.erase(0, at);
  if (count < 0) {
    lose(peer, "connection closed");
    peer.connection.reset();
  }
}

void TcpChannel::flush(Peer &peer) {
  if (!peer.connection || peer.sending.empty())
    return;
  ptrdiff_t count =
      sendSome(peer.connection, peer.sending.data(), peer.sending.size());
  if (count < 0) {
    peer.sending.clear(); // Reading says why.
    return;
  }
  peer.sending.erase(0, static_cast<size_t>(count));
}

void TcpChannel::run() {
  Deadline nextSign = Clock::now();
  std::unique_lock<std::mutex> lock(mutex);
  std::optional<Deadline> lastChance;
  for (;;) {
    if (stopping && !lastChance)
      lastChance = after(1);
    bool busy = false;
    for (Peer &peer : peers) {
      flush(peer);
      busy |= peer.connection && !peer.sending.empty();
    }
    if (stopping && (!busy || Clock::now() >= *lastChance))
      return;
    std::vector<pollfd> files = {{event, POLLIN, 0}};
    for (const Peer &peer : peers) {
      short events = peer.sending.empty() ? POLLIN : POLLIN | POLLOUT;
      files.push_back(
          {peer.connection ? peer.connection.get() : -1, events, 0});
    }
    lock.unlock();
    poll(files.data(), files.size(), millisecondsUntil(nextSign));
    uint64_t count;
    if (files[0].revents && ::read(event, &count, sizeof count) < 0)
      count = 0;
    lock.lock();
    for (size_t i = 0; i < peers.size(); ++i)
      if (files[i + 1].revents & ~POLLOUT && peers[i].connection)
        hear(peers[i]);
    if (Clock::now() < nextSign)
      continue;
    nextSign = after(options.interval);
    if (!leaving)
      sendToAll(Kind::Alive, sign());
    for (Peer &peer : peers)
      if (!peer.gone && Clock::now() - peer.heard >
                            std::chrono::duration<double>(options.silence))
        lose(peer, text("no sign of life for ", options.silence, " s"));
  }
}

} // namespace ringlet::rt::ring
