//===- PlanWriterTest.cpp - Host plans in artefacts -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/PlanWriter.h"
#include "TestContext.h"

#include <gtest/gtest.h>

using namespace mlir;

// GoogleTest brings a global `abi` along.
namespace ringlet {
using abi::ExprOp;

namespace {

int64_t floorDiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/// The value of an expression, where every size of every argument is `sizes`
/// by axis and every scalar is `scalar`.
int64_t evaluate(const abi::FunctionT &function, uint32_t expr,
                 const std::vector<int64_t> &sizes, int64_t scalar) {
  std::vector<int64_t> stack;
  for (const abi::ExprTerm &term : function.exprs[expr]->terms) {
    switch (term.op()) {
    case ExprOp::Const:
      stack.push_back(term.value());
      continue;
    case ExprOp::Dim:
      stack.push_back(sizes[term.axis()]);
      continue;
    case ExprOp::Scalar:
      stack.push_back(scalar);
      continue;
    case ExprOp::Ref:
      stack.push_back(evaluate(function, term.index(), sizes, scalar));
      continue;
    default:
      break;
    }
    int64_t b = stack.back();
    stack.pop_back();
    int64_t &a = stack.back();
    switch (term.op()) {
    case ExprOp::Add:
      a += b;
      break;
    case ExprOp::Sub:
      a -= b;
      break;
    case ExprOp::Mul:
      a *= b;
      break;
    case ExprOp::FloorDiv:
      a = floorDiv(a, b);
      break;
    case ExprOp::CeilDiv:
      a = -floorDiv(-a, b);
      break;
    case ExprOp::FloorMod:
      a -= floorDiv(a, b) * b;
      break;
    case ExprOp::Min:
      a = std::min(a, b);
      break;
    case ExprOp::Max:
      a = std::max(a, b);
      break;
    default:
      ADD_FAILURE();
    }
  }
  EXPECT_EQ(stack.size(), 1u);
  return stack.back();
}

struct Plan {
  TestContext context;
  OwningOpRef<ModuleOp> module;
  abi::FunctionT function;
  std::vector<std::unique_ptr<abi::ConstantT>> constants;
  bool ok = false;

