//===- SequenceRows.cpp - Tables of rows, made on the device -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/SequenceRows.h"

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringlet;

OrdinalEntries ringlet::placeKeyOrdinals(KernelBuilder &k, int64_t volume,
                                         Value sequence) {
  OrdinalEntries result;
  result.first = k.mul("ordinals_before", sequence, volume);
  result.firstOrdinal = k.constant(0);
  result.end = k.add("ordinals_end", result.first, k.constant(volume));
  return result;
}

OrdinalEntries ringlet::placeQueryOrdinals(KernelBuilder &k, int64_t volume,
                                           Value sequence, Value before,
                                           Value length, Value position) {
  OrdinalEntries result;
  result.first = k.mul("ordinals_before", sequence, volume);
  result.first = k.add("entries_before", before, result.first);
  result.firstOrdinal =
      k.create<arith::MinSIOp>("first_ordinal", position, k.constant(0));
  // Rows that all lie before the grid have no ordinals on it.
  Value end = k.add("end_position", position, length);
  Value isBefore = k.create<arith::CmpIOp>(
      "is_before", arith::CmpIPredicate::sle, end, k.constant(0));
  Value endOrdinal = k.create<arith::SelectOp>("end_ordinal", isBefore, end,
                                               k.constant(volume));
  Value count =
      k.create<arith::SubIOp>("ordinals", endOrdinal, result.firstOrdinal);
  result.end = k.add("entries_end", result.first, count);
  return result;
}

namespace {

/// A kernel that writes lists of numbers, one for each row or ordinal of all
/// sequences.
class ListKernel {
public:
  ListKernel(HostPlan &plan, const Twine &name, const SequenceSide &side)
      : k(plan, name), plan(plan), side(side), reader(k, side.lists) {
    queryRows = k.addNumber("q_size", side.queryRows);
    keyRows = k.addNumber("k_size", side.keyRows);
    if (!side.memory)
      return;
    // A chunk has the slots of its order, and so has a padded sequence. What
    // has no rows has ordinals, which look one up.
    Value period = side.lists.arePacked()
                       ? plan.constant(side.memory.getOrder()->period())
                       : plan.max(getHostRows(), plan.constant(1));
    slots = k.addBuffer("slots", plan.orderTable(side.memory, period,
                                                 /*inverse=*/true));
  }

  /// To find the sequence of a row.
  void declareHalvings() {
    halvings = k.addNumber("halvings", boundHalvings(plan, side.lists.count));
  }

  bool isOfQueries() const { return side.side == Side::Query; }

  /// The rows of the axis, in the plan and in the kernel.
  Value getHostRows() const {
    return isOfQueries() ? side.queryRows : side.keyRows;
  }
  Value getRows() const { return isOfQueries() ? queryRows : keyRows; }

  /// Adds a list of `entries`, which the host reads no entry of.
  Value addList(StringRef name, Value entries) {
    HostTensor list = plan.workspace(ShapedType::kDynamic,
                                     plan.getBuilder().getI64Type(), entries);
    lists.push_back(k.addBuffer(name, list.buffer));
    return list.buffer;
  }

  /// Fills the lists, each by a function of the place, and ends the kernel.
  void fill(Value entries,
            ArrayRef<llvm::function_ref<Value(Value place)>> getEntry) {
    Value point = k.addGridAxis("part", plan.ceilDiv(entries, entriesOfPoint));
    Value begin = k.mul("begin", point, entriesOfPoint);
    Value end = k.add("end", begin, k.constant(entriesOfPoint));
    OpBuilder &builder = k.getBuilder();
    for (auto [list, compute] : llvm::zip_equal(lists, getEntry)) {
      auto generate =
          rtile::GenerateOp::create(builder, k.getLoc(), list, begin, end);
      generate.getPlace().setLoc(k.named("place"));
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&generate.getBody().front());
      Value entry = k.create<arith::IndexCastOp>("entry", builder.getI64Type(),
                                                 compute(generate.getPlace()));
      rtile::YieldOp::create(builder, k.getLoc(), entry);
    }
    k.launch();
  }

  /// A number of a list, at a place of it.
  Value load(StringRef name, Value list, Value place) {
    Value entry = k.create<memref::LoadOp>("number", list, place);
    return k.create<arith::IndexCastOp>(name, k.getBuilder().getIndexType(),
                                        entry);
  }

  /// `value`, at least 0 and below `count`, which is at least 1.
  Value clamp(StringRef name, Value value, Value count) {
    Value last = k.add("last", count, k.constant(-1));
    return k.create<arith::MinSIOp>(
        name, k.create<arith::MaxSIOp>("at_least", value, k.constant(0)), last);
  }

