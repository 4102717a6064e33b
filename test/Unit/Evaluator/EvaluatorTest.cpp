//===- EvaluatorTest.cpp - What operations compute ------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/Evaluator/Harness.h"

#include "lib/Oracle/Attention.h"
#include "lib/Tensor/Dice.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace ringlet;
using namespace ringlet::evaluator;

namespace {

using List = std::vector<double>;

/// Compares numbers that a sum may round.
void expectNear(const List &found, const List &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i] != expected[i]) // lse of a row without keys is -inf.
      EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

TEST(Evaluator, ElementwiseFloats) {
  Program program(R"(
    func.func @f(%x: tensor<3xf16>, %y: tensor<3xf16>)
        -> (tensor<3xf16>, tensor<3xf16>, tensor<3xf32>, tensor<3xf16>) {
      %0 = arith.divf %x, %y : tensor<3xf16>
      %1 = arith.cmpf ult, %x, %y : tensor<3xf16>
      %2 = arith.select %1, %x, %y : tensor<3xi1>, tensor<3xf16>
      %3 = arith.extf %x : tensor<3xf16> to tensor<3xf32>
      %4 = math.fma %x, %y, %0 : tensor<3xf16>
      return %0, %2, %3, %4
          : tensor<3xf16>, tensor<3xf16>, tensor<3xf32>, tensor<3xf16>
    })");
  auto results =
      program.run({makeTensor({3}, {1, -6, 1}), makeTensor({3}, {3, 2, 8})});
  // In doubles: 1/3 is not rounded to f16.
  EXPECT_EQ(results[0], (List{1.0 / 3, -3, 0.125}));
  EXPECT_EQ(results[1], (List{1, -6, 1}));
  EXPECT_EQ(results[2], (List{1, -6, 1}));
  EXPECT_EQ(results[3], (List{3 + 1.0 / 3, -15, 8.125}));
}

TEST(Evaluator, IntegersWrapAtTheirWidth) {
  Program program(R"(
    func.func @f(%x: tensor<2xi8>) -> (tensor<2xi8>, tensor<2xi32>, tensor<2xi32>) {
      %c = arith.constant dense<100> : tensor<2xi8>
      %0 = arith.addi %x, %c : tensor<2xi8>
      %1 = arith.extsi %0 : tensor<2xi8> to tensor<2xi32>
      %2 = arith.extui %0 : tensor<2xi8> to tensor<2xi32>
      return %0, %1, %2 : tensor<2xi8>, tensor<2xi32>, tensor<2xi32>
    })");
  auto results = program.run({makeIntegers({2}, {100, -1})});
  EXPECT_EQ(results[0], (List{-56, 99}));
  EXPECT_EQ(results[1], (List{-56, 99}));
  EXPECT_EQ(results[2], (List{200, 99}));
}

TEST(Evaluator, NamedProductsAndShapes) {
  Program program(R"(
    func.func @f(%x: tensor<?x2xf32>, %w: tensor<2x2xf32>) -> tensor<?x1x2xf32> {
      %zero = arith.constant 0 : index
      %n = tensor.dim %x, %zero : tensor<?x2xf32>
      %e = tensor.empty(%n) : tensor<?x2xf32>
      %one = arith.constant 1.0 : f32
      %i = linalg.fill ins(%one : f32) outs(%e : tensor<?x2xf32>) -> tensor<?x2xf32>
      %p = linalg.matmul ins(%x, %w : tensor<?x2xf32>, tensor<2x2xf32>)
          outs(%i : tensor<?x2xf32>) -> tensor<?x2xf32>
      %s = tensor.expand_shape %p [[0, 1], [2]] output_shape [%n, 1, 2]
          : tensor<?x2xf32> into tensor<?x1x2xf32>
      return %s : tensor<?x1x2xf32>
    })");
  auto results = program.run({makeTensor({3, 2}, {1, 2, 3, 4, 5, 6}),
                              makeTensor({2, 2}, {1, 0, 1, 1})});
  EXPECT_EQ(results[0], (List{4, 3, 8, 5, 12, 7}));
}

