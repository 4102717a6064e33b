//===- ScheduleTest.cpp - Every message meets its receiver ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A machine that runs the schedules of all ranks, as strictly as one may: both
// ends of a message must be there before it starts, messages of a queue start
// in order, and buffers hold pairs of a key head and a row, so that what is
// computed is known. That nothing waits for ever is that every node of the
// graph runs.
//
//===----------------------------------------------------------------------===//

#include "RandomRing.h"

#include "ringlet/abi/ring/Schedule.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace ringlet::ring;

namespace {

using Pair = std::pair<int64_t, int64_t>;
/// What a buffer holds: of gradients, how often each reader's is in the sum.
using Content = std::map<Pair, std::map<int64_t, int>>;

class Machine {
public:
  Machine(const Schedule &schedule, Direction direction)
      : schedule(schedule), direction(direction), memory(schedule.ranks()) {
    for (int64_t rank = 0; rank < schedule.ranks(); ++rank)
      build(rank);
    join();
  }

  void run() {
    std::vector<size_t> ready;
    for (size_t i = 0; i < nodes.size(); ++i)
      if (nodes[i].waits == 0)
        ready.push_back(i);
    size_t done = 0;
    while (!ready.empty()) {
      size_t at = ready.back();
      ready.pop_back();
      ++done;
      perform(nodes[at]);
      for (size_t next : nodes[at].next)
        if (--nodes[next].waits == 0)
          ready.push_back(next);
    }
    EXPECT_EQ(done, nodes.size()) << "some wait for each other";
  }

  /// By reader and owner, the pairs that were there to compute with.
  std::map<Pair, std::set<Pair>> computed;
  /// By receiver and sender.
  std::map<Pair, int64_t> received;
  std::vector<std::map<Buffer, Content>> &buffers() { return memory; }

private:
  enum class Role { Computation, Start, Message, End };
  struct Node {
    Role role;
    int64_t rank = 0;
    Action action;
    size_t receiver = 0;
    std::vector<size_t> next;
    int waits = 0;
  };
  /// Who uses a buffer of a rank: the last writer, and readers since.
  struct Uses {
    std::vector<size_t> writers, readers;
  };
  using Key = std::tuple<int64_t, int64_t, int64_t, bool>;
  struct Ends {
    int sends = 0, receives = 0;
    Node send, receive;
    std::vector<size_t> starts, ends;
  };

  size_t create(Role role, int64_t rank, Action action = {}) {
    nodes.push_back({role, rank, std::move(action), 0, {}, 0});
    return nodes.size() - 1;
  }
  void order(size_t before, size_t after) {
    nodes[before].next.push_back(after);
    ++nodes[after].waits;
  }
  /// `begin` waits until the buffer is free or filled; others wait for `end`.
  void use(std::map<Buffer, Uses> &uses, Buffer buffer, bool writes,
           size_t begin, size_t end) {
    Uses &of = uses[buffer];
    for (size_t writer : of.writers)
      if (writer != end)
        order(writer, begin);
    if (!writes) {
      of.readers.push_back(end);
      return;
    }
    for (size_t reader : of.readers)
      if (reader != end)
        order(reader, begin);
    of = {{end}, {}};
  }

  void build(int64_t rank) {
    std::map<Buffer, Uses> uses;
    std::map<Level, size_t> queues;
    std::optional<size_t> computation;
    for (int64_t step = 0; step < countSteps(schedule, direction); ++step) {
      std::map<Level, std::pair<size_t, size_t>> groups;
      for (Action &action : actionsAt(schedule, rank, step, direction)) {
        if (!action.isMessage()) {
          size_t node = create(Role::Computation, rank, action);
          if (computation)
            order(*computation, node);
          computation = node;
          if (action.kind != Action::Kind::Clear)
            use(uses, action.source, false, node, node);
          if (action.gradients)
            use(uses, action.target, true, node, node);
          continue;
        }
        Level level = action.level;
        if (!groups.count(level)) {
          size_t start = create(Role::Start, rank);
          size_t end = create(Role::End, rank);
          order(start, end);
          if (queues.count(level))
            order(queues[level], start);
          queues[level] = end;
          groups[level] = {start, end};
        }
        auto [start, end] = groups[level];
        bool sends = action.kind == Action::Kind::Send;
        use(uses, sends ? action.source : action.target, !sends, start, end);
        Ends &ends =
            messages[Key(sends ? rank : action.peer, sends ? action.peer : rank,
                         action.use, action.gradients)];
        ++(sends ? ends.sends : ends.receives);
        (sends ? ends.send : ends.receive).action = action;
        ends.starts.push_back(start);
        ends.ends.push_back(end);
      }
    }
  }

