//===- Balance.cpp - Shards by the work that they are ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/ring/Balance.h"

#include "lib/Layout/Dilation.h"
#include "ringlet/abi/Format.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ringlet::ring {

using layout::ceilDiv;

namespace {

/// Turns of striped shards are at most this many times the ranks.
constexpr int64_t kMostTurns = 64;
/// They stop growing where no rank has more than this beyond its share.
constexpr double kClose = 1.01;

Balance::Step summarise(const std::vector<double> &scores,
                        const std::vector<double> &weights) {
  Balance::Step step;
  double sum = 0, weight = 0;
  bool any = false;
  for (size_t rank = 0; rank < scores.size(); ++rank) {
    double speed = weights.empty() ? 1 : weights[rank];
    sum += scores[rank];
    weight += speed;
    if (speed == 0 && scores[rank] == 0)
      continue;
    double time = scores[rank] / speed;
    step.least = any ? std::min(step.least, time) : time;
    step.most = any ? std::max(step.most, time) : time;
    any = true;
  }
  step.mean = weight > 0 ? sum / weight : 0;
  return step;
}

} // namespace

double Balance::imbalance() const {
  return total.mean > 0 ? total.most / total.mean - 1 : 0;
}

double Balance::imbalanceOfSteps() const {
  double most = 0;
  for (const Step &step : steps)
    most += step.most;
  return total.mean > 0 ? most / total.mean - 1 : 0;
}

Balance balanceOf(const Schedule &schedule,
                  const std::vector<double> &weights) {
  int64_t ranks = schedule.ranks();
  std::vector<double> all(ranks, 0), scores(ranks);
  Balance balance;
  for (int64_t step = 0; step < ranks; ++step) {
    for (int64_t rank = 0; rank < ranks; ++rank) {
      scores[rank] =
          countScores(schedule.sharded, rank, ownerAt(schedule, rank, step));
      all[rank] += scores[rank];
    }
    balance.steps.push_back(summarise(scores, weights));
  }
  balance.total = summarise(all, weights);
  return balance;
}

namespace {

/// Scores of each tile of queries.
std::vector<double> workOfTiles(const Attention &attention, int64_t length,
                                int64_t tile) {
  int64_t keys = 0;
  for (const Sequence &sequence : attention.sequences)
    keys = std::max(keys, sequence.key + sequence.keys);
  Stretch all;
  all.rows.run = keys;
  std::vector<double> work;
  for (int64_t first = 0; first < length; first += tile) {
    Stretch stretch;
    stretch.rows.first = first;
    stretch.rows.run = std::min(tile, length - first);
    double sum = 0;
    if (keys > 0)
      for (const Branch &branch : attention.branches)
        sum += countScores(attention, branch, {stretch}, {all});
    work.push_back(sum);
  }
  return work;
}

/// Ends of groups of tiles that follow each other, one group a rank: the work
/// of the busiest rank, over its weight, is the least possible.
std::vector<int64_t> cutTiles(const std::vector<double> &work,
                              const std::vector<double> &weights) {
  std::vector<double> until(work.size() + 1, 0);
  std::partial_sum(work.begin(), work.end(), until.begin() + 1);
  auto cut = [&](double most) {
    std::vector<int64_t> ends;
    size_t at = 0;
    for (double weight : weights) {
      // Sums of many terms are off in their last digits.
      double limit = (until[at] + most * weight) * (1 + 1e-12);
      if (weight > 0)
        at = std::upper_bound(until.begin() + at, until.end(), limit) -
             until.begin() - 1;
      ends.push_back(static_cast<int64_t>(at));
    }
    return ends;
  };
  int64_t tiles = static_cast<int64_t>(work.size());
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  double low = until.back() / total, high = low;
  while (cut(high).back() < tiles)
    high = 2 * high + 1;
  for (int i = 0; i < 100 && high - low > high * 1e-9; ++i) {
    double middle = (low + high) / 2;
    (cut(middle).back() == tiles ? high : low) = middle;
  }
  return cut(high);
}

/// Ranks in turn, each as often as its weight asks, as evenly as can be: the
/// rank is next that would be behind its share most.
std::vector<int64_t> turnsOf(const std::vector<double> &weights) {
  int64_t ranks = static_cast<int64_t>(weights.size());
  double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<int64_t> counts(ranks, 0), order;
  size_t best = 0;
  double bestExcess = 0;
  for (int64_t turns = 1; turns <= kMostTurns * ranks; ++turns) {
    auto after = [&](int64_t rank) {
      return static_cast<double>(counts[rank] + 1) / weights[rank];
    };
    int64_t next = -1;
    for (int64_t rank = 0; rank < ranks; ++rank)
      if (weights[rank] > 0 && (next < 0 || after(rank) < after(next)))
        next = rank;
    ++counts[next];
    order.push_back(next);
    if (turns < ranks)
      continue;
    double excess = 0;
    for (int64_t rank = 0; rank < ranks; ++rank)
      if (weights[rank] > 0)
        excess =
            std::max(excess, static_cast<double>(counts[rank]) * total /
                                 (weights[rank] * static_cast<double>(turns)));
    if (best == 0 || excess < bestExcess) {
      best = order.size();
      bestExcess = excess;
    }
    if (bestExcess <= kClose)
      break;
  }
  order.resize(best);
  return order;
}

bool refuse(std::string *error, const std::string &message) {
  if (error)
    *error = message;
  return false;
}

bool checkWeights(const std::vector<double> &weights, std::string *error) {
  double total = 0;
  for (double weight : weights) {
    if (!(weight >= 0) || !std::isfinite(weight))
      return refuse(error, formatText("expected finite weights of at least 0, "
                                      "found {:f} (G1)",
                                      weight));
    total += weight;
  }
  if (!(total > 0) || !std::isfinite(total))
    return refuse(error, "expected a weight above 0, found none (G1)");
  return true;
}

} // namespace

