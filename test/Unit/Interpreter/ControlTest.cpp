//===- ControlTest.cpp - Loops, branches and the order of points ----------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

using Values = std::vector<double>;

TEST(Control, LoopsCarryTilesAndScalars) {
  // Sums of 2 + 5 + 8 by index and by tile.
  EXPECT_EQ(evaluate(R"(
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c10 = arith.constant 10 : index
    %one = arith.constant dense<1.0> : tensor<2xf32>
    %none = arith.constant dense<0.0> : tensor<2xf32>
    %sum, %count = scf.for %i = %c2 to %c10 step %c3
        iter_args(%s = %c0, %n = %none) -> (index, tensor<2xf32>) {
      %t = arith.addi %s, %i : index
      %m = arith.addf %n, %one : tensor<2xf32>
      scf.yield %t, %m : index, tensor<2xf32>
    }
    %c15 = arith.constant 15 : index
    %good = arith.cmpi eq, %sum, %c15 : index
    %r = arith.select %good, %count, %none : tensor<2xf32>)",
                     2),
            (Values{3, 3}));
}

TEST(Control, CarriedValuesAreExchangedAtOnce) {
  // An even number of exchanges; copies one after the other would lose %x.
  EXPECT_EQ(evaluate(R"(
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %x = arith.constant dense<[0.0, 1.0]> : tensor<2xf32>
    %y = arith.constant dense<[1.0, 0.0]> : tensor<2xf32>
    %r, %q = scf.for %i = %c0 to %c8 step %c1
        iter_args(%a = %x, %b = %y) -> (tensor<2xf32>, tensor<2xf32>) {
      scf.yield %b, %a : tensor<2xf32>, tensor<2xf32>
    })",
                     2),
            (Values{0, 1}));
  // Fibonacci.
  EXPECT_EQ(evaluate(R"(
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c10 = arith.constant 10 : index
    %x = arith.constant dense<0.0> : tensor<1xf32>
    %y = arith.constant dense<1.0> : tensor<1xf32>
    %r, %q = scf.for %i = %c0 to %c10 step %c1
        iter_args(%a = %x, %b = %y) -> (tensor<1xf32>, tensor<1xf32>) {
      %c = arith.addf %a, %b : tensor<1xf32>
      scf.yield %b, %c : tensor<1xf32>, tensor<1xf32>
    })",
                     1),
            (Values{55}));
}

TEST(Control, EmptyAndNestedLoops) {
  EXPECT_EQ(evaluate(R"(
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %one = arith.constant dense<1.0> : tensor<1xf32>
    %r = scf.for %i = %c0 to %c3 step %c1
        iter_args(%a = %one) -> (tensor<1xf32>) {
      %b = scf.for %j = %i to %c1 step %c1
          iter_args(%d = %a) -> (tensor<1xf32>) {
        %e = arith.addf %d, %one : tensor<1xf32>
        scf.yield %e : tensor<1xf32>
      }
      %f = arith.addf %b, %b : tensor<1xf32>
      scf.yield %f : tensor<1xf32>
    })",
                     1),
            (Values{16}));
}

TEST(Control, BranchesWithAndWithoutResults) {
  std::string program = R"(
    rtile.func @f(%x: memref<?xf32, strided<[1]>>) grid(%i: index) {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %a = arith.constant dense<1.0> : tensor<1xf32>
      %b = arith.constant dense<5.0> : tensor<1xf32>
      %v = rtile.view %x[*] : memref<?xf32, strided<[1]>>
          to !rtile.view<1xf32>
      %rest = arith.remsi %i, %c2 : index
      %even = arith.cmpi eq, %rest, %c0 : index
      %t = scf.if %even -> (tensor<1xf32>) {
        scf.yield %a : tensor<1xf32>
      } else {
        %s = arith.addf %a, %b : tensor<1xf32>
        scf.yield %s : tensor<1xf32>
      }
      %two = arith.cmpi ne, %i, %c2 : index
      scf.if %two {
        rtile.store %t, %v[%i] : !rtile.view<1xf32>
      }
      rtile.return
    })";
  Tensor x = filled(DType::f32, {4}, -1);
  EXPECT_EQ(Module(program).runKernel("f", {x.view()}, {4}), "");
  EXPECT_EQ(elements(x), (Values{1, 6, -1, 6}));
}

