//===- Emitter.cpp - Scalars, loops and branches of a kernel -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToCPU/Emitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

ArrayRef<int64_t> Emitter::getSlots(Operation *op) {
  auto slots = op->getAttrOfType<DenseI64ArrayAttr>(slotsAttr);
  return slots ? slots.asArrayRef() : ArrayRef<int64_t>();
}

int64_t Emitter::getSlot(Value tile) {
  if (auto argument = dyn_cast<BlockArgument>(tile)) {
    // The first argument of a loop's body is its counter.
    Operation *loop = argument.getOwner()->getParentOp();
    return getSlots(loop)[argument.getArgNumber() - 1];
  }
  ArrayRef<int64_t> slots = getSlots(tile.getDefiningOp());
  size_t index = cast<OpResult>(tile).getResultNumber();
  return index < slots.size() ? slots[index] : -1;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void Emitter::emitBlock(Block &block) {
  DenseMap<int64_t, SmallVector<Operation *>> groups;
  for (Operation &op : block)
    if (int64_t group = getGroup(&op); group >= 0)
      groups[group].push_back(&op);
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    if (int64_t group = getGroup(&op); group >= 0) {
      if (groups[group].back() == &op)
        emitGroup(groups[group]);
    } else if (!isRepeated(&op)) {
      emitOperation(&op);
    }
    countPanels(&op);
  }
}

void Emitter::emitOperation(Operation *op) {
  if (auto view = dyn_cast<rtile::ViewOp>(op))
    views[view] = addressView(b, view, scalars, buffers);
  else if (auto load = dyn_cast<rtile::LoadOp>(op))
    emitLoad(load);
  else if (auto store = dyn_cast<rtile::StoreOp>(op))
    emitStore(store);
  else if (auto loop = dyn_cast<scf::ForOp>(op))
    emitLoop(loop);
  else if (auto branch = dyn_cast<scf::IfOp>(op))
    emitBranch(branch);
  else if (auto generate = dyn_cast<rtile::GenerateOp>(op))
    emitGenerate(generate);
  else if (auto any = dyn_cast<rtile::AnyOp>(op))
    emitAny(any);
  else if (runsAlone(op))
    emitColumns(op);
  else
    emitScalar(op);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

SmallVector<Value> Emitter::getScalars(ValueRange values) {
  SmallVector<Value> result;
  for (Value value : values)
    if (!getTile(value))
      result.push_back(getScalar(value));
  return result;
}

void Emitter::emitScalar(Operation *op) {
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    APInt axis;
    matchPattern(dim.getIndex(), m_ConstantInt(&axis));
    bind(dim, buffers[dim.getSource()].sizes[axis.getSExtValue()]);
    return;
  }
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    bind(load, loadElement(load.getMemRef(), getScalars(load.getIndices())));
    return;
  }
  auto code = code::emitScalar(b, op, getScalars(op->getOperands()));
  for (auto [from, to] : llvm::zip_equal(op->getResults(), code))
    bind(from, to);
}

void Emitter::emitGenerate(rtile::GenerateOp op) {
  auto emitEntry = [&](Value place) {
    bind(op.getPlace(), place);
    emitBlock(op.getBody().front());
    return getScalar(op.getEntry());
  };
  Value end = getScalar(op.getEnd());
  code::emitEntries(b, buffers[op.getTable()], getScalar(op.getBegin()), end,
                    emitEntry);
}

//===----------------------------------------------------------------------===//
// Loops and branches: scalars are carried as values, tiles in their places
//===----------------------------------------------------------------------===//

void Emitter::emitLoop(scf::ForOp loop) {
  for (auto [argument, init] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs()))
    if (getTile(init))
      copyTo(getSlot(argument), init);
  auto inits = getScalars(loop.getInitArgs());
  Value step = getScalar(loop.getStep());
  Value end = getScalar(loop.getUpperBound());
  auto copy =
      scf::ForOp::create(b, getScalar(loop.getLowerBound()), end, step, inits);
  bind(loop.getInductionVar(), copy.getInductionVar());
  auto argument = copy.getRegionIterArgs().begin();
  auto result = copy.getResults().begin();
  for (auto [from, to] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getResults()))
    if (!getTile(from)) {
      bind(from, *argument++);
      bind(to, *result++);
    }
  OpBuilder::InsertionGuard guard(b);
  Block *body = copy.getBody();
  if (copy.getNumResults() == 0)
    body->getTerminator()->erase();
  b.setInsertionPointToEnd(body);
  emitBlock(*loop.getBody());
  emitYield(loop, loop.getYieldedValues());
}

void Emitter::emitBranch(scf::IfOp branch) {
  SmallVector<Type> types;
  for (Value result : branch.getResults())
    if (!getTile(result))
      types.push_back(getCodeType(result.getType()));
  bool hasElse = !branch.getElseRegion().empty();
  auto copy = scf::IfOp::create(b, TypeRange(types),
                                getScalar(branch.getCondition()), hasElse);
  auto result = copy.getResults().begin();
  for (Value from : branch.getResults())
    if (!getTile(from))
      bind(from, *result++);
  OpBuilder::InsertionGuard guard(b);
  auto emitSide = [&](Block *from, Block *to) {
    if (!to->empty())
      to->getTerminator()->erase();
    b.setInsertionPointToEnd(to);
    emitBlock(*from);
    emitYield(branch, from->getTerminator()->getOperands());
  };
  emitSide(branch.thenBlock(), copy.thenBlock());
  if (hasElse)
    emitSide(branch.elseBlock(), copy.elseBlock());
}

void Emitter::emitYield(Operation *parent, ValueRange values) {
  ArrayRef<int64_t> slots = getSlots(parent);
  // A loop may yield one of its own places as another: those first go to a
  // place in between.
  auto getTemporary = [&](size_t index) {
    return slots.size() > values.size() ? slots[values.size() + index] : -1;
  };
  for (auto [index, value] : llvm::enumerate(values))
    if (getTile(value) && getTemporary(index) >= 0)
      copyTo(getTemporary(index), value);
  for (auto [index, value] : llvm::enumerate(values)) {
    if (!getTile(value))
      continue;
    if (int64_t temporary = getTemporary(index); temporary >= 0) {
      RankedTensorType tile = getTile(value);
      int64_t bytes = 4 * geometry.lanes;
      Value from = getPlace(temporary), to = getPlace(slots[index]);
      b.loop(0, geometry.tileBytes(tile), bytes, [&](Value at) {
        Type type = b.getVector(b.getF32Type(), geometry.lanes);
        Value target = b.at(to, at);
        b.store(b.load(type, b.at(from, at), bytes), target, bytes);
      });
    } else {
      copyTo(slots[index], value);
    }
  }
  scf::YieldOp::create(b, getScalars(values));
}

void Emitter::copyTo(int64_t slot, Value tile) {
  Operation *source = tile.getDefiningOp();
  if (!isRepeated(source) && getSlot(tile) == slot)
    return;
  RankedTensorType type = getTile(tile);
  forEachPanel(type.getDimSize(0), [&](Panel &panel) {
    Value to = getPanelAddress(slot, type, /*local=*/false, panel);
    if (type.getRank() == 1)
      return storeTile(getRowValue(tile, panel), to);
    prepare(tile, panel, /*group=*/-2, /*phase=*/-2);
    b.loop(0, type.getDimSize(1), panel.columns, [&](Value index) {
      Column column(index, /*group=*/-2, /*phase=*/-2);
      Value place = b.at(to, b.mul(index, getVectorBytes(panel)));
      storeTile(getColumnValue(tile, panel, column), place);
    });
  });
}
