//===- SharedImageTest.cpp - Tiles in shared memory -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/SharedImage.h"

#include <gtest/gtest.h>

#include <set>

using namespace ringlet::cost;

namespace {

TEST(SharedImage, FillsTilesUpTo16RowsAndColumns) {
  SharedImage image = SharedImage::of(17, 60, 2);
  EXPECT_EQ(image.rows, 32);
  EXPECT_EQ(image.columns, 64);
  EXPECT_EQ(image.rowBytes(), 128);
  EXPECT_EQ(image.bytes, 32 * (128 + 16));
  EXPECT_EQ(image.swizzle().rowBytes(), 128);
  EXPECT_EQ(image.swizzle().bytes, 32 * 128);
}

// Pieces of one column in eight neighbouring rows are what matrix instructions
// read at once: they are in different banks either way.
TEST(SharedImage, NeighbouringRowsAreInDifferentBanks) {
  constexpr int64_t piece = 16;
  for (int64_t columns : {64, 96, 128, 192, 256}) {
    SharedImage padded = SharedImage::of(16, columns, 2);
    for (const SharedImage &image : {padded, padded.swizzle()}) {
      if (image.swizzled && image.rowBytes() % SharedImage::rowOfBanks != 0)
        continue;
      for (int64_t column = 0; column < columns * 2 / piece; ++column) {
        std::set<int64_t> banks;
        for (int64_t row = 0; row < 8; ++row) {
          int64_t place = image.swizzled
                              ? column ^ (row % SharedImage::swizzledRows)
                              : column;
          EXPECT_LT(place * piece, image.rowBytes());
          banks.insert((row * image.pitch + place * piece) %
                       SharedImage::rowOfBanks);
        }
        EXPECT_EQ(banks.size(), 8u) << columns << " columns, " << column;
      }
    }
  }
}

TEST(SharedImage, LongRowsAreSwizzledWhereRegistersAreLeft) {
  auto isWorth = [](int64_t columns, double sums) {
    return isWorthSwizzling(SharedImage::of(64, columns, 2), sums, 224);
  };
  EXPECT_TRUE(isWorth(64, 224));
  EXPECT_TRUE(isWorth(128, 224));
  EXPECT_FALSE(isWorth(96, 0));
  EXPECT_TRUE(isWorth(256, 188));
  EXPECT_FALSE(isWorth(256, 208));
}

} // namespace