TEST(Evaluator, IndexingMapsMayRunBackwards) {
  Program program(R"(
    #back = affine_map<(i) -> (3 - i)>
    #same = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4xf32>
      %y = linalg.generic {indexing_maps = [#back, #same],
                           iterator_types = ["parallel"]}
          ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
      ^bb0(%in: f32, %out: f32):
        %i = linalg.index 0 : index
        %n = arith.index_cast %i : index to i32
        %p = arith.sitofp %n : i32 to f32
        %t = arith.constant 10.0 : f32
        %s = arith.mulf %p, %t : f32
        %r = arith.addf %in, %s : f32
        linalg.yield %r : f32
      } -> tensor<4xf32>
      return %y : tensor<4xf32>
    })");
  EXPECT_EQ(program.run({makeTensor({4}, {0, 1, 2, 3})})[0],
            (List{3, 12, 21, 30}));
}

TEST(Evaluator, SoftmaxAlongAnyAxis) {
  Program program(R"(
    func.func @f(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %y = linalg.softmax dimension(0) ins(%x : tensor<2x2xf32>)
          outs(%x : tensor<2x2xf32>) -> tensor<2x2xf32>
      return %y : tensor<2x2xf32>
    })");
  expectNear(program.run({makeTensor({2, 2}, {0, 5, std::log(3.0), 5})})[0],
             {0.25, 0.5, 0.75, 0.5});
}

/// A reorder moves tokens, and a cast moves nothing.
TEST(Evaluator, ReorderMovesTokens) {
  Program program(R"(
    #r = #rlayout.layout<order = #rlayout.order<residue<2>>>
    func.func @f(%x: tensor<1x5xf32>) -> (tensor<1x5xf32, #r>, tensor<1x5xf32>) {
      %y = ringlet.reorder %x : tensor<1x5xf32> to tensor<1x5xf32, #r>
      %z = tensor.cast %x : tensor<1x5xf32> to tensor<1x5xf32, #r>
      %b = ringlet.reorder %z : tensor<1x5xf32, #r> to tensor<1x5xf32>
      return %y, %b : tensor<1x5xf32, #r>, tensor<1x5xf32>
    })");
  auto results = program.run({makeTensor({1, 5}, {0, 1, 2, 3, 4})});
  EXPECT_EQ(results[0], (List{0, 2, 4, 1, 3}));
  EXPECT_EQ(results[1], (List{0, 3, 1, 4, 2}));
}

