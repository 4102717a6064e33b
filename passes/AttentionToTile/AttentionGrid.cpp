//===- AttentionGrid.cpp - A grid over tiles of rows -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/AttentionGrid.h"

using namespace mlir;
using namespace ringlet;

/// Points for each multiprocessor below which each gets fewer tiles.
static constexpr int64_t fewestPoints = 2;

AttentionGrid::AttentionGrid(HostPlan &plan, KernelBuilder &k,
                             Attention &attention, BranchView &view,
                             PointSequence &sequence, int64_t tileRows)
    : plan(plan), k(k), attention(attention), view(view), sequence(sequence),
      tileRows(tileRows) {}

void AttentionGrid::count(int64_t begin, int64_t end) {
  const BranchSizes &sizes = view.getSizes();
  // A packed sequence may have more ordinals than all of them have rows.
  Value ordinals = attention.rows.getOrdinalCount();
  int64_t ofSequence = attention.rows.getOrdinalsOfSequence(Side::Query);
  if (attention.sequences.arePacked() && ofSequence)
    ordinals = plan.add(ordinals, plan.constant(ofSequence));
  Value rows = plan.ceilDiv(ordinals, sizes.r);
  if (sizes.w)
    rows = plan.min(rows, plan.ceilDiv(sizes.w, sizes.r));
  tiles = plan.ceilDiv(plan.mul(rows, plan.constant(headsOfTile)), tileRows);
  countSegments();
  firstHead = begin;
  if (sizes.firstHead)
    firstHeadOperand = k.addScalar("first_head", sizes.firstHead);
  heads = plan.constant((end - begin) / headsOfTile);
  together = plan.constant(1);
}

void AttentionGrid::countSegments() {
  Value w = view.getSizes().w, count = attention.rows.getOrdinalCount();
  segments = plan.constant(1);
  firstSegment = plan.constant(0);
  if (!w || attention.sequences.arePacked())
    return;
  if (hasPositionsOfSequence(attention.op)) {
    // As many as rows can lie in, wherever they begin.
    segments = plan.add(
        plan.floorDiv(plan.add(count, plan.sub(w, plan.constant(2))), w),
        plan.constant(1));
    return;
  }
  // Segments from that of the first query ordinal to that of the last.
  Value first = attention.rows.getFirstOrdinal();
  Value last = plan.sub(plan.add(first, count), plan.constant(1));
  firstSegment = plan.floorDiv(first, w);
  segments = plan.add(plan.sub(plan.floorDiv(last, w), firstSegment),
                      plan.constant(1));
}

void AttentionGrid::addParts(Value first, Value count) {
  partCount = count;
  parts = k.addScalar("parts", count);
  firstState = k.addScalar("first_state", first);
}

Value AttentionGrid::share(Value all, int64_t most) {
  Value w = view.getSizes().w;
  Value around = attention.query.sizes[0];
  if (attention.sequences.arePacked())
    around = w ? plan.ceilDiv(attention.rows.getOrdinalCount(), w)
               : plan.constant(1);
  Value planes = plan.mul(plan.mul(segments, heads), around);
  Value fewest = plan.mul(plan.multiprocessors(), plan.constant(fewestPoints));
  Value share = plan.floorDiv(plan.mul(all, planes), fewest);
  return plan.max(plan.min(share, plan.constant(most)), plan.constant(1));
}

Value AttentionGrid::shareTiles(int64_t most) {
  together = share(tiles, most);
  return k.addScalar("tiles_of_point", together);
}

Value AttentionGrid::shareResidues() {
  Value points = plan.ceilDiv(tiles, together);
  residuesTogether = share(plan.mul(points, plan.constant(residues)), residues);
  residuesOfPoint = k.addScalar("residues_of_point", residuesTogether);
  return residuesOfPoint;
}

void AttentionGrid::declareSequences() {
  if (!attention.sequences.arePacked())
    return;
  const BranchSizes &sizes = view.getSizes();
  Value covered =
      plan.mul(plan.mul(sizes.r, plan.constant(tileRows)), together);
  packed.emplace(plan, k, sequence.getReader(), attention.sequences.count,
                 attention.rows.getOrdinalCount(),
                 attention.rows.getOrdinalsOfSequence(Side::Query), sizes.w,
                 covered, plan.ceilDiv(tiles, together));
  tiles = packed->getExtent();
}

