//===- RandomRing.cpp - Random attentions on shards ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomRing.h"

#include "lib/Oracle/Pattern.h"

#include "ringlet/abi/ring/Sequences.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace ringlet::ring {

namespace {

bool chance(Random &random, int64_t percent) {
  return draw(random, 1, 100) <= percent;
}

/// `length` cut into `parts` lengths at random places.
std::vector<int64_t> cut(Random &random, int64_t length, int64_t parts) {
  std::vector<int64_t> ends = {length};
  for (int64_t i = 1; i < parts; ++i)
    ends.push_back(draw(random, 0, length));
  std::sort(ends.begin(), ends.end());
  for (size_t i = ends.size() - 1; i > 0; --i)
    ends[i] -= ends[i - 1];
  return ends;
}

/// What is drawn keeps the rules.
template <typename T>
T orFail(std::optional<T> value, const std::string &error) {
  if (!value) {
    std::fprintf(stderr, "%s\n", error.c_str());
    std::abort();
  }
  return std::move(*value);
}

Branch drawBranch(Random &random, int64_t longest, int64_t queryHeads) {
  Branch branch;
  if (chance(random, 75))
    branch.segment = draw(random, 1, 2 * longest);
  int64_t most = branch.segment == 0 ? longest : branch.segment;
  branch.dilation = chance(random, 30) ? 1
                    : chance(random, 80)
                        ? draw(random, 1, std::min<int64_t>(most, 9))
                        : draw(random, 1, most);
  branch.offset = static_cast<OffsetRule>(draw(random, 0, 2));
  branch.constant = draw(random, -5, 20);
  branch.offsetByQuery = chance(random, 30);
  branch.headEnd = queryHeads;
  if (chance(random, 30)) {
    branch.headBegin = draw(random, 0, queryHeads - 1);
    branch.headEnd = draw(random, branch.headBegin + 1, queryHeads);
  }
  return branch;
}

} // namespace

Shards drawShards(Random &random, int64_t length, int64_t ranks) {
  std::string error;
  int64_t kind = draw(random, 0, 4);
  int64_t block = draw(random, 1, 7);
  if (kind < 3)
    return orFail(
        Shards::even(static_cast<Sharding>(kind), length, ranks, block, &error),
        error);
  if (kind == 3 && chance(random, 50))
    return orFail(Shards::contiguous(cut(random, length, ranks), &error),
                  error);
  if (kind == 3)
    return orFail(Shards::zigzag(cut(random, length, 2 * ranks), &error),
                  error);
  std::vector<int64_t> turns(draw(random, 1, 2 * ranks));
  for (int64_t &turn : turns)
    turn = draw(random, 0, ranks - 1);
  return orFail(Shards::striped(length, block, ranks, turns, &error), error);
}

/// A few sequences of a batch, each with some of its rows.
static ShardedAttention drawPadded(Random &random, const Attention &attention,
                                   int64_t queries, int64_t keys,
                                   int64_t ranks) {
  SequenceNumbers numbers;
  numbers.kind = SequenceKind::Padded;
  numbers.count = draw(random, 1, 4);
  // Axes lie one behind the other.
  queries = (queries - 1) / numbers.count + 1;
  keys = (keys - 1) / numbers.count + 1;
  bool areFull = chance(random, 20);
  for (int64_t i = 0; i < numbers.count; ++i) {
    numbers.offsets.push_back(draw(random, -keys, keys));
    if (areFull)
      continue;
    numbers.queries.push_back(draw(random, 0, queries));
    numbers.keys.push_back(draw(random, 0, keys));
  }
  if (chance(random, 50))
    numbers.offsets.clear();
  Shards keyShards = drawShards(random, keys, ranks);
  ShardedAttention sharded = {attention, keyShards, keyShards};
  if (queries != keys || chance(random, 20))
    sharded.queries = drawShards(random, queries, ranks);
  std::string error;
  EXPECT_TRUE(addSequences(numbers, sharded, &error)) << error;
  return sharded;
}

