//===- SocketTransport.cpp - Messages between processes ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SocketTransport.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <poll.h>

namespace ringlet::rt::ring {

namespace {

constexpr char kMessages[] = "messages";
constexpr uint64_t kMessageMagic = 0x31304753'4d474e52; // "RNGMSG01"

struct Header {
  uint64_t magic;
  MessageId id;
  uint64_t size;
};
static_assert(sizeof(Header) == 40, "no padding travels");

class SocketTransport final : public Transport {
public:
  SocketTransport(std::vector<File> connections, Abort &abort)
      : connections(std::move(connections)), abort(abort) {}

  const char *name() const override { return "socket"; }
  std::optional<Trouble>
  exchange(const Exchange &exchange, Deadline deadline,
           const std::function<void(int64_t)> &waitsFor) override;

private:
  std::vector<File> connections;
  Abort &abort;
};

/// Bytes that move in pieces: a header, then what it announces.
struct Piece {
  Header header;
  char *data;
  size_t done = 0;

  size_t total() const { return sizeof header + header.size; }
};

/// One peer's part of an exchange.
class Conversation {
public:
  Conversation(int64_t peer, const File &connection, int64_t step)
      : peer(peer), connection(connection), step(step) {}

  void add(const Outgoing &send) {
    sends.push_back({{kMessageMagic, send.id, send.size},
                     static_cast<char *>(const_cast<void *>(send.data))});
  }
  void add(const Incoming &receive) { receives.push_back(receive); }

  bool sending() const { return sent < sends.size(); }
  bool receiving() const { return !receives.empty(); }
  bool done() const { return !sending() && !receiving(); }
  short events() const {
    return (sending() ? POLLOUT : 0) | (receiving() ? POLLIN : 0);
  }

  /// Moves what can be moved now.
  std::optional<Trouble> send();
  std::optional<Trouble> receive();

  const int64_t peer;
  const File &connection;

private:
  Trouble closed() const { return {{peer, step, "connection closed"}}; }
  /// Finds the receive that a header is for.
  std::optional<Trouble> match();