TEST(Control, IllegalStepsAreErrors) {
  for (const char *step : {"0", "-1"}) {
    std::string error = errorOf(std::string(R"(
      %c = arith.constant )") + step +
                                    R"( : index
      %r = arith.constant dense<1.0> : tensor<1xf32>
      scf.for %i = %zero to %zero step %c {
      })",
                                1);
    EXPECT_NE(error.find("'scf.for' op expected a step of at least 1, found " +
                         std::string(step)),
              std::string::npos)
        << error;
  }
}

TEST(Control, LoopsThatEndAtTheLastIntegerEnd) {
  EXPECT_EQ(evaluate(R"(
    %low = arith.constant 9223372036854775800 : index
    %high = arith.constant 9223372036854775807 : index
    %c5 = arith.constant 5 : index
    %one = arith.constant dense<1.0> : tensor<1xf32>
    %none = arith.constant dense<0.0> : tensor<1xf32>
    %r = scf.for %i = %low to %high step %c5
        iter_args(%a = %none) -> (tensor<1xf32>) {
      %b = arith.addf %a, %one : tensor<1xf32>
      scf.yield %b : tensor<1xf32>
    })",
                     1),
            (Values{2}));
}

/// Every point writes 100 i + 10 j + k at its place of a 3-D grid.
static const char *const kPoints = R"(
  rtile.func @f(%x: memref<?x?x?x2xf32, strided<[?, ?, ?, 1]>>)
      grid(%i: index, %j: index, %k: index) {
    %c0 = arith.constant 0 : index
    %c10 = arith.constant 10 : index
    %c100 = arith.constant 100 : index
    %a = arith.muli %i, %c100 : index
    %b = arith.muli %j, %c10 : index
    %c = arith.addi %a, %b : index
    %n = arith.addi %c, %k : index
    %c1 = arith.constant 1 : index
    %one = arith.constant dense<1.0> : tensor<2xf32>
    %none = arith.constant dense<0.0> : tensor<2xf32>
    %t = scf.for %m = %c0 to %n step %c1
        iter_args(%s = %none) -> (tensor<2xf32>) {
      %u = arith.addf %s, %one : tensor<2xf32>
      scf.yield %u : tensor<2xf32>
    }
    %v = rtile.view %x[%i, %j, %k, *]
        : memref<?x?x?x2xf32, strided<[?, ?, ?, 1]>> to !rtile.view<2xf32>
    rtile.store %t, %v[%c0] : !rtile.view<2xf32>
    rtile.return
  })";

TEST(Control, EveryPointRunsOnceInAnyOrder) {
  Module module(kPoints);
  for (int64_t seed = -1; seed < 20; ++seed) {
    Options options;
    if (seed >= 0)
      options.seed = static_cast<uint64_t>(seed);
    Tensor x = filled(DType::f32, {2, 3, 4, 2}, -1);
    ASSERT_EQ(module.runKernel("f", {x.view()}, {2, 3, 4}, options), "");
    forEachIndex({2, 3, 4, 2}, [&](const int64_t *p) {
      EXPECT_EQ(x.view().get(p), 100 * p[0] + 10 * p[1] + p[2]);
    });
  }
}

TEST(Control, SeedsChangeTheOrder) {
  // The point whose write comes last decides; races are looked away from.
  Module module(R"(
    rtile.func @f(%x: memref<?xf32, strided<[1]>>, %y: memref<1xf32>)
        grid(%i: index) {
      %c0 = arith.constant 0 : index
      %xs = rtile.view %x[*] : memref<?xf32, strided<[1]>>
          to !rtile.view<1xf32>
      %ys = rtile.view %y[*] : memref<1xf32> to !rtile.view<1xf32>
      %t = rtile.load %xs[%i] : !rtile.view<1xf32>
      rtile.store %t, %ys[%c0] : !rtile.view<1xf32>
      rtile.return
    })");
  Tensor x = iota(DType::f32, {50}), y(DType::f32, {1});
  Options options;
  options.detectRaces = false;
  EXPECT_EQ(module.runKernel("f", {x.view(), y.view()}, {50}, options), "");
  EXPECT_EQ(y.get({0}), 49);
  Values last;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    options.seed = seed;
    EXPECT_EQ(module.runKernel("f", {x.view(), y.view()}, {50}, options), "");
    last.push_back(y.get({0}));
    EXPECT_EQ(module.runKernel("f", {x.view(), y.view()}, {50}, options), "");
    EXPECT_EQ(y.get({0}), last.back()) << "same seed, other order";
  }
  std::sort(last.begin(), last.end());
  last.erase(std::unique(last.begin(), last.end()), last.end());
  EXPECT_GT(last.size(), 8u);
}
