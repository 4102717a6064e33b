//===- EmitRoles.cpp - Roles of a scheduled kernel -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block starts its barriers, and then its warps part into roles: one branch
// each, taken by whole groups of warps, inside of which all control is the same
// for all threads. ptxas then keeps products under way and lets roles trade
// registers. Each role walks over the points of the grid for itself.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

void Emitter::emitBarriers() {
  Value number = b.threadIndex();
  Value first = b.compare(arith::CmpIPredicate::eq, number, b.i32(0));
  b.ifElse(
      first,
      [&] {
        for (auto channel : func.getBody().getOps<rtile::ChannelOp>())
          for (int64_t slot = 0; slot < int64_t(channel.getSlots()); ++slot) {
            Slot at{channel, slot ? b.i32(slot) : Value(), Value()};
            // Full when one thread has said how many bytes come, and they have.
            async.initBarrier(getFull(at), 1);
            async.initBarrier(getEmpty(at), getReleases(channel));
          }
        async.fenceBarriers();
        auto list = func->getAttrOfType<ArrayAttr>(mapsAttr);
        for (int64_t map = 0; map < int64_t(list.size()); ++map)
          async.prefetchMap(b.at(maps, map * mapBytes), Value());
      },
      nullptr);
  b.blockBarrier();
}

void Emitter::emitRoles(ValueRange extents, Value mapsAddress) {
  maps = mapsAddress;
  // Addresses are literals of what the assembler would otherwise work out
  // again and again.
  Value address = b.toI32(LLVM::PtrToIntOp::create(b, b.getI64Type(), shared));
  async.trap(
      b.compare(arith::CmpIPredicate::ne, address, b.i32(sharedBaseAddress)));
  emitBarriers();
  auto roles = llvm::to_vector(func.getBody().getOps<rtile::RoleOp>());
  Value warpNumber = async.uniform(b.divUnsigned(b.threadIndex(), 32));
  emitRoleChain(roles, 0, warpNumber, extents);
}

void Emitter::emitRoleChain(ArrayRef<rtile::RoleOp> roles, int64_t firstWarp,
                            Value warpNumber, ValueRange extents) {
  if (roles.size() == 1)
    return emitRole(roles.front(), firstWarp, extents);
  rtile::RoleOp first = roles.front();
  int64_t endWarp = firstWarp + first.getWarps();
  b.ifElse(
      b.less(warpNumber, b.i32(endWarp)),
      [&] { emitRole(first, firstWarp, extents); },
      [&] { emitRoleChain(roles.drop_front(), endWarp, warpNumber, extents); });
}

//===----------------------------------------------------------------------===//
// One role
//===----------------------------------------------------------------------===//

void Emitter::emitRole(rtile::RoleOp op, int64_t firstWarp,
                       ValueRange extents) {
  b.setLoc(op.getLoc());
  role = op;
  if (op.getRegisters())
    async.setRegisters(op.getRegisters(), getLaunchRegisters(func, arch));
  setThread(b.add(b.threadIndex(), -32 * firstWarp),
            Fragments{int64_t(op.getWarps())});
  isLeader = b.compare(arith::CmpIPredicate::eq, thread, b.i32(0));
  if (op.getWarps() >= 4)
    group = async.uniform(b.divUnsigned(warp, 4));
  isFirstLane = b.compare(arith::CmpIPredicate::eq, lane, b.i32(0));
  Channels visited = getVisited(op);
  cursors.clear();
  for (rtile::ChannelOp channel : visited)
    cursors[channel].values.assign(
        llvm::isPowerOf2_64(channel.getSlots()) ? 1 : 2, b.i32(0));

  auto walk = [&] {
    Value points = b.toI32(extents[0]);
    for (Value extent : extents.drop_front())
      points = b.mul(points, b.toI32(extent));
    Value first = b.blockIndex();
    rtile::WalkAttr order = func.getWalkAttr();
    if (!order || order.getDispatch() == rtile::Dispatch::each)
      return emitPoint(op, first, extents);
    // Grids have less than 2^31 points.
    auto loop = scf::ForOp::create(b, first, points, b.blockCount(),
                                   flattenCursors(visited));
    b.keepRolled(loop);
    OpBuilder::InsertionGuard guard(b);
    Block *body = loop.getBody();
    if (loop.getNumResults() == 0)
      body->getTerminator()->erase();
    b.setInsertionPointToEnd(body);
    bindCursors(visited, loop.getRegionIterArgs());
    emitPoint(op, loop.getInductionVar(), extents);
    scf::YieldOp::create(b, flattenCursors(visited));
  };
  if (isSingleThread(op)) {
    Value leader = isLeader;
    isLeader = isFirstLane = Value();
    b.ifElse(leader, walk, nullptr);
  } else {
    walk();
  }
  role = nullptr;
}