  /// The slot of a token of a sequence with `length` rows; of other numbers
  /// any one.
  Value getSlot(Value token, Value length) {
    if (!slots)
      return token;
    if (!side.lists.arePacked())
      return load("slot", slots,
                  clamp("token_there", token, k.size("tokens", slots, 0)));
    int64_t n = side.memory.getOrder()->period();
    Value some = k.create<arith::MaxSIOp>("some_token", token, k.constant(0));
    Value before = k.mul("before_chunk", k.div("chunk", some, n), n);
    Value place = k.create<arith::SubIOp>("place_in_chunk", some, before);
    Value slot = load("slot_in_chunk", slots, place);
    // A short tail keeps the order of the tokens that it has.
    Value rest = k.create<arith::SubIOp>("rest", length, before);
    Value isShort = k.create<arith::CmpIOp>(
        "is_short", arith::CmpIPredicate::slt, rest, k.constant(n));
    Value count =
        k.create<arith::SelectOp>("counted", isShort, rest, k.constant(0));
    Value inTail = countBelow(slot, count);
    return k.add(
        "slot", before,
        k.create<arith::SelectOp>("slot_there", isShort, inTail, slot));
  }

  /// How many of the first `count` tokens lie before `slot`.
  Value countBelow(Value slot, Value count) {
    Value zero = k.constant(0), one = k.constant(1);
    auto loop = k.create<scf::ForOp>("slot_in_tail", zero, count, one,
                                     ValueRange{zero});
    OpBuilder::InsertionGuard guard(k.getBuilder());
    k.getBuilder().setInsertionPointToStart(loop.getBody());
    loop.getInductionVar().setLoc(k.named("token"));
    loop.getRegionIterArg(0).setLoc(k.named("lower"));
    Value other = load("other_slot", slots, loop.getInductionVar());
    Value isLower = k.create<arith::CmpIOp>(
        "is_lower", arith::CmpIPredicate::slt, other, slot);
    Value next = k.add("next", loop.getRegionIterArg(0), one);
    scf::YieldOp::create(
        k.getBuilder(), k.getLoc(),
        ValueRange{k.create<arith::SelectOp>("lower_or_next", isLower, next,
                                             loop.getRegionIterArg(0))});
    return loop.getResult(0);
  }

  KernelBuilder k;
  HostPlan &plan;
  const SequenceSide &side;
  SequenceReader reader;
  /// In the kernel.
  Value queryRows, keyRows, halvings, slots;

private:
  SmallVector<Value> lists;
};

/// Rows and positions of ordinals.
class OrdinalKernel : public ListKernel {
public:
  OrdinalKernel(HostPlan &plan, const Twine &name, const SequenceSide &side,
                rlayout::OrderAttr pattern)
      : ListKernel(plan, name, side), volume(pattern.getOrder()->period()) {
    ordinals =
        k.addBuffer("ordinals", plan.ordinalTable(pattern, plan.constant(0)));
    if (isOfQueries() && side.lists.arePacked())
      declareHalvings();
    if ((isOfQueries() || side.reach) && !side.hasPositions)
      offset = k.addNumber("q_offset", side.queryOffset);
  }

  RowOrder emit();

private:
  struct Entry {
    Value row, position;
  };
  Value findSequence(Value place);
  Value getPosition(Value sequence, const SequenceReader::Sequence &read);
  Value clampToSeen(Value sequence, SequenceReader::Sequence &read,
                    Value length);
  Entry compute(Value place);

  int64_t volume;
  Value ordinals, offset;
};

RowOrder OrdinalKernel::emit() {
  Value entries = plan.mul(side.lists.count, plan.constant(volume));
  if (isOfQueries()) {
    Value rows = side.lists.arePacked()
                     ? plan.mul(side.queryRows,
                                plan.min(side.lists.count, plan.constant(1)))
                     : plan.mul(side.queryRows, side.lists.count);
    entries = plan.add(entries, rows);
  }
  RowOrder result;
  result.rows = addList("rows", entries);
  result.positions = addList("positions", entries);
  fill(entries, {[&](Value place) { return compute(place).row; },
                 [&](Value place) { return compute(place).position; }});
  return result;
}

Value OrdinalKernel::findSequence(Value place) {
  if (!isOfQueries())
    return k.div("sequence", place, volume);
  if (!side.lists.arePacked())
    return k.create<arith::DivUIOp>(
        "sequence", place,
        k.add("entries_of_each", queryRows, k.constant(volume)));
  auto begins = [&](Value sequence, Value start) -> Value {
    Value first =
        k.add("entries_before", start, k.mul("ordinals", sequence, volume));
    return k.create<arith::CmpIOp>("begins", arith::CmpIPredicate::sle, first,
                                   place);
  };
  return reader.findLast(reader.getStarts(Side::Query), queryRows, halvings,
                         begins);
}

