//===- Turns.h - Which pieces are computed beside each other ----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A piece adds keys to the softmax of some rows and heads. Pieces of the same
// rows follow each other, in the order of their list, so that results do not
// depend on time. Others may overlap on a device with several queues: pieces of
// a residue and a head are too small to fill all multiprocessors.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_ABI_RING_TURNS_H
#define RINGLET_ABI_RING_TURNS_H

#include "ringlet/abi/ring/Pieces.h"

#include <vector>

namespace ringlet::ring {

/// When a call is made: in a queue, and behind which calls of other queues.
struct Turn {
  int64_t queue = 0;
  /// Their numbers, at most one a queue. What was in front of them is behind.
  std::vector<int64_t> after;
  /// Whether a call of another queue comes after it.
  bool isAwaited = false;
};

/// What runs calls of pieces.
struct Queues {
  /// At least 1.
  int64_t count = 1;
  /// Rows of query heads of a call that gains nothing from others beside it. It
  /// goes to queue 0.
  int64_t fill = 0;
};

/// Gives the calls of a step their turns, one by one.
class Turns {
public:
  /// `group` query heads share a key head.
  Turns(const Queues &queues, int64_t group)
      : fill(queues.fill), group(group), members(size_t(queues.count)),
        work(size_t(queues.count), 0) {}

  /// Numbers a call of a piece: for the sequence of the batch of that number,
  /// or for all of them if the piece is whole.
  void add(const Piece &piece, int64_t sequence);

  const Turn &operator[](size_t call) const { return calls[call].turn; }
  size_t size() const { return calls.size(); }
  /// Of queues from 0 on, up to the last one that has a call.
  size_t queues() const;

private:
  /// How many calls of each queue are known to have ended.
  using Clock = std::vector<size_t>;
  struct Call {
    Piece piece;
    int64_t sequence = 0;
    Turn turn;
    Clock before; // When it begins; of its own queue, those in front of it.
  };

  bool conflict(const Call &one, const Call &other) const;
  /// How many calls of a queue `call` has to come after.
  size_t countBefore(const Call &call, size_t queue) const;
  size_t choose(const Piece &piece, const Clock &needed) const;

  const int64_t fill, group;
  std::vector<std::vector<size_t>> members; // Of each queue, its calls.
  std::vector<double> work;                 // Of each queue, pairs of rows.
  std::vector<Call> calls;
};

} // namespace ringlet::ring

#endif // RINGLET_ABI_RING_TURNS_H
