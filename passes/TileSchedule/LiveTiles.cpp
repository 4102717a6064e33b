//===- LiveTiles.cpp - Which tiles a kernel holds at a time -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileSchedule/LiveTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::schedule;

namespace {

class LiveTiles {
public:
  LiveTiles(rtile::FuncOp func, int64_t groups) : func(func), groups(groups) {}

  std::vector<cost::LiveTile> run();

private:
  int64_t getRegisters(Value value);
  int64_t getEnd(Value value);
  void join(Value value, Value other);
  void joinCarried(scf::ForOp loop);
  void joinInPlace(Operation *op);
  void joinResults(Operation *op);

  rtile::FuncOp func;
  int64_t groups;
  /// Places of operations, and of the ends of those with regions.
  llvm::DenseMap<Operation *, int64_t> places, ends;
  llvm::EquivalenceClasses<void *> classes;
};

} // namespace

/// True for tiles of which every element is computed where it is used.
static bool isOnTheFly(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<arith::ConstantOp, rtile::BroadcastOp,
                         rtile::VisibleOp>(op);
}

/// Registers of each thread of the groups that share `value`.
int64_t LiveTiles::getRegisters(Value value) {
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  if (!tile || tile.getRank() != 2 || isOnTheFly(value) ||
      tile.getElementType().isInteger(1) ||
      tile.getDimSize(1) <= cost::kColumnStep ||
      value.getDefiningOp<rtile::LoadOp>())
    return 0;
  int64_t words = tile.getNumElements() * tile.getElementTypeBitWidth() / 32;
  return llvm::divideCeil(words, groups * cost::kGroupWarps * 32);
}

/// The place of the last use; in a loop that `value` comes into from outside,
/// the loop's end.
int64_t LiveTiles::getEnd(Value value) {
  Region *home = value.getParentRegion();
  int64_t end = 0;
  for (Operation *user : value.getUsers()) {
    int64_t place = places.lookup(user);
    for (Operation *around = user; around->getParentRegion() != home;) {
      around = around->getParentOp();
      if (isa<scf::ForOp>(around))
        place = std::max(place, ends.lookup(around));
    }
    end = std::max(end, place);
  }
  return end;
}

void LiveTiles::join(Value value, Value other) {
  if (getRegisters(value) && getRegisters(other))
    classes.unionSets(value.getAsOpaquePointer(), other.getAsOpaquePointer());
}

void LiveTiles::joinCarried(scf::ForOp loop) {
  for (auto [init, argument, yielded, result] :
       llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(),
                 loop.getYieldedValues(), loop.getResults())) {
    join(result, argument);
    join(result, yielded);
    // What others use behind the loop's begin has to stay beside it.
    if (getEnd(init) <= places.lookup(loop))
      join(result, init);
  }
}

/// Joins results with operands that nobody needs any more.
void LiveTiles::joinInPlace(Operation *op) {
  llvm::SmallPtrSet<void *, 4> taken;
  for (Value result : op->getResults())
    for (Value operand : op->getOperands())
      if (getRegisters(result) && operand.getType() == result.getType() &&
          getEnd(operand) <= places.lookup(op) &&
          taken.insert(operand.getAsOpaquePointer()).second) {
        join(result, operand);
        break;
      }
}

void LiveTiles::joinResults(Operation *op) {
  if (isa<rtile::SliceOp, rtile::JoinOp>(op)) {
    for (Value operand : op->getOperands())
      join(op->getResult(0), operand);
  } else if (isa<rtile::DotOp, rtile::RebaseOp>(op)) {
    joinInPlace(op);
  } else if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
             !isa<arith::TruncFOp>(op)) {
    // Rounding writes other registers: a product may be reading the old ones.
    joinInPlace(op);
  }
}

std::vector<cost::LiveTile> LiveTiles::run() {
  int64_t place = 0;
  func.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    places[op] = ++place;
    for (Operation *around = op; around != func; around = around->getParentOp())
      ends[around] = place;
  });
  SmallVector<Value> values;
  func.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      joinCarried(loop);
      llvm::append_range(values, loop.getRegionIterArgs());
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
        if (!region->empty())
          for (auto [result, value] :
               llvm::zip(branch.getResults(),
                         region->front().getTerminator()->getOperands()))
            join(result, value);
    } else {
      joinResults(op);
    }
    llvm::append_range(values, op->getResults());
  });

  llvm::MapVector<const void *, cost::LiveTile> tiles;
  for (Value value : values) {
    int64_t registers = getRegisters(value);
    if (!registers)
      continue;
    Operation *maker = value.getDefiningOp();
    if (!maker)
      maker = value.getParentBlock()->getParentOp();
    int64_t begin = places.lookup(maker), end = std::max(begin, getEnd(value));
    const void *key = value.getAsOpaquePointer();
    if (auto leader = classes.findLeader(value.getAsOpaquePointer());
        leader != classes.member_end())
      key = *leader;
    auto [entry, isNew] = tiles.insert({key, {begin, end, registers}});
    cost::LiveTile &tile = entry->second;
    tile = {std::min(tile.begin, begin), std::max(tile.end, end),
            std::max(tile.registers, registers)};
  }
  std::vector<cost::LiveTile> result;
  for (auto &[key, tile] : tiles)
    result.push_back(tile);
  return result;
}

std::vector<cost::LiveTile> schedule::findLiveTiles(rtile::FuncOp func,
                                                    int64_t groups) {
  return LiveTiles(func, groups).run();
}
