//===- RingRank.cpp - A rank in a process of its own ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: RingRank RANK RANKS PORT [NAME=VALUE]...
//
// Runs calls on a ring and prints what became of it:
//   status CODE MESSAGE
//   held FILES THREADS       more than before the ring
// What goes wrong is told by names: kill, stop, exit and sleep, a step at
// which; rows and artefact, of the call; calls, how many; die=bootstrap. With
// device=nccl or device=p2p, messages are in memory of a device.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <unistd.h>

using namespace ringlet::rt;
using namespace ringlet::rt::ring;

namespace {

std::map<std::string, std::string> given;

double number(const char *name, double otherwise) {
  auto at = given.find(name);
  return at == given.end() ? otherwise : std::atof(at->second.c_str());
}

std::string word(const char *name, const char *otherwise) {
  auto at = given.find(name);
  return at == given.end() ? otherwise : at->second;
}

ringlet::ring::Schedule scheduleOf(int64_t ranks, int64_t rows) {
  using namespace ringlet::ring;
  Branch dense, dilated;
  dense.headEnd = dilated.headEnd = 4;
  dense.segment = rows / 2;
  dilated.dilation = 4;
  Shards shards = *Shards::even(Sharding::Zigzag, rows, ranks, 1, nullptr);
  return {
      {oneSequence({dense, dilated}, rows, rows, 4, 2, true), shards, shards},
      ranks,
      2};
}

void misbehave(int64_t step) {
  std::printf("step %d\n", static_cast<int>(step));
  std::fflush(stdout);
  auto now = [&](const char *name) {
    return given.count(name) && number(name, -1) == static_cast<double>(step);
  };
  if (now("kill"))
    raise(SIGKILL);
  if (now("stop"))
    raise(SIGSTOP);
  if (now("exit"))
    _exit(3);
  if (now("sleep"))
    std::this_thread::sleep_for(std::chrono::seconds(6));
}

Status run(int64_t rank, int64_t ranks, uint16_t port) {
  BootstrapOptions bootstrap;
  bootstrap.rank = rank;
  bootstrap.ranks = ranks;
  bootstrap.root.port = port;
  bootstrap.secret = word("secret", "of the processes");
  bootstrap.seconds = number("bootstrap", 20);
  RingOptions options;
  options.waitSeconds = number("wait", 3);
  options.channel.silence = number("silence", 3);
  options.channel.interval = 0.1;
  options.transport = word("device", "");
  if (word("die", "") == "bootstrap") {
    File connection;
    std::string refusal;
    Deadline deadline = after(10);
    RL_TRY(connectTo(bootstrap.root, deadline, connection));
    RL_TRY(introduce(connection, bootstrap.secret, "control",
                     {rank, ranks, 1, "127.0.0.1"}, deadline, refusal));
    raise(SIGKILL);
  }
  std::unique_ptr<Ring> ring;
  RL_TRY(Ring::create(bootstrap, options, ring));
  std::shared_ptr<Context> context;
  RL_TRY(contextOf(given.count("device") ? Kind::Nccl : Kind::Socket, context));
  int64_t rows = static_cast<int64_t>(number("rows", 4096));
  ringlet::ring::Schedule schedule = scheduleOf(ranks, rows);
  KeyPlan plan(schedule, rank, {8, 16});
  int64_t calls = static_cast<int64_t>(number("calls", 1));
  for (int64_t call = 0; call < calls; ++call) {
    RL_TRY(ring->begin({{"artefact", word("artefact", "a1b2c3")},
                        {"rows of key", std::to_string(rows)}},
                       context));
    RL_TRY(streamKeys(*ring, plan, schedule, call, misbehave));
  }
  return ring->finish();
}

} // namespace

/// Ranks have the GPUs that RINGLET_TEST_GPU numbers in turn: "0,1".
static void takeGpu(int64_t rank) {
  const char *gpus = std::getenv("RINGLET_TEST_GPU");
  std::istringstream words(gpus ? gpus : "");
  std::vector<std::string> all;
  for (std::string gpu; std::getline(words, gpu, ',');)
    all.push_back(gpu);
  if (all.empty())
    return;
  setenv("RINGLET_TEST_GPU", all[size_t(rank) % all.size()].c_str(), 1);
  // NCCL takes two ranks on one GPU for a mistake unless they are on two hosts.
  setenv("NCCL_HOSTID", std::to_string(size_t(rank) / all.size()).c_str(), 1);
  setenv("NCCL_SOCKET_IFNAME", "lo", 0);
}

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  for (int i = 4; i < argc; ++i) {
    const char *equals = std::strchr(argv[i], '=');
    if (equals)
      given[std::string(argv[i], static_cast<size_t>(equals - argv[i]))] =
          equals + 1;
  }
  takeGpu(std::atoll(argv[1]));
  std::shared_ptr<Context> context;
  if (given.count("device") && !contextOf(Kind::Nccl, context).ok())
    return 3;
  Held before = held();
  Status status = run(std::atoll(argv[1]), std::atoll(argv[2]),
                      static_cast<uint16_t>(std::atoi(argv[3])));
  Held after = held();
  std::printf("status %d %s\nheld %d %d\n", static_cast<int>(status.code()),
              status.message().c_str(),
              static_cast<int>(after.files) - static_cast<int>(before.files),
              static_cast<int>(after.threads) -
                  static_cast<int>(before.threads));
  return 0;
}
