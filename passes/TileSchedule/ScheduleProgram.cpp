//===- ScheduleProgram.cpp - Scheduled kernels as state machines -*- C++ -*-==//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileSchedule/ScheduleProgram.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::schedule;

namespace {

/// Writes the program of one role.
class ProgramWriter {
public:
  ProgramWriter(ScheduleProgram &result, rtile::RoleOp role,
                const llvm::DenseMap<Value, unsigned> &channels)
      : result(result), role(role), channels(channels) {}

  LogicalResult write();

private:
  void findTiles();
  void findVars();
  void addVar(Value value, VarKind kind);
  std::optional<unsigned> getVar(Value value) const {
    auto place = vars.find(value);
    if (place == vars.end())
      return std::nullopt;
    return place->second;
  }
  VarKind getKind(unsigned var) const { return program.vars[var]; }

  Step makeStep(StepKind kind, Operation *op);
  void addStep(StepKind kind, Operation *op, Value var);
  FailureOr<unsigned> getChannel(Operation *op, Value channel);
  void addMoves(Operation *op, ValueRange to, ValueRange from);
  void addDrop(Operation *op, ArrayRef<Value> values);
  /// Drops what `block` itself defines.
  void addDrop(Operation *op, Block &block);
  LogicalResult checkOperands(Operation *op);
  void addUses(Operation *op);

  LogicalResult writeBlock(Block &block);
  LogicalResult writeOperation(Operation *op);
  LogicalResult writeLoop(scf::ForOp loop);
  LogicalResult writeBranch(scf::IfOp branch);
  LogicalResult writeTurn(rtile::InTurnOp turn);
  void writeStart(rtile::StartDotOp dot);

  ScheduleProgram &result;
  rtile::RoleOp role;
  const llvm::DenseMap<Value, unsigned> &channels;
  Program program;
  llvm::DenseMap<Value, unsigned> vars;
  llvm::SetVector<Value> tiles;
  SmallVector<Operation *> definitions;
};

} // namespace

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// The values that a region operation passes on as others: pairs of what it
/// yields and what that becomes.
static SmallVector<std::pair<Value, Value>> getPassedOn(Operation *op) {
  SmallVector<std::pair<Value, Value>> pairs;
  auto add = [&](ValueRange from, ValueRange to) {
    for (auto [a, b] : llvm::zip_equal(from, to))
      pairs.emplace_back(a, b);
  };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    add(loop.getInitArgs(), loop.getRegionIterArgs());
    add(loop.getYieldedValues(), loop.getRegionIterArgs());
    add(loop.getRegionIterArgs(), loop.getResults());
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    if (branch.getNumResults() != 0) {
      add(branch.thenYield().getOperands(), branch.getResults());
      add(branch.elseYield().getOperands(), branch.getResults());
    }
  } else if (auto turn = dyn_cast<rtile::InTurnOp>(op)) {
    add(turn.getBody().front().getTerminator()->getOperands(),
        turn.getResults());
  }
  return pairs;
}

/// Finds the tiles that lie in slots: those that are read and not loaded to
/// registers, and what passes them on.
void ProgramWriter::findTiles() {
  SmallVector<std::pair<Value, Value>> pairs;
  role.walk([&](Operation *op) {
    if (auto read = dyn_cast<rtile::ReadOp>(op)) {
      auto type = cast<RankedTensorType>(read.getTile().getType());
      if (!isa_and_nonnull<rtile::FragmentAttr>(type.getEncoding()))
        tiles.insert(read.getTile());
    }
    llvm::append_range(pairs, getPassedOn(op));
  });
  llvm::DenseMap<Value, SmallVector<Value, 2>> next;
  for (auto [from, to] : pairs)
    next[from].push_back(to);
  for (size_t i = 0; i < tiles.size(); ++i)
    for (Value to : next.lookup(tiles[i]))
      tiles.insert(to);
}

void ProgramWriter::addVar(Value value, VarKind kind) {
  if (!vars.try_emplace(value, program.vars.size()).second)
    return;
  program.addVar(kind);
  definitions.push_back(value.getDefiningOp()
                            ? value.getDefiningOp()
                            : value.getParentBlock()->getParentOp());
}

