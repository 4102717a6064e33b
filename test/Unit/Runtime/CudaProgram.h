//===- CudaProgram.h - Test artefacts for a GPU ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_RUNTIME_CUDAPROGRAM_H
#define RINGLET_TEST_UNIT_RUNTIME_CUDAPROGRAM_H

#include "TestProgram.h"

namespace ringlet::test {

/// Kernels.ptx, and what ptxas makes of it for sm_90 (empty without ptxas).
const std::vector<uint8_t> &ptxCode();
const std::vector<uint8_t> &cubinCode();

/// Turns the builder's only code object and all of its kernels into code for a
/// GPU: blocks of 128 threads, and 64 KiB of shared memory for "probe".
void useCuda(Builder &builder, const std::string &target,
             abi::CodeFormat format, const std::vector<uint8_t> &code);
/// Kernels.ptx for sm_80.
void usePtx(Builder &builder);
/// A value of the kernel's resources.
void setResource(Builder &builder, uint32_t kernel, const std::string &key,
                 const std::string &value);

/// Entry "boxes<rate>": result0 = x, bf16 [?, ?, ?], by way of a copy engine,
/// and Boxes.ptx as the code of the builder. The rate is at least 2.
void addBoxes(Builder &builder, int64_t rate);

/// Null, after it has failed the test unless `mayFail`, if there is none.
ContextPtr makeCudaContext(bool mayFail = false, uint64_t memoryLimit = 0);

/// Device memory with the content of a vector.
template <typename T>
class OnDevice {
public:
  OnDevice(rl_context *context, const std::vector<T> &values)
      : context(context), count(values.size()) {
    ok = rl_memory_allocate(context, count * sizeof(T), &data) == RL_OK &&
         rl_memory_copy(context, data, values.data(), count * sizeof(T),
                        RL_TO_DEVICE) == RL_OK;
  }
  OnDevice(const OnDevice &) = delete;
  ~OnDevice() { rl_memory_release(context, data); }

  std::vector<T> read() const {
    std::vector<T> values(count);
    if (rl_memory_copy(context, values.data(), data, count * sizeof(T),
                       RL_FROM_DEVICE) != RL_OK)
      values.clear();
    return values;
  }

  rl_context *context;
  size_t count;
  void *data = nullptr;
  bool ok = false;
};

} // namespace ringlet::test

#endif // RINGLET_TEST_UNIT_RUNTIME_CUDAPROGRAM_H
