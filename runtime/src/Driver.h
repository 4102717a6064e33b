//===- Driver.h - What the plan interpreter needs of a device ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One subclass for each kind of device. The interpreter checks a call, lays out
// memory and walks the plan's steps; a driver holds memory, loads code and
// starts kernels. What has a default here is the answer of a driver that works
// on the host's memory and whose calls return when all is done.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_DRIVER_H
#define RINGLET_RUNTIME_DRIVER_H

#include "Log.h"
#include "Status.h"

#include "ringlet/abi/ArtifactGenerated.h"
#include "ringlet/abi/Limits.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ringlet::rt {

/// A tensor in the device's memory. Strides count elements.
struct TensorView {
  char *data = nullptr;
  abi::DType dtype = abi::DType::None;
  uint32_t rank = 0;
  int64_t sizes[abi::kMaxRank] = {};
  int64_t strides[abi::kMaxRank] = {};
};

/// Of the same element type and sizes.
struct CopyPair {
  TensorView source, destination;
};

/// A tensor as the copy engine of a GPU sees it. Axis 0 is the innermost, of
/// elements one after the other; strides count bytes.
struct MapShape {
  abi::DType dtype = abi::DType::None;
  uint32_t rank = 0;
  uint64_t sizes[abi::kMaxMapRank] = {};
  uint64_t strides[abi::kMaxMapRank] = {};
  uint32_t box[abi::kMaxMapRank] = {};
};

/// The same in the form that a device takes, but for the address.
struct alignas(64) EncodedMap {
  unsigned char bytes[128];
};

/// A loaded code object; unloaded with the last reference.
class Module {
public:
  virtual ~Module() = default;
  /// The code of a kernel, for Driver::launch of the same driver; it lives as
  /// long as the module. `code` is the description's for this code object.
  virtual Status find(const abi::Kernel &description,
                      const abi::KernelCode &code, void *&kernel) = 0;
};

/// A queue of the device, as the embedder names it (CUstream). Null is a queue,
/// too, where the driver has queues, and means nothing where it has none.
using Stream = void *;

/// A stream, and its number where the driver can tell it from all others.
struct Queue {
  Queue(Stream stream, std::optional<uint64_t> number = std::nullopt)
      : stream(stream), number(number) {}

  Stream stream;
  std::optional<uint64_t> number;
};

/// Memory as the embedder describes it.
struct Place {
  rl_memory memory = RL_MEMORY_UNKNOWN;
  int32_t device = 0;
};

/// Between which memories Driver::transfer copies.
enum class Transfer { ToDevice, FromDevice, OnDevice };

/// One run of a kernel over all items of its grid.
struct LaunchCall {
  void *kernel;
  /// The flat array of the kernel ABI (see KernelParam in artifact.fbs).
  const int64_t *params;
  uint32_t paramCount;
  /// Those of KernelCode in artifact.fbs, and the address that each gets, a
  /// multiple of kMapAlignment.
  const EncodedMap *maps;
  char *const *mapAddresses;
  uint32_t mapCount;
  /// The product of the grid's extents; at least 1.
  int64_t items;
  /// Driver::scratchBytes(bytes for one thread) bytes of this run's own.
  char *scratch;
  uint64_t scratchPerThread;
  Stream stream;
  /// The work in front of it on the stream is a launch of the same run.
  bool follows = false;
  /// Multiprocessors that a kernel whose blocks stay leaves to others.
  uint32_t spared = 0;
};

/// The kernels of a run, kept ready for the next one. For one queue, and for
/// one thread at a time.
class Batch {
public:
  virtual ~Batch() = default;
  /// Starts them, each behind the one before it. From call to call they differ
  /// in the values of parameters and in the addresses of maps only.
  virtual Status launch(const LaunchCall *calls, size_t count) = 0;
};

/// A queue beside that of a run, for the time of the run, and events that order
/// the two.
class SideQueue {
public:
  virtual ~SideQueue() = default;
  virtual Stream stream() const = 0;
  /// Numbers an event: the end of what is queued on `stream` so far.
  virtual Status record(Stream stream, uint32_t &event) = 0;
  /// What is queued on `stream` from now on begins after an event.
  virtual Status wait(Stream stream, uint32_t event) = 0;
  /// Whether an event has been reached. Any thread may ask.
  virtual Status query(uint32_t event, bool &reached) = 0;
};

class Driver;

/// A queue for messages of a ring, which go before kernels where both could go
/// on. For one thread at a time. This one is of a driver whose work is complete
/// on return.
class MessageQueue {
public:
  virtual ~MessageQueue() = default;
  virtual Stream stream() const { return nullptr; }
  /// Queues a copy to memory of the queue's device; that at `from` is of
  /// `owner`, the same kind of driver in this process.
  virtual Status copy(void *to, const void *from, uint64_t bytes,
                      const Driver &owner);
  /// Queues a copy to memory of another process on this host, from `offset` on
  /// behind what the same kind of driver there has named.
  virtual Status push(const std::string &name, const void *from, uint64_t bytes,
                      uint64_t offset = 0);
  /// Whether all that was queued has ended. Waits for nothing.
  virtual Status isIdle(bool &idle) {
    idle = true;
    return {};
  }
};

class Driver {
public:
  virtual ~Driver() = default;

  virtual const char *name() const = 0;
  /// The best target that the device runs, "x86-64-v3"; for messages.
  virtual std::string description() const = 0;
  virtual uint32_t threads() const = 0;
  /// That run blocks of a kernel at once; the threads of a CPU.
  virtual uint32_t multiprocessors() const { return threads(); }