void ProgramWriter::findVars() {
  findTiles();
  for (Value tile : tiles)
    addVar(tile, VarKind::Tile);
  auto addByType = [&](Value value) {
    if (isa<rtile::SlotType>(value.getType()))
      addVar(value, VarKind::Slot);
    else if (isa<rtile::PendingType>(value.getType()))
      addVar(value, VarKind::Product);
  };
  role.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), addByType);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), addByType);
    if (auto dot = dyn_cast<rtile::StartDotOp>(op)) {
      if (!tiles.contains(dot.getLhs()))
        addVar(dot.getLhs(), VarKind::Register);
      if (dot.getInit())
        addVar(dot.getInit(), VarKind::Register);
    }
  });
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Step ProgramWriter::makeStep(StepKind kind, Operation *op) {
  Step step{kind};
  if (result.places.empty() || result.places.back() != op)
    result.places.push_back(op);
  step.place = result.places.size() - 1;
  return step;
}

void ProgramWriter::addStep(StepKind kind, Operation *op, Value value) {
  Step step = makeStep(kind, op);
  step.var = *getVar(value);
  program.add(std::move(step));
}

FailureOr<unsigned> ProgramWriter::getChannel(Operation *op, Value channel) {
  auto place = channels.find(channel);
  if (place == channels.end())
    return op->emitOpError(
        "expected a channel made by rtile.channel in the body of the kernel");
  return place->second;
}

void ProgramWriter::addMoves(Operation *op, ValueRange to, ValueRange from) {
  Step step = makeStep(StepKind::Move, op);
  for (auto [target, source] : llvm::zip_equal(to, from)) {
    std::optional<unsigned> a = getVar(target), b = getVar(source);
    if (a && b && getKind(*a) == getKind(*b))
      step.moves.push_back({*a, *b});
    else if (a && getKind(*a) == VarKind::Register)
      addStep(StepKind::Write, op, target);
    else if (b && getKind(*b) == VarKind::Register)
      addStep(StepKind::Use, op, source);
  }
  if (!step.moves.empty())
    program.add(std::move(step));
}

void ProgramWriter::addDrop(Operation *op, ArrayRef<Value> values) {
  Step step = makeStep(StepKind::Drop, op);
  for (Value value : values)
    if (std::optional<unsigned> var = getVar(value);
        var && getKind(*var) != VarKind::Register)
      step.reads.push_back(*var);
  if (!step.reads.empty())
    program.add(std::move(step));
}

void ProgramWriter::addDrop(Operation *op, Block &block) {
  SmallVector<Value> values;
  for (Operation &inner : block)
    llvm::append_range(values, inner.getResults());
  addDrop(op, values);
}

/// Slots and products go through operations that there are steps for only.
LogicalResult ProgramWriter::checkOperands(Operation *op) {
  if (isa<rtile::AcquireOp, rtile::CopyOp, rtile::WriteOp, rtile::AwaitOp,
          rtile::ReadOp, rtile::CopyOutOp, rtile::ReleaseOp, rtile::StartDotOp,
          rtile::FinishDotOp, rtile::WaitDotOp, rtile::InTurnOp, rtile::YieldOp,
          scf::ForOp, scf::IfOp, scf::YieldOp>(op))
    return success();
  auto isHandle = [](Type type) {
    return isa<rtile::SlotType, rtile::PendingType>(type);
  };
  if (llvm::none_of(op->getOperandTypes(), isHandle) &&
      llvm::none_of(op->getResultTypes(), isHandle))
    return success();
  return op->emitError("expected slots and products in operations of rtile and "
                       "in scf.for and scf.if, found ")
         << op->getName();
}

