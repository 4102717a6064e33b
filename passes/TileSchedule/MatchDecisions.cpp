//===- MatchDecisions.cpp - Loops that run equally often -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileSchedule/MatchDecisions.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/EquivalenceClasses.h"

#include <map>

using namespace mlir;
using namespace ringlet;

namespace {

/// Loops of at most so many steps are run step by step.
constexpr int64_t maxCounted = 16;

/// How many steps the loop takes, if that is known.
std::optional<int64_t> getTrips(scf::ForOp loop) {
  APInt begin, end, step;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&begin)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&end)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)) ||
      !step.isStrictlyPositive())
    return std::nullopt;
  if (end.sle(begin))
    return 0;
  // As wide as any difference of two of them.
  unsigned width = begin.getBitWidth() + 2;
  APInt span = end.sext(width) - begin.sext(width);
  APInt trips = (span + step.sext(width) - 1).udiv(step.sext(width));
  if (trips.getActiveBits() > 62)
    return std::nullopt;
  return trips.getSExtValue();
}

class Matcher {
public:
  explicit Matcher(rtile::FuncOp func) : func(func) {}

  Decisions run();

private:
  using Key = std::vector<const void *>;
  using Channels = llvm::SmallDenseSet<Value, 4>;

  void findActive();
  unsigned getNumber(Value value);
  unsigned getNumber(const Key &key);
  void setFresh(Value value) { numbers[value] = next++; }
  void numberOperation(Operation &op);
  void collect(Block &block,
               SmallVectorImpl<std::pair<Key, Operation *>> &found);
  SmallVector<SmallVector<Operation *>> split(ArrayRef<Operation *> ops);
  void match(ArrayRef<Block *> blocks);
  void matchTogether(ArrayRef<Operation *> ops);

  rtile::FuncOp func;
  Decisions result;
  /// Channels that an operation and what it contains acquire and await.
  llvm::DenseMap<Operation *, Channels> channels;
  llvm::DenseMap<Value, unsigned> numbers;
  std::map<Key, unsigned> known;
  unsigned next = 0;
};

} // namespace

static const void *asKey(uintptr_t number) {
  return reinterpret_cast<const void *>(number);
}

/// Whether a value may be a slot, a product or a tile in a slot.
static bool isHandle(Type type) {
  if (isa<rtile::SlotType, rtile::PendingType>(type))
    return true;
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile &&
         (tile.getElementType().isF16() || tile.getElementType().isBF16()) &&
         !isa_and_nonnull<rtile::FragmentAttr>(tile.getEncoding());
}

/// Marks everything that the machine has a step for, and what is around it.
void Matcher::findActive() {
  func.walk([&](Operation *op) {
    if (!isa<rtile::AcquireOp, rtile::AwaitOp, rtile::ReleaseOp,
             rtile::InTurnOp>(op) &&
        llvm::none_of(op->getOperandTypes(), isHandle) &&
        llvm::none_of(op->getResultTypes(), isHandle))
      return;
    SmallVector<Value, 2> used;
    if (isa<rtile::AcquireOp, rtile::AwaitOp>(op))
      used.append(op->operand_begin(), op->operand_end());
    for (Operation *at = op; at && at != func; at = at->getParentOp()) {
      // What is around an operation is marked already, unless there is a
      // channel to add.
      if (!result.active.insert(at).second && used.empty() && at != op)
        break;
      channels[at].insert(used.begin(), used.end());
    }
  });
}

unsigned Matcher::getNumber(const Key &key) {
  auto [place, isNew] = known.try_emplace(key, next);
  if (isNew)
    ++next;
  return place->second;
}

unsigned Matcher::getNumber(Value value) {
  auto [place, isNew] = numbers.try_emplace(value, next);
  if (isNew)
    ++next;
  return place->second;
}

/// Gives the results of `op` numbers that are equal for equal values.
void Matcher::numberOperation(Operation &op) {
  if (op.getNumRegions() != 0 || !isMemoryEffectFree(&op)) {
    for (Value result : op.getResults())
      setFresh(result);
    return;
  }
  Key key = {op.getName().getAsOpaquePointer(),
             op.getAttrDictionary().getAsOpaquePointer()};
  for (Value operand : op.getOperands())
    key.push_back(asKey(getNumber(operand)));
  for (OpResult value : op.getResults()) {
    key.push_back(value.getType().getAsOpaquePointer());
    key.push_back(asKey(value.getResultNumber()));
    numbers[value] = getNumber(key);
    key.resize(key.size() - 2);
  }
}

