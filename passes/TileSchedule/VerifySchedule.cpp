//===- VerifySchedule.cpp - Prove that a schedule cannot go wrong -*- C++ -*-=//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/Explore.h"
#include "passes/TileSchedule/Passes.h"
#include "passes/TileSchedule/ScheduleProgram.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace ringlet {
#define GEN_PASS_DEF_RTILEVERIFYSCHEDULE
#include "passes/TileSchedule/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::schedule;

namespace {

/// Says what is wrong with a schedule, where, and how it came to it.
class Reporter {
public:
  Reporter(const ScheduleProgram &program, const Fault &fault,
           uint64_t maxStates)
      : program(program), fault(fault), maxStates(maxStates) {}

  void report();

private:
  const Step *getStep(unsigned role, unsigned step) const {
    const std::vector<Step> &steps = program.machine.programs[role].steps;
    return step < steps.size() ? &steps[step] : nullptr;
  }
  Operation *getPlace(unsigned role, unsigned step) const {
    const Step *at = getStep(role, step);
    return at ? program.places[at->place] : program.roles[role];
  }
  /// The operation that made what the fault is about.
  Operation *getDefinition() const {
    return program.definitions[fault.program][fault.var];
  }
  std::string getName(unsigned role, unsigned group) const;
  bool losesSomething() const;
  std::string getMessage() const;
  std::string describe(const Standing &standing) const;
  std::string describe(const Filling &filling) const;
  void noteRoles(InFlightDiagnostic &error) const;
  void noteWay(InFlightDiagnostic &error) const;
  void noteAlone(InFlightDiagnostic &error) const;

  const ScheduleProgram &program;
  const Fault &fault;
  uint64_t maxStates;
};

} // namespace

/// "role 'load'", with the number of the group where there are several.
std::string Reporter::getName(unsigned role, unsigned group) const {
  const Program &code = program.machine.programs[role];
  std::string name = "role '" + code.name + "'";
  return code.groups == 1
             ? name
             : llvm::formatv("group {0} of {1}", group, name).str();
}

/// Whether the fault is that nothing names a slot or product any more.
bool Reporter::losesSomething() const {
  if (fault.kind == FaultKind::NotCopied)
    return getStep(fault.program, fault.step)->kind != StepKind::Acquire;
  return fault.kind == FaultKind::NotReleased ||
         fault.kind == FaultKind::NotFinished;
}

std::string Reporter::getMessage() const {
  switch (fault.kind) {
  case FaultKind::NoWriter:
    return "expected a role that copies to the channel, found none";
  case FaultKind::NoReader:
    return "expected a role that awaits what is copied to the channel, found "
           "none";
  case FaultKind::TwoWriters:
    return "expected one role that acquires slots of a channel, found a second "
           "one";
  case FaultKind::TooManyReaders:
    return llvm::formatv("expected roles of at most {0} groups to await slots "
                         "of a channel, found more",
                         schedule::Machine::maxGroups)
        .str();
  case FaultKind::WriterInTurns:
    return "expected a role without rtile.in_turn to acquire slots, found one "
           "with it";
  case FaultKind::NotCopied:
    return losesSomething()
               ? "expected a copy to the slot on every way, found one without"
               : "expected a copy to the slot that was acquired before, found "
                 "none";
  case FaultKind::CopiedTwice:
    return "expected one copy to a slot, found a second one";
  case FaultKind::CopyToAwaited:
    return "expected a copy to an acquired slot, found an awaited one";
  case FaultKind::ReadOfAcquired:
    return "expected an awaited slot to be read, found an acquired one";
  case FaultKind::ReadAfterRelease:
    return "expected the slot to be read before its release, found it released";
  case FaultKind::ReleaseOfAcquired:
    return "expected an awaited slot to be released, found an acquired one";
  case FaultKind::ReleasedTwice:
    return "expected one release of a slot, found a second one";
  case FaultKind::ReleasedEarly:
    return "expected the products that read the slot to be finished before its "
           "release, found one under way";
  case FaultKind::NotReleased:
    return "expected a release of the slot on every way, found one without";
  case FaultKind::NotASlot:
    return "expected a slot, found a value that names none on some way";
  case FaultKind::NotFinished:
    return "expected an rtile.finish_dot of the product on every way, found "
           "one without";
  case FaultKind::FinishedTwice:
    return "expected one rtile.finish_dot of a product, found a second one";
  case FaultKind::FinishedOutOfOrder:
    return "expected products to be finished in the order in which they were "
           "started, found an earlier one under way";
  case FaultKind::NotContinued:
    return "expected a product that another one goes on with, found one whose "
           "sums nobody waits for";
  case FaultKind::NotAProduct:
    return "expected a product, found a value that names none on some way";
  case FaultKind::SumsInUse:
    return "expected the sums that a product adds to not to be used before it "
           "is finished, found it under way";
  case FaultKind::RegistersInUse:
    return "expected the left operand of a product not to be written before it "
           "is finished, found it under way";
  case FaultKind::Deadlock:
    return "expected some role to go on, found all of them waiting or at their "
           "end";
  case FaultKind::Unbalanced:
    return "expected all slots of the channel to be empty after a point of the "
           "grid, found " +
           describe(fault.fillings[fault.channel]);
  case FaultKind::RunsAhead:
    return "expected channels to bound how far a role runs ahead of another "
           "one, found no bound";
  case FaultKind::TooManyStates:
    return llvm::formatv("expected at most {0} states of the schedule, found "
                         "more; a greater max-states or fewer slots may help",
                         maxStates)
        .str();
  }
  llvm_unreachable("all kinds of faults have a message");
}

