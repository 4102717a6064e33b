//===- ThreadBlock.cpp - A block of a scheduled kernel --------------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/ThreadBlock.h"
#include "lib/Interpreter/Rows.h"

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

/// Rows of a tile that one warp holds in a row, and warps of a group.
static constexpr int64_t kWarpRows = 16, kGroupWarps = 4;

//===----------------------------------------------------------------------===//
// Agents
//===----------------------------------------------------------------------===//

Agent::Agent(ThreadBlock &block, unsigned number, unsigned role, unsigned group)
    : block(block), number(number), role(role), group(group),
      machine(block.run, block.program) {
  machine.agent = this;
}

const RoleCode &Agent::code() const { return block.program.roles[role]; }

std::string Agent::describe() const {
  return describe(points > 0 && !ended ? machine.point : -1);
}

std::string Agent::describe(int64_t point) const {
  auto op = cast<rtile::RoleOp>(code().op);
  std::string text = "role '" + op.getName().str() + "'";
  if (code().groups > 1)
    text += llvm::formatv(", group {0}", group).str();
  if (point >= 0)
    text += ", at point " + describePoint(point, block.grid);
  return text;
}

LogicalResult Agent::resume() {
  progressed = false;
  while (!ended) {
    if (machine.hasEnded()) {
      progressed = true;
      if (failed(beginPoint()))
        return failure();
      if (ended)
        return success();
    }
    int64_t before = block.run.steps;
    if (failed(machine.resume()))
      return failure();
    progressed |= block.run.steps > before;
    if (!machine.hasEnded())
      return success();
  }
  return success();
}

LogicalResult Agent::beginPoint() {
  if (points > 0) {
    if (!running.empty())
      return block.run.fail(code().op,
                            "expected every product to be finished, found one "
                            "under way at the end of the point");
    for (const Channel &channel : block.channels)
      if (std::string error = channel.checkEnd(number); !error.empty())
        return block.run.fail(code().op, error + " at the end of the point");
  }
  if (!block.source.take(block, points, machine)) {
    ended = true;
    return success();
  }
  ++points;
  // What all roles know comes first.
  machine.push(code().body);
  machine.push(block.program.body);
  return success();
}

LogicalResult Agent::check(const Instruction &instruction) {
  Operation *op = instruction.op;
  // These pass values on, marks included.
  bool passesOn = isa<scf::ForOp, scf::IfOp, rtile::InTurnOp>(op);
  for (uint32_t value : instruction.operands) {
    const Datum &datum = machine[value];
    if (passesOn || (!datum.visit && !datum.product))
      continue;
    Kind kind = machine.type(value).kind;
    if (datum.visit && kind != Kind::Slot)
      if (std::string error = block.channels[datum.visit->channel].checkRead(
              *datum.visit, number);
          !error.empty())
        return machine.fail(instruction, "reads a tile in a slot: " + error);
    if (kind != Kind::Pending && !running.empty() &&
        datum.product >= running.front().number)
      return machine.fail(instruction,
                          "expected the sums that a product adds to not to be "
                          "used before it is finished, found it under way");
  }
  if (failed(checkWrites(instruction, instruction.results)))
    return failure();
  for (uint32_t value : instruction.results) {
    machine[value].visit.reset();
    machine[value].product = 0;
  }
  return success();
}

LogicalResult Agent::checkWrites(const Instruction &instruction,
                                 ArrayRef<uint32_t> values) {
  for (const Product &product : running)
    if (product.left && llvm::is_contained(values, *product.left))
      return machine.fail(instruction,
                          "expected the registers that a product reads not to "
                          "be written before it is finished, found it under "
                          "way");
  return success();
}

Channel &Agent::channelOf(const Datum &datum) {
  return block.channels[datum.visit ? datum.visit->channel : datum.ints[0]];
}

void Agent::startCopy(Transfer::Kind kind, const Instruction &instruction,
                      const Datum &slot, const Datum &view,
                      rtile::ViewType type, ArrayRef<uint32_t> offsets) {
  Transfer &transfer = block.transfers.emplace_back();
  transfer.kind = kind;
  transfer.agent = this;
  transfer.instruction = &instruction;
  transfer.view = view.view;
  transfer.type = type;
  for (uint32_t offset : offsets)
    transfer.offsets.push_back(machine[offset].ints[0]);
  transfer.stamp = machine.stamp();
  transfer.order = copies++;
  transfer.visit = *slot.visit;
}

bool Agent::isCopiedFrom(const Visit &visit) const {
  return llvm::any_of(block.transfers, [&](const Transfer &transfer) {
    return transfer.agent == this && transfer.kind != Transfer::Kind::In &&
           transfer.visit == visit;
  });
}

Product &Agent::start() {
  Product &product = running.emplace_back();
  product.number = ++started;
  return product;
}

LogicalResult Agent::takeSums(const Instruction &instruction, int64_t product,
                              std::vector<float> &sums) {
  for (Product &before : running)
    if (before.number == product && !before.isContinued) {
      before.isContinued = true;
      sums = before.result;
      return success();
    }
  return machine.fail(instruction,
                      "expected a product under way whose sums are free to go "
                      "on with, found another one");
}

