//===- PackedSequences.cpp - Grids over packed sequences -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/PackedSequences.h"

using namespace mlir;
using namespace ringlet;

PackedSequences::PackedSequences(HostPlan &plan, KernelBuilder &k,
                                 SequenceReader &reader, Value count,
                                 Value rows, int64_t ordinalsOfEach, Value w,
                                 Value coveredRows, Value tilesOfSegment)
    : k(k), sequences(reader), ordinalsOfEach(ordinalsOfEach),
      spare(w ? 2 : 1) {
  Value one = plan.constant(1);
  rows = plan.add(rows, plan.mul(count, plan.constant(ordinalsOfEach)));
  // A longer span is one of all rows, so that products below fit in 64 bits.
  Value span = plan.min(w ? w : coveredRows, plan.max(rows, one));
  Value tiles = w ? tilesOfSegment : one;
  Value spares = plan.mul(count, plan.constant(spare));
  extent = plan.add(plan.floorDiv(plan.mul(rows, tiles), span), spares);
  // Without rows a segment has no tiles.
  extent = plan.mul(extent, plan.min(plan.min(rows, count), one));
  this->span = k.addNumber("span", span);
  this->tiles = k.addNumber("tiles_of_span", tiles);
  halvings = k.addNumber("halvings", boundHalvings(plan, count));
  if (w)
    this->coveredRows = k.addNumber("covered_rows", coveredRows);
}

PackedSequences::Place PackedSequences::find(Value rows, Value point) {
  Value starts = sequences.getStarts(Side::Query);
  auto begins = [&](Value sequence, Value start) -> Value {
    // start * tiles / span <= point - sequence * spare, without a division.
    Value begin =
        k.create<arith::MulIOp>("begin", addOrdinals(start, sequence), tiles);
    Value before = k.create<arith::SubIOp>("tiles_before", point,
                                           k.mul("spare", sequence, spare));
    Value end = k.create<arith::MulIOp>(
        "end", k.add("next_tile", before, k.constant(1)), span);
    return k.create<arith::CmpIOp>("begins", arith::CmpIPredicate::slt, begin,
                                   end);
  };
  Place place;
  place.sequence = sequences.findLast(starts, rows, halvings, begins);
  place.first =
      k.readIndex("first_row", starts, place.sequence, k.constant(0), rows);
  Value begin = k.create<arith::MulIOp>(
      "begin", addOrdinals(place.first, place.sequence), tiles);
  Value spares = k.mul("spare", place.sequence, spare);
  Value firstPoint =
      k.add("first_point",
            k.create<arith::DivUIOp>("tiles_before", begin, span), spares);
  place.tile = k.create<arith::SubIOp>("tile", point, firstPoint);
  return place;
}

/// The rows and further ordinals of the sequences before one that starts at row
/// `start`.
Value PackedSequences::addOrdinals(Value start, Value sequence) {
  if (ordinalsOfEach == 0)
    return start;
  return k.add("ordinals_before", start,
               k.mul("further", sequence, ordinalsOfEach));
}

/// The first segment has tiles for the rows that it has of the sequence, the
/// others as many as a whole one.
PackedSequences::Segment PackedSequences::placeInSegment(Value tile,
                                                         Value firstOrdinal,
                                                         Value length,
                                                         Value w) {
  Value first = k.constant(0), rest = w;
  if (firstOrdinal) {
    first = k.create<arith::FloorDivSIOp>("first_segment", firstOrdinal, w);
    Value end = k.create<arith::MulIOp>(
        "first_end", k.add("second_segment", first, k.constant(1)), w);
    rest = k.create<arith::SubIOp>("rest", end, firstOrdinal);
  }
  Value rows = k.create<arith::MinSIOp>("first_rows", rest, length);
  Value tilesOfFirst =
      k.create<arith::CeilDivSIOp>("first_tiles", rows, coveredRows);
  Value isInFirst = k.create<arith::CmpIOp>(
      "is_in_first", arith::CmpIPredicate::slt, tile, tilesOfFirst);
  Value after = k.create<arith::SubIOp>("tile_after", tile, tilesOfFirst);
  Value further = k.add(
      "further", k.create<arith::DivUIOp>("segments_between", after, tiles),
      k.constant(1));
  Value distance =
      k.create<arith::SelectOp>("distance", isInFirst, k.constant(0), further);
  return {k.add("segment_number", first, distance),
          k.create<arith::SelectOp>(
              "tile_there", isInFirst, tile,
              k.create<arith::RemUIOp>("tile_of_whole", after, tiles))};
}
