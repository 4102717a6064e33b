//===- TileTest.cpp - Products, reductions and broadcasts -----------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include <cmath>
#include <gtest/gtest.h>
#include <tuple>

using namespace ringlet;
using namespace ringlet::interpreter::test;

/// A kernel that loads %a and %b (and %c), runs `body` and stores %r.
static std::string program(const std::string &type, const Shape &a,
                           const Shape &b, const Shape &r,
                           const std::string &body) {
  auto dims = [](const Shape &shape) {
    std::string text;
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text;
  };
  std::string text = "rtile.func @f(%A: memref<" + dims(a) + type +
                     ">, %B: memref<" + dims(b) + type + ">, %R: memref<" +
                     dims(r) + "f32>) grid(%i: index) {\n" +
                     "  %z = arith.constant 0 : index\n";
  auto view = [&](const std::string &name, const Shape &shape,
                  const std::string &element) {
    bool matrix = shape.size() == 2;
    std::string viewType = "!rtile.view<" + dims(shape) + element + ">";
    text += "  %v" + name + " = rtile.view %" + name +
            (matrix ? "[*, *]" : "[*]") + " : memref<" + dims(shape) + element +
            "> to " + viewType + "\n";
    return "%v" + name + (matrix ? "[%z, %z]" : "[%z]") + " : " + viewType +
           "\n";
  };
  std::string at = view("A", a, type);
  text += "  %a = rtile.load " + at;
  at = view("B", b, type);
  text += "  %b = rtile.load " + at + body;
  at = view("R", r, "f32");
  text += "\n  rtile.store %r, " + at + "  rtile.return\n}\n";
  return text;
}

static Tensor randomTensor(DType dtype, Shape shape, uint64_t seed) {
  Random random(seed);
  Tensor tensor(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.elements(); ++i)
    storeElement(tensor.data(), dtype, i, random.uniform());
  return tensor;
}

TEST(Tile, DotInEveryForm) {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (bool transposed : {false, true})
      for (bool init : {false, true}) {
        std::string type(nameOf(dtype));
        Shape b = transposed ? Shape{7, 3} : Shape{3, 7};
        std::string bType = transposed ? "7x3x" : "3x7x";
        std::string body =
            "  %s = arith.constant dense<0.5> : tensor<5x7xf32>\n"
            "  %r = rtile.dot %a, %b ";
        body += transposed ? "transposed " : "";
        body += init ? "init(%s) " : "";
        body += ": tensor<5x3x" + type + ">, tensor<" + bType + type +
                "> -> tensor<5x7xf32>";
        Tensor lhs = randomTensor(dtype, {5, 3}, 1);
        Tensor rhs = randomTensor(dtype, b, 2);
        Tensor result(DType::f32, {5, 7});
        ASSERT_EQ(
            Module(program(type, {5, 3}, b, {5, 7}, body))
                .runKernel("f", {lhs.view(), rhs.view(), result.view()}, {1}),
            "");
        for (int64_t i = 0; i < 5; ++i)
          for (int64_t j = 0; j < 7; ++j) {
            double sum = init ? 0.5 : 0;
            for (int64_t k = 0; k < 3; ++k)
              sum += lhs.get({i, k}) *
                     (transposed ? rhs.get({j, k}) : rhs.get({k, j}));
            EXPECT_NEAR(result.get({i, j}), sum, 1e-6) << type;
          }
      }
}

TEST(Tile, DotKeepsF32ProductsOf16BitOperands) {
  // In bf16 the products 1 + 2^-7 would lose their last bit.
  Tensor a = makeTensor(DType::bf16, {1, 1}, {1 + 0x1p-7});
  Tensor r(DType::f32, {1, 1});
  ASSERT_EQ(Module(program("bf16", {1, 1}, {1, 1}, {1, 1},
                           "  %r = rtile.dot %a, %b : tensor<1x1xbf16>, "
                           "tensor<1x1xbf16> -> tensor<1x1xf32>"))
                .runKernel("f", {a.view(), a.view(), r.view()}, {1}),
            "");
  EXPECT_EQ(r.get({0, 0}), (1 + 0x1p-7) * (1 + 0x1p-7));
}

TEST(Tile, Reductions) {
  Tensor a = makeTensor(DType::f32, {3, 4},
                        {1, -2, 3, 4,                                //
                         -INFINITY, -INFINITY, -INFINITY, -INFINITY, //
                         1, NAN, 5, 2});
  Tensor unused(DType::f32, {1});
  for (auto [kind, first] :
       {std::pair<std::string, double>{"sum", 6}, {"max", 4}, {"min", -2}}) {
    Tensor r(DType::f32, {3});
    ASSERT_EQ(
        Module(program("f32", {3, 4}, {1}, {3},
                       "  %r = rtile.reduce " + kind + " %a : tensor<3x4xf32>"))
            .runKernel("f", {a.view(), unused.view(), r.view()}, {1}),
        "");
    EXPECT_EQ(r.get({0}), first) << kind;
    EXPECT_EQ(r.get({1}), -INFINITY) << kind;
    EXPECT_TRUE(std::isnan(r.get({2}))) << kind;
  }
}

