//===- cuda/SideStreams.cpp - Streams beside those of callers ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SideStreams.h"

using namespace ringlet;
using namespace ringlet::rt;
using namespace ringlet::rt::cuda;

class SideStreams::Side : public SideQueue {
public:
  explicit Side(SideStreams &owner) : owner(owner) {}
  ~Side() override {
    if (handle)
      owner.give(handle, used);
  }
  Status open() { return owner.takeStream(handle); }

  Stream stream() const override { return handle; }

  Status record(Stream stream, uint32_t &event) override {
    EventHandle taken;
    RL_TRY(owner.takeEvent(taken));
    {
      std::lock_guard<std::mutex> lock(mutex);
      event = uint32_t(used.size());
      used.push_back(taken);
    }
    Current current(owner.api, owner.device->context());
    RL_TRY(current.status());
    return owner.api.check(owner.api.eventRecord(taken, stream),
                           "record an event");
  }
  Status wait(Stream stream, uint32_t event) override {
    Current current(owner.api, owner.device->context());
    RL_TRY(current.status());
    return owner.api.check(owner.api.streamWaitEvent(stream, at(event), 0),
                           "wait for an event");
  }
  Status query(uint32_t event, bool &reached) override {
    OutsideCapture outside(owner.api);
    Current current(owner.api, owner.device->context());
    RL_TRY(current.status());
    Result code = owner.api.eventQuery(at(event));
    reached = code == result::Success;
    return code == result::NotReady ? Status()
                                    : owner.api.check(code, "reach an event");
  }

private:
  EventHandle at(uint32_t event) {
    std::lock_guard<std::mutex> lock(mutex);
    return used[event];
  }

  SideStreams &owner;
  StreamHandle handle = nullptr;
  std::mutex mutex; // Guards what follows.
  std::vector<EventHandle> used;
};

SideStreams::~SideStreams() {
  OutsideCapture outside(api);
  Current current(api, device->context());
  if (!current.ok())
    return;
  // Work that is queued still runs to its end.
  for (EventHandle event : events)
    (void)api.eventDestroy(event);
  for (StreamHandle stream : streams)
    (void)api.streamDestroy(stream);
}

Status SideStreams::open(std::unique_ptr<SideQueue> &side) {
  auto made = std::make_unique<Side>(*this);
  RL_TRY(made->open());
  side = std::move(made);
  return {};
}

Status SideStreams::takeStream(StreamHandle &stream) {
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto idle = streams.begin(); idle != streams.end(); ++idle) {
      int status = capture::None;
      if (api.streamIsCapturing(*idle, &status) != result::Success ||
          status != capture::None)
        continue;
      stream = *idle;
      streams.erase(idle);
      return {};
    }
  }
  return api.check(api.streamCreate(&stream, NonBlockingStream),
                   "create a stream");
}

Status SideStreams::takeEvent(EventHandle &event) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!events.empty()) {
      event = events.back();
      events.pop_back();
      return {};
    }
  }
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  return api.check(api.eventCreate(&event, EventWithoutTime),
                   "create an event");
}

void SideStreams::give(StreamHandle stream,
                       const std::vector<EventHandle> &used) {
  std::lock_guard<std::mutex> lock(mutex);
  streams.push_back(stream);
  events.insert(events.end(), used.begin(), used.end());
}
