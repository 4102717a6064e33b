//===- Memory.h - What a context has allocated ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_MEMORY_H
#define RINGLET_RUNTIME_MEMORY_H

#include "Driver.h"
#include "Status.h"

#include <cstdint>
#include <map>
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

/// A block of a pool, which gets it back when this dies.
class Workspace {
public:
  Workspace() = default;
  Workspace(const Workspace &) = delete;
  Workspace &operator=(const Workspace &) = delete;
  ~Workspace();

  char *data() const { return block; }

private:
  friend class WorkspacePool;
  WorkspacePool *pool = nullptr;
  Stream stream = nullptr;
  char *block = nullptr;
  uint64_t bytes = 0;
  uint64_t queue = 0;
  bool isKept = false; // For the next run of `queue`.
};

/// Keeps the blocks of finished runs for the next ones: after the first run of
/// a shape, none allocates. A driver that orders memory does so itself; then a
/// workspace may be let go as soon as the last kernel that uses it is queued.
/// As that takes about a microsecond, each of the first queues also keeps a
/// small block: runs of a queue use it one after the other, in its order.
class WorkspacePool {
public:
  static constexpr uint64_t keptBytes = uint64_t(1) << 20;
  static constexpr size_t mostKept = 16;

  WorkspacePool(Driver &driver, Account &account)
      : driver(driver), account(account) {}
  ~WorkspacePool() { trim(); }

  /// A block of at least `bytes` for work on the stream; an idle one if there
  /// is one. On failure, `overLimit` tells whether the account refused.
  Status acquire(uint64_t bytes, Stream stream, Workspace &workspace,
                 bool &overLimit);
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
  struct Kept {
    char *block = nullptr;
    bool isBusy = true;
  };
  Status acquireOrdered(uint64_t bytes, Workspace &workspace, bool &overLimit);
  /// The block that the workspace's queue keeps, if it can be had.
  bool acquireKept(Workspace &workspace);
  void release(const Workspace &workspace);
  void free(Idle idle);

  Driver &driver;
  Account &account;
  mutable std::mutex mutex;
  std::vector<Idle> idle;
  std::map<uint64_t, Kept> kept; // By queue.
  uint64_t total = 0;
};

/// Bytes of the host where kernels can read them.
class Upload {
public:
  Upload() = default;
  Upload(const Upload &) = delete;
  Upload &operator=(const Upload &) = delete;
  ~Upload() {
    if (driver)
      driver->discard(place, size);
  }

  /// Once; see Driver::upload.
  Status make(Driver &owner, const void *bytes, uint64_t count) {
    RL_TRY(owner.upload(bytes, count, place));
    driver = &owner;
    size = count;
    return {};
  }
  const char *data() const { return place; }

private:
  Driver *driver = nullptr;
  const char *place = nullptr;
  uint64_t size = 0;
};

/// Memory that is needed from one step to another, both inclusive.
struct Lifetime {
  uint32_t first, last;
  uint64_t bytes;
  uint64_t offset = 0;
};

/// Gives each its offset, a multiple of `alignment`, so that no two that live
/// at the same step overlap. False if the total overflows 64 bits.
bool layOut(std::vector<Lifetime> &lifetimes, uint64_t alignment,
            uint64_t &total);

/// `bytes` rounded up to a multiple of `alignment`; false on overflow.
bool roundUp(uint64_t bytes, uint64_t alignment, uint64_t &rounded);

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_MEMORY_H
