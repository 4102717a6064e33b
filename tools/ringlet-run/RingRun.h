//===- RingRun.h - Runs an entry on the ranks of a ring ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TOOLS_RINGLET_RUN_RINGRUN_H
#define RINGLET_TOOLS_RINGLET_RUN_RINGRUN_H

#include "lib/Tensor/Tensor.h"
#include "ringlet/abi/ArtifactGenerated.h"
#include "ringlet/abi/ring/Schedule.h"
#include "ringlet/abi/ring/Sequences.h"
#include "ringlet/runtime.h"
#include "tools/ringlet-run/Options.h"

#include <optional>
#include <string>
#include <vector>

namespace ringlet::run {

/// An entry with sharded tensors on a ring: of threads of this process, each
/// with a context of its own, or as the rank of torchrun's environment that
/// this process is.
class RingRun {
public:
  RingRun(const Options &options, const std::vector<uint8_t> &artefact,
          const abi::Function &function, uint32_t entry);

  /// Whether the entry exchanges keys, and options or environment say how many
  /// ranks do that.
  bool isAsked() const { return exchange && ranks > 0; }
  bool canExchange() const { return exchange; }
  int64_t rankCount() const { return ranks; }
  /// Whether this process has one rank only, and other processes the others.
  bool isOne() const { return options.ranks == 0; }
  /// The text of a failure, or an empty string. `tensors` are whole, inputs
  /// first; outputs keep the rows of ranks that are not here.
  std::string run(std::vector<Tensor> &tensors, uint32_t inputCount,
                  uint32_t repeat);
  /// Steps, bytes and balance, a line each.
  std::vector<std::string> explain(const std::vector<Tensor> &tensors) const;
  /// Draws the schedule, if options ask for it and rank 0 is here.
  std::string writePlot(const std::vector<Tensor> &tensors) const;
  /// Writes what the ranks here have done last, if options ask for it.
  std::string writeTrace() const;

  /// Seconds of each run but the first one, which warms up.
  std::vector<double> times;
  /// By which messages travelled.
  std::string transport;

private:
  struct Rank;
  /// The number of an argument that is a buffer of the exchange.
  uint32_t argumentOf(uint32_t buffer) const;
  /// The sharded axis of an argument; -1: none.
  int64_t axisOf(uint32_t argument) const;
  /// What the call says of its sequences. The text of a failure, or an empty
  /// string.
  std::string readSequences(const std::vector<Tensor> &tensors,
                            ring::SequenceNumbers &numbers) const;
  /// Which rows of an axis ranks have, and who computes and sends what.
  struct Plan {
    ring::Shards queries, keys;
    ring::Schedule schedule;
  };
  /// Nothing, and `*error` set, if the call is not one for a ring.
  std::optional<Plan> planOf(const std::vector<Tensor> &tensors,
                             std::string *error) const;
  const ring::Shards &shardsOf(const Plan &of, uint32_t argument) const;
  uint32_t threadsOfRank() const;
  /// Ranks of this process take turns with the devices, where none is given.
  std::string deviceOf(int64_t rank, int32_t &device) const;
  std::string start(int64_t rank, Rank &own) const;
  /// Moves the parts to the rank's device and its outputs back, if it has one.
  std::string place(Rank &own, uint32_t inputCount) const;
  std::string fetch(Rank &own, uint32_t inputCount) const;
  std::string runRank(rl_ring *ring, std::vector<Tensor> &tensors,
                      uint32_t inputCount, uint32_t repeat, const Plan &of);
  std::string repeatCall(rl_ring *ring, Rank &own, uint32_t repeat);
  void addTrace(rl_ring *ring);

  const Options &options;
  const std::vector<uint8_t> &artefact;
  const abi::Function &function;
  uint32_t entry;
  const abi::Exchange *exchange = nullptr;
  const abi::Plan *plan = nullptr;
  int64_t ranks = 0, ownRank = 0;
  std::vector<std::string> events; // Of the trace.
};

} // namespace ringlet::run

#endif // RINGLET_TOOLS_RINGLET_RUN_RINGRUN_H
