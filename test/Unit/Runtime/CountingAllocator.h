//===- CountingAllocator.h - An embedder's memory ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_RUNTIME_COUNTINGALLOCATOR_H
#define RINGLET_TEST_UNIT_RUNTIME_COUNTINGALLOCATOR_H

#include "ringlet/runtime.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <vector>

namespace ringlet::test {

/// Memory of the host that remembers what it is asked.
struct CountingAllocator {
  struct Block {
    uint64_t bytes;
    void *stream;
  };

  CountingAllocator() {
    callbacks.allocate = [](void *user, uint64_t bytes, void *stream) {
      return static_cast<CountingAllocator *>(user)->allocate(bytes, stream);
    };
    callbacks.release = [](void *user, void *memory, uint64_t bytes,
                           void *stream) {
      static_cast<CountingAllocator *>(user)->release(memory, bytes, stream);
    };
    callbacks.user = this;
  }
  CountingAllocator(const CountingAllocator &) = delete;
  ~CountingAllocator() { EXPECT_EQ(held.size(), 0u); }

  void *allocate(uint64_t bytes, void *stream) {
    EXPECT_GT(bytes, 0u);
    streams.push_back(stream);
    if (isEmpty)
      return nullptr;
    ++given;
    auto *memory = static_cast<char *>(std::aligned_alloc(
        RL_ALIGNMENT, (bytes / RL_ALIGNMENT + 2) * RL_ALIGNMENT));
    held[memory + offset] = {bytes, stream};
    return memory + offset;
  }
  void release(void *memory, uint64_t bytes, void *stream) {
    auto found = held.find(static_cast<char *>(memory));
    ASSERT_NE(found, held.end());
    EXPECT_EQ(found->second.bytes, bytes);
    EXPECT_EQ(found->second.stream, stream);
    std::free(found->first - offset);
    held.erase(found);
  }

  rl_allocator callbacks = RL_ALLOCATOR_INIT;
  std::map<char *, Block> held;
  std::vector<void *> streams; // Of each request.
  int given = 0;
  /// Has nothing to give.
  bool isEmpty = false;
  /// Gives memory that lies badly.
  size_t offset = 0;
};

} // namespace ringlet::test

#endif // RINGLET_TEST_UNIT_RUNTIME_COUNTINGALLOCATOR_H
