//===- JudgeTest.cpp - Programs that must be refused ----------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

static void expectPart(const std::string &error, const std::string &part) {
  EXPECT_NE(error.find(part), std::string::npos)
      << "expected '" << part << "' in: " << error;
}

/// Loads 4 rows of %x at i * load, stores them to %y at i * store.
static const char *const kMove = R"(
  rtile.func @move(%x: memref<?xf32, strided<[1]>>,
                   %y: memref<?xf32, strided<[1]>>,
                   %load: index, %store: index) grid(%i: index, %j: index) {
    %xs = rtile.view %x[*] : memref<?xf32, strided<[1]>>
        to !rtile.view<4xf32>
    %ys = rtile.view %y[*] : memref<?xf32, strided<[1]>>
        to !rtile.view<4xf32>
    %from = arith.muli %i, %load : index
    %to = arith.muli %i, %store : index
    %t = rtile.load %xs[%from] : !rtile.view<4xf32>
    rtile.store %t, %ys[%to] : !rtile.view<4xf32>
    rtile.return
  })";

static std::string move(const MutableTensorView &x, const MutableTensorView &y,
                        int64_t load, int64_t store, int64_t points,
                        const Options &options = {}) {
  return Module(kMove).runKernel("move", {x, y, load, store}, {points, 1},
                                 options);
}

TEST(Judge, TwoWritersOfAnElement) {
  Tensor x = iota(DType::f32, {16}), y(DType::f32, {16});
  EXPECT_EQ(move(x.view(), y.view(), 4, 4, 4), "");
  std::string error = move(x.view(), y.view(), 4, 3, 4);
  expectPart(error, "test.mlir:12:5: 'rtile.store' op writes element 0 of its "
                    "tile, which grid point 0 of the same launch writes");
  expectPart(error, "at point (1, 0) of @move");
  // Equal values do not make it right.
  expectPart(move(x.view(), y.view(), 0, 0, 2), "writes element");
  Options options;
  options.detectRaces = false;
  EXPECT_EQ(move(x.view(), y.view(), 4, 3, 4, options), "");
}

TEST(Judge, RacesAreFoundInAnyOrder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Options options;
    options.seed = seed;
    Tensor x = iota(DType::f32, {40}), y(DType::f32, {40});
    EXPECT_EQ(move(x.view(), y.view(), 4, 4, 10, options), "");
    EXPECT_NE(move(x.view(), y.view(), 4, 3, 10, options), "");
    // In place: each point reads what the next one writes.
    EXPECT_EQ(move(x.view(), x.view(), 4, 4, 10, options), "");
    std::string error = move(x.view(), x.view(), 3, 4, 10, options);
    EXPECT_TRUE(error.find("of the same launch writes") != std::string::npos ||
                error.find("of the same launch read") != std::string::npos)
        << error;
  }
}

TEST(Judge, RacesThroughOverlappingBuffers) {
  // Two slices of one tensor: points of x and y meet in elements 4 to 11.
  Tensor memory = iota(DType::f32, {16});
  MutableTensorView x(memory.data(), DType::f32, {12});
  MutableTensorView y(memory.as<float>() + 4, DType::f32, {12});
  expectPart(move(x, y, 4, 4, 3), "of the same launch");
  MutableTensorView apart(memory.as<float>() + 12, DType::f32, {4});
  EXPECT_EQ(move(x, apart, 4, 4, 1), "");
  // One element in common is enough, in either order.
  MutableTensorView head(memory.data(), DType::f32, {8});
  MutableTensorView last(memory.as<float>() + 7, DType::f32, {8});
  expectPart(move(head, last, 4, 4, 2), "of the same launch");
  expectPart(move(last, head, 4, 4, 2), "of the same launch");
  // Rows that share memory.
  Module module(R"(
    rtile.func @f(%y: memref<?x2xf32, strided<[?, 1]>>) grid(%i: index) {
      %c0 = arith.constant 0 : index
      %t = arith.constant dense<1.0> : tensor<2xf32>
      %v = rtile.view %y[%i, *] : memref<?x2xf32, strided<[?, 1]>>
          to !rtile.view<2xf32>
      rtile.store %t, %v[%c0] : !rtile.view<2xf32>
      rtile.return
    })");
  EXPECT_EQ(module.runKernel(
                "f",
                {MutableTensorView(memory.data(), DType::f32, {3, 2}, {2, 1})},
                {3}),
            "");
  expectPart(module.runKernel(
                 "f",
                 {MutableTensorView(memory.data(), DType::f32, {3, 2}, {0, 1})},
                 {3}),
             "writes element 0");
}

TEST(Judge, LaunchesAreApart) {
  Module module(std::string(kMove) + R"(
    rplan.func @main(%x: memref<?xf32, strided<[1]>>)
        outputs(%y: memref<?xf32, strided<[1]>>) names ["x", "result0"] {
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      rplan.launch @move grid(%c4, %c1) args(%x, %y, %c4, %c4)
          : memref<?xf32, strided<[1]>>, memref<?xf32, strided<[1]>>, index,
            index
      rplan.launch @move grid(%c1, %c1) args(%y, %y, %c4, %c4)
          : memref<?xf32, strided<[1]>>, memref<?xf32, strided<[1]>>, index,
            index
      rplan.return
    })");
  Tensor x = iota(DType::f32, {16}), y(DType::f32, {16});
  EXPECT_EQ(module.run("main", {x.view(), y.view()}), "");
  EXPECT_EQ(elements(y), elements(x));
}

