//===- EmitChannels.cpp - Channels and products under way -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Product.h"
#include "passes/TileToNVVM/RoleEmitter.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

//===----------------------------------------------------------------------===//
// Cursors
//===----------------------------------------------------------------------===//

RoleEmitter::Channels RoleEmitter::getVisited(Operation *op) {
  llvm::SetVector<Operation *> found;
  op->walk([&](Operation *inner) {
    if (isa<rtile::AcquireOp, rtile::AwaitOp>(inner))
      for (Value channel : inner->getOperands())
        found.insert(channel.getDefiningOp());
  });
  Channels result;
  for (Operation *channel : found)
    result.push_back(cast<rtile::ChannelOp>(channel));
  return result;
}

SmallVector<Value> RoleEmitter::flattenCursors(ArrayRef<rtile::ChannelOp> of) {
  SmallVector<Value> result;
  for (rtile::ChannelOp channel : of)
    llvm::append_range(result, cursors[channel].values);
  return result;
}

void RoleEmitter::bindCursors(ArrayRef<rtile::ChannelOp> of, ValueRange code) {
  for (rtile::ChannelOp channel : of)
    for (Value &value : cursors[channel].values) {
      value = code.front();
      code = code.drop_front();
    }
}

RoleEmitter::Slot RoleEmitter::visit(rtile::ChannelOp channel) {
  SmallVector<Value> &values = cursors[channel].values;
  int64_t count = channel.getSlots();
  Slot slot{channel, Value(), Value()};
  if (values.size() == 1) {
    // Low bits of the number of visits are the slot, the next one the parity.
    Value visits = values[0];
    if (count > 1)
      slot.number = arith::AndIOp::create(b, visits, b.i32(count - 1));
    Value turns =
        arith::ShRUIOp::create(b, visits, b.i32(llvm::Log2_64(count)));
    slot.parity = arith::AndIOp::create(b, turns, b.i32(1));
    values[0] = b.add(visits, 1);
    return slot;
  }
  slot.number = values[0];
  slot.parity = values[1];
  Value next = b.add(values[0], 1);
  Value wraps = b.compare(arith::CmpIPredicate::eq, next, b.i32(count));
  values[0] = b.select(wraps, b.i32(0), next);
  values[1] =
      arith::XOrIOp::create(b, values[1], b.select(wraps, b.i32(1), b.i32(0)));
  return slot;
}

Place RoleEmitter::getPlace(int64_t offset, Value more) {
  if (unknownBase)
    more = more ? b.add(unknownBase, more) : unknownBase;
  return {knownBase + offset, more};
}

Place RoleEmitter::getFull(const Slot &slot) {
  rtile::ChannelOp channel = slot.channel;
  return getPlace(*channel.getBarriers(),
                  slot.number ? b.mul(slot.number, barrierBytes) : Value());
}
Place RoleEmitter::getEmpty(const Slot &slot) {
  rtile::ChannelOp channel = slot.channel;
  return getPlace(*channel.getBarriers() + channel.getSlots() * barrierBytes,
                  slot.number ? b.mul(slot.number, barrierBytes) : Value());
}
Place RoleEmitter::getMemory(const Slot &slot) {
  rtile::ChannelOp channel = slot.channel;
  int64_t bytes =
      SlotImage::of(channel.getResult().getType().getTile()).bytes();
  return getPlace(*channel.getOffset(),
                  slot.number ? b.mul(slot.number, bytes) : Value());
}

//===----------------------------------------------------------------------===//
// Handing slots over
//===----------------------------------------------------------------------===//

void RoleEmitter::emitAcquire(rtile::AcquireOp op) {
  Slot slot = visit(op.getChannel().getDefiningOp<rtile::ChannelOp>());
  // The first time round, the phase before the first is over.
  Value parity = arith::XOrIOp::create(b, slot.parity, b.i32(1));
  async.wait({{getEmpty(slot), parity}});
  slots[op] = slot;
}

