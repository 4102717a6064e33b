//===- Bootstrap.cpp - How ranks find each other ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bootstrap.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sstream>

namespace ringlet::rt::ring {

namespace {

constexpr int64_t kMostRanks = 4096;
constexpr uint32_t kMostBytes = 1u << 20;
constexpr char kControl[] = "control";
/// What rank 0 says when all have the table; a '!' begins a reason why not.
constexpr char kGo[] = "go";

Status check(const BootstrapOptions &options) {
  if (options.ranks < 1 || options.ranks > kMostRanks)
    return invalid("expected 1 to ", kMostRanks, " ranks, found ",
                   options.ranks);
  if (options.rank < 0 || options.rank >= options.ranks)
    return invalid("expected a rank from 0 to ", options.ranks - 1, ", found ",
                   options.rank);
  if (options.ranks > 1 && options.secret.empty())
    return invalid("expected a secret that the ranks share, found none: set "
                   "RINGLET_RING_SECRET");
  if (options.rank > 0 && options.root.port == 0)
    return invalid("expected the port on which rank 0 listens, found 0");
  return {};
}

/// "1, 4, 5 and 12 more".
std::string listMissing(const std::vector<File> &control) {
  std::ostringstream out;
  int64_t count = 0;
  for (size_t rank = 1; rank < control.size(); ++rank)
    if (!control[rank] && ++count <= 8)
      out << (count > 1 ? ", " : "") << rank;
  if (count > 8)
    out << " and " << count - 8 << " more";
  return out.str();
}

std::string judge(const BootstrapOptions &options,
                  const std::vector<File> &control, const Claim &claim) {
  if (claim.ranks != options.ranks)
    return text("rank ", claim.rank, ": expected a ring of ", options.ranks,
                " ranks, as on rank 0, found one of ", claim.ranks, " (G3)");
  if (claim.rank < 1 || claim.rank >= options.ranks)
    return text("expected a rank from 1 to ", options.ranks - 1, ", found ",
                claim.rank);
  if (control[claim.rank])
    return text("rank ", claim.rank, ": expected it once, found it again");
  return {};
}

/// Everybody's address.
std::string tableOf(const Peers &peers) {
  std::ostringstream table;
  for (const Address &address : peers.addresses)
    table << address.host << " " << address.port << "\n";
  return table.str();
}

Status lead(const BootstrapOptions &options, Peers &peers,
            const std::function<void(uint16_t)> &bound) {
  File listener;
  uint16_t port = options.root.port;
  if (options.ear)
    listener = std::move(*options.ear);
  else
    RL_TRY(listenOn(options.root, listener, port));
  if (bound)
    bound(port);
  peers.control.resize(options.ranks);
  int64_t present = 1;
  Doorman doorman(listener, options.secret, kControl);
  std::string refusal;
  bool complete = doorman.admit(
      after(options.seconds),
      [&](const Claim &claim) {
        std::string said = judge(options, peers.control, claim);
        if (claim.ranks != options.ranks)
          refusal = said;
        return said;
      },
      [&] { return present == options.ranks || !refusal.empty(); },
      [&](const Claim &claim, File connection) {
        peers.addresses[claim.rank] = {claim.host, claim.port};
        peers.control[claim.rank] = std::move(connection);
        ++present;
      });
  if (refusal.empty() && !complete)
    refusal = text("ranks ", listMissing(peers.control), " of ", options.ranks,
                   " did not come within ", options.seconds, " s");
  // All get the table before one of them goes on: a rank that has gone
  // meanwhile is found out here.
  Deadline deadline = after(5);
  auto sendToAll = [&](const std::string &text) {
    for (int64_t rank = 1; rank < options.ranks; ++rank)
      if (peers.control[rank] &&
          !sendText(peers.control[rank], text, deadline).ok() &&
          refusal.empty())
        refusal =
            rt::text("rank ", rank, ": connection closed during bootstrap");
  };
  if (refusal.empty())
    sendToAll(tableOf(peers));
  sendToAll(refusal.empty() ? kGo : "!" + refusal);
  return refusal.empty() ? Status() : Status(RL_PEER_ERROR, refusal);
}

Status follow(const BootstrapOptions &options, Peers &peers, const Claim &claim,
              File connection, Deadline deadline) {
  std::string refusal, table;
  RL_TRY(introduce(connection, options.secret, kControl, claim, deadline,
                   refusal));
  if (!refusal.empty())
    return Status(RL_PEER_ERROR, refusal);
  std::string go;
  for (std::string *text : {&table, &go}) {
    // Rank 0 says who is missing when its own time is up.
    Status received =
        receiveText(connection, *text, deadline + std::chrono::seconds(3));
    if (!received.ok())
      return failure(RL_PEER_ERROR, "rank 0: ", received.message(),
                     " during bootstrap");
    if (!text->empty() && text->front() == '!')
      return Status(RL_PEER_ERROR, text->substr(1));
  }
  std::istringstream in(table);
  for (Address &address : peers.addresses)
    if (!(in >> address.host >> address.port))
      return Status(RL_PEER_ERROR, "rank 0: expected an address of each rank, "
                                   "found fewer");
  peers.control.push_back(std::move(connection));
  return {};
}

} // namespace

Status sendText(const File &connection, const std::string &text,
                Deadline deadline) {
  uint32_t size = static_cast<uint32_t>(text.size());
  RL_TRY(sendAll(connection, &size, sizeof size, deadline));
  return sendAll(connection, text.data(), text.size(), deadline);
}

Status receiveText(const File &connection, std::string &text,
                   Deadline deadline) {
  uint32_t size = 0;
  RL_TRY(receiveAll(connection, &size, sizeof size, deadline));
  if (size > kMostBytes)
    return failure(RL_PEER_ERROR, "expected at most ", kMostBytes,
                   " bytes of text, found ", size);
  text.resize(size);
  return receiveAll(connection, text.data(), size, deadline);
}

Status bootstrap(const BootstrapOptions &options, Peers &peers,
                 const std::function<void(uint16_t)> &bound) {
  RL_TRY(check(options));
  peers = Peers();
  peers.rank = options.rank;
  peers.ranks = options.ranks;
  peers.secret = options.secret;
  peers.addresses.resize(options.ranks);
  Deadline deadline = after(options.seconds);
  File toRoot;
  std::string host = options.listen;
  if (options.rank > 0) {
    Status connected = connectTo(options.root, deadline, toRoot);
    if (!connected.ok())
      return failure(connected.code(), "rank 0: ", connected.message());
    if (host.empty())
      host = localHost(toRoot);
  } else if (host.empty()) {
    host = options.root.host;
  }
  uint16_t port = 0;
  RL_TRY(listenOn({host, 0}, peers.listener, port));
  if (options.rank > 0)
    return follow(options, peers, {options.rank, options.ranks, port, host},
                  std::move(toRoot), deadline);
  peers.addresses[0] = {host, port};
  return lead(options, peers, bound);
}

//===----------------------------------------------------------------------===//
// Ids
//===----------------------------------------------------------------------===//

namespace {

/// Ears of ids whose rank 0 is still to come.
struct Ears {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<File>> byId;

