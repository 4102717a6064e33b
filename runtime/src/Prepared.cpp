//===- Prepared.cpp - A call but for its addresses ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prepared.h"

#include <algorithm>
#include <utility>

using namespace ringlet::rt;

Batch *BatchCache::find(Driver &driver, const Queue &queue,
                        const std::vector<LaunchCall> &launches, Use &use) {
  if (!queue.number)
    return nullptr;
  std::optional<QueueBatch> evicted;
  use = queues.use(*queue.number, evicted);
  if (!use || !std::exchange(use->hasRun, true))
    return nullptr;
  if (!std::exchange(use->isMade, true))
    use->batch = driver.makeBatch(launches.data(), launches.size());
  return use->batch.get();
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