void AttentionGrid::addAxes() {
  Value extent = packed ? tiles : plan.ceilDiv(tiles, together);
  if (residuesTogether)
    extent = plan.mul(extent,
                      plan.ceilDiv(plan.constant(residues), residuesTogether));
  else if (residues)
    extent = plan.mul(extent, plan.constant(residues));
  Value tilesOfPart;
  if (parts) {
    // Tiles of a part follow each other, so that they find its keys in caches.
    tilesOfPart = k.addNumber("tiles", extent);
    extent = plan.mul(extent, partCount);
  }
  point.tile = k.addGridAxis("tile", extent);
  if (view.getSizes().w && !packed)
    point.segment = point.gridSegment = k.addGridAxis("segment", segments);
  point.head = k.addGridAxis("head", heads);
  if (!packed)
    point.batch = k.addGridAxis("batch", attention.query.sizes[0]);
  if (parts) {
    Value axis = point.tile;
    point.tile = k.create<arith::RemUIOp>("tile_of_part", axis, tilesOfPart);
    point.part = k.create<arith::DivUIOp>("part", axis, tilesOfPart);
    point.state = k.add("state_number", firstState, point.part);
  }
  if (residues) {
    Value axis = point.tile, count = k.constant(residues);
    if (residuesOfPoint) {
      Value last = k.add("last", residuesOfPoint, k.constant(residues - 1));
      count = k.create<arith::DivUIOp>("places", last, residuesOfPoint);
    }
    point.residue = k.create<arith::RemUIOp>("residue", axis, count);
    point.tile = k.create<arith::DivUIOp>("tile_of_residue", axis, count);
    if (residuesOfPoint)
      point.residue = k.create<arith::MulIOp>("first_residue", point.residue,
                                              residuesOfPoint);
  }
  if (packed) {
    PackedSequences::Place place =
        packed->find(sequence.getRows(Side::Query), point.tile);
    point.tile = place.tile;
    sequence.read(place.sequence, place.first);
  } else {
    sequence.read(point.batch, nullptr);
  }
  placeSegment();
  int64_t group = attention.op.getQueryHeads() / attention.op.getKeyHeads();
  if (headsOfTile == group && firstHead == 0 && !firstHeadOperand) {
    point.keyHead = point.head;
    if (group != 1)
      point.head = k.mul("query_head", point.head, group);
    return;
  }
  if (headsOfTile != 1)
    point.head = k.mul("heads_before", point.head, headsOfTile);
  if (firstHeadOperand)
    point.head = k.add("query_head", point.head, firstHeadOperand);
  else if (firstHead != 0)
    point.head = k.add("query_head", point.head, k.constant(firstHead));
  point.keyHead = k.div("key_head", point.head, group);
}

void AttentionGrid::placeSegment() {
  Value firstOrdinal = sequence.getFirstOrdinal();
  if (packed && view.getSizes().w) {
    Value w = view.getW();
    const SequencePart &part = sequence.getPart(Side::Query);
    Value rows = k.create<arith::SubIOp>("q_rows", part.end, part.first);
    PackedSequences::Segment place =
        packed->placeInSegment(point.tile, firstOrdinal, rows, w);
    point.segment = place.number;
    point.tile = place.tile;
  } else if (firstOrdinal && point.segment) {
    Value first = k.create<arith::FloorDivSIOp>("first_segment", firstOrdinal,
                                                view.getW());
    point.segment = k.add("segment_number", point.segment, first);
  }
}

SmallVector<Value> AttentionGrid::getAxes(Value ofHead) const {
  SmallVector<Value> axes{nullptr, ofHead, nullptr};
  if (point.batch)
    axes.insert(axes.begin(), point.batch);
  return axes;
}

SmallVector<Value> AttentionGrid::getRowAxes() const {
  SmallVector<Value> axes{point.head, nullptr};
  if (point.batch)
    axes.insert(axes.begin(), point.batch);
  return axes;
}
