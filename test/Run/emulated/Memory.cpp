//===- Memory.cpp - Memory of an emulated GPU ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each block is a file without a name, which other processes open by that of
// this process.
//
//===----------------------------------------------------------------------===//

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using Address = uint64_t;
constexpr int success = 0, invalidValue = 1, outOfMemory = 2;

struct Block {
  size_t bytes;
  int file; // -1: another process's.
};

std::mutex mutex; // Guards what follows.
std::map<Address, Block> blocks;

/// CUipcMemHandle.
struct Handle {
  long long process;
  int file;
  char rest[64 - sizeof(long long) - sizeof(int)];
};
static_assert(sizeof(Handle) == 64, "as in cuda.h");

bool map(int file, size_t bytes, Address *address) {
  void *memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED)
    return false;
  *address = reinterpret_cast<Address>(memory);
  return true;
}

int unmap(Address address, bool own) {
  std::lock_guard<std::mutex> lock(mutex);
  auto at = blocks.find(address);
  if (at == blocks.end() || (at->second.file >= 0) != own)
    return invalidValue;
  munmap(reinterpret_cast<void *>(address), at->second.bytes);
  if (own)
    close(at->second.file);
  blocks.erase(at);
  return success;
}

} // namespace

extern "C" {

int cuMemAlloc_v2(Address *address, size_t bytes) {
  int file = memfd_create("emulated", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, off_t(bytes)) != 0 ||
      !map(file, bytes, address)) {
    if (file >= 0)
      close(file);
    return outOfMemory;
  }
  std::lock_guard<std::mutex> lock(mutex);
  blocks[*address] = {bytes, file};
  return success;
}

int cuMemFree_v2(Address address) {
  return address ? unmap(address, /*own=*/true) : success;
}

int cuMemGetAddressRange_v2(Address *base, size_t *bytes, Address address) {
  std::lock_guard<std::mutex> lock(mutex);
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin())
    return invalidValue;
  --after;
  if (address >= after->first + after->second.bytes)
    return invalidValue;
  *base = after->first;
  *bytes = after->second.bytes;
  return success;
}

int cuIpcGetMemHandle(Handle *handle, Address address) {
  std::lock_guard<std::mutex> lock(mutex);
  auto at = blocks.find(address);
  if (at == blocks.end() || at->second.file < 0)
    return invalidValue;
  *handle = {};
  handle->process = getpid();
  handle->file = at->second.file;
  return success;
}

int cuIpcOpenMemHandle_v2(Address *address, Handle handle, unsigned) {
  // As on a GPU, not what is this process's own.
  if (handle.process == getpid())
    return invalidValue;
  char name[64];
  std::snprintf(name, sizeof name, "/proc/%lld/fd/%d", handle.process,
                handle.file);
  int file = open(name, O_RDWR | O_CLOEXEC);
  struct stat status;
  if (file < 0)
    return invalidValue;
  bool good =
      fstat(file, &status) == 0 && map(file, size_t(status.st_size), address);
  close(file);
  if (!good)
    return invalidValue;
  std::lock_guard<std::mutex> lock(mutex);
  blocks[*address] = {size_t(status.st_size), -1};
  return success;
}

int cuIpcCloseMemHandle(Address address) {
  return unmap(address, /*own=*/false);
}

} // extern "C"
