//===- EmitPlain.cpp - Control and barriers of plain kernels -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/PlainEmitter.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

/// True if products of the kernel need the registers that addresses would lie
/// in until they are needed, and the operation is not repeated with a product.
static bool competesWithProducts(rtile::FuncOp func, Operation *op) {
  auto hasDot = [](Operation *root) {
    return root->walk([](rtile::DotOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  };
  auto loop = op->getParentOfType<scf::ForOp>();
  bool hasInnerLoop =
      loop && loop.getBody()
                  ->walk([](scf::ForOp) { return WalkResult::interrupt(); })
                  .wasInterrupted();
  return hasDot(func) && (!loop || hasInnerLoop);
}

PlainEmitter::PlainEmitter(rtile::FuncOp func, const arch::GPUArch &row,
                           GPUBuilder &builder, Value shared)
    : TileEmitter(func, row, builder, shared) {
  setThread(b.threadIndex(), Fragments::of(func));
}

void PlainEmitter::emitOperation(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](rtile::LoadOp load) {
        std::optional<RenewedView> renewed;
        std::optional<AccessAside> aside;
        if (isAside(load))
          aside.emplace(*this, load.getView());
        else if (load.getType().getRank() == 1 && isBehindProducts(load))
          renewed.emplace(*this, load.getView());
        emitLoad(load);
      })
      .Case([&](rtile::StoreOp store) {
        std::optional<RenewedView> renewed;
        std::optional<StoreAside> aside;
        if (isAside(store))
          aside.emplace(*this, store.getView());
        else if (competesWithProducts(func, store))
          renewed.emplace(*this, store.getView());
        emitStore(store);
      })
      .Case([&](rtile::DotOp dot) { emitDot(dot); })
      .Case([&](rtile::BroadcastOp broadcast) {
        if (broadcast.getColumns())
          emitColumns(broadcast);
        else
          emitBroadcast(broadcast);
      })
      .Case([&](scf::ForOp loop) { emitLoop(loop); })
      .Case([&](scf::IfOp branch) { emitBranch(branch); })
      .Case([&](rtile::GenerateOp generate) { emitGenerate(generate); })
      .Default([&](Operation *) {
        if (op->hasAttr(skipOnesAttr))
          emitRescale(cast<arith::MulFOp>(op));
        else
          emitCommon(op);
      });
}

void PlainEmitter::emitGenerate(rtile::GenerateOp op) {
  auto emitEntry = [&](Value place) {
    bind(op.getPlace(), place);
    emitBlock(op.getBody().front());
    return getScalar(op.getEntry());
  };
  Value first = b.toI64(thread);
  Value end = getScalar(op.getEnd());
  code::emitEntries(b, buffers[op.getTable()], getScalar(op.getBegin()), end,
                    emitEntry, {first, layout.threads()});
}

void PlainEmitter::emitRescale(arith::MulFOp op) {
  auto wide = op.getRhs().getDefiningOp<rtile::BroadcastOp>();
  Value isNeeded = b.i1(false), one = b.real(b.getF32Type(), 1.0);
  for (Value factor : fragments[wide.getInput()])
    isNeeded = arith::OrIOp::create(
        b, isNeeded, b.compare(arith::CmpFPredicate::UNE, factor, one));
  const Fragment &sums = fragments[op.getLhs()];
  const Fragment &factors = fragments[op.getRhs()];
  SmallVector<Type> types(sums.size(), b.getF32Type());
  auto branch = scf::IfOp::create(b, types, b.anyInWarp(isNeeded), true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Fragment scaled;
    for (auto [sum, factor] : llvm::zip(sums, factors))
      scaled.push_back(arith::MulFOp::create(b, sum, factor));
    scf::YieldOp::create(b, scaled);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, sums);
  }
  ResultRange results = branch.getResults();
  fragments[op] = Fragment(results.begin(), results.end());
}

Fragment PlainEmitter::readColumns(rtile::BroadcastOp op) {
  RankedTensorType tile = getTile(op);
  int64_t width = tile.getDimSize(1), blocks = Fragments::columnBlocks(width);
  SmallVector<SharedAccess> list = getSharedAccesses(op);
  ArrayRef<SharedAccess> accesses = list;
  int64_t offset = prepareImage(op.getInputMutable(), accesses);
  await(accesses.front());
  Type element = tile.getElementType();
  bool isBool = element.isInteger(1);
  int64_t bytes = getBytes(element);
  Fragment columns;
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t which = 0; which < 2; ++which) {
      Value index = getColumnIndex(block, which);
      if (isInside(width, block, which))
        index = b.min(index, b.i32(width - 1));
      Value toColumn = b.mul(b.toI64(index), bytes);
      Value pointer = b.at(getShared(offset), toColumn);
      Value value =
          b.load(isBool ? Type(b.getI8Type()) : element, pointer, bytes);
      columns.push_back(
          isBool ? arith::TruncIOp::create(b, element, value).getResult()
                 : value);
    }
  return columns;
}

