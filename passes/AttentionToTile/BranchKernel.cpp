//===- BranchKernel.cpp - The kernels of one branch -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel of a branch computes one tile of query rows of one segment and
// residue at each point.
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/TileStream.h"

#include <limits>

using namespace mlir;
using namespace ringlet;

namespace {

class BranchEmitter : public TileStream {
public:
  BranchEmitter(HostPlan &plan, const Twine &name, Attention &attention,
                const BranchKernel &kernel, attn::TilingAttr tiling)
      : TileStream(plan, name, attention, kernel.ends, kernel.branch,
                   attention.sizes[kernel.branch], tiling),
        kernel(kernel) {
    if (tiling.getRecipe())
      k.setRecipe(tiling.getRecipe());
    attn::BranchAttr branch = attention.getBranch(kernel.branch);
    grid.count(branch.getHeadBegin(),
               branch.getHeadEnd(attention.op.getQueryHeads()));
  }

  /// Says as a remark where rows lie.
  void report() {
    reportRows(attention.op, kernel.branch, view.getOrder(Side::Query),
               view.getOrder(Side::Key));
  }

private:
  void place(int64_t groupRows) override;
  void streamKeys(Value tile, Value row, const TileRows &of) override;
  bool fillsOthers() const override { return kernel.fillsOthers; }
  void fillOthers(Value tile) override;

  const BranchKernel &kernel;
  KeyViews keyViews;
};

} // namespace

void BranchEmitter::place(int64_t groupRows) {
  declareGrid();
  const AttentionGrid::Point &point = grid.getPoint();
  residue = view.getResidue(plan, kernel.branch, point.head, point.keyHead);
  KernelBuilder::Rows ofKeys = getRows(Side::Key, point.segment, residue);
  viewQueries();
  keyViews = viewKeys(ofKeys);
  viewResults(groupRows);
}

void BranchEmitter::streamKeys(Value tile, Value row, const TileRows &of) {
  KeyTiles::Place place{
      queryView, row, keyViews.key, tile, grid.getPoint().gridSegment, residue};
  store(visitKeys(place, keyViews.value), row, of);
}

void BranchEmitter::fillOthers(Value tile) {
  bool hasLse = bool(rows.result->lse);
  auto type = cast<rtile::ViewType>(rows.result->output.getType());
  Value zero =
      k.splat("no_output", 0.0,
              RankedTensorType::get(type.getShape(), type.getElementType()));
  Value least =
      hasLse ? k.splat("no_key", -std::numeric_limits<double>::infinity(),
                       k.tileType({queryRows}))
             : Value();
  Value rate = view.getR(), one = k.constant(1);
  auto loop = k.create<scf::ForOp>("others", one, rate, one);
  loop.getInductionVar().setLoc(k.named("distance"));
  OpBuilder::InsertionGuard guard(k.getBuilder());
  k.getBuilder().setInsertionPointToStart(loop.getBody());
  KernelBuilder::Rows others = queries;
  others.residue = k.create<arith::RemUIOp>(
      "other_residue",
      k.add("next_residue", queries.residue, loop.getInductionVar()), rate);
  Value output = rows.viewOutput("other_o", others);
  Value row = getFirstRow("other_row", output, tile);
  k.store(zero, output, row);
  if (!hasLse)
    return;
  if (rows.result->sinks && !attention.isSum())
    least = k.load("other_sink", rows.viewSinks("other_sinks", others), row);
  k.store(least, rows.viewLse("other_lse", others), row);
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name,
                         Attention &attention, const BranchKernel &kernel) {
  BranchEmitter emitter(plan, name, attention, kernel, kernel.tiling);
  emitter.report();
  emitter.emitOnce();
}

void ringlet::emitRedo(HostPlan &plan, const Twine &name, Attention &attention,
                       const BranchKernel &marking) {
  BranchEmitter(plan, name, attention, marking, marking.tiling.getRedo())
      .emitRedo();
}
