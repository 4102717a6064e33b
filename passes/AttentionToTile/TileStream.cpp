//===- TileStream.cpp - Tiles of queries, once or once more -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/TileStream.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>

using namespace mlir;
using namespace ringlet;

/// Rows whose marks one point looks at, at most.
static constexpr int64_t mostRowsOfPoint = 1024;

void TileStream::emitOnce() {
  place(/*groupRows=*/0);
  Value tile = grid.getPoint().tile;
  TileRows known;
  known.marks = rows.marks;
  streamKeys(tile, getFirstRow("row", queryView, tile), known);
  // Last: neither scores nor sums are alive, and keys of the next point come
  // meanwhile.
  if (fillsOthers())
    fillOthers(tile);
  k.launch();
}

void TileStream::emitRedo() {
  if (int64_t residues = getResiduesOfPoint())
    return emitRedoOfResidues(residues);
  int64_t most = std::max<int64_t>(1, mostRowsOfPoint / queryRows);
  Value tilesOfPoint = grid.shareTiles(most);
  all = k.addScalar("all_rows", plan.constant(0), &allArgument);
  place(most * queryRows);
  Value first =
      k.create<arith::MulIOp>("first_tile", grid.getPoint().tile, tilesOfPoint);
  Value end = k.add("end_tile", first, tilesOfPoint);
  Value some = anyOfGroup(rows.groupMarks,
                          [&] { return getFirstRow("row", queryView, first); });
  if (fillsOthers()) {
    Value last = k.add("last_tile", end, k.constant(-1));
    some = mayBeUnfilled(some, getFirstRow("row", queryView, last));
  }
  onlyIf(some, [&] {
    // In a loop of its own, so that what it needs is not alive while keys are
    // streamed.
    if (fillsOthers())
      forEachTile(first, end, [&](Value tile, Value row) {
        onlyIf(mayBeUnfilled(anyMarked(rows.marks, row), row),
               [&] { fillOthers(tile); });
      });
    redoTiles(first, end);
  });
  launchRedo();
}

void TileStream::redoTiles(Value first, Value end) {
  forEachTile(first, end, [&](Value tile, Value row) {
    onlyIf(anyMarked(rows.marks, row), [&] {
      TileRows known;
      if (rows.before && rows.state)
        known.counted = getCounted(row);
      // First, so that what it needs is not alive while keys are streamed.
      // Only where nobody cares what the marks are: a group's may be looked
      // at from beside it.
      onlyIf(allCount(), [&] {
        k.store(k.splat("done", 0.0, k.tileType({queryRows})), rows.marks, row);
      });
      streamKeys(tile, row, known);
    });
  });
}

/// The rows that tiles of the same number have in all residues follow each
/// other: one look at them is enough for the tiles of many residues.
void TileStream::emitRedoOfResidues(int64_t residues) {
  int64_t rowsOfTile = queryRows * residues;
  int64_t most = std::max<int64_t>(1, mostRowsOfPoint / rowsOfTile);
  Value tilesOfPoint = grid.shareTiles(most);
  Value residuesOfPoint = grid.shareResidues();
  all = k.addScalar("all_rows", plan.constant(0), &allArgument);
  declareGrid();
  const AttentionGrid::Point &point = grid.getPoint();
  Value first = k.create<arith::MulIOp>("first_tile", point.tile, tilesOfPoint);
  Value end = k.add("end_tile", first, tilesOfPoint);
  Value marks = rows.viewMarks(
      grid, getRows(Side::Query, point.segment, /*ofResidue=*/nullptr),
      view.getSizes().getW(), most * rowsOfTile);
  Value some = anyOfGroup(marks, [&] {
    auto bounds = rtile::BoundsOp::create(k.getBuilder(), plan.getLoc(), marks);
    return k.add("row", bounds.getBegin(),
                 k.mul("tile_row", first, rowsOfTile));
  });
  onlyIf(some, [&] {
    Value behind = k.add("behind", point.residue, residuesOfPoint);
    Value last =
        k.create<arith::MinUIOp>("end_residue", behind, k.constant(residues));
    forEach("residue", point.residue, last, [&](Value place) {
      placeResidue(place);
      redoTiles(first, end);
    });
  });
  launchRedo();
}

