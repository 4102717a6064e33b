//===- Schedule.cpp - Who sends what to whom, and when ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/ring/Schedule.h"

#include "ringlet/abi/Format.h"

#include <algorithm>

namespace ringlet::ring {

bool validate(const Schedule &schedule, std::string *error) {
  if (!validate(schedule.sharded, error))
    return false;
  if (schedule.ranksPerHost < 1 ||
      schedule.ranks() % schedule.ranksPerHost != 0) {
    if (error)
      *error =
          formatText("expected a divisor of {} as the number of ranks of a "
                     "host, found {} (G2)",
                     schedule.ranks(), schedule.ranksPerHost);
    return false;
  }
  if (schedule.slots < 2) {
    if (error)
      *error = formatText(
          "expected room for at least 2 chunks of keys, found {} (G2)",
          schedule.slots);
    return false;
  }
  return true;
}

namespace {

using Kind = Action::Kind;

/// A rank by its host and its number there, and the steps likewise: in phase e
/// and turn d, rank (h, j) reads keys of rank (h - e, j - d).
class Planner {
public:
  Planner(const Schedule &schedule, int64_t rank)
      : schedule(schedule), rank(rank), turns(schedule.ranksPerHost),
        phases(schedule.hosts()), host(rank / turns), number(rank % turns) {}

  int64_t at(int64_t hosts, int64_t numbers) const {
    return (host + hosts + phases) % phases * turns +
           (number + numbers + turns) % turns;
  }

  void messages(int64_t step, bool backward);
  void computation(int64_t step, bool backward);
  void accumulations(int64_t step);

  std::vector<Part> needed(int64_t reader, int64_t owner) const {
    return neededKeys(schedule.sharded, {reader}, owner);
  }
  /// What the ranks of a host need of a rank of another host.
  std::vector<Part> neededByHost(int64_t reader, int64_t owner) const {
    std::vector<int64_t> readers;
    for (int64_t i = 0; i < turns; ++i)
      readers.push_back(reader / turns * turns + i);
    return neededKeys(schedule.sharded, readers, owner);
  }

  std::vector<Action> actions;

private:
  int64_t slot(int64_t use) const { return use % schedule.slots; }
  /// The step in which keys for turn `use` of the host's own ring are sent.
  int64_t postedAt(int64_t use) const {
    return std::max(use / turns * turns, use - (schedule.slots - 1));
  }
  /// The same for the phase in which keys of another host are used.
  int64_t phasePostedAt(int64_t phase) const {
    return std::max<int64_t>(0, phase - (schedule.slots - 1)) * turns;
  }
  /// The step in which sums of a phase return to another host.
  int64_t returnedAt(int64_t phase) const {
    return (phase + 1) * turns + (turns > 1 ? 1 : 0);
  }
  Buffer source(int64_t phase) const {
    return phase == 0 ? Buffer{Place::OwnKeys, 0}
                      : Buffer{Place::FarKeys, slot(phase)};
  }
  Buffer sums(int64_t phase) const {
    return phase == 0 ? Buffer{Place::OwnGradients, 0}
                      : Buffer{Place::FarGradients, phase % 2};
  }

  void add(Action action) {
    if (!action.parts.empty())
      actions.push_back(std::move(action));
  }
  Action message(Kind kind, Level level, int64_t peer, int64_t owner,
                 int64_t use, bool gradients, Buffer buffer) const {
    Action action;
    action.kind = kind;
    action.level = level;
    action.peer = peer;
    action.owner = owner;
    action.use = use;
    action.gradients = gradients;
    (kind == Kind::Send ? action.source : action.target) = buffer;
    return action;
  }
  void nearKeys(int64_t use);
  void farKeys(int64_t phase);
  void nearGradients(int64_t use);
  void farGradients(int64_t phase);

