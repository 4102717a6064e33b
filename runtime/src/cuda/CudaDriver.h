//===- cuda/CudaDriver.h - An NVIDIA GPU as a device ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CUDA_CUDADRIVER_H
#define RINGLET_RUNTIME_CUDA_CUDADRIVER_H

#include "../Driver.h"

namespace ringlet::rt {

Status makeCudaDriver(const rl_context_options &options,
                      std::unique_ptr<Driver> &driver);
Status countCudaDevices(uint32_t &count);
Status describeCudaDevice(uint32_t index, rl_device &device);

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_CUDA_CUDADRIVER_H
