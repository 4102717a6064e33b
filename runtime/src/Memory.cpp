//===- Memory.cpp - What a context has allocated ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Memory.h"

#include <algorithm>
#include <numeric>

using namespace ringlet;
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

Status WorkspacePool::setCounter(Workspace &workspace, char *counter) const {
  workspace.word = counter;
  if (workspace.kept && workspace.kept->isCounting)
    return {};
  RL_TRY(driver.fill(reinterpret_cast<float *>(counter), abi::kQueues, 0.0f,
                     workspace.queue.stream));
  if (workspace.kept)
    workspace.kept->isCounting = true;
  return {};
}

/// What a kept block takes, with its counter.
static constexpr uint64_t allOfKept =
    WorkspacePool::keptBytes + WorkspacePool::counterBytes;

bool WorkspacePool::allocateKept(KeptBlock &kept) {
  if (!account.take(allOfKept))
    return false;
  if (!source.allocate(allOfKept, kept.block).ok()) {
    account.give(allOfKept);
    return false;
  }
  count(allOfKept);
  return true;
}

void WorkspacePool::freeKept(const KeptBlock &kept) {
  if (kept.block)
    free({kept.block, allOfKept});
}

bool WorkspacePool::acquireKept(Workspace &workspace) {
  if (!workspace.queue.number || source.isForeign())
    return false;
  // Two threads may queue at once; then the second one does without.
  std::optional<KeptBlock> evicted;
  PerQueue<KeptBlock>::Use use = kept.use(*workspace.queue.number, evicted);
  if (evicted)
    freeKept(*evicted);
  if (!use || (!use->block && !allocateKept(*use)))
    return false;
  workspace.pool = this;
  workspace.block = use->block;
  workspace.bytes = allOfKept;
  workspace.kept = std::move(use);
  return true;
}

Status WorkspacePool::acquireOrdered(uint64_t bytes, Workspace &workspace,
                                     bool &overLimit) {
  if (!account.take(bytes)) {
    overLimit = true;
    return failure(RL_OUT_OF_MEMORY, "over the memory limit");
  }
  Status status =
      source.allocateOn(workspace.queue.stream, bytes, workspace.block);
  if (!status.ok()) {
    account.give(bytes);
    return status;
  }
  workspace.pool = this;
  workspace.bytes = bytes;
  // The driver counts its own.
  if (source.isForeign())
    count(bytes);
  return {};
}

void WorkspacePool::count(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  total += bytes;
}

void WorkspacePool::uncount(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  total -= bytes;
}

bool WorkspacePool::bytesOf(uint64_t bytes, bool withCounter, uint64_t &all) {
  all = bytes;
  return !withCounter || (roundUp(bytes, counterBytes, all) &&
                          !__builtin_add_overflow(all, counterBytes, &all));
}

Status WorkspacePool::borrow(char *block, uint64_t bytes, const Queue &queue,
                             Workspace &workspace, bool withCounter) {
  workspace.queue = queue;
  workspace.block = block;
  return withCounter ? setCounter(workspace, block + bytes - counterBytes)
                     : Status();
}

Status WorkspacePool::acquire(uint64_t bytes, const Queue &queue,
                              Workspace &workspace, bool &overLimit,
                              bool withCounter) {
  overLimit = false;
  workspace.queue = queue;
  if (bytes == 0 && !withCounter)
    return {};
  uint64_t counter = keptBytes;
  if (bytes > keptBytes || !source.isOrdered() || !acquireKept(workspace)) {
    if (!bytesOf(bytes, withCounter, bytes))
      return failure(RL_OUT_OF_MEMORY, "more than 2^64 bytes");
    counter = bytes - counterBytes; // Of no use where there is none.
    RL_TRY(acquireBlock(bytes, workspace, overLimit));
  }
  return withCounter ? setCounter(workspace, workspace.block + counter)
                     : Status();
}

Status WorkspacePool::acquireBlock(uint64_t bytes, Workspace &workspace,
                                   bool &overLimit) {
  if (source.isOrdered())
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
  uint64_t available = source.freeBytes();
  Status status = bytes <= available
                      ? source.allocate(bytes, workspace.block)
                      : failure(RL_OUT_OF_MEMORY, "the system has ", available,
                                " bytes free");
  if (!status.ok()) {
    account.give(bytes);
    return status;
  }
  workspace.pool = this;
  workspace.bytes = bytes;
  count(bytes);
  return {};
}

void WorkspacePool::release(const Workspace &workspace) {
  if (workspace.kept)
    return;
  if (source.isOrdered()) {
    source.releaseOn(workspace.queue.stream, workspace.block, workspace.bytes);
    account.give(workspace.bytes);
    if (source.isForeign())
      uncount(workspace.bytes);
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
  source.release(block.block, block.bytes);
  account.give(block.bytes);
  uncount(block.bytes);
}

void WorkspacePool::trim() {
  auto next = [&]() -> std::optional<Idle> {
    std::lock_guard<std::mutex> lock(mutex);
    if (idle.empty())
      return std::nullopt;
    Idle block = idle.back();
    idle.pop_back();
    return block;
  };
  while (std::optional<Idle> block = next())
    free(*block);
  while (std::optional<KeptBlock> block = kept.takeIdle())
    freeKept(*block);
  driver.trim();
}

uint64_t WorkspacePool::held() const {
  std::lock_guard<std::mutex> lock(mutex);
  return total + driver.orderedBytes();
}

//===----------------------------------------------------------------------===//
// Uploads
//===----------------------------------------------------------------------===//

Upload::~Upload() {
  if (source)
    source->release(const_cast<char *>(place), size);
}

Status Upload::keep(MemorySource &memory, char *block, uint64_t count,
                    const Status &filled) {
  if (!filled.ok()) {
    memory.release(block, count);
    return filled;
  }
  source = &memory;
  place = block;
  size = count;
  return {};
}

Status Upload::make(Driver &driver, MemorySource &memory, const void *bytes,
                    uint64_t count) {
  if (driver.usesHostMemory()) {
    place = static_cast<const char *>(bytes);
    return {};
  }
  char *block = nullptr;
  uint64_t size = std::max<uint64_t>(count, 1);
  RL_TRY(memory.allocate(size, block));
  return keep(memory, block, size, driver.upload(block, bytes, count));
}

Status Upload::generate(Driver &driver, MemorySource &memory,
                        const LaunchCall &call, uint64_t count) {
  char *block = nullptr;
  RL_TRY(memory.allocate(count, block));
  std::vector<int64_t> words(call.params, call.params + call.paramCount);
  words[0] = int64_t(reinterpret_cast<intptr_t>(block));
  LaunchCall complete = call;
  complete.params = words.data();
  return keep(memory, block, count, driver.generate(complete));
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
  // Greedy by size: the large ones first, each at the lowest offset that none
  // has which it may meet.
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
      if (!theirs.span.meets(mine.span))
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
