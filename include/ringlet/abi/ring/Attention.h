//===- Attention.h - What an attention on shards sees ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parameters of sections 1 and 2 of the specification that decide which
// keys a query sees, as numbers, and the questions that a ring asks of them:
// which keys of another rank a rank needs (G2), and how much work they are.
//
// Grid windows, block masks and pattern orders (B5, B6, O2) are not described:
// what they show is no progression of rows.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_ABI_RING_ATTENTION_H
#define RINGLET_ABI_RING_ATTENTION_H

#include "ringlet/abi/ring/Shards.h"

namespace ringlet::ring {

/// How a head picks its residue (B2); the numbers are those of the artefact.
enum class OffsetRule : uint8_t { Modulo = 0, Block = 1, Constant = 2 };

struct Branch {
  /// w (B1); 0 stands for `*`.
  int64_t segment = 0;
  /// r, from 1 on.
  int64_t dilation = 1;
  OffsetRule offset = OffsetRule::Modulo;
  /// The c of the constant rule.
  int64_t constant = 0;
  /// The rule counts query heads, not key heads.
  bool offsetByQuery = false;
  /// The query heads that take part, from `headBegin` to before `headEnd`.
  int64_t headBegin = 0;
  int64_t headEnd = 0;
};

/// A sequence: its stretch of query rows and of key rows, and the position of
/// its first query (S1, S2). Its first key has position 0.
struct Sequence {
  int64_t query = 0, queries = 0;
  int64_t key = 0, keys = 0;
  int64_t offset = 0;
};

struct Attention {
  std::vector<Branch> branches;
  int64_t queryHeads = 1;
  int64_t keyHeads = 1;
  bool causal = false;
  /// A query at p sees keys from p - left to p + right (B4).
  std::optional<int64_t> left;
  std::optional<int64_t> right;
  /// Ascending, without a common row. Rows of no sequence see nothing.
  std::vector<Sequence> sequences;
};

/// One sequence of `queries` and `keys` rows, the last query on the last key.
Attention oneSequence(std::vector<Branch> branches, int64_t queries,
                      int64_t keys, int64_t queryHeads, int64_t keyHeads,
                      bool causal);

/// An attention on a ring.
struct ShardedAttention {
  Attention attention;
  Shards queries;
  Shards keys;
  /// How many axes lie one behind the other on either side, each with a
  /// sequence of a batch that is unlike the others.
  int64_t axes = 1;

  int64_t ranks() const { return keys.ranks(); }
};

/// True if the rules allow it; else `*error` says which rule is broken, by what
/// value, and the nearest legal choice.
bool validate(const ShardedAttention &sharded, std::string *error);

/// Key rows that some heads need. The heads are key heads, `heads` of them from
/// `head` on; `rows` are sets without a common row, numbered along the whole
/// axis, in the order in which they travel.
struct Part {
  int64_t head = 0;
  int64_t heads = 0;
  std::vector<Rows> rows;
  /// The place of each set's first row among the rows of its owner, and how far
  /// a repetition is from the one before. Within a run, places go as rows do.
  std::vector<int64_t> local;
  std::vector<int64_t> localStride;
};

/// Pairs of a key and a key head.
int64_t pairsOf(const std::vector<Part> &parts);

/// The pairs that rank `owner` holds and the queries of one or more of
/// `readers` see: each pair once, whatever number of branches, heads and
/// readers sees it.
std::vector<Part> neededKeys(const ShardedAttention &sharded,
                             const std::vector<int64_t> &readers,
                             int64_t owner);

/// Scores to compute: triples of a query of `reader`, a query head and a key of
/// `owner`, a key counted once for each branch that shows it.
double countScores(const ShardedAttention &sharded, int64_t reader,
                   int64_t owner);

/// The same for any stretches of rows and one branch.
double countScores(const Attention &attention, const Branch &branch,
                   const std::vector<Stretch> &queries,
                   const std::vector<Stretch> &keys);

} // namespace ringlet::ring

#endif // RINGLET_ABI_RING_ATTENTION_H
