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
  /// Its blocks may start while the launch in front still runs.
  bool isEarly() const { return early; }
  /// "start a kernel of ...".
  std::string description() const;

private:
  KernelNode kernel = {};
  bool early = false;
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
  /// Puts a kernel behind the one `before`, if there is one.
  Status add(const KernelStart &start, const NodeHandle *before,
             NodeHandle &node);

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
