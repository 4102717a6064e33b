//===- AttentionTest.cpp - A ring's result is that of one rank ---*- C++
//-*-===//
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// G1: ranks compute attention with a running softmax in f32, chunk by chunk as
// keys arrive, each key where the chunk's layout says. What they gather is
// judged by the oracle's tolerances, and its error is that of one rank.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include "lib/Oracle/Check.h"
#include "lib/Oracle/Pattern.h"
#include "test/Unit/Ring/RandomRing.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace ringlet;
using namespace ringlet::rt;
using namespace ringlet::rt::ring;
using ringlet::ring::Part;
using ringlet::ring::Rows;
using ringlet::ring::Schedule;
using ringlet::ring::ShardedAttention;
using ringlet::ring::Shards;
using ringlet::ring::Stretch;

namespace {

constexpr int64_t kDim = 4, kValueDim = 3;

/// Rows of one head in order, by their place; -1 where there is none.
using Places = std::map<std::pair<int64_t, int64_t>, int64_t>;

/// The softmax of one query and head so far (R1, R4), of one branch: keys that
/// several branches show would else be added twice in a row on a ring, and
/// their roundings with them.
struct State {
  float most = -INFINITY, sum = 0;
  float values[kValueDim] = {};

  void add(float score, const float *value) {
    float next = std::max(most, score);
    float keep = most == -INFINITY ? 0 : std::exp(most - next);
    float weight = std::exp(score - next);
    most = next;
    sum = sum * keep + weight;
    for (int64_t i = 0; i < kValueDim; ++i)
      values[i] = values[i] * keep + weight * value[i];
  }

  void merge(const State &other) {
    if (other.sum == 0)
      return;
    float next = std::max(most, other.most);
    float keep = most == -INFINITY ? 0 : std::exp(most - next);
    float weight = std::exp(other.most - next);
    most = next;
    sum = sum * keep + weight * other.sum;
    for (int64_t i = 0; i < kValueDim; ++i)
      values[i] = values[i] * keep + weight * other.values[i];
  }
};

struct Gathered {
  Tensor output, lse;
};

class RankAttention {
public:
  RankAttention(const ringlet::ring::OracleProblem &problem,
                const oracle::Pattern &pattern, const Shards &queries,
                int64_t rank, const ringlet::ring::Attention &attention)
      : problem(problem), pattern(pattern), attention(attention) {
    for (const Rows &set : queries.rows(rank))
      for (int64_t i = 0; i < set.size(); ++i)
        rows.push_back(set.at(i));
    branches = attention.branches.size();
    states.resize(rows.size() * attention.queryHeads * branches);
  }

  /// All own queries with the keys of a chunk, which are at these places.
  void add(const Places &places, const char *keys, const char *values) {
    for (size_t i = 0; i < rows.size(); ++i) {
      oracle::QueryRow at = pattern.locate(0, rows[i]);
      if (at.sequence < 0)
        continue;
      int64_t first = problem.firstKey(at.sequence);
      for (int64_t head = 0; head < attention.queryHeads; ++head)
        for (size_t branch = 0; branch < branches; ++branch)
          pattern.forEachKey(
              problem.spec.branches[branch], at, head, [&](int64_t u) {
                auto place = places.find({pattern.keyHead(head), first + u});
                if (place != places.end())
                  addKey(i, head, branch,
                         reinterpret_cast<const float *>(keys) +
                             place->second * kDim,
                         reinterpret_cast<const float *>(values) +
                             place->second * kValueDim);
              });
    }
  }

  void store(Gathered &to) const {
    for (size_t i = 0; i < rows.size(); ++i)
      for (int64_t head = 0; head < attention.queryHeads; ++head) {
        State state;
        for (size_t branch = 0; branch < branches; ++branch)
          state.merge(
              states[(i * attention.queryHeads + head) * branches + branch]);
        bool none = state.sum == 0;
        for (int64_t d = 0; d < kValueDim; ++d)
          to.output.set({rows[i], head, d},
                        none ? 0 : state.values[d] / state.sum);
        to.lse.set({head, rows[i]},
                   none ? -INFINITY : state.most + std::log(state.sum));
      }
  }

private:
  void addKey(size_t i, int64_t head, size_t branch, const float *key,
              const float *value) {
    const float *query = problem.query.as<float>() +
                         (rows[i] * attention.queryHeads + head) * kDim;
    float score = 0;
    for (int64_t d = 0; d < kDim; ++d)
      score += query[d] * key[d];
    states[(i * attention.queryHeads + head) * branches + branch].add(
        score / std::sqrt(static_cast<float>(kDim)), value);
  }

