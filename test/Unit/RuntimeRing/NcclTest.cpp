//===- NcclTest.cpp - What a ring makes of libnccl ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Over FakeNccl: what goes wrong in the library, whose communicator is whose,
// and libraries that are none. What a transport does is in ConformanceTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "FakeNccl.h"
#include "Ranks.h"

#include "runtime/src/cuda/Launch.h"
#include "runtime/src/ring/Nccl.h"

#include "gtest/gtest.h"

#include <dlfcn.h>

using namespace ringlet;
using namespace ringlet::rt;
using namespace ringlet::rt::ring;

namespace {

class NcclTest : public testing::Test {
protected:
  void SetUp() override {
    if (std::getenv("RINGLET_TEST_GPU"))
      GTEST_SKIP() << "the library is a real one";
    ASSERT_TRUE(contextOf(Kind::Nccl, context).ok());
    library = dlopen(RINGLET_TEST_FAKE_NCCL, RTLD_NOW);
    ASSERT_TRUE(library) << dlerror();
    fake =
        reinterpret_cast<test::FakeNccl *(*)()>(dlsym(library, "fakeNccl"))();
    made = fake->made;
    destroyed = fake->destroyed;
    aborted = fake->aborted;
  }
  void TearDown() override {
    if (!library)
      return;
    fake->failingRank = -1;
    fake->hangs = false;
    // None is left, none has ended twice.
    EXPECT_EQ(fake->made - made,
              fake->destroyed - destroyed + fake->aborted - aborted);
    dlclose(library);
  }

  /// Groups of rank 1 fail from step `failsAt` on.
  std::vector<Status> run(const RankOptions &options, double failsAt = -1) {
    return runRanks(Kind::Nccl, 3, options, [&](Ring &ring) -> Status {
      RL_TRY(ring.begin({{"test", "nccl"}}, context));
      for (int64_t step = 0; step < 4; ++step) {
        if (ring.rank() == 1 && step == failsAt)
          fake->failingRank = 1;
        uint64_t out = 7, in = 0;
        Exchange exchange;
        exchange.step = step;
        exchange.sends.push_back(
            {(ring.rank() + 1) % 3, {0, step, 0}, &out, sizeof out});
        exchange.receives.push_back(
            {(ring.rank() + 2) % 3, {0, step, 0}, &in, sizeof in});
        RL_TRY(ring.wait(ring.post(0, exchange)));
        EXPECT_EQ(in, 7u);
      }
      return ring.finish();
    });
  }

  std::shared_ptr<Context> context;
  void *library = nullptr;
  test::FakeNccl *fake = nullptr;
  int made = 0, destroyed = 0, aborted = 0;
};

TEST_F(NcclTest, OwnCommunicators) {
  for (const Status &status : run({}))
    EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(fake->made - made, 3);
  EXPECT_EQ(fake->destroyed - destroyed, 3);
}

// Kernels whose blocks stay leave messages multiprocessors to begin on.
TEST(LaunchTest, SparedMultiprocessors) {
  cuda::Kernel kernel;
  kernel.blocksPerMultiprocessor = 2;
  kernel.multiprocessors = 132;
  auto blocks = [&](int64_t items, uint32_t spared) {
    LaunchCall call = {};
    call.kernel = &kernel;
    call.items = items;
    call.spared = spared;
    cuda::KernelStart start;
    EXPECT_TRUE(start.set(cuda::Api(), call).ok());
    return start.node().gridX;
  };
  EXPECT_EQ(blocks(10000, 0), 264u);
  EXPECT_EQ(blocks(10000, 4), 256u);
  EXPECT_EQ(blocks(10000, 132), 2u);
  EXPECT_EQ(blocks(10000, 200), 2u);
  EXPECT_EQ(blocks(255, 4), 255u);
  // Where each item is a block, they end soon enough.
  kernel.blocksPerMultiprocessor = 0;
  EXPECT_EQ(blocks(10000, 4), 10000u);
}

// An error of the library ends the ring on all ranks, in its words.
TEST_F(NcclTest, ErrorOfTheLibrary) {
  RankOptions options;
  options.ring.waitSeconds = 5;
  for (const Status &status : run(options, /*failsAt=*/2)) {
    EXPECT_EQ(status.code(), RL_PEER_ERROR);
    EXPECT_EQ(status.message(), "rank 1, step 2: nccl cannot go on: a fake "
                                "failure (3), as planned");
  }
  EXPECT_EQ(fake->aborted - aborted, 3);
}

// Messages that never arrive end by the deadline.
TEST_F(NcclTest, NothingArrives) {
  RankOptions options;
  options.ring.waitSeconds = 1;
  fake->hangs = true;
  Deadline begin = Clock::now();
  for (const Status &status : run(options)) {
    EXPECT_EQ(status.code(), RL_PEER_ERROR);
    EXPECT_NE(status.message().find("step 0: no message within 1 s"),
              std::string::npos)
        << status.message();
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1 + 5));
}

// A communicator of the user's is split and, also after a failure, as it was.
TEST_F(NcclTest, CommunicatorOfTheUser) {
  const NcclApi *api = nullptr;
  ASSERT_TRUE(NcclApi::get(api).ok());
  NcclId id;
  ASSERT_EQ(api->uniqueId(&id), nccl::Success);
  std::vector<NcclHandle> users(3);
  for (int rank = 0; rank < 3; ++rank) {
    NcclConfig config;
    config.blocking = 0;
    ASSERT_EQ(api->initRank(&users[rank], 3, id, rank, &config),
              nccl::InProgress);
  }
  for (double failsAt : {-1., 1.}) {
    RankOptions options;
    options.ring.waitSeconds = 5;
    options.communicatorOf = [&](int64_t rank) { return users[rank]; };
    for (const Status &status : run(options, failsAt))
      EXPECT_EQ(status.ok(), failsAt < 0) << status.message();
    fake->failingRank = -1;
    EXPECT_EQ(fake->made - made, failsAt < 0 ? 6 : 9);
  }
  for (NcclHandle user : users)
    api->destroy(user);
}

// That of other ranks is refused on all of them, by the rank's number.
TEST_F(NcclTest, CommunicatorOfOtherRanks) {
  const NcclApi *api = nullptr;
  ASSERT_TRUE(NcclApi::get(api).ok());
  NcclId id;
  ASSERT_EQ(api->uniqueId(&id), nccl::Success);
  NcclConfig config;
  config.blocking = 0;
  NcclHandle user = nullptr;
  ASSERT_EQ(api->initRank(&user, 1, id, 0, &config), nccl::InProgress);
  RankOptions options;
  options.communicatorOf = [&](int64_t) { return user; };
  for (const Status &status : run(options))
    EXPECT_EQ(status.message(),
              "rank 0: expected a communicator with 3 ranks, found 1");
  api->destroy(user);
}

TEST_F(NcclTest, NoLibrary) {
  NcclApi api;
  EXPECT_NE(NcclApi::load(dlopen(nullptr, RTLD_NOW), "this", api)
                .message()
                .find("'this' is no NCCL"),
            std::string::npos);
  setenv("RINGLET_FAKE_NCCL_VERSION", "21605", 1);
  EXPECT_EQ(NcclApi::load(library, "old", api).message(),
            "expected NCCL 2.18.0 or later of version 2, 'old' is 2.16.5");
  unsetenv("RINGLET_FAKE_NCCL_VERSION");
}

} // namespace
