//===- ThreadPool.cpp - Threads over the items of a launch ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadPool.h"

#include <algorithm>
#include <system_error>

using namespace ringlet::rt;
using namespace ringlet::rt::cpu;

Status ThreadPool::create(uint32_t size, std::unique_ptr<ThreadPool> &pool) {
  pool.reset(new ThreadPool());
  pool->workers.reserve(size - 1);
  try {
    for (uint32_t slot = 1; slot < size; ++slot)
      pool->workers.emplace_back([p = pool.get(), slot] { p->worker(slot); });
  } catch (const std::system_error &error) {
    Status status =
        failure(RL_UNAVAILABLE, "cannot start thread ",
                pool->workers.size() + 1, " of ", size - 1, ": ", error.what());
    pool.reset();
    return status;
  }
  return {};
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  for (std::thread &thread : workers)
    thread.join();
}

void ThreadPool::work(Job &job, uint32_t slot) {
  while (true) {
    uint64_t begin = job.next.load(std::memory_order_relaxed), end;
    do {
      if (begin >= job.total)
        return;
      // Few chunks while there is much left, short ones to even out the end.
      end = begin + std::max<uint64_t>(1, (job.total - begin) / job.shares);
    } while (
        !job.next.compare_exchange_weak(begin, end, std::memory_order_relaxed));
    job.body(job.context, int64_t(begin), int64_t(end), slot);
  }
}

void ThreadPool::worker(uint32_t slot) {
  uint64_t seen = 0;
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    wake.wait(lock, [&] { return stopping || (job && serial != seen); });
    if (stopping)
      return;
    seen = serial;
    Job *mine = job;
    ++inside;
    lock.unlock();
    work(*mine, slot);
    lock.lock();
    if (--inside == 0)
      done.notify_one();
  }
}

void ThreadPool::run(int64_t total, Body body, void *context) {
  if (total <= 0)
    return;
  if (workers.empty() || total == 1) {
    body(context, 0, total, 0);
    return;
  }
  Job mine;
  mine.body = body;
  mine.context = context;
  mine.total = uint64_t(total);
  // So large that the counter costs nothing beside short items.
  mine.shares = uint64_t(size()) * 16;
  uint64_t first = std::max<uint64_t>(1, mine.total / mine.shares);
  uint64_t helpers =
      std::min<uint64_t>(workers.size(), (mine.total - 1) / first);

  std::lock_guard<std::mutex> turn(launching);
  {
    std::lock_guard<std::mutex> lock(mutex);
    job = &mine;
    ++serial;
  }
  if (helpers == workers.size())
    wake.notify_all();
  else
    for (uint64_t i = 0; i < helpers; ++i)
      wake.notify_one();
  work(mine, 0);
  // Nobody can join any more; who has joined still reads `mine`.
  std::unique_lock<std::mutex> lock(mutex);
  job = nullptr;
  done.wait(lock, [&] { return inside == 0; });
}
