//===- cuda/CudaModule.h - Code on a GPU ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CUDA_CUDAMODULE_H
#define RINGLET_RUNTIME_CUDA_CUDAMODULE_H

#include "../Driver.h"
#include "Device.h"

#include <deque>

namespace ringlet::rt::cuda {

/// A kernel with the shape of its blocks.
struct Kernel {
  FunctionHandle function = nullptr;
  uint32_t threads = 0;
  uint32_t sharedBytes = 0; // Dynamic.
  /// 0: a block for each item.
  uint32_t blocksPerMultiprocessor = 0;
  uint32_t multiprocessors = 0;
  /// It waits for the launch in front of it by itself.
  bool startsEarly = false;
};

/// Words of 64 bits that a kernel may have as parameters, those of tensor maps
/// included: 4 KiB, which every architecture takes. Maps cost 64 bytes more,
/// for their alignment.
inline constexpr uint32_t mostWords = 512;
inline constexpr uint32_t wordsOfMap = sizeof(EncodedMap) / sizeof(int64_t);

/// A cubin or PTX text, loaded into a device's primary context.
class CudaModule : public Module {
public:
  static Status load(std::shared_ptr<const Device> device,
                     const abi::CodeObject &code,
                     std::shared_ptr<Module> &module);
  ~CudaModule() override;
  /// `kernel` becomes a cuda::Kernel that lives as long as the module.
  Status find(const abi::Kernel &description, const abi::KernelCode &code,
              void *&kernel) override;

private:
  explicit CudaModule(std::shared_ptr<const Device> device)
      : device(std::move(device)) {}

  const std::shared_ptr<const Device> device;
  ModuleHandle handle = nullptr;
  std::deque<Kernel> kernels; // Their addresses stay.
};

} // namespace ringlet::rt::cuda

#endif // RINGLET_RUNTIME_CUDA_CUDAMODULE_H
