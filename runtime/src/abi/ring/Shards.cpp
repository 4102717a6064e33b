//===- Shards.cpp - Which rows each rank holds ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/ring/Shards.h"

#include "ringlet/abi/Format.h"

#include <algorithm>
#include <numeric>

namespace ringlet::ring {

namespace {

std::nullopt_t refuseShards(std::string *error, std::string message) {
  if (error)
    *error = std::move(message);
  return std::nullopt;
}

bool checkRanks(int64_t ranks, std::string *error) {
  if (ranks >= 1 && ranks <= kMaxRanks)
    return true;
  refuseShards(error, formatText("expected 1 to {} ranks, found {} (G1)",
                                 kMaxRanks, ranks));
  return false;
}

bool checkLengths(const std::vector<int64_t> &lengths, std::string *error) {
  int64_t total = 0;
  for (int64_t length : lengths) {
    if (length < 0 || length > kMaxRows - total) {
      refuseShards(error,
                   formatText("expected lengths of shards from 0 on, {} rows "
                              "together at most, found {} after {} rows (G1)",
                              kMaxRows, length, total));
      return false;
    }
    total += length;
  }
  return true;
}

} // namespace

void Shards::append(int64_t rank, int64_t rows) {
  if (rows > 0) {
    Stretch stretch;
    stretch.rows.first = total;
    stretch.rows.run = rows;
    stretch.local = sizes[rank];
    stretches[rank].push_back(stretch);
  }
  sizes[rank] += rows;
  total += rows;
}

std::optional<Shards> Shards::contiguous(const std::vector<int64_t> &lengths,
                                         std::string *error) {
  int64_t ranks = static_cast<int64_t>(lengths.size());
  if (!checkRanks(ranks, error) || !checkLengths(lengths, error))
    return std::nullopt;
  Shards result(Sharding::Contiguous, ranks);
  for (int64_t rank = 0; rank < ranks; ++rank)
    result.append(rank, lengths[rank]);
  return result;
}

std::optional<Shards> Shards::zigzag(const std::vector<int64_t> &chunks,
                                     std::string *error) {
  int64_t ranks = static_cast<int64_t>(chunks.size() / 2);
  if (chunks.size() % 2 != 0)
    return refuseShards(
        error, formatText("expected two chunks for each rank, found {} (G1)",
                          chunks.size()));
  if (!checkRanks(ranks, error) || !checkLengths(chunks, error))
    return std::nullopt;
  Shards result(Sharding::Zigzag, ranks);
  for (int64_t chunk = 0; chunk < 2 * ranks; ++chunk)
    result.append(std::min(chunk, 2 * ranks - 1 - chunk), chunks[chunk]);
  return result;
}

std::optional<Shards> Shards::striped(int64_t length, int64_t block,
                                      int64_t ranks,
                                      const std::vector<int64_t> &turns,
                                      std::string *error) {
  if (!checkRanks(ranks, error) || !checkLengths({length}, error))
    return std::nullopt;
  int64_t period = static_cast<int64_t>(turns.size());
  if (block < 1 || block > kMaxRows || period < 1 || block > kMaxRows / period)
    return refuseShards(
        error, formatText("expected blocks of at least 1 row, and turns of "
                          "{} rows at most, found {} blocks of "
                          "{} (G1)",
                          kMaxRows, period, block));
  for (int64_t rank : turns)
    if (rank < 0 || rank >= ranks)
      return refuseShards(error,
                          formatText("expected ranks below {} to take turns, "
                                     "found {} (G1)",
                                     ranks, rank));

  Shards result(Sharding::Striped, ranks);
  int64_t turnRows = period * block;
  int64_t rounds = length / turnRows;
  // The first round, of which each stretch repeats in all that are whole.
  if (rounds > 0)
    for (int64_t rank : turns)
      result.append(rank, block);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    for (Stretch &stretch : result.stretches[rank]) {
      stretch.rows.count = rounds;
      stretch.rows.stride = turnRows;
      stretch.localStride = result.sizes[rank];
    }
    result.sizes[rank] *= rounds;
  }
  result.total *= rounds;
  for (int64_t i = 0; result.total < length; ++i)
    result.append(turns[i], std::min(block, length - result.total));
  return result;
}

std::optional<Shards> Shards::even(Sharding kind, int64_t length, int64_t ranks,
                                   int64_t block, std::string *error) {
  if (!checkRanks(ranks, error) || !checkLengths({length}, error))
    return std::nullopt;
  // The first ranks take the rows that are left over.
  std::vector<int64_t> lengths, turns;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    lengths.push_back(length / ranks + (rank < length % ranks ? 1 : 0));
    turns.push_back(rank);
  }
  switch (kind) {
  case Sharding::Contiguous:
    return contiguous(lengths, error);
  case Sharding::Striped:
    return striped(length, block, ranks, turns, error);
  case Sharding::Zigzag:
    break;
  }
  std::vector<int64_t> chunks(2 * ranks);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    chunks[rank] = lengths[rank] - lengths[rank] / 2;
    chunks[2 * ranks - 1 - rank] = lengths[rank] / 2;
  }
  return zigzag(chunks, error);
}

std::optional<Shards> Shards::of(Sharding kind,
                                 const std::vector<int64_t> &rows,
                                 int64_t block, std::string *error) {
  if (kind == Sharding::Contiguous)
    return contiguous(rows, error);
  auto ranks = static_cast<int64_t>(rows.size());
  std::optional<Shards> shards =
      even(kind, std::accumulate(rows.begin(), rows.end(), int64_t{0}), ranks,
           block, error);
  for (int64_t i = 0; shards && i < ranks; ++i)
    if (shards->size(i) != rows[size_t(i)])
      return refuseShards(
          error,
          formatText("rank {}: expected {} rows, its part of {} that are {} on "
                     "{} ranks, found {} (G1)",
                     i, shards->size(i), shards->length(),
                     kind == Sharding::Zigzag ? "zigzag" : "striped", ranks,
                     rows[size_t(i)]));
  return shards;
}

std::optional<Shards> Shards::repeated(int64_t axes, std::string *error) const {
  if (axes < 0 || (axes > 0 && total > kMaxRows / axes))
    return refuseShards(error,
                        formatText("expected at most {} rows of all "
                                   "sequences of a batch together, found "
                                   "{} sequences of {} (G1)",
                                   kMaxRows, axes, total));
  Shards result(kind, ranks());
  result.total = axes * total;
  for (int64_t rank = 0; rank < ranks(); ++rank) {
    result.sizes[rank] = axes * sizes[rank];
    for (Stretch stretch : stretches[rank]) {
      bool isOne = stretch.rows.count == 1;
      if (isOne && axes > 1) {
        stretch.rows.count = axes;
        stretch.rows.stride = total;
        stretch.localStride = sizes[rank];
      }
      for (int64_t i = 0; i < (isOne ? std::min<int64_t>(1, axes) : axes);
           ++i) {
        result.stretches[rank].push_back(stretch);
        stretch.rows.first += total;
        stretch.local += sizes[rank];
      }
    }
  }
  return result;
}

std::vector<Rows> Shards::rows(int64_t rank) const {
  std::vector<Rows> result;
  for (const Stretch &stretch : stretches[rank])
    result.push_back(stretch.rows);
  return result;
}

} // namespace ringlet::ring
