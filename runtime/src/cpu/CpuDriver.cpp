//===- CpuDriver.cpp - The host's processor as a device ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuDriver.h"

#include "Features.h"
#include "SharedObject.h"
#include "SystemMemory.h"
#include "ThreadPool.h"

#include "ringlet/abi/Verify.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace ringlet;
using namespace ringlet::rt;
using namespace ringlet::rt::cpu;

namespace {

/// More is a mistake in units, not a machine.
const uint32_t mostThreads = 4096;
/// Two cache lines, which processors fetch in pairs.
const uint64_t linePair = 128;

class CpuDriver : public Driver {
public:
  explicit CpuDriver(std::unique_ptr<ThreadPool> pool)
      : pool(std::move(pool)) {}

  const char *name() const override { return "cpu"; }
  std::string description() const override {
    return highestLevel(thisMachine());
  }
  uint32_t threads() const override { return pool->size(); }
  uint64_t alignment() const override { return linePair; }
  uint64_t freeBytes() const override { return availableSystemMemory(); }

  Status allocate(uint64_t bytes, char *&block) override;
  void release(char *block, uint64_t) override { std::free(block); }

  uint64_t scratchBytes(uint64_t perThread) const override {
    return perThread * pool->size(); // At most 2^32 * 4096.
  }
  int rank(const abi::CodeObject &code, std::string &why) const override {
    return rankTarget(code, thisMachine(), why);
  }
  Status load(const abi::CodeObject &code, const Logger &logger,
              std::shared_ptr<Module> &module) override {
    return SharedObject::load(code.bytes()->data(), code.bytes()->size(),
                              logger, module);
  }
  Status launch(const LaunchCall &call) override;
  Status copy(const CopyPair &pair, Stream) override;

private:
  std::unique_ptr<ThreadPool> pool;
};

} // namespace

Status CpuDriver::allocate(uint64_t bytes, char *&block) {
  void *memory = nullptr;
  if (bytes > SIZE_MAX || ::posix_memalign(&memory, linePair, bytes) != 0)
    return failure(RL_OUT_OF_MEMORY, "the system refuses ", bytes, " bytes");
  block = static_cast<char *>(memory);
  return {};
}

Status CpuDriver::launch(const LaunchCall &call) {
  using Kernel = void (*)(const int64_t *params, int64_t begin, int64_t end,
                          void *scratch);
  pool->run(
      call.items,
      [](void *context, int64_t begin, int64_t end, uint32_t slot) {
        const auto &call = *static_cast<const LaunchCall *>(context);
        auto kernel = reinterpret_cast<Kernel>(call.kernel);
        char *scratch = call.scratchPerThread
                            ? call.scratch + slot * call.scratchPerThread
                            : nullptr;
        kernel(call.params, begin, end, scratch);
      },
      const_cast<LaunchCall *>(&call));
  return {};
}

namespace {

struct CopyJob {
  const TensorView &source, &destination;
  size_t rowBytes, elementBytes;
};

} // namespace

/// Copies rows [begin, end): lines along the last axis, which is contiguous.
static void copyRows(void *context, int64_t begin, int64_t end, uint32_t) {
  const auto &job = *static_cast<const CopyJob *>(context);
  const TensorView &from = job.source, &to = job.destination;
  for (int64_t row = begin; row < end; ++row) {
    int64_t rest = row, fromOffset = 0, toOffset = 0;
    for (uint32_t axis = from.rank - 1; axis-- > 0;) {
      int64_t i = rest % from.sizes[axis];
      rest /= from.sizes[axis];
      fromOffset += i * from.strides[axis];
      toOffset += i * to.strides[axis];
    }
    std::memcpy(to.data + toOffset * int64_t(job.elementBytes),
                from.data + fromOffset * int64_t(job.elementBytes),
                job.rowBytes);
  }
}

Status CpuDriver::copy(const CopyPair &pair, Stream) {
  const auto &[source, destination] = pair;
  size_t elementBytes = abi::dtypeSize(source.dtype);
  if (source.rank == 0) {
    std::memcpy(destination.data, source.data, elementBytes);
    return {};
  }
  auto last = size_t(source.sizes[source.rank - 1]);
  if (last == 0)
    return {};
  int64_t rows = 1;
  for (uint32_t axis = 0; axis + 1 < source.rank; ++axis)
    rows *= source.sizes[axis]; // Counts elements that exist: cannot overflow.
  CopyJob job = {source, destination, last * elementBytes, elementBytes};
  pool->run(rows, copyRows, &job);
  return {};
}

Status rt::describeCpu(uint32_t index, rl_device &device) {
  if (index != 0)
    return invalid("expected device 0, the only one of the cpu driver, found ",
                   index);
  auto put = [](const std::string &string, char *place, size_t size) {
    std::strncpy(place, string.c_str(), size - 1);
  };
  put(processorName(), device.name, sizeof(device.name));
  put(highestLevel(thisMachine()), device.architecture,
      sizeof(device.architecture));
  device.memory_bytes = totalSystemMemory();
  device.multiprocessors = std::max(1u, std::thread::hardware_concurrency());
  return {};
}

Status rt::makeCpuDriver(const rl_context_options &options,
                         std::unique_ptr<Driver> &driver) {
  if (options.device != 0)
    return invalid("expected device 0, the only one of the cpu driver, found ",
                   options.device);
  if (options.threads > mostThreads)
    return invalid("expected at most ", mostThreads, " threads, found ",
                   options.threads);
  uint32_t threads = options.threads;
  if (threads == 0)
    threads = std::min(std::max(1u, std::thread::hardware_concurrency()),
                       mostThreads);
  std::unique_ptr<ThreadPool> pool;
  RL_TRY(ThreadPool::create(threads, pool));
  driver = std::make_unique<CpuDriver>(std::move(pool));
  return {};
}
