//===- BlameTest.cpp - Which rank a failure names ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/src/ring/TcpChannel.h"

#include "gtest/gtest.h"

#include <sys/socket.h>

using namespace ringlet::rt;
using namespace ringlet::rt::ring;

namespace {

TEST(BlameTest, EndOfTheChain) {
  std::vector<Activity> activities = {{0, 1}, {0, 2}, {0, -1}, {0, 3}, {0, 0}};
  auto nobody = [](int64_t) { return false; };
  EXPECT_EQ(blame(0, activities, nobody), 2);
  EXPECT_EQ(blame(4, activities, nobody), 2);
  EXPECT_EQ(blame(2, activities, nobody), 2);
  // A circle has no end.
  activities = {{0, 1}, {0, 0}};
  EXPECT_EQ(blame(1, activities, nobody), 1);
}

TEST(BlameTest, SilentRankEndsTheChain) {
  std::vector<Activity> activities = {{0, 1}, {0, 2}, {0, 0}, {0, 0}, {0, 2}};
  for (int64_t silent : {0, 1, 2})
    for (int64_t first : {0, 1, 2, 3, 4})
      EXPECT_EQ(blame(first, activities,
                      [&](int64_t rank) { return rank == silent; }),
                silent);
}

/// A rank's side channel, with signs of life every so many seconds.
struct Rank {
  Abort abort;
  std::unique_ptr<SideChannel> channel;

  void open(int64_t rank, std::vector<File> control, double interval) {
    TcpChannelOptions options;
    options.interval = interval;
    options.silence = 60;
    Status status = TcpChannel::create(rank, 3, std::move(control), options,
                                       abort, channel);
    ASSERT_TRUE(status.ok()) << status.message();
  }
};

void connect(File &one, File &other) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  one = File(pair[0]);
  other = File(pair[1]);
}

// Rank 1 was stopped when it had said that it waits for rank 0, which waits for
// rank 1 now; rank 2 waits for rank 0.
TEST(BlameTest, StoppedInAWait) {
  const double interval = 0.02;
  std::vector<File> ofRoot(3), ofStopped(3), ofOther(3);
  connect(ofRoot[1], ofStopped[0]);
  connect(ofRoot[2], ofOther[0]);
  Rank root, stopped, other;
  root.open(0, std::move(ofRoot), interval);
  stopped.open(1, std::move(ofStopped), /*interval=*/60);
  other.open(2, std::move(ofOther), interval);
  stopped.channel->report({1, 0});
  root.channel->report({1, 1});
  other.channel->report({1, 0});
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  other.channel->suspect(0, 1, "no message within 3 s");
  for (Rank *rank : {&root, &other})
    EXPECT_EQ(rank->abort.status().message(),
              "rank 1, step 1: no message within 3 s");
}

} // namespace