/// Numbers the values of `block` and finds its active loops and branches, with
/// what their outcome depends on.
void Matcher::collect(Block &block,
                      SmallVectorImpl<std::pair<Key, Operation *>> &found) {
  for (Operation &op : block) {
    if (auto turn = dyn_cast<rtile::InTurnOp>(op)) {
      collect(turn.getBody().front(), found);
      auto yield = cast<rtile::YieldOp>(turn.getBody().front().getTerminator());
      for (auto [result, value] :
           llvm::zip_equal(turn.getResults(), yield.getValues()))
        numbers[result] = getNumber(value);
      continue;
    }
    numberOperation(op);
    if (!result.active.contains(&op))
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      std::optional<int64_t> trips = getTrips(loop);
      if (trips && *trips <= maxCounted)
        result.counted[loop] = *trips;
      if (trips)
        found.push_back({{asKey(0), asKey(*trips)}, loop});
      else
        found.push_back({{asKey(1), asKey(getNumber(loop.getLowerBound())),
                          asKey(getNumber(loop.getUpperBound())),
                          asKey(getNumber(loop.getStep()))},
                         loop});
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      found.push_back(
          {{asKey(2), asKey(getNumber(branch.getCondition()))}, branch});
    }
  }
}

/// Splits `ops`, one of each role, into those that are connected by channels.
SmallVector<SmallVector<Operation *>>
Matcher::split(ArrayRef<Operation *> ops) {
  llvm::EquivalenceClasses<const void *> classes;
  for (Operation *op : ops) {
    classes.insert(op);
    for (Value channel : channels[op])
      classes.unionSets(op, channel.getAsOpaquePointer());
  }
  llvm::MapVector<const void *, SmallVector<Operation *>> parts;
  for (Operation *op : ops)
    parts[classes.getLeaderValue(op)].push_back(op);
  SmallVector<SmallVector<Operation *>> result;
  for (auto &part : parts)
    result.push_back(std::move(part.second));
  return result;
}

/// Matches what stands in `blocks`, which all run equally often, the n-th time
/// with the same values.
void Matcher::match(ArrayRef<Block *> blocks) {
  // For each key, the operations of each block in their order.
  llvm::MapVector<unsigned, SmallVector<SmallVector<Operation *>>> found;
  for (Block *block : blocks) {
    llvm::DenseMap<unsigned, unsigned> ordinals;
    SmallVector<std::pair<Key, Operation *>> ofBlock;
    collect(*block, ofBlock);
    for (auto &[key, op] : ofBlock) {
      unsigned number = getNumber(key);
      auto &rows = found[number];
      unsigned ordinal = ordinals[number]++;
      if (ordinal == rows.size())
        rows.emplace_back();
      rows[ordinal].push_back(op);
    }
  }
  for (auto &[number, rows] : found)
    for (ArrayRef<Operation *> row : rows)
      for (ArrayRef<Operation *> part : split(row))
        matchTogether(part);
}

/// `ops`, one of each role, have the same outcomes.
void Matcher::matchTogether(ArrayRef<Operation *> ops) {
  unsigned decision = result.count;
  if (!result.counted.contains(ops.front())) {
    ++result.count;
    for (Operation *op : ops)
      result.numbers[op] = decision;
    if (ops.size() == 1 && !channels[ops.front()].empty())
      result.alone.push_back(ops.front());
  }
  if (isa<scf::ForOp>(ops.front())) {
    SmallVector<Block *> bodies;
    llvm::SmallDenseMap<std::pair<unsigned, unsigned>, unsigned> variables;
    for (Operation *op : ops) {
      auto loop = cast<scf::ForOp>(op);
      // Loops of as many steps may still count in another way.
      auto [place, isNew] = variables.try_emplace(
          {getNumber(loop.getLowerBound()), getNumber(loop.getStep())}, next);
      if (isNew)
        ++next;
      numbers[loop.getInductionVar()] = place->second;
      bodies.push_back(loop.getBody());
    }
    return match(bodies);
  }
  SmallVector<Block *> thenBlocks, elseBlocks;
  for (Operation *op : ops) {
    auto branch = cast<scf::IfOp>(op);
    thenBlocks.push_back(branch.thenBlock());
    if (Block *block = branch.elseBlock())
      elseBlocks.push_back(block);
  }
  match(thenBlocks);
  match(elseBlocks);
}

Decisions Matcher::run() {
  findActive();
  SmallVector<Operation *> roles;
  for (Operation &op : func.getBody().front())
    if (isa<rtile::RoleOp>(op))
      roles.push_back(&op);
    else
      numberOperation(op);
  auto walk = func.getWalk();
  bool isLoop = walk && walk->getDispatch() != rtile::Dispatch::each;
  for (ArrayRef<Operation *> part : split(roles)) {
    SmallVector<Block *> bodies;
    for (Operation *role : part) {
      if (isLoop)
        result.points[role] = result.count;
      bodies.push_back(&role->getRegion(0).front());
    }
    result.count += isLoop;
    match(bodies);
  }
  return std::move(result);
}

Decisions ringlet::matchDecisions(rtile::FuncOp func) {
  return Matcher(func).run();
}