ShardedAttention drawSharded(Random &random, int64_t ranks, int64_t longest) {
  Attention attention;
  attention.keyHeads = draw(random, 1, 4);
  attention.queryHeads = attention.keyHeads * draw(random, 1, 3);
  attention.causal = chance(random, 50);
  if (chance(random, 30))
    attention.left = draw(random, 0, longest / 2);
  if (chance(random, 20))
    attention.right = draw(random, 0, longest / 2);
  for (int64_t i = draw(random, 1, 4); i > 0; --i)
    attention.branches.push_back(
        drawBranch(random, longest, attention.queryHeads));

  int64_t queries = draw(random, 1, longest);
  int64_t keys = chance(random, 70) ? queries : draw(random, 1, longest);
  if (chance(random, 15))
    return drawPadded(random, attention, queries, keys, ranks);
  if (chance(random, 60)) {
    attention.sequences.push_back({0, queries, 0, keys, keys - queries});
  } else {
    int64_t count = draw(random, 1, 6);
    std::vector<int64_t> queryLengths = cut(random, queries, count);
    std::vector<int64_t> keyLengths =
        keys == queries ? queryLengths : cut(random, keys, count);
    Sequence at;
    for (int64_t i = 0; i < count; ++i) {
      at.query += at.queries;
      at.key += at.keys;
      at.queries = queryLengths[i];
      at.keys = keyLengths[i];
      at.offset = at.keys - at.queries;
      attention.sequences.push_back(at);
    }
  }
  if (chance(random, 20))
    for (Sequence &at : attention.sequences)
      at.offset = draw(random, -longest, longest);
  Shards keyShards = drawShards(random, keys, ranks);
  if (queries == keys && chance(random, 80))
    return {attention, keyShards, keyShards};
  return {attention, drawShards(random, queries, ranks), keyShards};
}

std::string describe(const ShardedAttention &sharded) {
  std::ostringstream out;
  const Attention &attention = sharded.attention;
  out << attention.queryHeads << " query heads, " << attention.keyHeads
      << " key heads" << (attention.causal ? ", causal" : "");
  if (attention.left)
    out << ", left " << *attention.left;
  if (attention.right)
    out << ", right " << *attention.right;
  for (const Branch &branch : attention.branches)
    out << "\nbranch w " << branch.segment << " r " << branch.dilation
        << " rule " << static_cast<int>(branch.offset) << " constant "
        << branch.constant << (branch.offsetByQuery ? " by query" : "")
        << " heads " << branch.headBegin << " to " << branch.headEnd;
  for (const Sequence &at : attention.sequences)
    out << "\nsequence of " << at.queries << " queries from " << at.query
        << ", " << at.keys << " keys from " << at.key << ", offset "
        << at.offset;
  for (const Shards *shards : {&sharded.queries, &sharded.keys}) {
    out << (shards == &sharded.queries ? "\nqueries:" : "\nkeys:");
    for (int64_t rank = 0; rank < shards->ranks(); ++rank) {
      out << " |";
      for (const Rows &rows : shards->rows(rank))
        out << " " << rows.first << "+" << rows.run << "x" << rows.count << "/"
            << rows.stride;
    }
  }
  return out.str();
}

std::vector<int64_t> ownersOf(const Shards &shards) {
  std::vector<int64_t> owners(shards.length(), -1);
  for (int64_t rank = 0; rank < shards.ranks(); ++rank)
    for (const Rows &rows : shards.rows(rank))
      for (int64_t i = 0; i < rows.size(); ++i) {
        EXPECT_EQ(owners[rows.at(i)], -1) << "row " << rows.at(i);
        owners[rows.at(i)] = rank;
      }
  for (size_t row = 0; row < owners.size(); ++row)
    EXPECT_GE(owners[row], 0) << "row " << row;
  return owners;
}

oracle::AttentionInputs OracleProblem::inputs() const {
  oracle::AttentionInputs inputs;
  inputs.query = query.view();
  inputs.key = key.view();
  inputs.value = value.view();
  inputs.cuSeqlensQ = cuQ.view();
  inputs.cuSeqlensK = cuK.view();
  inputs.qOffset = offsets.view();
  return inputs;
}

int64_t OracleProblem::firstKey(int64_t sequence) const {
  return static_cast<int64_t>(cuK.get({sequence}));
}

