//===- ConformanceTest.cpp - What every transport does ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include "test/Unit/Ring/RandomRing.h"

#include "gtest/gtest.h"

#include <random>

using namespace ringlet;
using namespace ringlet::rt;
using namespace ringlet::rt::ring;

namespace {

class ConformanceTest : public testing::TestWithParam<Kind> {
protected:
  void SetUp() override {
    Status status = contextOf(GetParam(), context);
    ASSERT_TRUE(status.ok()) << status.message();
    before = held();
  }
  void TearDown() override {
    Held now = held();
    EXPECT_EQ(now.files, before.files);
    EXPECT_EQ(now.threads, before.threads);
  }

  std::vector<Status> run(int64_t ranks,
                          const std::function<Status(Ring &ring)> &body,
                          double waitSeconds = 20) {
    RankOptions options;
    options.ring.waitSeconds = waitSeconds;
    return runRanks(GetParam(), ranks, options, body);
  }

  /// Every rank ended with this text.
  static void expectAll(const std::vector<Status> &results, rl_status code,
                        const std::string &text) {
    for (size_t rank = 0; rank < results.size(); ++rank) {
      EXPECT_EQ(results[rank].code(), code)
          << rank << ": " << results[rank].message();
      EXPECT_NE(results[rank].message().find(text), std::string::npos)
          << rank << ": " << results[rank].message();
    }
  }

  Status begin(Ring &ring, const Facts &facts) {
    return ring.begin(facts, context, Ring::kQueues);
  }

  /// A message around the ring, after `delay(rank)` seconds.
  Status passOn(Ring &ring, const std::function<double(int64_t)> &delay);

private:
  std::shared_ptr<Context> context;
  Held before;
};

INSTANTIATE_TEST_SUITE_P(Transports, ConformanceTest,
                         testing::Values(Kind::InProcess, Kind::Socket,
                                         Kind::P2p, Kind::Copies, Kind::Nccl),
                         [](const auto &info) { return nameOf(info.param); });

std::vector<char> pattern(int64_t from, int64_t to, size_t size) {
  std::vector<char> bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] =
        static_cast<char>(from * 31 + to * 7 + static_cast<int64_t>(i) * 13);
  return bytes;
}

// Everybody to everybody, of all sizes, several at a time: more than a socket
// holds, so that each rank must send and receive at once.
TEST_P(ConformanceTest, Messages) {
  const size_t sizes[] = {0, 1, 4096, 3u << 20};
  expectAll(
      run(4,
          [&](Ring &ring) {
            RL_TRY(begin(ring, {{"test", "messages"}}));
            for (int64_t step = 0; step < 3; ++step) {
              std::vector<std::vector<char>> out, in;
              std::vector<size_t> expected;
              Exchange exchange;
              exchange.step = step;
              for (int64_t peer = 0; peer < ring.ranks(); ++peer)
                for (int64_t part = 0; part < 4; ++part) {
                  if (peer == ring.rank())
                    continue;
                  out.push_back(pattern(ring.rank(), peer, sizes[part]));
                  in.emplace_back(sizes[part]);
                }
              size_t at = 0;
              for (int64_t peer = 0; peer < ring.ranks(); ++peer)
                for (int64_t part = 0; part < 4; ++part) {
                  if (peer == ring.rank())
                    continue;
                  // Ends list parts in opposite orders.
                  exchange.sends.push_back(
                      {peer, {0, step, part}, out[at].data(), out[at].size()});
                  exchange.receives.insert(
                      exchange.receives.begin(),
                      {peer, {0, step, part}, in[at].data(), in[at].size()});
                  ++at;
                }
              RL_TRY(ring.wait(ring.post(0, exchange)));
              at = 0;
              for (int64_t peer = 0; peer < ring.ranks(); ++peer)
                for (int64_t part = 0; part < 4; ++part)
                  if (peer != ring.rank() &&
                      in[at++] != pattern(peer, ring.rank(), sizes[part]))
                    return failure(RL_INTERNAL_ERROR, "from ", peer, " part ",
                                   part);
            }
            return ring.finish();
          }),
      RL_OK, "");
}

