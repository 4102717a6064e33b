//===- EmitWalk.cpp - Points of the grid that a block visits -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each role walks over the points of the grid for itself. All of them come to
// the same points in the same order; channels go on from one to the next.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/RoleEmitter.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

void RoleEmitter::emitStridedWalk(rtile::RoleOp op) {
  // The next point is so many further on along each axis, which no division
  // has to find out.
  bool isPlain = func.getWalkAttr().getSection() == 0;
  Channels visited = getVisited(op);
  SmallVector<Value> carried = flattenCursors(visited), distance;
  size_t count = carried.size();
  Value first = b.blockIndex();
  if (isPlain) {
    llvm::append_range(carried, decodePoint(first));
    distance = decodePoint(b.blockCount());
  }
  auto loop = scf::ForOp::create(b, first, points, b.blockCount(), carried);
  b.keepRolled(loop);
  OpBuilder::InsertionGuard guard(b);
  Block *body = loop.getBody();
  if (loop.getNumResults() == 0)
    body->getTerminator()->erase();
  b.setInsertionPointToEnd(body);
  ValueRange arguments = loop.getRegionIterArgs();
  bindCursors(visited, arguments.take_front(count));
  SmallVector<Value> point(arguments.drop_front(count));
  emitPoint(op, isPlain ? point : decodePoint(loop.getInductionVar()));
  SmallVector<Value> yielded = flattenCursors(visited);
  if (isPlain)
    llvm::append_range(yielded, movePoint(point, distance));
  scf::YieldOp::create(b, yielded);
}

SmallVector<Value> RoleEmitter::markEnd(SmallVector<Value> point, Value item) {
  Value exists = b.compare(arith::CmpIPredicate::ult, item, points);
  point[0] = b.select(exists, point[0], b.i32(-1));
  return point;
}

SmallVector<Value> RoleEmitter::takePoint(Value taken, Value letter) {
  Mailbox box = Mailbox::of(func);
  Value item = b.add(async.blockCount(), taken);
  // What divisions need of the extents is found anew: it would lie in registers
  // all the time, of which this role has few.
  SmallVector<Value> known = gridExtents;
  Value knownPoints = points;
  points = b.i32(1);
  for (Value &extent : gridExtents) {
    extent = async.hold(extent).front();
    points = b.mul(points, extent);
  }
  SmallVector<Value> point = markEnd(decodePoint(item), item);
  gridExtents = known;
  points = knownPoints;
  Value number = b.remUnsigned(letter, Mailbox::letters);
  Value turn = b.remUnsigned(b.divUnsigned(letter, Mailbox::letters), 2);
  Value barrier = b.mul(number, barrierBytes);
  // The first time round, the phase before the first is over.
  async.wait({{getPlace(box.getEmpty(), barrier),
               arith::XOrIOp::create(b, turn, b.i32(1))}});
  SmallVector<Value> words = point;
  words.resize(4, b.i32(0));
  async.writeWords(getPlace(box.offset, b.mul(number, Mailbox::letterBytes)),
                   words);
  async.arrive(getPlace(box.getFull(), barrier), Value());
  return point;
}

SmallVector<Value> RoleEmitter::receivePoint(Value letter) {
  Mailbox box = Mailbox::of(func);
  Value number = b.remUnsigned(letter, Mailbox::letters);
  Value turn = b.remUnsigned(b.divUnsigned(letter, Mailbox::letters), 2);
  Value barrier = b.mul(number, barrierBytes);
  async.wait({{getPlace(box.getFull(), barrier), turn}});
  SmallVector<Value> point = async.readWords(
      getPlace(box.offset, b.mul(number, Mailbox::letterBytes)), 4);
  point.truncate(gridExtents.size());
  // What lane 0 has read, all lanes take.
  for (Value &index : point)
    index = async.uniform(index);
  async.arrive(getPlace(box.getEmpty(), barrier), isFirstLane);
  return point;
}

