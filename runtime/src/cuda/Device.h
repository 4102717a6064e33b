//===- cuda/Device.h - One GPU ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CUDA_DEVICE_H
#define RINGLET_RUNTIME_CUDA_DEVICE_H

#include "../Driver.h"
#include "Api.h"
#include "Target.h"

#include <memory>
#include <string>

namespace ringlet::rt::cuda {

/// What a device says of itself.
struct Properties {
  std::string name;
  Machine machine;
  uint64_t memoryBytes = 0;
  int multiprocessors = 0;
  int maxThreads = 0;     // Of a block.
  int maxSharedBytes = 0; // Of a block that asks for it.
  int maxGrid = 0;        // Along x.
  int maxPitch = 0;       // Of a two-dimensional copy.
  bool hasPools = false;
};

/// How many devices the library sees.
Status countDevices(const Api &api, int &count);
Status readProperties(const Api &api, int ordinal, Properties &properties);

/// What CUDA knows of an address: the host's memory where it knows nothing.
Status findPlace(const Api &api, const void *data, Place &place);

/// A device with its primary context, the one that a process's CUDA programs
/// share.
class Device {
public:
  static Status open(const Api &api, int ordinal,
                     std::shared_ptr<const Device> &device);
  ~Device();

  const Api &api;
  const Properties properties;
  /// Among the devices that the library sees.
  const int ordinal;
  CtxHandle context() const { return handle; }
  DeviceId id() const { return number; }

private:
  Device(const Api &api, Properties properties, int ordinal, DeviceId number,
         CtxHandle handle)
      : api(api), properties(std::move(properties)), ordinal(ordinal),
        number(number), handle(handle) {}

  const DeviceId number;
  const CtxHandle handle;
};

} // namespace ringlet::rt::cuda

#endif // RINGLET_RUNTIME_CUDA_DEVICE_H
