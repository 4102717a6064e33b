//===- Driver.h - What the plan interpreter needs of a device ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One subclass for each kind of device. The interpreter checks a call, lays out
// memory and walks the plan's steps; a driver holds memory, loads code and
// starts kernels.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_DRIVER_H
#define RINGLET_RUNTIME_DRIVER_H

#include "Log.h"
#include "Status.h"

#include "ringlet/abi/ArtifactGenerated.h"
#include "ringlet/abi/Limits.h"

#include <cstdint>
#include <memory>
#include <string>

namespace ringlet::rt {

/// A tensor in the device's memory. Strides count elements.
struct TensorView {
  char *data = nullptr;
  abi::DType dtype = abi::DType::None;
  uint32_t rank = 0;
  int64_t sizes[abi::kMaxRank] = {};
  int64_t strides[abi::kMaxRank] = {};
};

/// A loaded code object; unloaded with the last reference.
class Module {
public:
  virtual ~Module() = default;
  /// The kernel behind a symbol, for Driver::launch of the same driver.
  virtual Status find(const std::string &symbol, void *&kernel) = 0;
};

/// One run of a kernel over all items of its grid.
struct LaunchCall {
  void *kernel;
  /// The flat array of the kernel ABI (see KernelParam in artifact.fbs).
  const int64_t *params;
  uint32_t paramCount;
  /// The product of the grid's extents; at least 1.
  int64_t items;
  /// Driver::scratchBytes(bytes for one thread) bytes of this run's own.
  char *scratch;
  uint64_t scratchPerThread;
};

class Driver {
public:
  virtual ~Driver() = default;

  virtual const char *name() const = 0;
  /// The best target that the device runs, "x86-64-v3"; for messages.
  virtual std::string description() const = 0;
  virtual uint32_t threads() const = 0;

  //===--- Memory. Every block is aligned to alignment(). -----------------===//

  virtual uint64_t alignment() const = 0;
  virtual Status allocate(uint64_t bytes, char *&block) = 0;
  virtual void release(char *block, uint64_t bytes) = 0;
  /// What can still be allocated, as far as the system tells; else UINT64_MAX.
  virtual uint64_t freeBytes() const = 0;
  /// Scratch for all threads of a launch.
  virtual uint64_t scratchBytes(uint64_t perThread) const = 0;

  //===--- Code -----------------------------------------------------------===//

  /// How much this device gains from the code object: more is better, less
  /// than 0 is not runnable, for the reason in `why`.
  virtual int rank(const abi::CodeObject &code, std::string &why) const = 0;
  virtual Status load(const abi::CodeObject &code, const Logger &logger,
                      std::shared_ptr<Module> &module) = 0;

  //===--- Work, complete on return. Any thread may call, also at once. ---===//

  virtual Status launch(const LaunchCall &call) = 0;
  /// Same element type and sizes, no overlap.
  virtual Status copy(const TensorView &source,
                      const TensorView &destination) = 0;
};

/// The driver called `name`, or why there is none.
Status makeDriver(const std::string &name, const rl_context_options &options,
                  std::unique_ptr<Driver> &driver);

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_DRIVER_H