RoleEmitter::Box RoleEmitter::getBox(Operation *copy,
                                     TypedValue<rtile::ViewType> source,
                                     ValueRange offsets) {
  const View &view = views[source];
  auto viewOp = source.getDefiningOp<rtile::ViewOp>();

  // Row i of the view is row `quotient + i` of those with the same rest.
  Value row = getScalar(offsets[0]);
  Value first = view.firstIndex;
  int64_t rate = getRowStep(viewOp);
  auto numbers = copy->getAttrOfType<DenseI64ArrayAttr>(mapsOfCopyAttr);
  Box box{b.at(maps, numbers[0] * mapBytes), SmallVector<Value>(2)};
  for (Value index : viewOp.getFixed())
    box.coordinates.push_back(b.toI32(getScalar(index)));
  if (rate > 1) {
    PositionBuilder position(b, b.getI64Type());
    Value quotient = position.floorDiv(first, rate);
    Value residue = b.toI32(b.sub(first, b.mul(quotient, rate)));
    box.coordinates.push_back(residue);
    first = quotient;
    if (numbers.size() == 2) {
      // Anew for each copy: the role that loads has few registers, and those of
      // the coordinates are all it needs for this.
      Value longer = b.toI32(b.remUnsigned(b.opaque(view.size), rate));
      box.map = b.at(maps, b.select(b.less(residue, longer),
                                    b.i64(numbers[1] * mapBytes),
                                    b.i64(numbers[0] * mapBytes)));
    }
  }
  Value narrowRow = b.toI32(row);
  box.coordinates[1] = b.add(b.toI32(first), narrowRow);
  box.coordinates[0] = b.toI32(getScalar(offsets[1]));
  return box;
}

/// Calls `copy` for each panel of a tile, with its distance in the slot and its
/// first column.
static void forEachPanel(GPUBuilder &b, const SlotImage &image, Value column,
                         function_ref<void(int64_t, Value)> copy) {
  for (int64_t panel = 0; panel < image.panels; ++panel)
    copy(panel * image.panelBytes(), b.add(column, panel * image.panelColumns));
}

void RoleEmitter::emitCopy(rtile::CopyOp op) {
  Slot slot = slots[op.getSlot()];
  SlotImage image = SlotImage::of(op.getSlot().getType().getTile());
  Box box = getBox(op, op.getView(), op.getOffsets());
  Place full = getFull(slot), memory = getMemory(slot);
  async.expectBytes(full, image.bytes(), isLeader);
  forEachPanel(b, image, box.coordinates[0], [&](int64_t place, Value column) {
    box.coordinates[0] = column;
    async.copyBox({memory.address + place, memory.more}, box.map,
                  box.coordinates, full, isLeader);
  });
}

void RoleEmitter::emitCopyOut(rtile::CopyOutOp op) {
  SlotImage image = SlotImage::of(op.getSlot().getType().getTile());
  Box box = getBox(op, op.getView(), op.getOffsets());
  Place memory = getMemory(slots[op.getSlot()]);
  forEachPanel(b, image, box.coordinates[0], [&](int64_t place, Value column) {
    box.coordinates[0] = column;
    async.copyBoxOut({memory.address + place, memory.more}, box.map,
                     box.coordinates, op.getAdd(), isLeader);
  });
  async.commitCopiesOut();
}

void RoleEmitter::emitAwait(rtile::AwaitOp op) {
  SmallVector<AsyncBuilder::Wait> waits;
  for (auto [channel, result] : llvm::zip(op.getChannels(), op.getSlots())) {
    Slot slot = visit(channel.getDefiningOp<rtile::ChannelOp>());
    waits.push_back({getFull(slot), slot.parity});
    slots[result] = slot;
  }
  async.wait(waits);
}

