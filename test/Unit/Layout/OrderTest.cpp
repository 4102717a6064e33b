//===- OrderTest.cpp - Chunks, tails, lengths, patterns ---------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrderChecks.h"
#include "lib/Layout/Dilation.h"
#include "lib/Layout/Grid.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

using namespace ringlet::layout;

namespace {

constexpr int64_t highest = std::numeric_limits<int64_t>::max();

TEST(Order, ChunkRestartsTheCurve) {
  OrderSpec spec = gridSpec("hilbert", {2, 2});
  spec.chunk = 4;
  std::shared_ptr<const Order> order = make(spec);
  EXPECT_EQ(order->period(), 4);
  // Two whole chunks, then the tail: the curve 0 2 3 1 without token 3.
  EXPECT_EQ(order->permutation(11), (Tokens{0, 2, 3, 1, 4, 6, 7, 5, 8, 10, 9}));
  EXPECT_EQ(order->permutation(0), Tokens{});
}

/// A random order; `length` becomes one that it accepts.
OrderSpec randomSpec(std::mt19937_64 &random, int64_t &length) {
  auto upTo = [&](int64_t n) { return int64_t(random() % n) + 1; };
  OrderSpec spec;
  const char *names[] = {"linear", "hilbert", "morton",
                         "snake",  "residue", "table"};
  spec.curve = names[random() % 6];
  int64_t volume = 0;
  if (spec.curve == "residue") {
    spec.rate = upTo(40);
  } else if (spec.curve == "table") {
    spec.table.resize(upTo(300));
    std::iota(spec.table.begin(), spec.table.end(), 0);
    std::shuffle(spec.table.begin(), spec.table.end(), random);
    volume = static_cast<int64_t>(spec.table.size());
  } else {
    for (int64_t axes = 2 + random() % 2; axes > 0; --axes)
      spec.grid.push_back(upTo(14));
    volume = *gridVolume(spec.grid);
  }
  if (random() % 4) {
    spec.chunk = volume ? volume : upTo(200);
    length = upTo(4 * spec.chunk) - 1;
  } else {
    length = volume ? volume : upTo(500) - 1;
  }
  return spec;
}

// Every order at every legal length: a bijection with an exact inverse, whose
// chunks stay apart and whose tail is the curve without the missing tokens.
TEST(Order, RandomChunksAndTails) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 1500; ++i) {
    int64_t length = 0;
    OrderSpec spec = randomSpec(random, length);
    std::shared_ptr<const Order> order = make(spec);
    ASSERT_EQ(order->validate(length), "");
    Tokens tokens = order->permutation(length);
    ASSERT_EQ(static_cast<int64_t>(tokens.size()), length) << describe(spec);
    ASSERT_TRUE(isPermutation(tokens)) << describe(spec);
    ASSERT_EQ(firstMismatch(*order, tokens), -1)
        << describe(spec) << " at length " << length;
    if (order->isIdentity()) {
      ASSERT_TRUE(std::is_sorted(tokens.begin(), tokens.end()));
    }
    if (!spec.chunk)
      continue;
    Tokens whole = order->permutation(spec.chunk), expected;
    for (int64_t base = 0; base < length; base += spec.chunk)
      for (int64_t token : filtered(whole, length - base))
        expected.push_back(base + token);
    ASSERT_EQ(tokens, expected) << describe(spec) << " at length " << length;
  }
}

// Tails of larger chunks, a million cells each.
TEST(Order, TailsOfLargeChunks) {
  std::mt19937_64 random(8);
  for (const char *curve : {"hilbert", "morton", "snake"})
    for (const Tokens &grid :
         {Tokens{1024, 1024}, Tokens{999, 1001}, Tokens{97, 101, 103}}) {
      OrderSpec spec = gridSpec(curve, grid);
      spec.chunk = *gridVolume(grid);
      std::shared_ptr<const Order> order = make(spec);
      Tokens whole = order->permutation(spec.chunk);
      for (int i = 0; i < 3; ++i) {
        int64_t count = int64_t(random() % spec.chunk);
        Tokens tail = order->permutation(count);
        ASSERT_EQ(tail, filtered(whole, count)) << describe(spec);
        ASSERT_EQ(firstMismatch(*order, tail, 211), -1) << describe(spec);
      }
    }
}