void Emitter::emitPoint(rtile::RoleOp op, Value item, ValueRange extents) {
  for (auto [point, value] :
       llvm::zip(func.getGridPoint(), decodePoint(item, extents)))
    bind(point, b.toI64(value));
  // What all roles know, each finds for itself: the rest is dead code.
  for (Operation &common : func.getBody().front().without_terminator())
    if (!isa<rtile::RoleOp, rtile::ChannelOp>(common)) {
      b.setLoc(common.getLoc());
      emitOperation(&common);
    }
  for (Operation &inner : op.getBody().front()) {
    b.setLoc(inner.getLoc());
    emitOperation(&inner);
  }
}

SmallVector<Value> Emitter::decodePoint(Value item, ValueRange extents) {
  int64_t rank = extents.size();
  SmallVector<int64_t> order;
  rtile::WalkAttr walk = func.getWalkAttr();
  if (walk)
    order.append(walk.getOrder().begin(), walk.getOrder().end());
  if (order.empty())
    for (int64_t axis = 0; axis < rank; ++axis)
      order.push_back(axis);
  auto quotient = [&](Value x, Value y) -> Value {
    return arith::DivUIOp::create(b, x, y);
  };
  auto rest = [&](Value x, Value y) -> Value {
    return arith::RemUIOp::create(b, x, y);
  };
  SmallVector<Value> point(rank);
  ArrayRef<int64_t> axes = order;
  int64_t section = walk ? walk.getSection() : 0;
  if (section && rank > 1) {
    // Sections of the fastest axis; the next axis runs within each.
    Value fast = b.toI32(extents[axes[0]]), next = b.toI32(extents[axes[1]]);
    Value plane = b.mul(fast, next), inPlane = item;
    if (rank > 2) {
      inPlane = rest(item, plane);
      item = quotient(item, plane);
    }
    Value size = b.mul(next, section);
    Value first = b.mul(quotient(inPlane, size), section);
    Value inSection = rest(inPlane, size);
    // The last section may be shorter.
    Value width = b.min(b.sub(fast, first), b.i32(section));
    point[axes[0]] = b.add(first, rest(inSection, width));
    point[axes[1]] = quotient(inSection, width);
    axes = axes.drop_front(2);
  }
  while (!axes.empty()) {
    int64_t axis = axes.front();
    axes = axes.drop_front();
    Value extent = b.toI32(extents[axis]);
    point[axis] = axes.empty() ? item : rest(item, extent);
    if (!axes.empty())
      item = quotient(item, extent);
  }
  if (walk)
    for (int64_t axis : walk.getReversed())
      point[axis] = b.sub(b.add(b.toI32(extents[axis]), -1), point[axis]);
  return point;
}

//===----------------------------------------------------------------------===//
// Operations in roles
//===----------------------------------------------------------------------===//