static std::string describeWait(StepKind kind, unsigned channel) {
  std::string name = llvm::formatv(" of channel {0}", channel).str();
  switch (kind) {
  case StepKind::Acquire:
    return "waits for an empty slot" + name;
  case StepKind::Await:
    return "waits for a full slot" + name;
  case StepKind::Enter:
    return "waits for its turn";
  case StepKind::Meet:
    return "waits for the other groups";
  default:
    return "is here";
  }
}

std::string Reporter::describe(const Standing &standing) const {
  std::string name = getName(standing.program, standing.group) + " ";
  if (standing.ended)
    return name + "has ended";
  const Step *step = getStep(standing.program, standing.step);
  return name + describeWait(step->kind, step->channel);
}

std::string Reporter::describe(const Filling &filling) const {
  std::string text =
      llvm::formatv("{0} empty, {1} full", filling.empty, filling.full).str();
  if (filling.acquired)
    text += llvm::formatv(", {0} acquired", filling.acquired).str();
  if (filling.held)
    text += llvm::formatv(", {0} awaited and not released", filling.held).str();
  return text;
}

/// Where every role stands, and what is in the channels.
void Reporter::noteRoles(InFlightDiagnostic &error) const {
  for (const Standing &standing : fault.standings)
    error.attachNote(getPlace(standing.program, standing.step)->getLoc())
        << describe(standing);
  for (auto [number, filling] : llvm::enumerate(fault.fillings)) {
    rtile::ChannelOp channel = program.channels[number];
    error.attachNote(channel.getLoc())
        << "channel " << number << ": " << describe(filling);
  }
}

/// How often loops and branches went which way.
void Reporter::noteWay(InFlightDiagnostic &error) const {
  // Counted at the first role that met the decision, in the order of meeting.
  llvm::MapVector<Operation *, std::pair<unsigned, unsigned>> counts;
  for (const Outcome &outcome : fault.way) {
    auto &count = counts[getPlace(outcome.program, outcome.step)];
    ++(outcome.goesOn ? count.first : count.second);
  }
  for (auto &[op, count] : counts) {
    auto [taken, left] = count;
    Diagnostic &note = error.attachNote(op->getLoc());
    if (isa<scf::IfOp>(op))
      note << "on the way: condition true: " << taken << ", false: " << left;
    else if (isa<rtile::RoleOp>(op))
      note << "on the way: points of the grid begun: " << taken;
    else
      note << "on the way: steps of this loop: " << taken << ", ends: " << left;
  }
}

/// Loops that a role may run more often than the other roles think.
void Reporter::noteAlone(InFlightDiagnostic &error) const {
  for (Operation *op : program.decisions.alone)
    error.attachNote(op->getLoc())
        << (isa<scf::IfOp>(op)
                ? "no condition of another role is known to equal this one"
                : "no loop of another role is known to run as often as this "
                  "one");
}

void Reporter::report() {
  bool usesChannels = fault.kind <= FaultKind::WriterInTurns;
  Operation *at = getPlace(fault.program, fault.step);
  if (losesSomething())
    at = getDefinition();
  else if (fault.kind == FaultKind::TooManyStates)
    at = program.roles.front()->getParentOp();
  else if (fault.kind == FaultKind::Unbalanced)
    at = program.channels[fault.channel];
  InFlightDiagnostic error = at->emitError(getMessage());
  if (usesChannels) {
    rtile::ChannelOp channel = program.channels[fault.channel];
    error.attachNote(channel.getLoc()) << "the channel";
    return;
  }
  if (losesSomething())
    error.attachNote(getPlace(fault.program, fault.step)->getLoc())
        << "nothing names it any more after this";
  else if (fault.var != Step::none && getDefinition() != at)
    error.attachNote(getDefinition()->getLoc()) << "it begins here";
  if (fault.other != Step::none)
    error.attachNote(getPlace(fault.program, fault.other)->getLoc())
        << "the product under way";
  bool concernsAll = fault.kind >= FaultKind::Deadlock;
  if (concernsAll)
    noteRoles(error);
  noteWay(error);
  if (concernsAll)
    noteAlone(error);
}

namespace {

struct VerifySchedule : ringlet::impl::RTileVerifyScheduleBase<VerifySchedule> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      if (func.getScheduled() && failed(verify(func)))
        signalPassFailure();
    });
  }

  LogicalResult verify(rtile::FuncOp func) {
    FailureOr<ScheduleProgram> program = makeScheduleProgram(func);
    if (failed(program))
      return failure();
    Exploration exploration = explore(program->machine, maxStates.getValue());
    if (exploration.fault) {
      Reporter(*program, *exploration.fault, maxStates.getValue()).report();
      return failure();
    }
    remark::passed(func.getLoc(), remark::RemarkOpts::name("VerifiedSchedule")
                                      .category("rtile-verify-schedule"))
        << llvm::formatv("no role waits for ever, and every slot and product "
                         "is used as it has to be: proved in {0} states",
                         exploration.states)
               .str();
    return success();
  }
};

} // namespace