  const Schedule &schedule;
  int64_t rank;
  int64_t turns, phases;
  int64_t host, number;
};

void Planner::nearKeys(int64_t use) {
  int64_t phase = use / turns, turn = use % turns;
  int64_t reader = at(0, turn), sender = at(0, -turn);
  int64_t lent = at(-phase, 0), owner = at(-phase, -turn);
  Action send =
      message(Kind::Send, Level::Host, reader, lent, use, false, source(phase));
  send.parts = needed(reader, lent);
  add(std::move(send));
  Action receive = message(Kind::Receive, Level::Host, sender, owner, use,
                           false, {Place::NearKeys, slot(use)});
  receive.parts = needed(rank, owner);
  add(std::move(receive));
}

void Planner::farKeys(int64_t phase) {
  int64_t reader = at(phase, 0), owner = at(-phase, 0), use = phase * turns;
  Action send = message(Kind::Send, Level::Network, reader, rank, use, false,
                        {Place::OwnKeys, 0});
  send.parts = neededByHost(reader, rank);
  add(std::move(send));
  Action receive = message(Kind::Receive, Level::Network, owner, owner, use,
                           false, {Place::FarKeys, slot(phase)});
  receive.parts = neededByHost(rank, owner);
  add(std::move(receive));
}

void Planner::nearGradients(int64_t use) {
  int64_t phase = use / turns, turn = use % turns;
  int64_t reader = at(0, turn), lender = at(0, -turn);
  int64_t lent = at(-phase, 0), owner = at(-phase, -turn);
  Action send = message(Kind::Send, Level::Host, lender, owner, use, true,
                        {Place::NearGradients, use % 2});
  send.parts = needed(rank, owner);
  add(std::move(send));
  Action receive = message(Kind::Receive, Level::Host, reader, lent, use, true,
                           {Place::NearArrivals, use % 2});
  receive.parts = needed(reader, lent);
  add(std::move(receive));
}

void Planner::farGradients(int64_t phase) {
  int64_t reader = at(phase, 0), owner = at(-phase, 0), use = phase * turns;
  Action send =
      message(Kind::Send, Level::Network, owner, owner, use, true, sums(phase));
  send.parts = neededByHost(rank, owner);
  add(std::move(send));
  Action receive = message(Kind::Receive, Level::Network, reader, rank, use,
                           true, {Place::FarArrivals, 0});
  receive.parts = neededByHost(reader, rank);
  add(std::move(receive));
}

void Planner::messages(int64_t step, bool backward) {
  // Gradients of the step before come first: somebody waits to add them.
  int64_t before = step - 1;
  if (backward && before >= 0 && before < phases * turns && before % turns != 0)
    nearGradients(before);
  if (backward)
    for (int64_t phase = 1; phase < phases; ++phase)
      if (returnedAt(phase) == step)
        farGradients(phase);
  if (step >= phases * turns)
    return;
  int64_t end = step / turns * turns + turns;
  for (int64_t use = step + 1; use < end; ++use)
    if (postedAt(use) == step)
      nearKeys(use);
  for (int64_t phase = step / turns + 1; phase < phases; ++phase)
    if (phasePostedAt(phase) == step)
      farKeys(phase);
}

void Planner::computation(int64_t step, bool backward) {
  if (step >= phases * turns)
    return;
  int64_t phase = step / turns, turn = step % turns;
  Action compute;
  compute.owner = at(-phase, -turn);
  compute.use = step;
  compute.source =
      turn == 0 ? source(phase) : Buffer{Place::NearKeys, slot(step)};
  if (backward) {
    compute.gradients = true;
    compute.target =
        turn == 0 ? sums(phase) : Buffer{Place::NearGradients, step % 2};
    // Sums that others of the host add to begin at zero; so does a chunk's.
    if (step > 0) {
      Action clear = compute;
      clear.kind = Kind::Clear;
      clear.parts = turn == 0 ? neededByHost(rank, compute.owner)
                              : needed(rank, compute.owner);
      add(std::move(clear));
    }
  }
  if (step == 0) {
    // All that there is; which of it a query sees is the kernel's to know.
    actions.push_back(std::move(compute));
    return;
  }
  compute.parts = needed(rank, compute.owner);
  add(std::move(compute));
}

void Planner::accumulations(int64_t step) {
  auto accumulate = [&](int64_t reader, int64_t owner, int64_t use,
                        std::vector<Part> parts, Buffer from, Buffer to) {
    Action action;
    action.kind = Kind::Accumulate;
    action.gradients = true;
    action.peer = reader;
    action.owner = owner;
    action.use = use;
    action.source = from;
    action.target = to;
    action.parts = std::move(parts);
    add(std::move(action));
  };
  int64_t before = step - 1;
  if (before >= 0 && before < phases * turns && before % turns != 0) {
    int64_t phase = before / turns;
    int64_t reader = at(0, before % turns), lent = at(-phase, 0);
    accumulate(reader, lent, before, needed(reader, lent),
               {Place::NearArrivals, before % 2}, sums(phase));
  }
  for (int64_t phase = 1; phase < phases; ++phase)
    if (returnedAt(phase) == step) {
      int64_t reader = at(phase, 0);
      accumulate(reader, rank, phase * turns, neededByHost(reader, rank),
                 {Place::FarArrivals, 0}, {Place::OwnGradients, 0});
    }
}

} // namespace

int64_t countSteps(const Schedule &schedule, Direction direction) {
  int64_t ranks = schedule.ranks();
  if (direction == Direction::Forward || ranks == 1)
    return ranks;
  bool several = schedule.ranksPerHost > 1;
  return ranks + 1 + (several && schedule.hosts() > 1 ? 1 : 0);
}

int64_t ownerAt(const Schedule &schedule, int64_t rank, int64_t step) {
  int64_t turns = schedule.ranksPerHost;
  return Planner(schedule, rank).at(-(step / turns), -(step % turns));
}

int64_t readerAt(const Schedule &schedule, int64_t rank, int64_t step) {
  int64_t turns = schedule.ranksPerHost;
  return Planner(schedule, rank).at(step / turns, step % turns);
}

std::vector<Action> actionsAt(const Schedule &schedule, int64_t rank,
                              int64_t step, Direction direction) {
  bool backward = direction == Direction::Backward;
  Planner planner(schedule, rank);
  planner.messages(step, backward);
  planner.computation(step, backward);
  if (backward)
    planner.accumulations(step);
  return std::move(planner.actions);
}

std::vector<Part> layoutOf(const Schedule &schedule, int64_t rank, Place place,
                           int64_t use) {
  Planner planner(schedule, rank);
  switch (place) {
  case Place::OwnKeys:
  case Place::OwnGradients:
    return {};
  case Place::NearKeys:
  case Place::NearGradients:
    return planner.needed(rank, ownerAt(schedule, rank, use));
  case Place::FarKeys:
  case Place::FarGradients:
    return planner.neededByHost(rank, ownerAt(schedule, rank, use));
  case Place::NearArrivals: {
    int64_t turns = schedule.ranksPerHost;
    int64_t phase = use / turns;
    return planner.needed(planner.at(0, use % turns), planner.at(-phase, 0));
  }
  case Place::FarArrivals:
    return planner.neededByHost(readerAt(schedule, rank, use), rank);
  }
  return {};
}

Traffic trafficOf(const Schedule &schedule, int64_t rank) {
  Planner planner(schedule, rank);
  int64_t turns = schedule.ranksPerHost;
  int64_t slots = std::min(schedule.slots, schedule.ranks());
  std::vector<int64_t> near(slots, 0), far(slots, 0);
  Traffic traffic;
  for (int64_t use = 1; use < schedule.ranks(); ++use) {
    int64_t owner = ownerAt(schedule, rank, use), phase = use / turns;
    int64_t own = pairsOf(planner.needed(rank, owner));
    if (use % turns != 0) {
      (phase == 0 ? traffic.direct : traffic.forwarded) += own;
      near[use % slots] = std::max(near[use % slots], own);
      continue;
    }
    int64_t all = pairsOf(planner.neededByHost(rank, owner));
    traffic.direct += all;
    traffic.staged += all - own;
    far[phase % slots] = std::max(far[phase % slots], all);
  }
  for (int64_t slot = 0; slot < slots; ++slot)
    traffic.buffered += near[slot] + far[slot];
  return traffic;
}

} // namespace ringlet::ring
