//===- PlanTest.cpp - The host's part of an entry -------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "lib/Layout/Order.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

using Values = std::vector<double>;

/// Copies rows through a table; one point a row.
static const char *const kCopy = R"(
  rtile.func @copy(%x: memref<?xf32, strided<[1]>>, %t: memref<?xi64>,
                   %y: memref<?xf32, strided<[1]>>) grid(%i: index) {
    %xs = rtile.view %x[*] rows(%t : memref<?xi64>)
        : memref<?xf32, strided<[1]>> to !rtile.view<1xf32, indexed>
    %ys = rtile.view %y[*] : memref<?xf32, strided<[1]>>
        to !rtile.view<1xf32>
    %v = rtile.load %xs[%i] : !rtile.view<1xf32, indexed>
    rtile.store %v, %ys[%i] : !rtile.view<1xf32>
    rtile.return
  })";

/// A plan of `body` over x and y, with their sizes %n and %m.
static std::string plan(const std::string &body) {
  return std::string(kCopy) + R"(
  rplan.func @main(%x: memref<?xf32, strided<[1]>>)
      outputs(%y: memref<?xf32, strided<[1]>>) names ["x", "result0"] {
    %n = rplan.size %x[0] : memref<?xf32, strided<[1]>>
    %m = rplan.size %y[0] : memref<?xf32, strided<[1]>>
)" + body +
         "\n    rplan.return\n  }\n";
}

static std::string runBody(const std::string &body, int64_t n, int64_t m) {
  Tensor x = iota(DType::f32, {n}), y(DType::f32, {m});
  return Module(plan(body)).run("main", {x.view(), y.view()});
}

TEST(Plan, RequirementsHoldOrNameBothValues) {
  for (auto [name, holds] :
       {std::pair<std::string, bool (*)(int64_t, int64_t)>{
            "eq", [](int64_t a, int64_t b) { return a == b; }},
        {"ne", [](int64_t a, int64_t b) { return a != b; }},
        {"lt", [](int64_t a, int64_t b) { return a < b; }},
        {"le", [](int64_t a, int64_t b) { return a <= b; }}})
    for (int64_t m : {4, 5, 6}) {
      std::string error = runBody(
          "    rplan.require " + name + " %n, %m, \"expected sense\"", 5, m);
      if (holds(5, m))
        EXPECT_EQ(error, "") << name << m;
      else
        EXPECT_NE(error.find("'rplan.require' op expected sense, found 5 and " +
                             std::to_string(m)),
                  std::string::npos)
            << error;
    }
}

TEST(Plan, DivisionRoundsDownAndUp) {
  EXPECT_EQ(runBody(R"(
    %low = arith.subi %m, %n : index
    %c4 = arith.constant 4 : index
    %down = arith.floordivsi %low, %c4 : index
    %up = arith.ceildivsi %low, %c4 : index
    %a = arith.constant -2 : index
    %b = arith.constant -1 : index
    rplan.require eq %down, %a, "expected -7 / 4 to round down"
    rplan.require eq %up, %b, "expected -7 / 4 to round up")",
                    10, 3),
            "");
}

TEST(Plan, OverflowIsRefused) {
  for (const char *op : {"addi", "muli"}) {
    std::string error = runBody(std::string(R"(
    %big = arith.constant 9223372036854775807 : index
    %r = arith.)") + op + " %big, %n : index",
                                2, 1);
    EXPECT_NE(error.find("expected no overflow of 64 bits, found operands "
                         "9223372036854775807 and 2"),
              std::string::npos)
        << error;
  }
  EXPECT_NE(runBody(R"(
    %low = arith.constant -9223372036854775808 : index
    %r = arith.subi %low, %n : index)",
                    1, 1),
            "");
  EXPECT_NE(runBody(R"(
    %low = arith.constant -9223372036854775808 : index
    %minus = arith.constant -1 : index
    %r = arith.floordivsi %low, %minus : index)",
                    1, 1),
            "");
}

