//===- Execute.cpp - What each step does to a state -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/State.h"

#include <algorithm>

using namespace ringlet::schedule;

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

State ringlet::schedule::makeState(const Machine &machine) {
  State state;
  for (unsigned p = 0; p < machine.programs.size(); ++p)
    for (unsigned g = 0; g < machine.programs[p].groups; ++g) {
      Process process;
      process.program = p;
      process.group = g;
      process.vars.assign(machine.programs[p].vars.size(), noToken);
      process.counters.assign(machine.programs[p].counters, 0);
      process.asked.assign(machine.decisions, 0);
      state.processes.push_back(std::move(process));
    }
  for (unsigned slots : machine.slots)
    state.rings.emplace_back().slots.resize(slots);
  state.queues.resize(machine.decisions);
  state.turns.resize(machine.programs.size());
  return state;
}

static bool namesSlot(VarKind kind) {
  return kind == VarKind::Slot || kind == VarKind::Tile;
}

static void turnRings(const Machine &machine, State &state) {
  auto turn = [&](Token &token) {
    if (token < firstToken)
      return;
    unsigned channel = channelOf(token);
    unsigned size = state.rings[channel].slots.size();
    unsigned slot = slotOf(token) + size - state.rings[channel].writer;
    token = slotToken(channel, slot % size);
  };
  for (Process &process : state.processes) {
    const std::vector<VarKind> &kinds = machine.programs[process.program].vars;
    for (size_t v = 0; v < kinds.size(); ++v)
      if (namesSlot(kinds[v]))
        turn(process.vars[v]);
    for (Running &product : process.products)
      std::for_each(product.slots.begin(), product.slots.end(), turn);
  }
  for (Ring &ring : state.rings) {
    unsigned size = ring.slots.size();
    std::rotate(ring.slots.begin(), ring.slots.begin() + ring.writer,
                ring.slots.end());
    for (uint8_t &reader : ring.readers)
      reader = (reader + size - ring.writer) % size;
    ring.writer = 0;
  }
}

