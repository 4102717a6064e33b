//===- cuda/CopyKernel.h - Strided copies by a kernel ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver's library copies rows that lie apart two axes at a time: 10 us of
// the host's time for each call, and a twentieth of the memory's rate. One
// kernel takes many views at once.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CUDA_COPYKERNEL_H
#define RINGLET_RUNTIME_CUDA_COPYKERNEL_H

#include "../Driver.h"
#include "Device.h"

#include <array>
#include <mutex>
#include <string>
#include <vector>

namespace ringlet::rt::cuda {

/// A copy as the kernel reads it: rows of units that follow each other, along
/// three more axes.
struct StridedCopy {
  static constexpr uint32_t kAxes = 3;

  uint64_t source = 0, target = 0;                              // Addresses.
  int64_t sourceStrides[kAxes] = {}, targetStrides[kAxes] = {}; // Of bytes.
  uint32_t sizes[kAxes] = {1, 1, 1};                            // Inner first.
  uint32_t width = 0; // Of a row: bytes at first, units for the kernel.
};

/// Adds what is together the copy of one view to another one of the same type
/// and sizes. False, with nothing added, if its rows are too long.
bool addCopies(const CopyPair &pair, std::vector<StridedCopy> &copies);

/// Counts widths in the greatest unit that all have, 16, 4 or 1 bytes, which is
/// returned.
uint32_t chooseUnit(std::vector<StridedCopy> &copies);

/// The text of the kernels, one for each unit.
std::string makeCopyKernels();

/// The kernels on a device, which loads them when they are first needed.
class CopyKernel {
public:
  explicit CopyKernel(std::shared_ptr<const Device> device)
      : device(std::move(device)) {}
  ~CopyKernel();

  /// Whether the device's library takes the kernels' text.
  bool isThere();
  Status launch(std::vector<StridedCopy> copies, Stream stream);

private:
  void load();

  const std::shared_ptr<const Device> device;
  std::once_flag once;
  ModuleHandle module = nullptr;
  std::array<FunctionHandle, 3> functions = {}; // One for each unit.
};

} // namespace ringlet::rt::cuda

#endif // RINGLET_RUNTIME_CUDA_COPYKERNEL_H
