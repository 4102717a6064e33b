//===- Rows.cpp - Sets of rows as nested progressions ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/ring/Rows.h"

#include "lib/Layout/Dilation.h"

#include <algorithm>
#include <numeric>

namespace ringlet::ring {

using layout::ceilDiv;
using layout::floorMod;

namespace {

Rows progression(int64_t first, int64_t run, int64_t step) {
  Rows result;
  result.first = first;
  result.run = std::max<int64_t>(run, 0);
  result.step = step;
  return result;
}

/// x with a * x == 1 (mod modulus), for a and modulus without a common factor.
int64_t inverse(int64_t a, int64_t modulus) {
  int64_t r0 = modulus, r1 = floorMod(a, modulus), t0 = 0, t1 = 1;
  while (r1 != 0) {
    int64_t quotient = r0 / r1;
    std::swap(r0 -= quotient * r1, r1);
    std::swap(t0 -= quotient * t1, t1);
  }
  return floorMod(t0, modulus);
}

/// A step beyond the rows says nothing, and could be too large to multiply.
int64_t stepOf(const Rows &rows) { return rows.run > 1 ? rows.step : 1; }

/// A progression of places in a set: rows `rows`, of which row i is at
/// `place + i * placeStep`.
struct Strand {
  Rows rows;
  int64_t place = 0, placeStep = 1;
};

/// A set as progressions: one a run, or one across all runs.
std::vector<Strand> strandsOf(const Rows &rows, int64_t place) {
  std::vector<Strand> result;
  if (rows.count <= rows.run) {
    for (int64_t b = 0; b < rows.count; ++b)
      result.push_back(
          {progression(rows.first + b * rows.stride, rows.run, rows.step),
           place + b * rows.run, 1});
    return result;
  }
  for (int64_t a = 0; a < rows.run; ++a)
    result.push_back(
        {progression(rows.first + a * rows.step, rows.count, rows.stride),
         place + a, rows.run});
  return result;
}

std::vector<Strand> strandsOf(const std::vector<Rows> &sets) {
  std::vector<Strand> result;
  int64_t place = 0;
  for (const Rows &rows : sets) {
    for (const Strand &strand : strandsOf(rows, place))
      result.push_back(strand);
    place += rows.size();
  }
  return result;
}

} // namespace

Rows intersect(const Rows &a, const Rows &b) {
  if (a.run == 0 || b.run == 0 || a.last() < b.first || b.last() < a.first)
    return {};
  int64_t stepA = stepOf(a), stepB = stepOf(b);
  int64_t common = std::gcd(stepA, stepB);
  int64_t distance = b.first - a.first;
  if (distance % common != 0)
    return {};
  // first = a.first + stepA * i with stepA * i == distance (mod stepB).
  int64_t rest = stepB / common;
  int64_t i =
      floorMod(distance / common, rest) * inverse(stepA / common, rest) % rest;
  int64_t step = stepA * rest;
  int64_t first = a.first + stepA * i;
  int64_t lowest = std::max(a.first, b.first);
  if (first < lowest)
    first += ceilDiv(lowest - first, step) * step;
  int64_t highest = std::min(a.last(), b.last());
  return first > highest
             ? Rows()
             : progression(first, (highest - first) / step + 1, step);
}

std::vector<Rows> subtract(const Rows &a, const Rows &b) {
  Rows both = intersect(a, b);
  if (both.run == 0)
    return {a};
  int64_t step = stepOf(a);
  std::vector<Rows> result;
  auto add = [&](int64_t first, int64_t run, int64_t by) {
    if (run > 0)
      result.push_back(progression(first, run, by));
  };
  add(a.first, (both.first - a.first) / step, step);
  if (both.run > 1) {
    // Between two rows of both lie `between` of a alone.
    int64_t between = both.step / step - 1;
    if (between < both.run - 1)
      for (int64_t i = 1; i <= between; ++i)
        add(both.first + i * step, both.run - 1, both.step);
    else
      for (int64_t i = 0; i + 1 < both.run; ++i)
        add(both.first + i * both.step + step, between, step);
  }
  add(both.last() + step, (a.last() - both.last()) / step, step);
  return result;
}

std::vector<Rows> unite(const std::vector<Rows> &sets) {
  std::vector<Rows> result;
  for (const Rows &rows : sets) {
    std::vector<Rows> rest = {rows};
    size_t before = result.size();
    for (size_t i = 0; i < before && !rest.empty(); ++i) {
      std::vector<Rows> next;
      for (const Rows &piece : rest)
        for (const Rows &part : subtract(piece, result[i]))
          next.push_back(part);
      rest.swap(next);
    }
    for (const Rows &piece : rest)
      if (piece.run > 0)
        result.push_back(piece);
  }
  return result;
}

std::vector<Placement> place(const std::vector<Rows> &layout,
                             const std::vector<Rows> &wanted) {
  std::vector<Strand> there = strandsOf(layout);
  std::vector<Placement> result;
  for (const Strand &here : strandsOf(wanted))
    for (const Strand &strand : there) {
      Rows both = intersect(strand.rows, here.rows);
      if (both.run == 0)
        continue;
      auto placeIn = [&](const Strand &in) {
        return in.place +
               (both.first - in.rows.first) / stepOf(in.rows) * in.placeStep;
      };
      auto stepIn = [&](const Strand &in) {
        return both.run == 1 ? 1 : both.step / stepOf(in.rows) * in.placeStep;
      };
      result.push_back({placeIn(strand), stepIn(strand), placeIn(here),
                        stepIn(here), both.run});
    }
  return result;
}

} // namespace ringlet::ring
