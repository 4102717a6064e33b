//===- Roles.cpp - Operations of roles ------------------------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/Rows.h"
#include "lib/Interpreter/ThreadBlock.h"

#include "dialects/Tile/IR/TileDialect.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

static LogicalResult runAcquire(Machine &machine,
                                const Instruction &instruction) {
  Agent &agent = *machine.agent;
  const Datum &source = machine.operand(instruction, 0);
  Channel &channel = agent.channelOf(source);
  if (!channel.canAcquire(agent.number))
    return agent.wait("an empty slot of channel " + Twine(source.ints[0]));
  machine[instruction.results[0]].visit = channel.acquire(agent.number);
  machine.pause();
  return success();
}

/// Begins to fill the slot that operand `i` names.
static LogicalResult beginFilling(Machine &machine,
                                  const Instruction &instruction, unsigned i) {
  Agent &agent = *machine.agent;
  const Datum &slot = machine.operand(instruction, i);
  std::string error = agent.channelOf(slot).begin(*slot.visit, agent.number);
  return error.empty() ? success() : machine.fail(instruction, error);
}

static LogicalResult runCopy(Machine &machine, const Instruction &instruction) {
  auto op = cast<rtile::CopyOp>(instruction.op);
  unsigned last = instruction.operands.size() - 1;
  if (failed(beginFilling(machine, instruction, last)))
    return failure();
  machine.agent->startCopy(
      Transfer::Kind::In, instruction, machine.operand(instruction, last),
      machine.operand(instruction, 0), op.getView().getType(),
      ArrayRef(instruction.operands).drop_front().drop_back());
  machine.pause();
  return success();
}

/// Each group of warps writes its own rows: all of them fill the slot.
static LogicalResult runWrite(Machine &machine,
                              const Instruction &instruction) {
  Agent &agent = *machine.agent;
  if (failed(beginFilling(machine, instruction, 1)))
    return failure();
  auto type = cast<RankedTensorType>(instruction.op->getOperand(0).getType());
  int64_t width = type.getRank() == 2 ? type.getDimSize(1) : 1;
  const Datum &slot = machine.operand(instruction, 1);
  agent.channelOf(slot).arrive(
      *slot.visit, agent.number, machine.operand(instruction, 0).floats,
      [&](int64_t element) { return agent.owns(element / width); });
  machine.pause();
  return success();
}

static LogicalResult runCopyOut(Machine &machine,
                                const Instruction &instruction) {
  Agent &agent = *machine.agent;
  const Datum &slot = machine.operand(instruction, 0);
  std::string error =
      agent.channelOf(slot).checkRead(*slot.visit, agent.number);
  if (!error.empty())
    return machine.fail(instruction, error);
  std::optional<Attribute> add = instruction.op->getInherentAttr("add");
  agent.startCopy(
      add && *add ? Transfer::Kind::Add : Transfer::Kind::Out, instruction,
      slot, machine.operand(instruction, 1),
      cast<rtile::ViewType>(instruction.op->getOperand(1).getType()),
      ArrayRef(instruction.operands).drop_front(2));
  machine.pause();
  return success();
}

static LogicalResult runAwait(Machine &machine,
                              const Instruction &instruction) {
  Agent &agent = *machine.agent;
  for (uint32_t value : instruction.operands)
    if (!agent.channelOf(machine[value]).canAwait(agent.number))
      return agent.wait("a full slot of channel " +
                        Twine(machine[value].ints[0]));
  for (auto [value, result] :
       llvm::zip(instruction.operands, instruction.results))
    machine[result].visit = agent.channelOf(machine[value]).await(agent.number);
  machine.pause();
  return success();
}

static LogicalResult runRead(Machine &machine, const Instruction &instruction) {
  auto op = cast<rtile::ReadOp>(instruction.op);
  Agent &agent = *machine.agent;
  const Datum &slot = machine.operand(instruction, 0);
  const Channel &channel = agent.channelOf(slot);
  if (std::string error = channel.checkRead(*slot.visit, agent.number);
      !error.empty())
    return machine.fail(instruction, error);
  Datum &tile = machine[instruction.results[0]];
  tile.floats = channel.contentOf(*slot.visit);
  // Unless it is loaded to registers it stays where it is.
  if (rtile::getWarpsOf(op.getTile().getType()) == 0)
    tile.visit = slot.visit;
  return success();
}

