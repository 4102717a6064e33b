//===- ring/Device.h - A device whose memory messages move ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RING_DEVICE_H
#define RINGLET_RUNTIME_RING_DEVICE_H

#include "../Context.h"
#include "KeyMemory.h"

#include <memory>
#include <mutex>
#include <vector>

namespace ringlet::rt::ring {

/// A device, and blocks of its memory, which a ring keeps for its next calls:
/// to free one would wait for all kernels.
class Device {
public:
  explicit Device(std::shared_ptr<Context> context)
      : context(std::move(context)) {}
  Device(const Device &) = delete;
  ~Device();

  const std::shared_ptr<Context> context;
  Driver &driver() const { return *context->driver; }

  /// The smallest idle block of at least `bytes`, or a new one.
  Status take(uint64_t bytes, char *&block);
  void give(char *block);

private:
  struct Kept {
    char *block;
    uint64_t bytes;
    bool idle;
  };
  std::mutex mutex;
  std::vector<Kept> blocks;
};

/// Returns when all copies that `queue` holds have ended, which they do
/// whatever becomes of the ring.
Status waitUntilIdle(MessageQueue &queue);

/// Memory of a device for one call, whose kernels are queued on `runs`. Copies
/// go there, too, when they are marked: they take multiprocessors, and would
/// get none beside kernels that fill the GPU.
class DeviceKeys final : public KeyMemory {
public:
  static Status create(Device &device, Stream runs,
                       std::unique_ptr<KeyMemory> &keys);

  Status allocate(size_t bytes, char *&block) override {
    return device.take(bytes, block);
  }
  void release(char *block, size_t) override { device.give(block); }
  Status copy(const RowCopy &rows) override;
  Status mark(Condition &done) override;

private:
  DeviceKeys(Device &device, Stream runs) : device(device), runs(runs) {}

  Device &device;
  const Stream runs;
  std::vector<CopyPair> copies;    // Since the last mark.
  std::unique_ptr<SideQueue> side; // Of events; null: all is done on return.
};

} // namespace ringlet::rt::ring

#endif // RINGLET_RUNTIME_RING_DEVICE_H
