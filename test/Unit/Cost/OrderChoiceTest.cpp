//===- OrderChoiceTest.cpp - When an order pays ----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/OrderChoice.h"

#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::cost;

namespace {

OrderedBranch branchOf(int64_t length, int64_t rate) {
  OrderedBranch branch;
  branch.pattern.rate = rate;
  branch.queries = branch.keys = length;
  branch.heads = 4;
  branch.headBytes = branch.valueBytes = 256;
  branch.pattern.queryRows = 128;
  branch.pattern.keyRows = 64;
  branch.cyclesPerScore = 10.0;
  return branch;
}

OrderedBranch gridOf(std::vector<int64_t> sides, int64_t reach) {
  OrderedBranch branch = branchOf(1, 1);
  branch.queries = branch.keys = 1;
  for (int64_t side : sides)
    branch.queries = branch.keys = branch.keys * side;
  branch.pattern.reach.assign(sides.size(), reach);
  branch.pattern.grid = std::move(sides);
  return branch;
}

OrderEstimate make(const OrderedBranch &branch, OrderUse use,
                   const char *curve) {
  std::string error;
  std::optional<OrderEstimate> result = estimate(
      Machine::CPU, branch, use,
      orderAlong(curve, branch.keys, branch.pattern.rate, branch.pattern.grid),
      error);
  EXPECT_TRUE(result) << error;
  return result.value_or(OrderEstimate());
}

// The published thresholds: 4096, 16384 and 65536 tokens.
TEST(OrderChoice, ChunkFollowsLength) {
  auto chunk = [](int64_t length) {
    return orderAlong("hilbert", length, 1, {}).chunk;
  };
  EXPECT_EQ(chunk(1), 4096);
  EXPECT_EQ(chunk(99'999), 4096);
  EXPECT_EQ(chunk(100'000), 16384);
  EXPECT_EQ(chunk(999'999), 16384);
  EXPECT_EQ(chunk(1'000'000), 65536);
  EXPECT_EQ(layout::describe(orderAlong("hilbert", 10'000, 4, {})),
            "hilbert, grid = [64, 64], chunk = 4096");
  EXPECT_EQ(layout::describe(orderAlong("snake", 12, 4, {3, 4})),
            "snake, grid = [3, 4]");
  EXPECT_EQ(layout::describe(orderAlong("morton", 24, 4, {3, 4})),
            "morton, grid = [3, 4], chunk = 12");
  EXPECT_EQ(layout::describe(orderAlong("residue", 10'000, 4, {})),
            "residue<4>");
  EXPECT_EQ(layout::describe(orderAlong("linear", 10'000, 4, {})), "linear");
}

// Every curve of the registry that a sequence can have without being told more.
TEST(OrderChoice, ComparesEveryCurve) {
  std::string names;
  for (const layout::OrderSpec &spec : ordersToCompare(4096, 2, {}))
    names += layout::describe(spec) + "; ";
  EXPECT_EQ(names, "hilbert, grid = [64, 64]; morton, grid = [64, 64]; "
                   "snake, grid = [64, 64]; residue<2>; ");
  EXPECT_EQ(ordersToCompare(4096, 1, {}).size(), 3u);
}

// Rows of whole lines: an order of K and V costs the way there and saves
// nothing.
TEST(OrderChoice, MemoryOrdersOfOneDimensionLose) {
  for (int64_t rate : {1, 4, 16})
    for (const char *curve : {"hilbert", "morton", "snake", "residue"}) {
      OrderedBranch branch = branchOf(16384, rate);
      OrderEstimate plain = make(branch, OrderUse::None, "linear");
      OrderEstimate other = make(branch, OrderUse::Memory, curve);
      EXPECT_EQ(plain.lines, other.lines);
      EXPECT_GT(other.cycles, plain.cycles) << curve << ' ' << rate;
      EXPECT_FALSE(isClearlyBetter(other, plain));
    }
}

// A tile along a Hilbert curve is compact: it sees fewer tiles once the window
// is wider than a row of the grid is high.
TEST(OrderChoice, WideGridWindowsWinAlongACurve) {
  OrderedBranch wide = gridOf({128, 128}, 8);
  OrderEstimate rows = make(wide, OrderUse::None, "linear");
  OrderEstimate curve = make(wide, OrderUse::Pattern, "hilbert");
  EXPECT_LT(curve.keyTiles, rows.keyTiles);
  EXPECT_TRUE(isClearlyBetter(curve, rows));
  OrderedBranch cube = gridOf({32, 32, 32}, 4);
  EXPECT_TRUE(isClearlyBetter(make(cube, OrderUse::Pattern, "hilbert"),
                              make(cube, OrderUse::None, "linear")));
  // A window over everything sees every tile in each order.
  OrderedBranch all = gridOf({32, 32}, 31);
  EXPECT_FALSE(isClearlyBetter(make(all, OrderUse::Pattern, "hilbert"),
                               make(all, OrderUse::None, "linear")));
}

TEST(OrderChoice, RefusesOrdersThatDoNotFit) {
  std::string error;
  OrderedBranch branch = branchOf(100, 1);
  layout::OrderSpec spec;
  spec.curve = "hilbert";
  spec.grid = {8, 8};
  EXPECT_FALSE(estimate(Machine::GPU, branch, OrderUse::Memory, spec, error));
  EXPECT_NE(error.find("expected a length of 64"), std::string::npos) << error;
  EXPECT_FALSE(estimate(Machine::GPU, branch, OrderUse::Pattern, spec, error));
  EXPECT_NE(error.find("(O2)"), std::string::npos) << error;
  spec.curve = "peano";
  EXPECT_FALSE(estimate(Machine::GPU, branch, OrderUse::Memory, spec, error));
}

TEST(OrderChoice, ExplanationNamesUseAndFigures) {
  OrderedBranch branch = gridOf({32, 32}, 2);
  std::string text = explain(make(branch, OrderUse::Pattern, "hilbert"));
  EXPECT_EQ(text.find("tiles along hilbert, grid = [32, 32]: "), 0u) << text;
  EXPECT_NE(text.find(" tiles of keys, "), std::string::npos) << text;
}

} // namespace
