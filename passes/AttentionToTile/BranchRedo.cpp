//===- BranchRedo.cpp - Rows that are computed again -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A kernel with a recipe marks rows that it could not compute. A second, plain
// one looks at the marks and computes those rows; and it fills the rows that a
// dilated branch does not reach where the first one could not run.
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/BranchKernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace ringlet;

/// Looks at the marks of several tiles at once, because there are hardly ever
/// any, and then at those of each.
void BranchKernel::redoTiles() {
  Value first = k.create<arith::MulIOp>("first_tile", tile, tilesOfPoint);
  Value last = k.add("end_tile", first, tilesOfPoint);
  tile = first;
  row = firstRow("row", views.query);
  Value some = anyMarked(redoGroupView);
  if (step.fillsOthers) {
    tile = k.add("last_tile", last, k.constant(-1));
    row = firstRow("row", views.query);
    some = mayBeUnfilled(some);
  }
  onlyIf(some, [&] {
    // In a loop of its own, so that what it needs is not alive while keys are
    // streamed.
    if (step.fillsOthers)
      forEachTile(first, last, [&](Value marked) {
        onlyIf(mayBeUnfilled(marked), [&] { fillOthers(); });
      });
    forEachTile(first, last,
                [&](Value marked) { onlyIf(marked, [&] { streamKeys(); }); });
  });
}

/// For each tile from `first` on, with whether one of its rows is marked.
void BranchKernel::forEachTile(Value first, Value last,
                               llvm::function_ref<void(Value)> body) {
  auto loop = k.create<scf::ForOp>("tiles", first, last, k.constant(1));
  loop.getInductionVar().setLoc(k.named("tile_number"));
  OpBuilder::InsertionGuard guard(k.getBuilder());
  k.getBuilder().setInsertionPointToStart(loop.getBody());
  tile = loop.getInductionVar();
  row = firstRow("row", views.query);
  body(anyMarked(views.redo));
}

/// Rows that the branch does not reach, of all residues but its own: output 0,
/// lse -inf, or the sink under one softmax (R3).
void BranchKernel::fillOthers() {
  if (!step.fillsOthers)
    return;
  auto type = cast<rtile::ViewType>(views.target.getType());
  Value zero =
      k.splat("no_output", 0.0,
              RankedTensorType::get(type.getShape(), type.getElementType()));
  Value least =
      lse ? k.splat("no_key", -std::numeric_limits<double>::infinity(),
                    k.tileType({queryRows}))
          : Value();
  Value rate = getR(), one = k.constant(1);
  auto loop = k.create<scf::ForOp>("others", one, rate, one);
  loop.getInductionVar().setLoc(k.named("distance"));
  OpBuilder::InsertionGuard guard(k.getBuilder());
  k.getBuilder().setInsertionPointToStart(loop.getBody());
  KernelBuilder::Rows rows = queries;
  rows.residue = k.create<arith::RemUIOp>(
      "other_residue",
      k.add("next_residue", queries.residue, loop.getInductionVar()), rate);
  Value other = k.view("other_o", target, getAxes(head), type, rows);
  Value row = firstRow("other_row", other);
  k.store(zero, other, row);
  if (!lse)
    return;
  if (sinks && op.getMix() == attn::Mix::Softmax)
    least = k.load("other_sink",
                   k.view("other_sinks", sinks, {head, nullptr},
                          cast<rtile::ViewType>(views.sinks.getType()), rows),
                   row);
  k.store(least,
          k.view("other_lse", lse, getLseAxes(),
                 cast<rtile::ViewType>(views.lse.getType()), rows),
          row);
}

/// True if no kernel may have filled the other residues: where all rows are
/// marked the first one did not run, and a tile without rows shows no marks.
Value BranchKernel::mayBeUnfilled(Value marked) {
  auto bounds =
      rtile::BoundsOp::create(k.getBuilder(), plan.getLoc(), views.query);
  Value empty = k.create<arith::CmpIOp>("is_empty", arith::CmpIPredicate::sge,
                                        row, bounds.getEnd());
  return k.create<arith::OrIOp>("unfilled", marked, empty);
}

/// True if one of the rows from `row` on, as many as a tile of `view` has,
/// waits to be computed again.
Value BranchKernel::anyMarked(Value view) {
  Value tile = k.load("redo_tile", view, row);
  Value marked = k.create<arith::CmpFOp>(
      "marked", arith::CmpFPredicate::OGT, tile,
      k.splat("none", 0.0, cast<RankedTensorType>(tile.getType())));
  return k.create<rtile::AnyOp>("some_marked", marked);
}