  void join() {
    for (auto &[key, ends] : messages) {
      auto [from, to, step, gradients] = key;
      EXPECT_EQ(ends.sends, 1) << from << " to " << to << " step " << step;
      EXPECT_EQ(ends.receives, 1) << from << " to " << to << " step " << step;
      const Action &send = ends.send.action, &receive = ends.receive.action;
      EXPECT_EQ(send.owner, receive.owner);
      EXPECT_EQ(send.level, receive.level);
      EXPECT_EQ(pairsIn(send.parts, schedule.sharded.keys, send.owner),
                pairsIn(receive.parts, schedule.sharded.keys, send.owner));
      bool sameHost =
          from / schedule.ranksPerHost == to / schedule.ranksPerHost;
      EXPECT_EQ(send.level, sameHost ? Level::Host : Level::Network);
      received[{to, from}] += pairsOf(send.parts);
      size_t node = create(Role::Message, from, send);
      nodes[node].receiver = to;
      nodes[node].action.target = receive.target;
      for (size_t start : ends.starts)
        order(start, node);
      for (size_t end : ends.ends)
        order(node, end);
    }
  }

  std::set<Pair> pairs(const Action &action) const {
    return pairsIn(action.parts, schedule.sharded.keys, action.owner);
  }

  void perform(const Node &node) {
    const Action &action = node.action;
    auto &own = memory[node.rank];
    auto copyTo = [&](Content &target) {
      for (Pair pair : pairs(action)) {
        if (!action.gradients) {
          if (action.source.place != Place::OwnKeys) {
            EXPECT_TRUE(own[action.source].count(pair));
          }
          target[pair];
          continue;
        }
        for (auto [reader, count] : own[action.source][pair])
          target[pair][reader] += count;
      }
    };
    if (node.role == Role::Message) {
      Content arrived;
      copyTo(arrived);
      memory[node.receiver][action.target] = arrived;
    } else if (node.role == Role::Computation) {
      if (action.kind == Action::Kind::Clear)
        own[action.target].clear();
      else if (action.kind == Action::Kind::Accumulate)
        copyTo(own[action.target]);
      else
        compute(node.rank, action, own);
    }
  }

  void compute(int64_t rank, const Action &action,
               std::map<Buffer, Content> &own) {
    EXPECT_EQ(action.owner, ownerAt(schedule, rank, action.use));
    EXPECT_EQ(rank, readerAt(schedule, action.owner, action.use));
    if (action.owner == rank)
      return;
    for (Pair pair : pairs(action)) {
      EXPECT_TRUE(own[action.source].count(pair));
      EXPECT_TRUE((computed[{rank, action.owner}].insert(pair).second));
      if (action.gradients)
        ++own[action.target][pair][rank];
    }
  }

  const Schedule &schedule;
  Direction direction;
  std::vector<Node> nodes;
  std::map<Key, Ends> messages;
  std::vector<std::map<Buffer, Content>> memory;
};

/// What `readers` see of `owner`, but for itself.
std::set<Pair> seenBy(const Seen &seen, int64_t first, int64_t count,
                      int64_t owner) {
  std::set<Pair> result;
  for (int64_t reader = first; reader < first + count; ++reader)
    if (reader != owner)
      result.insert(seen.pairs[reader][owner].begin(),
                    seen.pairs[reader][owner].end());
  return result;
}

/// Messages are those of the lower bound: within the host of an owner what each
/// reader sees, to another host what all of its readers see.
void expectLowerBound(const Schedule &schedule, const Seen &seen,
                      std::map<Pair, int64_t> &received) {
  int64_t turns = schedule.ranksPerHost;
  for (int64_t reader = 0; reader < schedule.ranks(); ++reader) {
    int64_t host = reader / turns, direct = 0, forwarded = 0, staged = 0;
    for (int64_t owner = 0; owner < schedule.ranks(); ++owner) {
      if (owner == reader)
        continue;
      int64_t own = static_cast<int64_t>(seen.pairs[reader][owner].size());
      if (owner / turns == host)
        direct += own;
      else if (owner % turns != reader % turns)
        forwarded += own;
      else {
        int64_t all = static_cast<int64_t>(
            seenBy(seen, host * turns, turns, owner).size());
        EXPECT_EQ((received[{reader, owner}]), all);
        direct += all;
        staged += all - own;
      }
    }
    Traffic traffic = trafficOf(schedule, reader);
    EXPECT_EQ(traffic.direct, direct);
    EXPECT_EQ(traffic.forwarded, forwarded);
    EXPECT_EQ(traffic.staged, staged);
    int64_t sum = 0;
    for (int64_t sender = 0; sender < schedule.ranks(); ++sender)
      sum += received[{reader, sender}];
    EXPECT_EQ(sum, direct + forwarded);
  }
}

void expectProved(const Schedule &schedule) {
  std::string error;
  ASSERT_TRUE(validate(schedule, &error)) << error;
  Seen seen = askOracle(schedule.sharded);
  for (Direction direction : {Direction::Forward, Direction::Backward}) {
    SCOPED_TRACE(direction == Direction::Forward ? "forward" : "backward");
    Machine machine(schedule, direction);
    machine.run();
    for (int64_t reader = 0; reader < schedule.ranks(); ++reader)
      for (int64_t owner = 0; owner < schedule.ranks(); ++owner)
        if (reader != owner) {
          EXPECT_EQ((machine.computed[{reader, owner}]),
                    seen.pairs[reader][owner])
              << "reader " << reader << " owner " << owner;
        }
    if (direction == Direction::Forward) {
      expectLowerBound(schedule, seen, machine.received);
      continue;
    }
    // Each reader's gradient of each pair is in its owner's sum, once.
    for (int64_t owner = 0; owner < schedule.ranks(); ++owner) {
      Content expected;
      for (int64_t reader = 0; reader < schedule.ranks(); ++reader)
        if (reader != owner)
          for (Pair pair : seen.pairs[reader][owner])
            ++expected[pair][reader];
      EXPECT_EQ((machine.buffers()[owner][{Place::OwnGradients, 0}]), expected)
          << "owner " << owner;
    }
  }
  if (testing::Test::HasFailure())
    FAIL() << schedule.ranksPerHost << " ranks a host, " << schedule.slots
           << " slots\n"
           << describe(schedule.sharded);
}

int64_t drawDivisor(Random &random, int64_t of) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i <= of; ++i)
    if (of % i == 0)
      divisors.push_back(i);
  return divisors[draw(random, 0, static_cast<int64_t>(divisors.size()) - 1)];
}

