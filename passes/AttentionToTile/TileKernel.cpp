//===- TileKernel.cpp - Kernels over tiles of queries -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/TileKernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringlet;

static bool leavesState(const SoftmaxEnds &ends) {
  return std::holds_alternative<SoftmaxState>(ends.after);
}

TileKernel::TileKernel(HostPlan &plan, const Twine &name, Attention &attention,
                       const SoftmaxEnds &ends, unsigned branch,
                       const BranchSizes &sizes, attn::TilingAttr tiling)
    : plan(plan), attention(attention), ends(ends), k(plan, name),
      query(k.addBuffer("Q", attention.query.buffer)),
      key(k.addBuffer("K", attention.key.buffer)),
      value(k.addBuffer("V", attention.value.buffer)),
      rows(k, attention, ends, branch), sequence(k, attention, query, key),
      view(k, attention, sizes),
      grid(plan, k, attention, view, sequence, tiling.getQuery()),
      keys(plan, k, attention, branch, view, tiling),
      body(k, attention, tiling), queryRows(tiling.getQuery()),
      keyRows(tiling.getKey()), mostKeysOfSum(tiling.getPart()),
      joinsLate(ends.before && (ends.sumsFromZero || attention.valueScale ||
                                (ends.marks && leavesState(ends)))) {
  if (attention.keyScale)
    keyScales = k.addBuffer("k_scale", attention.keyScale.buffer);
  if (attention.valueScale)
    valueScales = k.addBuffer("v_scale", attention.valueScale.buffer);
  if (ends.edge)
    edge = k.addScalar("edge", ends.edge->number);
  view.declare();
}

void TileKernel::declareGrid() {
  grid.declareSequences();
  keys.declare(grid.getTiles(), grid.getSegments(), grid.getFirstSegment());
  grid.addAxes();
  if (keyScales)
    body.setKeyScale(loadScale("k_scale", keyScales));
  if (valueScales)
    valueScale = loadScale("v_scale", valueScales);
}

Value TileKernel::loadScale(StringRef name, Value scales) {
  Value head = grid.getPoint().keyHead, row = head;
  SmallVector<Value> axes{nullptr};
  if (cast<MemRefType>(scales.getType()).getRank() == 2) {
    axes.push_back(head);
    row = sequence.getNumber();
  }
  Type f32 = k.getBuilder().getF32Type();
  Value ofHead = k.view("scales", scales, axes, rtile::ViewType::get({1}, f32),
                        KernelBuilder::Rows());
  return k.repeat(name, ofHead, row, queryRows);
}

KernelBuilder::Rows TileKernel::getRows(Side side, Value segment,
                                        Value ofResidue) {
  Value origin = sequence.getOrigin(side);
  SequencePart part = sequence.getPart(side);
  if (keys.blocksMayEnd())
    part = keys.clampToMask(part, origin, sequence.getCount(side), side);
  return view.getRows(side, origin, segment, ofResidue, part);
}

Value TileKernel::makeView(StringRef name, Value buffer, ArrayRef<Value> axes,
                           int64_t count, int64_t columns,
                           const KernelBuilder::Rows &where) {
  Type element = cast<MemRefType>(buffer.getType()).getElementType();
  if (rtile::isWidenedElement(element))
    element = attention.query.getElementType();
  return k.view(name, buffer, axes,
                view.getType({count, columns}, element, where), where);
}

void TileKernel::viewQueries() {
  const AttentionGrid::Point &point = grid.getPoint();
  queries = getRows(Side::Query, point.segment, residue);
  queries.heads = headsOfTile;
  queryView = makeView("q", query, grid.getAxes(point.head), queryRows,
                       attention.op.getHeadDim(), queries);
  // Only who sees whom is a matter of positions.
  queries.positions = nullptr;
}

/// In a pool of pages a sequence has its number, be they packed or not.
TileKernel::KeyViews TileKernel::viewKeys(KernelBuilder::Rows where) {
  Value head = grid.getPoint().keyHead;
  SmallVector<Value> axes = grid.getAxes(head);
  where.pages = sequence.getPages();
  if (where.pages)
    axes = {sequence.getNumber(), nullptr, head, nullptr};
  KeyViews views;
  views.key =
      makeView("k", key, axes, keyRows, attention.op.getHeadDim(), where);
  where.positions = nullptr;
  // What nobody sees has weight 0, which times NaN is none: it must not be
  // read. Of a tile of keys no element needs to be hidden for that.
  const SequencePart &seen = sequence.getSeenKeys();
  if (seen.end != sequence.getPart(Side::Key).end) {
    where.first = seen.first;
    where.end = seen.end;
  }
  views.value =
      makeView("v", value, axes, keyRows, attention.op.getValueDim(), where);
  return views;
}

void TileKernel::viewResults(int64_t groupRows) {
  rows.makeViews(grid, view, queries, queryRows, groupRows,
                 /*inParts=*/joinsLate && (ends.sumsFromZero || ends.marks));
}

Value TileKernel::getFirstRow(StringRef name, Value ofView, Value tile) {
  Value offset = k.mul("tile_row", tile, queryRows);
  if (!sequence.getFirstOrdinal())
    return offset;
  auto bounds = rtile::BoundsOp::create(k.getBuilder(), plan.getLoc(), ofView);
  return k.add(name, bounds.getBegin(), offset);
}

void TileKernel::declareTotals(Value row) {
  if (const std::optional<StateViews> &of = rows.totals)
    rtile::TotalsOp::create(k.getBuilder(), plan.getLoc(), of->accumulator,
                            of->maximum, of->sum, row, mostKeysOfSum, keyRows);
}

SoftmaxBody::State TileKernel::visitKeys(const KeyTiles::Place &place,
                                         Value values) {
  declareTotals(place.row);
  Value queryTile = k.load("q_tile", queryView, place.row);
  return body.visit(
      keys, place, values, queryTile,
      body.begin(joinsLate ? std::nullopt : rows.before, place.row));
}

Value TileKernel::hasEdge(StringRef name, int64_t bit, bool isSet) {
  Value of = k.create<arith::AndIOp>("edge_bit", edge, k.constant(1 << bit));
  return k.create<arith::CmpIOp>(
      name, isSet ? arith::CmpIPredicate::ne : arith::CmpIPredicate::eq, of,
      k.constant(0));
}

void TileKernel::store(SoftmaxBody::State state, Value row,
                       const TileRows &of) {
  // Sums of values are those of what is stored (S6).
  if (valueScale)
    state.accumulator = body.scaleValues(state.accumulator, valueScale);
  // Before the division, so that the accumulator need not outlive it.
  Value counted = of.counted;
  if (of.marks) {
    counted = body.findFine(state);
    body.storeMarks(counted, of.marks, row, of.isEmpty);
  }
  if (joinsLate || (of.marks && rows.state))
    state = body.join(state, counted, rows.before, row,
                      /*isNormal=*/ends.sumsFromZero && !ends.marks,
                      edge ? hasEdge("reads", 0, false) : Value());
  if (edge) {
    OpBuilder &builder = k.getBuilder();
    auto branch =
        scf::IfOp::create(builder, plan.getLoc(), hasEdge("is_last", 1, true),
                          /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    body.end(state, counted, ends.edge->result, *rows.edge, *rows.state, row);
    builder.setInsertionPointToStart(branch.elseBlock());
    return body.store(state, *rows.state, row);
  }
  if (rows.state)
    return body.store(state, *rows.state, row);
  body.store(state, std::get<SoftmaxResult>(ends.after), *rows.result, row);
}
