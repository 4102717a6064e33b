//===- Sequences.cpp - The sequences of a call ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/ring/Sequences.h"

#include "ringlet/abi/Format.h"

#include <algorithm>

namespace ringlet::ring {

namespace {

/// That there is a number for each sequence, or where `mayBeFewer` one or none.
bool checkCount(const std::vector<int64_t> &numbers, size_t count,
                bool mayBeFewer, const char *what, std::string *error) {
  if (numbers.size() == count || (mayBeFewer && numbers.size() <= 1))
    return true;
  *error =
      formatText("expected {} {}, found {} (S2)", count, what, numbers.size());
  return false;
}

void add(const SequenceNumbers &numbers, Sequence at, Attention &attention) {
  const std::vector<int64_t> &offsets = numbers.offsets;
  at.offset = offsets.empty()       ? at.keys - at.queries
              : offsets.size() == 1 ? offsets.front()
                                    : offsets[attention.sequences.size()];
  attention.sequences.push_back(at);
}

bool addPacked(const SequenceNumbers &numbers, ShardedAttention &sharded,
               std::string *error) {
  const std::vector<int64_t> &query = numbers.queries, &key = numbers.keys;
  if (!checkCount(key, query.size(), false, "starts of keys", error) ||
      !checkCount(numbers.offsets, std::max<size_t>(1, query.size()) - 1, true,
                  "positions of first queries", error))
    return false;
  for (size_t i = 0; i + 1 < query.size(); ++i)
    add(numbers,
        {query[i], query[i + 1] - query[i], key[i], key[i + 1] - key[i]},
        sharded.attention);
  return true;
}

bool addPadded(const SequenceNumbers &numbers, ShardedAttention &sharded,
               std::string *error) {
  auto count = static_cast<size_t>(numbers.count);
  bool good = checkCount(numbers.offsets, count, true,
                         "positions of first queries", error);
  for (const std::vector<int64_t> *lengths : {&numbers.queries, &numbers.keys})
    good = good && (lengths->empty() ||
                    checkCount(*lengths, count, false, "lengths", error));
  if (!good)
    return false;
  const int64_t queries = sharded.queries.length(),
                keys = sharded.keys.length();
  for (Shards *shards : {&sharded.queries, &sharded.keys}) {
    auto all = shards->repeated(numbers.count, error);
    if (!all)
      return false;
    *shards = std::move(*all);
  }
  auto lengthOf = [](const std::vector<int64_t> &lengths, int64_t i,
                     int64_t rows) {
    return lengths.empty()
               ? rows
               : std::clamp<int64_t>(lengths[static_cast<size_t>(i)], 0, rows);
  };
  for (int64_t i = 0; i < numbers.count; ++i)
    add(numbers,
        {i * queries, lengthOf(numbers.queries, i, queries), i * keys,
         lengthOf(numbers.keys, i, keys)},
        sharded.attention);
  sharded.axes = numbers.count;
  return true;
}

} // namespace

bool addSequences(const SequenceNumbers &numbers, ShardedAttention &sharded,
                  std::string *error) {
  switch (numbers.kind) {
  case SequenceKind::Packed:
    return addPacked(numbers, sharded, error);
  case SequenceKind::Padded:
    return addPadded(numbers, sharded, error);
  case SequenceKind::Alike:
    break;
  }
  add(numbers, {0, sharded.queries.length(), 0, sharded.keys.length()},
      sharded.attention);
  return true;
}

} // namespace ringlet::ring
