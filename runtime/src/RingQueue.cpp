//===- RingQueue.cpp - Calls that wait for their turn on a ring ---*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RingQueue.h"

#include <exception>
#include <new>
#include <utility>

using namespace ringlet::rt;

RingQueue::~RingQueue() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isLast = true;
  }
  changed.notify_all();
  if (worker.joinable())
    worker.join();
}

Status RingQueue::takeFailure() { return std::exchange(failed, Status()); }

Status RingQueue::add(std::function<Status()> call) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    RL_TRY(takeFailure());
    calls.push_back(std::move(call));
    if (!worker.joinable()) {
      try {
        worker = std::thread(&RingQueue::work, this);
      } catch (const std::exception &error) {
        calls.pop_back();
        return Status(RL_OUT_OF_MEMORY,
                      text("a thread for queued calls: ", error.what()));
      }
    }
  }
  changed.notify_all();
  return {};
}

Status RingQueue::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return calls.empty(); });
  return takeFailure();
}

void RingQueue::settle() const {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return calls.empty(); });
}

/// No exception may leave the thread.
static Status make(const std::function<Status()> &call) {
  try {
    return call();
  } catch (const std::bad_alloc &) {
    return Status(RL_OUT_OF_MEMORY, "no memory for a queued call");
  } catch (const std::exception &error) {
    return Status(RL_INTERNAL_ERROR, error.what());
  }
}

void RingQueue::work() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return isLast || !calls.empty(); });
    if (calls.empty())
      return;
    // Others add behind it only, which moves none.
    const std::function<Status()> &call = calls.front();
    lock.unlock();
    Status status = make(call);
    lock.lock();
    if (!status.ok() && failed.ok())
      failed = std::move(status);
    // What the call holds goes before anybody learns that it has ended.
    std::function<Status()> ended = std::move(calls.front());
    lock.unlock();
    ended = nullptr;
    lock.lock();
    calls.pop_front();
    changed.notify_all();
  }
}
