//===- MemorySource.h - Where a context's memory is from ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_MEMORYSOURCE_H
#define RINGLET_RUNTIME_MEMORYSOURCE_H

#include "Driver.h"
#include "Status.h"

#include <cstdint>

namespace ringlet::rt {

/// The driver's memory, or what the embedder's allocator gives instead.
class MemorySource {
public:
  /// `allocator` has no functions where there is none.
  MemorySource(Driver &driver, const rl_allocator &allocator)
      : driver(driver), allocator(allocator) {}

  static Status validate(const rl_allocator &allocator);

  /// Idle memory is somebody else's to keep.
  bool isForeign() const { return allocator.allocate; }
  /// See Driver::ordersMemory.
  bool isOrdered() const { return isForeign() || driver.ordersMemory(); }
  /// What can still be allocated, as far as is known; else UINT64_MAX.
  uint64_t freeBytes() const {
    return isForeign() ? UINT64_MAX : driver.freeBytes();
  }

  /// For the work of many queues.
  Status allocate(uint64_t bytes, char *&block);
  /// Waits for that work.
  void release(char *block, uint64_t bytes);
  /// In the order of a queue.
  Status allocateOn(Stream stream, uint64_t bytes, char *&block);
  void releaseOn(Stream stream, char *block, uint64_t bytes);

private:
  Status ask(Stream stream, uint64_t bytes, char *&block);
  void giveBack(Stream stream, char *block, uint64_t bytes);

  Driver &driver;
  const rl_allocator allocator;
};

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_MEMORYSOURCE_H
