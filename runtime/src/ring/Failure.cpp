//===- Failure.cpp - Why a ring ended ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Failure.h"

#include <algorithm>
#include <poll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

namespace ringlet::rt::ring {

int millisecondsUntil(Deadline deadline, int most) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                  deadline - Clock::now())
                  .count();
  // Rounded up: a wait that ends early would be one more turn of a loop.
  return static_cast<int>(std::clamp<long long>(left + 1, 0, most));
}

void pauseBetweenLooks(int looks) {
  const int most = 100; // Microseconds.
  if (looks < 20)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::min(looks - 10, most)));
}

std::string Failure::text() const {
  if (step < 0)
    return rt::text("rank ", rank, ": ", reason);
  return rt::text("rank ", rank, ", step ", step, ": ", reason);
}

Abort::Abort() : event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Abort::~Abort() {
  if (event >= 0)
    close(event);
}

bool Abort::raise(const Failure &failure) {
  std::vector<std::function<void()>> told;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (first)
      return false;
    first = failure;
    flag.store(true, std::memory_order_release);
    told.swap(listeners);
  }
  uint64_t one = 1;
  if (event >= 0 && write(event, &one, sizeof one) < 0) {
    // Whoever waits looks at the flag by its deadline.
  }
  for (const std::function<void()> &listener : told)
    listener();
  return true;
}

std::optional<Failure> Abort::failure() const {
  std::lock_guard<std::mutex> lock(mutex);
  return first;
}

Status Abort::status() const {
  std::optional<Failure> what = failure();
  return what ? Status(RL_PEER_ERROR, what->text()) : Status();
}

void Abort::listen(std::function<void()> listener) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!first) {
      listeners.push_back(std::move(listener));
      return;
    }
  }
  listener();
}

bool Abort::raisedWithin(double seconds) const {
  Deadline deadline = after(seconds);
  while (!raised() && Clock::now() < deadline) {
    pollfd file = {event, POLLIN, 0};
    poll(&file, 1, millisecondsUntil(deadline));
  }
  return raised();
}

} // namespace ringlet::rt::ring
