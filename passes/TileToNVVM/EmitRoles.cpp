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

#include "passes/TileToNVVM/RoleEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

void RoleEmitter::emitBarriers() {
  Value number = b.threadIndex();
  Value first = b.compare(arith::CmpIPredicate::eq, number, b.i32(0));
  b.ifElse(
      first,
      [&] {
        for (auto channel : func.getBody().getOps<rtile::ChannelOp>())
          for (int64_t slot = 0; slot < int64_t(channel.getSlots()); ++slot) {
            Slot at{channel, slot ? b.i32(slot) : Value(), Value()};
            // Full when one thread has said how many bytes come, and they have,
            // or when each warp has written its part.
            rtile::WriteOp write = getWrite(channel);
            async.initBarrier(
                getFull(at),
                write ? write->getParentOfType<rtile::RoleOp>().getWarps() : 1);
            async.initBarrier(getEmpty(at), getReleases(channel));
          }
        if (isDynamic(func))
          for (int64_t letter = 0; letter < Mailbox::letters; ++letter) {
            Mailbox box = Mailbox::of(func);
            int64_t place = letter * barrierBytes;
            async.initBarrier(getPlace(place + box.getFull()), 1);
            int64_t readers = 0;
            for (auto reader : func.getBody().getOps<rtile::RoleOp>())
              if (!isSingleThread(reader))
                readers += reader.getWarps();
            async.initBarrier(getPlace(place + box.getEmpty()), readers);
          }
        async.fenceBarriers();
        auto list = func->getAttrOfType<ArrayAttr>(mapsAttr);
        for (int64_t map = 0; map < int64_t(list.size()); ++map)
          async.prefetchMap(b.at(maps, map * mapBytes), Value());
      },
      nullptr);
  b.blockBarrier();
}

void RoleEmitter::emitRoles(ValueRange extents, Value mapsAddress,
                            Value counterAddress) {
  maps = mapsAddress;
  counter = counterAddress;
  launchExtents.assign(extents.begin(), extents.end());
  Value address = b.toI32(LLVM::PtrToIntOp::create(b, b.getI64Type(), shared));
  if (auto known = func->getAttrOfType<IntegerAttr>(sharedBaseAttr)) {
    knownBase = known.getInt();
    async.trap(b.compare(arith::CmpIPredicate::ne, address, b.i32(knownBase)));
  } else {
    unknownBase = address;
  }
  emitBarriers();
  auto roles = llvm::to_vector(func.getBody().getOps<rtile::RoleOp>());
  Value warpNumber = async.uniform(b.divUnsigned(b.threadIndex(), 32));
  emitRoleChain(roles, 0, warpNumber);
}

void RoleEmitter::emitRoleChain(ArrayRef<rtile::RoleOp> roles,
                                int64_t firstWarp, Value warpNumber) {
  if (roles.size() == 1)
    return emitRole(roles.front(), firstWarp);
  rtile::RoleOp first = roles.front();
  int64_t endWarp = firstWarp + first.getWarps();
  b.ifElse(
      b.less(warpNumber, b.i32(endWarp)), [&] { emitRole(first, firstWarp); },
      [&] { emitRoleChain(roles.drop_front(), endWarp, warpNumber); });
}

//===----------------------------------------------------------------------===//
// One role
//===----------------------------------------------------------------------===//

/// Each role finds the number of points for itself: a value from before they
/// part would take a register of all of them.
void RoleEmitter::countPoints() {
  gridExtents.clear();
  for (Value extent : launchExtents)
    gridExtents.push_back(b.toI32(extent));
  // Less than 2^31, also together with the number of blocks: who launches the
  // kernel sees to it.
  points = gridExtents[0];
  for (Value extent : ArrayRef<Value>(gridExtents).drop_front())
    points = b.mul(points, extent);
}

