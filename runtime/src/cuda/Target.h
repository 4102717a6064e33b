//===- cuda/Target.h - Which code a GPU runs ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CUDA_TARGET_H
#define RINGLET_RUNTIME_CUDA_TARGET_H

#include "ringlet/abi/ArtifactGenerated.h"

#include <string>

namespace ringlet::rt::cuda {

/// Compute capability 9.0 is 90, 12.0 is 120.
struct Machine {
  int capability = 0;
  /// Of the driver's CUDA, as Api::version.
  int cudaVersion = 0;

  std::string architecture() const {
    return "sm_" + std::to_string(capability);
  }
};

/// How well the code fits: newer architectures higher, and of one architecture
/// its own features, then machine code. -1 and the reason, which names the
/// machine, if it does not run.
///  - sm_XY as machine code runs on the same major version and any minor one
///    from Y on; as PTX, on any from XY on whose driver takes its PTX version.
///  - sm_XYa runs on XY only.
///  - sm_XYf runs on the same major version from Y on.
int rankTarget(const abi::CodeObject &code, const Machine &machine,
               std::string &why);

/// The PTX version that a driver takes, times ten (CUDA 12.8: 87); for a CUDA
/// newer than this library, the newest that it knows.
int newestPtx(int cudaVersion);

} // namespace ringlet::rt::cuda

#endif // RINGLET_RUNTIME_CUDA_TARGET_H
