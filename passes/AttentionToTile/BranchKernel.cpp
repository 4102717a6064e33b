//===- BranchKernel.cpp - The kernels of one branch -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/BranchKernel.h"

#include "lib/Layout/Dilation.h"
#include "passes/AttentionToTile/SequenceRows.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringlet;

void BranchKernel::emit() {
  declare();
  makeViews();
  if (marks == Marks::Reads) {
    redoTiles();
  } else {
    row = firstRow("row", views.query);
    streamKeys();
    // Last: neither scores nor sums are alive, and keys of the next point come
    // meanwhile.
    fillOthers();
  }
  k.launch(marks == Marks::Writes ? step.redo.buffer : Value());
}

void BranchKernel::onlyIf(Value condition, llvm::function_ref<void()> body) {
  OpBuilder &builder = k.getBuilder();
  auto branch = scf::IfOp::create(builder, plan.getLoc(), condition,
                                  /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
  builder.setInsertionPointAfter(branch);
}

void BranchKernel::streamKeys() {
  softmax.emit(views, {views.query, row, views.key, tile, gridSegment, residue},
               marks == Marks::Writes);
}

rtile::Recipe BranchKernel::toTileRecipe(attn::Recipe recipe) {
  switch (recipe) {
  case attn::Recipe::fa_fwd_overlap:
    return rtile::Recipe::fa_fwd_overlap;
  case attn::Recipe::fa_fwd_lazy:
    return rtile::Recipe::fa_fwd_lazy;
  }
  llvm_unreachable("every recipe of a graph is one of a kernel");
}

/// Parameters and grid: tiles of a segment, segments, heads, batch.
void BranchKernel::declare() {
  Q = k.addBuffer("Q", step.query.buffer);
  K = k.addBuffer("K", step.key.buffer);
  V = k.addBuffer("V", step.value.buffer);
  if (step.partial && step.partial.buffer != step.target.buffer)
    partial = k.addBuffer("partial", step.partial.buffer);
  target = k.addBuffer(step.last ? "O" : "partial", step.target.buffer);
  if (step.partial && !partial)
    partial = target;
  if (step.sum) {
    maxima = k.addBuffer("row_max", step.maximum.buffer);
    sums = k.addBuffer("row_sum", step.sum.buffer);
  }
  if (step.lse)
    lse = k.addBuffer("LSE", step.lse.buffer);
  if (marks != Marks::None)
    redo = k.addBuffer("redo", step.redo.buffer);
  if (step.sinks)
    sinks = k.addBuffer("sinks", step.sinks.buffer);
  Value position =
      step.queryOrder.ranksOfSequence ? step.queryOffset : step.firstRank;
  if (!step.sequences.queryOffsets && getConstant(position) != 0)
    firstRank = k.addScalar("q_offset", position);
  sequences.emplace(k, step.sequences);
  if (ShapedType::isDynamic(step.sizes.getW()))
    w = k.addScalar("w", step.sizes.w);
  if (ShapedType::isDynamic(step.sizes.getR()))
    r = k.addScalar("r", step.sizes.r);
  for (const RowOrder *order : {&step.queryOrder, &step.keyOrder}) {
    bool isQuery = order == &step.queryOrder;
    addTable(isQuery ? "q_rows" : "k_rows", order->rows);
    addTable(isQuery ? "q_positions" : "k_positions", order->positions);
  }

  const BranchSizes &sizes = step.sizes;
  // A packed sequence may have more ranks than all of them have rows.
  Value ranks = step.rankCount;
  if (step.sequences.arePacked() && step.queryOrder.ranksOfSequence)
    ranks = plan.add(ranks, plan.constant(step.queryOrder.ranksOfSequence));
  Value rows = plan.ceilDiv(ranks, sizes.r);
  if (sizes.w)
    rows = plan.min(rows, plan.ceilDiv(sizes.w, sizes.r));
  Value tiles = plan.ceilDiv(rows, queryRows), segments = plan.constant(1);
  Value firstSegment = plan.constant(0);
  bool arePacked = step.sequences.arePacked();
  if (sizes.w && !arePacked && hasPositionsOfSequence(op)) {
    // As many as rows can lie in, wherever they begin.
    segments =
        plan.add(plan.floorDiv(plan.add(step.rankCount,
                                        plan.sub(sizes.w, plan.constant(2))),
                               sizes.w),
                 plan.constant(1));
  } else if (sizes.w && !arePacked) {
    // Segments from that of the first query rank to that of the last.
    Value last =
        plan.sub(plan.add(step.firstRank, step.rankCount), plan.constant(1));
    firstSegment = plan.floorDiv(step.firstRank, sizes.w);
    segments = plan.add(plan.sub(plan.floorDiv(last, sizes.w), firstSegment),
                        plan.constant(1));
  }
  int64_t headEnd = branch.getHeadEnd() == attn::BranchAttr::kAllHeads
                        ? op.getQueryHeads()
                        : branch.getHeadEnd();
  Value heads = plan.constant(headEnd - branch.getHeadBegin());
  Value together = plan.constant(1);
  if (marks == Marks::Reads) {
    // Of all tiles, so many that a device has enough blocks to run.
    Value around = step.query.sizes[0];
    if (arePacked)
      around =
          sizes.w ? plan.ceilDiv(step.rankCount, sizes.w) : plan.constant(1);
    Value planes = plan.mul(plan.mul(segments, heads), around);
    Value share = plan.floorDiv(plan.mul(tiles, planes), kFewestPoints);
    together = plan.max(plan.min(share, plan.constant(mostTilesOfPoint())),
                        plan.constant(1));
    tilesOfPoint = k.addScalar("tiles_of_point", together);
  }
  if (arePacked) {
    Value covered =
        plan.mul(plan.mul(sizes.r, plan.constant(queryRows)), together);
    packed.emplace(plan, k, *sequences, step.sequences.count, step.rankCount,
                   step.queryOrder.ranksOfSequence, sizes.w, covered,
                   plan.ceilDiv(tiles, together));
    tiles = packed->getExtent();
  }
  keyTiles.declare(tiles, segments, firstSegment);
  tile = k.addGridAxis("tile", packed ? tiles : plan.ceilDiv(tiles, together));
  if (sizes.w && !packed)
    segment = gridSegment = k.addGridAxis("segment", segments);
  head = k.addGridAxis("head", heads);
  Value first;
  if (packed)
    first = placePacked();
  else
    sequence = batch = k.addGridAxis("batch", step.query.sizes[0]);

  readSequence(first);
  if (packed && sizes.w) {
    Value w = getW();
    Value rows =
        k.create<arith::SubIOp>("q_rows", queryPart.end, queryPart.first);
    PackedSequences::Segment place =
        packed->placeInSegment(tile, firstRank, rows, w);
    segment = place.number;
    tile = place.tile;
  } else if (firstRank && segment) {
    Value first =
        k.create<arith::FloorDivSIOp>("first_segment", firstRank, getW());
    segment = k.add("segment_number", segment, first);
  }
  if (branch.getHeadBegin() != 0)
    head = k.add("query_head", head, k.constant(branch.getHeadBegin()));
  keyHead = k.div("key_head", head, op.getQueryHeads() / op.getKeyHeads());
}

/// The sequence of this point, where sequences are packed, and its tile,
/// counted from the first one of the sequence. Returns the first row.
Value BranchKernel::placePacked() {
  PackedSequences::Place place =
      packed->find(k.size("rows", Q, /*axis=*/0), tile);
  tile = place.tile;
  sequence = place.sequence;
  return place.first;
}

/// What lists say of this point's sequence, whose queries begin at row `first`
/// if sequences are packed.
void BranchKernel::readSequence(Value first) {
  int64_t axis = op.getSequenceAxis();
  SequenceReader::Sequence read;
  if (step.sequences.haveLengths()) {
    Value queryCount = k.size("rows", Q, axis);
    Value keyCount = k.size("rows", K, axis);
    read = sequences->read(sequence, queryCount, keyCount, first);
  }
  queryPart = read.queries;
  keyPart = read.keys;
  bool bySequence = step.queryOrder.ranksOfSequence != 0;
  if (hasPositionsOfSequence(op))
    firstRank = sequences->readOffset(
        sequence, read, bySequence ? -kMostRanksBefore : -kMaxOffset);
  if (bySequence)
    placeOnCurve();
  if (step.keyOrder.ranksOfSequence) {
    RankEntries keys =
        placeKeyRanks(k, step.keyOrder.ranksOfSequence, sequence);
    keyPart = {keys.first, keys.end};
  }
}

/// The queries of this sequence are its ranks along the pattern order, which
/// tables say the rows of.
void BranchKernel::placeOnCurve() {
  Value rows = k.size("rows", Q, op.getSequenceAxis());
  Value before = sequences->getRowsBefore(sequence, queryPart, rows);
  Value length = sequences->getLength("q_length", queryPart, rows);
  RankEntries ranks =
      placeQueryRanks(k, step.queryOrder.ranksOfSequence, sequence, before,
                      length, firstRank ? firstRank : k.constant(0));
  firstRank = ranks.firstRank;
  queryPart = {ranks.first, ranks.end};
}

/// The rank of number 0 of the axis, or of a table; null for 0.
Value BranchKernel::getOrigin(Value firstRank, const SequencePart &part) {
  if (!part.first || getConstant(part.first) == 0)
    return firstRank;
  return k.create<arith::SubIOp>(
      "origin", firstRank ? firstRank : k.constant(0), part.first);
}

void BranchKernel::addTable(StringRef name, Value table) {
  if (table && !getTable(table))
    tables.emplace_back(table, k.addBuffer(name, table));
}

Value BranchKernel::getTable(Value table) {
  for (auto [known, parameter] : tables)
    if (known == table)
      return parameter;
  return nullptr;
}

/// The residue o of this head (B2); null if the branch is not dilated.
Value BranchKernel::makeResidue() {
  if (step.sizes.getR() == 1)
    return nullptr;
  bool byQuery = branch.getBy() == attn::HeadKind::Query;
  Value x = byQuery ? head : keyHead;
  int64_t heads = byQuery ? op.getQueryHeads() : op.getKeyHeads();
  switch (branch.getOffset()) {
  case attn::OffsetRule::Modulo:
    return k.create<arith::RemUIOp>("residue", x, getR());
  case attn::OffsetRule::Block: {
    Value share = plan.ceilDiv(plan.constant(heads), step.sizes.r);
    if (std::optional<int64_t> known = getConstant(share))
      return k.div("residue", x, *known);
    return k.create<arith::DivUIOp>("residue", x,
                                    k.addScalar("heads_of_residue", share));
  }
  case attn::OffsetRule::Constant:
    return makeResidue(branch.getConstant());
  }
  llvm_unreachable("every offset rule has a residue");
}

/// c mod r, which rounds down.
Value BranchKernel::makeResidue(int64_t c) {
  if (!r)
    return k.constant(layout::floorMod(c, step.sizes.getR()));
  if (c >= 0)
    return k.create<arith::RemUIOp>("residue", k.constant(c), r);
  Value below = k.create<arith::RemUIOp>("below", k.constant(-1 - c), r);
  return k.create<arith::SubIOp>("residue", k.add("last", r, k.constant(-1)),
                                 below);
}

/// Views of the rows of this segment and residue.
void BranchKernel::makeViews() {
  Type element = step.query.getElementType();
  int64_t depth = op.getHeadDim(), width = op.getValueDim();
  residue = makeResidue();
  auto getRows = [&](unsigned side, Value firstRank, const RowOrder &order,
                     SequencePart part) {
    Value origin = getOrigin(firstRank, part);
    if (blocksMayEnd())
      part = keyTiles.clampToMask(
          part, origin, k.size("rows", side == 0 ? Q : K, op.getSequenceAxis()),
          side);
    return KernelBuilder::Rows{origin,
                               segment,
                               residue,
                               getTable(order.rows),
                               getTable(order.positions),
                               order.order,
                               part.first,
                               part.end,
                               w,
                               r};
  };
  KernelBuilder::Rows keys = getRows(1, nullptr, step.keyOrder, keyPart);
  queries = getRows(0, firstRank, step.queryOrder, queryPart);

  views.query = k.view("q", Q, getAxes(head),
                       viewType({queryRows, depth}, element, queries), queries);
  // Only who sees whom is a matter of positions.
  queries.positions = nullptr;
  views.key = k.view("k", K, getAxes(keyHead),
                     viewType({keyRows, depth}, element, keys), keys);
  keys.positions = nullptr;
  views.value = k.view("v", V, getAxes(keyHead),
                       viewType({keyRows, width}, element, keys), keys);
  views.target = k.view(
      step.last ? "o" : "partial_rows", target, getAxes(head),
      viewType({queryRows, width}, step.target.getElementType(), queries),
      queries);
  if (partial == target)
    views.partial = views.target;
  else if (partial)
    views.partial = k.view(
        "partial_rows", partial, getAxes(head),
        viewType({queryRows, width}, plan.getBuilder().getF32Type(), queries),
        queries);
  rtile::ViewType rows =
      viewType({queryRows}, plan.getBuilder().getF32Type(), queries);
  SmallVector<Value> axes = getRowAxes();
  if (sums) {
    views.maximum = k.view("maxima", maxima, axes, rows, queries);
    views.sum = k.view("sums", sums, axes, rows, queries);
  }
  if (sinks)
    views.sinks = k.view("sink_rows", sinks, {head, nullptr}, rows, queries);
  if (redo)
    views.redo = k.view("redo_rows", redo, axes, rows, queries);
  if (marks == Marks::Reads)
    redoGroupView = k.view("redo_group", redo, axes,
                           viewType({mostTilesOfPoint() * queryRows},
                                    plan.getBuilder().getF32Type(), queries),
                           queries);
  if (lse)
    views.lse = k.view("lse", lse, getLseAxes(), rows, queries);
}

/// Those of rows of `ofHead`, in tensors that have a head behind the rows.
SmallVector<Value> BranchKernel::getAxes(Value ofHead) {
  SmallVector<Value> axes{nullptr, ofHead, nullptr};
  if (batch)
    axes.insert(axes.begin(), batch);
  return axes;
}

/// Those of what belongs to rows.
SmallVector<Value> BranchKernel::getRowAxes() {
  SmallVector<Value> axes{head, nullptr};
  if (batch)
    axes.insert(axes.begin(), batch);
  return axes;
}

/// One lse for each branch where branches are added up (R2).
SmallVector<Value> BranchKernel::getLseAxes() {
  SmallVector<Value> axes = getRowAxes();
  if (op.getMix() == attn::Mix::Sum)
    axes.insert(axes.begin(), k.constant(step.branch));
  return axes;
}

/// The first row of this point's tile in `view`, which is not row 0 where the
/// positions do not begin with the segment.
Value BranchKernel::firstRow(StringRef name, Value view) {
  Value offset = k.mul("tile_row", tile, queryRows);
  if (!firstRank)
    return offset;
  auto bounds = rtile::BoundsOp::create(k.getBuilder(), plan.getLoc(), view);
  return k.add(name, bounds.getBegin(), offset);
}

void ringlet::emitBranch(HostPlan &plan, const BranchStep &step) {
  attn::AttentionOp op = step.op;
  auto tiling = cast<attn::TilingAttr>((*op.getTilings())[step.branch]);
  if (!tiling.getRecipe()) {
    BranchKernel(plan, step, step.name, tiling, Marks::None).emit();
    return;
  }
  BranchKernel(plan, step, step.name, tiling, Marks::Writes).emit();
  BranchKernel(plan, step, step.name + "_redo", tiling.getRedo(), Marks::Reads)
      .emit();
}
