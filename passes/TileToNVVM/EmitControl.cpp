//===- EmitControl.cpp - Scalars and values -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/TileEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

void ThreadPart::setThread(Value number, Fragments fragments) {
  layout = fragments;
  thread = number;
  lane = b.remUnsigned(thread, 32);
  warp = b.divUnsigned(thread, 32);
  Value rowOfWarp = b.divUnsigned(lane, 4);
  laneRow = b.add(b.mul(warp, 16), rowOfWarp);
  laneColumn = b.mul(b.remUnsigned(lane, 4), layout.adjacent);
}

void TileEmitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    emitOperation(&op);
  }
}

void TileEmitter::emitCommon(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](rtile::ViewOp view) {
        views[view] = code::addressView(b, view, scalars, buffers);
      })
      .Case([&](rtile::ReduceOp reduce) { emitReduce(reduce); })
      .Case([&](rtile::BroadcastOp broadcast) { emitBroadcast(broadcast); })
      .Case([&](rtile::VisibleOp visible) { emitVisible(visible); })
      .Case([&](rtile::FoldOp fold) { emitFold(fold); })
      .Case([&](rtile::AnyOp any) { emitAny(any); })
      .Case([&](rtile::SliceOp slice) { emitSlice(slice); })
      .Case([&](rtile::JoinOp join) { emitJoin(join); })
      .Case([&](rtile::RebaseOp rebase) { emitRebase(rebase); })
      .Default([&](Operation *) {
        if (!getTile(op->getResult(0)))
          emitScalar(op);
        else if (auto constant = dyn_cast<arith::ConstantOp>(op))
          emitConstant(constant);
        else
          emitElementwise(op);
      });
}

bool ringlet::gpu::isBehindProducts(rtile::LoadOp op) {
  for (Operation *before = op->getPrevNode(); before;
       before = before->getPrevNode())
    if (before
            ->walk([](Operation *inner) {
              return isa<rtile::DotOp, rtile::StartDotOp>(inner)
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            })
            .wasInterrupted())
      return true;
  return false;
}

bool ringlet::gpu::isAside(Operation *access) {
  auto branch = dyn_cast<scf::IfOp>(access->getParentOp());
  return branch && branch->getParentOfType<scf::ForOp>() &&
         !branch->walk([](scf::ForOp) { return WalkResult::interrupt(); })
              .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

void TileEmitter::emitScalar(Operation *op) {
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    APInt axis;
    matchPattern(dim.getIndex(), m_ConstantInt(&axis));
    bind(dim, buffers[dim.getSource()].sizes[axis.getSExtValue()]);
    return;
  }
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    Value element = findElement(load.getMemRef(), flatten(load.getIndices()));
    Type type = load.getType();
    Value loaded = type.isInteger(1) ? isSet(element, b.integer(type, 1))
                                     : b.load(type, element, getBytes(type));
    bind(load, shareScalar(loaded));
    return;
  }
  bindFlat(op->getResults(),
           code::emitScalar(b, op, flatten(op->getOperands())));
}

void TileEmitter::flattenValue(Value value, SmallVectorImpl<Value> &code) {
  if (!getHeld(value))
    code.push_back(getScalar(value));
  else if (visible.contains(value))
    llvm::append_range(code, expandVisible(value));
  else
    llvm::append_range(code, fragments[value]);
}

SmallVector<Value> TileEmitter::flatten(ValueRange values) {
  SmallVector<Value> result;
  for (Value value : values)
    flattenValue(value, result);
  return result;
}

size_t TileEmitter::bindValue(Value value, ValueRange code) {
  RankedTensorType tile = getHeld(value);
  if (!tile) {
    bind(value, code.front());
    return 1;
  }
  size_t count = getRegisters(tile);
  fragments[value] = llvm::to_vector(code.take_front(count));
  return count;
}

void TileEmitter::bindFlat(ValueRange values, ValueRange code) {
  for (Value value : values)
    code = code.drop_front(bindValue(value, code));
}
