//===- RingQueue.h - Calls that wait for their turn on a ring ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RINGQUEUE_H
#define RINGLET_RUNTIME_RINGQUEUE_H

#include "Status.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ringlet::rt {

/// Makes calls one after the other, in a thread that begins with the first one.
class RingQueue {
public:
  RingQueue() = default;
  RingQueue(const RingQueue &) = delete;
  RingQueue &operator=(const RingQueue &) = delete;
  /// Behind the last call.
  ~RingQueue();

  /// Queues a call. Fails, and queues nothing, if one before it has failed and
  /// nobody has been told.
  Status add(std::function<Status()> call);
  /// Waits until none is left. The first failure that nobody has been told of.
  Status wait();
  /// Waits as well, and tells nobody.
  void settle() const;

private:
  void work();
  Status takeFailure();

  mutable std::mutex mutex; // Guards all that follows.
  mutable std::condition_variable changed;
  std::deque<std::function<Status()>> calls; // The first one may be under way.
  Status failed;
  bool isLast = false;
  std::thread worker;
};

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_RINGQUEUE_H