void RoleEmitter::emitRole(rtile::RoleOp op, int64_t firstWarp) {
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
  // The first turn is that of the first group: the last one leaves it to it.
  if (hasTurns(op)) {
    int64_t groups = op.getWarps() / 4;
    async.giveTurn(
        b.i32(getTurnBarrier(op)),
        b.compare(arith::CmpIPredicate::eq, group, b.i32(groups - 1)));
  }
  Channels visited = getVisited(op);
  cursors.clear();
  for (rtile::ChannelOp channel : visited)
    cursors[channel].values.assign(
        llvm::isPowerOf2_64(channel.getSlots()) ? 1 : 2, b.i32(0));

  auto walk = [&] {
    countPoints();
    rtile::WalkAttr order = func.getWalkAttr();
    if (!order || order.getDispatch() == rtile::Dispatch::each)
      emitPoint(op, decodePoint(b.blockIndex()));
    else if (order.getDispatch() == rtile::Dispatch::strided)
      emitStridedWalk(op);
    else
      emitDynamicWalk(op);
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

//===----------------------------------------------------------------------===//
// Values of roles
//===----------------------------------------------------------------------===//

bool RoleEmitter::isPacked(RankedTensorType tile) const {
  return tile.getRank() == 2 && tile.getElementType().isIntOrFloat() &&
         tile.getElementType().getIntOrFloatBitWidth() == 16;
}

/// What decides about control of a role comes from one lane of each warp.
Value RoleEmitter::shareScalar(Value loaded) {
  return role && !isSingleThread(role) ? async.uniform(loaded) : loaded;
}

void RoleEmitter::flattenValue(Value value, SmallVectorImpl<Value> &code) {
  if (!isa<rtile::SlotType>(value.getType())) {
    compute(value);
    return TileEmitter::flattenValue(value, code);
  }
  if (Value number = slots[value].number)
    code.push_back(number);
}

size_t RoleEmitter::bindValue(Value value, ValueRange code) {
  if (!isa<rtile::SlotType>(value.getType()))
    return TileEmitter::bindValue(value, code);
  // The channel is known, and which of its slots if there is only one.
  Value &number = slots[value].number;
  if (!number)
    return 0;
  number = code.front();
  return 1;
}

//===----------------------------------------------------------------------===//
// Operations in roles
//===----------------------------------------------------------------------===//

void RoleEmitter::emitOperation(Operation *op) {
  if (!emitInRole(op))
    emitCommon(op);
}

/// What all roles know, each finds for itself before it begins; what only a
/// branch needs, there.
void RoleEmitter::provideFor(Block &block) {
  llvm::DenseSet<Operation *> needed;
  auto provide = [&](Value value) {
    Operation *source = value.getDefiningOp();
    if (source && source->getParentOp() == func &&
        !isa<rtile::ChannelOp>(source))
      needed.insert(source);
  };
  for (Operation &op : block) {
    if (isa<scf::IfOp>(op))
      llvm::for_each(op.getOperands(), provide);
    else
      op.walk([&](Operation *inner) {
        llvm::for_each(inner->getOperands(), provide);
      });
  }
  // And what these are made of, in their order.
  SmallVector<Operation *> order;
  for (Operation &op : llvm::reverse(func.getBody().front()))
    if (needed.contains(&op) && !provided.contains(&op)) {
      order.push_back(&op);
      op.walk([&](Operation *inner) {
        llvm::for_each(inner->getOperands(), provide);
      });
    }
  for (Operation *op : llvm::reverse(order)) {
    b.setLoc(op->getLoc());
    emitOperation(op);
    provided.insert(op);
  }
}

/// What says of which rows a tile is needed: of others its only user takes
/// zeros instead. Null if all are.
static Value getNeededRows(rtile::LoadOp op) {
  if (op.getType().getRank() != 2 || !op->hasOneUse())
    return nullptr;
  auto choice = dyn_cast<arith::SelectOp>(*op->user_begin());
  if (!choice || choice.getTrueValue() != op.getResult() ||
      !matchPattern(choice.getFalseValue(), m_AnyZeroFloat()))
    return nullptr;
  auto wide = choice.getCondition().getDefiningOp<rtile::BroadcastOp>();
  if (!wide || wide.getColumns())
    return nullptr;
  Operation *source = wide.getInput().getDefiningOp();
  bool isKnown = source && source->getBlock() == op->getBlock() &&
                 source->isBeforeInBlock(op);
  return isKnown ? wide.getInput() : Value();
}

bool RoleEmitter::emitInRole(Operation *op) {
  if (putOff(op) || emitRounding(op))
    return true;
  // What stands in a region of its own is not known after it, and work before a
  // product is meant to be done then.
  if (isa<scf::ForOp, scf::IfOp, rtile::RebaseOp, rtile::StartDotOp,
          rtile::InTurnOp>(op))
    computeWaiting();
  if (!isa<rtile::FoldOp>(op))
    llvm::for_each(op->getOperands(), [&](Value value) { compute(value); });
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](rtile::AcquireOp acquire) {
        emitAcquire(acquire);
        return true;
      })
      .Case([&](rtile::CopyOp copy) {
        emitCopy(copy);
        return true;
      })
      .Case([&](rtile::CopyOutOp copy) {
        emitCopyOut(copy);
        return true;
      })
      .Case([&](rtile::WriteOp write) {
        emitWrite(write);
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
      .Case([&](rtile::WaitDotOp wait) {
        emitWaitDot(wait);
        return true;
      })
      .Case([&](rtile::InTurnOp turn) {
        emitTurn(turn);
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
      .Case([&](rtile::LoadOp load) {
        std::optional<RenewedView> renewed;
        std::optional<AccessAside> aside;
        if (isAside(load))
          aside.emplace(*this, load.getView());
        else if (isBehindProducts(load))
          renewed.emplace(*this, load.getView());
        loadToRegisters(load, getNeededRows(load));
        return true;
      })
      .Case([&](rtile::StoreOp store) {
        std::optional<StoreAside> aside;
        if (isAside(store))
          aside.emplace(*this, store.getView());
        emitStore(store);
        return true;
      })
      .Default([&](Operation *) { return false; });
}

void RoleEmitter::emitTurn(rtile::InTurnOp op) {
  int64_t groups = role.getWarps() / 4, first = getTurnBarrier(role);
  bool alone = groups == 1;
  if (!alone)
    async.takeTurn(b.add(group, first));
  for (Operation &inner : op.getBody().front().without_terminator()) {
    b.setLoc(inner.getLoc());
    emitOperation(&inner);
  }
  b.setLoc(op.getLoc());
  // What was started inside is waited for outside.
  Operation *yield = op.getBody().front().getTerminator();
  for (auto [result, value] :
       llvm::zip_equal(op.getResults(), yield->getOperands())) {
    fragments[result] = Fragment(fragments[value]);
    renameProduct(value, result);
  }
  if (alone)
    return;
  Value last = b.compare(arith::CmpIPredicate::eq, group, b.i32(groups - 1));
  async.giveTurn(b.select(last, b.i32(first), b.add(group, first + 1)),
                 Value());
}

void RoleEmitter::emitRoleLoop(scf::ForOp loop) {
  Channels visited = getVisited(loop);
  SmallVector<Value> inits = flatten(loop.getInitArgs());
  size_t count = inits.size();
  llvm::append_range(inits, flattenCursors(visited));
  // Steps are counted in 32 bits: there are never more.
  PositionBuilder position(b, b.getI64Type());
  Value begin = getScalar(loop.getLowerBound());
  Value step = getScalar(loop.getStep());
  Value span = b.sub(getScalar(loop.getUpperBound()), begin);
  APInt known;
  Value count64 = matchPattern(loop.getStep(), m_ConstantInt(&known))
                      ? position.ceilDiv(span, known.getSExtValue())
                      : arith::CeilDivSIOp::create(b, span, step).getResult();
  Value turns = b.toI32(b.max(count64, b.i64(0)));
  auto copy = scf::ForOp::create(b, b.i32(0), turns, b.i32(1), inits);
  b.keepRolled(copy);
  ValueRange arguments = copy.getRegionIterArgs();
  for (auto [init, argument, result] : llvm::zip_equal(
           loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults()))
    if (isa<rtile::SlotType>(init.getType())) {
      Slot slot = slots[init];
      slots[argument] = slots[result] = slot;
    }
  bindFlat(loop.getRegionIterArgs(), arguments.take_front(count));
  bindCursors(visited, arguments.drop_front(count));
  // Products that a step begins with it ends with, too (checkScheduled).
  auto rename = [&](ValueRange from, ValueRange to) {
    for (auto [old, value] : llvm::zip_equal(from, to))
      renameProduct(old, value);
  };
  rename(loop.getInitArgs(), loop.getRegionIterArgs());
  {
    OpBuilder::InsertionGuard guard(b);
    Block *body = copy.getBody();
    if (copy.getNumResults() == 0)
      body->getTerminator()->erase();
    b.setInsertionPointToEnd(body);
    bind(loop.getInductionVar(),
         b.add(begin, b.mul(b.toI64(copy.getInductionVar()), step)));
    emitBlock(*loop.getBody());
    SmallVector<Value> yielded = flatten(loop.getYieldedValues());
    waiting.clear();
    llvm::append_range(yielded, flattenCursors(visited));
    scf::YieldOp::create(b, yielded);
  }
  ValueRange results = copy.getResults();
  bindFlat(loop.getResults(), results.take_front(count));
  bindCursors(visited, results.drop_front(count));
  rename(loop.getYieldedValues(), loop.getResults());
}

void RoleEmitter::emitRoleBranch(scf::IfOp branch) {
  Channels visited = getVisited(branch);
  SmallVector<Type> types;
  for (Value result : branch.getResults()) {
    RankedTensorType tile = getHeld(result);
    types.append(tile ? getRegisters(tile) : 1,
                 tile ? getRegister(tile) : getCodeType(result.getType()));
  }
  size_t count = types.size();
  SmallVector<Value> cursorsBefore = flattenCursors(visited);
  for (Value value : cursorsBefore)
    types.push_back(value.getType());
  bool hasElse = !branch.getElseRegion().empty() || !cursorsBefore.empty();
  // Both sides leave the same products under way (checkScheduled).
  SmallVector<Value> before = underWay;
  auto copy = scf::IfOp::create(b, TypeRange(types),
                                getScalar(branch.getCondition()), hasElse);
  auto emitSide = [&](Region &from, Block *to) {
    OpBuilder::InsertionGuard guard(b);
    if (!to->empty())
      to->getTerminator()->erase();
    b.setInsertionPointToEnd(to);
    bindCursors(visited, cursorsBefore);
    SmallVector<Value> yielded;
    underWay = before;
    llvm::DenseSet<Operation *> providedBefore = provided;
    if (!from.empty()) {
      provideFor(from.front());
      emitBlock(from.front());
      Operation *yield = from.front().getTerminator();
      yielded = flatten(yield->getOperands());
      for (auto [value, result] :
           llvm::zip(yield->getOperands(), branch.getResults()))
        renameProduct(value, result);
      waiting.clear();
    }
    provided = std::move(providedBefore);
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