  static Ears &all() {
    static Ears ears;
    return ears;
  }
};

constexpr char kIdMark[] = "ringlet1";

} // namespace

Status makeId(const std::string &host, std::string &id) {
  auto ear = std::make_shared<File>();
  uint16_t port = 0;
  RL_TRY(listenOn({host, 0}, *ear, port));
  id = text(kIdMark, " ", port, " ", makeSecret(), " ", host);
  Ears &ears = Ears::all();
  std::lock_guard<std::mutex> lock(ears.mutex);
  ears.byId[id] = std::move(ear);
  return {};
}

Status useId(const std::string &id, BootstrapOptions &options) {
  std::istringstream in(id);
  std::string mark;
  if (!(in >> mark >> options.root.port >> options.secret >>
        options.root.host) ||
      mark != kIdMark)
    return invalid("expected an id that rl_ring_make_id has made");
  if (options.rank != 0)
    return {};
  Ears &ears = Ears::all();
  std::lock_guard<std::mutex> lock(ears.mutex);
  auto found = ears.byId.find(id);
  if (found == ears.byId.end())
    return invalid("expected rank 0 once, and in the process that made its id");
  options.ear = std::move(found->second);
  ears.byId.erase(found);
  return {};
}

static Status readNumber(const char *name, int64_t least, int64_t most,
                         int64_t &value) {
  const char *text = std::getenv(name);
  if (!text)
    return invalid("expected ", name, " in the environment, found none");
  char *end = nullptr;
  long long number = std::strtoll(text, &end, 10);
  if (end == text || *end || number < least || number > most)
    return invalid("expected ", name, " from ", least, " to ", most,
                   ", found '", text, "'");
  value = number;
  return {};
}

Status optionsFromEnvironment(BootstrapOptions &options) {
  RL_TRY(readNumber("WORLD_SIZE", 1, kMostRanks, options.ranks));
  RL_TRY(readNumber("RANK", 0, options.ranks - 1, options.rank));
  int64_t port = 0;
  RL_TRY(readNumber("MASTER_PORT", 1, 65534, port));
  const char *host = std::getenv("MASTER_ADDR");
  if (!host || !*host)
    return invalid("expected MASTER_ADDR in the environment, found none");
  const char *agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  bool taken = agent && !std::strcmp(agent, "True");
  options.root = {host, static_cast<uint16_t>(port + (taken ? 1 : 0))};
  if (const char *secret = std::getenv("RINGLET_RING_SECRET"))
    options.secret = secret;
  return {};
}

} // namespace ringlet::rt::ring
