//===- cuda/Device.cpp - One GPU ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

using namespace ringlet::rt;
using namespace ringlet::rt::cuda;

Status cuda::countDevices(const Api &api, int &count) {
  return api.check(api.deviceGetCount(&count), "count the devices");
}

/// The device of that number among those that the library sees.
static Status findDevice(const Api &api, int ordinal, DeviceId &id) {
  int count = 0;
  RL_TRY(countDevices(api, count));
  if (count == 0)
    return failure(RL_UNAVAILABLE, "expected an NVIDIA GPU, found none");
  if (ordinal < 0 || ordinal >= count)
    return invalid("expected a cuda device from 0 to ", count - 1, ", found ",
                   ordinal);
  return api.check(api.deviceGet(&id, ordinal), text("open device ", ordinal));
}

Status cuda::readProperties(const Api &api, int ordinal,
                            Properties &properties) {
  DeviceId id;
  RL_TRY(findDevice(api, ordinal, id));
  std::string what = text("describe device ", ordinal);
  char name[256] = {};
  size_t bytes = 0;
  RL_TRY(api.check(api.deviceGetName(name, sizeof(name) - 1, id), what));
  RL_TRY(api.check(api.deviceTotalMem(&bytes, id), what));
  int major = 0, minor = 0, pools = 0;
  const struct {
    int attribute;
    int &value;
  } wanted[] = {
      {attribute::CapabilityMajor, major},
      {attribute::CapabilityMinor, minor},
      {attribute::Multiprocessors, properties.multiprocessors},
      {attribute::MaxThreadsPerBlock, properties.maxThreads},
      {attribute::MaxSharedOptIn, properties.maxSharedBytes},
      {attribute::MaxGridX, properties.maxGrid},
      {attribute::MaxPitch, properties.maxPitch},
  };
  for (const auto &item : wanted)
    RL_TRY(api.check(api.deviceGetAttribute(&item.value, item.attribute, id),
                     what));
  // An older library does not know the question.
  if (!api.hasPools() || api.deviceGetAttribute(&pools, attribute::MemoryPools,
                                                id) != result::Success)
    pools = 0;
  properties.name = name;
  properties.memoryBytes = bytes;
  properties.machine = {major * 10 + minor, api.version};
  properties.hasPools = pools != 0;
  return {};
}

Status cuda::findPlace(const Api &api, const void *data, Place &place) {
  // The library writes 32 bits, or fewer, of each.
  uint64_t type = 0, ordinal = 0, isManaged = 0;
  const int names[] = {pointer::MemoryType, pointer::Ordinal,
                       pointer::IsManaged};
  void *values[] = {&type, &ordinal, &isManaged};
  RL_TRY(api.check(
      api.pointerGetAttributes(3, names, values,
                               Address(reinterpret_cast<uintptr_t>(data))),
      text("look at address ", data)));
  place.device = int32_t(ordinal);
  place.memory = isManaged                       ? RL_MEMORY_CUDA_MANAGED
                 : type == pointer::DeviceMemory ? RL_MEMORY_CUDA
                 : type == pointer::HostMemory   ? RL_MEMORY_CUDA_HOST
                                                 : RL_MEMORY_HOST;
  return {};
}

Status Device::open(const Api &api, int ordinal,
                    std::shared_ptr<const Device> &device) {
  Properties properties;
  RL_TRY(readProperties(api, ordinal, properties));
  DeviceId id;
  RL_TRY(findDevice(api, ordinal, id));
  CtxHandle context = nullptr;
  RL_TRY(api.check(api.primaryRetain(&context, id),
                   text("start device ", ordinal)));
  device.reset(new Device(api, std::move(properties), ordinal, id, context));
  return {};
}

Device::~Device() { (void)api.primaryRelease(number); }
