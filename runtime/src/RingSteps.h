//===- RingSteps.h - Steps of a run on a ring ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_RINGSTEPS_H
#define RINGLET_RUNTIME_RINGSTEPS_H

#include "Program.h"
#include "ring/KeyStream.h"

#include "ringlet/abi/ring/Edges.h"
#include "ringlet/abi/ring/Sequences.h"
#include "ringlet/abi/ring/Turns.h"

#include <functional>
#include <map>

namespace ringlet::rt {

class Call;

/// What one rank does for an exchange of given sizes: made once, used by every
/// call.
struct RingShape {
  RingShape(ringlet::ring::Schedule schedule, int64_t rank,
            std::vector<size_t> rowBytes, int64_t batch,
            const ringlet::ring::Queues &queues, bool mayEnd);

  ringlet::ring::Schedule schedule;
  ring::KeyPlan keys;
  ringlet::ring::RankPieces of;
  std::vector<ringlet::ring::Turns> turns; // Of the calls of each step.
};

/// Those that an entry was last called with.
class RingShapeCache {
public:
  static constexpr size_t most = 8;

  std::shared_ptr<const RingShape> find(const std::vector<int64_t> &key);
  void insert(std::vector<int64_t> key, std::shared_ptr<const RingShape> shape);

private:
  std::mutex mutex;
  std::vector<std::pair<std::vector<int64_t>, std::shared_ptr<const RingShape>>>
      items; // The oldest first.
};

/// The exchanges of one run. Where one is left before its end, the ring fails
/// on all ranks.
class RingSteps {
public:
  /// Without a ring, this rank is the only one.
  RingSteps(const Program &program, const Entry &entry, ring::Ring *ring)
      : program(program), entry(entry), ring(ring) {}
  ~RingSteps();

  /// The tensors of the plan's buffers.
  using Tensors = std::vector<TensorView>;

  /// Begins an exchange, step `number` of the plan.
  Status exchange(uint32_t number, const Tensors &tensors,
                  std::optional<int64_t> offset, Stream stream);
  /// The bytes that an exchange and the kernels of its chunks take beside the
  /// run's own; all ranks ask.
  Status estimate(uint32_t number, const Tensors &tensors,
                  std::optional<int64_t> offset, uint64_t &bytes);
  /// Computes with its chunks.
  Status attend(const abi::Attend &step, const Tensors &tensors, Stream stream);

private:
  struct Exchange {
    const abi::Exchange *step = nullptr;
    std::shared_ptr<const RingShape> shape;
    std::unique_ptr<ring::KeyMemory> memory; // Before the stream: outlives it.
    std::unique_ptr<ring::KeyStream> stream;
    /// Sequences that a piece takes at once; those that differ have pieces of
    /// their own.
    int64_t batch = 1;
    bool isOfBatch = true;
    uint32_t axis = 1;
  };
  struct State {
    TensorView query, accumulator, maximum, sum;
    /// Where last pieces may end the softmax.
    std::optional<TensorView> output, lse;
  };
  int64_t rank() const { return ring ? ring->rank() : 0; }
  int64_t ranks() const { return ring ? ring->ranks() : 1; }
  ringlet::ring::Queues queues() const;
  /// The rows of all ranks, of queries and of keys.
  Status gatherRows(const Exchange &exchange, uint32_t number,
                    const Tensors &tensors, std::optional<int64_t> offset,
                    const ringlet::ring::SequenceNumbers &sequences,
                    std::vector<int64_t> &rows);
  Status shard(const abi::Exchange &step, const char *what, int64_t known,
               const std::vector<int64_t> &rows,
               std::optional<ringlet::ring::Shards> &shards) const;
  /// A list of the plan, where the host can read it.
  Status readList(const TensorView &list, std::vector<int64_t> &numbers) const;
  Status readSequences(const abi::Exchange &step, const Tensors &tensors,
                       std::optional<int64_t> offset,
                       ringlet::ring::SequenceNumbers &numbers) const;
  Status plan(Exchange &exchange, uint32_t number, const Tensors &tensors,
              std::optional<int64_t> offset);
  std::vector<ring::KeyRows> ownKeys(const Exchange &exchange,
                                     const Tensors &tensors) const;
  static State stateOf(const abi::Attend &step, const Exchange &exchange,
                       const Tensors &tensors);
  static Status checkState(const State &state, const TensorView &value,
                           uint32_t axis);
  /// Queues the kernels of a step; what the run queues next comes behind them.
  Status compute(const Exchange &exchange, const State &state,
                 const Tensors &tensors, int64_t step, const ring::Chunk *chunk,
                 Stream stream);
  /// Prepares the calls of a step's pieces; each is used before the next one.
  Status forEachCall(const Exchange &exchange, const State &state, int64_t step,
                     const TensorView &key, const TensorView &value,
                     const ring::Chunk *chunk,
                     const std::function<Status(Call &)> &use);

  const Program &program;
  const Entry &entry;
  ring::Ring *const ring;
  std::map<uint32_t, Exchange> open; // By the step that began it.
};

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_RINGSTEPS_H