TEST(ScheduleTest, OneLevel) {
  Random random(21);
  for (int64_t ranks = 1; ranks <= 64 && !HasFatalFailure(); ++ranks)
    for (int i = 0; i < 2; ++i)
      expectProved({drawSharded(random, ranks, 100), ranks, 2});
}

TEST(ScheduleTest, TwoLevels) {
  Random random(22);
  for (int64_t ranks = 1; ranks <= 64 && !HasFatalFailure(); ++ranks)
    for (int i = 0; i < 2; ++i)
      expectProved(
          {drawSharded(random, ranks, 100), drawDivisor(random, ranks), 2});
}

// From two chunks at a time to all of them.
TEST(ScheduleTest, AnyNumberOfSlots) {
  Random random(23);
  for (int i = 0; i < 300 && !HasFatalFailure(); ++i) {
    int64_t ranks = draw(random, 1, 12);
    expectProved({drawSharded(random, ranks, 60), drawDivisor(random, ranks),
                  draw(random, 2, ranks + 2)});
  }
}

// O(S / W): dense attention on 64 ranks has room for two chunks.
TEST(ScheduleTest, RingFormHasRoomForTwoChunks) {
  int64_t length = 1 << 20, ranks = 64;
  Branch dense;
  dense.headEnd = 4;
  Shards shards = *Shards::even(Sharding::Zigzag, length, ranks, 1, nullptr);
  ShardedAttention sharded = {oneSequence({dense}, length, length, 4, 4, false),
                              shards, shards};
  EXPECT_EQ(trafficOf({sharded, ranks, 2}, 5).buffered, 2 * 4 * length / ranks);
  EXPECT_EQ(trafficOf({sharded, ranks, ranks}, 5).buffered,
            4 * length / ranks * (ranks - 1));
  // On two levels, two of each.
  EXPECT_EQ(trafficOf({sharded, 8, 2}, 5).buffered, 4 * 4 * length / ranks);
}

// A layout says where in a buffer a branch's keys are.
TEST(ScheduleTest, LayoutsHoldWhatIsComputedWith) {
  Random random(24);
  for (int i = 0; i < 200; ++i) {
    Schedule schedule = {drawSharded(random, 6, 60), 3, 2};
    for (int64_t rank = 0; rank < 6; ++rank)
      for (int64_t step = 1; step < 6; ++step)
        for (const Action &action :
             actionsAt(schedule, rank, step, Direction::Forward)) {
          if (action.kind != Action::Kind::Compute)
            continue;
          std::vector<Part> layout =
              layoutOf(schedule, rank, action.source.place, action.use);
          for (const Part &part : action.parts)
            for (int64_t head = part.head; head < part.head + part.heads;
                 ++head) {
              int64_t found = 0, wanted = 0;
              for (const Part &there : layout)
                if (there.head <= head && head < there.head + there.heads)
                  for (const Placement &at : place(there.rows, part.rows))
                    found += at.count;
              for (const Rows &rows : part.rows)
                wanted += rows.size();
              EXPECT_EQ(found, wanted);
            }
        }
  }
}

TEST(ScheduleTest, Refusals) {
  Shards shards = *Shards::even(Sharding::Contiguous, 64, 6, 1, nullptr);
  ShardedAttention sharded = {oneSequence({}, 64, 64, 1, 1, true), shards,
                              shards};
  std::string error;
  EXPECT_FALSE(validate(Schedule{sharded, 4, 2}, &error));
  EXPECT_EQ(error, "expected a divisor of 6 as the number of ranks of a host, "
                   "found 4 (G2)");
  EXPECT_FALSE(validate(Schedule{sharded, 6, 1}, &error));
  EXPECT_EQ(error, "expected room for at least 2 chunks of keys, found 1 (G2)");
}

} // namespace