/// Of query row 0.
Value OrdinalKernel::getPosition(Value sequence,
                                 const SequenceReader::Sequence &read) {
  return side.hasPositions
             ? reader.readOffset(sequence, read, -kMostOrdinalsBefore)
             : offset;
}

/// Of `length` keys those up to the last one that some query sees.
Value OrdinalKernel::clampToSeen(Value sequence, SequenceReader::Sequence &read,
                                 Value length) {
  if (!side.reach)
    return length;
  Value queries = reader.getLength("q_length", read.queries, queryRows);
  Value end = k.add("q_end_position", getPosition(sequence, read), queries);
  end = k.add("seen_length", end, k.constant(*side.reach));
  return k.create<arith::MinSIOp>("seen", length, end);
}

OrdinalKernel::Entry OrdinalKernel::compute(Value place) {
  Value sequence = findSequence(place);
  SequenceReader::Sequence read =
      side.lists.haveLengths() ? reader.read(sequence, queryRows, keyRows)
                               : SequenceReader::Sequence();
  SequencePart part = read.getPart(side.side);
  Value length = reader.getLength("length", part, getRows());
  Value position, exist = length;
  OrdinalEntries entries;
  if (isOfQueries()) {
    Value before = reader.getRowsBefore(sequence, part, queryRows);
    position = getPosition(sequence, read);
    entries = placeQueryOrdinals(k, volume, sequence, before, length, position);
  } else {
    entries = placeKeyOrdinals(k, volume, sequence);
    exist = clampToSeen(sequence, read, length);
  }
  Value ordinal =
      k.add("ordinal", k.create<arith::SubIOp>("number", place, entries.first),
            entries.firstOrdinal);
  Value onGrid = load("position_on_grid", ordinals,
                      clamp("ordinal_there", ordinal, k.constant(volume)));
  Value isBefore = k.create<arith::CmpIOp>(
      "is_before", arith::CmpIPredicate::slt, ordinal, k.constant(0));
  Entry entry;
  entry.position =
      k.create<arith::SelectOp>("position", isBefore, ordinal, onGrid);
  Value token = entry.position;
  if (position)
    token = k.create<arith::SubIOp>("token", token, position);
  // An order begins with a packed sequence, and with the axis of a padded one.
  bool isPacked = side.lists.arePacked();
  bool begins = part.first && getConstant(part.first) != 0;
  Value numbered = token;
  if (begins && !isPacked)
    numbered = k.add("token_of_axis", token, part.first);
  Value slot = getSlot(numbered, length);
  if (isPacked)
    slot = k.add("row_there", slot, part.first);
  auto isLess = [&](StringRef name, Value a, Value b) -> Value {
    return k.create<arith::CmpIOp>(name, arith::CmpIPredicate::slt, a, b);
  };
  Value isToken = isLess("is_token", k.constant(-1), token);
  Value isRow = isLess("is_row", token, exist);
  Value isOrdinal = isLess("is_ordinal", place, entries.end);
  Value isInside = k.create<arith::AndIOp>("is_inside", isToken, isRow);
  Value exists = k.create<arith::AndIOp>("exists", isInside, isOrdinal);
  entry.row = k.create<arith::SelectOp>("row", exists, slot, k.constant(-1));
  return entry;
}

} // namespace

RowOrder ringlet::emitOrdinalsOfSequences(HostPlan &plan, const Twine &name,
                                          const SequenceSide &side,
                                          rlayout::OrderAttr pattern) {
  return OrdinalKernel(plan, name, side, pattern).emit();
}

Value ringlet::emitSlotsOfSequences(HostPlan &plan, const Twine &name,
                                    const SequenceSide &side) {
  ListKernel kernel(plan, name, side);
  kernel.declareHalvings();
  KernelBuilder &k = kernel.k;
  // Without sequences there are no rows.
  Value entries = plan.mul(kernel.getHostRows(),
                           plan.min(side.lists.count, plan.constant(1)));
  Value list = kernel.addList("rows", kernel.getHostRows());
  auto getRow = [&](Value place) -> Value {
    auto begins = [&](Value, Value start) -> Value {
      return k.create<arith::CmpIOp>("begins", arith::CmpIPredicate::sle, start,
                                     place);
    };
    Value sequence =
        kernel.reader.findLast(kernel.reader.getStarts(side.side),
                               kernel.getRows(), kernel.halvings, begins);
    SequenceReader::Sequence read =
        kernel.reader.read(sequence, kernel.queryRows, kernel.keyRows);
    SequencePart part = read.getPart(side.side);
    Value token = k.create<arith::SubIOp>("token", place, part.first);
    Value length = kernel.reader.getLength("length", part);
    Value row = k.add("row_there", part.first, kernel.getSlot(token, length));
    // Starts that do not rise lead anywhere.
    return kernel.clamp("row", row, kernel.getRows());
  };
  kernel.fill(entries, {getRow});
  return list;
}