  explicit Plan(std::string text)
      // Launches need a symbol, whatever it is.
      : module(context.parse(text + "\nfunc.func private @k()\n"
                                    "func.func private @k1()\n"
                                    "func.func private @k2()\n")) {
    if (!module) {
      ADD_FAILURE() << context.messages;
      return;
    }
    auto plan = *module->getOps<rplan::FuncOp>().begin();
    llvm::StringMap<uint32_t> kernels;
    for (auto name : {"k", "k1", "k2"})
      kernels[name] = uint32_t(kernels.size());
    PlanWriter writer(plan, function, constants);
    ok = succeeded(
        writer.addPlan(plan, kernels, /*functions=*/{}, /*codeObject=*/0));
  }
};

/// A plan that launches @k with the result of `body`, %r, as its argument.
std::string launching(const std::string &body) {
  return "rplan.func @f(%x: memref<?x?xf32>, %s: memref<i64>) outputs() "
         "names [\"x\", \"s\"] {\n"
         "%a = rplan.read %s : memref<i64>\n"
         "%b = rplan.size %x[1] : memref<?x?xf32>\n"
         "%c3 = arith.constant 3 : index\n"
         "%cm2 = arith.constant -2 : index\n" +
         body + "\nrplan.launch @k grid(%b) args(%r) : index\nrplan.return }";
}

} // namespace

TEST(PlanWriter, ArithmeticIsThatOfArith) {
  struct Case {
    const char *body;
    int64_t (*value)(int64_t a, int64_t b);
  };
  const Case cases[] = {
      {"%r = arith.addi %a, %b : index",
       [](int64_t a, int64_t b) { return a + b; }},
      {"%r = arith.subi %a, %b : index",
       [](int64_t a, int64_t b) { return a - b; }},
      {"%r = arith.muli %a, %cm2 : index",
       [](int64_t a, int64_t) { return a * -2; }},
      {"%r = arith.floordivsi %a, %c3 : index",
       [](int64_t a, int64_t) { return floorDiv(a, 3); }},
      {"%r = arith.ceildivsi %a, %c3 : index",
       [](int64_t a, int64_t) { return -floorDiv(-a, 3); }},
      {"%r = arith.remsi %a, %c3 : index",
       [](int64_t a, int64_t) { return a % 3; }},
      {"%r = arith.divsi %a, %c3 : index",
       [](int64_t a, int64_t) { return a / 3; }},
      {"%r = arith.minsi %a, %b : index",
       [](int64_t a, int64_t b) { return std::min(a, b); }},
      {"%r = arith.maxsi %a, %b : index",
       [](int64_t a, int64_t b) { return std::max(a, b); }},
      {"%c = arith.cmpi slt, %a, %b : index\n"
       "%r = arith.select %c, %a, %c3 : index",
       [](int64_t a, int64_t b) { return a < b ? a : 3; }},
      {"%c = arith.cmpi sle, %a, %b : index\n"
       "%r = arith.select %c, %a, %c3 : index",
       [](int64_t a, int64_t b) { return a <= b ? a : 3; }},
      {"%c = arith.cmpi sgt, %a, %b : index\n"
       "%r = arith.select %c, %a, %c3 : index",
       [](int64_t a, int64_t b) { return a > b ? a : 3; }},
      {"%c = arith.cmpi sge, %a, %b : index\n"
       "%r = arith.select %c, %a, %c3 : index",
       [](int64_t a, int64_t b) { return a >= b ? a : 3; }},
      {"%c = arith.cmpi eq, %a, %b : index\n"
       "%r = arith.select %c, %a, %cm2 : index",
       [](int64_t a, int64_t b) { return a == b ? a : -2; }},
      {"%c = arith.cmpi ne, %a, %b : index\n"
       "%d = arith.cmpi sgt, %a, %c3 : index\n"
       "%e = arith.andi %c, %d : i1\n"
       "%r = arith.select %e, %a, %cm2 : index",
       [](int64_t a, int64_t b) { return a != b && a > 3 ? a : -2; }},
      {"%i = arith.index_cast %a : index to i64\n"
       "%r = arith.index_cast %i : i64 to index",
       [](int64_t a, int64_t) { return a; }},
  };
  for (const Case &test : cases) {
    Plan plan(launching(test.body));
    ASSERT_TRUE(plan.ok) << test.body << plan.context.messages;
    uint32_t expr =
        plan.function.plans[0]->steps[0]->action.AsLaunch()->args[0].index();
    for (int64_t a = -7; a <= 7; ++a)
      for (int64_t b = 0; b <= 5; ++b)
        EXPECT_EQ(evaluate(plan.function, expr, {-1, b}, a), test.value(a, b))
            << test.body << " a " << a << " b " << b;
  }
}

TEST(PlanWriter, WhatHasNoWordIsRefusedByName) {
  for (auto [body, message] : {
           std::pair("%r = arith.shli %a, %b : index",
                     "'arith.shli' op has no word"),
           std::pair("%r = arith.remsi %a, %b : index",
                     "expected a divisor that is a positive constant"),
           std::pair("%c = arith.cmpi ult, %a, %b : index\n"
                     "%r = arith.select %c, %a, %b : index",
                     "expected a signed comparison"),
       }) {
    Plan plan(launching(body));
    EXPECT_FALSE(plan.ok);
    EXPECT_NE(plan.context.messages.find(message), std::string::npos)
        << plan.context.messages;
  }
}

TEST(PlanWriter, ChainsCostNoRecursionAndNoSpace) {
  // Squares of squares: a tree of 2^5000 leaves, were it written as one.
  std::string body = "%v0 = arith.addi %a, %b : index\n";
  for (int i = 1; i <= 5000; ++i)
    body += "%v" + std::to_string(i) + " = arith.minsi %v" +
            std::to_string(i - 1) + ", %v" + std::to_string(i - 1) +
            " : index\n";
  Plan plan(launching(body + "%r = arith.addi %v5000, %v5000 : index"));
  ASSERT_TRUE(plan.ok) << plan.context.messages;
  EXPECT_LT(plan.function.exprs.size(), 5010u);
  for (auto &expr : plan.function.exprs)
    EXPECT_LE(expr->terms.size(), 3u);
}

static const char *const kWorkspaces = R"mlir(
rplan.func @f(%x: memref<?x8xf32>, %s: memref<i64>)
    outputs(%y: memref<?x8xf32>, %z: memref<?xf32>, %w: memref<?xf32>)
    names ["x", "s", "y", "z", "w"] {
  %n = rplan.size %x[0] : memref<?x8xf32>
  %m = rplan.size %y[0] : memref<?x8xf32>
  rplan.require eq %m, %n, "expected y to have the rows of x" rule "S2"
  %c2 = arith.constant 2 : index
  %half = arith.ceildivsi %n, %c2 : index
  %zn = rplan.size %z[0] : memref<?xf32>
  rplan.require eq %half, %zn, "expected half the rows"
  %wn = rplan.size %w[0] : memref<?xf32>
  rplan.require eq %wn, %zn, "expected the rows of z"
  %a = rplan.workspace(%n) : memref<?x4xf32>
  %b = rplan.workspace(%half) : memref<?xbf16>
  %never = rplan.workspace() : memref<4xf32>
  %t = rplan.order_table #rlayout.order<residue<4>> length(%n) inverse
      : memref<?xi64>
  rplan.launch @k grid(%n) args(%x, %a) : memref<?x8xf32>, memref<?x4xf32>
  rplan.launch @k1 grid(%n) args(%a, %b, %t)
      : memref<?x4xf32>, memref<?xbf16>, memref<?xi64>
  %r = rplan.ordinal_table #rlayout.order<hilbert, grid = [4, 4]> first(%n)
      rows(%m from %half) memory(#rlayout.order<residue<2>>) : memref<?xi64>
  rplan.launch @k2 grid(%n) args(%b, %y, %r)
      : memref<?xbf16>, memref<?x8xf32>, memref<?xi64>
  rplan.return
}
)mlir";

TEST(PlanWriter, BuffersLiveFromFirstToLastUse) {
  Plan plan(kWorkspaces);
  ASSERT_TRUE(plan.ok) << plan.context.messages;
  auto value = [&](uint32_t expr) {
    return evaluate(plan.function, expr, {33, 8}, 0);
  };
  std::string text;
  for (auto &buffer : plan.function.plans[0]->buffers) {
    switch (buffer->kind) {
    case abi::BufferKind::Argument:
      text += "arg " + std::to_string(buffer->index);
      break;
    case abi::BufferKind::Workspace:
      text += "workspace of rank " + std::to_string(buffer->sizes.size());
      break;
    case abi::BufferKind::OrderTable:
      text += "table " + buffer->order->curve + " " +
              std::to_string(buffer->order->rate) +
              (buffer->inverse ? " inverse" : "");
      break;
    case abi::BufferKind::OrdinalTable:
      text += "ordinals of " + buffer->order->curve + " from " +
              std::to_string(value(buffer->first)) + ", " +
              std::to_string(value(buffer->length)) + " rows in " +
              buffer->memory->curve + " from " +
              std::to_string(value(buffer->offset));
      break;
    default:
      text += "?";
    }
    text += "; ";
  }
  EXPECT_EQ(text,
            "arg 0; workspace of rank 2; workspace of rank 1; "
            "table residue 4 inverse; arg 2; ordinals of hilbert from 33, "
            "33 rows in residue from 17; ");
}

/// Two launches with the index of `queries` queries of an 8 x 8 grid.
std::string indexing(const std::string &queries, const std::string &keys) {
  std::string index =
      "rplan.tile_index queries(" + queries + " from %c0) keys(" + keys +
      ") lists(%c8, %c1 from %c0) tile = [8, 16] rate = 3 "
      "residues = [2, 2] causal grid = [8, 8] reach = [1, 2] : memref<?xi64>\n";
  std::string launch = " : memref<?xi64>\n";
  return "rplan.func @f(%x: memref<?x?xf32>, %s: memref<i64>) outputs() "
         "names [\"x\", \"s\"] {\n"
         "%n = rplan.size %x[1] : memref<?x?xf32>\n"
         "%c0 = arith.constant 0 : index\n"
         "%c1 = arith.constant 1 : index\n"
         "%c8 = arith.constant 8 : index\n"
         "%c60 = arith.constant 60 : index\n"
         "%c65 = arith.constant 65 : index\n"
         "%t = " +
         index + "%u = " + index + "rplan.launch @k grid(%c1) args(%t)" +
         launch + "rplan.launch @k grid(%c1) args(%u)" + launch +
         "rplan.return }";
}

TEST(PlanWriter, TileIndexOfUnknownSizesIsARecipe) {
  Plan plan(indexing("%n", "%c60"));
  ASSERT_TRUE(plan.ok) << plan.context.messages;
  EXPECT_TRUE(plan.constants.empty());
  const abi::BufferT &buffer = *plan.function.plans[0]->buffers[0];
  ASSERT_EQ(buffer.kind, abi::BufferKind::TileIndex);
  const abi::TileIndexT &tiles = *buffer.tiles;
  auto value = [&](uint32_t expr) {
    return evaluate(plan.function, expr, {33, 8}, 0);
  };
  EXPECT_EQ(value(tiles.query_length), 8);
  EXPECT_EQ(value(tiles.key_length), 60);
  EXPECT_EQ(value(tiles.tiles), 8);
  EXPECT_EQ(tiles.rate, 3);
  EXPECT_EQ(tiles.first_residue, 2);
  EXPECT_EQ(tiles.residues, 2);
  EXPECT_EQ(tiles.query_rows, 8u);
  EXPECT_EQ(tiles.key_rows, 16u);
  EXPECT_TRUE(tiles.causal);
  EXPECT_EQ(tiles.reach, (std::vector<int64_t>{1, 2}));
}

TEST(PlanWriter, EqualConstantsAreWrittenOnce) {
  Plan plan("rplan.func @f() outputs() names [] {\n"
            "%c = arith.constant 4 : index\n"
            "%t = rplan.constant dense<[3, 1, 2]> : tensor<3xi64> as "
            "memref<?xi64>\n"
            "%u = rplan.constant dense<[3, 1, 2]> : tensor<3xi64> as "
            "memref<3xi64>\n"
            "%v = rplan.constant dense<7> : tensor<2x2xi32> as "
            "memref<2x2xi32>\n"
            "%n = rplan.size %t[0] : memref<?xi64>\n"
            "rplan.launch @k grid(%n) args(%t) : memref<?xi64>\n"
            "rplan.launch @k1 grid(%n) args(%u) : memref<3xi64>\n"
            "rplan.launch @k2 grid(%n) args(%v) : memref<2x2xi32>\n"
            "rplan.return }");
  ASSERT_TRUE(plan.ok) << plan.context.messages;
  ASSERT_EQ(plan.constants.size(), 2u);
  const abi::PlanT &written = *plan.function.plans[0];
  std::vector<uint32_t> numbers;
  for (const auto &buffer : written.buffers) {
    EXPECT_EQ(buffer->kind, abi::BufferKind::Constant);
    numbers.push_back(buffer->index);
  }
  EXPECT_EQ(numbers, (std::vector<uint32_t>{0, 0, 1}));
  const int64_t table[] = {3, 1, 2};
  ASSERT_EQ(plan.constants[0]->data.size(), sizeof(table));
  EXPECT_EQ(std::memcmp(plan.constants[0]->data.data(), table, sizeof(table)),
            0);
  const int32_t sevens[] = {7, 7, 7, 7};
  ASSERT_EQ(plan.constants[1]->data.size(), sizeof(sevens));
  EXPECT_EQ(std::memcmp(plan.constants[1]->data.data(), sevens, sizeof(sevens)),
            0);
  const abi::LaunchT &launch = *written.steps[0]->action.AsLaunch();
  EXPECT_EQ(evaluate(plan.function, launch.grid[0], {}, 0), 3);
}

TEST(PlanWriter, FallbacksAreLaunches) {
  Plan plan("rplan.func @f(%x: memref<4xf32>) outputs() names [\"x\"] {\n"
            "%c = arith.constant 4 : index\n"
            "%d = arith.constant 5 : index\n"
            "%m = rplan.workspace() : memref<4xf32>\n"
            "rplan.launch @k grid(%c) args(%x) : memref<4xf32>\n"
            "rplan.launch @k1 grid(%c) args(%x) otherwise launch @k2 grid(%d) "
            "args(%m, %c : memref<4xf32>, index) : memref<4xf32>\n"
            "rplan.return }");
  ASSERT_TRUE(plan.ok) << plan.context.messages;
  const abi::PlanT &written = *plan.function.plans[0];
  EXPECT_FALSE(written.steps[0]->action.AsLaunch()->otherwise);
  const abi::LaunchT &launch = *written.steps[1]->action.AsLaunch();
  EXPECT_EQ(launch.kernel, 1u);
  EXPECT_EQ(launch.args.size(), 1u);
  ASSERT_TRUE(launch.otherwise);
  EXPECT_EQ(launch.otherwise->kernel, 2u);
  ASSERT_EQ(launch.otherwise->args.size(), 2u);
  EXPECT_EQ(launch.otherwise->args[0].index(), 1u);
  EXPECT_EQ(written.buffers[1]->kind, abi::BufferKind::Workspace);
  auto value = [&](uint32_t expr) {
    return evaluate(plan.function, expr, {}, 0);
  };
  EXPECT_EQ(value(launch.grid[0]), 4);
  EXPECT_EQ(value(launch.otherwise->grid[0]), 5);
  EXPECT_EQ(value(launch.otherwise->args[1].index()), 4);
}

TEST(PlanWriter, QueuesAndEvents) {
  Plan plan("rplan.func @f(%x: memref<?x8xf32>, %y: memref<?x8xf32>) outputs() "
            "names [\"x\", \"y\"] {\n"
            "%n = rplan.size %x[0] : memref<?x8xf32>\n"
            "%true = arith.constant true\n"
            "%w = rplan.workspace(%n) : memref<?x8xf32>\n"
            "%z = rplan.aligned %x by @k1 grid(%n) if %true "
            ": memref<?x8xf32>\n"
            "%a = rplan.copy %y to %w : memref<?x8xf32>, memref<?x8xf32> -> "
            "!rplan.event\n"
            "%b = rplan.launch @k grid(%n) args(%w) on exchange after(%a, %a) "
            ": memref<?x8xf32> -> !rplan.event\n"
            "rplan.launch @k grid(%n) args(%z) on exchange : memref<?x8xf32>\n"
            "rplan.launch @k grid(%n) args(%w) after(%b, %a) "
            ": memref<?x8xf32>\n"
            "rplan.return }");
  ASSERT_TRUE(plan.ok) << plan.context.messages;
  std::string text;
  for (const auto &step : plan.function.plans[0]->steps) {
    text += step->queue == abi::Queue::Exchange ? "exchange" : "compute";
    for (uint32_t wait : step->waits)
      text += " " + std::to_string(wait);
    text += "; ";
  }
  // Who uses a copy of an input waits for it.
  EXPECT_EQ(text, "compute; compute; exchange 1; exchange 0; compute 1 2; ");
  const abi::CopyT &copy = *plan.function.plans[0]->steps[1]->action.AsCopy();
  EXPECT_NE(copy.source, copy.destination);
}

TEST(PlanWriter, NumbersOfTheMachine) {
  Plan plan("rplan.func @f() outputs(%y: memref<?xf32>) names [\"y\"] {\n"
            "%m = rplan.machine multiprocessors\n"
            "%rank = rplan.machine rank\n"
            "%ranks = rplan.machine ranks\n"
            "%n = rplan.size %y[0] : memref<?xf32>\n"
            "rplan.require eq %n, %ranks, \"one a rank\"\n"
            "rplan.launch @k grid(%m) args(%rank) : index\n"
            "rplan.return }");
  ASSERT_TRUE(plan.ok) << plan.context.messages;
  const abi::FunctionT &function = plan.function;
  const auto &steps = function.plans[0]->steps;
  auto wordOf = [&](uint32_t expr) {
    EXPECT_EQ(function.exprs[expr]->terms.size(), 1u);
    return function.exprs[expr]->terms[0].op();
  };
  const abi::LaunchT &launch = *steps[1]->action.AsLaunch();
  EXPECT_EQ(wordOf(launch.grid[0]), abi::ExprOp::Multiprocessors);
  EXPECT_EQ(wordOf(launch.args[0].index()), abi::ExprOp::Rank);
  EXPECT_EQ(wordOf(steps[0]->action.AsRequire()->rhs), abi::ExprOp::Ranks);
  // Who allocates outputs does not know the machine.
  EXPECT_TRUE(function.arguments[0]->size_exprs.empty());
}

TEST(PlanWriter, AlignedInputsLiveFromTheirCopyOn) {
  Plan plan("rplan.func @f(%x: memref<?x8xf32>) outputs() names [\"x\"] {\n"
            "%c = arith.constant 4 : index\n"
            "%n = rplan.size %x[0] : memref<?x8xf32>\n"
            "%worth = arith.cmpi sge, %n, %c : index\n"
            "rplan.launch @k grid(%c) args(%x) : memref<?x8xf32>\n"
            "%y = rplan.aligned %x by @k1 grid(%n) if %worth "
            ": memref<?x8xf32>\n"
            "%m = rplan.size %y[0] : memref<?x8xf32>\n"
            "rplan.launch @k2 grid(%m) args(%y) : memref<?x8xf32>\n"
            "rplan.return }");
  ASSERT_TRUE(plan.ok) << plan.context.messages;
  const abi::PlanT &written = *plan.function.plans[0];
  ASSERT_EQ(written.buffers.size(), 2u);
  const abi::BufferT &aligned = *written.buffers[1];
  EXPECT_EQ(aligned.kind, abi::BufferKind::Aligned);
  EXPECT_EQ(aligned.index, 0u);
  EXPECT_EQ(aligned.first_step, 1u);
  for (int64_t rows : {3, 4})
    EXPECT_EQ(evaluate(plan.function, aligned.worth, {rows, 8}, 0), rows >= 4);
  // The copy is a launch like any other, and sizes are those of the input.
  ASSERT_EQ(written.steps.size(), 3u);
  const abi::LaunchT &copy = *written.steps[1]->action.AsLaunch();
  ASSERT_EQ(copy.args.size(), 2u);
  EXPECT_EQ(copy.args[0].index(), 0u);
  EXPECT_EQ(copy.args[1].index(), 1u);
  const abi::LaunchT &last = *written.steps[2]->action.AsLaunch();
  EXPECT_EQ(evaluate(plan.function, last.grid[0], {7, 8}, 0), 7);
}

TEST(PlanWriter, OutputSizesComeFromRequirements) {
  Plan plan(kWorkspaces);
  ASSERT_TRUE(plan.ok) << plan.context.messages;
  auto sizesOf = [&](uint32_t argument) {
    std::vector<int64_t> sizes;
    for (uint32_t expr : plan.function.arguments[argument]->size_exprs)
      sizes.push_back(evaluate(plan.function, expr, {33, 8}, 0));
    return sizes;
  };
  EXPECT_EQ(sizesOf(2), (std::vector<int64_t>{33, 8}));
  EXPECT_EQ(sizesOf(3), (std::vector<int64_t>{17}));
  // w has the size of z, which is known.
  EXPECT_EQ(sizesOf(4), (std::vector<int64_t>{17}));
  EXPECT_TRUE(plan.function.arguments[0]->size_exprs.empty());
}

TEST(PlanWriter, UnknownOutputSizesStayFree) {
  Plan plan("rplan.func @f(%x: memref<?xf32>) outputs(%y: memref<?xf32>, "
            "%z: memref<4xf32>) names [\"x\", \"y\", \"z\"] {\n"
            "%n = rplan.size %x[0] : memref<?xf32>\n"
            "%m = rplan.size %y[0] : memref<?xf32>\n"
            "rplan.require le %m, %n, \"expected no more\"\n"
            "rplan.return }");
  ASSERT_TRUE(plan.ok);
  EXPECT_TRUE(plan.function.arguments[1]->size_exprs.empty());
  EXPECT_EQ(plan.function.arguments[2]->size_exprs.size(), 1u);
}

TEST(PlanWriter, TheRuleStandsApartFromTheMessage) {
  Plan plan(kWorkspaces);
  ASSERT_TRUE(plan.ok);
  auto *first = plan.function.plans[0]->steps[0]->action.AsRequire();
  EXPECT_EQ(first->message, "expected y to have the rows of x");
  EXPECT_EQ(first->rule, "S2");
  auto *second = plan.function.plans[0]->steps[1]->action.AsRequire();
  EXPECT_EQ(second->message, "expected half the rows");
  EXPECT_EQ(second->rule, "");
}

} // namespace ringlet