TEST(Plan, RequirementsComeBeforeEffects) {
  // The launch stands first, but must not have run.
  Tensor x = iota(DType::f32, {3}, 1), y = filled(DType::f32, {3}, -1);
  Options options;
  options.poison = false;
  std::string error = Module(plan(R"(
    %t = rplan.order_table #rlayout.order<linear> length(%n) : memref<?xi64>
    rplan.launch @copy grid(%n) args(%x, %t, %y)
        : memref<?xf32, strided<[1]>>, memref<?xi64>,
          memref<?xf32, strided<[1]>>
    rplan.require lt %n, %m, "expected the impossible")"))
                          .run("main", {x.view(), y.view()}, options);
  EXPECT_NE(error.find("expected the impossible, found 3 and 3"),
            std::string::npos)
      << error;
  EXPECT_EQ(elements(y), (Values{-1, -1, -1}));
}

// Every kernel can run here; where choices are free, sometimes the other does.
TEST(Plan, EitherLaunchMayRun) {
  const std::string body = R"(
    %t = rplan.order_table #rlayout.order<linear> length(%n) : memref<?xi64>
    %u = rplan.order_table #rlayout.order<residue<2>> length(%n)
        : memref<?xi64>
    rplan.launch @copy grid(%n) args(%x, %t, %y)
        otherwise launch @again grid(%n) args(%x, %u, %y
            : memref<?xf32, strided<[1]>>, memref<?xi64>,
              memref<?xf32, strided<[1]>>)
        : memref<?xf32, strided<[1]>>, memref<?xi64>,
          memref<?xf32, strided<[1]>>)";
  std::string again(kCopy);
  again.replace(again.find("@copy"), 5, "@again");
  int others = 0;
  for (uint64_t seed = 0; seed < 20; ++seed)
    for (bool free : {false, true}) {
      Options options;
      options.seed = seed;
      options.chooseFreely = free;
      Tensor x = iota(DType::f32, {4}, 1), y = filled(DType::f32, {4}, -1);
      ASSERT_EQ(
          Module(again + plan(body)).run("main", {x.view(), y.view()}, options),
          "");
      bool isOther = elements(y) == Values{1, 3, 2, 4};
      EXPECT_TRUE(isOther || elements(y) == (Values{1, 2, 3, 4}));
      EXPECT_FALSE(isOther && !free);
      others += isOther;
    }
  EXPECT_GT(others, 0);
  EXPECT_LT(others, 20);
}

TEST(Plan, RulesComeLast) {
  EXPECT_NE(
      runBody("rplan.require eq %n, %m, \"expected sense\" rule \"S2\"", 5, 4)
          .find("expected sense, found 5 and 4 (S2)"),
      std::string::npos);
}

TEST(Plan, NumbersOfTheMachine) {
  Options options;
  options.multiprocessors = 7;
  options.rank = 2;
  options.ranks = 5;
  Tensor x = iota(DType::f32, {7}), y(DType::f32, {5});
  const std::string body = R"(
    %mp = rplan.machine multiprocessors
    %rank = rplan.machine rank
    %ranks = rplan.machine ranks
    %c2 = arith.constant 2 : index
    rplan.require eq %n, %mp, "multiprocessors"
    rplan.require eq %rank, %c2, "rank"
    rplan.require eq %m, %ranks, "ranks")";
  EXPECT_EQ(Module(plan(body)).run("main", {x.view(), y.view()}, options), "");
}

TEST(Plan, ConstantsAreTables) {
  Tensor x = iota(DType::f32, {3}, 1), y = filled(DType::f32, {3}, -1);
  const std::string body = R"(
    %t = rplan.constant dense<[2, 0, 1]> : tensor<3xi64> as memref<?xi64>
    %size = rplan.size %t[0] : memref<?xi64>
    rplan.launch @copy grid(%size) args(%x, %t, %y)
        : memref<?xf32, strided<[1]>>, memref<?xi64>,
          memref<?xf32, strided<[1]>>)";
  EXPECT_EQ(Module(plan(body)).run("main", {x.view(), y.view()}), "");
  EXPECT_EQ(elements(y), (Values{3, 1, 2}));
}

