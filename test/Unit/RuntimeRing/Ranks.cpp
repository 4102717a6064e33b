//===- Ranks.cpp - Rings for tests ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>

namespace ringlet::rt::ring {

const char *nameOf(Kind kind) {
  const char *names[] = {"inprocess", "socket", "p2p", "copies", "nccl"};
  return names[static_cast<int>(kind)];
}

Status contextOf(Kind kind, std::shared_ptr<Context> &context) {
  static std::shared_ptr<Context> known;
  context = nullptr;
  if (kind == Kind::InProcess || kind == Kind::Socket)
    return {};
  if (!known) {
    rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
    options.threads = 1;
    if (const char *gpu = std::getenv("RINGLET_TEST_GPU")) {
      options.driver = "cuda";
      options.device = std::atoi(gpu);
    } else {
      setenv("RINGLET_NCCL_LIBRARY", RINGLET_TEST_FAKE_NCCL, 1);
    }
    RL_TRY(Context::create(options, rl_allocator{}, known));
  }
  context = known;
  return {};
}

std::vector<Status> runRanks(Kind kind, int64_t ranks,
                             const RankOptions &options,
                             const std::function<Status(Ring &ring)> &body) {
  std::vector<Status> results(ranks);
  std::shared_ptr<Hub> hub = Hub::create(ranks);
  std::promise<uint16_t> bound;
  std::shared_future<uint16_t> port = bound.get_future().share();
  if (options.absent.count(0))
    bound.set_value(1);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (options.absent.count(rank))
      continue;
    threads.emplace_back([&, rank] {
      std::unique_ptr<Ring> ring;
      RingOptions own = options.ring;
      if (kind == Kind::Copies || kind == Kind::Nccl)
        own.transport = kind == Kind::Nccl ? "nccl" : "p2p";
      if (options.communicatorOf)
        own.communicator = options.communicatorOf(rank);
      if (kind == Kind::InProcess || kind == Kind::P2p) {
        results[rank] = Ring::create(hub, rank, own, ring);
      } else {
        BootstrapOptions bootstrap;
        bootstrap.rank = rank;
        bootstrap.ranks = ranks;
        bootstrap.secret = "known to this test";
        bootstrap.seconds = options.bootstrapSeconds;
        bootstrap.root = {"127.0.0.1", rank == 0 ? uint16_t(0) : port.get()};
        results[rank] = Ring::create(bootstrap, own, ring, [&](uint16_t taken) {
          bound.set_value(taken);
        });
      }
      if (results[rank].ok())
        results[rank] = body(*ring);
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

static size_t countEntries(const char *folder) {
  size_t count = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    count += !entry.path().empty();
  return count;
}

Held held() {
  return {countEntries("/proc/self/fd"), countEntries("/proc/self/task")};
}

uint64_t mark(int64_t head, int64_t row, int64_t tensor, int64_t call) {
  return static_cast<uint64_t>(call) << 48 |
         static_cast<uint64_t>(tensor) << 40 |
         static_cast<uint64_t>(head) << 32 | static_cast<uint64_t>(row);
}

namespace {

using namespace ringlet::ring;

/// A rank's own rows of a tensor, row by row and head by head; those of tensor
/// 1 take two words, so that the two differ in size.
std::vector<uint64_t> ownRows(const Schedule &schedule, int64_t rank,
                              int64_t tensor, int64_t call) {
  const Shards &shards = schedule.sharded.keys;
  int64_t heads = schedule.sharded.attention.keyHeads, words = tensor + 1;
  std::vector<uint64_t> rows(
      static_cast<size_t>(shards.size(rank) * heads * words));
  for (const Stretch &stretch : shards.of(rank))
    for (int64_t i = 0; i < stretch.rows.size(); ++i) {
      int64_t local = stretch.local + i % stretch.rows.run +
                      i / stretch.rows.run * stretch.localStride;
      for (int64_t head = 0; head < heads; ++head)
        for (int64_t word = 0; word < words; ++word)
          rows[(local * heads + head) * words + word] =
              mark(head, stretch.rows.at(i), tensor, call);
    }
  return rows;
}

/// Every pair that is seen is there, where the layout says. `tensors`: K and V
/// of the chunk, in memory of the host.
Status checkChunk(const Chunk &chunk, const char *const *tensors,
                  int64_t call) {
  std::map<std::pair<int64_t, int64_t>, int64_t> places;
  int64_t at = 0;
  for (const Part &part : chunk.layout)
    for (const Rows &rows : part.rows)
      for (int64_t i = 0; i < rows.size(); ++i)
        for (int64_t head = part.head; head < part.head + part.heads; ++head)
          places[{head, rows.at(i)}] = at++;
  for (const Part &part : chunk.seen)
    for (int64_t head = part.head; head < part.head + part.heads; ++head)
      for (const Rows &rows : part.rows)
        for (int64_t i = 0; i < rows.size(); ++i)
          for (int64_t tensor = 0; tensor < 2; ++tensor) {
            auto found = places.find({head, rows.at(i)});
            if (found == places.end())
              return failure(RL_INTERNAL_ERROR, "head ", head, " row ",
                             rows.at(i), " is not there");
            uint64_t word;
            std::memcpy(&word,
                        tensors[tensor] + found->second * 8 * (tensor + 1),
                        sizeof word);
            if (word != mark(head, rows.at(i), tensor, call))
              return failure(RL_INTERNAL_ERROR, "head ", head, " row ",
                             rows.at(i), " of tensor ", tensor, " holds ",
                             word);
          }
  return {};
}

/// Memory of a ring's device, or of the host.
class Memory {
public:
  Memory(Ring &ring, KeyMemory &keys) : ring(ring), keys(keys) {}
  ~Memory() {
    if (data)
      keys.release(data, bytes);
  }
  Status fill(const std::vector<uint64_t> &words) {
    bytes = std::max<size_t>(8, words.size() * 8);
    RL_TRY(keys.allocate(bytes, data));
    if (words.empty())
      return {};
    if (!ring.device()) {
      std::memcpy(data, words.data(), words.size() * 8);
      return {};
    }
    return ring.device()->driver().transfer(
        data, words.data(), words.size() * 8, Transfer::ToDevice);
  }
  char *data = nullptr;

private:
  Ring &ring;
  KeyMemory &keys;
  size_t bytes = 0;
};

Status checkChunk(Ring &ring, const Chunk &chunk, int64_t call) {
  std::vector<char> copies[2];
  const char *tensors[2];
  for (int tensor = 0; tensor < 2; ++tensor) {
    tensors[tensor] = chunk.tensors[tensor];
    if (!ring.device())
      continue;
    copies[tensor].resize(size_t(chunk.pairs) * 8 * (tensor + 1));
    RL_TRY(ring.device()->driver().transfer(
        copies[tensor].data(), chunk.tensors[tensor], copies[tensor].size(),
        Transfer::FromDevice));
    tensors[tensor] = copies[tensor].data();
  }
  return checkChunk(chunk, tensors, call);
}

} // namespace

Status streamKeys(Ring &ring, const KeyPlan &plan, const Schedule &schedule,
                  int64_t call, const std::function<void(int64_t)> &atStep) {
  std::unique_ptr<KeyMemory> memory = std::make_unique<HostKeys>();
  if (ring.device())
    RL_TRY(DeviceKeys::create(*ring.device(),
                              ring.device()->driver().ownStream(), memory));
  Memory own[2] = {{ring, *memory}, {ring, *memory}};
  std::vector<KeyRows> tensors;
  for (int64_t tensor = 0; tensor < 2; ++tensor) {
    RL_TRY(own[tensor].fill(ownRows(schedule, ring.rank(), tensor, call)));
    ptrdiff_t head = 8 * (tensor + 1);
    tensors.push_back({own[tensor].data,
                       head * schedule.sharded.attention.keyHeads, head,
                       static_cast<size_t>(head)});
  }
  KeyStream stream(plan, ring, *memory, tensors);
  for (int64_t step = 0; step < plan.steps(); ++step) {
    if (atStep)
      atStep(step);
    std::optional<Chunk> chunk;
    RL_TRY(stream.step(step, chunk));
    if (chunk)
      RL_TRY(checkChunk(ring, *chunk, call));
  }
  return stream.finish();
}

} // namespace ringlet::rt::ring
