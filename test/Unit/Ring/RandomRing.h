//===- RandomRing.h - Random attentions on shards ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The oracle goes through queries and keys one by one; what it finds is what a
// ring must send and compute.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_RING_RANDOMRING_H
#define RINGLET_TEST_UNIT_RING_RANDOMRING_H

#include "lib/Oracle/AttentionSpec.h"

#include "ringlet/abi/ring/Attention.h"

#include <random>
#include <set>
#include <string>
#include <utility>

namespace ringlet::ring {

using Random = std::mt19937_64;

inline int64_t draw(Random &random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

/// Shards of any kind for `length` rows: even, uneven, with empty ranks, blocks
/// dealt in any turns.
Shards drawShards(Random &random, int64_t length, int64_t ranks);

/// Branches, heads, masks and sequences of any kind, on `ranks` ranks.
ShardedAttention drawSharded(Random &random, int64_t ranks, int64_t longest);

/// What a failed test prints.
std::string describe(const ShardedAttention &sharded);

/// The rank of each row.
std::vector<int64_t> ownersOf(const Shards &shards);

/// The same attention for the oracle, packed, with tensors of zeros: queries
/// and keys have `dim` elements, values `valueDim`.
struct OracleProblem {
  oracle::AttentionSpec spec;
  Tensor query, key, value, cuQ, cuK, offsets;

  oracle::AttentionInputs inputs() const;
  int64_t firstKey(int64_t sequence) const;
};
OracleProblem problemOf(const Attention &attention, int64_t queries,
                        int64_t keys, int64_t dim, int64_t valueDim);

/// What the oracle sees.
struct Seen {
  /// By reader and owner: pairs of key head and key row.
  std::vector<std::vector<std::set<std::pair<int64_t, int64_t>>>> pairs;
  /// By reader and owner: scores.
  std::vector<std::vector<double>> scores;
};
Seen askOracle(const ShardedAttention &sharded);

/// All pairs of key head and row of a message; a failure if one comes twice or
/// has another place in the shard than it says.
std::set<std::pair<int64_t, int64_t>>
pairsIn(const std::vector<Part> &parts, const Shards &keys, int64_t owner);

} // namespace ringlet::ring

#endif // RINGLET_TEST_UNIT_RING_RANDOMRING_H
