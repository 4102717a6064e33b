//===- ExhaustiveTest.cpp - Every grid up to a size -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// O4 on each 2-D grid up to 64 x 64 and each 3-D grid up to 16 x 16 x 16, 6.8
// million cells a curve: the whole permutation, and each slot and token on its
// own. Beyond, random grids, of whose single slots only some are looked up.
//
//===----------------------------------------------------------------------===//

#include "OrderChecks.h"
#include "lib/Layout/Grid.h"

#include <random>
#include <set>

using namespace ringlet::layout;

namespace {

struct Law {
  std::string curve;
  bool unitSteps;
};

/// Every curve of the registry that walks through a grid by a rule. O4 asks for
/// Hilbert's unit steps on planes and on solids of even sides; the cuts give
/// them on all solids, so that is what is tested.
std::vector<Law> allLaws() {
  std::vector<Law> laws;
  for (const CurveRow &row : curveRows()) {
    std::string name = row.name;
    if (row.grid != Use::Refused && row.table == Use::Refused)
      laws.push_back({name, name == "hilbert" || name == "snake"});
  }
  return laws;
}

class EveryGrid : public testing::TestWithParam<Law> {
protected:
  /// Null for a grid of as many sides as the curve takes none of: it takes all
  /// grids of a number of sides, or refuses all of them.
  std::shared_ptr<const Order> orderOf(const Tokens &grid, int64_t chunk = 0) {
    OrderSpec spec = gridSpec(GetParam().curve.c_str(), grid);
    spec.chunk = chunk;
    if (takes(grid.size()))
      return make(spec);
    EXPECT_FALSE(makeOrder(spec)) << describe(grid);
    return nullptr;
  }

  bool takes(size_t sides) {
    return bool(
        makeOrder(gridSpec(GetParam().curve.c_str(), Tokens(sides, 2))));
  }

  void check(const Tokens &grid, int64_t stride) {
    const Law &law = GetParam();
    std::shared_ptr<const Order> order = orderOf(grid);
    if (!order)
      return;
    int64_t volume = *gridVolume(grid);
    Tokens tokens = order->permutation(volume);
    ASSERT_EQ(static_cast<int64_t>(tokens.size()), volume);
    ASSERT_TRUE(isPermutation(tokens)) << describe(grid);
    if (law.unitSteps) {
      ASSERT_EQ(nonUnitSteps(tokens, grid), 0) << describe(grid);
    }
    ASSERT_EQ(firstMismatch(*order, tokens, stride), -1) << describe(grid);
  }
};

TEST_P(EveryGrid, IsOfSomeSides) {
  bool isOurs =
      std::set<std::string>{"linear", "hilbert", "morton", "snake"}.count(
          GetParam().curve);
  EXPECT_TRUE(takes(2) || takes(3));
  EXPECT_TRUE(!isOurs || (takes(2) && takes(3)));
}

TEST_P(EveryGrid, Planes) {
  for (int64_t y = 1; y <= 64; ++y)
    for (int64_t x = 1; x <= 64; ++x)
      ASSERT_NO_FATAL_FAILURE(check({y, x}, 1));
}

TEST_P(EveryGrid, Solids) {
  for (int64_t z = 1; z <= 16; ++z)
    for (int64_t y = 1; y <= 16; ++y)
      for (int64_t x = 1; x <= 16; ++x)
        ASSERT_NO_FATAL_FAILURE(check({z, y, x}, 1));
}

// Each tail of each small grid against its definition: the whole curve without
// the tokens that do not exist.
TEST_P(EveryGrid, TailsOfSmallOnes) {
  auto checkTails = [this](const Tokens &grid) {
    int64_t volume = *gridVolume(grid);
    std::shared_ptr<const Order> order = orderOf(grid, volume);
    if (!order)
      return;
    Tokens whole = order->permutation(volume);
    for (int64_t count = 0; count <= volume; ++count) {
      Tokens tail = order->permutation(count);
      ASSERT_EQ(tail, filtered(whole, count)) << describe(grid);
      ASSERT_EQ(firstMismatch(*order, tail), -1)
          << describe(grid) << " with " << count << " tokens";
    }
  };
  for (int64_t y = 1; y <= 9; ++y)
    for (int64_t x = 1; x <= 9; ++x)
      ASSERT_NO_FATAL_FAILURE(checkTails({y, x}));
  for (int64_t z = 1; z <= 5; ++z)
    for (int64_t y = 1; y <= 5; ++y)
      for (int64_t x = 1; x <= 5; ++x)
        ASSERT_NO_FATAL_FAILURE(checkTails({z, y, x}));
}

// Random grids to several million cells, slim ones included.
TEST_P(EveryGrid, RandomLargeOnes) {
  std::mt19937_64 random(20);
  auto upTo = [&](int64_t n) { return int64_t(random() % n) + 1; };
  for (int i = 0; i < 6; ++i) {
    ASSERT_NO_FATAL_FAILURE(check({upTo(1200), upTo(1200)}, 101));
    ASSERT_NO_FATAL_FAILURE(check({upTo(9), upTo(40000)}, 101));
    ASSERT_NO_FATAL_FAILURE(check({upTo(40000), upTo(9)}, 101));
    ASSERT_NO_FATAL_FAILURE(check({upTo(100), upTo(100), upTo(100)}, 101));
    ASSERT_NO_FATAL_FAILURE(check({upTo(9), upTo(200), upTo(99)}, 101));
    ASSERT_NO_FATAL_FAILURE(check({upTo(2000), upTo(5), upTo(12)}, 101));
  }
  ASSERT_NO_FATAL_FAILURE(check({2047, 2049}, 1009));
  ASSERT_NO_FATAL_FAILURE(check({161, 159, 163}, 1009));
}

// Grids far beyond memory still answer for single tokens, exactly.
TEST_P(EveryGrid, SingleTokensOfHugeOnes) {
  std::mt19937_64 random(21);
  for (const Tokens &grid :
       {Tokens{int64_t(1) << 31, (int64_t(1) << 31) - 1},
        Tokens{3037000499, 3037000499}, Tokens{2, (int64_t(1) << 61) - 1},
        Tokens{2097151, 2097151, 2097151}, Tokens{7, 1000000007, 1000000006},
        Tokens{1, (int64_t(1) << 62) + 1}}) {
    std::shared_ptr<const Order> order = orderOf(grid);
    if (!order)
      continue;
    int64_t volume = *gridVolume(grid);
    for (int i = 0; i < 200; ++i) {
      int64_t m = int64_t(random() >> 1) % (volume - 1);
      int64_t token = order->token(m, volume);
      ASSERT_TRUE(token >= 0 && token < volume) << describe(grid);
      ASSERT_EQ(order->slot(token, volume), m) << describe(grid);
      if (GetParam().unitSteps) {
        Tokens step = {token, order->token(m + 1, volume)};
        ASSERT_EQ(nonUnitSteps(step, grid), 0) << describe(grid);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Curves, EveryGrid, testing::ValuesIn(allLaws()),
                         [](const auto &info) { return info.param.curve; });

} // namespace
