//===- MemorySource.cpp - Where a context's memory is from ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemorySource.h"

using namespace ringlet::rt;

Status MemorySource::validate(const rl_allocator &allocator) {
  if (!allocator.allocate == !allocator.release)
    return {};
  return invalid("expected rl_allocator with both functions or none, found no ",
                 allocator.allocate ? "release" : "allocate");
}

Status MemorySource::ask(Stream stream, uint64_t bytes, char *&block) {
  void *memory = nullptr;
  RL_TRY(driver.callBack(
      [&] { memory = allocator.allocate(allocator.user, bytes, stream); }));
  if (!memory)
    return failure(RL_OUT_OF_MEMORY, "the context's allocator has no ", bytes,
                   " bytes");
  block = static_cast<char *>(memory);
  if (reinterpret_cast<uintptr_t>(memory) % RL_ALIGNMENT == 0)
    return {};
  giveBack(stream, block, bytes);
  return invalid("expected memory at a multiple of ", RL_ALIGNMENT,
                 " bytes from the context's allocator, found ",
                 static_cast<const void *>(memory));
}

void MemorySource::giveBack(Stream stream, char *block, uint64_t bytes) {
  // Where the device is lost, the memory is, too.
  (void)driver.callBack(
      [&] { allocator.release(allocator.user, block, bytes, stream); });
}

Status MemorySource::allocate(uint64_t bytes, char *&block) {
  return isForeign() ? ask(driver.uploadStream(), bytes, block)
                     : driver.allocate(bytes, block);
}

void MemorySource::release(char *block, uint64_t bytes) {
  if (!isForeign())
    return driver.release(block, bytes);
  driver.finish();
  giveBack(driver.uploadStream(), block, bytes);
}

Status MemorySource::allocateOn(Stream stream, uint64_t bytes, char *&block) {
  return isForeign() ? ask(stream, bytes, block)
                     : driver.allocateOn(stream, bytes, block);
}

void MemorySource::releaseOn(Stream stream, char *block, uint64_t bytes) {
  if (!isForeign())
    return driver.releaseOn(stream, block, bytes);
  giveBack(stream, block, bytes);
}