/// y = x + x, of copies that both queues make; `last` waits for `events`.
static std::string twoQueues(const std::string &events) {
  return R"(
  rtile.func @sum(%x: memref<?xf32>, %z: memref<?xf32>,
                  %y: memref<?xf32, strided<[1]>>) grid(%i: index) {
    %xs = rtile.view %x[*] : memref<?xf32> to !rtile.view<1xf32>
    %zs = rtile.view %z[*] : memref<?xf32> to !rtile.view<1xf32>
    %ys = rtile.view %y[*] : memref<?xf32, strided<[1]>>
        to !rtile.view<1xf32>
    %a = rtile.load %xs[%i] : !rtile.view<1xf32>
    %b = rtile.load %zs[%i] : !rtile.view<1xf32>
    %v = arith.addf %a, %b : tensor<1xf32>
    rtile.store %v, %ys[%i] : !rtile.view<1xf32>
    rtile.return
  })" + plan(R"(
    %a = rplan.workspace(%n) : memref<?xf32>
    %b = rplan.workspace(%n) : memref<?xf32>
    %first = rplan.copy %x to %a : memref<?xf32, strided<[1]>>, memref<?xf32>
        -> !rplan.event
    %second = rplan.copy %x to %b on exchange
        : memref<?xf32, strided<[1]>>, memref<?xf32> -> !rplan.event
    rplan.launch @sum grid(%n) args(%a, %b, %y) )" +
             events + R"(
        : memref<?xf32>, memref<?xf32>, memref<?xf32, strided<[1]>>)");
}

// Steps run in any order that their queues and events allow; one that does not
// wait finds what it reads missing, for some seeds.
TEST(Plan, StepsOfTwoQueuesRunInAnyLegalOrder) {
  int wrong = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Options options;
    options.seed = seed;
    Tensor x = iota(DType::f32, {3}, 1), y = filled(DType::f32, {3}, -1);
    ASSERT_EQ(Module(twoQueues("after(%second)"))
                  .run("main", {x.view(), y.view()}, options),
              "");
    EXPECT_EQ(elements(y), (Values{2, 4, 6}));
    ASSERT_EQ(Module(twoQueues("")).run("main", {x.view(), y.view()}, options),
              "");
    wrong += elements(y) != Values{2, 4, 6};
  }
  EXPECT_GT(wrong, 0);
  EXPECT_LT(wrong, 30);
}

TEST(Plan, CopiesAreOfOneSize) {
  EXPECT_NE(runBody("rplan.copy %x to %y : memref<?xf32, strided<[1]>>, "
                    "memref<?xf32, strided<[1]>>",
                    3, 4)
                .find("expected a destination of size 3 on axis 0, found 4"),
            std::string::npos);
  EXPECT_EQ(runBody("rplan.copy %x to %y : memref<?xf32, strided<[1]>>, "
                    "memref<?xf32, strided<[1]>>",
                    4, 4),
            "");
}

// Inputs are copied where that is worth it, and else read as they are: a kernel
// that writes what it is handed as a copy tells.
TEST(Plan, AlignedInputsAreCopies) {
  const std::string kernels = R"(
  rtile.func @twice(%x: memref<?xf32, strided<[1]>>,
                    %y: memref<?xf32, strided<[1]>>) grid(%i: index) {
    %xs = rtile.view %x[*] : memref<?xf32, strided<[1]>>
        to !rtile.view<1xf32>
    %ys = rtile.view %y[*] : memref<?xf32, strided<[1]>>
        to !rtile.view<1xf32>
    %v = rtile.load %xs[%i] : !rtile.view<1xf32>
    %w = arith.addf %v, %v : tensor<1xf32>
    rtile.store %w, %ys[%i] : !rtile.view<1xf32>
    rtile.return
  })";
  for (int64_t n : {3, 4}) {
    Tensor x = iota(DType::f32, {n}, 1), y = filled(DType::f32, {n}, -1);
    EXPECT_EQ(Module(kernels + plan(R"(
    %c4 = arith.constant 4 : index
    %worth = arith.cmpi sge, %n, %c4 : index
    %z = rplan.aligned %x by @twice grid(%n) if %worth
        : memref<?xf32, strided<[1]>>
    rplan.launch @twice grid(%n) args(%z, %y)
        : memref<?xf32, strided<[1]>>, memref<?xf32, strided<[1]>>)"))
                  .run("main", {x.view(), y.view()}),
              "");
    EXPECT_EQ(elements(y), n == 4 ? (Values{4, 8, 12, 16}) : (Values{2, 4, 6}));
  }
}