  int64_t step;
  std::vector<Piece> sends;
  size_t sent = 0;
  std::vector<Incoming> receives;
  Piece arriving = {};
  size_t target = 0; // Among receives, once the header is whole.
};

std::optional<Trouble> Conversation::send() {
  while (sending()) {
    Piece &piece = sends[sent];
    bool inHeader = piece.done < sizeof(Header);
    const char *from =
        inHeader ? reinterpret_cast<const char *>(&piece.header) + piece.done
                 : piece.data + (piece.done - sizeof(Header));
    size_t size = (inHeader ? sizeof(Header) : piece.total()) - piece.done;
    ptrdiff_t count = size > 0 ? sendSome(connection, from, size) : 0;
    if (count < 0)
      return closed();
    piece.done += static_cast<size_t>(count);
    if (piece.done == piece.total())
      ++sent;
    else if (count == 0)
      break;
  }
  return std::nullopt;
}

std::optional<Trouble> Conversation::match() {
  const Header &header = arriving.header;
  if (header.magic != kMessageMagic)
    return Trouble{{peer, step, "sent what is no message of a ring"}};
  auto at = std::find_if(
      receives.begin(), receives.end(),
      [&](const Incoming &wanted) { return wanted.id == header.id; });
  if (at == receives.end())
    return otherMessage(peer, step, receives[0].id, header.id);
  if (at->size != header.size)
    return Trouble{{peer, step,
                    text("expected a message of ", at->size, " bytes, found ",
                         header.size)}};
  target = static_cast<size_t>(at - receives.begin());
  arriving.data = static_cast<char *>(at->data);
  return std::nullopt;
}

std::optional<Trouble> Conversation::receive() {
  while (receiving()) {
    bool inHeader = arriving.done < sizeof(Header);
    char *to = inHeader
                   ? reinterpret_cast<char *>(&arriving.header) + arriving.done
                   : arriving.data + (arriving.done - sizeof(Header));
    size_t size =
        (inHeader ? sizeof(Header) : arriving.total()) - arriving.done;
    ptrdiff_t count = receiveSome(connection, to, size);
    if (count < 0)
      return closed();
    if (count == 0 && size > 0)
      break;
    arriving.done += static_cast<size_t>(count);
    if (inHeader && arriving.done == sizeof(Header))
      if (std::optional<Trouble> trouble = match())
        return trouble;
    if (arriving.done >= sizeof(Header) && arriving.done == arriving.total()) {
      receives.erase(receives.begin() + static_cast<ptrdiff_t>(target));
      arriving = {};
    }
  }
  return std::nullopt;
}

std::optional<Trouble>
SocketTransport::exchange(const Exchange &exchange, Deadline deadline,
                          const std::function<void(int64_t)> &waitsFor) {
  Deadline begin = Clock::now();
  std::map<int64_t, Conversation> byPeer;
  auto with = [&](int64_t peer) -> Conversation & {
    return byPeer.try_emplace(peer, peer, connections[peer], exchange.step)
        .first->second;
  };
  for (const Outgoing &send : exchange.sends)
    with(send.to).add(send);
  for (const Incoming &receive : exchange.receives)
    with(receive.from).add(receive);

  int64_t told = -1;
  for (;;) {
    std::vector<pollfd> files = {{abort.descriptor(), POLLIN, 0}};
    std::optional<Trouble> trouble;
    int64_t outstanding = -1;
    for (auto &[peer, talk] : byPeer) {
      if (!trouble)
        trouble = talk.send();
      if (!trouble)
        trouble = talk.receive();
      if (talk.done())
        continue;
      // Rather whom something is to come from: sends wait for readers, who
      // wait.
      if (outstanding < 0 || talk.receiving())
        outstanding = peer;
      files.push_back({talk.connection.get(), talk.events(), 0});
    }
    if (trouble && !trouble->suspicion && abort.raisedWithin(kReasonGrace))
      return Trouble{*abort.failure()};
    if (trouble)
      return trouble;
    if (outstanding < 0)
      return std::nullopt;
    if (abort.raised())
      return Trouble{*abort.failure()};
    if (Clock::now() >= deadline)
      return tooLate(outstanding, exchange.step,
                     std::chrono::duration<double>(deadline - begin).count());
    if (told != outstanding)
      waitsFor(told = outstanding);
    poll(files.data(), files.size(), millisecondsUntil(deadline));
  }
}

Status connectTo(const Peers &peers, int64_t peer, const Abort &abort,
                 Deadline deadline, File &connection) {
  File made;
  Status status;
  do {
    status = connectTo(peers.addresses[peer],
                       std::min<Deadline>(deadline, after(0.2)), made);
  } while (!status.ok() && !abort.raised() && Clock::now() < deadline);
  RL_TRY(status);
  std::string refusal;
  RL_TRY(introduce(made, peers.secret, kMessages,
                   {peers.rank, peers.ranks, 0, ""}, deadline, refusal));
  if (!refusal.empty())
    return Status(RL_PEER_ERROR, refusal);
  connection = std::move(made);
  return {};
}

} // namespace

Status connectSockets(const Peers &peers, Abort &abort, Deadline deadline,
                      std::unique_ptr<Transport> &transport) {
  std::vector<File> connections(peers.ranks);
  // Each rank connects to those below it, then waits for those above.
  for (int64_t peer = 0; peer < peers.rank; ++peer) {
    Status status = connectTo(peers, peer, abort, deadline, connections[peer]);
    // A rank that has gone may have gone because of another one.
    if (!status.ok() && abort.raisedWithin(kReasonGrace))
      return abort.status();
    if (!status.ok())
      return failure(status.code(), "rank ", peer, ": ", status.message(),
                     " during bootstrap");
  }
  int64_t missing = peers.ranks - 1 - peers.rank;
  Doorman doorman(peers.listener, peers.secret, kMessages);
  bool complete = doorman.admit(
      deadline,
      [&](const Claim &claim) -> std::string {
        if (claim.rank <= peers.rank || claim.rank >= peers.ranks ||
            connections[claim.rank])
          return text("expected a rank from ", peers.rank + 1, " to ",
                      peers.ranks - 1, " once, found ", claim.rank);
        return {};
      },
      [&] { return missing == 0 || abort.raised(); },
      [&](const Claim &claim, File connection) {
        connections[claim.rank] = std::move(connection);
        --missing;
      });
  if (abort.raised())
    return abort.status();
  if (!complete) {
    int64_t rank = peers.rank + 1;
    while (connections[rank])
      ++rank;
    return failure(RL_PEER_ERROR, "rank ", rank,
                   ": no connection for messages during bootstrap");
  }
  transport = std::make_unique<SocketTransport>(std::move(connections), abort);
  return {};
}

} // namespace ringlet::rt::ring
