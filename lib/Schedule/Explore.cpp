//===- Explore.cpp - Every state that a machine can reach -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/Explore.h"

#include "lib/Schedule/State.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <unordered_set>

using namespace ringlet::schedule;

namespace {

/// Outcomes that one program may be ahead of another one.
constexpr unsigned maxLead = 64;
/// Steps for each state that may be run at most: what bounds a search in loops
/// of which every number of steps is known.
constexpr uint64_t stepsOfState = 1000;

class Explorer {
public:
  Explorer(const Machine &machine, uint64_t maxStates)
      : machine(machine), executor(machine), maxStates(maxStates) {}

  Exploration run();

private:
  /// How a state was reached: the outcome of one decision after another state.
  struct Origin {
    size_t before;
    Outcome outcome;
  };
  struct Open {
    State state;
    size_t origin;
  };

  bool settle(State &state, Fault &fault);
  bool findDecider(const State &state, unsigned &decider, Fault &fault);
  bool findLeftover(const State &state, Fault &fault);
  bool fail(Fault fault, const State &state, size_t origin);
  bool visit(State state, size_t origin);

  const Machine &machine;
  Executor executor;
  uint64_t maxStates;
  Exploration result;
  std::unordered_set<std::string> seen;
  std::vector<Origin> origins;
  std::deque<Open> open;
};

} // namespace

/// Runs every process until it waits, ends or has to decide. Returns whether
/// something is wrong.
bool Explorer::settle(State &state, Fault &fault) {
  uint64_t maxSteps = std::max<uint64_t>(maxStates, 1) * stepsOfState;
  for (bool moved = true; moved;) {
    moved = false;
    for (unsigned p = 0; p < state.processes.size(); ++p) {
      Progress progress;
      while ((progress = executor.run(state, p, fault)) == Progress::Done) {
        moved = true;
        if (++result.steps > maxSteps) {
          fault = Fault{FaultKind::TooManyStates};
          fault.program = state.processes[p].program;
          fault.step = state.processes[p].step;
          return true;
        }
      }
      if (progress == Progress::Failed)
        return true;
    }
  }
  return false;
}

/// The process that decides next: of those that can, the one that is least
/// ahead of others, so that no queue grows while someone can catch up. If none
/// can, all have ended or there is a fault; returns whether there is.
bool Explorer::findDecider(const State &state, unsigned &decider,
                           Fault &fault) {
  unsigned least = Step::none, waiting = Step::none;
  decider = Step::none;
  for (unsigned p = 0; p < state.processes.size(); ++p) {
    const Process &process = state.processes[p];
    const std::vector<Step> &steps = machine.programs[process.program].steps;
    if (process.step == steps.size())
      continue;
    const Step &step = steps[process.step];
    if (step.kind != StepKind::Decide) {
      if (waiting == Step::none)
        waiting = p;
    } else if (state.queues[step.decision].length < least) {
      least = state.queues[step.decision].length;
      decider = p;
    }
  }
  unsigned culprit = decider;
  if (decider == Step::none) {
    if (waiting == Step::none)
      return findLeftover(state, fault);
    fault = Fault{FaultKind::Deadlock};
    culprit = waiting;
  } else if (least < maxLead) {
    return false;
  } else {
    fault = Fault{FaultKind::RunsAhead};
  }
  const Process &process = state.processes[culprit];
  fault.program = process.program;
  fault.group = process.group;
  fault.step = process.step;
  fault.channel = machine.programs[fault.program].steps[fault.step].channel;
  return true;
}

/// After the end all slots are empty, or else the next point of the grid would
/// begin with tiles of this one.
bool Explorer::findLeftover(const State &state, Fault &fault) {
  for (unsigned c = 0; c < state.rings.size(); ++c)
    for (const Slot &slot : state.rings[c].slots)
      if (slot.written != Written::Empty) {
        fault = Fault{FaultKind::Unbalanced};
        fault.channel = c;
        return true;
      }
  return false;
}

