//===- EmitControl.cpp - Scalars, loops, branches, barriers -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Emitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

Emitter::Emitter(rtile::FuncOp func, const arch::GPUArch &row,
                 GPUBuilder &builder, Value shared)
    : func(func), layout{1}, arch(row), b(builder), async(builder),
      shared(shared) {
  if (!func.getScheduled())
    setThread(b.threadIndex(), Fragments::of(func));
}

void Emitter::setThread(Value number, Fragments fragments) {
  layout = fragments;
  thread = number;
  lane = b.remUnsigned(thread, 32);
  warp = b.divUnsigned(thread, 32);
  Value rowOfWarp = b.divUnsigned(lane, 4);
  laneRow = b.add(b.mul(warp, 16), rowOfWarp);
  laneColumn = b.mul(b.remUnsigned(lane, 4), 2);
}

void Emitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    emitOperation(&op);
  }
}

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

/// True for values of rows that a result needs besides its products.
static bool isBehindProducts(rtile::LoadOp op) {
  if (op.getResult().getType().getRank() != 1)
    return false;
  for (Operation *before = op->getPrevNode(); before;
       before = before->getPrevNode())
    if (before
            ->walk([](Operation *inner) {
              return isa<rtile::DotOp, rtile::FinishDotOp>(inner)
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            })
            .wasInterrupted())
      return true;
  return false;
}

void Emitter::emitOperation(Operation *op) {
  if (role && emitInRole(op))
    return;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](rtile::ViewOp view) {
        views[view] = code::addressView(b, view, scalars, buffers);
      })
      .Case([&](rtile::LoadOp load) {
        if (isBehindProducts(load))
          renewView(load.getView());
        emitLoad(load);
      })
      .Case([&](rtile::StoreOp store) {
        if (competesWithProducts(func, store))
          renewView(store.getView());
        emitStore(store);
      })
      .Case([&](rtile::DotOp dot) { emitDot(dot); })
      .Case([&](rtile::ReduceOp reduce) { emitReduce(reduce); })
      .Case([&](rtile::BroadcastOp broadcast) { emitBroadcast(broadcast); })
      .Case([&](rtile::VisibleOp visible) { emitVisible(visible); })
      .Case([&](rtile::FoldOp fold) { emitFold(fold); })
      .Case([&](rtile::AnyOp any) { emitAny(any); })
      .Case([&](rtile::SliceOp slice) { emitSlice(slice); })
      .Case([&](rtile::JoinOp join) { emitJoin(join); })
      .Case([&](rtile::RebaseOp rebase) { emitRebase(rebase); })
      .Case([&](scf::ForOp loop) { emitLoop(loop); })
      .Case([&](scf::IfOp branch) { emitBranch(branch); })
      .Case([&](rtile::GenerateOp generate) { emitGenerate(generate); })
      .Default([&](Operation *) {
        if (!getTile(op->getResult(0)))
          emitScalar(op);
        else if (auto constant = dyn_cast<arith::ConstantOp>(op))
          emitConstant(constant);
        else
          emitElementwise(op);
      });
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

void Emitter::emitScalar(Operation *op) {
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    APInt axis;
    matchPattern(dim.getIndex(), m_ConstantInt(&axis));
    bind(dim, buffers[dim.getSource()].sizes[axis.getSExtValue()]);
    return;
  }
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    Value element = getElement(load.getMemRef(), flatten(load.getIndices()));
    Type type = load.getType();
    Value loaded = type.isInteger(1) ? isSet(element, b.integer(type, 1))
                                     : b.load(type, element, getBytes(type));
    // What decides about control of a role comes from one lane of each warp.
    if (role && !isSingleThread(role))
      loaded = async.uniform(loaded);
    bind(load, loaded);
    return;
  }
  bindFlat(op->getResults(),
           code::emitScalar(b, op, flatten(op->getOperands())));
}

SmallVector<Value> Emitter::flatten(ValueRange values) {
  SmallVector<Value> result;
  for (Value value : values) {
    if (role)
      compute(value);
    if (getTile(value))
      llvm::append_range(result, visible.contains(value) ? expandVisible(value)
                                                         : fragments[value]);
    else
      result.push_back(getScalar(value));
  }
  return result;
}

void Emitter::bindFlat(ValueRange values, ValueRange code) {
  for (Value value : values) {
    size_t count = 1;
    if (RankedTensorType tile = getTile(value)) {
      count = getRegisters(tile);
      fragments[value] = llvm::to_vector(code.take_front(count));
    } else {
      bind(value, code.front());
    }
    code = code.drop_front(count);
  }
}

void Emitter::emitGenerate(rtile::GenerateOp op) {
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

void Emitter::emitLoop(scf::ForOp loop) {
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
    copiesPending |= arch.hasCpAsync && gpu::getShared(load) >= 0;
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

void Emitter::emitBranch(scf::IfOp branch) {
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

void Emitter::await(const SharedAccess &access) {
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