/// Reads of registers and of tiles in slots by any operation, and writes of
/// registers.
void ProgramWriter::addUses(Operation *op) {
  for (Value operand : op->getOperands())
    if (std::optional<unsigned> var = getVar(operand)) {
      if (getKind(*var) == VarKind::Register)
        addStep(StepKind::Use, op, operand);
      else if (getKind(*var) == VarKind::Tile)
        addStep(StepKind::Read, op, operand);
    }
  for (Value value : op->getResults())
    if (std::optional<unsigned> var = getVar(value);
        var && getKind(*var) == VarKind::Register)
      addStep(StepKind::Write, op, value);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void ProgramWriter::writeStart(rtile::StartDotOp dot) {
  Step step = makeStep(StepKind::Start, dot);
  step.var = *getVar(dot.getResult());
  for (Value operand : {dot.getLhs(), dot.getRhs()})
    if (tiles.contains(operand))
      step.reads.push_back(*getVar(operand));
  if (!tiles.contains(dot.getLhs()))
    step.left = *getVar(dot.getLhs());
  if (dot.getInit())
    step.sums = *getVar(dot.getInit());
  if (dot.getOnto())
    step.onto = *getVar(dot.getOnto());
  program.add(std::move(step));
}

LogicalResult ProgramWriter::writeTurn(rtile::InTurnOp turn) {
  Block &body = turn.getBody().front();
  program.add(makeStep(StepKind::Enter, turn));
  if (failed(writeBlock(body)))
    return failure();
  addMoves(turn, turn.getResults(), body.getTerminator()->getOperands());
  program.add(makeStep(StepKind::Leave, turn));
  addDrop(turn, body);
  return success();
}

LogicalResult ProgramWriter::writeLoop(scf::ForOp loop) {
  addMoves(loop, loop.getRegionIterArgs(), loop.getInitArgs());
  Step head = makeStep(StepKind::Decide, loop);
  if (auto counted = result.decisions.counted.find(loop);
      counted != result.decisions.counted.end()) {
    head.kind = StepKind::Count;
    head.counter = program.counters++;
    head.limit = counted->second;
  } else {
    head.decision = result.decisions.numbers.lookup(loop);
  }
  unsigned begin = program.add(std::move(head));
  if (failed(writeBlock(*loop.getBody())))
    return failure();
  addMoves(loop, loop.getRegionIterArgs(), loop.getYieldedValues());
  addDrop(loop, *loop.getBody());
  Step back = makeStep(StepKind::Jump, loop);
  back.target = begin;
  program.add(std::move(back));
  program.steps[begin].target = program.steps.size();
  addMoves(loop, loop.getResults(), loop.getRegionIterArgs());
  addDrop(loop, llvm::to_vector_of<Value>(loop.getRegionIterArgs()));
  return success();
}

LogicalResult ProgramWriter::writeBranch(scf::IfOp branch) {
  Step head = makeStep(StepKind::Decide, branch);
  head.decision = result.decisions.numbers.lookup(branch);
  unsigned begin = program.add(std::move(head));
  SmallVector<unsigned> ends;
  for (Block *block : {branch.thenBlock(), branch.elseBlock()}) {
    if (block) {
      if (failed(writeBlock(*block)))
        return failure();
      if (branch.getNumResults() != 0)
        addMoves(branch, branch.getResults(),
                 block->getTerminator()->getOperands());
      addDrop(branch, *block);
    }
    if (block == branch.thenBlock()) {
      ends.push_back(program.add(makeStep(StepKind::Jump, branch)));
      program.steps[begin].target = program.steps.size();
    }
  }
  for (unsigned end : ends)
    program.steps[end].target = program.steps.size();
  return success();
}

LogicalResult ProgramWriter::writeOperation(Operation *op) {
  if (failed(checkOperands(op)))
    return failure();
  if (auto acquire = dyn_cast<rtile::AcquireOp>(op)) {
    FailureOr<unsigned> channel = getChannel(op, acquire.getChannel());
    if (failed(channel))
      return failure();
    Step step = makeStep(StepKind::Acquire, op);
    step.channel = *channel;
    step.var = *getVar(acquire.getSlot());
    program.add(std::move(step));
    return success();
  }
  if (auto await = dyn_cast<rtile::AwaitOp>(op)) {
    for (auto [value, slot] :
         llvm::zip_equal(await.getChannels(), await.getSlots())) {
      FailureOr<unsigned> channel = getChannel(op, value);
      if (failed(channel))
        return failure();
      Step step = makeStep(StepKind::Await, op);
      step.channel = *channel;
      step.var = *getVar(slot);
      program.add(std::move(step));
    }
    return success();
  }
  if (auto copy = dyn_cast<rtile::CopyOp>(op))
    return addStep(StepKind::Copy, op, copy.getSlot()), success();
  if (auto write = dyn_cast<rtile::WriteOp>(op)) {
    addUses(op);
    return addStep(StepKind::Copy, op, write.getSlot()), success();
  }
  if (auto copy = dyn_cast<rtile::CopyOutOp>(op))
    return addStep(StepKind::Read, op, copy.getSlot()), success();
  if (auto wait = dyn_cast<rtile::WaitDotOp>(op))
    return addStep(StepKind::Wait, op, wait.getPending()), success();
  if (auto release = dyn_cast<rtile::ReleaseOp>(op))
    return addStep(StepKind::Release, op, release.getSlot()), success();
  if (auto read = dyn_cast<rtile::ReadOp>(op)) {
    addStep(StepKind::Read, op, read.getSlot());
    if (tiles.contains(read.getTile())) {
      Step step = makeStep(StepKind::Move, op);
      step.moves.push_back({*getVar(read.getTile()), *getVar(read.getSlot())});
      program.add(std::move(step));
    } else {
      addUses(op);
    }
    return success();
  }
  if (auto dot = dyn_cast<rtile::StartDotOp>(op))
    return writeStart(dot), success();
  if (auto finish = dyn_cast<rtile::FinishDotOp>(op)) {
    for (Value value : finish.getAfter())
      if (getVar(value))
        addStep(StepKind::Use, op, value);
    addStep(StepKind::Finish, op, finish.getPending());
    if (getVar(finish.getResult()))
      addStep(StepKind::Write, op, finish.getResult());
    return success();
  }
  if (isa<rtile::AnyOp>(op) && program.groups > 1) {
    addUses(op);
    program.add(makeStep(StepKind::Meet, op));
    return success();
  }
  if (result.decisions.active.contains(op)) {
    if (auto turn = dyn_cast<rtile::InTurnOp>(op))
      return writeTurn(turn);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return writeLoop(loop);
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return writeBranch(branch);
    return op->emitError(
               "expected channels and products in scf.for, scf.if and "
               "rtile.in_turn, found ")
           << op->getName();
  }
  // What happens in a region without channels counts as if it happened once.
  op->walk([&](Operation *inner) { addUses(inner); });
  return success();
}

LogicalResult ProgramWriter::writeBlock(Block &block) {
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>() && failed(writeOperation(&op)))
      return failure();
  return success();
}