/// Operands and results of an attention in an order are those of the oracle,
/// moved.
TEST(Evaluator, AttentionFollowsTokens) {
  Program program(R"(
    #q = #rlayout.layout<order = #rlayout.order<residue<2>>>
    #l = #rlayout.layout<order = #rlayout.order<residue<2>>, axis = 2>
    #k = #rlayout.layout<order = #rlayout.order<snake, grid = [2, 2], chunk = 4>>
    func.func @f(%q: tensor<1x3x1x2xf32, #q>, %k: tensor<1x6x1x2xf32, #k>,
                 %n: tensor<i64>)
        -> (tensor<1x3x1x2xf32, #q>, tensor<1x1x3xf32, #l>) {
      %o, %lse = ringlet.attention %q, %k, %k branches [<w = 4, r = ?>] causal
          q_offset(%n) sizes(%n)
          : (tensor<1x3x1x2xf32, #q>, tensor<1x6x1x2xf32, #k>,
             tensor<1x6x1x2xf32, #k>, tensor<i64>, tensor<i64>)
          -> (tensor<1x3x1x2xf32, #q>, tensor<1x1x3xf32, #l>)
      return %o, %lse : tensor<1x3x1x2xf32, #q>, tensor<1x1x3xf32, #l>
    })");
  Dice dice(1, 1);
  Tensor query(DType::f32, {1, 3, 1, 2}), key(DType::f32, {1, 6, 1, 2});
  for (Tensor *tensor : {&query, &key})
    for (int64_t i = 0; i < tensor->elements(); ++i)
      tensor->as<float>()[i] = static_cast<float>(dice.normal());
  oracle::AttentionSpec spec;
  spec.branches.resize(1);
  spec.branches[0].segment = 4;
  spec.branches[0].dilation = 2;
  spec.causal = true;
  Tensor offset = makeIntegers({1}, {2});
  oracle::AttentionInputs inputs;
  inputs.query = std::as_const(query).view();
  inputs.key = inputs.value = std::as_const(key).view();
  inputs.qOffset = std::as_const(offset).view();
  std::string error;
  auto expected = oracle::attention(spec, inputs, &error);
  ASSERT_TRUE(expected) << error;

  const std::vector<int64_t> queryTokens = {0, 2, 1};
  const std::vector<int64_t> keyTokens = {0, 1, 3, 2, 4, 5};
  auto moved = [](const Tensor &tensor, int axis,
                  const std::vector<int64_t> &tokens) {
    return Tensor::copyOf(takeIndices(tensor.view(), axis, tokens).view(),
                          DType::f64);
  };
  auto found = program.run({moved(query, 1, queryTokens),
                            moved(key, 1, keyTokens), makeIntegers({}, {2})});
  auto list = [](const Tensor &tensor) {
    return List(tensor.as<double>(), tensor.as<double>() + tensor.elements());
  };
  expectNear(found[0], list(moved(expected->output, 1, queryTokens)));
  expectNear(found[1], list(moved(expected->lse, 2, queryTokens)));
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

TEST(Evaluator, RefusesWhatItDoesNotKnow) {
  Program program(R"(
    func.func @f(%x: tensor<4xf32>) -> tensor<2xf32> {
      %y = tensor.extract_slice %x[0] [2] [1] : tensor<4xf32> to tensor<2xf32>
      return %y : tensor<2xf32>
    })");
  EXPECT_TRUE(std::isnan(program.run({makeTensor({4}, {1, 2, 3, 4})})[0][0]));
  EXPECT_EQ(program.refusal.message,
            "is not an operation that can be evaluated");
  EXPECT_EQ(program.refusal.op->getName().getStringRef(),
            "tensor.extract_slice");
  EXPECT_FALSE(program.refusal.isAboutInputs);
}

TEST(Evaluator, RefusesWhatIsUndefined) {
  Program program(R"(
    func.func @f(%x: tensor<2xi32>, %y: tensor<2xi32>) -> tensor<2xi32> {
      %q = arith.divsi %x, %y : tensor<2xi32>
      return %q : tensor<2xi32>
    })");
  EXPECT_EQ(
      program.run({makeIntegers({2}, {7, 9}), makeIntegers({2}, {2, 3})})[0],
      (List{3, 3}));
  program.run({makeIntegers({2}, {7, 9}), makeIntegers({2}, {2, 0})});
  EXPECT_EQ(program.refusal.message, "is undefined for these operands");
  EXPECT_TRUE(program.refusal.isAboutInputs);
}

TEST(Evaluator, RefusesLengthsThatNoOrderHas) {
  Program program(R"(
    #h = #rlayout.layout<order = #rlayout.order<hilbert, grid = [2, 2]>>
    func.func @f(%x: tensor<1x?xf32>) -> tensor<1x?xf32, #h> {
      %y = ringlet.reorder %x : tensor<1x?xf32> to tensor<1x?xf32, #h>
      return %y : tensor<1x?xf32, #h>
    })");
  program.run({makeTensor({1, 3}, {1, 2, 3})});
  EXPECT_NE(program.refusal.message.find("expected a length of 4"),
            std::string::npos)
      << program.refusal.message;
}

TEST(Evaluator, RefusesWhatTakesTooLong) {
  Program program(R"(
    func.func @f(%q: tensor<1x9000x4x2xf32>) -> tensor<1x9000x4x2xf32> {
      %o, %lse = ringlet.attention %q, %q, %q branches [<w = *, r = 1>]
          : (tensor<1x9000x4x2xf32>, tensor<1x9000x4x2xf32>,
             tensor<1x9000x4x2xf32>)
          -> (tensor<1x9000x4x2xf32>, tensor<1x4x9000xf32>)
      return %o : tensor<1x9000x4x2xf32>
    })");
  program.run({Tensor(DType::f64, {1, 9000, 4, 2})});
  EXPECT_NE(program.refusal.message.find("expected at most 2^28 steps"),
            std::string::npos)
      << program.refusal.message;
}

} // namespace
