//===- EmitChannels.cpp - Channels and products under way -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Emitter.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

//===----------------------------------------------------------------------===//
// Cursors
//===----------------------------------------------------------------------===//

Emitter::Channels Emitter::getVisited(Operation *op) {
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

SmallVector<Value> Emitter::flattenCursors(ArrayRef<rtile::ChannelOp> of) {
  SmallVector<Value> result;
  for (rtile::ChannelOp channel : of)
    llvm::append_range(result, cursors[channel].values);
  return result;
}

void Emitter::bindCursors(ArrayRef<rtile::ChannelOp> of, ValueRange code) {
  for (rtile::ChannelOp channel : of)
    for (Value &value : cursors[channel].values) {
      value = code.front();
      code = code.drop_front();
    }
}

Emitter::Slot Emitter::visit(rtile::ChannelOp channel) {
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

static Place getPlace(GPUBuilder &b, int64_t offset, Value number,
                      int64_t step) {
  return {sharedBaseAddress + offset, number ? b.mul(number, step) : Value()};
}

Place Emitter::getFull(const Slot &slot) {
  rtile::ChannelOp channel = slot.channel;
  return getPlace(b, *channel.getBarriers(), slot.number, barrierBytes);
}
Place Emitter::getEmpty(const Slot &slot) {
  rtile::ChannelOp channel = slot.channel;
  return getPlace(b, *channel.getBarriers() + channel.getSlots() * barrierBytes,
                  slot.number, barrierBytes);
}
Place Emitter::getMemory(const Slot &slot) {
  rtile::ChannelOp channel = slot.channel;
  return getPlace(
      b, *channel.getOffset(), slot.number,
      SlotImage::of(channel.getResult().getType().getTile()).bytes());
}

//===----------------------------------------------------------------------===//
// Handing slots over
//===----------------------------------------------------------------------===//

void Emitter::emitAcquire(rtile::AcquireOp op) {
  Slot slot = visit(op.getChannel().getDefiningOp<rtile::ChannelOp>());
  // The first time round, the phase before the first is over.
  Value parity = arith::XOrIOp::create(b, slot.parity, b.i32(1));
  async.wait({{getEmpty(slot), parity}});
  slots[op] = slot;
}

void Emitter::emitCopy(rtile::CopyOp op) {
  Slot slot = slots[op.getSlot()];
  const View &view = views[op.getView()];
  auto viewOp = op.getView().getDefiningOp<rtile::ViewOp>();
  SlotImage image = SlotImage::of(op.getSlot().getType().getTile());

  // Row i of the view is row `quotient + i` of those with the same rest.
  Value row = getScalar(op.getOffsets()[0]);
  Value first = view.firstIndex;
  int64_t rate = getRowStep(viewOp);
  auto numbers = op->getAttrOfType<DenseI64ArrayAttr>(mapsOfCopyAttr);
  Value map = b.at(maps, numbers[0] * mapBytes);
  SmallVector<Value> coordinates(2);
  for (Value index : viewOp.getFixed())
    coordinates.push_back(b.toI32(getScalar(index)));
  if (rate > 1) {
    PositionBuilder position(b, b.getI64Type());
    Value quotient = position.floorDiv(first, rate);
    Value residue = b.toI32(b.sub(first, b.mul(quotient, rate)));
    coordinates.push_back(residue);
    first = quotient;
    if (numbers.size() == 2) {
      // Anew for each copy: the role that loads has few registers, and those of
      // the coordinates are all it needs for this.
      Value longer = b.toI32(b.remUnsigned(b.opaque(view.size), rate));
      map = b.at(maps,
                 b.select(b.less(residue, longer), b.i64(numbers[1] * mapBytes),
                          b.i64(numbers[0] * mapBytes)));
    }
  }
  Value narrowRow = b.toI32(row);
  coordinates[1] = b.add(b.toI32(first), narrowRow);

  Value column = b.toI32(getScalar(op.getOffsets()[1]));

  Place full = getFull(slot), memory = getMemory(slot);
  async.expectBytes(full, image.bytes(), isLeader);
  for (int64_t panel = 0; panel < image.panels; ++panel) {
    coordinates[0] = b.add(column, panel * SlotImage::panelColumns);
    async.copyBox({memory.address + panel * image.panelBytes(), memory.more},
                  map, coordinates, full, isLeader);
  }
}

void Emitter::emitAwait(rtile::AwaitOp op) {
  SmallVector<AsyncBuilder::Wait> waits;
  for (auto [channel, result] : llvm::zip(op.getChannels(), op.getSlots())) {
    Slot slot = visit(channel.getDefiningOp<rtile::ChannelOp>());
    waits.push_back({getFull(slot), slot.parity});
    slots[result] = slot;
  }
  async.wait(waits);
}

void Emitter::emitRelease(rtile::ReleaseOp op) {
  // Lanes that read the slot on their own have to be done, too.
  bool byLanes = llvm::any_of(op.getSlot().getUsers(), [](Operation *user) {
    auto read = dyn_cast<rtile::ReadOp>(user);
    return read &&
           isa<rtile::FragmentAttr>(getTile(read.getTile()).getEncoding());
  });
  if (byLanes)
    b.warpBarrier();
  async.arrive(getEmpty(slots[op.getSlot()]), isFirstLane);
}

void Emitter::emitRead(rtile::ReadOp op) {
  Slot slot = slots[op.getSlot()];
  RankedTensorType tile = getTile(op.getTile());
  if (isa<rtile::SwizzledAttr>(tile.getEncoding())) {
    slots[op] = slot;
    return;
  }
  // Four matrices of 8 x 8 at a time: two of rows by two of columns. Lane l
  // names row l mod 16 of them, and of that row one of two pieces of 16 bytes.
  SlotImage image = SlotImage::of(tile);
  Place memory = getMemory(slot);
  int64_t blocks = Fragments::columnBlocks(tile.getDimSize(1));
  Fragment words(getRegisters(tile));
  Value inPart = b.remUnsigned(lane, 16), side = b.divUnsigned(lane, 16);
  Value swizzle = b.remUnsigned(lane, 8);
  for (int64_t part = 0; part < layout.rowBlocks(tile.getDimSize(0)); ++part) {
    Value row =
        b.add(b.add(b.mul(warp, 16), inPart), part * layout.rowsAtOnce());
    Value rowPlace = b.mul(row, SlotImage::rowBytes);
    if (memory.more)
      rowPlace = b.add(rowPlace, memory.more);
    for (int64_t block = 0; block < blocks; block += 2) {
      Value piece = arith::XOrIOp::create(b, b.add(side, block % 8), swizzle);
      Place place{memory.address + block / 8 * image.panelBytes(),
                  b.add(rowPlace, b.mul(piece, 16))};
      SmallVector<Value> loaded = async.loadMatrices(place);
      for (int64_t word = 0; word < 4; ++word)
        if (block + word / 2 < blocks)
          words[(part * blocks + block) * 2 + word] = loaded[word];
    }
  }
  fragments[op] = std::move(words);
}

//===----------------------------------------------------------------------===//
// Products under way
//===----------------------------------------------------------------------===//

/// True if nothing but names of slots stands between this product and the one
/// before.
static bool followsProduct(rtile::StartDotOp op) {
  for (Operation *before = op->getPrevNode(); before;
       before = before->getPrevNode()) {
    if (isa<rtile::StartDotOp>(before))
      return true;
    auto read = dyn_cast<rtile::ReadOp>(before);
    if (!read ||
        !isa<rtile::SwizzledAttr>(getTile(read.getTile()).getEncoding()))
      return false;
  }
  return false;
}

void Emitter::emitStartDot(rtile::StartDotOp op) {
  RankedTensorType lhs = getTile(op.getLhs()), rhs = getTile(op.getRhs());
  RankedTensorType result = op.getResult().getType().getTile();
  ProductShape shape;
  shape.element = lhs.getElementType();
  shape.columns = llvm::alignTo(result.getDimSize(1), 8);
  shape.depth = lhs.getDimSize(1);
  shape.lhsRows = lhs.getDimSize(0);
  shape.rhsRows = rhs.getDimSize(0);
  shape.rhsTransposed = op.getTransposed();
  shape.follows = followsProduct(op);
  shape.rowBlocks = layout.rowBlocks(lhs.getDimSize(0));
  shape.lhsRowStep = layout.rowsAtOnce();

  Fragment sums;
  if (op.getInit())
    sums = fragments[op.getInit()];
  Fragment words;
  Value left;
  if (isa<rtile::SwizzledAttr>(lhs.getEncoding())) {
    // Each group of four warps takes the 64 rows that it holds in registers.
    Place memory = getMemory(slots[op.getLhs()]);
    Value rows = b.mul(group, 64 * SlotImage::rowBytes);
    memory.more = memory.more ? b.add(memory.more, rows) : rows;
    left = async.descriptor(memory, shape.lhsRows, /*alongRows=*/true);
  } else {
    // What is missing of the last step is multiplied by zeros, and is zero.
    const Fragment &given = fragments[op.getLhs()];
    int64_t blocks = Fragments::columnBlocks(shape.depth);
    for (int64_t part = 0; part < shape.rowBlocks; ++part)
      for (int64_t word = 0; word < 2 * int64_t(llvm::alignTo(blocks, 2));
           ++word)
        words.push_back(word < 2 * blocks ? given[part * 2 * blocks + word]
                                          : b.i32(0));
  }
  Value right = async.descriptor(getMemory(slots[op.getRhs()]), shape.rhsRows,
                                 shape.rhsTransposed);
  fragments[op] = async.startProduct(shape, sums, words, left, right);
  underWay.push_back(op);
}

void Emitter::emitFinishDot(rtile::FinishDotOp op) {
  const Fragment &sums = fragments[op.getPending()];
  auto at = llvm::find(underWay, op.getPending());
  if (at == underWay.end()) {
    // A later one has been waited for.
    fragments[op] = async.hold(sums);
    return;
  }
  Fragment before;
  for (Value tile : op.getAfter())
    llvm::append_range(before, fragments[tile]);
  if (!before.empty()) {
    int64_t bytes = func->getAttrOfType<IntegerAttr>(sharedBytesAttr).getInt();
    async.pin(before, {sharedBaseAddress + bytes - pinBytes, Value()});
  }
  int64_t later = underWay.end() - at - 1;
  Fragment finished = async.finishProducts(later, sums);
  underWay.erase(underWay.begin(), at + 1);
  fragments[op] = std::move(finished);
}