  const ringlet::ring::OracleProblem &problem;
  const oracle::Pattern &pattern;
  const ringlet::ring::Attention &attention;
  std::vector<int64_t> rows;
  size_t branches = 0;
  std::vector<State> states;
};

/// A rank's own rows of a tensor, in the order of its shard.
std::vector<float> ownRows(const Tensor &tensor, const Shards &shards,
                           int64_t rank) {
  int64_t row = tensor.elements() / std::max<int64_t>(1, shards.length());
  std::vector<float> own(static_cast<size_t>(shards.size(rank) * row));
  for (const Stretch &stretch : shards.of(rank))
    for (int64_t i = 0; i < stretch.rows.size(); ++i) {
      int64_t local = stretch.local + i % stretch.rows.run +
                      i / stretch.rows.run * stretch.localStride;
      std::copy_n(tensor.as<float>() + stretch.rows.at(i) * row, row,
                  own.data() + local * row);
    }
  return own;
}

Status attend(Ring &ring, const Schedule &schedule,
              const ringlet::ring::OracleProblem &problem,
              const oracle::Pattern &pattern, Gathered &gathered) {
  const ShardedAttention &sharded = schedule.sharded;
  int64_t rank = ring.rank(), heads = sharded.attention.keyHeads;
  RL_TRY(ring.begin({{"test", "attention"}}));
  std::vector<float> keys = ownRows(problem.key, sharded.keys, rank);
  std::vector<float> values = ownRows(problem.value, sharded.keys, rank);
  KeyPlan plan(schedule, rank, {kDim * 4, kValueDim * 4});
  auto rowsOf = [&](const std::vector<float> &own, int64_t dim) {
    return KeyRows{reinterpret_cast<const char *>(own.data()), heads * dim * 4,
                   dim * 4, static_cast<size_t>(dim) * 4};
  };
  HostKeys memory;
  KeyStream stream(plan, ring, memory,
                   {rowsOf(keys, kDim), rowsOf(values, kValueDim)});
  RankAttention own(problem, pattern, sharded.queries, rank, sharded.attention);
  for (int64_t step = 0; step < plan.steps(); ++step) {
    std::optional<Chunk> chunk;
    RL_TRY(stream.step(step, chunk));
    Places places;
    if (step == 0) {
      for (const Stretch &stretch : sharded.keys.of(rank))
        for (int64_t i = 0; i < stretch.rows.size(); ++i)
          for (int64_t head = 0; head < heads; ++head)
            places[{head, stretch.rows.at(i)}] =
                (stretch.local + i % stretch.rows.run +
                 i / stretch.rows.run * stretch.localStride) *
                    heads +
                head;
      own.add(places, reinterpret_cast<const char *>(keys.data()),
              reinterpret_cast<const char *>(values.data()));
      continue;
    }
    if (!chunk)
      continue;
    // Only what this rank sees: a chunk may hold more, for others of its host.
    int64_t before = 0;
    for (const Part &there : chunk->layout) {
      int64_t rows = 0;
      for (const Rows &set : there.rows)
        rows += set.size();
      for (const Part &part : chunk->seen)
        for (int64_t head = std::max(part.head, there.head);
             head < std::min(part.head + part.heads, there.head + there.heads);
             ++head)
          for (const Rows &set : part.rows)
            for (const auto &at : ringlet::ring::place(there.rows, {set}))
              for (int64_t i = 0; i < at.count; ++i)
                places[{head, set.at(at.to + i * at.toStep)}] =
                    before + (at.from + i * at.fromStep) * there.heads + head -
                    there.head;
      before += there.heads * rows;
    }
    own.add(places, chunk->tensors[0], chunk->tensors[1]);
  }
  own.store(gathered);
  return stream.finish();
}

class AttentionTest : public testing::TestWithParam<Kind> {
protected:
  Gathered run(const Schedule &schedule,
               const ringlet::ring::OracleProblem &problem) {
    const ShardedAttention &sharded = schedule.sharded;
    oracle::AttentionInputs inputs = problem.inputs();
    oracle::Pattern pattern(problem.spec, inputs);
    int64_t rows = sharded.queries.length();
    int64_t heads = sharded.attention.queryHeads;
    Gathered gathered = {Tensor(DType::f32, {rows, heads, kValueDim}),
                         Tensor(DType::f32, {heads, rows})};
    for (const Status &status :
         runRanks(GetParam(), sharded.ranks(), {}, [&](Ring &ring) {
           return attend(ring, schedule, problem, pattern, gathered);
         }))
      EXPECT_TRUE(status.ok()) << status.message();
    return gathered;
  }
};

INSTANTIATE_TEST_SUITE_P(Transports, AttentionTest,
                         testing::Values(Kind::InProcess, Kind::Socket),
                         [](const auto &info) {
                           return info.param == Kind::Socket ? "socket"
                                                             : "inprocess";
                         });

// Any branches, masks, sequences and shards on 2, 3, 4 and 8 ranks.
TEST_P(AttentionTest, GatheredResultIsThatOfOneRank) {
  ringlet::ring::Random random(51);
  double squares[2] = {0, 0};
  for (int i = 0; i < 160; ++i) {
    const int64_t counts[] = {2, 3, 4, 8};
    int64_t ranks = counts[i % 4];
    int64_t perHost = i % 3 == 2 && ranks % 2 == 0 ? 2 : ranks;
    ShardedAttention sharded = ringlet::ring::drawSharded(random, ranks, 60);
    std::string error;
    Shards all[2] = {*Shards::contiguous({sharded.queries.length()}, &error),
                     *Shards::contiguous({sharded.keys.length()}, &error)};
    ringlet::ring::OracleProblem problem =
        ringlet::ring::problemOf(sharded.attention, sharded.queries.length(),
                                 sharded.keys.length(), kDim, kValueDim);
    std::normal_distribution<float> normal;
    for (Tensor *tensor : {&problem.query, &problem.key, &problem.value})
      for (int64_t k = 0; k < tensor->elements(); ++k)
        tensor->as<float>()[k] = normal(random);
    for (int on = 0; on < 2; ++on) {
      Schedule schedule = {sharded, perHost, 2 + i % 3};
      if (on == 1)
        schedule = {{sharded.attention, all[0], all[1]}, 1, 2};
      Gathered result = run(schedule, problem);
      auto verdict = oracle::checkAttention(problem.spec, problem.inputs(),
                                            result.output.view(),
                                            result.lse.view(), &error);
      ASSERT_TRUE(verdict) << error;
      ASSERT_TRUE(verdict->ok()) << verdict->text() << "\n"
                                 << describe(sharded);
      double of = verdict->output.rmsError;
      squares[on] += of * of * static_cast<double>(verdict->output.elements);
    }
  }
  EXPECT_LE(std::sqrt(squares[0] / squares[1]), 1.05);
}

} // namespace
