//===- Memory.h - What a context has allocated ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_MEMORY_H
#define RINGLET_RUNTIME_MEMORY_H

#include "Driver.h"
#include "MemorySource.h"
#include "PerQueue.h"
#include "Status.h"
#include "abi/StepOrder.h"

#include <cstdint>
#include <mutex>
#include <vector>

namespace ringlet::rt {

/// Counts a context's bytes against its limit.
class Account {
public:
  explicit Account(uint64_t limit) : limit(limit) {}

  /// False, and nothing taken, if the limit would be exceeded.
  bool take(uint64_t bytes);
  void give(uint64_t bytes);

  /// UINT64_MAX without a limit.
  uint64_t maximum() const { return limit ? limit : UINT64_MAX; }
  uint64_t used() const;
  uint64_t peak() const;

private:
  mutable std::mutex mutex;
  const uint64_t limit;
  uint64_t current = 0, highest = 0;
};

class WorkspacePool;

/// What a queue keeps for its next run.
struct KeptBlock {
  char *block = nullptr;   // With a counter behind it.
  bool isCounting = false; // The counter has been set to 0.
};

/// A block of a pool, which gets it back when this dies, or the embedder's.
class Workspace {
public:
  Workspace() = default;
  Workspace(const Workspace &) = delete;
  Workspace &operator=(const Workspace &) = delete;
  ~Workspace();

  char *data() const { return block; }
  /// 32 bits for each queue of a plan, which are 0 whenever no kernel of the
  /// queue runs, if they were asked for.
  char *counter(uint32_t queue) const {
    return word + queue * sizeof(uint32_t);
  }

private:
  friend class WorkspacePool;
  WorkspacePool *pool = nullptr;
  Queue queue = nullptr;
  char *block = nullptr;
  char *word = nullptr;
  uint64_t bytes = 0;
  PerQueue<KeptBlock>::Use kept; // Where `block` is that of the queue.
};

/// Keeps the blocks of finished runs for the next ones: after the first run of
/// a shape, none allocates. A driver that orders memory does so itself; then a
/// workspace may be let go as soon as the last kernel that uses it is queued.
/// As that takes about a microsecond, each queue that is in use also keeps a
/// small block: runs of a queue use it one after the other, in its order. Where
/// memory is the embedder's to keep, nothing idle is kept at all.
/// Kernels leave counters at 0: the one behind a kept block is set once.
class WorkspacePool {
public:
  static constexpr uint64_t keptBytes = uint64_t(1) << 20;
  /// A cache line of its own for counters.
  static constexpr uint64_t counterBytes = 64;

  WorkspacePool(Driver &driver, MemorySource &source, Account &account)
      : driver(driver), source(source), account(account) {}
  ~WorkspacePool() { trim(); }

  /// A block of at least `bytes` for work on the queue, and a counter if there
  /// is to be one; an idle block if there is one. On failure, `overLimit` tells
  /// whether the account refused.
  Status acquire(uint64_t bytes, const Queue &queue, Workspace &workspace,
                 bool &overLimit, bool withCounter = false);
  /// Takes the embedder's block for it, of as many bytes as `bytesOf` says.
  Status borrow(char *block, uint64_t bytes, const Queue &queue,
                Workspace &workspace, bool withCounter);
  /// What a block of `bytes` takes with a counter behind it; false on overflow.
  static bool bytesOf(uint64_t bytes, bool withCounter, uint64_t &all);
  /// Frees all idle blocks.
  void trim();
  /// Bytes in use and idle.
  uint64_t held() const;

private:
  friend class Workspace;
  struct Idle {
    char *block;
    uint64_t bytes;
  };
  Status acquireBlock(uint64_t bytes, Workspace &workspace, bool &overLimit);
  Status acquireOrdered(uint64_t bytes, Workspace &workspace, bool &overLimit);
  /// The block that the workspace's queue keeps, if it can be had.
  bool acquireKept(Workspace &workspace);
  bool allocateKept(KeptBlock &kept);
  void freeKept(const KeptBlock &kept);
  void release(const Workspace &workspace);
  /// The bytes at `counter` become the workspace's, set to 0.
  Status setCounter(Workspace &workspace, char *counter) const;
  void free(Idle idle);

  void count(uint64_t bytes);
  void uncount(uint64_t bytes);

  Driver &driver;
  MemorySource &source;
  Account &account;
  mutable std::mutex mutex;
  std::vector<Idle> idle;
  PerQueue<KeptBlock> kept;
  uint64_t total = 0;
};

/// Bytes of the host where kernels can read them.
class Upload {
public:
  Upload() = default;
  Upload(const Upload &) = delete;
  Upload &operator=(const Upload &) = delete;
  ~Upload();

  /// Once. The bytes stay where they are, and unchanged, while this lives:
  /// kernels read them right there, or a copy on the device.
  Status make(Driver &driver, MemorySource &memory, const void *bytes,
              uint64_t count);
  /// The same of bytes that a kernel writes. Its first parameter, which `call`
  /// leaves open, is their address. For drivers whose kernels do not read the
  /// host's memory.
  Status generate(Driver &driver, MemorySource &memory, const LaunchCall &call,
                  uint64_t count);
  const char *data() const { return place; }

private:
  /// Keeps the block, or gives it back if it did not get its content.
  Status keep(MemorySource &memory, char *block, uint64_t count,
              const Status &filled);

  MemorySource *source = nullptr; // Of a copy.
  const char *place = nullptr;
  uint64_t size = 0;
};

/// Memory that some steps use.
struct Lifetime {
  abi::StepSpan span;
  uint64_t bytes;
  uint64_t offset = 0;
};

/// Gives each its offset, a multiple of `alignment`, so that no two overlap
/// that may be in use at once. False if the total overflows 64 bits.
bool layOut(std::vector<Lifetime> &lifetimes, uint64_t alignment,
            uint64_t &total);

/// `bytes` rounded up to a multiple of `alignment`; false on overflow.
bool roundUp(uint64_t bytes, uint64_t alignment, uint64_t &rounded);

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_MEMORY_H