// Keys of random attentions, on one and two levels, several calls of one plan.
TEST_P(ConformanceTest, KeysOfSchedules) {
  ringlet::ring::Random random(41);
  for (int i = 0; i < 60; ++i) {
    int64_t ranks = ringlet::ring::draw(random, 1, 6);
    int64_t perHost = ranks % 2 == 0 && i % 2 ? 2 : i % 3 ? ranks : 1;
    ringlet::ring::Schedule schedule = {
        ringlet::ring::drawSharded(random, ranks, 200), perHost,
        ringlet::ring::draw(random, 2, ranks + 1)};
    SCOPED_TRACE(describe(schedule.sharded));
    expectAll(run(ranks,
                  [&](Ring &ring) {
                    KeyPlan plan(schedule, ring.rank(), {8, 16});
                    for (int64_t call = 0; call < 3; ++call) {
                      RL_TRY(begin(ring, {{"shape", std::to_string(i)}}));
                      RL_TRY(streamKeys(ring, plan, schedule, call));
                    }
                    return Status();
                  }),
              RL_OK, "");
    if (HasFailure())
      return;
  }
}

// A shape that differs is refused before anything is sent, by name, on all
// ranks, and the ring goes on.
TEST_P(ConformanceTest, OtherShape) {
  std::vector<Status> later(3);
  expectAll(run(3,
                [&](Ring &ring) {
                  std::string rows = ring.rank() == 2 ? "4095" : "4096";
                  Status refused = begin(
                      ring, {{"artefact", "a1b2"}, {"rows of query", rows}});
                  later[ring.rank()] = begin(ring, {{"artefact", "a1b2"}});
                  return refused;
                }),
            RL_INVALID_ARGUMENT,
            "rank 2: expected rows of query 4096, found 4095, unlike rank 0");
  expectAll(later, RL_OK, "");
}

TEST_P(ConformanceTest, OtherArtefactAndOrderOfCalls) {
  expectAll(run(2,
                [&](Ring &ring) {
                  const char *first = ring.rank() == 1 ? "b" : "a";
                  return begin(ring, {{"artefact", first}});
                }),
            RL_INVALID_ARGUMENT,
            "rank 1: expected artefact a, found b, unlike rank 0");
}

// Calls that were agreed on before are not compared again; one in another order
// is found by its first message.
TEST_P(ConformanceTest, OrderOfKnownCalls) {
  std::vector<Status> results = run(
      2,
      [&](Ring &ring) {
        RL_TRY(begin(ring, {{"artefact", "a"}}));
        RL_TRY(begin(ring, {{"artefact", "b"}}));
        RL_TRY(begin(ring, {{"artefact", ring.rank() ? "a" : "b"}}));
        uint64_t out = 1, in = 0;
        Exchange exchange;
        exchange.sends.push_back({1 - ring.rank(), {}, &out, sizeof out});
        exchange.receives.push_back({1 - ring.rank(), {}, &in, sizeof in});
        return ring.wait(ring.post(0, exchange));
      },
      2);
  expectAll(results, RL_PEER_ERROR,
            ": expected a message for step 0 of call 3, kind ");
}

// One rank never begins the call.
TEST_P(ConformanceTest, CallNotBegun) {
  std::vector<Status> results = run(
      3,
      [&](Ring &ring) {
        if (ring.rank() != 1)
          return begin(ring, {{"artefact", "a"}});
        while (!ring.failure())
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return ring.finish();
      },
      0.5);
  expectAll(results, RL_PEER_ERROR,
            "rank 1: did not begin a call that others have begun");
}

Status ConformanceTest::passOn(Ring &ring,
                               const std::function<double(int64_t)> &delay) {
  RL_TRY(begin(ring, {{"test", "pass"}}));
  // Sends end once they are on their way: a late message is felt a rank further
  // in each step.
  for (int64_t step = 0; step < 12; ++step) {
    ring.computes(step);
    if (step == 2)
      std::this_thread::sleep_for(
          std::chrono::duration<double>(delay(ring.rank())));
    uint64_t out = 1, in = 0;
    Exchange exchange;
    exchange.step = step;
    exchange.sends.push_back(
        {(ring.rank() + 1) % ring.ranks(), {0, step, 0}, &out, sizeof out});
    exchange.receives.push_back(
        {(ring.rank() + ring.ranks() - 1) % ring.ranks(),
         {0, step, 0},
         &in,
         sizeof in});
    RL_TRY(ring.wait(ring.post(0, exchange)));
  }
  return ring.finish();
}

// The slow rank is named, also by those who wait for ranks that wait for it.
TEST_P(ConformanceTest, SlowRank) {
  Deadline begin = Clock::now();
  expectAll(run(
                5,
                [&](Ring &ring) {
                  return passOn(ring,
                                [](int64_t rank) { return rank == 3 ? 3 : 0; });
                },
                1),
            RL_PEER_ERROR, "rank 3, step 2: no message within 1 s");
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(1 + 5));
}

