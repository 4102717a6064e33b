//===- ShadowTest.cpp - Records of accesses -------------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Shadow.h"

#include <gtest/gtest.h>

using namespace ringlet::interpreter;

TEST(Shadow, ConflictsWithinALaunchOnly) {
  Shadow shadow(1000, 1100, 4);
  ASSERT_TRUE(shadow.reserve());
  Stamp a(1, 0), b(1, 7), next(2, 7);
  EXPECT_FALSE(shadow.write(1000, 4, a));
  EXPECT_FALSE(shadow.write(1000, 4, a)) << "a point may write twice";
  EXPECT_FALSE(shadow.read(1000, 4, a)) << "and read what it wrote";
  auto write = shadow.write(1000, 4, b);
  ASSERT_TRUE(write);
  EXPECT_TRUE(write->written);
  EXPECT_EQ(write->point, 0);
  EXPECT_EQ(shadow.read(1000, 4, a), 7);
  EXPECT_FALSE(shadow.read(1000, 4, next));
  EXPECT_FALSE(shadow.write(1000, 4, next));
}

TEST(Shadow, ReadersConflictWithALaterWriter) {
  Shadow shadow(1000, 1100, 4);
  ASSERT_TRUE(shadow.reserve());
  Stamp a(3, 1), b(3, 2), c(3, 3);
  EXPECT_FALSE(shadow.read(1004, 4, a));
  EXPECT_FALSE(shadow.write(1004, 4, a)) << "its own read is no conflict";
  EXPECT_FALSE(shadow.read(1008, 4, a));
  auto write = shadow.write(1008, 4, b);
  ASSERT_TRUE(write);
  EXPECT_FALSE(write->written);
  EXPECT_EQ(write->point, 1);
  EXPECT_FALSE(shadow.read(1012, 4, a));
  EXPECT_FALSE(shadow.read(1012, 4, b)) << "readers do not conflict";
  write = shadow.write(1012, 4, a);
  ASSERT_TRUE(write) << "a is the first reader, not the only one";
  EXPECT_EQ(write->point, -1);
  EXPECT_FALSE(shadow.write(1016, 4, c));
}

TEST(Shadow, ElementsOfDifferentSizesOverlap) {
  Shadow shadow(1000, 1100, 2);
  ASSERT_TRUE(shadow.reserve());
  Stamp a(1, 1), b(1, 2);
  EXPECT_FALSE(shadow.write(1004, 4, a));
  EXPECT_TRUE(shadow.read(1006, 2, b));
  EXPECT_FALSE(shadow.read(1008, 2, b));
  // The last byte has a record, too.
  EXPECT_FALSE(shadow.write(1098, 2, a));
  EXPECT_TRUE(shadow.write(1098, 2, b));
}

TEST(Shadow, PointsAreKeptWhole) {
  Shadow shadow(0, 16, 4);
  ASSERT_TRUE(shadow.reserve());
  EXPECT_FALSE(shadow.write(0, 4, Stamp(1000, Stamp::kMaxPoints - 1)));
  EXPECT_EQ(shadow.read(0, 4, Stamp(1000, 0)), Stamp::kMaxPoints - 1);
}