// A short tail of a vast chunk costs what the tail costs, not the chunk.
TEST(Order, ShortTailOfAVastChunk) {
  for (const char *curve : {"linear", "hilbert", "morton", "snake"}) {
    OrderSpec spec = gridSpec(curve, {int64_t(1) << 30, int64_t(1) << 30});
    spec.chunk = int64_t(1) << 60;
    std::shared_ptr<const Order> order = make(spec);
    Tokens tokens = order->permutation(1000);
    EXPECT_TRUE(isPermutation(tokens)) << curve;
    EXPECT_EQ(firstMismatch(*order, tokens), -1) << curve;
  }
}

// A table's index of its tails is made on first use, by whichever thread.
TEST(Order, ThreadsShareATable) {
  OrderSpec spec;
  spec.curve = "table";
  spec.chunk = 5003;
  for (int64_t m = 0; m < spec.chunk; ++m)
    spec.table.push_back(m * 3001 % spec.chunk);
  std::shared_ptr<const Order> order = make(spec);
  Tokens tail = filtered(spec.table, 4000);
  std::vector<int64_t> mismatches(4, 0);
  std::vector<std::thread> threads;
  for (int64_t &mismatch : mismatches)
    threads.emplace_back([&] { mismatch = firstMismatch(*order, tail); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(mismatches, std::vector<int64_t>(4, -1));
}

TEST(Order, IndicesOutsideTheSequence) {
  for (const char *curve : {"linear", "hilbert", "morton", "snake"}) {
    std::shared_ptr<const Order> order = make(gridSpec(curve, {3, 4}));
    for (int64_t bad : {int64_t(-1), int64_t(12), highest, -highest - 1}) {
      EXPECT_EQ(order->token(bad, 12), -1) << curve;
      EXPECT_EQ(order->slot(bad, 12), -1) << curve;
    }
    EXPECT_EQ(order->token(0, 0), -1) << curve;
    EXPECT_EQ(order->token(0, -5), -1) << curve;
    // A length that validate refuses gives some bijection all the same.
    for (int64_t length : {7, 30})
      for (int64_t m = 0; m < length; ++m)
        EXPECT_EQ(order->slot(order->token(m, length), length), m) << curve;
  }
}

TEST(Order, Identity) {
  OrderSpec table;
  table.curve = "table";
  table.table = {0, 1, 2};
  EXPECT_TRUE(make(table)->isIdentity());
  table.table = {0, 2, 1};
  EXPECT_FALSE(make(table)->isIdentity());
  EXPECT_TRUE(make(OrderSpec{})->isIdentity());
  EXPECT_TRUE(make(gridSpec("linear", {4, 4}))->isIdentity());
  EXPECT_TRUE(make(gridSpec("hilbert", {1, 9}))->isIdentity());
  EXPECT_TRUE(make(gridSpec("morton", {9, 1, 1}))->isIdentity());
  EXPECT_FALSE(make(gridSpec("snake", {2, 2}))->isIdentity());
  OrderSpec residue;
  residue.curve = "residue";
  residue.rate = 1;
  EXPECT_TRUE(make(residue)->isIdentity());
  residue.rate = 2;
  EXPECT_FALSE(make(residue)->isIdentity());
}

// The grid's volume is the chunk, else the length (O1).
TEST(Order, ValidateLength) {
  std::shared_ptr<const Order> order = make(gridSpec("hilbert", {4, 6}));
  EXPECT_EQ(order->validate(24), "");
  EXPECT_EQ(
      order->validate(30),
      "expected a length of 24, the volume of grid [4, 6] (O1), found 30; "
      "nearest legal choice: chunk = 24, or grid [5, 6]");
  EXPECT_EQ(
      order->validate(25),
      "expected a length of 24, the volume of grid [4, 6] (O1), found 25; "
      "nearest legal choice: chunk = 24");
  EXPECT_NE(order->validate(0), "");
  EXPECT_NE(order->validate(-1), "");
  EXPECT_NE(order->validate(highest), "");

  std::string error;
  EXPECT_TRUE(order->permutation(23, &error).empty());
  EXPECT_EQ(error, order->validate(23));
  EXPECT_TRUE(order->permutation(23).empty());

  OrderSpec chunked = gridSpec("hilbert", {4, 6});
  chunked.chunk = 24;
  for (int64_t length : {int64_t(0), int64_t(1), int64_t(24), highest})
    EXPECT_EQ(make(chunked)->validate(length), "");
  EXPECT_NE(make(chunked)->validate(-1), "");
  EXPECT_TRUE(make(chunked)->permutation(highest, &error).empty());
  EXPECT_NE(error.find("at most 4294967296"), std::string::npos) << error;

  EXPECT_EQ(make(OrderSpec{})->validate(highest), "");
  EXPECT_NE(make(OrderSpec{})->validate(-1), "");
}

// Any 64-bit length, with no step of the arithmetic beyond 64 bits.
TEST(Order, LongestSequences) {
  OrderSpec residue;
  residue.curve = "residue";
  for (int64_t rate :
       {int64_t(1), int64_t(2), int64_t(3), highest - 1, highest})
    for (int64_t chunk : {int64_t(0), int64_t(1000), highest - 1, highest})
      for (int64_t length : {highest, highest - 1, int64_t(5)})
        for (int64_t m : {int64_t(0), int64_t(1), int64_t(4), length / 3,
                          length / 2, length - 2, length - 1}) {
          residue.rate = rate;
          residue.chunk = chunk;
          std::shared_ptr<const Order> order = make(residue);
          int64_t token = order->token(m, length);
          ASSERT_TRUE(token >= 0 && token < length)
              << describe(residue) << " at " << m;
          ASSERT_EQ(order->slot(token, length), m) << describe(residue);
        }
  OrderSpec hilbert = gridSpec("hilbert", {3, 5});
  hilbert.chunk = 15;
  for (int64_t m = highest - 40; m < highest; ++m) {
    int64_t token = make(hilbert)->token(m, highest);
    ASSERT_EQ(make(hilbert)->slot(token, highest), m);
  }
}

// The pattern order's volume exceeds every position (O2).
TEST(Order, PatternOrdinals) {
  std::shared_ptr<const Order> order = make(gridSpec("hilbert", {4, 4}));
  EXPECT_EQ(order->validatePattern(15), "");
  EXPECT_EQ(order->validatePattern(3), "");
  EXPECT_EQ(order->validatePattern(-4), "");
  EXPECT_EQ(order->validatePattern(16),
            "expected a pattern order whose volume exceeds every position "
            "(O2), found volume 16 of hilbert, grid = [4, 4] for position 16; "
            "nearest legal choice: volume 17");
  EXPECT_NE(order->validatePattern(highest), "");
  for (int64_t p = 0; p < 16; ++p)
    EXPECT_EQ(order->ordinal(order->token(p, 16)), p);
  // Before the sequence and beyond the grid: its own ordinal.
  EXPECT_EQ(order->ordinal(-3), -3);
  EXPECT_EQ(order->ordinal(16), 16);

  // The identity counts along the token index at any length.
  EXPECT_EQ(make(OrderSpec{})->validatePattern(highest), "");
  EXPECT_EQ(make(OrderSpec{})->ordinal(highest), highest);
  EXPECT_NE(make(gridSpec("linear", {4, 4}))->validatePattern(16), "");

  OrderSpec residue;
  residue.curve = "residue";
  residue.rate = 3;
  EXPECT_EQ(make(residue)->validatePattern(9),
            "expected a pattern order with a volume (O2), found residue<3>; "
            "nearest legal choice: chunk = 10");
  residue.chunk = 10;
  EXPECT_EQ(make(residue)->validatePattern(9), "");
  EXPECT_NE(make(residue)->validatePattern(10), "");
  EXPECT_EQ(make(residue)->ordinal(3), 1);
  EXPECT_EQ(make(residue)->ordinal(1), 4);
}

// A step that an order calls constant is so for every pair of tokens of a
// period, and linear and residue orders have the steps that views rely on.
TEST(Order, SlotStepHoldsForEveryPair) {
  std::mt19937_64 random(11);
  int64_t constant = 0;
  for (int i = 0; i < 400; ++i) {
    int64_t length;
    std::shared_ptr<const Order> order = make(randomSpec(random, length));
    int64_t period = order->period() ? order->period() : length;
    for (int64_t step : {1, 2, 3, 8, 12}) {
      std::optional<int64_t> slots = order->slotStep(step);
      constant += slots.has_value();
      for (int64_t token = 0; slots && token + step < length; ++token) {
        if (token % period + step >= period)
          continue;
        ASSERT_EQ(order->slot(token + step, length),
                  order->slot(token, length) + *slots)
            << describe(order->spec()) << ", step " << step;
      }
    }
  }
  EXPECT_GT(constant, 100);

  OrderSpec residue;
  residue.curve = "residue";
  residue.rate = 4;
  EXPECT_EQ(make(residue)->slotStep(4), 1);
  EXPECT_EQ(make(residue)->slotStep(12), 3);
  EXPECT_EQ(make(residue)->slotStep(2), std::nullopt);
  EXPECT_EQ(make(gridSpec("hilbert", {4, 4}))->slotStep(1), std::nullopt);
  EXPECT_EQ(make(OrderSpec{})->slotStep(7), 7);
}

// A step that is called constant is so in every segment, wherever position 0
// lies.
TEST(Order, RowStepHoldsInEverySegment) {
  std::mt19937_64 random(12);
  int64_t constant = 0, restarts = 0;
  for (int i = 0; i < 2000; ++i) {
    int64_t length;
    std::shared_ptr<const Order> order = make(randomSpec(random, length));
    int64_t rate = 1 + int64_t(random() % 3);
    if (random() % 2)
      rate *= std::max<int64_t>(order->spec().rate, 1);
    int64_t segment = int64_t(random() % 17);
    if (order->period() && random() % 2)
      segment = order->period() / (1 + int64_t(random() % 2));
    int64_t first = random() % 2 ? 0 : int64_t(random() % 5);
    std::optional<int64_t> step = order->rowStep(segment, rate, first == 0);
    constant += step.has_value();
    restarts += step && !order->isIdentity() && order->period() != 0 &&
                order->period() < length;
    for (int64_t token = 0; step && token + rate < length; ++token) {
      if (segmentOf(first + token, segment) !=
          segmentOf(first + token + rate, segment))
        continue;
      ASSERT_EQ(order->slot(token + rate, length),
                order->slot(token, length) + *step)
          << describe(order->spec()) << ", w " << segment << ", r " << rate
          << ", first position " << first;
    }
  }
  EXPECT_GT(constant, 200);
  EXPECT_GT(restarts, 20);

  OrderSpec residue;
  residue.curve = "residue";
  residue.rate = 4;
  EXPECT_EQ(make(residue)->rowStep(unboundedSegment, 4, false), 1);
  residue.chunk = 16;
  EXPECT_EQ(make(residue)->rowStep(8, 4, true), 1);
  EXPECT_EQ(make(residue)->rowStep(8, 4, false), std::nullopt);
  EXPECT_EQ(make(residue)->rowStep(32, 4, true), std::nullopt);
  EXPECT_EQ(make(residue)->rowStep(unboundedSegment, 4, true), std::nullopt);
}

TEST(Order, Description) {
  OrderSpec spec = gridSpec("hilbert", {4, 4});
  spec.chunk = 16;
  EXPECT_EQ(describe(spec), "hilbert, grid = [4, 4], chunk = 16");
  OrderSpec residue;
  residue.curve = "residue";
  residue.rate = 4;
  EXPECT_EQ(describe(residue), "residue<4>");
  EXPECT_EQ(describe(Tokens{}), "[]");
  EXPECT_EQ(describe(Tokens(9, 7)),
            "[7, 7, 7, 7, 7, 7, 7, 7, ... (9 entries)]");
  EXPECT_EQ(make(spec)->spec(), spec);
  EXPECT_NE(make(spec)->spec(), residue);
}

} // namespace
