//===- Devices.h - Devices and tensors on them ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TOOLS_RINGLET_RUN_DEVICES_H
#define RINGLET_TOOLS_RINGLET_RUN_DEVICES_H

#include "ringlet/runtime.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace ringlet::run {

/// Prints the devices of all drivers; returns the exit code.
int listDevices();

/// "NVIDIA H200 (sm_90, 132 multiprocessors, 139.8 GiB)".
std::string describe(const rl_device &device);

/// Memory of a context for one argument of the entry.
class DeviceMemory {
public:
  /// data() is null if there is none; the runtime tells why.
  DeviceMemory(rl_context *context, size_t argument, uint64_t bytes)
      : context(context), index(argument), size(bytes) {
    if (rl_memory_allocate(context, bytes, &memory) != RL_OK)
      memory = nullptr;
  }
  DeviceMemory(DeviceMemory &&other) noexcept
      : context(other.context), index(other.index), size(other.size),
        memory(std::exchange(other.memory, nullptr)) {}
  DeviceMemory &operator=(DeviceMemory &&) = delete;
  ~DeviceMemory() { rl_memory_release(context, memory); }

  void *data() const { return memory; }
  size_t argument() const { return index; }
  uint64_t bytes() const { return size; }

private:
  rl_context *context;
  size_t index;
  uint64_t size;
  void *memory = nullptr;
};

} // namespace ringlet::run

#endif // RINGLET_TOOLS_RINGLET_RUN_DEVICES_H
