//===- Memory.cpp - What a context has allocated ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include <algorithm>
#include <numeric>

using namespace ringlet::rt;

//===----------------------------------------------------------------------===//
// Account
//===----------------------------------------------------------------------===//

bool Account::take(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (bytes > maximum() - current)
    return false;
  current += bytes;
  highest = std::max(highest, current);
  return true;
}

void Account::give(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  current -= bytes;
}

uint64_t Account::used() const {
  std::lock_guard<std::mutex> lock(mutex);
  return current;
}

uint64_t Account::peak() const {
  std::lock_guard<std::mutex> lock(mutex);
  return highest;
}

//===----------------------------------------------------------------------===//
// Workspaces
//===----------------------------------------------------------------------===//

Workspace::~Workspace() {
  if (pool)
    pool->release(*this);
}

bool WorkspacePool::acquireKept(Workspace &workspace) {
  uint64_t queue = 0;
  if (!driver.identify(workspace.stream, queue))
    return false;
  Kept *entry;
  bool isNew = false;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = kept.find(queue);
    isNew = found == kept.end();
    // Two threads may queue at once; then the second one does without.
    if (isNew ? kept.size() == mostKept : found->second.isBusy)
      return false;
    entry = isNew ? &kept[queue] : &found->second;
    entry->isBusy = true;
  }
  // A busy entry is this thread's alone, and stays where it is.
  if (isNew) {
    bool counted = account.take(keptBytes);
    if (!counted || !driver.allocate(keptBytes, entry->block).ok()) {
      if (counted)
        account.give(keptBytes);
      std::lock_guard<std::mutex> lock(mutex);
      kept.erase(queue);
      return false;
    }
    std::lock_guard<std::mutex> lock(mutex);
    total += keptBytes;
  }
  workspace.pool = this;
  workspace.block = entry->block;
  workspace.bytes = keptBytes;
  workspace.queue = queue;
  workspace.isKept = true;
  return true;
}

Status WorkspacePool::acquireOrdered(uint64_t bytes, Workspace &workspace,
                                     bool &overLimit) {
  if (bytes <= keptBytes && acquireKept(workspace))
    return {};
  if (!account.take(bytes)) {
    overLimit = true;
    return failure(RL_OUT_OF_MEMORY, "over the memory limit");
  }
  Status status = driver.allocateOn(workspace.stream, bytes, workspace.block);
  if (!status.ok()) {
    account.give(bytes);
    return status;
  }
  workspace.pool = this;
  workspace.bytes = bytes;
  return {};
}

Status WorkspacePool::acquire(uint64_t bytes, Stream stream,
                              Workspace &workspace, bool &overLimit) {
  overLimit = false;
  if (bytes == 0)
    return {};
  workspace.stream = stream;
  if (driver.ordersMemory())
    return acquireOrdered(bytes, workspace, overLimit);
  Idle small = {nullptr, 0};
  {
    std::lock_guard<std::mutex> lock(mutex);
    // The least that suffices; else the least of all gives way to a new one,
    // so that there are never more blocks than runs at once.
    auto less = [](const Idle &a, const Idle &b) { return a.bytes < b.bytes; };
    auto best = idle.end();
    for (auto it = idle.begin(); it != idle.end(); ++it)
      if (it->bytes >= bytes && (best == idle.end() || less(*it, *best)))
        best = it;
    if (best != idle.end()) {
      workspace.pool = this;
      workspace.block = best->block;
      workspace.bytes = best->bytes;
      idle.erase(best);
      return {};
    }
    if (!idle.empty()) {
      auto least = std::min_element(idle.begin(), idle.end(), less);
      small = *least;
      idle.erase(least);
    }
    // So that release() cannot fail.
    idle.reserve(idle.size() + 64);
  }
  if (small.block)
    free(small);
  if (!account.take(bytes)) {
    overLimit = true;
    return failure(RL_OUT_OF_MEMORY, "over the memory limit");
  }
  uint64_t available = driver.freeBytes();
  Status status = bytes <= available
                      ? driver.allocate(bytes, workspace.block)
                      : failure(RL_OUT_OF_MEMORY, "the system has ", available,
                                " bytes free");
  if (!status.ok()) {
    account.give(bytes);
    return status;
  }
  workspace.pool = this;
  workspace.bytes = bytes;
  std::lock_guard<std::mutex> lock(mutex);
  total += bytes;
  return {};
}

void WorkspacePool::release(const Workspace &workspace) {
  if (workspace.isKept) {
    std::lock_guard<std::mutex> lock(mutex);
    kept.find(workspace.queue)->second.isBusy = false;
    return;
  }
  if (driver.ordersMemory()) {
    driver.releaseOn(workspace.stream, workspace.block, workspace.bytes);
    account.give(workspace.bytes);
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (idle.size() < idle.capacity()) {
      idle.push_back({workspace.block, workspace.bytes});
      return;
    }
  }
  free({workspace.block, workspace.bytes});
}

void WorkspacePool::free(Idle block) {
  driver.release(block.block, block.bytes);
  account.give(block.bytes);
  std::lock_guard<std::mutex> lock(mutex);
  total -= block.bytes;
}

void WorkspacePool::trim() {
  while (true) {
    Idle block;
    {
      std::lock_guard<std::mutex> lock(mutex);
      auto unused = std::find_if(kept.begin(), kept.end(), [](const auto &it) {
        return !it.second.isBusy;
      });
      if (!idle.empty()) {
        block = idle.back();
        idle.pop_back();
      } else if (unused != kept.end()) {
        block = {unused->second.block, keptBytes};
        kept.erase(unused);
      } else {
        break;
      }
    }
    free(block);
  }
  driver.trim();
}

uint64_t WorkspacePool::held() const {
  std::lock_guard<std::mutex> lock(mutex);
  return total + driver.orderedBytes();
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

bool ringlet::rt::roundUp(uint64_t bytes, uint64_t alignment,
                          uint64_t &rounded) {
  uint64_t rest = bytes % alignment;
  return !__builtin_add_overflow(bytes, rest ? alignment - rest : 0, &rounded);
}

bool ringlet::rt::layOut(std::vector<Lifetime> &lifetimes, uint64_t alignment,
                         uint64_t &total) {
  // Greedy by size: the large ones first, each at the lowest offset that is
  // free while it lives.
  std::vector<uint32_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return lifetimes[a].bytes > lifetimes[b].bytes;
  });
  std::vector<uint32_t> placed; // By offset.
  total = 0;
  for (uint32_t index : order) {
    Lifetime &mine = lifetimes[index];
    uint64_t size, end;
    if (!roundUp(mine.bytes, alignment, size))
      return false;
    mine.offset = 0;
    for (uint32_t other : placed) {
      const Lifetime &theirs = lifetimes[other];
      if (theirs.last < mine.first || mine.last < theirs.first)
        continue;
      if (__builtin_add_overflow(mine.offset, size, &end))
        return false;
      if (end <= theirs.offset)
        break;
      uint64_t next;
      if (!roundUp(theirs.offset + theirs.bytes, alignment, next))
        return false;
      mine.offset = std::max(mine.offset, next);
    }
    if (__builtin_add_overflow(mine.offset, size, &end))
      return false;
    total = std::max(total, end);
    auto at = std::upper_bound(
        placed.begin(), placed.end(), index, [&](uint32_t a, uint32_t b) {
          return lifetimes[a].offset < lifetimes[b].offset;
        });
    placed.insert(at, index);
  }
  return true;
}
