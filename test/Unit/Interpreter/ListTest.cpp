//===- ListTest.cpp - Lists that kernels compute --------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include <gtest/gtest.h>

#include <cstdint>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

/// Entry p is 2^62 + p where the list has a number that equals p, else how many
/// of its numbers are less than p, at the places begin + point * step to end.
static const char *const kOrdinals = R"(
  rtile.func @ordinals(%list: memref<?xi64>, %table: memref<?xi64>, %begin: index,
                    %end: index, %step: index) grid(%i: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0 : i64
    %large = arith.constant 4611686018427387904 : i64
    %size = memref.dim %list, %c0 : memref<?xi64>
    %moved = arith.muli %i, %step : index
    %from = arith.addi %begin, %moved : index
    rtile.generate %table[%place = %from to %end] {
      %wide = arith.index_cast %place : index to i64
      %sum = arith.addi %wide, %large : i64
      %entry = scf.for %n = %c0 to %size step %c1 iter_args(%ordinal = %zero)
          -> (i64) {
        %number = memref.load %list[%n] : memref<?xi64>
        %same = arith.cmpi eq, %number, %wide : i64
        %less = arith.cmpi slt, %number, %wide : i64
        %one = arith.extui %less : i1 to i64
        %counted = arith.addi %ordinal, %one : i64
        %next = scf.if %same -> (i64) {
          scf.yield %sum : i64
        } else {
          scf.yield %counted : i64
        }
        scf.yield %next : i64
      }
      rtile.yield %entry : i64
    } : memref<?xi64>
    rtile.return
  })";

/// What the kernel leaves in a list of `size` numbers -1, or the error.
static std::vector<int64_t> ordinals(int64_t size, int64_t begin, int64_t end) {
  Module module(kOrdinals);
  Tensor list = makeTensor(DType::i64, {3}, {0, 1, 3});
  Tensor table = filled(DType::i64, {size}, -1);
  EXPECT_EQ(
      module.runKernel(
          "ordinals", {list.view(), table.view(), begin, end, int64_t(1)}, {1}),
      "");
  const int64_t *entries = table.as<int64_t>();
  return {entries, entries + size};
}

using List = std::vector<int64_t>;

// Loops and branches of the body, for each entry anew.
TEST(Lists, EntriesFollowFromTheirPlaces) {
  constexpr int64_t large = int64_t(1) << 62;
  EXPECT_EQ(ordinals(5, 0, 5), (List{large, large + 1, 2, large + 3, 3}));
}

// Only places in the range and in the list are written.
TEST(Lists, RangesAreCutToTheList) {
  constexpr int64_t large = int64_t(1) << 62;
  constexpr int64_t most = INT64_MAX, least = INT64_MIN;
  EXPECT_EQ(ordinals(4, 1, 3), (List{-1, large + 1, 2, -1}));
  EXPECT_EQ(ordinals(3, -7, 1), (List{large, -1, -1}));
  EXPECT_EQ(ordinals(3, 2, 9), (List{-1, -1, 2}));
  EXPECT_EQ(ordinals(2, least, most), (List{large, large + 1}));
  for (auto [begin, end] : {std::pair<int64_t, int64_t>(1, 1),
                            {2, 1},
                            {3, most},
                            {most, most},
                            {most, least},
                            {least, 0}})
    EXPECT_EQ(ordinals(3, begin, end), (List{-1, -1, -1}))
        << begin << ' ' << end;
  EXPECT_EQ(ordinals(0, least, most), List());
}

// Points may divide a list among them, but no two write one entry.
TEST(Lists, PointsShareNoEntries) {
  Module module(kOrdinals);
  Tensor list = makeTensor(DType::i64, {1}, {0});
  auto run = [&](int64_t end, int64_t step, int64_t points) {
    Tensor table = filled(DType::i64, {8}, -1);
    return module.runKernel("ordinals",
                            {list.view(), table.view(), int64_t(7), end, step},
                            {points});
  };
  // The second point begins behind the list.
  EXPECT_EQ(run(8, 1, 2), "");
  std::string error = run(8, -1, 2);
  EXPECT_NE(error.find("'rtile.generate' op writes element 7 of its table, "
                       "which grid point 0 of the same launch writes"),
            std::string::npos)
      << error;
}

// What a body reads is checked like any other access.
TEST(Lists, BodiesReadInsideOfLists) {
  Module module(R"(
  rtile.func @next(%list: memref<?xi64>, %table: memref<?xi64>)
      grid(%i: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %size = memref.dim %table, %c0 : memref<?xi64>
    rtile.generate %table[%place = %c0 to %size] {
      %next = arith.addi %place, %c1 : index
      %entry = memref.load %list[%next] : memref<?xi64>
      rtile.yield %entry : i64
    } : memref<?xi64>
    rtile.return
  })");
  Tensor list = iota(DType::i64, {4}), table(DType::i64, {4});
  std::string error =
      module.runKernel("next", {list.view(), table.view()}, {1});
  EXPECT_NE(error.find("expected an index in [0, 4) for axis 0, found 4"),
            std::string::npos)
      << error;
}

/// A plan that computes the entries of one of its arguments.
static std::string planOf(const std::string &table) {
  return R"(
  rtile.func @count(%table: memref<?xi64>) grid(%i: index) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    rtile.generate %table[%place = %c0 to %c8] {
      %entry = arith.index_cast %place : index to i64
      rtile.yield %entry : i64
    } : memref<?xi64>
    rtile.return
  }
  rplan.func @main(%x: memref<?xi64>) outputs(%y: memref<?xi64>)
      names ["x", "result0"] {
    %c1 = arith.constant 1 : index
    rplan.launch @count grid(%c1) args()" +
         table + R"() : memref<?xi64>
    rplan.return
  })";
}

// A plan's inputs stay as they are.
TEST(Lists, InputsAreNotWritten) {
  Tensor x = filled(DType::i64, {3}, 9), y = filled(DType::i64, {3}, 9);
  EXPECT_EQ(Module(planOf("%y")).run("main", {x.view(), y.view()}), "");
  EXPECT_EQ(elements(y), (std::vector<double>{0, 1, 2}));
  std::string error = Module(planOf("%x")).run("main", {x.view(), y.view()});
  EXPECT_NE(error.find("expected a store to an output or a workspace, found "
                       "one to an input"),
            std::string::npos)
      << error;
}
