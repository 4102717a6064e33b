//===- Prepared.cpp - A call but for its addresses ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prepared.h"

#include <algorithm>

using namespace ringlet::rt;

bool BatchCache::makeRoom() {
  if (items.size() < mostQueues)
    return true;
  auto oldest = std::min_element(items.begin(), items.end(),
                                 [](const auto &a, const auto &b) {
                                   return a.second.lastRun < b.second.lastRun;
                                 });
  if (runs - oldest->second.lastRun < mostIdle ||
      !oldest->second.busy.try_lock())
    return false;
  oldest->second.busy.unlock();
  items.erase(oldest);
  return true;
}

Batch *BatchCache::find(Driver &driver, const Queue &queue,
                        const std::vector<LaunchCall> &launches,
                        std::unique_lock<std::mutex> &lock) {
  if (!queue.number)
    return nullptr;
  Item *item;
  {
    std::lock_guard<std::mutex> guard(mutex);
    ++runs;
    auto found = items.find(*queue.number);
    if (found == items.end()) {
      if (makeRoom())
        items[*queue.number].lastRun = runs;
      return nullptr;
    }
    item = &found->second;
    item->lastRun = runs;
    lock = std::unique_lock<std::mutex>(item->busy, std::try_to_lock);
  }
  if (!lock)
    return nullptr;
  if (item->isNew)
    item->batch = driver.makeBatch(launches.data(), launches.size());
  item->isNew = false;
  return item->batch.get();
}

std::shared_ptr<const Prepared>
PreparedCache::find(const std::vector<int64_t> &key) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = std::find_if(items.begin(), items.end(),
                            [&](const Item &item) { return item.key == key; });
  if (found == items.end())
    return nullptr;
  std::rotate(items.begin(), found, found + 1);
  return items.front().prepared;
}

void PreparedCache::insert(std::vector<int64_t> key,
                           std::shared_ptr<const Prepared> prepared) {
  Item last; // Freed after the lock.
  std::lock_guard<std::mutex> lock(mutex);
  // Another thread may have been faster: two of the same do no harm.
  if (items.size() == most) {
    last = std::move(items.back());
    items.pop_back();
  }
  items.insert(items.begin(), Item{std::move(key), std::move(prepared)});
}
