//===- DrawInputsTest.cpp - Inputs that fit together ----------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/Evaluator/Harness.h"

#include "lib/Evaluator/DrawInputs.h"

#include "gtest/gtest.h"

#include <set>

using namespace ringlet;
using namespace ringlet::evaluator;

namespace {

std::vector<Tensor> draw(Program &program, uint64_t seed) {
  auto inputs = drawInputs(program.function(), seed, program.refusal);
  EXPECT_TRUE(inputs) << program.refusal.message;
  return inputs ? std::move(*inputs) : std::vector<Tensor>();
}

/// Sizes are the same wherever an operation joins axes, through reshapes and
/// products, and the length fits the order that it meets on the way.
TEST(DrawInputs, SizesFitTogether) {
  Program program(R"(
    #o = #rlayout.layout<order = #rlayout.order<hilbert, grid = [3, 4]>>
    func.func @f(%x: tensor<?x?x1x?xf32>, %y: tensor<?x?x?xf32>,
                 %w: tensor<?x?xf32>) -> tensor<?x?x?xf32, #o> {
      %c = tensor.collapse_shape %x [[0], [1], [2, 3]]
          : tensor<?x?x1x?xf32> into tensor<?x?x?xf32>
      %s = arith.addf %c, %y : tensor<?x?x?xf32>
      %r = ringlet.reorder %s : tensor<?x?x?xf32> to tensor<?x?x?xf32, #o>
      %p = linalg.generic {
          indexing_maps = [affine_map<(b, s, d, e) -> (b, s, d)>,
                           affine_map<(b, s, d, e) -> (d, e)>,
                           affine_map<(b, s, d, e) -> (b, s, e)>],
          iterator_types = ["parallel", "parallel", "reduction", "parallel"]}
          ins(%r, %w : tensor<?x?x?xf32, #o>, tensor<?x?xf32>)
          outs(%r : tensor<?x?x?xf32, #o>) {
      ^bb0(%a: f32, %b: f32, %out: f32):
        %m = arith.mulf %a, %b : f32
        linalg.yield %m : f32
      } -> tensor<?x?x?xf32, #o>
      return %p : tensor<?x?x?xf32, #o>
    })");
  std::set<int64_t> batches;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<Tensor> inputs = draw(program, seed);
    ASSERT_EQ(inputs.size(), 3u);
    const Shape &x = inputs[0].shape(), &w = inputs[2].shape();
    EXPECT_EQ(x[1], 12);
    EXPECT_EQ(inputs[1].shape(), (Shape{x[0], x[1], x[3]}));
    EXPECT_EQ(w, (Shape{x[3], x[3]}));
    batches.insert(x[0]);
  }
  EXPECT_GT(batches.size(), 5u);
}

/// What an attention reads beside its tensors is in its range, and varies.
TEST(DrawInputs, OptionsAreInRange) {
  Program program(R"(
    func.func @f(%q: tensor<3x?x2x4xf32>, %k: tensor<3x?x2x4xf32>,
                 %m: tensor<3xi64>, %n: tensor<3xi64>, %w: tensor<i64>,
                 %r: tensor<i64>) -> tensor<3x?x2x4xf32> {
      %o, %lse = ringlet.attention %q, %k, %k branches [<w = ?, r = ?>]
          lengths(%m, %n) sizes(%w, %r)
          : (tensor<3x?x2x4xf32>, tensor<3x?x2x4xf32>, tensor<3x?x2x4xf32>,
             tensor<3xi64>, tensor<3xi64>, tensor<i64>, tensor<i64>)
          -> (tensor<3x?x2x4xf32>, tensor<3x2x?xf32>)
      return %o : tensor<3x?x2x4xf32>
    })");
  std::set<std::pair<int64_t, int64_t>> lengths;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<Tensor> inputs = draw(program, seed);
    ASSERT_EQ(inputs.size(), 6u);
    lengths.insert({inputs[0].shape()[1], inputs[1].shape()[1]});
    for (int side : {0, 1})
      for (int i = 0; i < 3; ++i) {
        int64_t length = inputs[2 + side].as<int64_t>()[i];
        EXPECT_GE(length, 0);
        EXPECT_LE(length, inputs[side].shape()[1]);
      }
    int64_t segment = *inputs[4].as<int64_t>();
    int64_t rate = *inputs[5].as<int64_t>();
    EXPECT_GE(rate, 1);
    EXPECT_GE(segment, rate);
    EXPECT_FALSE(std::isnan(program.run(std::move(inputs))[0][0]))
        << program.refusal.message;
  }
  EXPECT_GT(lengths.size(), 10u);
}

TEST(DrawInputs, StartsRiseFromZero) {
  Program program(R"(
    func.func @f(%q: tensor<?x2x4xf32>, %s: tensor<5xi64>) -> tensor<?x2x4xf32> {
      %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
          packed(%s, %s)
          : (tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?x2x4xf32>,
             tensor<5xi64>, tensor<5xi64>)
          -> (tensor<?x2x4xf32>, tensor<2x?xf32>)
      return %o : tensor<?x2x4xf32>
    })");
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<Tensor> inputs = draw(program, seed);
    const auto *starts = inputs[1].as<int64_t>();
    EXPECT_EQ(starts[0], 0);
    EXPECT_TRUE(std::is_sorted(starts, starts + 5));
    EXPECT_LE(starts[4], inputs[0].shape()[0]);
  }
}

TEST(DrawInputs, FollowFromTheSeed) {
  Program program("func.func @f(%x: tensor<?x?xf32>) { return }");
  auto list = [&](uint64_t seed) {
    Tensor tensor = draw(program, seed)[0];
    return std::vector<double>(tensor.as<double>(),
                               tensor.as<double>() + tensor.elements());
  };
  EXPECT_EQ(list(7), list(7));
  EXPECT_NE(list(7), list(8));
}

TEST(DrawInputs, RefusesOtherArguments) {
  Program program("func.func @f(%n: index) { return }");
  EXPECT_FALSE(drawInputs(program.function(), 1, program.refusal));
  EXPECT_EQ(program.refusal.message,
            "expected arguments that are numbers or tensors of numbers, found "
            "index");
}

} // namespace
