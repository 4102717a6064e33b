//===- ArithmeticTest.cpp - Curves as arithmetic ----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrderChecks.h"

#include <random>

using namespace ringlet::layout;

namespace {

/// The first index at which the program of an order differs from the order, or
/// -1.
int64_t firstDifference(const Order &order, bool inverse, int64_t length,
                        const Tokens &indices) {
  std::optional<IndexProgram> program = order.arithmetic(inverse);
  if (!program)
    return 0;
  for (int64_t index : indices)
    if ((*program)(index) !=
        (inverse ? order.slot(index, length) : order.token(index, length)))
      return index;
  return -1;
}

void check(const OrderSpec &spec, int64_t length) {
  Tokens all(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i)
    all[static_cast<size_t>(i)] = i;
  for (bool inverse : {false, true})
    ASSERT_EQ(firstDifference(*make(spec), inverse, length, all), -1)
        << describe(spec) << (inverse ? " inverse" : "");
}

/// Every curve of the registry that walks through a grid by a rule.
std::vector<const char *> curvesOfGrids() {
  std::vector<const char *> names;
  for (const CurveRow &row : curveRows())
    if (row.grid != Use::Refused && row.table == Use::Refused)
      names.push_back(row.name);
  return names;
}

// Every grid of powers of two, once and as a chunk that is repeated.
TEST(Arithmetic, Grids) {
  for (const char *curve : curvesOfGrids()) {
    for (int y = 0; y < 7; ++y)
      for (int x = 0; x < 7; ++x) {
        OrderSpec spec = gridSpec(curve, {1 << y, 1 << x});
        ASSERT_NO_FATAL_FAILURE(check(spec, 1 << (y + x)));
        spec.chunk = 1 << (y + x);
        ASSERT_NO_FATAL_FAILURE(check(spec, 3 << (y + x)));
      }
    for (int z = 0; z < 5; ++z)
      for (int y = 0; y < 5; ++y)
        for (int x = 0; x < 5; ++x)
          ASSERT_NO_FATAL_FAILURE(check(
              gridSpec(curve, {1 << z, 1 << y, 1 << x}), 1 << (z + y + x)));
  }
}

TEST(Arithmetic, Residues) {
  OrderSpec spec;
  spec.curve = "residue";
  for (int rate = 0; rate < 6; ++rate)
    for (int chunk = rate; chunk < 10; ++chunk) {
      spec.rate = 1 << rate;
      spec.chunk = 1 << chunk;
      ASSERT_NO_FATAL_FAILURE(check(spec, 4 << chunk));
    }
}

TEST(Arithmetic, HugeGrids) {
  std::mt19937_64 random(4);
  for (const char *curve : curvesOfGrids())
    for (const Tokens &grid :
         {Tokens{int64_t(1) << 31, int64_t(1) << 31},
          Tokens{int64_t(1) << 4, int64_t(1) << 58},
          Tokens{1 << 20, 1 << 20, 1 << 20}, Tokens{1 << 30, 2, 1 << 30}}) {
      OrderSpec spec = gridSpec(curve, grid);
      int64_t volume = make(spec)->period();
      Tokens indices;
      for (int i = 0; i < 200; ++i)
        indices.push_back(int64_t(random() & uint64_t(volume - 1)));
      for (bool inverse : {false, true})
        ASSERT_EQ(firstDifference(*make(spec), inverse, volume, indices), -1)
            << describe(spec);
    }
}

// What has sides or rates that are no powers of two, or no period at all.
TEST(Arithmetic, WhereThereIsNone) {
  OrderSpec table, residue, ragged;
  table.curve = "table";
  table.table = {1, 0};
  residue.curve = "residue";
  residue.rate = 4;
  ragged = residue;
  ragged.rate = 3;
  ragged.chunk = 8;
  OrderSpec wide = residue;
  wide.rate = 16;
  wide.chunk = 8;
  for (const OrderSpec &spec :
       {gridSpec("hilbert", {6, 8}), gridSpec("morton", {3, 3}),
        gridSpec("snake", {4, 4, 5}), table, residue, ragged, wide})
    for (bool inverse : {false, true})
      EXPECT_FALSE(make(spec)->arithmetic(inverse)) << describe(spec);
}

// Short enough to be cheaper than memory: a few operations a bit.
TEST(Arithmetic, Lengths) {
  auto steps = [](const char *curve, const Tokens &grid, bool inverse) {
    return make(gridSpec(curve, grid))->arithmetic(inverse)->steps().size();
  };
  EXPECT_LE(steps("linear", {1024, 1024}, false), 5u);
  EXPECT_LE(steps("snake", {1024, 1024}, true), 20u);
  EXPECT_LE(steps("morton", {1024, 1024}, false), 100u);
  EXPECT_LE(steps("hilbert", {1024, 1024}, false), 400u);
  EXPECT_LE(steps("hilbert", {1024, 1024}, true), 400u);
}

} // namespace