bool Explorer::fail(Fault fault, const State &state, size_t origin) {
  executor.describe(state, fault);
  for (size_t at = origin; at != 0; at = origins[at].before)
    fault.way.push_back(origins[at].outcome);
  std::reverse(fault.way.begin(), fault.way.end());
  result.fault = std::move(fault);
  return true;
}

/// Returns whether something is wrong.
bool Explorer::visit(State state, size_t origin) {
  Fault fault{};
  unsigned decider;
  if (settle(state, fault) || findDecider(state, decider, fault))
    return fail(std::move(fault), state, origin);
  if (!seen.insert(normalize(machine, state)).second)
    return false;
  result.states = seen.size();
  if (seen.size() > maxStates)
    return fail(Fault{FaultKind::TooManyStates}, state, origin);
  if (decider == Step::none)
    return false;
  open.push_back({std::move(state), origin});
  return false;
}

Exploration Explorer::run() {
  origins.push_back({0, {}});
  if (visit(makeState(machine), 0))
    return std::move(result);
  while (!open.empty()) {
    Open next = std::move(open.front());
    open.pop_front();
    Fault fault{};
    unsigned decider;
    findDecider(next.state, decider, fault);
    const Process &process = next.state.processes[decider];
    unsigned decision =
        machine.programs[process.program].steps[process.step].decision;
    for (bool goesOn : {false, true}) {
      State state = next.state;
      Queue &queue = state.queues[decision];
      queue.outcomes |= uint64_t(goesOn) << queue.length++;
      origins.push_back({next.origin, {process.program, process.step, goesOn}});
      if (visit(std::move(state), origins.size() - 1))
        return std::move(result);
    }
  }
  return std::move(result);
}

/// The programs that nothing connects with those of other parts, neither a
/// channel nor a decision.
static std::vector<std::vector<unsigned>> split(const Machine &machine) {
  std::vector<unsigned> part(machine.programs.size());
  std::iota(part.begin(), part.end(), 0);
  std::vector<unsigned> ofChannel(machine.slots.size(), Step::none);
  std::vector<unsigned> ofDecision(machine.decisions, Step::none);
  for (unsigned p = 0; p < machine.programs.size(); ++p)
    for (const Step &step : machine.programs[p].steps)
      for (auto [number, users] : {std::pair(step.channel, &ofChannel),
                                   std::pair(step.decision, &ofDecision)}) {
        if (number == Step::none)
          continue;
        unsigned &user = (*users)[number];
        if (user == Step::none)
          user = p;
        // Copies, since the elements change on the way.
        else if (unsigned from = part[p], to = part[user]; from != to)
          std::replace(part.begin(), part.end(), from, to);
      }
  std::map<unsigned, std::vector<unsigned>> parts;
  for (unsigned p = 0; p < part.size(); ++p)
    parts[part[p]].push_back(p);
  std::vector<std::vector<unsigned>> result;
  for (auto &[number, programs] : parts)
    result.push_back(std::move(programs));
  return result;
}

/// Explores some programs of `machine` and names them as there.
static Exploration explorePart(const Machine &machine,
                               const std::vector<unsigned> &part,
                               uint64_t maxStates) {
  Machine some{machine.slots, {}, machine.decisions};
  for (unsigned p : part)
    some.programs.push_back(machine.programs[p]);
  // Channels of other parts stay empty.
  Exploration result = Explorer(some, maxStates).run();
  if (Fault *fault = result.fault ? &*result.fault : nullptr) {
    fault->program = part[fault->program];
    for (Standing &standing : fault->standings)
      standing.program = part[standing.program];
    for (Outcome &outcome : fault->way)
      outcome.program = part[outcome.program];
  }
  return result;
}

Exploration ringlet::schedule::explore(const Machine &machine,
                                       uint64_t maxStates) {
  Exploration result;
  Fault fault{};
  if (findUsers(machine, fault)) {
    result.fault = std::move(fault);
    return result;
  }
  for (const std::vector<unsigned> &part : split(machine)) {
    Exploration found = explorePart(
        machine, part, maxStates - std::min(maxStates, result.states));
    result.states += found.states;
    result.steps += found.steps;
    if (found.fault) {
      result.fault = std::move(found.fault);
      break;
    }
  }
  return result;
}