void RoleEmitter::emitDynamicWalk(rtile::RoleOp op) {
  Channels visited = getVisited(op);
  Value first = b.blockIndex();
  SmallVector<Value> inits = markEnd(decodePoint(first), first);
  size_t rank = inits.size();
  inits.push_back(b.i32(0));
  llvm::append_range(inits, flattenCursors(visited));
  auto loop = scf::WhileOp::create(b, TypeRange(ValueRange(inits)), inits);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Location> locs(inits.size(), op.getLoc());
  Block *before =
      b.createBlock(&loop.getBefore(), {}, TypeRange(ValueRange(inits)), locs);
  Value goesOn = b.lessEqual(b.i32(0), before->getArgument(0));
  scf::ConditionOp::create(b, goesOn, before->getArguments());
  Block *body =
      b.createBlock(&loop.getAfter(), {}, TypeRange(ValueRange(inits)), locs);
  ValueRange arguments = body->getArguments();
  bindCursors(visited, arguments.drop_front(rank + 1));
  SmallVector<Value> point(arguments.take_front(rank));
  Value letter = arguments[rank];
  // The answer is on its way while this point is worked on. There are as many
  // questions as points: the last one leaves 0 to the next kernel.
  bool takes = isSingleThread(op);
  Value taken = takes ? async.countUp(counter, b.add(points, -1)) : Value();
  emitPoint(op, point);
  SmallVector<Value> yielded =
      takes ? takePoint(taken, letter) : receivePoint(letter);
  yielded.push_back(b.add(letter, 1));
  llvm::append_range(yielded, flattenCursors(visited));
  scf::YieldOp::create(b, yielded);
}

void RoleEmitter::emitPoint(rtile::RoleOp op, ArrayRef<Value> visitedPoint) {
  SmallVector<Value> values(visitedPoint);
  if (rtile::WalkAttr walk = func.getWalkAttr())
    for (int64_t axis : walk.getReversed())
      values[axis] = b.sub(b.add(gridExtents[axis], -1), values[axis]);
  for (auto [point, value] : llvm::zip(func.getGridPoint(), values))
    bind(point, b.toI64(value));
  // Of a role with few registers what follows from parameters is found anew for
  // each point: found once, it would lie in registers all the time.
  auto knownScalars = scalars;
  auto knownBuffers = buffers;
  bool isNarrow = isSingleThread(op) && ringlet::gpu::isDynamic(func);
  if (isNarrow)
    renewParameters();
  provided.clear();
  provideFor(op.getBody().front());
  for (Operation &inner : op.getBody().front()) {
    b.setLoc(inner.getLoc());
    emitOperation(&inner);
  }
  waiting.clear();
  if (!isNarrow)
    return;
  for (Value parameter : func.getParameters()) {
    if (auto known = knownScalars.find(parameter); known != knownScalars.end())
      scalars[parameter] = known->second;
    if (auto known = knownBuffers.find(parameter); known != knownBuffers.end())
      buffers[parameter] = known->second;
  }
}

void RoleEmitter::renewParameters() {
  auto renew = [&](Value &value) {
    if (!value.getDefiningOp<arith::ConstantOp>())
      value = async.hold(value).front();
  };
  for (Value parameter : func.getParameters()) {
    if (auto scalar = scalars.find(parameter); scalar != scalars.end())
      renew(scalar->second);
    if (auto buffer = buffers.find(parameter); buffer != buffers.end())
      llvm::for_each(buffer->second.sizes, renew);
  }
}

/// Axes of a grid in the order of its walk, the fastest first.
static SmallVector<int64_t> getOrder(rtile::FuncOp func) {
  SmallVector<int64_t> order;
  if (rtile::WalkAttr walk = func.getWalkAttr())
    order.append(walk.getOrder().begin(), walk.getOrder().end());
  for (int64_t axis = 0; order.size() < func.getGridRank(); ++axis)
    order.push_back(axis);
  return order;
}

