//===- ExploreTest.cpp - Faults that are found, and none otherwise -*- C++ -*-//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/Explore.h"

#include "Programs.h"

#include <gtest/gtest.h>

using namespace ringlet::schedule;

namespace {

constexpr uint64_t many = 100000;

/// A role that copies to each of `channels` in every step of a loop.
Program load(const std::vector<unsigned> &channels, unsigned decision = 0) {
  Writer writer("load");
  writer.loop(decision, [&] {
    for (unsigned channel : channels)
      writer.copy(writer.acquire(channel));
  });
  return writer.take();
}

/// A role that awaits all of `channels`, then releases them in that order.
Program compute(const std::vector<unsigned> &channels, unsigned decision = 0) {
  Writer writer("compute");
  writer.loop(decision, [&] {
    std::vector<unsigned> slots;
    for (unsigned channel : channels)
      slots.push_back(writer.await(channel));
    for (unsigned slot : slots)
      writer.release(slot);
  });
  return writer.take();
}

/// A role that copies once to channel 0, for programs that read it.
Program loadOnce() {
  Writer writer("load");
  writer.copy(writer.acquire(0));
  return writer.take();
}

std::optional<Fault> find(Machine machine, uint64_t maxStates = many) {
  return explore(machine, maxStates).fault;
}

/// The kind of the fault, which has to be there.
FaultKind kindOf(const std::optional<Fault> &fault) {
  EXPECT_TRUE(fault);
  return fault ? fault->kind : FaultKind::TooManyStates;
}

/// The fault of a role that reads the one tile of channel 0.
FaultKind faultOf(Program reader) {
  return kindOf(find({{1}, {loadOnce(), std::move(reader)}, 0}));
}

//===----------------------------------------------------------------------===//
// What is right
//===----------------------------------------------------------------------===//

TEST(Explore, LoopsOfAnyLengthHoldWithAnyNumberOfSlots) {
  for (unsigned slots = 1; slots <= Machine::maxSlots; ++slots) {
    Exploration result =
        explore({{slots, slots}, {load({0, 1}), compute({0, 1})}, 1}, many);
    EXPECT_FALSE(result.fault) << slots;
    EXPECT_GT(result.states, 1u);
    EXPECT_LT(result.states, 4u * slots + 8) << slots;
  }
}

TEST(Explore, KnownNumbersOfStepsNeedNoDecision) {
  Writer writer("load"), reader("compute");
  writer.repeat(6, [&] { writer.copy(writer.acquire(0)); });
  reader.repeat(
      2, [&] { reader.repeat(3, [&] { reader.release(reader.await(0)); }); });
  Exploration result = explore({{2}, {writer.take(), reader.take()}, 0}, many);
  EXPECT_FALSE(result.fault);
  EXPECT_EQ(result.states, 1u);
}

TEST(Explore, NestedLoopsAgreeStepByStep) {
  Writer writer("load"), reader("compute");
  writer.loop(0, [&] {
    writer.copy(writer.acquire(1));
    writer.loop(1, [&] { writer.copy(writer.acquire(0)); });
  });
  reader.loop(0, [&] {
    unsigned kept = reader.await(1);
    reader.loop(1, [&] { reader.release(reader.await(0)); });
    reader.release(kept);
  });
  EXPECT_FALSE(find({{3, 2}, {writer.take(), reader.take()}, 2}));
}

TEST(Explore, SlotsMayBeReleasedInAnyOrder) {
  Writer writer("load"), reader("compute");
  writer.loop(0, [&] {
    writer.copy(writer.acquire(0));
    writer.copy(writer.acquire(0));
  });
  reader.loop(0, [&] {
    unsigned first = reader.await(0), second = reader.await(0);
    reader.release(second);
    reader.release(first);
  });
  Machine machine{{2}, {writer.take(), reader.take()}, 1};
  EXPECT_FALSE(find(machine));
  machine.slots = {3};
  EXPECT_FALSE(find(machine));
  // The second one can never be copied while the first one is held.
  machine.slots = {1};
  EXPECT_EQ(kindOf(find(machine)), FaultKind::Deadlock);
}

/// A slot and a product that a loop hands to its next step.
TEST(Explore, LoopsCarrySlotsAndProducts) {
  Writer writer("load"), reader("compute");
  writer.copy(writer.acquire(0));
  writer.loop(0, [&] { writer.copy(writer.acquire(0)); });
  unsigned slot = reader.await(0);
  unsigned product = reader.start({slot});
  unsigned heldSlot = reader.slot(), running = reader.product();
  reader.move({{heldSlot, slot}, {running, product}});
  reader.drop({slot, product});
  reader.loop(0, [&] {
    unsigned next = reader.await(0);
    unsigned started = reader.start({next});
    reader.finish(running);
    reader.release(heldSlot);
    reader.move({{heldSlot, next}, {running, started}});
  });
  reader.finish(running);
  reader.release(heldSlot);
  Machine machine{{2}, {writer.take(), reader.take()}, 1};
  EXPECT_FALSE(find(machine));
  machine.slots = {1};
  EXPECT_EQ(kindOf(find(machine)), FaultKind::Deadlock);
}

/// A chain of products: each slot is released one step late.
TEST(Explore, ProductsGoOnWithSums) {
  auto makeReader = [](auto wait) {
    Writer reader("compute");
    unsigned slot = reader.await(0);
    unsigned product = reader.start({slot});
    unsigned heldSlot = reader.slot(), running = reader.product();
    reader.move({{heldSlot, slot}, {running, product}});
    reader.drop({slot, product});
    reader.loop(0, [&] {
      unsigned next = reader.await(0);
      unsigned started = reader.startOnto(running, {next});
      wait(reader, running, started);
      reader.release(heldSlot);
      reader.move({{heldSlot, next}, {running, started}});
    });
    reader.finish(running);
    reader.release(heldSlot);
    return reader.take();
  };
  Writer writer("load");
  writer.copy(writer.acquire(0));
  writer.loop(0, [&] { writer.copy(writer.acquire(0)); });
  Program load = writer.take();
  auto check = [&](auto wait) {
    return find({{2}, {load, makeReader(wait)}, 1});
  };
  EXPECT_FALSE(check([](Writer &reader, unsigned before, unsigned) {
    reader.waitFor(before);
  }));
  // Its sums are another one's.
  EXPECT_EQ(kindOf(check([](Writer &reader, unsigned before, unsigned) {
              reader.finish(before);
            })),
            FaultKind::SumsInUse);
  EXPECT_EQ(kindOf(check([](Writer &, unsigned, unsigned) {})),
            FaultKind::ReleasedEarly);
  EXPECT_EQ(kindOf(check([](Writer &reader, unsigned before, unsigned started) {
              reader.waitFor(before);
              reader.waitFor(started);
            })),
            FaultKind::NotContinued);
  EXPECT_EQ(kindOf(check([](Writer &reader, unsigned before, unsigned) {
              reader.startOnto(before, {});
            })),
            FaultKind::SumsInUse);
  Writer ended("compute");
  ended.release(ended.await(0));
  unsigned product = ended.start({});
  ended.finish(product);
  ended.startOnto(product, {});
  EXPECT_EQ(faultOf(ended.take()), FaultKind::NotAProduct);
}

TEST(Explore, GroupsTakeTurns) {
  for (unsigned groups = 1; groups <= Machine::maxGroups; ++groups) {
    Writer reader("compute", groups);
    reader.loop(0, [&] {
      unsigned slot = reader.await(0);
      reader.enter();
      unsigned product = reader.start({slot});
      reader.leave();
      reader.finish(product);
      reader.meet();
      reader.release(slot);
    });
    EXPECT_FALSE(find({{2}, {load({0}), reader.take()}, 1})) << groups;
  }
}

/// What nothing connects costs the sum, not the product, and is named as it is
/// in the whole.
TEST(Explore, PartsAreSearchedOneByOne) {
  Machine machine;
  for (unsigned pair = 0; pair < 8; ++pair) {
    machine.slots.push_back(16);
    machine.programs.push_back(load({pair}, pair));
    machine.programs.push_back(compute({pair}, pair));
  }
  machine.decisions = 8;
  Exploration one =
      explore({{16}, {machine.programs[0], machine.programs[1]}, 1}, many);
  Exploration all = explore(machine, many);
  EXPECT_FALSE(all.fault);
  EXPECT_EQ(all.states, 8 * one.states);
  EXPECT_EQ(kindOf(find(machine, all.states - 1)), FaultKind::TooManyStates);
  machine.programs[11] = compute({5, 5}, 5);
  std::optional<Fault> fault = find(machine);
  EXPECT_EQ(kindOf(fault), FaultKind::Deadlock);
  EXPECT_EQ(fault->program, 11u);
  ASSERT_EQ(fault->standings.size(), 2u);
  EXPECT_EQ(fault->standings[0].program, 10u);
  EXPECT_EQ(fault->standings[1].program, 11u);
  EXPECT_EQ(fault->way.back().program / 2, 5u);
}

/// Two roles that a third one connects, after both.
TEST(Explore, PartsMayJoinLate) {
  Machine machine{{1, 1}, {load({0}), load({1}), compute({0, 1})}, 1};
  EXPECT_FALSE(find(machine));
  machine.programs[2] = compute({0, 1, 1});
  std::optional<Fault> fault = find(machine);
  EXPECT_EQ(kindOf(fault), FaultKind::Deadlock);
  EXPECT_EQ(fault->standings.size(), 3u);
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

TEST(Explore, ChannelsHaveOneWriterAndSomeReaders) {
  EXPECT_EQ(kindOf(find({{1}, {compute({0})}, 1})), FaultKind::NoWriter);
  EXPECT_EQ(kindOf(find({{1}, {load({0})}, 1})), FaultKind::NoReader);
  EXPECT_EQ(kindOf(find({{1}, {load({0}), load({0}), compute({0})}, 1})),
            FaultKind::TwoWriters);
  Machine all{{1}, {load({0})}, 1};
  for (unsigned reader = 0; reader < Machine::maxGroups; ++reader)
    all.programs.push_back(compute({0}));
  EXPECT_FALSE(find(all));
  all.programs.push_back(compute({0}));
  EXPECT_EQ(kindOf(find(all)), FaultKind::TooManyReaders);
  Program turning = load({0});
  turning.groups = 2;
  EXPECT_EQ(kindOf(find({{1}, {turning, compute({0})}, 1})),
            FaultKind::WriterInTurns);
}

TEST(Explore, FaultsOfTheWriter) {
  Writer none("load");
  none.acquire(0);
  EXPECT_EQ(kindOf(find({{1}, {none.take(), compute({0})}, 1})),
            FaultKind::NotCopied);
  Writer two("load");
  unsigned first = two.acquire(0), second = two.acquire(0);
  two.copy(first);
  two.copy(second);
  EXPECT_EQ(kindOf(find({{2}, {two.take(), compute({0})}, 1})),
            FaultKind::NotCopied);
  Writer twice("load");
  unsigned slot = twice.acquire(0);
  twice.copy(slot);
  twice.copy(slot);
  EXPECT_EQ(kindOf(find({{2}, {twice.take(), compute({0})}, 1})),
            FaultKind::CopiedTwice);
  for (bool copies : {false, true}) {
    Writer reads("load"), releases("load");
    slot = reads.acquire(0);
    if (copies)
      reads.copy(slot);
    reads.read(slot);
    EXPECT_EQ(kindOf(find({{2}, {reads.take(), compute({0})}, 1})),
              FaultKind::ReadOfAcquired);
    slot = releases.acquire(0);
    if (copies)
      releases.copy(slot);
    releases.release(slot);
    EXPECT_EQ(kindOf(find({{2}, {releases.take(), compute({0})}, 1})),
              FaultKind::ReleaseOfAcquired);
  }
}

TEST(Explore, FaultsOfTheReader) {
  for (bool released : {false, true}) {
    Writer copies("compute");
    unsigned slot = copies.await(0);
    if (released)
      copies.release(slot);
    copies.copy(slot);
    EXPECT_EQ(faultOf(copies.take()), FaultKind::CopyToAwaited);
  }
  Writer kept("compute");
  kept.await(0);
  EXPECT_EQ(faultOf(kept.take()), FaultKind::NotReleased);
  Writer twice("compute");
  unsigned slot = twice.await(0);
  twice.release(slot);
  twice.release(slot);
  EXPECT_EQ(faultOf(twice.take()), FaultKind::ReleasedTwice);
  Writer late("compute");
  slot = late.await(0);
  late.release(slot);
  late.read(slot);
  EXPECT_EQ(faultOf(late.take()), FaultKind::ReadAfterRelease);
  Writer lateProduct("compute");
  slot = lateProduct.await(0);
  lateProduct.release(slot);
  lateProduct.finish(lateProduct.start({slot}));
  EXPECT_EQ(faultOf(lateProduct.take()), FaultKind::ReadAfterRelease);
  Writer nothing("compute");
  nothing.release(nothing.slot());
  nothing.release(nothing.await(0));
  EXPECT_EQ(faultOf(nothing.take()), FaultKind::NotASlot);
}

/// Names of a slot are one slot.
TEST(Explore, OtherNamesOfASlotEndWithIt) {
  Writer other("compute");
  unsigned slot = other.await(0), name = other.slot();
  other.move({{name, slot}});
  other.release(slot);
  other.release(name);
  EXPECT_EQ(faultOf(other.take()), FaultKind::ReleasedTwice);
  Writer lost("compute");
  slot = lost.await(0);
  name = lost.slot();
  lost.move({{slot, name}});
  EXPECT_EQ(faultOf(lost.take()), FaultKind::NotReleased);
  // A name of the slot that the same place in the ring was before.
  Writer old("compute");
  name = old.slot();
  old.repeat(2, [&] {
    slot = old.await(0);
    old.move({{name, slot}});
    old.release(slot);
  });
  old.release(name);
  Writer writer("load");
  writer.repeat(2, [&] { writer.copy(writer.acquire(0)); });
  EXPECT_EQ(kindOf(find({{1}, {writer.take(), old.take()}, 0})),
            FaultKind::ReleasedTwice);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

TEST(Explore, FaultsOfProducts) {
  Writer early("compute");
  unsigned slot = early.await(0);
  unsigned product = early.start({slot});
  early.release(slot);
  early.finish(product);
  EXPECT_EQ(faultOf(early.take()), FaultKind::ReleasedEarly);

  Writer none("compute");
  slot = none.await(0);
  none.start({});
  none.release(slot);
  EXPECT_EQ(faultOf(none.take()), FaultKind::NotFinished);

  Writer twice("compute");
  twice.release(twice.await(0));
  product = twice.start({});
  twice.finish(product);
  twice.finish(product);
  EXPECT_EQ(faultOf(twice.take()), FaultKind::FinishedTwice);

  Writer order("compute");
  order.release(order.await(0));
  product = order.start({});
  order.finish(order.start({}));
  order.finish(product);
  EXPECT_EQ(faultOf(order.take()), FaultKind::FinishedOutOfOrder);

  Writer nothing("compute");
  nothing.release(nothing.await(0));
  nothing.finish(nothing.product());
  EXPECT_EQ(faultOf(nothing.take()), FaultKind::NotAProduct);
}

TEST(Explore, RegistersOfProductsUnderWay) {
  for (bool finished : {false, true})
    for (bool writes : {false, true})
      for (bool isSums : {false, true}) {
        Writer reader("compute");
        reader.release(reader.await(0));
        unsigned left = reader.registers(), sums = reader.registers();
        unsigned product = reader.start({}, left, sums);
        if (finished)
          reader.finish(product);
        unsigned touched = isSums ? sums : left;
        if (writes)
          reader.write(touched);
        else
          reader.use(touched);
        if (!finished)
          reader.finish(product);
        std::optional<Fault> fault =
            find({{1}, {loadOnce(), reader.take()}, 0});
        if (finished || (!isSums && !writes))
          EXPECT_FALSE(fault);
        else
          EXPECT_EQ(kindOf(fault),
                    isSums ? FaultKind::SumsInUse : FaultKind::RegistersInUse);
      }
}

//===----------------------------------------------------------------------===//
// All together
//===----------------------------------------------------------------------===//

TEST(Explore, LoopsThatDoNotAgree) {
  // Of one number of steps, and of another one.
  std::optional<Fault> fault = find({{2}, {load({0}, 0), compute({0}, 1)}, 2});
  ASSERT_TRUE(fault);
  // Few decisions tell: the writer takes one step more.
  EXPECT_LE(fault->way.size(), 3u);
  Writer writer("load");
  writer.copy(writer.acquire(0));
  writer.loop(0, [&] { writer.copy(writer.acquire(0)); });
  fault = find({{2}, {writer.take(), compute({0})}, 1});
  EXPECT_EQ(kindOf(fault), FaultKind::Unbalanced);
  EXPECT_EQ(fault->fillings[0].full, 1u);
  EXPECT_EQ(fault->fillings[0].empty, 1u);
  Writer reader("compute");
  reader.loop(0, [&] { reader.release(reader.await(0)); });
  reader.release(reader.await(0));
  fault = find({{2}, {load({0}), reader.take()}, 1});
  EXPECT_EQ(kindOf(fault), FaultKind::Deadlock);
  EXPECT_EQ(fault->program, 1u);
  EXPECT_EQ(fault->channel, 0u);
  ASSERT_EQ(fault->standings.size(), 2u);
  EXPECT_TRUE(fault->standings[0].ended);
  EXPECT_FALSE(fault->standings[1].ended);
}

/// Loops over channels one after the other, read together: right if all steps
/// fit the slots.
TEST(Explore, DeadlocksThatNeedManySteps) {
  for (unsigned slots = 1; slots <= Machine::maxSlots; ++slots) {
    Writer writer("load");
    writer.repeat(5, [&] { writer.copy(writer.acquire(0)); });
    writer.repeat(5, [&] { writer.copy(writer.acquire(1)); });
    Writer reader("compute");
    reader.repeat(5, [&] {
      unsigned first = reader.await(0), second = reader.await(1);
      reader.release(first);
      reader.release(second);
    });
    // One is awaited and held, four more have to fit.
    EXPECT_EQ(find({{slots, 1}, {writer.take(), reader.take()}, 0}).has_value(),
              slots < 5)
        << slots;
  }
}

TEST(Explore, CyclesOfRoles) {
  auto pass = [](std::string name, unsigned from, unsigned to, bool begins) {
    Writer writer(std::move(name));
    writer.loop(0, [&] {
      if (begins)
        writer.copy(writer.acquire(to));
      writer.release(writer.await(from));
      if (!begins)
        writer.copy(writer.acquire(to));
    });
    return writer.take();
  };
  for (bool begins : {false, true}) {
    std::optional<Fault> fault =
        find({{1, 1, 1},
              {pass("a", 2, 0, begins), pass("b", 0, 1, false),
               pass("c", 1, 2, false)},
              1});
    if (begins)
      EXPECT_FALSE(fault);
    else
      EXPECT_EQ(kindOf(fault), FaultKind::Deadlock);
  }
}

TEST(Explore, TurnsThatNeedEachOther) {
  auto machine = [](unsigned slots, unsigned groups) {
    Writer reader("compute", groups);
    reader.loop(0, [&] {
      reader.enter();
      reader.release(reader.await(0));
      reader.release(reader.await(0));
      reader.leave();
    });
    Writer writer("load");
    writer.loop(0, [&] {
      writer.copy(writer.acquire(0));
      writer.copy(writer.acquire(0));
    });
    return Machine{{slots}, {writer.take(), reader.take()}, 1};
  };
  // The second tile needs the slot that the second group has not seen.
  EXPECT_FALSE(find(machine(1, 1)));
  EXPECT_EQ(kindOf(find(machine(1, 2))), FaultKind::Deadlock);
  EXPECT_FALSE(find(machine(2, 2)));
  Writer meeting("compute", 2);
  meeting.release(meeting.await(0));
  meeting.enter();
  meeting.meet();
  meeting.leave();
  EXPECT_EQ(faultOf(meeting.take()), FaultKind::Deadlock);
}

/// The two roles decide the same, but nothing keeps the first one near.
TEST(Explore, RolesThatRunAhead) {
  Writer first("first"), second("second");
  first.loop(0, [&] { first.write(first.registers()); });
  first.copy(first.acquire(0));
  second.release(second.await(0));
  second.loop(0, [&] { second.write(second.registers()); });
  EXPECT_EQ(kindOf(find({{1}, {first.take(), second.take()}, 1})),
            FaultKind::RunsAhead);
}

TEST(Explore, StatesAreLimited) {
  Machine machine{{4}, {load({0}), compute({0})}, 1};
  uint64_t states = explore(machine, many).states;
  EXPECT_FALSE(find(machine, states));
  EXPECT_EQ(kindOf(find(machine, states - 1)), FaultKind::TooManyStates);
  // Loops of known length end by themselves, but not soon.
  Writer slow("load");
  slow.repeat(60000, [&] {
    slow.repeat(60000, [&] { slow.write(slow.registers()); });
  });
  slow.copy(slow.acquire(0));
  EXPECT_EQ(kindOf(find({{1}, {slow.take(), compute({0})}, 1}, 10)),
            FaultKind::TooManyStates);
}

TEST(Explore, TheWayToAFaultIsTold) {
  // The third step of the loop is the first one that can wait for ever.
  Writer writer("load");
  writer.loop(0, [&] { writer.copy(writer.acquire(0)); });
  writer.copy(writer.acquire(1));
  Writer reader("compute");
  reader.release(reader.await(1));
  reader.loop(0, [&] { reader.release(reader.await(0)); });
  std::optional<Fault> fault =
      find({{2, 1}, {writer.take(), reader.take()}, 1});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::Deadlock);
  ASSERT_EQ(fault->way.size(), 3u);
  for (const Outcome &outcome : fault->way)
    EXPECT_TRUE(outcome.goesOn);
  EXPECT_EQ(fault->fillings[0].full, 2u);
  EXPECT_EQ(fault->standings[0].step, 1u);
}

} // namespace
