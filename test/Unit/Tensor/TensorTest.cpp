//===- TensorTest.cpp - Host tensors and views ------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/Tensor.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace ringlet;

namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

TEST(Tensor, SizesAreCheckedForOverflow) {
  EXPECT_EQ(numElements({}), 1);
  EXPECT_EQ(numElements({3, 0, 5}), 0);
  EXPECT_EQ(numElements({-1, 0}), std::nullopt);
  EXPECT_EQ(numElements({kHuge, 2}), std::nullopt);
  // Strides would overflow even though there is no element.
  EXPECT_EQ(numElements({0, kHuge, 2}), std::nullopt);
  EXPECT_EQ(numElements({int64_t{1} << 62}), int64_t{1} << 62);
  EXPECT_EQ(numBytes({int64_t{1} << 62}, DType::f16), std::nullopt);
  EXPECT_EQ(numBytes({int64_t{1} << 61}, DType::f16), int64_t{1} << 62);
}

TEST(Tensor, CreateRefusesWhatCannotBe) {
  std::string error;
  EXPECT_FALSE(Tensor::create(DType::f32, {kHuge, 4}, &error));
  EXPECT_NE(error.find("[9223372036854775807, 4]"), std::string::npos) << error;
  EXPECT_FALSE(Tensor::create(DType::f32, {2, -3}, &error));
  EXPECT_NE(error.find("at least 0"), std::string::npos) << error;
  EXPECT_FALSE(Tensor::create(DType::i1, {kHuge}, &error));
  ASSERT_TRUE(Tensor::create(DType::f32, {0, 7}, &error));
  EXPECT_EQ(Tensor::create(DType::f32, {2, 3}, nullptr)->bytes(), 24);
}

TEST(Tensor, StartsAtZeroAndStoresEveryType) {
  for (int i = 0; i < kNumDTypes; ++i) {
    auto dtype = static_cast<DType>(i);
    Tensor tensor(dtype, {2, 3});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t column = 0; column < 3; ++column)
        EXPECT_EQ(tensor.get({row, column}), 0);
    tensor.set({1, 2}, 1);
    tensor.set({0, 1}, -0.0);
    EXPECT_EQ(tensor.get({1, 2}), 1);
    EXPECT_EQ(tensor.view().getInt({1, 2}), 1);
    EXPECT_EQ(tensor.get({1, 1}), 0);
  }
}

TEST(Tensor, WideIntegersAreExactThroughGetInt) {
  Tensor tensor(DType::i64, {2});
  tensor.as<int64_t>()[0] = kHuge - 1;
  EXPECT_EQ(tensor.view().getInt({0}), kHuge - 1);
  tensor.set({1}, 1e300);
  EXPECT_EQ(tensor.view().getInt({1}), kHuge);
  Tensor floats(DType::f32, {1});
  floats.set({0}, std::nan(""));
  EXPECT_EQ(floats.view().getInt({0}), 0);
  floats.set({0}, -HUGE_VAL);
  EXPECT_EQ(floats.view().getInt({0}), std::numeric_limits<int64_t>::min());
}

TEST(Tensor, CopiesAreDeepAndMovesLeaveTheSourceAlone) {
  Tensor first(DType::f16, {3});
  first.set({1}, 2.5);
  Tensor second = first;
  second.set({1}, 4);
  EXPECT_EQ(first.get({1}), 2.5);
  second = first;
  EXPECT_EQ(second.get({1}), 2.5);
  Tensor third = std::move(second);
  EXPECT_EQ(third.get({1}), 2.5);
  third = Tensor();
  EXPECT_EQ(third.elements(), 0);
}

TEST(Tensor, ViewsHonourStridesOfAnySign) {
  Tensor tensor(DType::f32, {2, 3, 4});
  int64_t count = 0;
  forEachIndex(tensor.shape(), [&](const int64_t *indices) {
    tensor.view().set(indices, static_cast<double>(count++));
  });
  EXPECT_EQ(count, 24);
  TensorView view = tensor.view();
  EXPECT_EQ(view.transposed(0, 2).get({3, 1, 0}), 7);
  EXPECT_EQ(view.slice(1, 2, 2, -2).get({1, 1, 3}), 15);
  TensorView repeated(tensor.data(), DType::f32, {5, 4}, {0, 1});
  EXPECT_EQ(repeated.get({4, 3}), 3);

  Tensor copy = Tensor::copyOf(view.transposed(0, 2), DType::f16);
  EXPECT_EQ(copy.shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(copy.get({3, 1, 0}), 7);
  Tensor same = Tensor::copyOf(view.transposed(0, 2));
  EXPECT_EQ(same.dtype(), DType::f32);
  EXPECT_EQ(same.get({3, 2, 1}), 23);
}

TEST(Tensor, CopyKeepsNaNPayloads) {
  Tensor tensor(DType::f16, {1});
  tensor.as<uint16_t>()[0] = 0x7c01; // A signalling NaN.
  EXPECT_EQ(Tensor::copyOf(tensor.view()).as<uint16_t>()[0], 0x7c01);
}

TEST(Tensor, EmptyShapesVisitNothingAndRankZeroOnce) {
  int visits = 0;
  auto count = [&](const int64_t *) { ++visits; };
  forEachIndex({3, 0, 2}, count);
  EXPECT_EQ(visits, 0);
  forEachIndex({}, count);
  EXPECT_EQ(visits, 1);
  EXPECT_EQ(toString(Shape{}), "[]");
  EXPECT_EQ(toString(Shape{1, 2}), "[1, 2]");
}

} // namespace