static LogicalResult runRelease(Machine &machine,
                                const Instruction &instruction) {
  Agent &agent = *machine.agent;
  const Datum &slot = machine.operand(instruction, 0);
  Channel &channel = agent.channelOf(slot);
  if (std::string error = channel.checkRead(*slot.visit, agent.number);
      !error.empty())
    return machine.fail(instruction, error);
  if (failed(agent.checkUnread(instruction, *slot.visit)))
    return failure();
  if (agent.isCopiedFrom(*slot.visit))
    return agent.wait("its copies out of a slot");
  channel.release(*slot.visit, agent.number);
  machine.pause();
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static LogicalResult runStartDot(Machine &machine,
                                 const Instruction &instruction) {
  auto op = cast<rtile::StartDotOp>(instruction.op);
  Product &product = machine.agent->start();
  for (unsigned i : {0, 1})
    if (const std::optional<Visit> &visit =
            machine.operand(instruction, i).visit)
      product.reads.push_back(*visit);
  if (!machine.operand(instruction, 0).visit)
    product.left = instruction.operands[0];
  const std::vector<float> *sums = nullptr;
  std::vector<float> before;
  if (op.getInit()) {
    sums = &machine.operand(instruction, 2).floats;
  } else if (op.getOnto()) {
    if (failed(machine.agent->takeSums(
            instruction, machine.operand(instruction, 2).product, before)))
      return failure();
    sums = &before;
  }
  multiply(machine,
           ProductShape(op.getLhs().getType(),
                        op.getResult().getType().getTile(), op.getTransposed()),
           machine.operand(instruction, 0).floats,
           machine.operand(instruction, 1).floats, sums, product.result);
  if (op.getInit())
    machine[instruction.operands[2]].product = product.number;
  machine[instruction.results[0]].product = product.number;
  return success();
}

static LogicalResult runFinishDot(Machine &machine,
                                  const Instruction &instruction) {
  return machine.agent->finish(instruction,
                               machine.operand(instruction, 0).product,
                               machine.floatResult(instruction));
}

static LogicalResult runWaitDot(Machine &machine,
                                const Instruction &instruction) {
  std::vector<float> nothing;
  return machine.agent->finish(instruction,
                               machine.operand(instruction, 0).product, nothing,
                               /*isContinued=*/true);
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

static LogicalResult enterTurn(Machine &machine,
                               const Instruction &instruction) {
  Agent &agent = *machine.agent;
  if (agent.block.turns[agent.role] != agent.group)
    return agent.wait("its turn");
  machine.enter(instruction, instruction.bodies[0]);
  machine.pause();
  return success();
}

static LogicalResult leaveTurn(Machine &machine,
                               const Instruction &instruction) {
  Agent &agent = *machine.agent;
  unsigned &turn = agent.block.turns[agent.role];
  turn = (turn + 1) % agent.block.program.roles[agent.role].groups;
  agent.progressed = true;
  machine.leave();
  machine.pause();
  return machine.move(instruction, instruction.bodies[0].yields,
                      instruction.results);
}

void interpreter::registerRoles(HandlerTable &table) {
  table["rtile.acquire"] = runAcquire;
  table["rtile.copy"] = runCopy;
  table["rtile.write"] = runWrite;
  table["rtile.await"] = runAwait;
  table["rtile.read"] = runRead;
  table["rtile.copy_out"] = runCopyOut;
  table["rtile.release"] = runRelease;
  table["rtile.start_dot"] = runStartDot;
  table["rtile.finish_dot"] = runFinishDot;
  table["rtile.wait_dot"] = runWaitDot;
  table["rtile.in_turn"] = {enterTurn, leaveTurn};
}