void PlainEmitter::emitColumns(rtile::BroadcastOp op) {
  RankedTensorType tile = getTile(op);
  Fragment columns = isReadAlongColumns(op.getInput())
                         ? fragments[op.getInput()]
                         : readColumns(op);
  Fragment result;
  for (int64_t row = 0; row < layout.rowBlocks(tile.getDimSize(0)); ++row)
    for (size_t block = 0; block < columns.size() / 2; ++block)
      for (int64_t which = 0; which < 4; ++which)
        result.push_back(columns[2 * block + which % 2]);
  fragments[op] = std::move(result);
}

//===----------------------------------------------------------------------===//
// Loops and branches, which all threads of a block take alike
//===----------------------------------------------------------------------===//

/// Of what `loop` carries, `values` in registers: the rest stays in its place
/// in shared memory.
static SmallVector<Value> getInRegisters(scf::ForOp loop, ValueRange values) {
  SmallVector<Value> result;
  for (auto [value, argument] : llvm::zip(values, loop.getRegionIterArgs()))
    if (!isCarriedImage(argument))
      result.push_back(value);
  return result;
}

void PlainEmitter::emitLoop(scf::ForOp loop) {
  auto inits = flatten(getInRegisters(loop, loop.getInitArgs()));
  Value step = getScalar(loop.getStep());
  Value end = getScalar(loop.getUpperBound());
  auto copy =
      scf::ForOp::create(b, getScalar(loop.getLowerBound()), end, step, inits);
  bind(loop.getInductionVar(), copy.getInductionVar());
  SmallVector<Value> arguments(loop.getRegionIterArgs());
  bindFlat(getInRegisters(loop, arguments), copy.getRegionIterArgs());
  Hazards before = hazards;
  // What comes before the first operation of a turn may be the last one of the
  // turn before.
  hazards.addAll(loop);
  loop.walk([&](rtile::LoadOp load) {
    copiesPending |= arch.hasCpAsync && ringlet::gpu::getShared(load) >= 0;
  });
  {
    OpBuilder::InsertionGuard guard(b);
    Block *body = copy.getBody();
    if (copy.getNumResults() == 0)
      body->getTerminator()->erase();
    b.setInsertionPointToEnd(body);
    emitBlock(*loop.getBody());
    scf::YieldOp::create(
        b, flatten(getInRegisters(loop, loop.getYieldedValues())));
  }
  bindFlat(getInRegisters(loop, loop.getResults()), copy.getResults());
  hazards.merge(before);
}

void PlainEmitter::emitBranch(scf::IfOp branch) {
  SmallVector<Type> types;
  for (Value result : branch.getResults()) {
    RankedTensorType tile = getTile(result);
    types.append(tile ? layout.elements(tile) : 1,
                 tile ? tile.getElementType() : getCodeType(result.getType()));
  }
  bool hasElse = !branch.getElseRegion().empty();
  auto copy = scf::IfOp::create(b, TypeRange(types),
                                getScalar(branch.getCondition()), hasElse);
  Hazards before = hazards, after = hazards;
  auto emitSide = [&](Block *from, Block *to) {
    OpBuilder::InsertionGuard guard(b);
    if (!to->empty())
      to->getTerminator()->erase();
    b.setInsertionPointToEnd(to);
    hazards = before;
    emitBlock(*from);
    scf::YieldOp::create(b, flatten(from->getTerminator()->getOperands()));
    after.merge(hazards);
  };
  emitSide(branch.thenBlock(), copy.thenBlock());
  if (hasElse)
    emitSide(branch.elseBlock(), copy.elseBlock());
  hazards = after;
  bindFlat(branch.getResults(), copy.getResults());
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

void PlainEmitter::await(const SharedAccess &access) {
  switch (hazards.before(access)) {
  case Hazards::Need::Nothing:
    break;
  case Hazards::Need::WarpBarrier:
    b.warpBarrier();
    break;
  case Hazards::Need::BlockBarrier:
    if (copiesPending)
      b.waitForCopies();
    copiesPending = false;
    b.blockBarrier();
    hazards.clear();
    break;
  }
  hazards.add(access);
}
