//===- cuda/MessageStream.h - A stream for messages of a ring ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CUDA_MESSAGESTREAM_H
#define RINGLET_RUNTIME_CUDA_MESSAGESTREAM_H

#include "Device.h"

#include "../Driver.h"

#include <map>
#include <memory>

namespace ringlet::rt::cuda {

/// Memory of another process: a handle of the allocation that it is in.
struct SharedName {
  IpcHandle handle;
  uint64_t offset;

  static Status make(const Device &device, Address data, std::string &name);
  static Status parse(const std::string &name, SharedName &shared);
};

/// A stream whose kernels, those of a communication library, get a
/// multiprocessor before kernels that wait for one as well.
class MessageStream final : public MessageQueue {
public:
  explicit MessageStream(std::shared_ptr<const Device> device)
      : api(device->api), device(std::move(device)) {}
  ~MessageStream() override;
  Status open();

  Stream stream() const override { return handle; }
  Status copy(void *to, const void *from, uint64_t bytes,
              const Driver &owner) override;
  Status push(const std::string &name, const void *from, uint64_t bytes,
              uint64_t offset) override;
  Status isIdle(bool &idle) override;

private:
  /// Another device of this process, which then reads and writes directly where
  /// the hardware lets it.
  Status findPeer(int ordinal, const Device *&peer);
  /// What another process has named; it stays open.
  Status openShared(const SharedName &name, Address &address);

  const Api &api;
  const std::shared_ptr<const Device> device;
  StreamHandle handle = nullptr;
  std::map<int, std::shared_ptr<const Device>> peers;
  std::map<std::string, Address> shared; // By handle.
};

} // namespace ringlet::rt::cuda

#endif // RINGLET_RUNTIME_CUDA_MESSAGESTREAM_H
