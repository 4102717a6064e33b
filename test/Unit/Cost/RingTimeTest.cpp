//===- RingTimeTest.cpp - Predicted times of rings ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/RingTime.h"

#include "gtest/gtest.h"

using namespace ringlet::cost;
using namespace ringlet::ring;

namespace {

Schedule dense(int64_t length, int64_t ranks, int64_t ranksPerHost,
               int64_t slots = 2) {
  Branch branch;
  branch.headEnd = 2;
  Shards shards =
      *Shards::even(Sharding::Contiguous, length, ranks, 1, nullptr);
  return {{oneSequence({branch}, length, length, 2, 1, false), shards, shards},
          ranksPerHost,
          slots};
}

LinkTime linkOf(double bytesPerSecond) {
  return {{{bytesPerSecond, 1}, {2 * bytesPerSecond, 2}}};
}

TEST(RingTimeTest, LinksGoThroughTheirPoints) {
  LinkTime link = {{{10, 2}, {20, 3}, {40, 9}}};
  EXPECT_EQ(link.seconds(5), 2);
  EXPECT_EQ(link.seconds(10), 2);
  EXPECT_EQ(link.seconds(15), 2.5);
  EXPECT_EQ(link.seconds(30), 6);
  EXPECT_EQ(link.seconds(80), 21);
}

// 4 ranks of 100 rows, 2 heads: 20000 scores and 100 pairs a step.
TEST(RingTimeTest, FastLinksAreHidden) {
  RingMachine machine;
  machine.scoresPerSecond = 20000;
  machine.host = linkOf(1000);
  RingTime time = predictRing(dense(400, 4, 4), machine);
  EXPECT_DOUBLE_EQ(time.seconds, 4);
  EXPECT_DOUBLE_EQ(time.oneRankSeconds, 16);
  EXPECT_DOUBLE_EQ(time.efficiency(4), 1);
  EXPECT_DOUBLE_EQ(time.waiting, 0);
  EXPECT_DOUBLE_EQ(time.hostBytes, 300);
  EXPECT_DOUBLE_EQ(time.networkBytes, 0);
  EXPECT_DOUBLE_EQ(time.bufferBytes, 200);
}

// A link of 100 bytes in 2 seconds: a step of 1 second waits for it. The third
// message waits for the buffer of the first one, too, which is free in time.
TEST(RingTimeTest, SlowLinksAreWaitedFor) {
  RingMachine machine;
  machine.scoresPerSecond = 20000;
  machine.host = {{{100, 2}, {200, 4}}};
  RingTime time = predictRing(dense(400, 4, 4), machine);
  // Messages end at 2, 4 and 6 seconds: computations at 1, 3, 5 and 7.
  EXPECT_DOUBLE_EQ(time.seconds, 7);
  EXPECT_DOUBLE_EQ(time.waiting, 3);
  EXPECT_DOUBLE_EQ(time.computing, 4);
  // All at once takes as long on one link.
  EXPECT_DOUBLE_EQ(predictRing(dense(400, 4, 4, 4), machine).seconds, 7);
}

// Two hosts of two: what comes over the network comes once a host.
TEST(RingTimeTest, TwoLevels) {
  RingMachine machine;
  machine.scoresPerSecond = 20000;
  machine.host = machine.network = linkOf(1000);
  RingTime time = predictRing(dense(400, 4, 2), machine);
  EXPECT_DOUBLE_EQ(time.seconds, 4);
  EXPECT_DOUBLE_EQ(time.networkBytes, 100);
  EXPECT_DOUBLE_EQ(time.hostBytes, 200);
  EXPECT_DOUBLE_EQ(time.forwardedBytes, 100);
  // The network has a whole phase, two steps, for a message.
  machine.network = linkOf(50);
  EXPECT_DOUBLE_EQ(predictRing(dense(400, 4, 2), machine).seconds, 4);
  machine.network = linkOf(25);
  EXPECT_DOUBLE_EQ(predictRing(dense(400, 4, 2), machine).seconds, 6);
}

TEST(RingTimeTest, LaunchesCount) {
  RingMachine machine;
  machine.scoresPerSecond = 20000;
  machine.launchSeconds = 0.5;
  EXPECT_DOUBLE_EQ(predictRing(dense(400, 4, 4), machine).seconds, 6);
}

} // namespace
