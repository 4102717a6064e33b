//===- State.h - One state of the machine -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_SCHEDULE_STATE_H
#define RINGLET_LIB_SCHEDULE_STATE_H

#include "lib/Schedule/Machine.h"

#include <array>
#include <cstdint>

namespace ringlet::schedule {

/// What a variable names: nothing, a slot that was given away, a finished
/// product, or a slot or product by its number.
using Token = uint32_t;
constexpr Token noToken = 0;
constexpr Token copiedToken = 1; ///< a slot that was copied to
constexpr Token endedToken = 2;  ///< a released slot, a finished product
constexpr Token firstToken = 16; ///< product 0, slot 0 of channel 0

inline Token slotToken(unsigned channel, unsigned slot) {
  return firstToken + channel * Machine::maxSlots + slot;
}
inline unsigned channelOf(Token token) {
  return (token - firstToken) / Machine::maxSlots;
}
inline unsigned slotOf(Token token) {
  return (token - firstToken) % Machine::maxSlots;
}

struct Running {
  unsigned step; ///< that started it
  std::vector<Token> slots;
  bool continued = false; ///< another product has its sums
};

/// A group of a role.
struct Process {
  unsigned program = 0, group = 0;
  unsigned step = 0;
  std::vector<Token> vars;
  std::vector<Running> products; ///< in the order of their start
  std::vector<uint16_t> counters;
  std::vector<uint8_t> asked; ///< outcomes taken of the queue of each decision
};

enum class Written : uint8_t { Empty, Acquired, Full };

struct Slot {
  Written written = Written::Empty;
  uint8_t held = 0;     ///< readers that have awaited and not released it
  uint8_t released = 0; ///< readers that have released it
};

struct Ring {
  std::vector<Slot> slots;
  uint8_t writer = 0;                                ///< next slot to acquire
  std::array<uint8_t, Machine::maxGroups> readers{}; ///< next to await
};

/// Outcomes that some program has taken and others still will.
struct Queue {
  uint64_t outcomes = 0;
  unsigned length = 0;
};

struct Turn {
  uint8_t next = 0;
  bool taken = false;
};

struct State {
  std::vector<Process> processes;
  std::vector<Ring> rings;
  std::vector<Queue> queues; ///< of each decision
  std::vector<Turn> turns;   ///< of each program
};

/// The state before the first step.
State makeState(const Machine &machine);

/// Slots in a ring are alike: turns every ring so that the next one to acquire
/// is slot 0, and returns the state as a string.
std::string normalize(const Machine &machine, State &state);

/// How a step went.
enum class Progress { Done, Waits, Decides, Ended, Failed };

/// Runs steps of processes. Nothing is decided here.
class Executor {
public:
  explicit Executor(const Machine &machine);

  /// Runs one step of a process, if it can run. Sets `fault` if it fails.
  Progress run(State &state, unsigned process, Fault &fault) const;

  /// Where everything stands, for a fault.
  void describe(const State &state, Fault &fault) const;

private:
  Progress acquire(State &state, Process &process, const Step &step,
                   Fault &fault) const;
  Progress copy(State &state, Process &process, const Step &step,
                Fault &fault) const;
  Progress await(State &state, Process &process, const Step &step) const;
  Progress read(const State &state, Process &process, unsigned var,
                Fault &fault) const;
  Progress release(State &state, Process &process, const Step &step,
                   Fault &fault) const;
  Progress start(const State &state, Process &process, const Step &step,
                 Fault &fault) const;
  Progress takeSums(Process &process, const Step &step, Fault &fault) const;
  Progress finish(Process &process, const Step &step, Fault &fault) const;
  Progress use(Process &process, unsigned var, bool writes, Fault &fault) const;
  Progress move(const State &state, Process &process, const Step &step,
                Fault &fault) const;
  Progress drop(const State &state, Process &process, const Step &step,
                Fault &fault) const;
  Progress meet(State &state, const Process &process) const;
  Progress decide(State &state, Process &process, const Step &step) const;

  const Program &getProgram(const Process &process) const {
    return machine.programs[process.program];
  }
  Progress fail(Fault &fault, FaultKind kind, const Process &process,
                unsigned var = Step::none) const;

  const Machine &machine;
  /// Of each channel: the number of the first group of each program that reads
  /// it, and all readers as bits.
  std::vector<std::vector<unsigned>> firstReaders;
  std::vector<unsigned> allReaders;
  /// The processes that ask a decision.
  std::vector<std::vector<unsigned>> askers;
};

} // namespace ringlet::schedule

#endif // RINGLET_LIB_SCHEDULE_STATE_H