TEST(Judge, InputsAreNotWritten) {
  Module module(std::string(kMove) + R"(
    rplan.func @main(%x: memref<?xf32, strided<[1]>>)
        outputs(%y: memref<?xf32, strided<[1]>>) names ["x", "result0"] {
      %c1 = arith.constant 1 : index
      rplan.launch @move grid(%c1, %c1) args(%y, %x, %c1, %c1)
          : memref<?xf32, strided<[1]>>, memref<?xf32, strided<[1]>>, index,
            index
      rplan.return
    })");
  Tensor x = iota(DType::f32, {16}), y(DType::f32, {16});
  expectPart(module.run("main", {x.view(), y.view()}),
             "'rtile.store' op expected a store to an output or a workspace, "
             "found one to an input");
}

TEST(Judge, EndlessProgramsEnd) {
  Module module(R"(
    rtile.func @f() grid(%i: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %big = arith.constant 9223372036854775807 : index
      scf.for %k = %c0 to %big step %c1 {
      }
      rtile.return
    })");
  Options options;
  options.maxSteps = 100000;
  expectPart(module.runKernel("f", {}, {1}, options),
             "'scf.for' op expected the program to end within 100000 steps");
  expectPart(module.runKernel("f", {}, {int64_t(1) << 40}, options),
             "expected a grid of at most 100000 points");
  expectPart(module.runKernel("f", {}, {INT64_MAX}, options), "points");
  options.maxSteps = INT64_MAX;
  expectPart(module.runKernel("f", {}, {INT64_MAX}, options), "points");
}

TEST(Judge, UnsupportedOperationsAreNamed) {
  expectPart(errorOf(R"(
    %a = arith.constant dense<1> : tensor<1xi32>
    %b, %c = arith.addui_extended %a, %a : tensor<1xi32>, tensor<1xi1>
    %r = arith.constant dense<1.0> : tensor<1xf32>)",
                     1),
             "test.mlir:5:14: 'arith.addui_extended' op is not supported by "
             "the interpreter");
  expectPart(errorOf(R"(
    %a = arith.constant 1.0 : f64
    %r = arith.constant dense<1.0> : tensor<1xf32>)",
                     1),
             "found f64");
  expectPart(errorOf(R"(
    %a = arith.constant dense<1.0> : tensor<4000000x4000000xf32>
    %r = arith.constant dense<1.0> : tensor<1xf32>)",
                     1),
             "at most 4194304 elements");
  expectPart(errorOf(R"(
    %a = arith.constant dense<1.0> : tensor<1xf32, "placed">
    %r = arith.constant dense<1.0> : tensor<1xf32>)",
                     1),
             "encoded by rtile or not");
  // Each in its own kind of function.
  expectPart(errorOf(R"(
    %s = rplan.size %out[0] : memref<1xf32>
    %r = arith.constant dense<1.0> : tensor<1xf32>)",
                     1),
             "'rplan.size' op cannot stand in rtile.func");
  Module module(R"(
    rplan.func @main(%x: memref<4xf32>) outputs() names ["x"] {
      %v = rtile.view %x[*] : memref<4xf32> to !rtile.view<4xf32>
      rplan.return
    })");
  Tensor x(DType::f32, {4});
  expectPart(module.run("main", {x.view()}),
             "'rtile.view' op cannot stand in rplan.func");
}

TEST(Judge, DeepNestingIsRefused) {
  std::string body = "%c1 = arith.constant 1 : index\n"
                     "%r = arith.constant dense<1.0> : tensor<1xf32>\n";
  for (int i = 0; i < 100; ++i)
    body += "scf.for %i" + std::to_string(i) + " = %zero to %c1 step %c1 {\n";
  for (int i = 0; i < 100; ++i)
    body += "}\n";
  expectPart(errorOf(body, 1), "expected at most 64 nested regions");
}

TEST(Judge, LoweredKernelsAreRefused) {
  Module module(R"(
    func.func @f() {
      return
    }
    rplan.func @main() outputs() names [] {
      %c1 = arith.constant 1 : index
      rplan.launch @f grid(%c1) args()
      rplan.return
    })");
  expectPart(module.run("main", {}), "'rplan.launch' op expected a kernel that "
                                     "is an rtile.func, found 'func.func'");
}

TEST(Judge, KernelArgumentsAreChecked) {
  Module module(kMove);
  Tensor x(DType::f32, {4}), wrong(DType::f16, {4});
  expectPart(module.runKernel("move", {x.view()}, {1, 1}),
             "expected 4 arguments, found 1");
  expectPart(module.runKernel("move",
                              {x.view(), int64_t(1), int64_t(1), int64_t(1)},
                              {1, 1}),
             "expected a buffer for argument 1, found an index");
  expectPart(module.runKernel(
                 "move", {x.view(), x.view(), x.view(), int64_t(1)}, {1, 1}),
             "expected an index for argument 2, found a buffer");
  expectPart(module.runKernel("move",
                              {x.view(), wrong.view(), int64_t(1), int64_t(1)},
                              {1, 1}),
             "expected elements of f32 for argument 1, found f16");
  expectPart(module.runKernel(
                 "move", {x.view(), x.view(), int64_t(1), int64_t(1)}, {1}),
             "a grid of rank 2");
  expectPart(module.runKernel("none", {}, {1}),
             "expected an rtile.func named 'none', found none");
}

TEST(Judge, InvalidModulesAreRefused) {
  // Parsing verifies; a pass may break a module afterwards.
  Module module(kMove);
  (*module)->walk([](mlir::arith::MulIOp op) {
    op->setOperand(0, op->getParentRegion()->getArgument(0));
  });
  Tensor x(DType::f32, {4});
  expectPart(module.runKernel(
                 "move", {x.view(), x.view(), int64_t(1), int64_t(1)}, {1, 1}),
             "expected a valid module, found: ");
}
