//===- ThreadPoolTest.cpp - Threads over the items of a launch ---*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/cpu/ThreadPool.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

using namespace ringlet;
using rt::cpu::ThreadPool;

namespace {

struct Items {
  explicit Items(int64_t count, uint32_t threads)
      : visits(size_t(count)), busy(threads) {}
  std::vector<std::atomic<int>> visits;
  std::vector<std::atomic<int>> busy; // How many use a slot right now.
  std::atomic<bool> shared{false};

  static void body(void *context, int64_t begin, int64_t end, uint32_t slot) {
    auto &items = *static_cast<Items *>(context);
    if (items.busy[slot].fetch_add(1) != 0)
      items.shared = true;
    for (int64_t i = begin; i < end; ++i)
      items.visits[size_t(i)].fetch_add(1);
    items.busy[slot].fetch_sub(1);
  }
};

} // namespace

TEST(ThreadPoolTest, EveryItemOnce) {
  for (uint32_t threads : {1u, 2u, 3u, 8u}) {
    std::unique_ptr<ThreadPool> pool;
    ASSERT_TRUE(ThreadPool::create(threads, pool).ok());
    EXPECT_EQ(pool->size(), threads);
    for (int64_t total : {0, 1, 2, 3, 7, 64, 129, 1000, 4097})
      for (int repeat = 0; repeat < 20; ++repeat) {
        Items items(total, threads);
        pool->run(total, Items::body, &items);
        for (const auto &visits : items.visits)
          ASSERT_EQ(visits, 1) << total << " items, " << threads << " threads";
        EXPECT_FALSE(items.shared);
      }
  }
}

TEST(ThreadPoolTest, LaunchesOfManyThreadsTakeTurns) {
  std::unique_ptr<ThreadPool> pool;
  ASSERT_TRUE(ThreadPool::create(3, pool).ok());
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 200; ++repeat) {
        Items items(37, 3);
        pool->run(37, Items::body, &items);
        for (const auto &visits : items.visits)
          ASSERT_EQ(visits, 1);
        ASSERT_FALSE(items.shared);
      }
    });
  for (std::thread &caller : callers)
    caller.join();
}

// All threads get work when there is enough of it.
TEST(ThreadPoolTest, ThreadsTakePart) {
  std::unique_ptr<ThreadPool> pool;
  ASSERT_TRUE(ThreadPool::create(2, pool).ok());
  // Each of two items waits for the other: they run at once or never.
  std::atomic<int> arrived{0};
  pool->run(
      2,
      [](void *context, int64_t, int64_t, uint32_t) {
        auto &count = *static_cast<std::atomic<int> *>(context);
        count.fetch_add(1);
        while (count < 2)
          std::this_thread::yield();
      },
      &arrived);
  EXPECT_EQ(arrived, 2);
}

// Chunks get shorter down to single items, so that threads end together.
TEST(ThreadPoolTest, LastChunksAreShort) {
  constexpr int64_t total = 1000;
  std::unique_ptr<ThreadPool> pool;
  ASSERT_TRUE(ThreadPool::create(2, pool).ok());
  std::vector<int64_t> lengths(total);
  pool->run(
      total,
      [](void *context, int64_t begin, int64_t end, uint32_t) {
        static_cast<int64_t *>(context)[begin] = end - begin;
      },
      lengths.data());
  EXPECT_GT(lengths.front(), 16);
  EXPECT_EQ(lengths.back(), 1);
  int64_t last = total;
  for (int64_t begin = 0; begin < total; begin += last) {
    ASSERT_GT(lengths[begin], 0) << "of the chunk at " << begin;
    EXPECT_LE(lengths[begin], last) << "of the chunk at " << begin;
    last = lengths[begin];
  }
}
