//===- StepOrderTest.cpp - Orders of steps and lifetimes ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random plans of two queues, against what their queues can do: every pair of
// steps by a walk over all waits, and memory by runs in which each queue starts
// and ends its steps whenever it may.
//
//===----------------------------------------------------------------------===//

#include "runtime/src/abi/StepOrder.h"
#include "runtime/src/Memory.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace ringlet::test {

using abi::QueueCounts;
using abi::StepOrder;
using abi::StepSpan;
using rt::Lifetime;

namespace {

/// Steps with the buffers that each uses.
struct DrawnPlan {
  struct Step {
    uint32_t queue;
    std::vector<uint32_t> waits, uses;
  };
  std::vector<Step> steps;
  std::vector<uint64_t> bytes; // Of buffers.

  DrawnPlan(std::mt19937 &random, uint32_t queues) {
    steps.resize(1 + random() % 14);
    bytes.resize(random() % 10);
    for (uint64_t &size : bytes)
      size = random() % 4 ? random() % 5000 : 0;
    for (uint32_t i = 0; i < steps.size(); ++i) {
      steps[i].queue = random() % queues;
      while (i > 0 && random() % 3 == 0)
        steps[i].waits.push_back(random() % i);
      while (!bytes.empty() && random() % 3)
        steps[i].uses.push_back(random() % bytes.size());
    }
  }

  StepOrder order() const {
    abi::PlanT plan;
    plan.code_objects = {0};
    for (const Step &step : steps) {
      plan.steps.push_back(std::make_unique<abi::StepT>());
      plan.steps.back()->queue = abi::Queue(step.queue);
      plan.steps.back()->waits = step.waits;
    }
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(abi::Plan::Pack(builder, &plan));
    return StepOrder(
        *flatbuffers::GetRoot<abi::Plan>(builder.GetBufferPointer()));
  }

  std::vector<Lifetime> lifetimes() const {
    StepOrder known = order();
    std::vector<Lifetime> list(bytes.size());
    for (uint32_t i = 0; i < bytes.size(); ++i)
      list[i].bytes = bytes[i];
    for (uint32_t i = 0; i < steps.size(); ++i)
      for (uint32_t buffer : steps[i].uses)
        list[buffer].span.add(known, i);
    return list;
  }

  bool hasToWait(uint32_t step, uint32_t other) const {
    const std::vector<uint32_t> &waits = steps[step].waits;
    return other < step && (steps[other].queue == steps[step].queue ||
                            std::count(waits.begin(), waits.end(), other));
  }
};

/// Runs a plan: at each moment any queue may start its next step, if what that
/// waits for has ended, or end the one that runs.
class Simulation {
public:
  Simulation(const DrawnPlan &plan, std::mt19937 &random)
      : plan(plan), random(random), state(plan.steps.size(), Waiting) {}

  /// Calls `look` after each change.
  template <typename FunctionT>
  void run(FunctionT look) {
    while (true) {
      std::vector<uint32_t> able;
      for (uint32_t i = 0; i < state.size(); ++i)
        if (state[i] == Running || (state[i] == Waiting && mayStart(i)))
          able.push_back(i);
      if (able.empty())
        break;
      uint32_t step = able[random() % able.size()];
      state[step] = state[step] == Running ? Ended : Running;
      look();
    }
    EXPECT_EQ(size_t(std::count(state.begin(), state.end(), Ended)),
              state.size());
  }

  /// True if some use of a buffer has begun and some has not ended.
  bool isLive(uint32_t buffer) const {
    bool begun = false, ended = true;
    for (uint32_t i = 0; i < state.size(); ++i) {
      const std::vector<uint32_t> &uses = plan.steps[i].uses;
      if (!std::count(uses.begin(), uses.end(), buffer))
        continue;
      begun |= state[i] != Waiting;
      ended &= state[i] == Ended;
    }
    return begun && !ended;
  }

private:
  enum State { Waiting, Running, Ended };

  bool mayStart(uint32_t step) const {
    for (uint32_t other = 0; other < step; ++other)
      if (plan.hasToWait(step, other) && state[other] != Ended)
        return false;
    return true;
  }

  const DrawnPlan &plan;
  std::mt19937 &random;
  std::vector<State> state;
};

/// What memory took when lifetimes were intervals of step numbers.
uint64_t layOutByNumbers(const DrawnPlan &plan) {
  struct Interval {
    uint32_t first, last;
    uint64_t size, offset;
  };
  std::vector<Interval> list;
  for (uint32_t buffer = 0; buffer < plan.bytes.size(); ++buffer) {
    Interval mine = {UINT32_MAX, 0, (plan.bytes[buffer] + 63) / 64 * 64, 0};
    for (uint32_t i = 0; i < plan.steps.size(); ++i) {
      const std::vector<uint32_t> &uses = plan.steps[i].uses;
      if (!std::count(uses.begin(), uses.end(), buffer))
        continue;
      mine.first = std::min(mine.first, i);
      mine.last = i;
    }
    list.push_back(mine);
  }
  std::vector<uint32_t> order(list.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return plan.bytes[a] > plan.bytes[b];
  });
  uint64_t total = 0;
  std::vector<Interval> placed;
  for (uint32_t index : order) {
    Interval mine = list[index];
    std::sort(placed.begin(), placed.end(),
              [](const Interval &a, const Interval &b) {
                return a.offset < b.offset;
              });
    for (const Interval &other : placed) {
      if (other.last < mine.first || mine.last < other.first)
        continue;
      if (mine.offset + mine.size <= other.offset)
        break;
      mine.offset = std::max(mine.offset, other.offset + other.size);
    }
    total = std::max(total, mine.offset + mine.size);
    placed.push_back(mine);
  }
  return total;
}

