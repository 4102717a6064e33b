//===- Skeleton.cpp - A program reduced to what roots need -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileSchedule/Skeleton.h"

using namespace mlir;
using namespace ringlet::schedule;

Skeleton::Skeleton(Block &body, function_ref<bool(Operation *)> isShared)
    : body(body) {
  for (Operation &op : body)
    if (isShared(&op))
      shared.insert(&op);
}

//===----------------------------------------------------------------------===//
// What is needed
//===----------------------------------------------------------------------===//

void Skeleton::keep(Operation *op, ValueRange operands) {
  for (Operation *around = op;; around = around->getParentOp()) {
    // The bounds of a loop and the condition of a choice decide whether what
    // is inside is run.
    if (kept.insert(around).second) {
      if (auto loop = dyn_cast<scf::ForOp>(around))
        for (Value bound :
             {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
          need(bound);
      if (auto choice = dyn_cast<scf::IfOp>(around))
        need(choice.getCondition());
    }
    if (around->getBlock() == &body)
      break;
  }
  for (Value operand : operands)
    need(operand);
}

void Skeleton::addRoot(Operation *op, ValueRange operands) {
  roots.insert(op);
  keep(op, operands);
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (auto result = dyn_cast<OpResult>(value)) {
      needResult(result.getOwner(), result.getResultNumber());
      continue;
    }
    auto argument = cast<BlockArgument>(value);
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop)
      continue; // A parameter of the kernel.
    if (argument != loop.getInductionVar())
      need(loop.getTiedLoopResult(argument));
    keep(loop, {});
  }
}

void Skeleton::need(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && shared.contains(op))
    return;
  if (needed.insert(value).second)
    pending.push_back(value);
}

void Skeleton::needResult(Operation *op, unsigned number) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    need(loop.getInitArgs()[number]);
    need(loop.getRegionIterArgs()[number]);
    need(loop.getYieldedValues()[number]);
    keep(op, {});
    return;
  }
  if (auto choice = dyn_cast<scf::IfOp>(op)) {
    for (Region *region : {&choice.getThenRegion(), &choice.getElseRegion()})
      need(region->front().getTerminator()->getOperand(number));
    keep(op, {});
    return;
  }
  // What a root needs has been said.
  if (!roots.contains(op))
    keep(op, op->getOperands());
}

//===----------------------------------------------------------------------===//
// The copy
//===----------------------------------------------------------------------===//

void Skeleton::copyTo(OpBuilder &builder, Emit emit) const {
  IRMapping mapping;
  copyBlock(builder, body, mapping, emit);
}

void Skeleton::copyBlock(OpBuilder &builder, Block &block, IRMapping &mapping,
                         Emit emit) const {
  for (Operation &op : block) {
    if (!keeps(&op) || op.hasTrait<OpTrait::IsTerminator>() ||
        emit(builder, &op, mapping))
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      copyFor(builder, loop, mapping, emit);
    else if (auto choice = dyn_cast<scf::IfOp>(op))
      copyIf(builder, choice, mapping, emit);
    else
      builder.clone(op, mapping);
  }
}

void Skeleton::copyFor(OpBuilder &builder, scf::ForOp loop, IRMapping &mapping,
                       Emit emit) const {
  SmallVector<Value> inits;
  SmallVector<Location> places;
  for (auto [result, init, argument] : llvm::zip(
           loop.getResults(), loop.getInitArgs(), loop.getRegionIterArgs()))
    if (needs(result)) {
      inits.push_back(mapping.lookupOrDefault(init));
      places.push_back(argument.getLoc());
    }
  auto copy = scf::ForOp::create(
      builder, loop.getLoc(), mapping.lookupOrDefault(loop.getLowerBound()),
      mapping.lookupOrDefault(loop.getUpperBound()),
      mapping.lookupOrDefault(loop.getStep()), inits);
  copy->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  copy.getInductionVar().setLoc(loop.getInductionVar().getLoc());
  mapping.map(loop.getInductionVar(), copy.getInductionVar());
  unsigned number = 0;
  for (auto [result, argument] :
       llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
    if (needs(result)) {
      copy.getRegionIterArgs()[number].setLoc(argument.getLoc());
      mapping.map(argument, copy.getRegionIterArgs()[number]);
      mapping.map(result, copy.getResult(number++));
    }
  // A loop that carries nothing was made with its terminator.
  Block *inner = copy.getBody();
  if (inner->mightHaveTerminator())
    inner->getTerminator()->erase();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(inner);
  copyBlock(builder, *loop.getBody(), mapping, emit);
  SmallVector<Value> yielded;
  for (auto [result, value] :
       llvm::zip(loop.getResults(), loop.getYieldedValues()))
    if (needs(result))
      yielded.push_back(mapping.lookupOrDefault(value));
  scf::YieldOp::create(builder, loop.getBody()->getTerminator()->getLoc(),
                       yielded);
}

void Skeleton::copyIf(OpBuilder &builder, scf::IfOp choice, IRMapping &mapping,
                      Emit emit) const {
  SmallVector<Type> types;
  for (OpResult result : choice.getResults())
    if (needs(result))
      types.push_back(result.getType());
  auto copy = scf::IfOp::create(builder, choice.getLoc(), types,
                                mapping.lookupOrDefault(choice.getCondition()),
                                /*addThenBlock=*/true,
                                /*addElseBlock=*/choice.elseBlock() != nullptr);
  auto copyBranch = [&](Block *from, Block *to) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(to);
    copyBlock(builder, *from, mapping, emit);
    SmallVector<Value> yielded;
    for (auto [result, value] :
         llvm::zip(choice.getResults(), from->getTerminator()->getOperands()))
      if (needs(result))
        yielded.push_back(mapping.lookupOrDefault(value));
    scf::YieldOp::create(builder, from->getTerminator()->getLoc(), yielded);
  };
  copyBranch(choice.thenBlock(), copy.thenBlock());
  if (choice.elseBlock())
    copyBranch(choice.elseBlock(), copy.elseBlock());
  unsigned number = 0;
  for (OpResult result : choice.getResults())
    if (needs(result))
      mapping.map(result, copy.getResult(number++));
}
