//===- FakeMemory.cpp - Memory of a libcuda without a GPU ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCalls.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

using namespace ringlet::rt::cuda;
using namespace ringlet::test;

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

static Result take(Address *address, size_t bytes) {
  void *block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  *address = reinterpret_cast<uintptr_t>(block);
  fake.memory[*address] = bytes;
  return 0;
}
static Result give(Address address) {
  if (!fake.memory.erase(address))
    return invalidValue;
  std::free(reinterpret_cast<void *>(address));
  return 0;
}
EXPORT Result cuMemAlloc_v2(Address *address, size_t bytes) {
  CALL_IN_CONTEXT("cuMemAlloc");
  return forbidden() ? captureUnsupported : take(address, bytes);
}
EXPORT Result cuMemFree_v2(Address address) {
  CALL_IN_CONTEXT("cuMemFree");
  return forbidden() ? captureUnsupported : give(address);
}
EXPORT Result cuPointerGetAttributes(unsigned count, const int *names,
                                     void **values, Address address) {
  CALL_IN_CONTEXT("cuPointerGetAttributes");
  bool isPinned = fake.pinned.count(address);
  auto next = fake.memory.upper_bound(address);
  bool isDevice = next != fake.memory.begin() &&
                  address - std::prev(next)->first < std::prev(next)->second;
  for (unsigned i = 0; i < count; ++i) {
    if (names[i] == pointer::MemoryType)
      *static_cast<unsigned *>(values[i]) = isPinned   ? pointer::HostMemory
                                            : isDevice ? pointer::DeviceMemory
                                                       : 0;
    else if (names[i] == pointer::Ordinal)
      *static_cast<int *>(values[i]) = fake.ordinal;
    else if (names[i] == pointer::IsManaged)
      *static_cast<unsigned char *>(values[i]) = 0;
    else
      return invalidValue;
  }
  return 0;
}
EXPORT Result cuMemGetInfo_v2(size_t *available, size_t *total) {
  CALL_IN_CONTEXT("cuMemGetInfo");
  *available = *total = size_t(80) << 30;
  return 0;
}
EXPORT Result cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes,
                                   void *stream) {
  CALL_IN_CONTEXT("cuMemcpyHtoDAsync");
  if (fake.capturing.count(stream))
    return captureUnsupported;
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return 0;
}
EXPORT Result cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes,
                                   void *) {
  CALL_IN_CONTEXT("cuMemcpyDtoHAsync");
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return 0;
}
EXPORT Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes,
                                   void *stream) {
  CALL_IN_CONTEXT("cuMemcpyDtoDAsync");
  queue("copy", stream);
  std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from),
              bytes);
  return 0;
}
EXPORT Result cuMemcpyPeerAsync(Address to, void *, Address from, void *,
                                size_t bytes, void *stream) {
  CALL_IN_CONTEXT("cuMemcpyPeerAsync");
  queue("copy", stream);
  std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from),
              bytes);
  return 0;
}
EXPORT Result cuMemcpy2DAsync_v2(const Copy2D *shape, void *stream) {
  CALL_IN_CONTEXT("cuMemcpy2DAsync");
  queue("copy", stream);
  if (shape->sourceType != DeviceMemory || shape->targetType != DeviceMemory ||
      shape->width > shape->sourcePitch || shape->width > shape->targetPitch)
    return invalidValue;
  for (size_t row = 0; row < shape->height; ++row)
    std::memcpy(reinterpret_cast<void *>(shape->targetDevice +
                                         row * shape->targetPitch),
                reinterpret_cast<void *>(shape->sourceDevice +
                                         row * shape->sourcePitch),
                shape->width);
  return 0;
}

EXPORT Result cuMemsetD32Async(Address to, unsigned value, size_t count,
                               void *stream) {
  CALL_IN_CONTEXT("cuMemsetD32Async");
  if (to % 4 != 0)
    return invalidValue;
  if (!fake.capturing.count(stream))
    std::fill_n(reinterpret_cast<unsigned *>(to), count, value);
  return 0;
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

EXPORT Result cuMemPoolCreate(void **pool, const PoolProps *props) {
  CALL("cuMemPoolCreate");
  if (props->location < 100)
    return invalidValue;
  ++fake.memoryPools;
  *pool = &fake.memoryPools;
  return 0;
}
EXPORT Result cuMemPoolDestroy(void *) {
  CALL("cuMemPoolDestroy");
  --fake.memoryPools;
  return 0;
}
EXPORT Result cuMemPoolSetAttribute(void *, int attribute, void *value) {
  CALL("cuMemPoolSetAttribute");
  if (attribute != pool::ReleaseThreshold)
    return invalidValue;
  std::memcpy(&fake.releaseThreshold, value, sizeof(uint64_t));
  return 0;
}
EXPORT Result cuMemPoolGetAttribute(void *, int attribute, void *value) {
  CALL("cuMemPoolGetAttribute");
  const uint64_t reserved = 4096;
  std::memcpy(value, &reserved, sizeof(reserved));
  return attribute == pool::ReservedNow ? 0 : invalidValue;
}
EXPORT Result cuMemPoolTrimTo(void *, size_t) {
  CALL("cuMemPoolTrimTo");
  return 0;
}
EXPORT Result cuMemAllocFromPoolAsync(Address *address, size_t bytes, void *,
                                      void *) {
  CALL_IN_CONTEXT("cuMemAllocFromPoolAsync");
  return take(address, bytes);
}
EXPORT Result cuMemFreeAsync(Address address, void *) {
  CALL_IN_CONTEXT("cuMemFreeAsync");
  return give(address);
}
