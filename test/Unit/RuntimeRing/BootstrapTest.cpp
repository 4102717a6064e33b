//===- BootstrapTest.cpp - Who may join a ring ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <future>

using namespace ringlet::rt;
using namespace ringlet::rt::ring;

namespace {

constexpr char kSecret[] = "known to this test";

/// Rank 0 in a thread of its own; `visit` is called with its port.
std::vector<Status> withRoot(int64_t ranks, double seconds,
                             const std::function<void(uint16_t)> &visit) {
  std::vector<Status> results(1);
  std::promise<uint16_t> bound;
  BootstrapOptions options;
  options.ranks = ranks;
  options.secret = kSecret;
  options.seconds = seconds;
  std::thread root([&] {
    Peers peers;
    results[0] = bootstrap(options, peers,
                           [&](uint16_t port) { bound.set_value(port); });
  });
  visit(bound.get_future().get());
  root.join();
  return results;
}

BootstrapOptions joining(int64_t rank, int64_t ranks, uint16_t port) {
  BootstrapOptions options;
  options.rank = rank;
  options.ranks = ranks;
  options.root.port = port;
  options.secret = kSecret;
  options.seconds = 10;
  return options;
}

TEST(BootstrapTest, KeyedDigest) {
  // RFC 4231, test cases 1, 2 and 6.
  auto hex = [](const Digest &digest) {
    std::string out;
    char two[3];
    for (uint8_t byte : digest) {
      std::snprintf(two, sizeof two, "%02x", byte);
      out += two;
    }
    return out;
  };
  EXPECT_EQ(hex(keyedDigest(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(keyedDigest("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(keyedDigest(
                std::string(131, '\xaa'),
                "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(BootstrapTest, EverybodyLearnsEverybody) {
  std::vector<Peers> peers(3);
  std::vector<Status> root = withRoot(3, 10, [&](uint16_t port) {
    std::thread other(
        [&] { EXPECT_TRUE(bootstrap(joining(2, 3, port), peers[2]).ok()); });
    EXPECT_TRUE(bootstrap(joining(1, 3, port), peers[1]).ok());
    other.join();
  });
  EXPECT_TRUE(root[0].ok()) << root[0].message();
  for (int64_t rank = 0; rank < 3; ++rank) {
    // Where nothing else is said, ranks listen on this machine alone.
    EXPECT_EQ(peers[1].addresses[rank].host, "127.0.0.1");
    EXPECT_EQ(peers[1].addresses[rank].port, peers[2].addresses[rank].port);
  }
}

// Strangers on the port: noise, a wrong first word and then much more, silence,
// a connection closed in the middle, somebody who asks for a page.
TEST(BootstrapTest, StrangersDoNotDisturb) {
  Held before = held();
  std::vector<File> strangers;
  std::vector<Status> root = withRoot(2, 10, [&](uint16_t port) {
    Deadline deadline = after(5);
    for (int i = 0; i < 40; ++i) {
      File stranger;
      ASSERT_TRUE(connectTo({"127.0.0.1", port}, deadline, stranger).ok());
      std::string noise;
      if (i % 4 == 0)
        noise = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
      else if (i % 4 == 1)
        noise = std::string(100000, static_cast<char>(i));
      else if (i % 4 == 2)
        noise = std::string("RLRING01") + std::string(200, '\xff');
      (void)sendAll(stranger, noise.data(), noise.size(), after(0.2)).ok();
      if (i % 5)
        strangers.push_back(std::move(stranger));
    }
    Peers peers;
    Status joined = bootstrap(joining(1, 2, port), peers);
    EXPECT_TRUE(joined.ok()) << joined.message();
  });
  EXPECT_TRUE(root[0].ok()) << root[0].message();
  strangers.clear();
  Held after = held();
  EXPECT_EQ(after.files, before.files);
  EXPECT_EQ(after.threads, before.threads);
}

TEST(BootstrapTest, WithoutTheSecret) {
  std::vector<Status> root = withRoot(2, 1, [&](uint16_t port) {
    BootstrapOptions options = joining(1, 2, port);
    options.secret = "guessed";
    options.seconds = 0.5;
    Peers peers;
    Status refused = bootstrap(options, peers);
    EXPECT_EQ(refused.code(), RL_PEER_ERROR);
    EXPECT_EQ(refused.message(),
              "connection closed, where a proof of the secret was checked");
  });
  EXPECT_EQ(root[0].message(), "ranks 1 of 2 did not come within 1 s");
}

TEST(BootstrapTest, Ids) {
  Held before = held();
  std::string id, other;
  ASSERT_TRUE(makeId("127.0.0.1", id).ok());
  ASSERT_TRUE(makeId("127.0.0.1", other).ok());
  EXPECT_NE(id, other);
  EXPECT_LT(id.size(), size_t(192));
  // Whoever comes first waits for rank 0, which listens already.
  std::vector<Status> joined(3);
  std::vector<std::thread> ranks;
  for (int64_t rank : {2, 1, 0})
    ranks.emplace_back([&, rank] {
      BootstrapOptions options;
      options.rank = rank;
      options.ranks = 3;
      joined[size_t(rank)] = useId(id, options);
      Peers peers;
      if (joined[size_t(rank)].ok())
        joined[size_t(rank)] = bootstrap(options, peers);
    });
  for (std::thread &rank : ranks)
    rank.join();
  for (const Status &status : joined)
    EXPECT_TRUE(status.ok()) << status.message();

  // An id is for one ring, with rank 0 where it was made.
  BootstrapOptions options;
  options.ranks = 2;
  EXPECT_EQ(useId(id, options).message(),
            "expected rank 0 once, and in the process that made its id");
  for (const char *wrong : {"", "ringlet1", "ringlet1 70000 a b", "x 1 a b"})
    EXPECT_EQ(useId(wrong, options).message(),
              "expected an id that rl_ring_make_id has made")
        << wrong;
  EXPECT_TRUE(useId(other, options).ok());
  options.ear.reset();
  EXPECT_EQ(held().files, before.files);
}

// Somebody else who listens there does not know the secret, either.
TEST(BootstrapTest, RootWithoutTheSecret) {
  File listener;
  uint16_t port = 0;
  ASSERT_TRUE(listenOn({"127.0.0.1", 0}, listener, port).ok());
  std::thread impostor([&] {
    File connection;
    Deadline deadline = after(5);
    while (!connection && Clock::now() < deadline)
      connection = acceptFrom(listener);
    std::string hello = "RLRING01" + std::string(32, 'n');
    (void)sendAll(connection, hello.data(), hello.size(), deadline).ok();
    std::string claim(154, '\0');
    (void)receiveAll(connection, claim.data(), claim.size(), deadline).ok();
    std::string answer(32 + 256, '\0');
    (void)sendAll(connection, answer.data(), answer.size(), deadline).ok();
  });
  Peers peers;
  Status refused = bootstrap(joining(1, 2, port), peers);
  impostor.join();
  EXPECT_EQ(refused.message(),
            "expected a rank with the same secret, found another");
}

TEST(BootstrapTest, MissingRanksAreNamed) {
  Status joined;
  std::vector<Status> root = withRoot(5, 0.6, [&](uint16_t port) {
    Peers peers;
    joined = bootstrap(joining(2, 5, port), peers);
  });
  const char *expected = "ranks 1, 3, 4 of 5 did not come within 0.6 s";
  EXPECT_EQ(root[0].message(), expected);
  EXPECT_EQ(root[0].code(), RL_PEER_ERROR);
  EXPECT_EQ(joined.message(), expected);
}

TEST(BootstrapTest, OtherNumberOfRanks) {
  Status joined;
  std::vector<Status> root = withRoot(3, 5, [&](uint16_t port) {
    Peers peers;
    joined = bootstrap(joining(1, 4, port), peers);
  });
  const char *expected =
      "rank 1: expected a ring of 3 ranks, as on rank 0, found one of 4 (G3)";
  EXPECT_EQ(root[0].message(), expected);
  EXPECT_EQ(joined.message(), expected);
}

TEST(BootstrapTest, RankTwice) {
  std::vector<Status> root = withRoot(3, 5, [&](uint16_t port) {
    Peers first, second, third;
    std::thread waits(
        [&] { EXPECT_TRUE(bootstrap(joining(1, 3, port), first).ok()); });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(bootstrap(joining(1, 3, port), second).message(),
              "rank 1: expected it once, found it again");
    EXPECT_TRUE(bootstrap(joining(2, 3, port), third).ok());
    waits.join();
  });
  EXPECT_TRUE(root[0].ok()) << root[0].message();
}

TEST(BootstrapTest, NobodyListens) {
  File listener;
  uint16_t port = 0;
  ASSERT_TRUE(listenOn({"127.0.0.1", 0}, listener, port).ok());
  listener.reset();
  BootstrapOptions options = joining(1, 2, port);
  options.seconds = 0.3;
  Peers peers;
  EXPECT_EQ(bootstrap(options, peers).message(),
            text("rank 0: no connection to 127.0.0.1:", port,
                 ": Connection refused"));
}

// The port is free again once there is a ring, and after a failure.
TEST(BootstrapTest, PortIsFreeAfterwards) {
  uint16_t taken = 0;
  withRoot(2, 0.2, [&](uint16_t port) { taken = port; });
  File listener;
  uint16_t port = 0;
  EXPECT_TRUE(listenOn({"127.0.0.1", taken}, listener, port).ok());
  EXPECT_FALSE(listenOn({"127.0.0.1", taken}, listener, port).ok());
}

TEST(BootstrapTest, Environment) {
  setenv("RANK", "3", 1);
  setenv("WORLD_SIZE", "8", 1);
  setenv("MASTER_ADDR", "10.0.0.1", 1);
  setenv("MASTER_PORT", "29500", 1);
  setenv("RINGLET_RING_SECRET", "s", 1);
  unsetenv("TORCHELASTIC_USE_AGENT_STORE");
  BootstrapOptions options;
  ASSERT_TRUE(optionsFromEnvironment(options).ok());
  EXPECT_EQ(options.rank, 3);
  EXPECT_EQ(options.ranks, 8);
  EXPECT_EQ(options.root.text(), "10.0.0.1:29500");
  EXPECT_EQ(options.secret, "s");
  // torchrun's agent listens on the port itself.
  setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
  ASSERT_TRUE(optionsFromEnvironment(options).ok());
  EXPECT_EQ(options.root.port, 29501);
  setenv("RANK", "8", 1);
  EXPECT_EQ(optionsFromEnvironment(options).message(),
            "expected RANK from 0 to 7, found '8'");
  setenv("RANK", "1x", 1);
  EXPECT_EQ(optionsFromEnvironment(options).message(),
            "expected RANK from 0 to 7, found '1x'");
  unsetenv("RANK");
  EXPECT_EQ(optionsFromEnvironment(options).message(),
            "expected RANK in the environment, found none");
  for (const char *name :
       {"WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "RINGLET_RING_SECRET",
        "TORCHELASTIC_USE_AGENT_STORE"})
    unsetenv(name);
}

TEST(BootstrapTest, Refusals) {
  Peers peers;
  BootstrapOptions options = joining(2, 2, 1);
  EXPECT_EQ(bootstrap(options, peers).message(),
            "expected a rank from 0 to 1, found 2");
  options = joining(1, 2, 0);
  EXPECT_EQ(bootstrap(options, peers).message(),
            "expected the port on which rank 0 listens, found 0");
  options.secret.clear();
  EXPECT_EQ(bootstrap(options, peers).message(),
            "expected a secret that the ranks share, found none: set "
            "RINGLET_RING_SECRET");
}

} // namespace
