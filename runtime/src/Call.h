//===- Call.h - One call of an entry ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CALL_H
#define RINGLET_RUNTIME_CALL_H

#include "Expr.h"
#include "Prepared.h"
#include "Program.h"
#include "Tensors.h"

#include <memory>
#include <vector>

namespace ringlet::rt {

class RingSteps;
class RunQueues;
namespace ring {
class Ring;
} // namespace ring

/// A value that the next user in this thread gets as it was left, so that lists
/// keep their memory. Users within users get one each.
template <typename T>
class Reused {
public:
  Reused() : value(spare ? std::move(spare) : std::make_unique<T>()) {}
  Reused(const Reused &) = delete;
  Reused &operator=(const Reused &) = delete;
  ~Reused() { spare = std::move(value); }

  T *operator->() const { return value.get(); }

private:
  std::unique_ptr<T> value;
  static inline thread_local std::unique_ptr<T> spare;
};

/// Lists of a call; those of execute() in the order of the shape's.
struct CallLists {
  std::vector<TensorView> arguments;
  std::vector<int64_t> key;
  std::vector<char *> places; // Of buffers.
  std::vector<int64_t> words;
  std::vector<char *> mapAddresses;
  /// What is to be started next.
  std::vector<LaunchCall> launches;
};

/// A call goes through two phases. prepare() checks everything that can be
/// wrong and computes everything that does not need memory; execute() takes
/// memory and works through the steps. Only execute() has effects.
class Call {
public:
  /// Without a ring, this process is the only rank.
  Call(const Program &program, const Entry &entry, ring::Ring *ring = nullptr)
      : program(program), entry(entry), ring(ring) {}

  Status prepare(const rl_tensor *tensors, uint32_t count, Binding binding);
  /// Of a step, which knows its tensors to be right.
  Status prepare(const std::vector<TensorView> &tensors);
  void fill(rl_estimate &estimate) const;
  /// Adds what exchanges take; all ranks call it.
  Status fillRing(rl_estimate &estimate);
  uint64_t runBytes() const { return shape->runBytes; }
  /// Multiprocessors that its kernels leave to what runs beside them.
  void spare(uint32_t multiprocessors) { spared = multiprocessors; }
  /// Queues the steps; complete on return where the driver has no queues.
  /// Workspace is the context's unless there is one of the embedder's.
  Status execute(Stream stream, char *ownWorkspace = nullptr,
                 uint64_t ownBytes = 0);

private:
  Status failed(const Status &status) const;
  Status obtain(const Queue &queue, Workspace &workspace);
  Status obtainTables(bool captured, bool &overLimit);
  /// The embedder's workspace, and tables.
  Status borrow(const Queue &queue, char *block, uint64_t bytes,
                Workspace &workspace);
  /// Gives addresses to all that the steps need.
  void place(const Workspace &workspace);
  Status runSteps(RunQueues &queues, RingSteps &ringSteps, char *scratch);
  void runLaunch(const Prepared::Launch &launch, char *scratch, Stream stream);
  Status runCopy(const Prepared::Copy &copy, Stream stream);
  /// The tensors of the plan's buffers.
  std::vector<TensorView> placedBuffers() const;
  Status runRing(RingSteps &ringSteps, const Prepared::Step &step,
                 Stream stream);
  Status prepareArguments();
  RingPlace ringPlace() const;
  /// Starts the launches that wait, which `batch` may do at once.
  Status start(Batch *batch = nullptr);
  std::string needs() const;

  const Program &program;
  const Entry &entry;
  ring::Ring *const ring;
  uint32_t spared = 0;
  std::shared_ptr<const Prepared> shape;
  std::vector<std::shared_ptr<const IndexTable>> tables; // Of its tableUses.
  Reused<CallLists> lists;
};

/// The sizes of an entry's outputs, RL_MAX_RANK values for each.
Status outputSizes(const Entry &entry, const rl_tensor *tensors, uint32_t count,
                   int64_t *sizes);

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_CALL_H
