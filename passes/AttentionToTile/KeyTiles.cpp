//===- KeyTiles.cpp - Which keys a kernel streams over -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/KeyTiles.h"

#include "dialects/Ringlet/IR/TilePattern.h"
#include "lib/Layout/Grid.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ringlet;

KeyTiles::KeyTiles(HostPlan &plan, KernelBuilder &k, Attention &attention,
                   unsigned branch, const BranchView &view,
                   attn::TilingAttr tiling)
    : plan(plan), k(k), attention(attention), branch(branch), view(view),
      op(attention.op), queryRows(tiling.getQuery()), keyRows(tiling.getKey()),
      window(getWindow()) {
  if (attn::GridWindowAttr near = op.getGridWindowAttr()) {
    grid = k.getBuilder().getDenseI64ArrayAttr(near.getGrid());
    reach = k.getBuilder().getDenseI64ArrayAttr(near.getReach());
  }
}

/// The window; a side that reaches beyond every position is unlimited.
DenseI64ArrayAttr KeyTiles::getWindow() {
  std::optional<ArrayRef<int64_t>> sides = op.getWindow();
  if (!sides)
    return nullptr;
  auto limit = [](int64_t side) { return side > 4 * kMaxOffset ? -1 : side; };
  int64_t left = limit((*sides)[0]), right = limit((*sides)[1]);
  if (left == -1 && right == -1)
    return nullptr;
  return DenseI64ArrayAttr::get(op.getContext(), {left, right});
}

void KeyTiles::report() {
  if (!usesIndex() && !blocks)
    return;
  std::string text =
      llvm::formatv("branch {0}: key tiles {1}", branch,
                    usesIndex() ? "from an index" : "by division")
          .str();
  if (blocks)
    text += fillsBlocks() ? ", each within one block of the mask"
                          : ", elements masked by their blocks";
  remark::passed(
      op.getLoc(),
      remark::RemarkOpts::name("KeyTiles").category("ringlet-to-rtile"))
      << remark::metric("branch", branch) << text;
}

Value KeyTiles::getPlace(Value residue) {
  int64_t rate = view.getSizes().getR();
  auto [first, count] = residues;
  if (count == 1)
    return k.constant(0);
  if (first == 0)
    return residue;
  if (first + count <= rate)
    return k.add("place", residue, k.constant(-first));
  Value turned = k.add("turned", residue, k.constant(rate - first));
  return k.create<arith::RemUIOp>("place", turned, k.constant(rate));
}

void KeyTiles::declare(Value tileCount, Value segmentCount,
                       Value firstSegment) {
  if (attention.blockMask)
    blocks = k.addBuffer("block_mask", attention.blockMask.buffer);
  report();
  if (!usesIndex())
    return;
  int64_t w = view.getSizes().getW();
  residues = attn::getResidues(op, attention.getBranch(branch));
  OpBuilder &builder = plan.getBuilder();
  auto table = rplan::TileIndexOp::create(
      builder, plan.getLoc(),
      MemRefType::get({ShapedType::kDynamic}, builder.getI64Type()),
      attention.query.sizes[1], attention.queryOffset, attention.getKeyRows(),
      tileCount, segmentCount, firstSegment,
      builder.getDenseI64ArrayAttr({queryRows, keyRows}),
      w ? builder.getI64IntegerAttr(w) : IntegerAttr(),
      builder.getI64IntegerAttr(view.getSizes().getR()),
      residues.count == view.getSizes().getR()
          ? DenseI64ArrayAttr()
          : builder.getDenseI64ArrayAttr({residues.first, residues.count}),
      op.getOrdinalOrder(), op.getCausalAttr(), window, grid, reach);
  index = k.addBuffer("tile_index", table);
  tiles = k.addNumber("tiles", tileCount);
  segments = k.addNumber("segments", segmentCount);
}

KeyTiles::Range KeyTiles::getRange(const Place &place) {
  if (!index) {
    auto run = rtile::RunOp::create(k.getBuilder(), plan.getLoc(), place.query,
                                    place.row, place.key, op.getCausal(),
                                    getReach(), part);
    return {run.getBegin(), run.getEnd(), k.constant(keyRows)};
  }
  Value list = place.tile;
  if (place.segment || place.residue) {
    Value plane = place.residue ? getPlace(place.residue) : k.constant(0);
    if (place.segment)
      plane = k.add("list_plane",
                    k.create<arith::MulIOp>("first_plane", plane, segments),
                    place.segment);
    list = k.add("list", k.create<arith::MulIOp>("first_list", plane, tiles),
                 list);
  }
  auto found = rtile::ListOp::create(k.getBuilder(), plan.getLoc(), index, list,
                                     place.query, place.row, place.key,
                                     op.getCausal(), window, grid, reach);
  return {found.getBegin(), found.getEnd(), k.constant(1)};
}

Value KeyTiles::getRow(Value loopVariable) {
  if (!index)
    return loopVariable;
  Value entry = k.create<memref::LoadOp>("entry", index, loopVariable);
  return k.create<arith::IndexCastOp>("key_row", k.getBuilder().getIndexType(),
                                      entry);
}