std::string ringlet::schedule::normalize(const Machine &machine, State &state) {
  turnRings(machine, state);
  std::string text;
  auto put = [&](uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      text.push_back(static_cast<char>(value >> (8 * i)));
  };
  for (const Process &process : state.processes) {
    put(process.step, 4);
    const std::vector<VarKind> &kinds = machine.programs[process.program].vars;
    for (size_t v = 0; v < kinds.size(); ++v)
      if (kinds[v] != VarKind::Register)
        put(process.vars[v], 4);
    put(process.products.size(), 4);
    for (const Running &product : process.products) {
      put(product.step, 4);
      put(product.continued, 1);
      for (Token slot : product.slots)
        put(slot, 4);
    }
    for (uint16_t counter : process.counters)
      put(counter, 2);
    for (uint8_t asked : process.asked)
      put(asked, 1);
  }
  for (const Ring &ring : state.rings) {
    for (const Slot &slot : ring.slots) {
      put(static_cast<uint64_t>(slot.written), 1);
      put(slot.held, 1);
      put(slot.released, 1);
    }
    for (uint8_t reader : ring.readers)
      put(reader, 1);
  }
  for (const Queue &queue : state.queues) {
    put(queue.length, 1);
    put(queue.outcomes, (queue.length + 7) / 8);
  }
  for (const Turn &turn : state.turns) {
    put(turn.next, 1);
    put(turn.taken, 1);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

Executor::Executor(const Machine &machine)
    : machine(machine),
      firstReaders(machine.slots.size(),
                   std::vector<unsigned>(machine.programs.size(), Step::none)),
      allReaders(machine.slots.size(), 0), askers(machine.decisions) {
  std::vector<unsigned> counts(machine.slots.size(), 0);
  for (unsigned p = 0; p < machine.programs.size(); ++p)
    for (const Step &step : machine.programs[p].steps)
      if (step.kind == StepKind::Await &&
          firstReaders[step.channel][p] == Step::none) {
        firstReaders[step.channel][p] = counts[step.channel];
        counts[step.channel] += machine.programs[p].groups;
        allReaders[step.channel] = (1u << counts[step.channel]) - 1;
      }
  unsigned number = 0;
  for (const Program &program : machine.programs)
    for (unsigned g = 0; g < program.groups; ++g, ++number)
      for (const Step &step : program.steps)
        if (step.kind == StepKind::Decide &&
            (askers[step.decision].empty() ||
             askers[step.decision].back() != number))
          askers[step.decision].push_back(number);
}

Progress Executor::fail(Fault &fault, FaultKind kind, const Process &process,
                        unsigned var) const {
  fault = Fault{kind};
  fault.program = process.program;
  fault.group = process.group;
  fault.step = process.step;
  fault.var = var;
  return Progress::Failed;
}

void Executor::describe(const State &state, Fault &fault) const {
  fault.standings.clear();
  for (const Process &process : state.processes) {
    Standing standing{process.program, process.group};
    standing.ended = process.step == getProgram(process).steps.size();
    standing.step = process.step;
    fault.standings.push_back(standing);
  }
  fault.fillings.clear();
  for (const Ring &ring : state.rings) {
    Filling &filling = fault.fillings.emplace_back();
    for (const Slot &slot : ring.slots)
      ++(slot.written == Written::Empty      ? filling.empty
         : slot.written == Written::Acquired ? filling.acquired
         : slot.held || slot.released        ? filling.held
                                             : filling.full);
  }
}

/// Whether `var` is the only variable of its kind, but for those in `others`,
/// for the slot or product that it names.
static bool isOnlyName(const Program &program, const Process &process,
                       unsigned var, const std::vector<unsigned> &others) {
  VarKind kind = program.vars[var];
  if ((kind != VarKind::Slot && kind != VarKind::Product) ||
      process.vars[var] < firstToken)
    return false;
  for (unsigned v = 0; v < program.vars.size(); ++v)
    if (v != var && program.vars[v] == kind &&
        process.vars[v] == process.vars[var] &&
        std::find(others.begin(), others.end(), v) == others.end())
      return false;
  return true;
}

/// What is wrong when nothing names a slot or product any more.
static FaultKind getLoss(const State &state, VarKind kind, Token token) {
  if (kind == VarKind::Product)
    return FaultKind::NotFinished;
  const Slot &slot = state.rings[channelOf(token)].slots[slotOf(token)];
  return slot.written == Written::Acquired ? FaultKind::NotCopied
                                           : FaultKind::NotReleased;
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

Progress Executor::acquire(State &state, Process &process, const Step &step,
                           Fault &fault) const {
  Ring &ring = state.rings[step.channel];
  for (const Slot &slot : ring.slots)
    if (slot.written == Written::Acquired) {
      fail(fault, FaultKind::NotCopied, process, step.var);
      fault.channel = step.channel;
      return Progress::Failed;
    }
  Slot &slot = ring.slots[ring.writer];
  if (slot.written != Written::Empty)
    return Progress::Waits;
  slot.written = Written::Acquired;
  process.vars[step.var] = slotToken(step.channel, ring.writer);
  ring.writer = (ring.writer + 1) % ring.slots.size();
  return Progress::Done;
}

Progress Executor::copy(State &state, Process &process, const Step &step,
                        Fault &fault) const {
  Token token = process.vars[step.var];
  if (token == copiedToken)
    return fail(fault, FaultKind::CopiedTwice, process, step.var);
  if (token == endedToken)
    return fail(fault, FaultKind::CopyToAwaited, process, step.var);
  if (token == noToken)
    return fail(fault, FaultKind::NotASlot, process, step.var);
  Slot &slot = state.rings[channelOf(token)].slots[slotOf(token)];
  if (slot.written != Written::Acquired)
    return fail(fault, FaultKind::CopyToAwaited, process, step.var);
  slot.written = Written::Full;
  const std::vector<VarKind> &kinds = getProgram(process).vars;
  for (size_t v = 0; v < kinds.size(); ++v)
    if (namesSlot(kinds[v]) && process.vars[v] == token)
      process.vars[v] = copiedToken;
  return Progress::Done;
}

Progress Executor::await(State &state, Process &process,
                         const Step &step) const {
  Ring &ring = state.rings[step.channel];
  unsigned reader = firstReaders[step.channel][process.program] + process.group;
  uint8_t &cursor = ring.readers[reader];
  Slot &slot = ring.slots[cursor];
  unsigned bit = 1u << reader;
  if (slot.written != Written::Full || ((slot.held | slot.released) & bit))
    return Progress::Waits;
  slot.held |= bit;
  process.vars[step.var] = slotToken(step.channel, cursor);
  cursor = (cursor + 1) % ring.slots.size();
  return Progress::Done;
}

Progress Executor::read(const State &state, Process &process, unsigned var,
                        Fault &fault) const {
  Token token = process.vars[var];
  // A tile need not lie in a slot.
  if (token == noToken && getProgram(process).vars[var] == VarKind::Tile)
    return Progress::Done;
  if (token == endedToken)
    return fail(fault, FaultKind::ReadAfterRelease, process, var);
  if (token == copiedToken)
    return fail(fault, FaultKind::ReadOfAcquired, process, var);
  if (token == noToken)
    return fail(fault, FaultKind::NotASlot, process, var);
  const Slot &slot = state.rings[channelOf(token)].slots[slotOf(token)];
  unsigned reader = firstReaders[channelOf(token)][process.program];
  if (reader == Step::none || !(slot.held & (1u << (reader + process.group))))
    return fail(fault, FaultKind::ReadOfAcquired, process, var);
  return Progress::Done;
}

Progress Executor::release(State &state, Process &process, const Step &step,
                           Fault &fault) const {
  Token token = process.vars[step.var];
  if (token == endedToken)
    return fail(fault, FaultKind::ReleasedTwice, process, step.var);
  if (token == copiedToken)
    return fail(fault, FaultKind::ReleaseOfAcquired, process, step.var);
  if (token == noToken)
    return fail(fault, FaultKind::NotASlot, process, step.var);
  Slot &slot = state.rings[channelOf(token)].slots[slotOf(token)];
  unsigned reader = firstReaders[channelOf(token)][process.program];
  unsigned bit = reader == Step::none ? 0 : 1u << (reader + process.group);
  if (!(slot.held & bit))
    return fail(fault, FaultKind::ReleaseOfAcquired, process, step.var);
  for (const Running &product : process.products)
    for (Token read : product.slots)
      if (read == token) {
        fail(fault, FaultKind::ReleasedEarly, process, step.var);
        fault.other = product.step;
        return Progress::Failed;
      }
  const std::vector<VarKind> &kinds = getProgram(process).vars;
  for (size_t v = 0; v < kinds.size(); ++v)
    if (namesSlot(kinds[v]) && process.vars[v] == token)
      process.vars[v] = endedToken;
  slot.held &= ~bit;
  slot.released |= bit;
  if (slot.released == allReaders[channelOf(token)])
    slot = Slot();
  return Progress::Done;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Progress Executor::start(const State &state, Process &process, const Step &step,
                         Fault &fault) const {
  Running product{process.step, {}};
  for (unsigned tile : step.reads) {
    if (read(state, process, tile, fault) == Progress::Failed)
      return Progress::Failed;
    if (process.vars[tile] != noToken)
      product.slots.push_back(process.vars[tile]);
  }
  for (unsigned registers : {step.left, step.sums})
    if (registers != Step::none &&
        use(process, registers, /*writes=*/false, fault) == Progress::Failed)
      return Progress::Failed;
  if (step.onto != Step::none &&
      takeSums(process, step, fault) == Progress::Failed)
    return Progress::Failed;
  process.vars[step.var] = firstToken + process.products.size();
  process.products.push_back(std::move(product));
  return Progress::Done;
}

/// Nobody else may have the sums of the product that another one goes on with.
Progress Executor::takeSums(Process &process, const Step &step,
                            Fault &fault) const {
  Token token = process.vars[step.onto];
  if (token < firstToken)
    return fail(fault, FaultKind::NotAProduct, process, step.onto);
  Running &before = process.products[token - firstToken];
  if (!before.continued) {
    before.continued = true;
    return Progress::Done;
  }
  fail(fault, FaultKind::SumsInUse, process, step.onto);
  fault.other = process.products.back().step;
  return Progress::Failed;
}

Progress Executor::finish(Process &process, const Step &step,
                          Fault &fault) const {
  Token token = process.vars[step.var];
  if (token == endedToken)
    return fail(fault, FaultKind::FinishedTwice, process, step.var);
  if (token < firstToken)
    return fail(fault, FaultKind::NotAProduct, process, step.var);
  bool isContinued = process.products[token - firstToken].continued;
  if (isContinued != (step.kind == StepKind::Wait)) {
    fail(fault, isContinued ? FaultKind::SumsInUse : FaultKind::NotContinued,
         process, step.var);
    fault.other = process.products.back().step;
    return Progress::Failed;
  }
  if (token != firstToken) {
    fail(fault, FaultKind::FinishedOutOfOrder, process, step.var);
    fault.other = process.products.front().step;
    return Progress::Failed;
  }
  process.products.erase(process.products.begin());
  const std::vector<VarKind> &kinds = getProgram(process).vars;
  for (size_t v = 0; v < kinds.size(); ++v) {
    Token &other = process.vars[v];
    if (kinds[v] == VarKind::Product && other >= firstToken)
      other = other == firstToken ? endedToken : other - 1;
  }
  return Progress::Done;
}

Progress Executor::use(Process &process, unsigned var, bool writes,
                       Fault &fault) const {
  for (const Running &product : process.products) {
    const Step &started = getProgram(process).steps[product.step];
    bool sums = started.sums == var;
    if (!sums && !(writes && started.left == var))
      continue;
    fail(fault, sums ? FaultKind::SumsInUse : FaultKind::RegistersInUse,
         process, var);
    fault.other = product.step;
    return Progress::Failed;
  }
  return Progress::Done;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

Progress Executor::move(const State &state, Process &process, const Step &step,
                        Fault &fault) const {
  const Program &program = getProgram(process);
  std::vector<Token> before = process.vars;
  for (auto [to, from] : step.moves)
    if (program.vars[to] == VarKind::Register &&
        (use(process, from, /*writes=*/false, fault) == Progress::Failed ||
         use(process, to, /*writes=*/true, fault) == Progress::Failed))
      return Progress::Failed;
  for (auto [to, from] : step.moves)
    process.vars[to] = before[from];
  // What a variable named before still has to have a name.
  for (auto [to, from] : step.moves) {
    std::swap(process.vars[to], before[to]);
    bool lost =
        process.vars[to] != before[to] && isOnlyName(program, process, to, {});
    std::swap(process.vars[to], before[to]);
    if (lost)
      return fail(fault, getLoss(state, program.vars[to], before[to]), process,
                  to);
  }
  return Progress::Done;
}

Progress Executor::drop(const State &state, Process &process, const Step &step,
                        Fault &fault) const {
  const Program &program = getProgram(process);
  // Products first: a slot that is not released may wait for one of them.
  for (VarKind kind : {VarKind::Product, VarKind::Slot})
    for (unsigned var : step.reads)
      if (program.vars[var] == kind &&
          isOnlyName(program, process, var, step.reads))
        return fail(fault, getLoss(state, kind, process.vars[var]), process,
                    var);
  for (unsigned var : step.reads)
    process.vars[var] = noToken;
  return Progress::Done;
}

//===----------------------------------------------------------------------===//
// Groups and decisions
//===----------------------------------------------------------------------===//

Progress Executor::meet(State &state, const Process &process) const {
  unsigned program = process.program, step = process.step;
  for (const Process &other : state.processes)
    if (other.program == program && other.step != step)
      return Progress::Waits;
  for (Process &other : state.processes)
    if (other.program == program)
      ++other.step;
  return Progress::Done;
}

Progress Executor::decide(State &state, Process &process,
                          const Step &step) const {
  Queue &queue = state.queues[step.decision];
  uint8_t &asked = process.asked[step.decision];
  if (asked == queue.length)
    return Progress::Decides;
  bool goesOn = (queue.outcomes >> asked) & 1;
  process.step = goesOn ? process.step + 1 : step.target;
  ++asked;
  const std::vector<unsigned> &all = askers[step.decision];
  if (std::all_of(all.begin(), all.end(), [&](unsigned asker) {
        return state.processes[asker].asked[step.decision] > 0;
      })) {
    for (unsigned asker : all)
      --state.processes[asker].asked[step.decision];
    queue.outcomes >>= 1;
    --queue.length;
  }
  return Progress::Done;
}

Progress Executor::run(State &state, unsigned number, Fault &fault) const {
  Process &process = state.processes[number];
  const Program &program = getProgram(process);
  if (process.step == program.steps.size())
    return Progress::Ended;
  const Step &step = program.steps[process.step];
  // A variable that is set again must not have been the last name of anything.
  auto isLost = [&](unsigned var) {
    if (!isOnlyName(program, process, var, {}))
      return false;
    fail(fault, getLoss(state, program.vars[var], process.vars[var]), process,
         var);
    return true;
  };
  Turn &turn = state.turns[process.program];
  Progress progress = Progress::Done;
  switch (step.kind) {
  case StepKind::Acquire:
    progress = acquire(state, process, step, fault);
    break;
  case StepKind::Copy:
    progress = copy(state, process, step, fault);
    break;
  case StepKind::Await:
    progress =
        isLost(step.var) ? Progress::Failed : await(state, process, step);
    break;
  case StepKind::Read:
    progress = read(state, process, step.var, fault);
    break;
  case StepKind::Release:
    progress = release(state, process, step, fault);
    break;
  case StepKind::Start:
    progress = isLost(step.var) ? Progress::Failed
                                : start(state, process, step, fault);
    break;
  case StepKind::Finish:
  case StepKind::Wait:
    progress = finish(process, step, fault);
    break;
  case StepKind::Use:
  case StepKind::Write:
    progress = use(process, step.var, step.kind == StepKind::Write, fault);
    break;
  case StepKind::Enter:
    if (turn.taken || turn.next != process.group)
      return Progress::Waits;
    turn.taken = true;
    break;
  case StepKind::Leave:
    turn = {static_cast<uint8_t>((process.group + 1) % program.groups), false};
    break;
  case StepKind::Meet:
    return meet(state, process);
  case StepKind::Move:
    progress = move(state, process, step, fault);
    break;
  case StepKind::Drop:
    progress = drop(state, process, step, fault);
    break;
  case StepKind::Decide:
    return decide(state, process, step);
  case StepKind::Count:
    if (process.counters[step.counter] < step.limit) {
      ++process.counters[step.counter];
      break;
    }
    process.counters[step.counter] = 0;
    process.step = step.target;
    return Progress::Done;
  case StepKind::Jump:
    process.step = step.target;
    return Progress::Done;
  }
  if (progress == Progress::Done)
    ++process.step;
  return progress;
}