TEST(Plan, OrderTablesBothWays) {
  std::string orders[] = {"linear", "residue<3>", "hilbert, grid = [3, 4]",
                          "snake, grid = [2, 3], chunk = 6",
                          "table<[11, 3, 5, 0, 1, 2, 4, 6, 7, 8, 9, 10]>"};
  for (const std::string &text : orders)
    for (bool inverse : {false, true}) {
      Module module(plan("    %t = rplan.order_table #rlayout.order<" + text +
                         "> length(%n) " + (inverse ? "inverse " : "") +
                         R"(: memref<?xi64>
    rplan.launch @copy grid(%n) args(%x, %t, %y)
        : memref<?xf32, strided<[1]>>, memref<?xi64>,
          memref<?xf32, strided<[1]>>)"));
      Tensor x = iota(DType::f32, {12}), y(DType::f32, {12});
      ASSERT_EQ(module.run("main", {x.view(), y.view()}), "") << text;
      layout::OrderSpec spec;
      spec.curve = text.substr(0, text.find_first_of(",<"));
      if (spec.curve == "residue")
        spec.rate = 3;
      if (spec.curve == "hilbert")
        spec.grid = {3, 4};
      if (spec.curve == "snake")
        spec.grid = {2, 3}, spec.chunk = 6;
      if (spec.curve == "table")
        spec.table = {11, 3, 5, 0, 1, 2, 4, 6, 7, 8, 9, 10};
      auto order = layout::makeOrder(spec);
      ASSERT_TRUE(order);
      for (int64_t m = 0; m < 12; ++m)
        EXPECT_EQ(y.get({m}),
                  inverse ? order->slot(m, 12) : order->token(m, 12))
            << text;
    }
}

// Three queries at the positions -1 to 1, which lie backwards in memory, along
// a snake of 2 x 3 cells.
TEST(Plan, OrdinalsOfAPattern) {
  auto read = [](const std::string &table) {
    Module module(plan(R"(
    %first = arith.constant -1 : index
    %three = arith.constant 3 : index
    %t = rplan.ordinal_table #rlayout.order<snake, grid = [2, 3]> first(%first) )" +
                       table + R"( : memref<?xi64>
    rplan.launch @copy grid(%n) args(%x, %t, %y)
        : memref<?xf32, strided<[1]>>, memref<?xi64>,
          memref<?xf32, strided<[1]>>)"));
    // Entries that are no index read as zero.
    Tensor x = iota(DType::f32, {7}, 10), y(DType::f32, {7});
    EXPECT_EQ(module.run("main", {x.view(), y.view()}), "");
    return elements(y);
  };
  EXPECT_EQ(read(""), (Values{0, 10, 11, 12, 15, 14, 13}));
  EXPECT_EQ(read("rows(%three from %first)"), (Values{10, 11, 12, 0, 0, 0, 0}));
  EXPECT_EQ(read("rows(%three from %first) "
                 "memory(#rlayout.order<table<[2, 1, 0]>>)"),
            (Values{12, 11, 10, 0, 0, 0, 0}));
}

TEST(Plan, OrdinalsThatDoNotFitAreRefused) {
  std::string error = runBody(R"(
    %t = rplan.ordinal_table #rlayout.order<snake, grid = [2, 3]> first(%n)
        : memref<?xi64>)",
                              1, 1);
  EXPECT_NE(error.find("-1073741818 to 0"), std::string::npos) << error;
}

TEST(Plan, OrdersThatDoNotFitAreRefused) {
  std::string error = runBody(R"(
    %t = rplan.order_table #rlayout.order<hilbert, grid = [3, 4]> length(%n)
        : memref<?xi64>)",
                              11, 1);
  EXPECT_NE(error.find("12"), std::string::npos) << error;
}

TEST(Plan, ScalarsAreReadFromTheHost) {
  Module module(R"(
    rplan.func @main(%n: memref<i64>) outputs() names ["n"] {
      %0 = rplan.read %n : memref<i64>
      %c7 = arith.constant 7 : index
      rplan.require eq %0, %c7, "expected 7"
      rplan.return
    })");
  Tensor n = makeTensor(DType::i64, {}, {7});
  EXPECT_EQ(module.run("main", {n.view()}), "");
  n = makeTensor(DType::i64, {}, {-8});
  EXPECT_NE(module.run("main", {n.view()}).find("expected 7, found -8 and 7"),
            std::string::npos);
  Module workspace(R"(
    rplan.func @main() outputs() names [] {
      %w = rplan.workspace() : memref<i64>
      %0 = rplan.read %w : memref<i64>
      rplan.return
    })");
  EXPECT_NE(workspace.run("main", {}).find("expected a scalar argument"),
            std::string::npos);
}

