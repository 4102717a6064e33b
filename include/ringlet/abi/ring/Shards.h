//===- Shards.h - Which rows each rank holds ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// G1 of the specification. A shard is a few stretches of rows, each of which
// may repeat at equal distances; the rank keeps its rows in ascending order,
// without gaps.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_ABI_RING_SHARDS_H
#define RINGLET_ABI_RING_SHARDS_H

#include "ringlet/abi/ring/Rows.h"

#include <optional>
#include <string>

namespace ringlet::ring {

inline constexpr int64_t kMaxRanks = 4096;

enum class Sharding : uint8_t { Contiguous, Zigzag, Striped };

/// A part of a shard: rows of step 1, and the place of its first row among the
/// rows of its rank. A repetition begins `localStride` places after the one
/// before.
struct Stretch {
  Rows rows;
  int64_t local = 0;
  int64_t localStride = 0;
};

class Shards {
public:
  /// Rank i holds the next lengths[i] rows. Any of them may be 0.
  static std::optional<Shards> contiguous(const std::vector<int64_t> &lengths,
                                          std::string *error);
  /// The axis is cut into two chunks a rank; rank i of W holds chunks i and
  /// 2 * W - 1 - i, so that under causality early queries with few keys are
  /// beside late ones with many.
  static std::optional<Shards> zigzag(const std::vector<int64_t> &chunks,
                                      std::string *error);
  /// Blocks of `block` rows are dealt in turn: block i belongs to the rank
  /// turns[i mod turns.size()]. Ranks that are to have more come more often.
  static std::optional<Shards> striped(int64_t length, int64_t block,
                                       int64_t ranks,
                                       const std::vector<int64_t> &turns,
                                       std::string *error);

  /// Shards of one kind that differ by a row at most (by a block, where blocks
  /// are dealt).
  static std::optional<Shards> even(Sharding kind, int64_t length,
                                    int64_t ranks, int64_t block,
                                    std::string *error);
  /// Shards of one kind for these rows of each rank, where that is what the
  /// kind makes of their sum.
  static std::optional<Shards> of(Sharding kind,
                                  const std::vector<int64_t> &rows,
                                  int64_t block, std::string *error);
  /// For so many axes, one behind the other, each of which is held as this one:
  /// a rank has its rows of the first one, then those of the second one.
  std::optional<Shards> repeated(int64_t axes, std::string *error) const;

  Sharding sharding() const { return kind; }
  int64_t ranks() const { return static_cast<int64_t>(stretches.size()); }
  /// Rows of all ranks together.
  int64_t length() const { return total; }
  /// Rows of one rank.
  int64_t size(int64_t rank) const { return sizes[rank]; }
  const std::vector<Stretch> &of(int64_t rank) const { return stretches[rank]; }
  /// The stretches of a rank as sets of rows, in the order of their places if
  /// none of them repeats.
  std::vector<Rows> rows(int64_t rank) const;

private:
  Shards(Sharding kind, int64_t ranks)
      : kind(kind), sizes(ranks, 0), stretches(ranks) {}
  void append(int64_t rank, int64_t rows);

  Sharding kind;
  int64_t total = 0;
  std::vector<int64_t> sizes;
  std::vector<std::vector<Stretch>> stretches;
};

} // namespace ringlet::ring

#endif // RINGLET_ABI_RING_SHARDS_H
