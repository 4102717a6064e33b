//===- PieceQueues.h - Queues for the pieces of a run on a ring -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_PIECEQUEUES_H
#define RINGLET_RUNTIME_PIECEQUEUES_H

#include "Driver.h"

#include "ringlet/abi/ring/Turns.h"

#include <memory>
#include <vector>

namespace ringlet::rt {

/// The queues of one step's calls of pieces, which are made one after the other
/// by their numbers. Queue 0 is the run's own; without others there are no
/// events.
class PieceQueues {
public:
  PieceQueues(Driver &driver, Stream own, const ringlet::ring::Turns &turns)
      : driver(driver), own(own), turns(turns) {}
  PieceQueues(const PieceQueues &) = delete;
  PieceQueues &operator=(const PieceQueues &) = delete;
  /// Whatever has been queued ends before what the run queues next, also where
  /// it has failed.
  ~PieceQueues() { (void)join(); }

  /// Which queues the pieces of a run are given.
  static ringlet::ring::Queues of(const Driver &driver);

  /// Behind what the run has queued so far.
  Status open();
  /// `stream` is where the next call is made.
  Status enter(Stream &stream);
  Status leave();
  /// What the run queues from now on begins when all calls have ended.
  Status join();

private:
  Stream streamOf(const ringlet::ring::Turn &turn) const {
    return turn.queue ? sides[size_t(turn.queue - 1)]->stream() : own;
  }

  Driver &driver;
  const Stream own;
  const ringlet::ring::Turns &turns;
  std::vector<std::unique_ptr<SideQueue>> sides; // From queue 1 on.
  std::vector<uint32_t> events; // Of each call that another one awaits.
  size_t next = 0;
};

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_PIECEQUEUES_H