OracleProblem problemOf(const Attention &attention, int64_t queries,
                        int64_t keys, int64_t dim, int64_t valueDim) {
  oracle::AttentionSpec spec;
  spec.causal = attention.causal;
  spec.windowLeft = attention.left;
  spec.windowRight = attention.right;
  for (const Branch &branch : attention.branches) {
    oracle::Branch other;
    if (branch.segment != 0)
      other.segment = branch.segment;
    other.dilation = branch.dilation;
    other.offset = static_cast<layout::OffsetRule>(branch.offset);
    other.constant = branch.constant;
    other.offsetByQuery = branch.offsetByQuery;
    other.heads = oracle::HeadRange{branch.headBegin, branch.headEnd};
    spec.branches.push_back(other);
  }
  // Rows between sequences are those of a sequence without keys, keys between
  // them those of one without queries.
  std::vector<Sequence> all;
  int64_t query = 0, key = 0;
  auto reach = [&](int64_t queryEnd, int64_t keyEnd) {
    if (query < queryEnd)
      all.push_back({query, queryEnd - query, key, 0, 0});
    if (key < keyEnd)
      all.push_back({queryEnd, 0, key, keyEnd - key, 0});
    query = queryEnd;
    key = keyEnd;
  };
  for (const Sequence &at : attention.sequences) {
    reach(at.query, at.key);
    all.push_back(at);
    query += at.queries;
    key += at.keys;
  }
  reach(queries, keys);
  int64_t count = static_cast<int64_t>(all.size());
  OracleProblem problem = {
      spec,
      Tensor(DType::f32, {queries, attention.queryHeads, dim}),
      Tensor(DType::f32, {keys, attention.keyHeads, dim}),
      Tensor(DType::f32, {keys, attention.keyHeads, valueDim}),
      Tensor(DType::i64, {count + 1}),
      Tensor(DType::i64, {count + 1}),
      Tensor(DType::i64, {count})};
  for (int64_t i = 0; i < count; ++i) {
    const Sequence &at = all[size_t(i)];
    problem.cuQ.set({i + 1}, static_cast<double>(at.query + at.queries));
    problem.cuK.set({i + 1}, static_cast<double>(at.key + at.keys));
    problem.offsets.set({i}, static_cast<double>(at.offset));
  }
  return problem;
}

Seen askOracle(const ShardedAttention &sharded) {
  const Attention &attention = sharded.attention;
  int64_t ranks = sharded.ranks();
  OracleProblem problem = problemOf(attention, sharded.queries.length(),
                                    sharded.keys.length(), 1, 1);
  const oracle::AttentionSpec &spec = problem.spec;
  oracle::AttentionInputs inputs = problem.inputs();
  std::string error;
  EXPECT_TRUE(oracle::validate(spec, inputs, &error)) << error;

  oracle::Pattern pattern(spec, inputs);
  std::vector<int64_t> readers = ownersOf(sharded.queries);
  std::vector<int64_t> owners = ownersOf(sharded.keys);
  Seen seen;
  seen.pairs.resize(ranks);
  for (auto &row : seen.pairs)
    row.resize(ranks);
  seen.scores.assign(ranks, std::vector<double>(ranks, 0));
  for (int64_t row = 0; row < sharded.queries.length(); ++row) {
    oracle::QueryRow at = pattern.locate(0, row);
    if (at.sequence < 0)
      continue;
    int64_t first = problem.firstKey(at.sequence);
    for (int64_t head = 0; head < attention.queryHeads; ++head)
      for (const oracle::Branch &branch : spec.branches)
        pattern.forEachKey(branch, at, head, [&](int64_t u) {
          int64_t owner = owners[first + u];
          seen.pairs[readers[row]][owner].emplace(pattern.keyHead(head),
                                                  first + u);
          seen.scores[readers[row]][owner] += 1;
        });
  }
  return seen;
}

std::set<std::pair<int64_t, int64_t>>
pairsIn(const std::vector<Part> &parts, const Shards &keys, int64_t owner) {
  std::vector<int64_t> held;
  for (const Rows &rows : keys.rows(owner))
    for (int64_t i = 0; i < rows.size(); ++i)
      held.push_back(rows.at(i));
  std::sort(held.begin(), held.end());
  std::set<std::pair<int64_t, int64_t>> result;
  for (const Part &part : parts)
    for (size_t i = 0; i < part.rows.size(); ++i) {
      const Rows &rows = part.rows[i];
      for (int64_t at = 0; at < rows.size(); ++at) {
        int64_t local = part.local[i] + at % rows.run * rows.step +
                        at / rows.run * part.localStride[i];
        EXPECT_GE(local, 0);
        EXPECT_LT(local, static_cast<int64_t>(held.size()));
        if (local >= 0 && local < static_cast<int64_t>(held.size())) {
          EXPECT_EQ(held[local], rows.at(at));
        }
        for (int64_t head = part.head; head < part.head + part.heads; ++head)
          EXPECT_TRUE(result.emplace(head, rows.at(at)).second)
              << "head " << head << " row " << rows.at(at) << " twice";
      }
    }
  return result;
}

} // namespace ringlet::ring