bool Emitter::emitInRole(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](rtile::AcquireOp acquire) {
        emitAcquire(acquire);
        return true;
      })
      .Case([&](rtile::CopyOp copy) {
        emitCopy(copy);
        return true;
      })
      .Case([&](rtile::AwaitOp wait) {
        emitAwait(wait);
        return true;
      })
      .Case([&](rtile::ReadOp read) {
        emitRead(read);
        return true;
      })
      .Case([&](rtile::ReleaseOp release) {
        emitRelease(release);
        return true;
      })
      .Case([&](rtile::StartDotOp start) {
        emitStartDot(start);
        return true;
      })
      .Case([&](rtile::FinishDotOp finish) {
        emitFinishDot(finish);
        return true;
      })
      .Case([&](scf::ForOp loop) {
        emitRoleLoop(loop);
        return true;
      })
      .Case([&](scf::IfOp branch) {
        emitRoleBranch(branch);
        return true;
      })
      .Case([&](rtile::StoreOp store) { return emitRoleStore(store); })
      .Default([&](Operation *) { return emitRoleElementwise(op); });
}

void Emitter::emitRoleLoop(scf::ForOp loop) {
  Channels visited = getVisited(loop);
  SmallVector<Value> inits = flatten(loop.getInitArgs());
  size_t count = inits.size();
  llvm::append_range(inits, flattenCursors(visited));
  auto copy = scf::ForOp::create(b, getScalar(loop.getLowerBound()),
                                 getScalar(loop.getUpperBound()),
                                 getScalar(loop.getStep()), inits);
  b.keepRolled(copy);
  bind(loop.getInductionVar(), copy.getInductionVar());
  ValueRange arguments = copy.getRegionIterArgs();
  bindFlat(loop.getRegionIterArgs(), arguments.take_front(count));
  bindCursors(visited, arguments.drop_front(count));
  {
    OpBuilder::InsertionGuard guard(b);
    Block *body = copy.getBody();
    if (copy.getNumResults() == 0)
      body->getTerminator()->erase();
    b.setInsertionPointToEnd(body);
    emitBlock(*loop.getBody());
    SmallVector<Value> yielded = flatten(loop.getYieldedValues());
    llvm::append_range(yielded, flattenCursors(visited));
    scf::YieldOp::create(b, yielded);
  }
  ValueRange results = copy.getResults();
  bindFlat(loop.getResults(), results.take_front(count));
  bindCursors(visited, results.drop_front(count));
}

void Emitter::emitRoleBranch(scf::IfOp branch) {
  Channels visited = getVisited(branch);
  SmallVector<Type> types;
  for (Value result : branch.getResults()) {
    RankedTensorType tile = getTile(result);
    types.append(tile ? getRegisters(tile) : 1,
                 tile ? getRegister(tile) : getCodeType(result.getType()));
  }
  size_t count = types.size();
  SmallVector<Value> before = flattenCursors(visited);
  for (Value value : before)
    types.push_back(value.getType());
  bool hasElse = !branch.getElseRegion().empty() || !before.empty();
  auto copy = scf::IfOp::create(b, TypeRange(types),
                                getScalar(branch.getCondition()), hasElse);
  auto emitSide = [&](Region &from, Block *to) {
    OpBuilder::InsertionGuard guard(b);
    if (!to->empty())
      to->getTerminator()->erase();
    b.setInsertionPointToEnd(to);
    bindCursors(visited, before);
    SmallVector<Value> yielded;
    if (!from.empty()) {
      emitBlock(from.front());
      yielded = flatten(from.front().getTerminator()->getOperands());
    }
    llvm::append_range(yielded, flattenCursors(visited));
    scf::YieldOp::create(b, yielded);
  };
  emitSide(branch.getThenRegion(), copy.thenBlock());
  if (hasElse)
    emitSide(branch.getElseRegion(), copy.elseBlock());
  ValueRange results = copy.getResults();
  bindFlat(branch.getResults(), results.take_front(count));
  bindCursors(visited, results.drop_front(count));
}
