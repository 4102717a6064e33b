//===- Sequences.h - The sequences of a call ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers that a call brings say which rows sequences have (S1, S2). A schedule
// knows one axis of queries and one of keys: packed sequences have them, and
// those of a batch that differ are put one behind the other.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_ABI_RING_SEQUENCES_H
#define RINGLET_ABI_RING_SEQUENCES_H

#include "ringlet/abi/ring/Attention.h"

namespace ringlet::ring {

enum class SequenceKind : uint8_t {
  /// Those of a batch have all rows of their axes, at the same positions: one
  /// stands for all.
  Alike,
  /// They share one axis.
  Packed,
  /// Each of a batch has the first rows of an axis of its own.
  Padded
};

struct SequenceNumbers {
  SequenceKind kind = SequenceKind::Alike;
  /// Of padded ones, how many there are.
  int64_t count = 1;
  /// Of packed sequences where each begins, and the end of the last one; of
  /// padded ones how many rows each has, as far as there are so many, or
  /// nothing if these are all.
  std::vector<int64_t> queries, keys;
  /// The position of the first query: none, where the last query is on the last
  /// key, one for all, or one for each.
  std::vector<int64_t> offsets;
};

/// Adds the sequences of a call to an attention that has none, whose shards are
/// those of one axis. Of padded ones it becomes that of all their axes. False,
/// and `*error` set, if these are too long or there are not as many numbers.
bool addSequences(const SequenceNumbers &numbers, ShardedAttention &sharded,
                  std::string *error);

} // namespace ringlet::ring

#endif // RINGLET_ABI_RING_SEQUENCES_H
