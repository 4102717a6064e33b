//===- OrderTables.cpp - Order tables, built once ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrderTables.h"

#include <new>

using namespace ringlet;
using namespace ringlet::rt;

static std::vector<int64_t> toVector(const flatbuffers::Vector<int64_t> *list) {
  return list ? std::vector<int64_t>(list->begin(), list->end())
              : std::vector<int64_t>();
}

Status rt::makeOrder(const abi::Order &order,
                     std::shared_ptr<const layout::Order> &made) {
  layout::OrderSpec spec;
  spec.curve = order.curve()->str();
  spec.rate = order.rate();
  spec.grid = toVector(order.grid());
  spec.chunk = order.chunk();
  spec.table = toVector(order.table());
  std::string error;
  made = layout::makeOrder(spec, &error);
  if (made)
    return {};
  return Status(RL_BAD_ARTIFACT, error);
}

OrderTableCache::~OrderTableCache() {
  for (const std::shared_ptr<Entry> &entry : entries)
    account.give(entry->bytes);
}

/// Writes the table out; the caller has taken its bytes from the account.
static Status fill(const OrderTableKey &key, OrderTable &table) try {
  std::string error;
  std::vector<int64_t> tokens = key.order->permutation(key.length, &error);
  if (!error.empty())
    return Status(RL_INVALID_ARGUMENT, error);
  if (!key.inverse) {
    table.entries = std::move(tokens);
    return {};
  }
  table.entries.resize(tokens.size());
  for (size_t slot = 0; slot < tokens.size(); ++slot)
    table.entries[size_t(tokens[slot])] = int64_t(slot);
  return {};
} catch (const std::bad_alloc &) {
  return failure(RL_OUT_OF_MEMORY, "the system refuses ", key.bytes(),
                 " bytes");
}

Status OrderTableCache::build(Entry &entry, bool &overLimit) {
  std::lock_guard<std::mutex> lock(entry.building);
  if (entry.ready)
    return {};
  uint64_t bytes = entry.key.bytes();
  if (!account.take(bytes)) {
    overLimit = true;
    return failure(RL_OUT_OF_MEMORY, "over the memory limit");
  }
  uint64_t available = driver.freeBytes();
  Status status = bytes <= available
                      ? fill(entry.key, entry.table)
                      : failure(RL_OUT_OF_MEMORY, "the system has ", available,
                                " bytes free");
  OrderTable &table = entry.table;
  if (status.ok())
    status = table.upload.make(driver, table.entries.data(), bytes);
  if (!driver.usesHostMemory() || !status.ok())
    std::vector<int64_t>().swap(table.entries);
  if (!status.ok()) {
    account.give(bytes);
    return status;
  }
  entry.ready = true;
  std::lock_guard<std::mutex> totals(mutex);
  entry.bytes = bytes;
  total += bytes;
  ++count;
  return {};
}

Status OrderTableCache::get(const OrderTableKey &key,
                            std::shared_ptr<const OrderTable> &table,
                            bool &overLimit, bool mayFree) {
  overLimit = false;
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = entries.begin();
    while (found != entries.end() && !((*found)->key == key))
      ++found;
    if (found == entries.end()) {
      entries.push_front(std::make_shared<Entry>());
      entries.front()->key = key;
      found = entries.begin();
    }
    entries.splice(entries.begin(), entries, found);
    entry = entries.front();
  }
  RL_TRY(build(*entry, overLimit));
  table = std::shared_ptr<const OrderTable>(entry, &entry->table);
  entry.reset();
  if (mayFree)
    evict(idleBytes, idleTables);
  return {};
}

void OrderTableCache::evict(uint64_t maxBytes, size_t maxTables) {
  std::list<std::shared_ptr<Entry>> dead; // Freed after the lock.
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t bytes = 0;
  size_t tables = 0;
  for (auto it = entries.begin(); it != entries.end();) {
    auto next = std::next(it);
    // References are only taken under the lock: an unused entry stays unused.
    if (it->use_count() == 1) {
      bytes += (*it)->bytes;
      if (bytes > maxBytes || ++tables > maxTables) {
        bytes -= (*it)->bytes;
        account.give((*it)->bytes);
        total -= (*it)->bytes;
        dead.splice(dead.end(), entries, it);
      }
    }
    it = next;
  }
}

uint64_t OrderTableCache::held() const {
  std::lock_guard<std::mutex> lock(mutex);
  return total;
}

uint64_t OrderTableCache::built() const {
  std::lock_guard<std::mutex> lock(mutex);
  return count;
}
