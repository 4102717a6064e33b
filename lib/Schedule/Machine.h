//===- Machine.h - Roles, channels and products as a state machine -*- C++ -*-//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_SCHEDULE_MACHINE_H
#define RINGLET_LIB_SCHEDULE_MACHINE_H

#include <string>
#include <vector>

namespace ringlet::schedule {

//===----------------------------------------------------------------------===//
// What a role does
//===----------------------------------------------------------------------===//

/// A variable of a program: a name for a slot, for a tile that lies in one, for
/// a product under way, or for registers that products read or add to.
enum class VarKind { Slot, Tile, Product, Register };

enum class StepKind {
  Acquire, ///< waits for the next slot of `channel` to be empty: slot `var`
  Copy,    ///< fills slot `var`
  Await,   ///< waits for the next slot of `channel` to be full: slot `var`
  Read,    ///< reads the slot that `var`, a slot or a tile, names
  Release, ///< empties slot `var`
  Start,   ///< starts product `var`, which reads the tiles `reads`, reads or
           ///< adds to the registers `left` and `sums` or goes on with the
           ///< sums of product `onto`
  Finish,  ///< waits for product `var`
  Wait,    ///< waits for product `var`, whose sums another one goes on with
  Use,     ///< reads registers `var`
  Write,   ///< writes registers `var`
  Enter,   ///< waits for the turn of the group
  Leave,   ///< gives the turn to the next group
  Meet,    ///< waits for all groups of the role
  Move,    ///< `moves`, all at once
  Drop,    ///< the variables `reads` end
  Decide,  ///< goes on if the next outcome of `decision` is true, else jumps
  Count,   ///< goes on the first `limit` times, then jumps and starts again
  Jump,
};

/// One step of a program. Only the members that the kind names mean anything.
struct Step {
  static constexpr unsigned none = ~0u;

  StepKind kind;
  unsigned place = 0; ///< the caller's number for where the step comes from
  unsigned var = none;
  unsigned channel = none;
  unsigned decision = none;
  unsigned counter = none;
  unsigned limit = 0;
  unsigned target = 0; ///< the step to jump to
  unsigned left = none, sums = none, onto = none;
  std::vector<unsigned> reads{};
  struct VarMove {
    unsigned to, from;
  };
  std::vector<VarMove> moves{};
};

/// What one role does, once for each of its groups of warps. Ends after its
/// last step.
struct Program {
  std::string name;
  /// Above 1 only where groups do not run alike because they take turns.
  unsigned groups = 1;
  unsigned counters = 0;
  std::vector<VarKind> vars;
  std::vector<Step> steps;

  unsigned addVar(VarKind kind) {
    vars.push_back(kind);
    return vars.size() - 1;
  }
  unsigned add(Step step) {
    steps.push_back(std::move(step));
    return steps.size() - 1;
  }
};

/// Roles that run at the same time. A decision is a question to which the n-th
/// answer is the same for all programs that ask it, and otherwise unknown: may
/// a loop go on, is a condition true.
struct Machine {
  static constexpr unsigned maxSlots = 16;
  static constexpr unsigned maxGroups = 8; ///< of all readers of a channel

  std::vector<unsigned> slots; ///< of each channel
  std::vector<Program> programs;
  unsigned decisions = 0;
};

//===----------------------------------------------------------------------===//
// What can be wrong with it
//===----------------------------------------------------------------------===//

enum class FaultKind {
  // Channels.
  NoWriter,
  NoReader,
  TwoWriters,
  TooManyReaders,
  WriterInTurns,
  // Slots.
  NotCopied,
  CopiedTwice,
  CopyToAwaited,
  ReadOfAcquired,
  ReadAfterRelease,
  ReleaseOfAcquired,
  ReleasedTwice,
  ReleasedEarly,
  NotReleased,
  NotASlot,
  // Products.
  NotFinished,
  FinishedTwice,
  FinishedOutOfOrder,
  NotContinued,
  NotAProduct,
  SumsInUse,
  RegistersInUse,
  // All together.
  Deadlock,
  Unbalanced,
  RunsAhead,
  TooManyStates,
};

/// Where one group of one role stands.
struct Standing {
  unsigned program = 0, group = 0;
  bool ended = false;
  unsigned step = 0; ///< next one, unless it has ended
};

/// How many slots of a channel are in which state.
struct Filling {
  unsigned empty = 0;
  unsigned acquired = 0; ///< and not copied to
  unsigned full = 0;     ///< and not awaited by any group
  unsigned held = 0;     ///< awaited, and not released by all groups
};

/// An outcome of a decision on the way to a fault.
struct Outcome {
  unsigned program = 0, step = 0;
  bool goesOn = false;
};

struct Fault {
  FaultKind kind;
  unsigned program = 0, group = 0;
  unsigned step = 0; ///< of the program: the one at fault
  unsigned var = Step::none;
  unsigned channel = Step::none;
  unsigned other = Step::none; ///< step of the program that it collides with
  std::vector<Standing> standings{};
  std::vector<Filling> fillings{};
  std::vector<Outcome> way{};
};

/// The first fault that concerns which roles use which channels, if any.
bool findUsers(const Machine &machine, Fault &fault);

} // namespace ringlet::schedule

#endif // RINGLET_LIB_SCHEDULE_MACHINE_H
