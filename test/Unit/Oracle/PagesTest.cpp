//===- PagesTest.cpp - Keys and values that lie in pages --------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Oracle/Pages.h"

#include <gtest/gtest.h>

#include <limits>

namespace ringlet::oracle {
namespace {

/// Elements are 100 * page + 10 * row + head.
Tensor makePool(int64_t pages, int64_t rows, int64_t heads) {
  Tensor pool(DType::f32, {pages, rows, heads, 1});
  forEachIndex(pool.shape(), [&](const int64_t *at) {
    pool.view().set({at[0], at[1], at[2], 0},
                    double(100 * at[0] + 10 * at[1] + at[2]));
  });
  return pool;
}

Tensor makeTable(Shape shape, const std::vector<int32_t> &numbers) {
  Tensor table(DType::i32, shape);
  std::copy(numbers.begin(), numbers.end(), table.as<int32_t>());
  return table;
}

} // namespace

TEST(Pages, S4_RowsFollowTheTable) {
  Tensor pool = makePool(3, 2, 2), table = makeTable({2, 2}, {2, 0, 1, 1});
  std::string error;
  auto rows = gatherPages(std::as_const(pool).view(),
                          std::as_const(table).view(), &error);
  ASSERT_TRUE(rows) << error;
  EXPECT_EQ(rows->shape(), (Shape{2, 4, 2, 1}));
  const double expected[2][4] = {{200, 210, 0, 10}, {100, 110, 100, 110}};
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t u = 0; u < 4; ++u)
      for (int64_t h = 0; h < 2; ++h)
        EXPECT_EQ(rows->view().get({b, u, h, 0}), expected[b][u] + double(h));
}

TEST(Pages, S4_NumbersOfNoPageCountAsTheNearest) {
  using Limits = std::numeric_limits<int32_t>;
  Tensor pool = makePool(3, 1, 1);
  Tensor table = makeTable({1, 4}, {-1, 3, Limits::min(), Limits::max()});
  std::string error;
  auto rows = gatherPages(std::as_const(pool).view(),
                          std::as_const(table).view(), &error);
  ASSERT_TRUE(rows) << error;
  const double expected[] = {0, 200, 0, 200};
  for (int64_t u = 0; u < 4; ++u)
    EXPECT_EQ(rows->view().get({0, u, 0, 0}), expected[u]);
}

TEST(Pages, S4_AnEmptyPoolHasRowsForNobody) {
  Tensor pool(DType::f32, {0, 4, 1, 1}), table(DType::i32, {2, 1});
  std::string error;
  EXPECT_FALSE(gatherPages(std::as_const(pool).view(),
                           std::as_const(table).view(), &error));
  EXPECT_EQ(error, "expected at least one page where sequences have some (S4), "
                   "found none");
  Tensor none(DType::i32, {2, 0});
  auto rows = gatherPages(std::as_const(pool).view(),
                          std::as_const(none).view(), &error);
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->shape(), (Shape{2, 0, 1, 1}));
}

TEST(Pages, S4_StartsSayHowManyKeys) {
  Tensor starts(DType::i64, {6});
  const int64_t numbers[] = {-5, 3,  3,
                             20, 19, std::numeric_limits<int64_t>::max()};
  std::copy(std::begin(numbers), std::end(numbers), starts.as<int64_t>());
  Tensor lengths = countKeysInPages(std::as_const(starts).view(), 8);
  EXPECT_EQ(std::vector<int64_t>(lengths.as<int64_t>(),
                                 lengths.as<int64_t>() + lengths.elements()),
            (std::vector<int64_t>{3, 0, 8, 0, 8}));
}

} // namespace ringlet::oracle