/// Doubles x into a workspace and copies its first %used elements to y.
static const char *const kWorkspace = R"(
  rtile.func @double(%x: memref<?xf32, strided<[1]>>, %w: memref<?xf32>)
      grid(%i: index) {
    %xs = rtile.view %x[*] : memref<?xf32, strided<[1]>>
        to !rtile.view<1xf32>
    %ws = rtile.view %w[*] : memref<?xf32> to !rtile.view<1xf32>
    %t = rtile.load %xs[%i] : !rtile.view<1xf32>
    %u = arith.addf %t, %t : tensor<1xf32>
    rtile.store %u, %ws[%i] : !rtile.view<1xf32>
    rtile.return
  }
  rtile.func @copy(%w: memref<?xf32>, %y: memref<?xf32, strided<[1]>>)
      grid(%i: index) {
    %ws = rtile.view %w[*] : memref<?xf32> to !rtile.view<1xf32>
    %ys = rtile.view %y[*] : memref<?xf32, strided<[1]>>
        to !rtile.view<1xf32>
    %t = rtile.load %ws[%i] : !rtile.view<1xf32>
    rtile.store %t, %ys[%i] : !rtile.view<1xf32>
    rtile.return
  }
  rplan.func @main(%x: memref<?xf32, strided<[1]>>, %used: memref<i64>)
      outputs(%y: memref<?xf32, strided<[1]>>)
      names ["x", "used", "result0"] {
    %n = rplan.size %x[0] : memref<?xf32, strided<[1]>>
    %k = rplan.read %used : memref<i64>
    %w = rplan.workspace(%n) : memref<?xf32>
    %nw = rplan.size %w[0] : memref<?xf32>
    rplan.require eq %n, %nw, "expected a workspace of the size asked for"
    rplan.launch @double grid(%k) args(%x, %w)
        : memref<?xf32, strided<[1]>>, memref<?xf32>
    rplan.launch @copy grid(%n) args(%w, %y)
        : memref<?xf32>, memref<?xf32, strided<[1]>>
    rplan.return
  })";

TEST(Plan, LaunchesRunInOrderOverWorkspace) {
  Module module(kWorkspace);
  Tensor x = iota(DType::f32, {5}), y(DType::f32, {5});
  Tensor used = makeTensor(DType::i64, {}, {5});
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Options options;
    options.seed = seed;
    ASSERT_EQ(module.run("main", {x.view(), used.view(), y.view()}, options),
              "");
    EXPECT_EQ(elements(y), (Values{0, 2, 4, 6, 8}));
  }
}

TEST(Plan, UndefinedContentShowsAsNaN) {
  Module module(kWorkspace);
  Tensor x = iota(DType::f32, {5}), y(DType::f32, {6});
  Tensor used = makeTensor(DType::i64, {}, {3});
  ASSERT_EQ(module.run("main", {x.view(), used.view(), y.view()}), "");
  // Two elements of the workspace and one of the output were never written.
  EXPECT_EQ(y.get({2}), 4);
  for (int64_t i : {3, 4, 5})
    EXPECT_TRUE(std::isnan(y.get({i}))) << i;
  Options options;
  options.poison = false;
  y = filled(DType::f32, {6}, -1);
  ASSERT_EQ(module.run("main", {x.view(), used.view(), y.view()}, options), "");
  EXPECT_EQ(elements(y), (Values{0, 2, 4, 0, 0, -1}));
}

TEST(Plan, PoisonSparesWhatTheCallerKeepsBetweenElements) {
  Module module(plan(""));
  Tensor x(DType::f32, {1}), memory = filled(DType::f32, {4}, 7);
  MutableTensorView middle(memory.as<float>() + 1, DType::f32, {2});
  ASSERT_EQ(module.run("main", {x.view(), middle}), "");
  EXPECT_EQ(memory.get({0}), 7);
  EXPECT_TRUE(std::isnan(memory.get({1})));
  EXPECT_TRUE(std::isnan(memory.get({2})));
  EXPECT_EQ(memory.get({3}), 7);
  // An output that is also an input stays what it is until written.
  Tensor both = filled(DType::f32, {3}, 5);
  ASSERT_EQ(module.run("main", {both.view(), both.view()}), "");
  EXPECT_EQ(elements(both), (Values{5, 5, 5}));
}

