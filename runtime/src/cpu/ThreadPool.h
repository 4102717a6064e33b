//===- ThreadPool.h - Threads over the items of a launch ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CPU_THREADPOOL_H
#define RINGLET_RUNTIME_CPU_THREADPOOL_H

#include "../Status.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ringlet::rt::cpu {

/// A fixed set of threads that share out the items of one launch after the
/// other. Threads take the next chunk from a common counter, so that none waits
/// while another has work left; the caller is one of them.
class ThreadPool {
public:
  /// Runs items [begin, end); `slot` below size() is this thread's alone for
  /// the duration of the launch. Must not throw.
  using Body = void (*)(void *context, int64_t begin, int64_t end,
                        uint32_t slot);

  /// `size` threads, the caller of run() included; at least 1.
  static Status create(uint32_t size, std::unique_ptr<ThreadPool> &pool);
  ~ThreadPool();

  uint32_t size() const { return uint32_t(workers.size()) + 1; }

  /// Runs items [0, total); returns when all are done. Launches of different
  /// threads take turns.
  void run(int64_t total, Body body, void *context);

private:
  struct Job {
    Body body;
    void *context;
    uint64_t total;
    uint64_t shares; // Into which each chunk divides what is left.
    std::atomic<uint64_t> next{0};
  };

  ThreadPool() = default;
  void worker(uint32_t slot);
  static void work(Job &job, uint32_t slot);

  std::vector<std::thread> workers;
  std::mutex launching; // Held during a launch.
  std::mutex mutex;     // Guards what follows.
  std::condition_variable wake, done;
  Job *job = nullptr;
  uint64_t serial = 0; // Of the job, so that no thread joins one twice.
  uint32_t inside = 0; // Threads in work(), the caller not counted.
  bool stopping = false;
};

} // namespace ringlet::rt::cpu

#endif // RINGLET_RUNTIME_CPU_THREADPOOL_H