TEST(Tile, BroadcastsAlongEitherAxis) {
  Tensor a = makeTensor(DType::f32, {2}, {1, 2});
  Tensor b = makeTensor(DType::f32, {3}, {10, 20, 30});
  Tensor r(DType::f32, {2, 3});
  ASSERT_EQ(Module(program("f32", {2}, {3}, {2, 3}, R"(
    %x = rtile.broadcast %a : tensor<2xf32> -> tensor<2x3xf32>
    %y = rtile.broadcast %b columns : tensor<3xf32> -> tensor<2x3xf32>
    %r = arith.addf %x, %y : tensor<2x3xf32>)"))
                .runKernel("f", {a.view(), b.view(), r.view()}, {1}),
            "");
  EXPECT_EQ(elements(r), (std::vector<double>{11, 21, 31, 12, 22, 32}));
  // Masks, too.
  ASSERT_EQ(Module(program("f32", {2}, {3}, {2, 3}, R"(
    %one = arith.constant dense<1.0> : tensor<2xf32>
    %m = arith.cmpf ogt, %a, %one : tensor<2xf32>
    %w = rtile.broadcast %m : tensor<2xi1> -> tensor<2x3xi1>
    %r = arith.uitofp %w : tensor<2x3xi1> to tensor<2x3xf32>)"))
                .runKernel("f", {a.view(), b.view(), r.view()}, {1}),
            "");
  EXPECT_EQ(elements(r), (std::vector<double>{0, 0, 0, 1, 1, 1}));
}

TEST(Tile, FoldAddsColumnsThatAgreeModuloTheWidth) {
  Tensor a = makeTensor(DType::f32, {2, 6},
                        {1, 2, 3, 10, 20, 30, //
                         4, 5, 6, 40, 50, INFINITY});
  Tensor unused(DType::f32, {1});
  Tensor r(DType::f32, {2, 3});
  ASSERT_EQ(Module(program("f32", {2, 6}, {1}, {2, 3},
                           "  %r = rtile.fold %a : tensor<2x6xf32> -> "
                           "tensor<2x3xf32>"))
                .runKernel("f", {a.view(), unused.view(), r.view()}, {1}),
            "");
  EXPECT_EQ(elements(r), (std::vector<double>{11, 22, 33, 44, 55, INFINITY}));
}

TEST(Tile, SlicesAndJoins) {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    std::string type(nameOf(dtype));
    Tensor a = makeTensor(dtype, {2, 3}, {1, 2, 3, 4, 5, 6});
    Tensor b = makeTensor(dtype, {2, 2}, {7, 8, 9, 10});
    Tensor r(DType::f32, {2, 4});
    std::string body =
        "    %s = rtile.slice %a[1] : tensor<2x3x" + type + "> -> tensor<2x2x" +
        type + ">\n    %j = rtile.join %b, %s : tensor<2x2x" + type +
        ">, tensor<2x2x" + type + "> -> tensor<2x4x" + type + ">\n";
    body += dtype == DType::f32
                ? "    %r = arith.negf %j : tensor<2x4xf32>"
                : "    %w = arith.extf %j : tensor<2x4x" + type +
                      "> to tensor<2x4xf32>\n"
                      "    %r = arith.negf %w : tensor<2x4xf32>";
    ASSERT_EQ(Module(program(type, {2, 3}, {2, 2}, {2, 4}, body))
                  .runKernel("f", {a.view(), b.view(), r.view()}, {1}),
              "");
    EXPECT_EQ(elements(r),
              (std::vector<double>{-7, -8, -2, -3, -9, -10, -5, -6}))
        << type;
  }
}

TEST(Tile, MasksAreCutAndAskedForAnyElement) {
  for (auto [row, column, expected] :
       {std::tuple<int64_t, int64_t, double>{0, 0, 20},
        {0, 2, 10},
        {1, 1, 10},
        {1, 0, 20},
        {-1, -1, 20}}) {
    Tensor a = filled(DType::f32, {2, 3}, 0);
    if (row >= 0)
      a.set({row, column}, 1);
    Tensor b(DType::f32, {1});
    Tensor r(DType::f32, {1});
    // Of columns 1 and 2.
    ASSERT_EQ(Module(program("f32", {2, 3}, {1}, {1}, R"(
    %zero = arith.constant dense<0.0> : tensor<2x3xf32>
    %set = arith.cmpf une, %a, %zero : tensor<2x3xf32>
    %right = rtile.slice %set[1] : tensor<2x3xi1> -> tensor<2x2xi1>
    %twice = rtile.join %right, %right : tensor<2x2xi1>, tensor<2x2xi1>
        -> tensor<2x4xi1>
    %some = rtile.any %twice : tensor<2x4xi1>
    %yes = arith.constant dense<10.0> : tensor<1xf32>
    %no = arith.constant dense<20.0> : tensor<1xf32>
    %r = arith.select %some, %yes, %no : tensor<1xf32>)"))
                  .runKernel("f", {a.view(), b.view(), r.view()}, {1}),
              "");
    EXPECT_EQ(r.get({0}), expected) << row << ", " << column;
  }
}

TEST(Tile, RebaseMakesRowsAboveTheLimitInfinite) {
  // At the limit 2^10, and above it; a row below the bound has a limit, too.
  Tensor a = makeTensor(DType::f32, {3, 2}, {1024, 2, 1025, 0, 16, 1});
  Tensor b = filled(DType::f32, {3}, 5);
  std::string text = program("f32", {3, 2}, {3}, {3, 3}, R"(
    %ones = arith.constant dense<1.0> : tensor<3x1xf32>
    %m, %l, %t = rtile.rebase %b, %a bound = 8 limit = 10 tiles(%ones)
        : tensor<3xf32>, tensor<3x2xf32>, tensor<3x1xf32>
    %r = rtile.join %l, %t
        : tensor<3x2xf32>, tensor<3x1xf32> -> tensor<3x3xf32>)");
  Tensor r(DType::f32, {3, 3});
  ASSERT_EQ(Module(text).runKernel("f", {a.view(), b.view(), r.view()}, {1}),
            "");
  EXPECT_EQ(r.get({0, 0}), 1);
  EXPECT_EQ(r.get({0, 2}), 0x1p-10);
  EXPECT_EQ(r.get({1, 0}), INFINITY);
  EXPECT_TRUE(std::isnan(r.get({1, 1})));
  EXPECT_EQ(r.get({1, 2}), INFINITY);
  EXPECT_EQ(r.get({2, 0}), 16);
}

TEST(Tile, RebaseMovesRowsAboveTheBound) {
  // References 5; sums 2^9 + 2^8 (above 2^8), 2^8, 0.25, not finite.
  Tensor a = makeTensor(DType::f32, {5, 2},
                        {768, 2, 256, 1, 0.25, 0, INFINITY, 1, NAN, 512});
  Tensor b = filled(DType::f32, {5}, 5);
  std::string text = program("f32", {5, 2}, {5}, {5, 4}, R"(
    %ones = arith.constant dense<1.0> : tensor<5x1xf32>
    %m, %l, %t = rtile.rebase %b, %a bound = 8 tiles(%ones)
        : tensor<5xf32>, tensor<5x2xf32>, tensor<5x1xf32>
    %mw = rtile.broadcast %m : tensor<5xf32> -> tensor<5x1xf32>
    %r = rtile.join %mw, %l, %t
        : tensor<5x1xf32>, tensor<5x2xf32>, tensor<5x1xf32> -> tensor<5x4xf32>)");
  Tensor r(DType::f32, {5, 4});
  ASSERT_EQ(Module(text).runKernel("f", {a.view(), b.view(), r.view()}, {1}),
            "");
  auto row = [&](int64_t i) {
    return std::vector<double>{r.get({i, 0}), r.get({i, 1}), r.get({i, 2}),
                               r.get({i, 3})};
  };
  EXPECT_EQ(row(0), (std::vector<double>{14, 1.5, 0x1p-8, 0x1p-9}));
  EXPECT_EQ(row(1), (std::vector<double>{5, 256, 1, 1}));
  EXPECT_EQ(row(2), (std::vector<double>{5, 0.25, 0, 1}));
  EXPECT_EQ(row(3), (std::vector<double>{5, INFINITY, 1, 1}));
  EXPECT_EQ(r.get({4, 0}), 5);
  EXPECT_TRUE(std::isnan(r.get({4, 1})));

  // Other rows may be rebased, too; none changes what it stands for.
  bool moved = false;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    interpreter::Options options;
    options.seed = seed;
    options.chooseFreely = true;
    ASSERT_EQ(Module(text).runKernel("f", {a.view(), b.view(), r.view()}, {1},
                                     options),
              "");
    moved |= r.get({1, 0}) == 13;
    for (int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(std::ldexp(r.get({i, 1}), r.get({i, 0}) - 5), a.get({i, 0}));
      EXPECT_EQ(std::ldexp(r.get({i, 3}), r.get({i, 0}) - 5), 1);
    }
  }
  EXPECT_TRUE(moved);
}