void RoleEmitter::emitRelease(rtile::ReleaseOp op) {
  Slot slot = slots[op.getSlot()];
  // Lanes that read the slot on their own have to be done, too.
  bool byLanes = false, byEngine = false;
  auto see = [&](Operation *user) {
    if (auto read = dyn_cast<rtile::ReadOp>(user))
      byLanes |=
          isa<rtile::FragmentAttr>(getTile(read.getTile()).getEncoding());
    byEngine |= isa<rtile::CopyOutOp>(user);
  };
  if (op.getSlot().getDefiningOp<rtile::AwaitOp>())
    llvm::for_each(op.getSlot().getUsers(), see);
  else
    // A slot of an earlier step: whatever the role does with the channel's.
    role.walk([&](Operation *user) {
      if (isa<rtile::ReadOp, rtile::CopyOutOp>(user) &&
          slots.lookup(user->getOperand(0)).channel == slot.channel)
        see(user);
    });
  if (byLanes)
    b.warpBarrier();
  if (byEngine)
    async.waitForReads();
  async.arrive(getEmpty(slot), isFirstLane);
}

//===----------------------------------------------------------------------===//
// Products under way
//===----------------------------------------------------------------------===//

void RoleEmitter::emitStartDot(rtile::StartDotOp op) {
  const AsyncProduct &product = getAsyncProduct();
  AsyncOperands operands{op, {}, {}, {}, {}};
  if (Value before = op.getInit() ? Value(op.getInit()) : op.getOnto())
    operands.sums = fragments[before];
  if (isa<rtile::SwizzledAttr>(getTile(op.getLhs()).getEncoding()))
    operands.left =
        product.describe(b, op, 0, getMemory(slots[op.getLhs()]), group);
  else
    operands.leftWords = fragments[op.getLhs()];
  operands.right =
      product.describe(b, op, 1, getMemory(slots[op.getRhs()]), group);
  fragments[op] = product.start(*this, operands);
  underWay.push_back(op);
}

SmallVector<Value> RoleEmitter::waitFor(Value pending) {
  const Fragment &sums = fragments[pending];
  const AsyncProduct &product = getAsyncProduct();
  auto at = llvm::find(underWay, pending);
  // A later one has been waited for.
  if (at == underWay.end())
    return product.hold(async, sums);
  int64_t later = underWay.end() - at - 1;
  underWay.erase(underWay.begin(), at + 1);
  return product.finish(async, later, sums);
}

void RoleEmitter::emitFinishDot(rtile::FinishDotOp op) {
  Fragment before;
  for (Value tile : op.getAfter())
    llvm::append_range(before, fragments[tile]);
  bool isBetween = !before.empty();
  if (isBetween && llvm::is_contained(underWay, op.getPending())) {
    int64_t bytes = func->getAttrOfType<IntegerAttr>(sharedBytesAttr).getInt();
    async.pin(before, getPlace(bytes - pinBytes));
  }
  Fragment finished = waitFor(op.getPending());
  fragments[op] = std::move(finished);
  // Where products take longer than weights, one of two groups computes what is
  // left for then while the other's products run, and the slot of this one is
  // free before. Else, and of three groups, what can be done early should be.
  constexpr int64_t fewestColumns = 96, mostWarps = 8;
  if (isBetween && role.getWarps() <= mostWarps &&
      getTile(op).getDimSize(1) >= fewestColumns)
    holdBack(op);
}

/// What follows a product and repeats values of rows, such as the maximum that
/// is subtracted from a later part of the scores, gets them from behind it.
void RoleEmitter::holdBack(rtile::FinishDotOp op) {
  llvm::DenseMap<Value, Value> held;
  auto isFromBefore = [&](Value operand) {
    auto wide = operand.getDefiningOp<rtile::BroadcastOp>();
    return wide && wide->getBlock() == op->getBlock() &&
           wide->isBeforeInBlock(op) && fragments.contains(wide);
  };
  for (Operation *later = op->getNextNode(); later;
       later = later->getNextNode())
    for (Value operand :
         llvm::make_filter_range(later->getOperands(), isFromBefore))
      for (Value &element : fragments[operand]) {
        if (!held.contains(element)) {
          Value late = async.holdBehind(element, fragments[op].front());
          held[element] = late;
          held[late] = late;
        }
        element = held[element];
      }
}

void RoleEmitter::emitWaitDot(rtile::WaitDotOp op) {
  // The registers are another product's.
  fragments[op.getPending()].clear();
  waitFor(op.getPending());
}