// A slow rank that is fast enough is none.
TEST_P(ConformanceTest, SlowButInTime) {
  expectAll(run(
                3,
                [&](Ring &ring) {
                  return passOn(
                      ring, [](int64_t rank) { return rank == 1 ? 0.7 : 0; });
                },
                10),
            RL_OK, "");
}

// A rank that cannot go on says why, and all others say so, too.
TEST_P(ConformanceTest, RankGivesUp) {
  expectAll(run(4,
                [&](Ring &ring) {
                  RL_TRY(begin(ring, {{"test", "give up"}}));
                  if (ring.rank() == 2) {
                    ring.fail(5, "out of memory");
                    return ring.finish();
                  }
                  uint64_t in = 0;
                  Exchange exchange;
                  exchange.receives.push_back({2, {0, 0, 0}, &in, sizeof in});
                  return ring.wait(ring.post(0, exchange));
                }),
            RL_PEER_ERROR, "rank 2, step 5: out of memory");
}

// All at once, and once more while the ring ends.
TEST_P(ConformanceTest, AbortDuringAbort) {
  std::vector<Status> results = run(4, [&](Ring &ring) {
    RL_TRY(begin(ring, {{"test", "abort"}}));
    for (int i = 0; i < 3; ++i)
      ring.fail(i, "gives up");
    Status first = ring.finish();
    ring.fail(9, "gives up again");
    EXPECT_EQ(ring.finish().message(), first.message());
    EXPECT_EQ(begin(ring, {{"test", "after"}}).message(), first.message());
    return first;
  });
  expectAll(results, RL_PEER_ERROR, "gives up");
}

// Who goes while others need it is named.
TEST_P(ConformanceTest, RankLeaves) {
  std::vector<Status> results = run(
      3,
      [&](Ring &ring) {
        RL_TRY(begin(ring, {{"test", "leave"}}));
        uint64_t in = 0;
        Exchange exchange;
        exchange.step = 1;
        exchange.receives.push_back({1, {0, 0, 0}, &in, sizeof in});
        if (ring.rank() == 1)
          return Status();
        return ring.wait(ring.post(0, exchange));
      },
      1);
  for (int64_t rank : {0, 2}) {
    EXPECT_EQ(results[rank].code(), RL_PEER_ERROR);
    EXPECT_EQ(results[rank].message().find("rank 1, step 1: "), 0u)
        << results[rank].message();
  }
}

TEST_P(ConformanceTest, MessageOfAnotherSize) {
  std::vector<Status> results = run(2, [&](Ring &ring) {
    RL_TRY(begin(ring, {{"test", "size"}}));
    char bytes[16] = {};
    Exchange exchange;
    exchange.step = 7;
    if (ring.rank() == 0)
      exchange.sends.push_back({1, {0, 7, 0}, bytes, 16});
    else
      exchange.receives.push_back({0, {0, 7, 0}, bytes, 8});
    RL_TRY(ring.wait(ring.post(0, exchange)));
    while (!ring.failure())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return ring.finish();
  });
  expectAll(results, RL_PEER_ERROR,
            "rank 0, step 7: expected a message of 8 bytes, found 16");
}

// The last exchanges are kept, for those who ask what a rank was doing.
TEST_P(ConformanceTest, RecordsOfExchanges) {
  expectAll(run(2,
                [&](Ring &ring) {
                  RL_TRY(begin(ring, {{"test", "records"}}));
                  for (int64_t step = 0; step < 140; ++step) {
                    char out = 1, in[3] = {};
                    Exchange exchange;
                    exchange.step = step;
                    exchange.sends.push_back(
                        {1 - ring.rank(), {0, step, 0}, &out, 1});
                    exchange.receives.push_back(
                        {1 - ring.rank(), {0, step, 0}, in, 1});
                    RL_TRY(ring.wait(ring.post(1, exchange)));
                  }
                  std::vector<Record> records = ring.records();
                  EXPECT_EQ(records.size(), Ring::kRecords);
                  EXPECT_EQ(records.back().step, 139);
                  EXPECT_EQ(records.back().queue, 1);
                  EXPECT_EQ(records.back().received, 1u);
                  EXPECT_TRUE(records.back().complete);
                  return ring.finish();
                }),
            RL_OK, "");
}

} // namespace
