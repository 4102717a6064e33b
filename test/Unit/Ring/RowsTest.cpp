//===- RowsTest.cpp - Algebra of progressions ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomRing.h"

#include "gtest/gtest.h"

using namespace ringlet::ring;

namespace {

std::vector<int64_t> listOf(const std::vector<Rows> &sets) {
  std::vector<int64_t> result;
  for (const Rows &rows : sets)
    for (int64_t i = 0; i < rows.size(); ++i)
      result.push_back(rows.at(i));
  return result;
}

/// Without duplicates, which the sets must not have.
std::set<int64_t> setOf(const std::vector<Rows> &sets) {
  std::vector<int64_t> rows = listOf(sets);
  std::set<int64_t> result(rows.begin(), rows.end());
  EXPECT_EQ(result.size(), rows.size());
  return result;
}

Rows drawProgression(Random &random) {
  Rows rows;
  rows.first = draw(random, 0, 40);
  rows.run = draw(random, 0, 30);
  rows.step = draw(random, 1, 12);
  return rows;
}

TEST(RowsTest, IntersectionsAndDifferences) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    Rows a = drawProgression(random), b = drawProgression(random);
    std::set<int64_t> of = setOf({a}), with = setOf({b}), both, rest;
    for (int64_t row : of)
      (with.count(row) ? both : rest).insert(row);
    EXPECT_EQ(setOf({intersect(a, b)}), both);
    std::vector<Rows> parts = subtract(a, b);
    EXPECT_EQ(setOf(parts), rest);
    if (HasFailure())
      FAIL() << a.first << " " << a.run << " " << a.step << " and " << b.first
             << " " << b.run << " " << b.step;
  }
}

TEST(RowsTest, Unions) {
  Random random(2);
  for (int i = 0; i < 5000; ++i) {
    std::vector<Rows> sets;
    std::set<int64_t> all;
    for (int64_t k = draw(random, 0, 5); k > 0; --k) {
      sets.push_back(drawProgression(random));
      for (int64_t row : setOf({sets.back()}))
        all.insert(row);
    }
    EXPECT_EQ(setOf(unite(sets)), all);
  }
}

// Of 2^31 rows, in no time: nothing goes through rows.
TEST(RowsTest, LongProgressions) {
  Rows all = {0, kMaxRows, 1, 1, 1};
  Rows odd = {1, kMaxRows / 2, 2, 1, 1};
  Rows far = {5, 2, kMaxRows - 6, 1, 1};
  EXPECT_EQ(intersect(all, odd), odd);
  EXPECT_EQ(intersect(odd, far).size(), 2);
  std::vector<Rows> rest = subtract(all, odd);
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[1].size() + rest[0].size(), kMaxRows / 2);
  Rows prime = {0, kMaxRows / 65537, 65537, 1, 1};
  EXPECT_EQ(intersect(odd, prime).size(), kMaxRows / 65537 / 2);
}

TEST(RowsTest, Placements) {
  Random random(3);
  for (int i = 0; i < 3000; ++i) {
    std::vector<Rows> sets;
    for (int64_t k = draw(random, 0, 4); k > 0; --k)
      sets.push_back(drawProgression(random));
    std::vector<Rows> layout = unite(sets);
    Rows wanted = drawProgression(random);
    wanted.count = draw(random, 1, 5);
    wanted.stride =
        std::max<int64_t>(wanted.run, 1) * wanted.step + draw(random, 0, 20);
    std::vector<int64_t> there = listOf(layout), here = listOf({wanted});
    std::vector<bool> placed(here.size());
    for (const Placement &part : place(layout, {wanted}))
      for (int64_t k = 0; k < part.count; ++k) {
        size_t from = part.from + k * part.fromStep;
        size_t to = part.to + k * part.toStep;
        ASSERT_LT(from, there.size());
        ASSERT_LT(to, here.size());
        EXPECT_EQ(there[from], here[to]);
        EXPECT_FALSE(placed[to]);
        placed[to] = true;
      }
    std::set<int64_t> held(there.begin(), there.end());
    for (size_t k = 0; k < here.size(); ++k)
      EXPECT_EQ(placed[k], held.count(here[k]) > 0);
  }
}

} // namespace
