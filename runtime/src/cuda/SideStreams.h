//===- cuda/SideStreams.h - Streams beside those of callers ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CUDA_SIDESTREAMS_H
#define RINGLET_RUNTIME_CUDA_SIDESTREAMS_H

#include "Device.h"

#include "../Driver.h"

#include <memory>
#include <mutex>
#include <vector>

namespace ringlet::rt::cuda {

/// Streams and events that runs borrow. Once a run has queued its work, both
/// serve the next one: what waits for an event waits for what was recorded by
/// then. A stream that has become part of a capture stays so until the capture
/// ends, and serves nobody until then.
class SideStreams {
public:
  explicit SideStreams(std::shared_ptr<const Device> device)
      : api(device->api), device(std::move(device)) {}
  ~SideStreams();

  Status open(std::unique_ptr<SideQueue> &side);

private:
  class Side;
  Status takeStream(StreamHandle &stream);
  Status takeEvent(EventHandle &event);
  void give(StreamHandle stream, const std::vector<EventHandle> &used);

  const Api &api;
  const std::shared_ptr<const Device> device;
  std::mutex mutex; // Guards what follows.
  std::vector<StreamHandle> streams;
  std::vector<EventHandle> events;
};

} // namespace ringlet::rt::cuda

#endif // RINGLET_RUNTIME_CUDA_SIDESTREAMS_H