TEST(Plan, ArgumentsMustBeWhatTheTypesSay) {
  Module module(R"(
    rplan.func @main(%x: memref<?x4xbf16, strided<[?, 1]>>)
        outputs(%y: memref<?x4xf32>) names ["x", "result0"] {
      rplan.return
    })");
  Tensor x(DType::bf16, {3, 4}), y(DType::f32, {3, 4});
  auto run = [&](MutableTensorView first, MutableTensorView second) {
    return module.run("main", {first, second});
  };
  auto expect = [](const std::string &error, const std::string &part) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  EXPECT_EQ(run(x.view(), y.view()), "");
  expect(module.run("main", {x.view()}), "expected 2 arguments, found 1");
  expect(module.run("other", {}), "expected an rplan.func named 'other'");
  expect(run(y.view(), y.view()),
         "expected elements of bf16 for 'x', found f32");
  expect(run(MutableTensorView(x.data(), DType::bf16, {12}), y.view()),
         "expected rank 2 for 'x', found 1");
  expect(run(MutableTensorView(x.data(), DType::bf16, {4, 3}), y.view()),
         "expected size 4 of axis 1 of 'x', found 3");
  expect(
      run(MutableTensorView(x.data(), DType::bf16, {1, 4}, {4, 2}), y.view()),
      "expected stride 1 of axis 1 of 'x', found 2");
  expect(run(MutableTensorView(nullptr, DType::bf16, {3, 4}), y.view()),
         "expected memory for 'x', found none");
  expect(
      run(MutableTensorView(x.data(), DType::bf16, {-3, 4}, {4, 1}), y.view()),
      "expected sizes of at least 0");
  expect(run(MutableTensorView(x.data(), DType::bf16, {3, 4},
                               {int64_t(1) << 61, 1}),
             y.view()),
         "(S3)");
  expect(run(x.view(), MutableTensorView(y.data(), DType::f32, {2, 4}, {5, 1})),
         "expected stride 4 of axis 0 of 'result0', found 5");
  // The stride of a single row is never used.
  EXPECT_EQ(
      run(x.view(), MutableTensorView(y.data(), DType::f32, {1, 4}, {5, 1})),
      "");
  EXPECT_EQ(run(MutableTensorView(nullptr, DType::bf16, {0, 4}),
                MutableTensorView(nullptr, DType::f32, {0, 4})),
            "");
}

TEST(Plan, WorkspaceHasLimits) {
  EXPECT_NE(runBody(R"(
    %minus = arith.subi %n, %m : index
    %w = rplan.workspace(%minus) : memref<?xf32>)",
                    1, 2)
                .find("expected sizes of at least 0, found -1"),
            std::string::npos);
  std::string error = runBody(R"(
    %big = arith.constant 1000000000000 : index
    %w = rplan.workspace(%big) : memref<?xf32>)",
                              1, 1);
  EXPECT_NE(error.find("found need of 4000000000000"), std::string::npos)
      << error;
  error = runBody(R"(
    %big = arith.constant 1000000000000 : index
    %w = rplan.workspace(%big, %big) : memref<?x?xf32>)",
                  1, 1);
  EXPECT_NE(error.find("fewer than 2^63 bytes"), std::string::npos) << error;
}

TEST(Plan, GridsWithoutPointsRunNothing) {
  std::string launch = R"(
    %t = rplan.order_table #rlayout.order<linear> length(%n) : memref<?xi64>
    %k = arith.subi %n, %m : index
    rplan.launch @copy grid(%k) args(%x, %t, %y)
        : memref<?xf32, strided<[1]>>, memref<?xi64>,
          memref<?xf32, strided<[1]>>)";
  EXPECT_EQ(runBody(launch, 3, 3), "");
  EXPECT_NE(runBody(launch, 3, 4)
                .find("expected grid extents of at least 0, found -1"),
            std::string::npos);
}