/// Launches the kernel for the rows that are marked. Where the marking kernel
/// cannot run, it runs in its place as well, for all rows: no row is marked
/// then.
void TileStream::launchRedo() {
  Value every = plan.constant(1);
  auto marking = cast<rplan::LaunchOp>(*ends.marks.buffer.user_begin());
  rplan::LaunchOp launch = k.launch();
  SmallVector<Value> args(launch.getArgs());
  args[allArgument] = every;
  marking->moveBefore(launch);
  marking.setFallbackLaunch(launch.getKernel(), launch.getGrid(), args);
}

void TileStream::onlyIf(Value condition, llvm::function_ref<void()> body) {
  OpBuilder &builder = k.getBuilder();
  auto branch = scf::IfOp::create(builder, plan.getLoc(), condition,
                                  /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
  builder.setInsertionPointAfter(branch);
}

void TileStream::forEachTile(
    Value first, Value end,
    llvm::function_ref<void(Value tile, Value row)> body) {
  forEach("tile", first, end,
          [&](Value tile) { body(tile, getFirstRow("row", queryView, tile)); });
}

void TileStream::forEach(StringRef name, Value first, Value end,
                         llvm::function_ref<void(Value number)> body) {
  auto loop =
      k.create<scf::ForOp>((name + "s").str(), first, end, k.constant(1));
  Value number = loop.getInductionVar();
  number.setLoc(k.named((name + "_number").str()));
  OpBuilder::InsertionGuard guard(k.getBuilder());
  k.getBuilder().setInsertionPointToStart(loop.getBody());
  body(number);
}

Value TileStream::mayBeUnfilled(Value marked, Value row) {
  auto bounds =
      rtile::BoundsOp::create(k.getBuilder(), plan.getLoc(), queryView);
  Value empty = k.create<arith::CmpIOp>("is_empty", arith::CmpIPredicate::sge,
                                        row, bounds.getEnd());
  return k.create<arith::OrIOp>("unfilled", marked, empty);
}

/// What marks are before somebody has set them does not matter: then all count.
/// (To look at them only if not all do takes registers.)
Value TileStream::anyMarked(Value view, Value row) {
  return k.create<arith::OrIOp>("some_count", someMarked(view, row),
                                allCount());
}

Value TileStream::getMarked(Value view, Value row) {
  Value tile = k.load("redo_tile", view, row);
  return k.create<arith::CmpFOp>(
      "marked", arith::CmpFPredicate::OGT, tile,
      k.splat("none", 0.0, cast<RankedTensorType>(tile.getType())));
}

Value TileStream::someMarked(Value view, Value row) {
  return k.create<rtile::AnyOp>("some_marked", getMarked(view, row));
}

Value TileStream::getCounted(Value row) {
  Value marked = getMarked(rows.marks, row);
  auto type = cast<RankedTensorType>(marked.getType());
  OpBuilder &builder = k.getBuilder();
  auto choice = k.create<scf::IfOp>("counted", TypeRange{type}, allCount(),
                                    /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(builder, plan.getLoc(), marked);
  builder.setInsertionPointToStart(choice.thenBlock());
  Value all =
      k.create<arith::ConstantOp>("all", DenseElementsAttr::get(type, true));
  scf::YieldOp::create(builder, plan.getLoc(), all);
  return choice.getResult(0);
}

/// Where all rows count, others may be unmarking theirs: no look at a group.
Value TileStream::anyOfGroup(Value marks, llvm::function_ref<Value()> getRow) {
  OpBuilder &builder = k.getBuilder();
  Value every = allCount();
  auto branch = scf::IfOp::create(builder, plan.getLoc(),
                                  TypeRange{builder.getI1Type()}, every,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, plan.getLoc(), every);
  builder.setInsertionPointToStart(branch.elseBlock());
  Value some = someMarked(marks, getRow());
  scf::YieldOp::create(builder, plan.getLoc(), some);
  return branch.getResult(0);
}

Value TileStream::allCount() {
  return k.create<arith::CmpIOp>("every", arith::CmpIPredicate::ne, all,
                                 k.constant(0));
}