  //===--- Memory. Every block is aligned to alignment(). -----------------===//

  virtual uint64_t alignment() const = 0;
  virtual Status allocate(uint64_t bytes, char *&block) = 0;
  virtual void release(char *block, uint64_t bytes) = 0;
  /// What can still be allocated, as far as the system tells; else UINT64_MAX.
  virtual uint64_t freeBytes() const = 0;
  /// Scratch for all threads of a launch.
  virtual uint64_t scratchBytes(uint64_t perThread) const = 0;
  /// True if kernels work on the host's memory.
  virtual bool usesHostMemory() const { return true; }
  /// Whether kernels can work on memory at this address. Where the embedder
  /// does not say what it is, the driver looks, if it can.
  virtual Status checkPlace(const void *data, const Place &place) const;
  /// The same of a number that the host reads.
  virtual Status checkHostPlace(const void *data, const Place &place) const;
  /// Copies from the host what many runs will read; complete on return, it
  /// waits for no run. For drivers whose kernels do not read the host's memory.
  virtual Status upload(char *to, const void *from, uint64_t bytes);
  /// Runs a kernel whose product many runs will read, likewise.
  virtual Status generate(LaunchCall call) { return launch(call); }
  /// The queue of these two.
  virtual Stream uploadStream() const { return nullptr; }
  /// Waits for all work on the device, as far as that is possible.
  virtual void finish() {}
  /// Calls the embedder with the device current, or fails.
  virtual Status callBack(const std::function<void()> &function) const {
    function();
    return {};
  }
  /// Complete on return.
  virtual Status transfer(void *to, const void *from, uint64_t bytes,
                          Transfer direction);

  //===--- Code -----------------------------------------------------------===//

  /// How much this device gains from the code object: more is better, less
  /// than 0 is not runnable, for the reason in `why`.
  virtual int rank(const abi::CodeObject &code, std::string &why) const = 0;
  virtual Status load(const abi::CodeObject &code, const Logger &logger,
                      std::shared_ptr<Module> &module) = 0;

  //===--- Work. Any thread may call, also at once. -----------------------===//

  /// The most items that one launch can have, of a kernel of which so many
  /// blocks a multiprocessor stay (0: each block has one item).
  virtual int64_t mostItems(uint32_t blocksThatStay) const {
    (void)blocksThatStay;
    return INT64_MAX;
  }
  virtual Status launch(const LaunchCall &call) = 0;
  /// A batch of these kernels, not started yet. Null where launches one by one
  /// are as good, or all there is.
  virtual std::unique_ptr<Batch> makeBatch(const LaunchCall *calls,
                                           size_t count) {
    (void)calls, (void)count;
    return nullptr;
  }
  /// Fails, with the reason, for what the device cannot copy.
  virtual Status encodeMap(const MapShape &shape, EncodedMap &map) const;
  /// Sets `count` elements, which follow each other.
  virtual Status fill(float *data, uint64_t count, float value, Stream stream);
  /// Neither is empty, and they do not overlap.
  virtual Status copy(const CopyPair &pair, Stream stream) = 0;
  /// Several of them, in any order.
  virtual Status copyAll(const std::vector<CopyPair> &pairs, Stream stream) {
    for (const CopyPair &pair : pairs)
      RL_TRY(copy(pair, stream));
    return {};
  }

  //===--- Queues. Without them, work is complete on return. --------------===//

  /// The queue of runs for which the embedder gives none.
  virtual Stream ownStream() const { return nullptr; }
  virtual Status wait(Stream) { return {}; }
  /// A fault that work has met so far. Waits for none.
  virtual Status check() const { return {}; }
  /// A second queue for a run. Null where work is complete on return: steps in
  /// the order of the plan are in a legal one.
  virtual Status openSide(std::unique_ptr<SideQueue> &side) {
    side.reset();
    return {};
  }
  /// A queue for messages.
  virtual Status openMessages(std::unique_ptr<MessageQueue> &queue);
  /// A name, of at most 80 bytes, by which other processes on this host find
  /// memory that `allocate` gave, and what follows it there.
  virtual Status share(char *data, std::string &name) const;
  /// The number by which libraries of its vendor know the device.
  virtual int ordinal() const { return 0; }
  /// True if what is queued becomes a graph, to be run later and again: memory
  /// that it uses must stay.
  virtual Status isCaptured(Stream, bool &captured) {
    captured = false;
    return {};
  }
  /// With a number that no other queue has or ever will have. It has none if
  /// what is queued becomes a graph, to be run later and again.
  virtual Queue identify(Stream stream) const { return stream; }
  /// True if the memory of a run comes and goes in the order of its queue, by
  /// what follows; else a run keeps its block to its end.
  virtual bool ordersMemory() const { return false; }
  virtual Status allocateOn(Stream stream, uint64_t bytes, char *&block) {
    (void)stream;
    return allocate(bytes, block);
  }
  virtual void releaseOn(Stream stream, char *block, uint64_t bytes) {
    (void)stream;
    release(block, bytes);
  }
  /// Held for such memory, in use or idle.
  virtual uint64_t orderedBytes() const { return 0; }
  /// Gives the idle part back.
  virtual void trim() {}
};

/// The driver called `name`, or why there is none.
Status makeDriver(const std::string &name, const rl_context_options &options,
                  std::unique_ptr<Driver> &driver);
/// The devices of the driver called `name`.
Status countDevices(const std::string &name, uint32_t &count);
Status describeDevice(const std::string &name, uint32_t index,
                      rl_device &device);

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_DRIVER_H
