//===- Stretches.cpp - Residues of rows within a shard ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stretches.h"

#include "lib/Layout/Dilation.h"

#include <algorithm>
#include <numeric>

namespace ringlet::ring {

using layout::ceilDiv;
using layout::floorDiv;
using layout::floorMod;

Interval overlap(Interval a, Interval b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

Rows rowsIn(Interval interval, ResidueClass of) {
  Rows result;
  result.first =
      interval.begin + floorMod(of.residue - interval.begin, of.rate);
  if (result.first >= interval.end)
    return {};
  result.run = (interval.end - 1 - result.first) / of.rate + 1;
  result.step = of.rate;
  return result;
}

Interval repetitionsIn(const Stretch &stretch, Interval interval) {
  const Rows &rows = stretch.rows;
  if (interval.empty())
    return {};
  return overlap(
      {0, rows.count},
      {floorDiv(interval.begin - rows.first - rows.run, rows.stride) + 1,
       floorDiv(interval.end - 1 - rows.first, rows.stride) + 1});
}

Interval repetition(const Stretch &stretch, int64_t number) {
  int64_t begin = stretch.rows.first + number * stretch.rows.stride;
  return {begin, begin + stretch.rows.run};
}

Interval hull(const Stretch &stretch) {
  return {stretch.rows.first, stretch.rows.last() + 1};
}

/// After so many repetitions the rows of a class are in the same places again.
static int64_t period(const Stretch &stretch, ResidueClass of) {
  return of.rate / std::gcd(of.rate, stretch.rows.stride);
}

Interval extent(const Stretch &stretch, Interval interval, ResidueClass of) {
  Interval numbers = repetitionsIn(stretch, interval);
  // The outermost repetitions may be cut; behind them one period tells all.
  int64_t most = std::min(numbers.end - numbers.begin, period(stretch, of) + 2);
  Interval result;
  for (int64_t i = 0; i < most; ++i) {
    Rows rows =
        rowsIn(overlap(repetition(stretch, numbers.begin + i), interval), of);
    if (rows.run > 0) {
      result.begin = rows.first;
      break;
    }
  }
  for (int64_t i = 0; i < most; ++i) {
    Rows rows =
        rowsIn(overlap(repetition(stretch, numbers.end - 1 - i), interval), of);
    if (rows.run > 0) {
      result.end = rows.last() + 1;
      break;
    }
  }
  return result;
}

void appendShared(const Stretch &stretch, const Rows &progression,
                  std::vector<LocalRows> &result) {
  if (progression.run == 0)
    return;
  Interval interval = {progression.first, progression.last() + 1};
  ResidueClass of = {progression.run > 1 ? progression.step : 1, 0};
  of.residue = floorMod(progression.first, of.rate);
  Interval numbers = repetitionsIn(stretch, interval);
  auto append = [&](int64_t number, int64_t count, int64_t every) {
    Interval whole = repetition(stretch, number);
    LocalRows part;
    part.rows = rowsIn(overlap(whole, interval), of);
    if (part.rows.run == 0)
      return;
    part.local = stretch.local + number * stretch.localStride +
                 part.rows.first - whole.begin;
    part.rows.count = count;
    part.rows.stride = every * stretch.rows.stride;
    part.localStride = every * stretch.localStride;
    result.push_back(part);
  };
  if (numbers.empty())
    return;
  // The first and the last one may be cut.
  append(numbers.begin, 1, 1);
  int64_t between = numbers.end - numbers.begin - 2;
  int64_t every = period(stretch, of);
  for (int64_t i = 0; i < std::min(between, every); ++i)
    append(numbers.begin + 1 + i, (between - i - 1) / every + 1, every);
  if (between >= 0)
    append(numbers.end - 1, 1, 1);
}

void joinRows(std::vector<LocalRows> &rows) {
  std::vector<LocalRows> result;
  for (const LocalRows &next : rows) {
    if (!result.empty()) {
      LocalRows &last = result.back();
      int64_t distance = next.rows.first - last.rows.first;
      int64_t places = next.local - last.local;
      if (next.rows.count == 1 && next.rows.run == last.rows.run &&
          (next.rows.step == last.rows.step || next.rows.run == 1) &&
          distance > last.rows.last() - last.rows.first -
                         (last.rows.count - 1) * last.rows.stride &&
          (last.rows.count == 1 ||
           (distance == last.rows.count * last.rows.stride &&
            places == last.rows.count * last.localStride))) {
        if (last.rows.count == 1) {
          last.rows.stride = distance;
          last.localStride = places;
        }
        ++last.rows.count;
        continue;
      }
    }
    result.push_back(next);
  }
  rows.swap(result);
}

namespace {

/// The sum of min(max(t, 0), most) over all t below y.
double clampedSum(int64_t y, int64_t most) {
  if (y <= 0)
    return 0;
  double inside = static_cast<double>(std::min(y, most + 1));
  double sum = inside * (inside - 1) / 2;
  if (y > most + 1)
    sum += static_cast<double>(y - most - 1) * static_cast<double>(most);
  return sum;
}

/// Pairs of two progressions with one step: i below `queries` and j below
/// `keys` with -left <= j + ahead - i <= right.
double countBand(int64_t queries, int64_t keys, int64_t ahead, int64_t left,
                 int64_t right) {
  // The keys below i + x of each query i.
  auto below = [&](int64_t x) {
    x = std::clamp(x, -queries, keys);
    return clampedSum(x + queries, keys) - clampedSum(x, keys);
  };
  return below(right - ahead + 1) - below(-left - ahead);
}

} // namespace

double countPairs(const Rows &queries, int64_t shift, const Stretch &keys,
                  Interval within, ResidueClass of, int64_t left,
                  int64_t right) {
  if (queries.run == 0)
    return 0;
  int64_t first = queries.first + shift, last = queries.last() + shift;
  Interval seen = overlap(within, {first - left, last + right + 1});
  Interval numbers = repetitionsIn(keys, seen);
  if (numbers.empty())
    return 0;
  auto countOne = [&](int64_t number) {
    Rows rows = rowsIn(overlap(repetition(keys, number), seen), of);
    if (rows.run == 0)
      return 0.0;
    return countBand(queries.run, rows.run, (rows.first - first) / of.rate,
                     left / of.rate, right / of.rate);
  };
  // Repetitions that every query sees whole need no look at each.
  Interval common = overlap(within, {last - left, first + right + 1});
  Interval whole = repetitionsIn(keys, common);
  while (!whole.empty() && repetition(keys, whole.begin).begin < common.begin)
    ++whole.begin;
  while (!whole.empty() && repetition(keys, whole.end - 1).end > common.end)
    --whole.end;
  if (whole.empty())
    whole = {numbers.end, numbers.end};
  double sum = 0;
  for (int64_t i = numbers.begin; i < whole.begin; ++i)
    sum += countOne(i);
  int64_t every = period(keys, of), count = whole.end - whole.begin;
  for (int64_t i = 0; i < std::min(count, every); ++i)
    sum += static_cast<double>((count - 1 - i) / every + 1) *
           countOne(whole.begin + i);
  for (int64_t i = whole.end; i < numbers.end; ++i)
    sum += countOne(i);
  return sum;
}

} // namespace ringlet::ring