LogicalResult ProgramWriter::write() {
  findVars();
  program.name = role.getName().str();
  bool takesTurns =
      role.walk([](rtile::InTurnOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (takesTurns)
    program.groups = std::clamp<int64_t>(role.getWarps() / 4, 1,
                                         schedule::Machine::maxGroups);
  auto points = result.decisions.points.find(role);
  bool isLoop = points != result.decisions.points.end();
  if (isLoop) {
    Step head = makeStep(StepKind::Decide, role);
    head.decision = points->second;
    program.add(std::move(head));
  }
  Block &body = role.getBody().front();
  if (failed(writeBlock(body)))
    return failure();
  addDrop(role, body);
  if (isLoop) {
    program.add(makeStep(StepKind::Jump, role));
    program.steps.front().target = program.steps.size();
  }
  result.machine.programs.push_back(std::move(program));
  result.roles.push_back(role);
  result.definitions.push_back(std::move(definitions));
  return success();
}

FailureOr<ScheduleProgram> ringlet::makeScheduleProgram(rtile::FuncOp func) {
  ScheduleProgram result;
  result.decisions = matchDecisions(func);
  result.machine.decisions = result.decisions.count;
  llvm::DenseMap<Value, unsigned> channels;
  for (Operation &op : func.getBody().front()) {
    if (auto channel = dyn_cast<rtile::ChannelOp>(op)) {
      channels[channel.getResult()] = result.channels.size();
      result.channels.push_back(channel);
      result.machine.slots.push_back(channel.getSlots());
    } else if (auto role = dyn_cast<rtile::RoleOp>(op)) {
      if (failed(ProgramWriter(result, role, channels).write()))
        return failure();
    } else if (result.decisions.active.contains(&op)) {
      return op.emitOpError("expected to be in a role");
    }
  }
  return result;
}