bool overlap(const Lifetime &a, const Lifetime &b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

} // namespace

TEST(StepOrderTest, IsWhatWaitsMakeOfIt) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    DrawnPlan plan(random, abi::kQueues);
    StepOrder order = plan.order();
    size_t count = plan.steps.size();
    std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
    for (uint32_t step = 0; step < count; ++step)
      for (uint32_t other = step; other-- > 0;) {
        before[other][step] = plan.hasToWait(step, other);
        for (uint32_t between = other + 1; between < step; ++between)
          if (before[other][between] && before[between][step])
            before[other][step] = true;
      }
    for (uint32_t step = 0; step < count; ++step)
      for (uint32_t other = 0; other < count; ++other)
        ASSERT_EQ(other < step && before[other][step],
                  other != step && order.placeOf(other) <
                                       order.before(step)[order.queueOf(other)])
            << other << " before " << step;
  }
}

TEST(LayOut, NothingOverlapsThatLivesAtOnce) {
  std::mt19937 random(3);
  for (int round = 0; round < 1000; ++round) {
    DrawnPlan plan(random, 1 + round % abi::kQueues);
    std::vector<Lifetime> list = plan.lifetimes();
    uint64_t total, sum = 0;
    ASSERT_TRUE(rt::layOut(list, 64, total));
    for (const Lifetime &lifetime : list) {
      sum += (lifetime.bytes + 63) / 64 * 64;
      EXPECT_EQ(lifetime.offset % 64, 0u);
      EXPECT_LE(lifetime.offset + lifetime.bytes, total);
    }
    EXPECT_LE(total, sum);
    for (int again = 0; again < 8; ++again) {
      Simulation run(plan, random);
      run.run([&] {
        for (uint32_t a = 0; a < list.size(); ++a)
          for (uint32_t b = 0; b < a; ++b)
            if (overlap(list[a], list[b])) {
              EXPECT_FALSE(run.isLive(a) && run.isLive(b))
                  << "buffers " << b << " and " << a << " in round " << round;
            }
      });
    }
  }
}

TEST(LayOut, OneQueueTakesWhatItTook) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    DrawnPlan plan(random, 1);
    // What nobody uses takes nothing in either.
    for (uint32_t buffer = 0; buffer < plan.bytes.size(); ++buffer)
      plan.steps[random() % plan.steps.size()].uses.push_back(buffer);
    std::vector<Lifetime> list = plan.lifetimes();
    uint64_t total;
    ASSERT_TRUE(rt::layOut(list, 64, total));
    EXPECT_EQ(total, layOutByNumbers(plan));
  }
}

namespace {

/// Compute writes `a` at step 0 and `b` at step 2; exchange reads `a` at step
/// 1, which waits for step 0. By their numbers the buffers never meet.
DrawnPlan planted(std::vector<uint32_t> waitsOfLast) {
  std::mt19937 random(1);
  DrawnPlan plan(random, 1);
  plan.bytes = {1000, 1000};
  plan.steps = {{0, {}, {0}}, {1, {0}, {0}}, {0, std::move(waitsOfLast), {1}}};
  return plan;
}

} // namespace

TEST(LayOut, ABufferThatTheOtherQueueReadsIsNotGivenAway) {
  DrawnPlan plan = planted({});
  std::vector<Lifetime> list = plan.lifetimes();
  uint64_t total;
  ASSERT_TRUE(rt::layOut(list, 64, total));
  EXPECT_FALSE(overlap(list[0], list[1]));
  EXPECT_EQ(total, 2048u);
  EXPECT_EQ(layOutByNumbers(plan), 1024u); // The fault.
}

TEST(LayOut, ABufferThatTheOtherQueueHasReadIsGivenAway) {
  std::vector<Lifetime> list = planted({1}).lifetimes();
  uint64_t total;
  ASSERT_TRUE(rt::layOut(list, 64, total));
  EXPECT_EQ(list[0].offset, list[1].offset);
  EXPECT_EQ(total, 1024u);
}

TEST(LayOut, RefusesOverflow) {
  std::mt19937 random(1);
  DrawnPlan plan(random, 1);
  plan.bytes = {UINT64_MAX - 100, 200};
  plan.steps = {{0, {}, {0, 1}}};
  std::vector<Lifetime> list = plan.lifetimes();
  uint64_t total;
  EXPECT_FALSE(rt::layOut(list, 64, total));
}

} // namespace ringlet::test
