//===- PointSequence.cpp - The sequence of a grid's point -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/PointSequence.h"

#include "passes/AttentionToTile/SequenceRows.h"

using namespace mlir;
using namespace ringlet;

PointSequence::PointSequence(KernelBuilder &k, Attention &attention,
                             Value query, Value key)
    : k(k), attention(attention), query(query), key(key) {
  if (attention.pages)
    pages = k.addBuffer("pages", attention.pages.buffer);
  const AttentionRows &rows = attention.rows;
  Value position = rows.getOrdinalsOfSequence(Side::Query)
                       ? attention.queryOffset
                       : rows.getFirstOrdinal();
  if (!attention.sequences.queryOffsets && getConstant(position) != 0)
    firstOrdinal = k.addScalar("q_offset", position);
  reader.emplace(k, attention.sequences);
}

Value PointSequence::getRows(Side side) {
  if (side == Side::Query || !pages)
    return k.size("rows", side == Side::Query ? query : key,
                  attention.op.getSequenceAxis());
  // As many as its pages have.
  return k.mul("rows", k.size("pages_of_sequence", pages, 1),
               attention.key.getType().getDimSize(1));
}

Value PointSequence::getCount(Side side) {
  int64_t volume = attention.rows.getVolume();
  return volume ? k.constant(volume) : getRows(side);
}

void PointSequence::read(Value sequence, Value firstRow) {
  number = sequence;
  SequenceReader::Sequence read;
  if (attention.sequences.haveLengths()) {
    Value queryCount = getRows(Side::Query);
    Value keyCount = getRows(Side::Key);
    bool countsKeys = pages && attention.sequences.arePacked();
    Value bound = countsKeys ? k.constant(kMaxOffset) : keyCount;
    read = reader->read(number, queryCount, bound, firstRow);
    // In pages each sequence begins at row 0.
    if (countsKeys) {
      Value length = reader->getLength("k_length", read.keys);
      read.keys = {k.constant(0),
                   k.create<arith::MinSIOp>("k_rows", length, keyCount)};
    }
  }
  queries = read.queries;
  keys = read.keys;
  int64_t ofQueries = attention.rows.getOrdinalsOfSequence(Side::Query);
  if (hasPositionsOfSequence(attention.op))
    firstOrdinal = reader->readOffset(
        number, read, ofQueries ? -kMostOrdinalsBefore : -kMaxOffset);
  if (ofQueries)
    placeQueriesOnCurve();
  if (int64_t ofKeys = attention.rows.getOrdinalsOfSequence(Side::Key)) {
    OrdinalEntries ordinals = placeKeyOrdinals(k, ofKeys, number);
    keys = {ordinals.first, ordinals.end};
  }
  seenKeys = clampToSeen();
}

/// Along a pattern order, tables have no rows for the others.
SequencePart PointSequence::clampToSeen() {
  std::optional<int64_t> right = getReachOfQueries(attention.op);
  if (!right || attention.rows.hasPattern())
    return keys;
  Value length = reader->getLength("q_length", queries, getRows(Side::Query));
  Value end = k.add("q_end_position", length, k.constant(*right));
  if (firstOrdinal)
    end = k.add("seen_length", end, firstOrdinal);
  if (!keys.end)
    return {k.constant(0), end};
  if (getConstant(keys.first) != 0)
    end = k.add("seen_rows", end, keys.first);
  return {keys.first, k.create<arith::MinSIOp>("seen_end", keys.end, end)};
}

/// The queries of this sequence are its ordinals along the pattern order, which
/// tables say the rows of.
void PointSequence::placeQueriesOnCurve() {
  Value rows = getRows(Side::Query);
  Value before = reader->getRowsBefore(number, queries, rows);
  Value length = reader->getLength("q_length", queries, rows);
  OrdinalEntries ordinals = placeQueryOrdinals(
      k, attention.rows.getOrdinalsOfSequence(Side::Query), number, before,
      length, firstOrdinal ? firstOrdinal : k.constant(0));
  firstOrdinal = ordinals.firstOrdinal;
  queries = {ordinals.first, ordinals.end};
}

Value PointSequence::getOrigin(Side side) {
  Value first = side == Side::Query ? firstOrdinal : Value();
  const SequencePart &part = getPart(side);
  if (!part.first || getConstant(part.first) == 0)
    return first;
  return k.create<arith::SubIOp>("origin", first ? first : k.constant(0),
                                 part.first);
}
