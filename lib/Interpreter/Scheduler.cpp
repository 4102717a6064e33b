//===- Scheduler.cpp - Who goes on next in a scheduled kernel -------------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Interpreter/ThreadBlock.h"
#include "lib/Interpreter/Walk.h"

#include "dialects/Tile/IR/TileDialect.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::interpreter;

/// Blocks that run at a time: as few as show that there are others, and where
/// the interleaving is drawn, at most so many.
static constexpr int64_t kResidents = 2, kMaxResidents = 4;

namespace {

/// The blocks of one launch that run at a time. What happens next is a step of
/// a role or the arrival of a copy, in any of them: results must not depend on
/// the choice.
class Scheduler : public Points {
public:
  Scheduler(Run &run, const Program &program, ArrayRef<int64_t> grid,
            ArrayRef<const Datum *> arguments);

  LogicalResult runAll();
  bool take(ThreadBlock &block, int64_t count, Machine &machine) override;

private:
  /// What may happen next.
  struct Candidate {
    ThreadBlock *block = nullptr;
    /// Null for the arrival of a copy.
    Agent *agent = nullptr;
    size_t transfer = 0;
  };

  int64_t chooseResidents() const;
  int64_t getItem(int64_t block, int64_t count);
  void startBlocks();
  LogicalResult endBlocks();
  std::vector<Candidate> findCandidates() const;
  Candidate choose(ArrayRef<Candidate> candidates);
  int64_t getWeight(const Candidate &candidate) const;
  LogicalResult advance(const Candidate &candidate);
  LogicalResult failDeadlock();

  uint64_t draw(ArrayRef<int64_t> numbers) const {
    return mix(run.options.interleaving.value_or(0) + run.launch, numbers);
  }

  Run &run;
  const Program &program;
  ArrayRef<int64_t> grid;
  ArrayRef<const Datum *> arguments;
  rtile::FuncOp function;
  rtile::Dispatch dispatch;
  int64_t residents;
  Walk walk;
  std::vector<std::unique_ptr<ThreadBlock>> blocks;
  int64_t begunBlocks = 0;
  /// Of a dynamic walk: what each block has taken, and what comes next.
  std::vector<std::vector<int64_t>> taken;
  int64_t next;
  int64_t draws = 0;
};

} // namespace

static rtile::Dispatch dispatchOf(rtile::FuncOp function) {
  rtile::WalkAttr walk = function.getWalkAttr();
  return walk ? walk.getDispatch() : rtile::Dispatch::each;
}

Scheduler::Scheduler(Run &run, const Program &program, ArrayRef<int64_t> grid,
                     ArrayRef<const Datum *> arguments)
    : run(run), program(program), grid(grid), arguments(arguments),
      function(cast<rtile::FuncOp>(program.function)),
      dispatch(dispatchOf(function)), residents(chooseResidents()),
      walk(function, grid, residents, arguments), taken(residents),
      next(residents) {}

int64_t Scheduler::chooseResidents() const {
  if (!run.options.interleaving)
    return kResidents;
  return 1 + static_cast<int64_t>(draw({-1}) % kMaxResidents);
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

/// The place in the walk of the point that `block` runs after `count` others.
int64_t Scheduler::getItem(int64_t block, int64_t count) {
  switch (dispatch) {
  case rtile::Dispatch::each:
    return count == 0 ? block : walk.size();
  case rtile::Dispatch::strided:
    return block + count * residents;
  case rtile::Dispatch::dynamic:
    break;
  }
  std::vector<int64_t> &items = taken[block];
  if (static_cast<size_t>(count) == items.size())
    items.push_back(count == 0 ? block : next++);
  return items[count];
}

bool Scheduler::take(ThreadBlock &block, int64_t count, Machine &machine) {
  int64_t item = getItem(block.number, count);
  if (item >= walk.size())
    return false;
  int64_t stride = 1;
  machine.point = 0;
  for (auto [slot, index, extent] : llvm::zip(
           ArrayRef<uint32_t>(program.body.arguments).take_back(grid.size()),
           walk.at(item), grid)) {
    machine[slot].ints.assign(1, index);
    machine.point += index * stride;
    stride *= extent;
  }
  return true;
}

void Scheduler::startBlocks() {
  int64_t all = dispatch == rtile::Dispatch::each
                    ? walk.size()
                    : std::min(residents, walk.size());
  while (begunBlocks < all && static_cast<int64_t>(blocks.size()) < residents)
    blocks.push_back(std::make_unique<ThreadBlock>(
        run, program, *this, begunBlocks++, arguments, grid));
}

LogicalResult Scheduler::endBlocks() {
  for (const auto &block : blocks)
    if (block->hasEnded() && failed(block->checkEnd()))
      return failure();
  llvm::erase_if(blocks, [](const auto &block) { return block->hasEnded(); });
  return success();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

std::vector<Scheduler::Candidate> Scheduler::findCandidates() const {
  std::vector<Candidate> candidates;
  for (const auto &block : blocks) {
    for (size_t i = 0; i < block->transfers.size(); ++i)
      candidates.push_back({block.get(), nullptr, i});
    for (Agent &agent : block->agents)
      if (!agent.hasEnded() && !agent.isStuck)
        candidates.push_back({block.get(), &agent});
  }
  return candidates;
}

/// Some go on far more often than others, so that they come to be far ahead.
int64_t Scheduler::getWeight(const Candidate &candidate) const {
  int64_t part = candidate.agent ? candidate.agent->number : -1;
  constexpr int64_t weights[] = {1, 4, 64};
  return weights[draw({-2, candidate.block->number, part}) % 3];
}

Scheduler::Candidate Scheduler::choose(ArrayRef<Candidate> candidates) {
  // Copies arrive at once, roles go on as far as they can.
  if (!run.options.interleaving)
    return candidates.front();
  int64_t sum = 0;
  for (const Candidate &candidate : candidates)
    sum += getWeight(candidate);
  auto rest =
      static_cast<int64_t>(draw({draws++}) % static_cast<uint64_t>(sum));
  for (const Candidate &candidate : candidates)
    if ((rest -= getWeight(candidate)) < 0)
      return candidate;
  return candidates.back();
}

LogicalResult Scheduler::advance(const Candidate &candidate) {
  bool progressed = true;
  if (!candidate.agent) {
    if (failed(candidate.block->complete(candidate.transfer)))
      return failure();
  } else {
    Agent &agent = *candidate.agent;
    if (failed(agent.resume())) {
      run.error += ", in " + agent.describe();
      return failure();
    }
    progressed = agent.progressed;
    agent.isStuck = agent.machine.isWaiting;
  }
  // What others wait for may be there now.
  if (progressed)
    for (const auto &block : blocks)
      for (Agent &agent : block->agents)
        if (&agent != candidate.agent)
          agent.isStuck = false;
  return success();
}

LogicalResult Scheduler::failDeadlock() {
  return run.fail(function, "expected some role to go on, found all of them "
                            "waiting or at their end: " +
                                blocks.front()->describe());
}

LogicalResult Scheduler::runAll() {
  for (startBlocks(); !blocks.empty(); startBlocks()) {
    std::vector<Candidate> candidates = findCandidates();
    if (candidates.empty())
      return failDeadlock();
    if (failed(advance(choose(candidates))) || failed(endBlocks()))
      return failure();
  }
  return success();
}

LogicalResult Run::runScheduled(const Program &program, ArrayRef<int64_t> grid,
                                ArrayRef<const Datum *> arguments) {
  return Scheduler(*this, program, grid, arguments).runAll();
}