SmallVector<Value> RoleEmitter::decodePoint(Value item) {
  auto quotient = [&](Value x, Value y) -> Value {
    return arith::DivUIOp::create(b, x, y);
  };
  auto rest = [&](Value x, Value y) -> Value {
    return arith::RemUIOp::create(b, x, y);
  };
  SmallVector<int64_t> order = getOrder(func);
  SmallVector<Value> point(order.size());
  ArrayRef<int64_t> axes = order;
  rtile::WalkAttr walk = func.getWalkAttr();
  if (walk && walk.getSection() && axes.size() > 1) {
    // Sections of all axes but the last one, which runs within each.
    Value slowest = gridExtents[axes.back()], others = b.i32(1);
    for (int64_t axis : axes.drop_back())
      others = b.mul(others, gridExtents[axis]);
    Value full = getSection(others, slowest);
    Value size = b.mul(slowest, full);
    Value first = b.mul(quotient(item, size), full);
    Value inSection = rest(item, size);
    // The last section may be shorter.
    Value width = b.min(b.sub(others, first), full);
    point[axes.back()] = quotient(inSection, width);
    item = b.add(first, rest(inSection, width));
    axes = axes.drop_back();
  }
  while (!axes.empty()) {
    int64_t axis = axes.front();
    axes = axes.drop_front();
    point[axis] = axes.empty() ? item : rest(item, gridExtents[axis]);
    if (!axes.empty())
      item = quotient(item, gridExtents[axis]);
  }
  return point;
}

Value RoleEmitter::getSection(Value points, Value tiles) {
  rtile::WalkAttr walk = func.getWalkAttr();
  auto clamp = [](int64_t number) {
    return std::min(number, int64_t(INT32_MAX));
  };
  auto divide = [&](Value x, Value y) -> Value {
    return arith::DivUIOp::create(b, x, y);
  };
  auto divideUp = [&](Value x, Value y) {
    return divide(b.add(x, b.add(y, -1)), y);
  };
  Value section;
  if (walk.getRows() == 0) {
    section = b.i32(clamp(walk.getSection()));
  } else {
    Value buffer = func.getParameters()[walk.getLength().front()];
    Value length = buffers[buffer].sizes[walk.getLength().back()];
    // Found anew for each point, as takePoint does with the extents.
    Value rows = async.hold(b.toI32(b.min(length, b.i64(INT32_MAX)))).front();
    Value times = divide(b.i32(clamp(walk.getRows())), b.max(rows, b.i32(1)));
    times = b.min(b.max(times, b.i32(1)),
                  b.i32(INT32_MAX / clamp(walk.getSection())));
    section = b.mul(times, clamp(walk.getSection()));
  }
  if (int64_t perBlock = walk.getPerBlock()) {
    // A thousand points of every block are a long section.
    Value blocks = async.blockCount();
    Value wanted =
        divideUp(b.mul(blocks, std::min<int64_t>(perBlock, 1024)), tiles);
    constexpr int64_t readersOfRows = 8;
    Value readable = b.divUnsigned(blocks, readersOfRows);
    section = b.max(section, b.min(wanted, readable));
  }
  // One longer than the axes, which is all of them, must not overflow.
  section = b.max(b.min(points, section), b.i32(1));
  return divideUp(points, divide(points, section));
}

SmallVector<Value> RoleEmitter::movePoint(ArrayRef<Value> point,
                                          ArrayRef<Value> distance) {
  SmallVector<Value> moved(point.size());
  Value carry;
  for (int64_t axis : getOrder(func)) {
    Value sum = b.add(point[axis], distance[axis]);
    if (carry)
      sum = b.add(sum, arith::ExtUIOp::create(b, b.getI32Type(), carry));
    carry = b.lessEqual(gridExtents[axis], sum);
    moved[axis] = b.select(carry, b.sub(sum, gridExtents[axis]), sum);
  }
  return moved;
}
