//===- RefusalTest.cpp - Orders that cannot be ------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrderChecks.h"
#include "lib/Layout/Grid.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

using namespace ringlet::layout;

namespace {

constexpr int64_t highest = std::numeric_limits<int64_t>::max();
constexpr int64_t lowest = std::numeric_limits<int64_t>::min();

/// The message with which `spec` is refused.
std::string refusal(const OrderSpec &spec) {
  std::string error;
  EXPECT_FALSE(makeOrder(spec, &error)) << describe(spec);
  EXPECT_FALSE(makeOrder(spec)) << describe(spec);
  return error;
}

OrderSpec spec(const char *curve, int64_t rate, Tokens grid, int64_t chunk,
               Tokens table = {}) {
  return {curve, rate, std::move(grid), chunk, std::move(table)};
}

/// The names of the curves that `isOne` is true of, between words.
template <typename Predicate>
std::string names(const char *between, Predicate isOne) {
  std::string list;
  for (const CurveRow &row : curveRows())
    if (isOne(row))
      list += (list.empty() ? "" : between) + std::string(row.name);
  return list;
}

TEST(Refusal, Messages) {
  std::string all = names(", ", [](const CurveRow &) { return true; });
  EXPECT_EQ(all.substr(0, 30), "linear, hilbert, morton, snake");
  EXPECT_EQ(refusal(spec("hilbrt", 0, {4, 4}, 0)),
            "expected one of the curves " + all +
                " (O1), found 'hilbrt'; nearest legal choice: hilbert");
  EXPECT_EQ(refusal(spec("hilbert", 0, {4, 4}, 15)),
            "expected a chunk of the volume of grid [4, 4] (O1), found chunk = "
            "15 for volume 16; nearest legal choice: chunk = 16");
  EXPECT_EQ(refusal(spec("hilbert", 0, {2, 2, 2, 2}, 0)),
            "expected a grid of 2 or 3 sides for hilbert (O1), found 4 in "
            "[2, 2, 2, 2]; nearest legal choice: snake or morton on the same "
            "grid");
  EXPECT_EQ(refusal(spec("snake", 0, {4, -3}, 0)),
            "expected sides of at least 1 (O1), found side 1 = -3 in grid "
            "[4, -3]; nearest legal choice: 1");
  EXPECT_EQ(
      refusal(spec("residue", 2, {4, 4}, 0)),
      "expected no grid for the curve residue (O1), found [4, 4]; nearest "
      "legal choice: leave it out, or " +
          names(" or ",
                [](const CurveRow &row) { return row.grid != Use::Refused; }));
  EXPECT_EQ(refusal(spec("table", 0, {}, 0, {0, 2, 0})),
            "expected a permutation (O4), found table[2] = 0 like table[0]; "
            "every token of [0, 3) must stand in the table once");
  EXPECT_EQ(
      refusal(spec("table", 0, {}, 0, {0, 3, 1})),
      "expected a permutation (O4), found table[1] = 3 outside of [0, 3); "
      "nearest legal choice: 2 if no other entry has it");
  EXPECT_EQ(refusal(spec("table", 0, {}, 4, {0, 2, 1})),
            "expected a chunk of the volume of the table (O1), found chunk = 4 "
            "for volume 3; nearest legal choice: chunk = 3");
}

// Each of these is refused with what was expected, what was found, the rule
// and what would be legal.
TEST(Refusal, EachHasRuleAndChoice) {
  const OrderSpec specs[] = {
      spec("", 0, {}, 0),
      spec("hilbert", 0, {}, 0),
      spec("hilbert", 0, {16}, 0),
      spec("hilbert", 2, {4, 4}, 0),
      spec("hilbert", 0, {0, 4}, 0),
      spec("hilbert", 0, {lowest, lowest}, 0),
      spec("hilbert", 0, {highest, highest}, 0),
      spec("hilbert", 0, {int64_t(1) << 32, int64_t(1) << 32}, 0),
      spec("hilbert", 0, {4, 4}, -16),
      spec("hilbert", 0, {4, 4}, highest),
      spec("hilbert", 0, {4, 4}, 0, {0, 1}),
      spec("morton", 0, {}, 16),
      spec("morton", 0, Tokens(70, 2), 0),
      spec("snake", 0, {3, 3}, 8),
      spec("snake", -1, {3, 3}, 9),
      spec("residue", 0, {}, 0),
      spec("residue", -4, {}, 0),
      spec("residue", lowest, {}, 0),
      spec("residue", 4, {}, lowest),
      spec("residue", 4, {}, 0, {1, 0}),
      spec("linear", 1, {}, 0),
      spec("linear", 0, {4, 4}, 4),
      spec("linear", 0, {}, 0, {0}),
      spec("table", 0, {}, 0),
      spec("table", 0, {}, 4),
      spec("table", 0, {3}, 0, {1, 0}),
      spec("table", 0, {}, 0, {-1, 0}),
      spec("table", 0, {}, 0, {highest, lowest}),
      spec("table", 2, {}, 0, {1, 0}),
  };
  for (const OrderSpec &bad : specs) {
    std::string error = refusal(bad);
    EXPECT_EQ(error.rfind("expected ", 0), 0u) << error;
    EXPECT_NE(error.find(", found "), std::string::npos) << error;
    EXPECT_NE(error.find("(O"), std::string::npos) << error;
    EXPECT_NE(error.find("; nearest legal choice: "), std::string::npos)
        << error;
  }
}

// Names and lists of any length and content give short, printable messages.
TEST(Refusal, AbsurdNamesAndLists) {
  OrderSpec bad;
  bad.curve = std::string(1000000, '\n') + std::string(3, '\0');
  std::string error = refusal(bad);
  EXPECT_LT(error.size(), 300u);
  EXPECT_TRUE(std::all_of(error.begin(), error.end(),
                          [](char c) { return c >= ' ' && c <= '~'; }));
  bad = spec("hilbert", 0, Tokens(1000000, 1), 0);
  EXPECT_LT(refusal(bad).size(), 300u);
  // As many sides of 1 as one likes are no obstacle to the others.
  bad.curve = "morton";
  bad.grid[500000] = 6;
  EXPECT_EQ(make(bad)->permutation(6), (Tokens{0, 1, 2, 3, 4, 5}));
  bad.curve = "snake";
  EXPECT_EQ(make(bad)->token(5, 6), 5);
}

// Values drawn from the worst ones: each spec is refused with a reason, or
// makes an order that is exact wherever one looks.
TEST(Refusal, HostileSpecs) {
  std::mt19937_64 random(9);
  const int64_t values[] = {lowest,
                            lowest + 1,
                            -2,
                            -1,
                            0,
                            1,
                            2,
                            3,
                            4,
                            7,
                            64,
                            1000,
                            1 << 16,
                            65537,
                            int64_t(1) << 31,
                            int64_t(1) << 32,
                            int64_t(1) << 62,
                            highest - 1,
                            highest};
  auto pick = [&] { return values[random() % std::size(values)]; };
  auto mild = [&] { return random() % 3 ? int64_t(random() % 6) : pick(); };
  const char *names[] = {"linear",  "hilbert", "morton",   "snake",
                         "residue", "table",   "hilbert<", ""};
  int made = 0, refused = 0;
  for (int i = 0; i < 40000; ++i) {
    OrderSpec hostile;
    hostile.curve = names[random() % std::size(names)];
    if (random() % 2)
      hostile.rate = mild();
    for (uint64_t n = random() % 5; n > 0; --n)
      hostile.grid.push_back(mild());
    if (random() % 2)
      hostile.chunk = random() % 2 ? mild() : 16;
    if (random() % 3 == 0) {
      hostile.table.resize(random() % 6);
      for (int64_t &entry : hostile.table)
        entry = mild();
    }
    std::string error;
    std::shared_ptr<const Order> order = makeOrder(hostile, &error);
    EXPECT_EQ(order == nullptr, !error.empty()) << describe(hostile);
    if (!order) {
      ++refused;
      continue;
    }
    ++made;
    for (int j = 0; j < 8; ++j) {
      int64_t length = pick(), at = random() % 2 ? pick() : mild();
      int64_t token = order->token(at, length);
      if (at < 0 || at >= length) {
        ASSERT_EQ(token, -1) << describe(hostile);
      } else {
        ASSERT_TRUE(token >= 0 && token < length) << describe(hostile);
        ASSERT_EQ(order->slot(token, length), at) << describe(hostile);
      }
      order->validate(length);
      order->validatePattern(at);
      order->ordinal(at);
    }
  }
  // Both outcomes were met, often.
  EXPECT_GT(made, 1000);
  EXPECT_GT(refused, 1000);
}

} // namespace
