//===- Ranks.h - Rings for tests ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rings of threads of this process, over any transport, and what a process
// holds, to find what is left behind.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_RUNTIMERING_RANKS_H
#define RINGLET_TEST_UNIT_RUNTIMERING_RANKS_H

#include "runtime/src/ring/KeyStream.h"

namespace ringlet::rt::ring {

/// Copies: p2p between processes, which are threads here.
enum class Kind { InProcess, Socket, P2p, Copies, Nccl };
const char *nameOf(Kind kind);

/// The device whose memory a kind moves, where it is one for devices; null: the
/// host's memory. Made once for all ranks of this process. It is the CPU, with
/// FakeNccl, or the GPU that RINGLET_TEST_GPU numbers; of ranks that are
/// processes, one of those with commas between.
Status contextOf(Kind kind, std::shared_ptr<Context> &context);

struct RankOptions {
  RingOptions ring;
  /// Ranks that are not started.
  std::set<int64_t> absent;
  double bootstrapSeconds = 20;
  /// An ncclComm_t for each rank; null: none.
  std::function<void *(int64_t)> communicatorOf;
};

/// Starts a thread for each rank, which makes its ring and runs `body`; returns
/// when all are done, with what each returned.
std::vector<Status> runRanks(Kind kind, int64_t ranks,
                             const RankOptions &options,
                             const std::function<Status(Ring &ring)> &body);

/// Open files and threads of this process.
struct Held {
  size_t files = 0;
  size_t threads = 0;
};
Held held();

/// The bytes of a row of K (tensor 0) or V (tensor 1) of one head, which tell
/// where they come from.
uint64_t mark(int64_t head, int64_t row, int64_t tensor, int64_t call);

/// One call of a ring, which has begun: sends keys as the schedule says and
/// checks each chunk. The failure of a chunk that holds something else is
/// RL_INTERNAL_ERROR. `atStep`, if given, is called before each step.
Status streamKeys(Ring &ring, const KeyPlan &plan,
                  const ringlet::ring::Schedule &schedule, int64_t call,
                  const std::function<void(int64_t)> &atStep = {});

} // namespace ringlet::rt::ring

#endif // RINGLET_TEST_UNIT_RUNTIMERING_RANKS_H
