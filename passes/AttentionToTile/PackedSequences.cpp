//===- PackedSequences.cpp - Grids over packed sequences -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/PackedSequences.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringlet;

/// At least as many as there are halvings of `count` until 1 is left: those by
/// 2^k take k, and of n that are left then there are fewer than n.
static Value boundHalvings(HostPlan &plan, Value count) {
  Value bound = plan.sub(count, plan.constant(1));
  for (int64_t k = 4; k <= 12; k += 4)
    bound = plan.min(bound, plan.add(plan.ceilDiv(count, int64_t(1) << k),
                                     plan.constant(k - 1)));
  return bound;
}

PackedSequences::PackedSequences(HostPlan &plan, KernelBuilder &k,
                                 const HostTensor &starts, Value rows, Value w,
                                 Value coveredRows, Value tilesOfSegment)
    : k(k), spare(w ? 2 : 1) {
  Value one = plan.constant(1);
  Value sequences = plan.sub(starts.sizes[0], one);
  // A longer span is one of all rows, so that products below fit in 64 bits.
  Value span = plan.min(w ? w : coveredRows, plan.max(rows, one));
  Value tiles = w ? tilesOfSegment : one;
  extent = plan.add(plan.floorDiv(plan.mul(rows, tiles), span),
                    plan.mul(sequences, plan.constant(spare)));
  // Without rows a segment has no tiles.
  extent = plan.mul(extent, plan.min(plan.min(rows, sequences), one));
  this->span = k.addNumber("span", span);
  this->tiles = k.addNumber("tiles_of_span", tiles);
  halvings = k.addNumber("halvings", boundHalvings(plan, sequences));
  if (w)
    this->coveredRows = k.addNumber("covered_rows", coveredRows);
}

/// The last sequence whose points begin at or before `point`. Starts that do
/// not rise lead to another one, but always to one of the list.
PackedSequences::Place PackedSequences::find(Value starts, Value rows,
                                             Value point) {
  OpBuilder &builder = k.getBuilder();
  Value zero = k.constant(0), one = k.constant(1);
  Value sequences =
      k.add("sequences", k.size("starts", starts, 0), k.constant(-1));
  auto loop = k.create<scf::ForOp>("found", zero, halvings, one,
                                   ValueRange{zero, sequences});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    loop.getInductionVar().setLoc(k.named("halving"));
    Value low = loop.getRegionIterArg(0), high = loop.getRegionIterArg(1);
    low.setLoc(k.named("low"));
    high.setLoc(k.named("high"));
    Value middle = k.div("middle", k.add("ends", low, high), 2);
    Value start = k.readIndex("start", starts, middle, zero, rows);
    // start * tiles / span <= point - middle * spare, without a division.
    Value begin = k.create<arith::MulIOp>("begin", start, tiles);
    Value before = k.create<arith::SubIOp>("tiles_before", point,
                                           k.mul("spare", middle, spare));
    Value end =
        k.create<arith::MulIOp>("end", k.add("next_tile", before, one), span);
    Value begins = k.create<arith::CmpIOp>("begins", arith::CmpIPredicate::slt,
                                           begin, end);
    Value nextLow = k.create<arith::SelectOp>("next_low", begins, middle, low);
    Value nextHigh =
        k.create<arith::SelectOp>("next_high", begins, high, middle);
    scf::YieldOp::create(builder, k.getLoc(), ValueRange{nextLow, nextHigh});
  }
  Place place;
  place.sequence = loop.getResult(0);
  place.first = k.readIndex("first_row", starts, place.sequence, zero, rows);
  Value begin = k.create<arith::MulIOp>("begin", place.first, tiles);
  Value firstPoint = k.add(
      "first_point", k.create<arith::DivUIOp>("tiles_before", begin, span),
      k.mul("spare", place.sequence, spare));
  place.tile = k.create<arith::SubIOp>("tile", point, firstPoint);
  return place;
}

/// The first segment has tiles for the rows that it has of the sequence, the
/// others as many as a whole one.
PackedSequences::Segment PackedSequences::placeInSegment(Value tile,
                                                         Value firstRank,
                                                         Value length,
                                                         Value w) {
  Value first = k.constant(0), rest = w;
  if (firstRank) {
    first = k.create<arith::FloorDivSIOp>("first_segment", firstRank, w);
    Value end = k.create<arith::MulIOp>(
        "first_end", k.add("second_segment", first, k.constant(1)), w);
    rest = k.create<arith::SubIOp>("rest", end, firstRank);
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
