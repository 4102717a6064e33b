//===- cuda/Launch.h - Kernels one by one or as a graph ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CUDA_LAUNCH_H
#define RINGLET_RUNTIME_CUDA_LAUNCH_H

#include "CudaModule.h"

#include <memory>
#include <string>
#include <vector>

namespace ringlet::rt::cuda {

/// A launch as libcuda takes it. It points into the call and into itself.
class KernelStart {
public:
  KernelStart() = default;
  KernelStart(const KernelStart &) = delete;
  KernelStart &operator=(const KernelStart &) = delete;

  /// Fails where a map cannot have its address.
  Status set(const Api &api, const LaunchCall &call);
  const KernelNode &node() const { return kernel; }
  /// "start a kernel of ...".
  std::string description() const;

private:
  KernelNode kernel = {};
  size_t bytes;
  void *packed[5];
  EncodedMap maps[abi::kMaxMaps];
  void *places[1 + mostWords];
};

/// Kernels as a graph, which takes a third of the host's time that it takes to
/// launch them one by one. At a launch, the kernels of which a parameter has
/// changed get their parameters anew.
class GraphBatch : public Batch {
public:
  explicit GraphBatch(std::shared_ptr<const Device> device)
      : api(device->api), device(std::move(device)) {}
  ~GraphBatch() override;

  /// Once, before any launch.
  Status make(const LaunchCall *calls, size_t count);
  Status launch(const LaunchCall *calls, size_t count) override;

private:
  struct Member {
    NodeHandle node = nullptr;
    std::vector<int64_t> words;
    std::vector<char *> mapAddresses;

    bool has(const LaunchCall &call) const;
    void take(const LaunchCall &call);
  };

  const Api &api;
  const std::shared_ptr<const Device> device;
  GraphHandle graph = nullptr; // The nodes are its.
  GraphExecHandle ready = nullptr;
  std::vector<Member> members;
};

} // namespace ringlet::rt::cuda

#endif // RINGLET_RUNTIME_CUDA_LAUNCH_H
