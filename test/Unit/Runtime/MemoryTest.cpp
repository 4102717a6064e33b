//===- MemoryTest.cpp - Workspaces, order tables and their account ---*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"

#include "runtime/src/IndexTables.h"
#include "runtime/src/Memory.h"
#include "runtime/src/cpu/CpuDriver.h"

#include "ringlet/abi/Limits.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <thread>

namespace ringlet::test {

using rt::Account;
using rt::Status;

TEST(AccountTest, KeepsTheLimit) {
  Account account(100);
  EXPECT_TRUE(account.take(60));
  EXPECT_FALSE(account.take(41));
  EXPECT_FALSE(account.take(UINT64_MAX));
  EXPECT_TRUE(account.take(40));
  account.give(70);
  EXPECT_EQ(account.used(), 30u);
  EXPECT_EQ(account.peak(), 100u);
}

namespace {

/// Memory only, with a count of the blocks that are out.
class MemoryDriver : public rt::Driver {
public:
  int blocks = 0;
  uint64_t available = UINT64_MAX;

  const char *name() const override { return "memory"; }
  std::string description() const override { return "memory"; }
  uint32_t threads() const override { return 1; }
  uint64_t alignment() const override { return 64; }
  uint64_t freeBytes() const override { return available; }
  uint64_t scratchBytes(uint64_t perThread) const override { return perThread; }
  Status allocate(uint64_t bytes, char *&block) override {
    ++blocks;
    block = static_cast<char *>(std::malloc(bytes));
    return {};
  }
  void release(char *block, uint64_t) override {
    --blocks;
    std::free(block);
  }
  int rank(const abi::CodeObject &, std::string &) const override { return -1; }
  Status load(const abi::CodeObject &, const rt::Logger &,
              std::shared_ptr<rt::Module> &) override {
    return Status(RL_UNSUPPORTED, "no code");
  }
  Status launch(const rt::LaunchCall &) override { return {}; }
  Status copy(const rt::CopyPair &, rt::Stream) override { return {}; }
};

std::shared_ptr<const layout::Order> makeOrder(const std::string &curve,
                                               std::vector<int64_t> grid = {},
                                               int64_t rate = 0) {
  layout::OrderSpec spec;
  spec.curve = curve;
  spec.grid = std::move(grid);
  spec.rate = rate;
  std::string error;
  auto order = layout::makeOrder(spec, &error);
  EXPECT_TRUE(order) << error;
  return order;
}

} // namespace

TEST(WorkspacePoolTest, ReusesBlocks) {
  MemoryDriver driver;
  Account account(0);
  bool overLimit;
  {
    rt::MemorySource source(driver, RL_ALLOCATOR_INIT);
    rt::WorkspacePool pool(driver, source, account);
    char *first;
    {
      rt::Workspace a, b;
      ASSERT_TRUE(pool.acquire(1000, nullptr, a, overLimit).ok());
      ASSERT_TRUE(pool.acquire(2000, nullptr, b, overLimit).ok());
      first = a.data();
      EXPECT_EQ(driver.blocks, 2);
      EXPECT_EQ(pool.held(), 3000u);
    }
    rt::Workspace small, large;
    ASSERT_TRUE(pool.acquire(500, nullptr, small, overLimit).ok());
    EXPECT_EQ(small.data(), first); // The least that suffices.
    ASSERT_TRUE(pool.acquire(4000, nullptr, large, overLimit).ok());
    EXPECT_EQ(driver.blocks, 2); // The idle one made room.
    EXPECT_EQ(pool.held(), 5000u);
  }
  EXPECT_EQ(driver.blocks, 0);
  EXPECT_EQ(account.used(), 0u);
}

TEST(WorkspacePoolTest, AsksTheSystemFirst) {
  MemoryDriver driver;
  driver.available = 999;
  Account account(0);
  rt::MemorySource source(driver, RL_ALLOCATOR_INIT);
  rt::WorkspacePool pool(driver, source, account);
  rt::Workspace workspace;
  bool overLimit;
  Status status = pool.acquire(1000, nullptr, workspace, overLimit);
  EXPECT_EQ(status.code(), RL_OUT_OF_MEMORY);
  EXPECT_EQ(status.message(), "the system has 999 bytes free");
  EXPECT_EQ(account.used(), 0u);
  EXPECT_EQ(driver.blocks, 0);
}

// One thread at a time has the value of a queue, as the last one left it.
TEST(PerQueueTest, OneUseAtATime) {
  rt::PerQueue<int> queues;
  std::optional<int> evicted;
  {
    rt::PerQueue<int>::Use use = queues.use(7, evicted);
    ASSERT_TRUE(use);
    *use = 5;
    EXPECT_FALSE(queues.use(7, evicted));
    EXPECT_TRUE(queues.use(8, evicted));
  }
  EXPECT_EQ(*queues.use(7, evicted), 5);
  EXPECT_EQ(queues.takeIdle(), 5);
  EXPECT_EQ(queues.takeIdle(), 0);
  EXPECT_EQ(queues.takeIdle(), std::nullopt);
  EXPECT_EQ(evicted, std::nullopt);
}

// Of the queues that nobody has used for long, the one that has waited longest
// and is not in use gives way; there are never more than so many.
TEST(PerQueueTest, OldQueuesGiveWay) {
  constexpr uint64_t most = rt::PerQueue<int>::mostQueues;
  rt::PerQueue<int> queues;
  std::optional<int> evicted;
  for (uint64_t number = 0; number < most; ++number)
    *queues.use(number, evicted) = int(number);
  EXPECT_FALSE(queues.use(most, evicted));
  rt::PerQueue<int>::Use first = queues.use(0, evicted);
  for (uint64_t i = 0; i < rt::PerQueue<int>::mostIdle; ++i)
    EXPECT_TRUE(queues.use(5 + i % (most - 5), evicted));
  for (int number : {1, 2, 3, 4}) {
    EXPECT_EQ(evicted, std::nullopt);
    EXPECT_TRUE(queues.use(100 + uint64_t(number), evicted));
    EXPECT_EQ(evicted, number);
    evicted.reset();
  }
  EXPECT_FALSE(queues.use(200, evicted));
  EXPECT_EQ(*first, 0);
  for (uint64_t count = 1; count < most; ++count)
    EXPECT_TRUE(queues.takeIdle());
  EXPECT_FALSE(queues.takeIdle());
}

TEST(IndexTablesTest, AreBijectiveAndInverse) {
  MemoryDriver driver;
  Account account(0);
  rt::MemorySource source(driver, RL_ALLOCATOR_INIT);
  rt::IndexTableCache cache(driver, source, account);
  bool overLimit;
  for (auto order : {makeOrder("hilbert", {5, 7}), makeOrder("snake", {5, 7}),
                     makeOrder("residue", {}, 4)}) {
    std::shared_ptr<const rt::IndexTable> forward, inverse;
    ASSERT_TRUE(
        cache.get(layout::OrderTable{order, 35, false}, forward, overLimit)
            .ok());
    ASSERT_TRUE(
        cache.get(layout::OrderTable{order, 35, true}, inverse, overLimit)
            .ok());
    for (int64_t slot = 0; slot < 35; ++slot) {
      EXPECT_EQ(forward->entries[size_t(slot)], order->token(slot, 35));
      EXPECT_EQ(inverse->entries[size_t(forward->entries[size_t(slot)])], slot);
    }
  }
  EXPECT_EQ(cache.built(), 6u);
}

/// Writes minus the index, as a kernel of the CPU.
void writeMarks(const int64_t *words, int64_t begin, int64_t end, void *) {
  auto *entries = reinterpret_cast<int64_t *>(words[0]);
  int64_t last = std::min(end * abi::kTableItem, words[1]);
  for (int64_t i = begin * abi::kTableItem; i < last; ++i)
    entries[i] = -i;
}

// A kernel writes the table of whole periods, nobody else does; it knows
// nothing of others.
TEST(IndexTablesTest, KernelsWriteWholePeriods) {
  std::unique_ptr<rt::Driver> driver;
  rl_context_options options = {};
  options.threads = 2;
  ASSERT_TRUE(rt::makeCpuDriver(options, driver).ok());
  Account account(0);
  rt::MemorySource source(*driver, RL_ALLOCATOR_INIT);
  rt::IndexTableCache cache(*driver, source, account);
  auto *fill = reinterpret_cast<void *>(writeMarks);
  std::string error;
  auto order = layout::makeOrder({"hilbert", 0, {16, 32}, 512, {}}, &error);
  ASSERT_TRUE(order) << error;
  bool overLimit;
  std::shared_ptr<const rt::IndexTable> whole, cut;
  ASSERT_TRUE(cache
                  .get(layout::OrderTable{order, 1536, false}, whole, overLimit,
                       /*mayFree=*/true, fill)
                  .ok());
  ASSERT_EQ(whole->entries.size(), 1536u);
  for (int64_t i = 0; i < 1536; ++i)
    ASSERT_EQ(whole->entries[size_t(i)], -i);
  ASSERT_TRUE(cache
                  .get(layout::OrderTable{order, 1500, false}, cut, overLimit,
                       /*mayFree=*/true, fill)
                  .ok());
  for (int64_t i = 0; i < 1500; ++i)
    ASSERT_EQ(cut->entries[size_t(i)], order->token(i, 1500));
}

// Entries agree with the arithmetic of the orders, whatever part of the
// ordinals a sequence has.
TEST(IndexTablesTest, HoldOrdinals) {
  MemoryDriver driver;
  Account account(0);
  rt::MemorySource source(driver, RL_ALLOCATOR_INIT);
  rt::IndexTableCache cache(driver, source, account);
  bool overLimit;
  auto pattern = makeOrder("hilbert", {5, 7}),
       memory = makeOrder("snake", {4, 5});
  std::shared_ptr<const rt::IndexTable> positions, rows, ordered;
  ASSERT_TRUE(cache
                  .get(layout::OrdinalTable{pattern, -6, std::nullopt},
                       positions, overLimit)
                  .ok());
  ASSERT_EQ(positions->entries.size(), 41u);
  for (int64_t position = -6; position < 35; ++position)
    EXPECT_EQ(positions->entries[size_t(pattern->ordinal(position) + 6)],
              position);
  layout::OrdinalTable::Sequence sequence{20, -6, nullptr};
  ASSERT_TRUE(
      cache.get(layout::OrdinalTable{pattern, -6, sequence}, rows, overLimit)
          .ok());
  sequence.memory = memory;
  ASSERT_TRUE(
      cache.get(layout::OrdinalTable{pattern, -6, sequence}, ordered, overLimit)
          .ok());
  for (size_t entry = 0; entry < 41; ++entry) {
    int64_t token = positions->entries[entry] + 6;
    EXPECT_EQ(rows->entries[entry], token < 20 ? token : -1);
    EXPECT_EQ(ordered->entries[entry],
              token < 20 ? memory->slot(token, 20) : -1);
  }
  EXPECT_EQ(cache.built(), 3u);
}

// A tile index is what lib/Layout makes of the same key; keys that differ in a
// size or a condition are different tables.
TEST(IndexTablesTest, HoldTileIndices) {
  MemoryDriver driver;
  Account account(0);
  rt::MemorySource source(driver, RL_ALLOCATOR_INIT);
  rt::IndexTableCache cache(driver, source, account);
  bool overLimit;
  layout::TileTable key;
  key.pattern.order = makeOrder("hilbert", {8, 8});
  key.pattern.grid = {8, 8};
  key.pattern.reach = {1, 2};
  key.pattern.queryRows = key.pattern.keyRows = 8;
  key.sizes = {64, 0, 60, 8, 1, 0};
  layout::TileIndex index(key.pattern, key.sizes);
  key.measure();
  EXPECT_EQ(layout::sizeOf(key), index.tableLength());
  std::shared_ptr<const rt::IndexTable> table, again;
  ASSERT_TRUE(cache.get(key, table, overLimit).ok());
  EXPECT_EQ(table->entries, *index.table());
  // Built once from what was made to measure it, and then anew.
  EXPECT_EQ(layout::build(key), table->entries);
  layout::TileTable copy = key;
  copy.pattern.order = makeOrder("hilbert", {8, 8});
  ASSERT_TRUE(cache.get(copy, again, overLimit).ok());
  EXPECT_EQ(table, again);
  copy.pattern.causal = true;
  copy.measure();
  ASSERT_TRUE(cache.get(copy, again, overLimit).ok());
  key.sizes.keyLength = 61;
  key.measure();
  ASSERT_TRUE(cache.get(key, again, overLimit).ok());
  EXPECT_EQ(cache.built(), 3u);
}

// Equal by content, not by address; different in any part of the key is
// another table.
TEST(IndexTablesTest, KeyIsWhole) {
  MemoryDriver driver;
  Account account(0);
  rt::MemorySource source(driver, RL_ALLOCATOR_INIT);
  rt::IndexTableCache cache(driver, source, account);
  bool overLimit;
  std::shared_ptr<const rt::IndexTable> tables[5];
  ASSERT_TRUE(
      cache
          .get(layout::OrderTable{makeOrder("hilbert", {4, 6}), 24, false},
               tables[0], overLimit)
          .ok());
  ASSERT_TRUE(
      cache
          .get(layout::OrderTable{makeOrder("hilbert", {4, 6}), 24, false},
               tables[1], overLimit)
          .ok());
  ASSERT_TRUE(
      cache
          .get(layout::OrderTable{makeOrder("hilbert", {6, 4}), 24, false},
               tables[2], overLimit)
          .ok());
  ASSERT_TRUE(
      cache
          .get(layout::OrderTable{makeOrder("hilbert", {4, 6}), 24, true},
               tables[3], overLimit)
          .ok());
  ASSERT_TRUE(
      cache
          .get(layout::OrderTable{makeOrder("snake", {4, 6}), 24, false},
               tables[4], overLimit)
          .ok());
  EXPECT_EQ(tables[0], tables[1]);
  EXPECT_EQ(cache.built(), 4u);
  EXPECT_NE(tables[0]->entries, tables[2]->entries);
}

TEST(IndexTablesTest, OneBuildForAllThreads) {
  MemoryDriver driver;
  Account account(0);
  rt::MemorySource source(driver, RL_ALLOCATOR_INIT);
  rt::IndexTableCache cache(driver, source, account);
  auto order = makeOrder("hilbert", {300, 300});
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<const rt::IndexTable>> tables(4);
  for (auto &table : tables)
    threads.emplace_back([&] {
      bool overLimit;
      EXPECT_TRUE(
          cache.get(layout::OrderTable{order, 90000, false}, table, overLimit)
              .ok());
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(cache.built(), 1u);
  for (auto &table : tables)
    EXPECT_EQ(table, tables[0]);
}

TEST(IndexTablesTest, CountAndTrim) {
  MemoryDriver driver;
  Account account(2000);
  rt::MemorySource source(driver, RL_ALLOCATOR_INIT);
  rt::IndexTableCache cache(driver, source, account);
  auto order = makeOrder("residue", {}, 4);
  std::shared_ptr<const rt::IndexTable> table, other;
  bool overLimit;
  ASSERT_TRUE(
      cache.get(layout::OrderTable{order, 200, false}, table, overLimit).ok());
  EXPECT_EQ(account.used(), 1600u);
  EXPECT_FALSE(
      cache.get(layout::OrderTable{order, 100, false}, other, overLimit).ok());
  EXPECT_TRUE(overLimit);
  cache.trim(); // In use: it stays.
  EXPECT_EQ(cache.held(), 1600u);
  table.reset();
  cache.trim();
  EXPECT_EQ(cache.held(), 0u);
  EXPECT_EQ(account.used(), 0u);
  EXPECT_TRUE(
      cache.get(layout::OrderTable{order, 100, false}, other, overLimit).ok());

  // Unused tables do not pile up.
  for (int64_t length = 0; length < 200; ++length)
    ASSERT_TRUE(
        cache
            .get(layout::OrderTable{order, length % 2, false}, table, overLimit)
            .ok());
  for (int64_t length = 1; length < 200; ++length) {
    auto chunked = makeOrder("residue", {}, length);
    ASSERT_TRUE(
        cache.get(layout::OrderTable{chunked, 1, false}, table, overLimit)
            .ok());
  }
  EXPECT_LE(cache.held(), (rt::IndexTableCache::idleTables + 2) * 8 + 800);
}

} // namespace ringlet::test