/// Keys that are near on the grid are near in position, too. In other orders
/// runs know nothing of positions.
DenseI64ArrayAttr KeyTiles::getReach() {
  if (!grid || view.getOrder(Side::Key).positions)
    return window;
  int64_t most = 0, stride = 1;
  for (size_t axis = grid.size(); axis-- > 0;) {
    most += std::min(reach[axis], grid[axis] - 1) * stride;
    stride *= grid[axis];
  }
  auto narrow = [&](int64_t side) {
    return side < 0 ? most : std::min(side, most);
  };
  return DenseI64ArrayAttr::get(
      op.getContext(),
      {narrow(window ? window[0] : -1), narrow(window ? window[1] : -1)});
}

SequencePart KeyTiles::clampToMask(SequencePart part, Value origin, Value count,
                                   Side side) {
  auto axis = static_cast<unsigned>(side);
  // No sequence has more rows than blocks of this size have.
  constexpr int64_t mostRows = int64_t(1) << 32;
  Value ordinals = k.mul("ordinals_of_mask", k.size("blocks", blocks, axis),
                         std::min((*op.getBlockSize())[axis], mostRows));
  if (!part.first)
    part = {k.constant(0), count};
  if (!origin)
    return {part.first,
            k.create<arith::MinSIOp>("end_in_mask", part.end, ordinals)};
  Value begin = k.create<arith::SubIOp>("mask_begin", k.constant(0), origin);
  Value end = k.create<arith::SubIOp>("mask_end", ordinals, origin);
  return {k.create<arith::MaxSIOp>("first_in_mask", part.first, begin),
          k.create<arith::MinSIOp>("end_in_mask", part.end, end)};
}

Value KeyTiles::mayBeSeen(const Place &place, Value keyRow) {
  Value some;
  if (blocks)
    some = k.create<rtile::AnyBlockOp>("some_block", place.query, place.row,
                                       place.key, keyRow, blocks,
                                       op.getBlockSizeAttr());
  // Most ordinals of a short sequence have no row.
  if (!attention.rows.getOrdinalsOfSequence(Side::Query))
    return some;
  Value seen = k.create<rtile::AnyOp>("some_seen", getMask(place, keyRow));
  return some ? k.create<arith::AndIOp>("some", some, seen).getResult() : seen;
}

bool KeyTiles::fillsBlocks() {
  ArrayRef<int64_t> size = *op.getBlockSize();
  if (!view.getSizes().areKnown())
    return false;
  int64_t w = view.getSizes().getW();
  auto divides = [&](int64_t rows, int64_t block) {
    int64_t span;
    return !__builtin_mul_overflow(rows, view.getSizes().getR(), &span) &&
           block % span == 0 && w % block == 0;
  };
  // Under a left window a run begins anywhere, and under an offset its queries
  // do.
  bool leftWindow = window && window[0] >= 0;
  return !hasPositionsOfSequence(op) && !attention.sequences.haveParts() &&
         queryRows % headsOfTile == 0 &&
         divides(queryRows / headsOfTile, size[0]) &&
         divides(keyRows, size[1]) &&
         getConstant(attention.rows.getFirstOrdinal()) == 0 &&
         (usesIndex() || !leftWindow);
}

Value KeyTiles::getMask(const Place &place, Value keyRow) {
  bool byElement = blocks && !fillsBlocks();
  auto type =
      RankedTensorType::get({queryRows, keyRows}, k.getBuilder().getI1Type());
  return k.create<rtile::VisibleOp>(
      "seen", type, place.query, place.row, place.key, keyRow,
      byElement ? blocks : Value(), op.getCausal(), window, grid, reach,
      byElement ? op.getBlockSizeAttr() : DenseI64ArrayAttr());
}

void ringlet::requireMasks(HostPlan &plan, attn::AttentionOp op,
                           Value queryLength, Value queryOffset,
                           Value keyLength, const HostTensor &mask) {
  if (!op.getGridWindow() && !mask)
    return;
  // Of some sequences only the device knows where they begin, or end.
  bool knowsFirst = !hasPositionsOfSequence(op);
  Value queryEnd = knowsFirst && !op.isPacked()
                       ? plan.add(queryOffset, queryLength)
                       : Value();
  Value keyEnd = op.isPacked() ? Value() : keyLength;
  if (attn::GridWindowAttr near = op.getGridWindowAttr()) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "expected every position on the grid [";
    llvm::interleaveComma(near.getGrid(), stream);
    stream << "]";
    Value cells = plan.constant(*layout::gridVolume(near.getGrid().vec()));
    if (knowsFirst)
      plan.requireAtMost(plan.constant(0), queryOffset, text, "B5");
    for (Value end : {queryEnd, keyEnd})
      if (end)
        plan.requireAtMost(end, cells, text, "B5");
  }
  if (!mask)
    return;
  if (knowsFirst)
    plan.requireAtMost(plan.constant(0), queryOffset,
                       "expected positions of at least 0 under a block mask",
                       "B6");
  // A curve may give any position any ordinal of its volume.
  rlayout::OrderAttr order = op.getOrdinalOrder();
  Value ordinals = order && order.getOrder()->period()
                       ? plan.constant(order.getOrder()->period())
                       : Value();
  Value ends[] = {ordinals ? ordinals : queryEnd, ordinals ? ordinals : keyEnd};
  for (auto [axis, end] : llvm::enumerate(ends))
    if (end)
      plan.requireAtMost(
          plan.ceilDiv(end, (*op.getBlockSize())[axis]), mask.sizes[axis],
          "expected a block mask with a block for every ordinal on axis " +
              Twine(axis),
          "B6");
}
