//===- Ranks.cpp - Rings for tests ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <cstring>
#include <filesystem>
#include <future>

namespace ringlet::rt::ring {

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
      if (kind == Kind::InProcess) {
        results[rank] = Ring::create(hub, rank, options.ring, ring);
      } else {
        BootstrapOptions bootstrap;
        bootstrap.rank = rank;
        bootstrap.ranks = ranks;
        bootstrap.secret = "known to this test";
        bootstrap.seconds = options.bootstrapSeconds;
        bootstrap.root = {"127.0.0.1", rank == 0 ? uint16_t(0) : port.get()};
        results[rank] =
            Ring::create(bootstrap, options.ring, ring,
                         [&](uint16_t taken) { bound.set_value(taken); });
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

/// Every pair that is seen is there, where the layout says.
Status checkChunk(const Chunk &chunk, int64_t call) {
  std::map<std::pair<int64_t, int64_t>, int64_t> places;
  int64_t at = 0;
  for (const Part &part : chunk.layout)
    for (int64_t head = part.head; head < part.head + part.heads; ++head)
      for (const Rows &rows : part.rows)
        for (int64_t i = 0; i < rows.size(); ++i)
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
            std::memcpy(
                &word, chunk.tensors[tensor] + found->second * 8 * (tensor + 1),
                sizeof word);
            if (word != mark(head, rows.at(i), tensor, call))
              return failure(RL_INTERNAL_ERROR, "head ", head, " row ",
                             rows.at(i), " of tensor ", tensor, " holds ",
                             word);
          }
  return {};
}

} // namespace

Status streamKeys(Ring &ring, const KeyPlan &plan, const Schedule &schedule,
                  int64_t call, const std::function<void(int64_t)> &atStep) {
  std::vector<uint64_t> own[2];
  std::vector<KeyRows> tensors;
  for (int64_t tensor = 0; tensor < 2; ++tensor) {
    own[tensor] = ownRows(schedule, ring.rank(), tensor, call);
    ptrdiff_t head = 8 * (tensor + 1);
    tensors.push_back({reinterpret_cast<const char *>(own[tensor].data()),
                       head * schedule.sharded.attention.keyHeads, head,
                       static_cast<size_t>(head)});
  }
  KeyStream stream(plan, ring, tensors);
  for (int64_t step = 0; step < plan.steps(); ++step) {
    if (atStep)
      atStep(step);
    std::optional<Chunk> chunk;
    RL_TRY(stream.step(step, chunk));
    if (chunk)
      RL_TRY(checkChunk(*chunk, call));
  }
  return stream.finish();
}

} // namespace ringlet::rt::ring
