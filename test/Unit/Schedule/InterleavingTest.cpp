//===- InterleavingTest.cpp - One order of steps stands for all -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/Explore.h"
#include "lib/Schedule/State.h"

#include "Programs.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_set>

using namespace ringlet::schedule;

namespace {

/// The most that one process may be ahead in the decisions of another one.
constexpr unsigned mostAhead = 8;

/// Looks for a fault in every order of steps: any process runs next, and any
/// one decides when it comes to it. Returns nothing if there are too many
/// states.
std::optional<bool> hasFaultInAnyOrder(const Machine &machine) {
  Fault fault{};
  if (findUsers(machine, fault))
    return true;
  Executor executor(machine);
  std::unordered_set<std::string> seen;
  std::vector<State> open = {makeState(machine)};
  while (!open.empty()) {
    State state = std::move(open.back());
    open.pop_back();
    if (!seen.insert(normalize(machine, state)).second)
      continue;
    if (seen.size() > 4000)
      return std::nullopt;
    bool goesOn = false, hasEnded = true;
    for (unsigned p = 0; p < state.processes.size(); ++p) {
      State next = state;
      switch (executor.run(next, p, fault)) {
      case Progress::Failed:
        return true;
      case Progress::Ended:
        break;
      case Progress::Waits:
        hasEnded = false;
        break;
      case Progress::Done:
        goesOn = true;
        open.push_back(std::move(next));
        break;
      case Progress::Decides: {
        goesOn = true;
        const Process &process = next.processes[p];
        unsigned decision =
            machine.programs[process.program].steps[process.step].decision;
        if (next.queues[decision].length >= mostAhead)
          break;
        for (uint64_t outcome : {0, 1}) {
          State decided = next;
          Queue &queue = decided.queues[decision];
          queue.outcomes |= outcome << queue.length++;
          open.push_back(std::move(decided));
        }
        break;
      }
      }
    }
    if (goesOn)
      continue;
    if (!hasEnded)
      return true;
    for (const Ring &ring : state.rings)
      for (const Slot &slot : ring.slots)
        if (slot.written != Written::Empty)
          return true;
  }
  return false;
}

/// Random roles that are nearly right: each one is a walk over the same list of
/// tiles, some of it in loops, with a mistake now and then.
class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  Machine make() {
    Machine machine;
    unsigned channels = 1 + pick(3), roles = 2 + pick(2);
    for (unsigned c = 0; c < channels; ++c) {
      machine.slots.push_back(1 + pick(3));
      from.push_back(pick(roles));
      to.push_back((from.back() + 1 + pick(roles - 1)) % roles);
      readByAll.push_back(pick(3) == 0);
    }
    std::vector<std::vector<unsigned>> phases;
    for (unsigned i = 1 + pick(3); i > 0; --i) {
      std::vector<unsigned> &used = phases.emplace_back();
      for (unsigned j = 1 + pick(3); j > 0; --j)
        used.push_back(pick(channels));
    }
    for (unsigned r = 0; r < roles; ++r) {
      bool turns = pick(6) == 0 && std::count(from.begin(), from.end(), r) == 0;
      Writer writer("role", turns ? 2 : 1);
      for (unsigned i = 0; i < phases.size(); ++i) {
        if (i % 2 == 0) {
          writer.loop(decide(i), [&] { write(writer, r, phases[i], turns); });
        } else if (pick(2)) {
          writer.branch(decide(i), [&] { write(writer, r, phases[i], turns); });
        } else {
          write(writer, r, phases[i], turns);
        }
      }
      machine.programs.push_back(writer.take());
    }
    machine.decisions = decisions;
    return machine;
  }

private:
  unsigned pick(unsigned count) { return random() % count; }
  /// Mostly the decision that all roles share.
  unsigned decide(unsigned phase) { return pick(40) ? phase : decisions++; }

  void write(Writer &writer, unsigned role, std::vector<unsigned> used,
             bool turns) {
    if (pick(25) == 0)
      used.push_back(pick(from.size()));
    if (pick(10) == 0)
      std::shuffle(used.begin(), used.end(), random);
    std::vector<unsigned> held;
    bool together = pick(2), inTurn = turns && pick(2);
    if (inTurn)
      writer.enter();
    for (unsigned channel : used) {
      if (from[channel] == role) {
        unsigned slot = writer.acquire(channel);
        if (pick(100))
          writer.copy(slot);
      } else if (readByAll[channel] || to[channel] == role) {
        unsigned slot = writer.await(channel);
        unsigned product = writer.start({slot});
        if (pick(100))
          writer.finish(product);
        if (together)
          held.push_back(slot);
        else
          writer.release(slot);
      }
    }
    if (inTurn)
      writer.leave();
    if (turns && pick(4) == 0)
      writer.meet();
    for (unsigned slot : held)
      writer.release(slot);
  }

  std::mt19937 random;
  unsigned decisions = 3;
  std::vector<unsigned> from, to;
  /// Of each channel: by all roles but the one that fills it.
  std::vector<bool> readByAll;
};

TEST(Interleaving, OneOrderFindsWhatAnyOrderFinds) {
  unsigned right = 0, wrong = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Machine machine = Generator(seed).make();
    std::optional<bool> expected = hasFaultInAnyOrder(machine);
    if (!expected)
      continue;
    Exploration found = explore(machine, 4000);
    // To run ahead without bound is a fault of the search, not of the roles.
    if (found.fault && found.fault->kind == FaultKind::RunsAhead)
      continue;
    EXPECT_EQ(found.fault.has_value(), *expected) << "seed " << seed;
    ++(*expected ? wrong : right);
  }
  // Neither answer is right by itself.
  EXPECT_GT(right, 150u);
  EXPECT_GT(wrong, 300u);
}

} // namespace