std::optional<Shards> balancedShards(const Attention &attention, Sharding kind,
                                     int64_t length,
                                     const std::vector<double> &weights,
                                     int64_t tile, std::string *error) {
  if (!checkWeights(weights, error))
    return std::nullopt;
  if (tile < 1 || length < 0 || length > kMaxRows) {
    refuse(error,
           formatText("expected tiles of at least 1 row and 0 to {} rows, "
                      "found tiles of {} and {} (G1)",
                      kMaxRows, tile, length));
    return std::nullopt;
  }
  int64_t ranks = static_cast<int64_t>(weights.size());
  if (kind == Sharding::Striped)
    return Shards::striped(length, tile, ranks, turnsOf(weights), error);

  std::vector<double> work = workOfTiles(attention, length, tile);
  int64_t tiles = static_cast<int64_t>(work.size());
  if (kind == Sharding::Zigzag) {
    // A tile of the front with its mirror image; a middle one stays alone.
    for (int64_t i = 0; i < tiles / 2; ++i)
      work[i] += work[tiles - 1 - i];
    work.resize(ceilDiv(tiles, 2));
  }
  std::vector<int64_t> ends = cutTiles(work, weights);
  auto rowAt = [&](int64_t tileNumber) {
    return std::min(tileNumber * tile, length);
  };
  std::vector<int64_t> chunks;
  for (int64_t rank = 0; rank < ranks; ++rank)
    chunks.push_back(rowAt(ends[rank]) -
                     (rank == 0 ? 0 : rowAt(ends[rank - 1])));
  if (kind == Sharding::Contiguous)
    return Shards::contiguous(chunks, error);
  for (int64_t rank = ranks - 1; rank >= 0; --rank) {
    // The middle tile of an odd number belongs to the front.
    int64_t begin = rank == 0 ? 0 : ends[rank - 1];
    int64_t last = std::max(tiles - ends[rank], ceilDiv(tiles, 2));
    int64_t end = std::max(tiles - begin, ceilDiv(tiles, 2));
    chunks.push_back(rowAt(end) - rowAt(last));
  }
  return Shards::zigzag(chunks, error);
}

} // namespace ringlet::ring
