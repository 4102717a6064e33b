//===- VisibilityTest.cpp - rtile.run and rtile.visible -------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every promise of the two descriptions, against pairs of positions one by
// one.
//
//===----------------------------------------------------------------------===//

#include "RunCase.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

TEST(Visibility, RandomCasesKeepEveryPromise) {
  Random random(4);
  Tally natural, free;
  for (int trial = 0; trial < 4000; ++trial) {
    Case c = randomCase(random, /*apart=*/true);
    SCOPED_TRACE("trial " + std::to_string(trial) + c.text());
    std::vector<double> mask;
    Found found = runCase(c, mask, {});
    checkRun(c, found, /*natural=*/true, natural);
    if (HasFatalFailure())
      return;
    size_t next = 0;
    for (int64_t i = 0; i < c.query.height; ++i)
      for (int64_t j = 0; j < c.key.height; ++j)
        ASSERT_EQ(mask[next++], c.sees(c.row + i, c.keyRow + j))
            << i << ", " << j;
    Options options;
    options.chooseFreely = true;
    options.seed = trial;
    checkRun(c, runCase(c, mask, options), /*natural=*/false, free);
    if (HasFatalFailure())
      return;
  }
  // The cases are worth something: all kinds of runs were among them.
  for (const Tally &tally : {natural, free}) {
    EXPECT_GT(tally.empty, 500);
    EXPECT_GT(tally.none, 500);
    EXPECT_GT(tally.partly, 300);
  }
  EXPECT_GT(natural.whole, 300);
  EXPECT_GT(natural.whole + natural.partly, free.whole + free.partly);
}

TEST(Visibility, AKnownCase) {
  // Segment [8, 16), queries at 9, 11, 13, 15, keys the same, causal, and a
  // window of 4 to the left.
  Case c;
  c.w = 8, c.rate = 2;
  c.query = {4, 0, 1, 1, 100};
  c.key = {1, 0, 1, 1, 100};
  c.causal = true;
  c.window = {4, 0};
  c.row = 2, c.keyRow = 2;
  std::vector<double> mask;
  Found found = runCase(c, mask, {});
  // Position 13 sees 9, 11, 13; position 15 sees 11, 13, 15.
  EXPECT_EQ(found.begin, 0);
  EXPECT_EQ(found.wholeBegin, 1);
  EXPECT_EQ(found.wholeEnd, 3);
  EXPECT_EQ(found.end, 4);
  EXPECT_EQ(mask, (std::vector<double>{1, 1, 0, 0}));
}

TEST(Visibility, FreeChoicesDependOnTheSeedAlone) {
  Case c;
  c.query = {4, 0, 0, 0, 50};
  c.key = {2, 0, 0, 0, 50};
  c.window = {20, 20};
  c.row = 24;
  std::vector<double> mask;
  std::vector<int64_t> lengths;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Options options;
    options.chooseFreely = true;
    options.seed = seed;
    Found first = runCase(c, mask, options), again = runCase(c, mask, options);
    EXPECT_EQ(first.wholeBegin, again.wholeBegin);
    EXPECT_EQ(first.wholeEnd, again.wholeEnd);
    lengths.push_back(first.wholeEnd - first.wholeBegin);
  }
  std::sort(lengths.begin(), lengths.end());
  EXPECT_LT(lengths.front(), 8);
  EXPECT_GT(lengths.back(), 20);
}