LogicalResult Agent::finish(const Instruction &instruction, int64_t product,
                            std::vector<float> &result, bool isContinued) {
  if (running.empty() || product < running.front().number)
    return machine.fail(instruction, "expected one rtile.finish_dot of a "
                                     "product, found a second one");
  if (product != running.front().number)
    return machine.fail(instruction,
                        "expected products to be finished in the order in "
                        "which they were started, found an earlier one under "
                        "way");
  if (running.front().isContinued != isContinued)
    return machine.fail(instruction,
                        isContinued
                            ? "expected a product that another one goes on "
                              "with, found one with sums of its own"
                            : "expected a product with sums of its own, found "
                              "one that another one goes on with");
  result.swap(running.front().result);
  running.pop_front();
  return success();
}

LogicalResult Agent::checkUnread(const Instruction &instruction,
                                 const Visit &visit) {
  for (const Product &product : running)
    for (const Visit &read : product.reads)
      if (read == visit)
        return machine.fail(instruction,
                            "expected the products that read the slot to be "
                            "finished before its release, found one under way");
  return success();
}

bool Agent::owns(int64_t row) const {
  if (code().groups == 1)
    return true;
  int64_t warps = cast<rtile::RoleOp>(code().op).getWarps();
  return row / kWarpRows % warps / kGroupWarps == group;
}

LogicalResult Agent::meet() {
  if (!isMeeting) {
    ++meetings;
    isMeeting = progressed = true;
  }
  for (const Agent &other : block.agents)
    if (other.role == role && other.meetings < meetings)
      return wait("the other groups of its role");
  isMeeting = false;
  return success();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

ThreadBlock::ThreadBlock(Run &run, const Program &program, Points &source,
                         int64_t number, ArrayRef<const Datum *> arguments,
                         ArrayRef<int64_t> grid)
    : run(run), program(program), source(source), number(number), grid(grid),
      turns(program.roles.size()) {
  std::vector<AgentMask> masks(program.roles.size());
  for (auto [role, code] : llvm::enumerate(program.roles))
    for (unsigned group = 0; group < code.groups; ++group) {
      masks[role] |= AgentMask(1) << agents.size();
      agents.emplace_back(*this, agents.size(), role, group);
    }
  auto maskOf = [&](ArrayRef<unsigned> roles) {
    AgentMask mask = 0;
    for (unsigned role : roles)
      mask |= masks[role];
    return mask;
  };
  for (const ChannelCode &code : program.channels) {
    auto op = cast<rtile::ChannelOp>(code.op);
    channels.emplace_back(channels.size(), op.getSlots(),
                          op.getResult().getType().getTile().getNumElements(),
                          maskOf(code.writers), maskOf(code.readers));
  }
  for (Agent &agent : agents) {
    for (auto [slot, argument] : llvm::zip(program.body.arguments, arguments))
      agent.machine[slot] = *argument;
    for (auto [i, code] : llvm::enumerate(program.channels))
      agent.machine[code.slot].ints.assign(1, static_cast<int64_t>(i));
  }
}

bool ThreadBlock::hasEnded() const {
  return transfers.empty() && llvm::all_of(agents, [](const Agent &agent) {
           return agent.hasEnded();
         });
}

LogicalResult ThreadBlock::bring(const Transfer &transfer) {
  std::vector<float> content;
  if (failed(copyTile(transfer.agent->machine, *transfer.instruction,
                      transfer.view, transfer.type, transfer.offsets,
                      transfer.stamp, content)))
    return failure();
  channels[transfer.visit.channel].arrive(transfer.visit,
                                          transfer.agent->number, content,
                                          [](int64_t) { return true; });
  return success();
}

LogicalResult ThreadBlock::take(const Transfer &transfer) {
  Machine &machine = transfer.agent->machine;
  const std::vector<float> &content =
      channels[transfer.visit.channel].contentOf(transfer.visit);
  if (transfer.kind == Transfer::Kind::Add)
    return addTile(machine, *transfer.instruction, transfer.view, transfer.type,
                   transfer.offsets, transfer.stamp, transfer.order, content);
  return storeTile(machine, *transfer.instruction, transfer.view, transfer.type,
                   transfer.offsets, transfer.stamp, content);
}

LogicalResult ThreadBlock::complete(size_t i) {
  Transfer transfer = std::move(transfers[i]);
  transfers.erase(transfers.begin() + static_cast<std::ptrdiff_t>(i));
  if (succeeded(transfer.kind == Transfer::Kind::In ? bring(transfer)
                                                    : take(transfer)))
    return success();
  run.error += ", in " + transfer.agent->describe(transfer.stamp.point());
  return failure();
}

LogicalResult ThreadBlock::checkEnd() {
  for (auto [channel, code] : llvm::zip(channels, program.channels))
    if (!channel.isEmpty())
      return run.fail(code.op, "expected all slots of the channel to be empty "
                               "after the last point of a block, found " +
                                   channel.describe());
  return success();
}

std::string ThreadBlock::describe() const {
  std::string text;
  auto add = [&](const std::string &part) {
    text += (text.empty() ? "" : "; ") + part;
  };
  for (const Agent &agent : agents)
    add(agent.describe() +
        (agent.hasEnded() ? " has ended" : " " + agent.describeWait()));
  for (const Channel &channel : channels)
    add(channel.describe());
  return text;
}
