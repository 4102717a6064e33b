//===- BranchKernel.cpp - The kernels of one branch -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernel of a branch computes one tile of query rows of one segment and
// residue at each point. One with a recipe marks rows that it could not
// compute; a second kernel looks at the marks of a group of tiles at each point
// and computes tiles with marked rows.
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/TileKernel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace ringlet;

namespace {

/// Rows whose marks one point looks at, at most.
constexpr int64_t mostRowsOfPoint = 1024;

/// What both kernels of a branch are made of.
class BranchEmitter : protected TileKernel {
protected:
  BranchEmitter(HostPlan &plan, const Twine &name, Attention &attention,
                const BranchKernel &kernel, attn::TilingAttr tiling)
      : TileKernel(plan, name, attention, kernel.ends, kernel.branch,
                   attention.sizes[kernel.branch], tiling),
        kernel(kernel) {
    attn::BranchAttr branch = attention.getBranch(kernel.branch);
    grid.count(branch.getHeadBegin(), branch.hasAllHeads()
                                          ? attention.op.getQueryHeads()
                                          : branch.getHeadEnd());
  }

  /// The rest of the parameters, axes and views.
  void place(int64_t groupRows);
  /// Computes a tile of queries that begins at `row`.
  void streamKeys(Value tile, Value row, Value marks);
  /// Fills the rows of the other residues beside a tile.
  void fillOthers(Value tile);

  const BranchKernel &kernel;
  KeyViews keyViews;
};

void BranchEmitter::place(int64_t groupRows) {
  declareGrid();
  const AttentionGrid::Point &point = grid.getPoint();
  residue = view.getResidue(plan, kernel.branch, point.head, point.keyHead);
  KernelBuilder::Rows ofKeys = getRows(Side::Key, point.segment, residue);
  viewQueries();
  keyViews = viewKeys(ofKeys);
  viewResults(groupRows);
}

void BranchEmitter::streamKeys(Value tile, Value row, Value marks) {
  KeyTiles::Place place{
      queryView, row, keyViews.key, tile, grid.getPoint().gridSegment, residue};
  Value queryTile = k.load("q_tile", queryView, row);
  SoftmaxBody::State state = body.begin(rows.before, row);
  state = body.visit(keys, place, keyViews.value, queryTile, state);
  store(state, row, marks);
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

//===----------------------------------------------------------------------===//
// Once
//===----------------------------------------------------------------------===//

class StreamEmitter : BranchEmitter {
public:
  StreamEmitter(HostPlan &plan, const Twine &name, Attention &attention,
                const BranchKernel &kernel)
      : BranchEmitter(plan, name, attention, kernel, kernel.tiling) {
    if (kernel.tiling.getRecipe())
      k.setRecipe(kernel.tiling.getRecipe());
    reportRows(attention.op, kernel.branch, view.getOrder(Side::Query),
               view.getOrder(Side::Key));
  }

  void emit() {
    place(/*groupRows=*/0);
    Value tile = grid.getPoint().tile;
    streamKeys(tile, getFirstRow("row", queryView, tile), rows.marks);
    // Last: neither scores nor sums are alive, and keys of the next point come
    // meanwhile.
    if (kernel.fillsOthers)
      fillOthers(tile);
    k.launch();
  }
};

//===----------------------------------------------------------------------===//
// Once more
//===----------------------------------------------------------------------===//

class RedoEmitter : BranchEmitter {
public:
  RedoEmitter(HostPlan &plan, const Twine &name, Attention &attention,
              const BranchKernel &marking)
      : BranchEmitter(plan, name, attention, marking,
                      marking.tiling.getRedo()) {}

  void emit();

private:
  void launch();
  void onlyIf(Value condition, llvm::function_ref<void()> body);
  /// Calls `body` with the number and first row of each tile of a group.
  void forEachTile(Value first, Value end,
                   llvm::function_ref<void(Value tile, Value row)> body);
  Value anyMarked(Value view, Value row);
  /// As `marked`, or whether the tile lies behind the rows of the view.
  Value mayBeUnfilled(Value marked, Value row);

  /// Whether all rows count as marked, whatever the marks say: then the kernel
  /// does what the marking one does, and leaves no row marked.
  Value allCount();
  Value someMarked(Value view, Value row);
  Value anyOfGroup(Value first);
  Value all;
  unsigned allArgument = 0;
};

void RedoEmitter::emit() {
  int64_t most = std::max<int64_t>(1, mostRowsOfPoint / queryRows);
  Value tilesOfPoint = grid.shareTiles(most);
  all = k.addScalar("all_rows", plan.constant(0), &allArgument);
  place(most * queryRows);
  Value first =
      k.create<arith::MulIOp>("first_tile", grid.getPoint().tile, tilesOfPoint);
  Value end = k.add("end_tile", first, tilesOfPoint);
  Value some = anyOfGroup(first);
  if (kernel.fillsOthers) {
    Value last = k.add("last_tile", end, k.constant(-1));
    some = mayBeUnfilled(some, getFirstRow("row", queryView, last));
  }
  onlyIf(some, [&] {
    // In a loop of its own, so that what it needs is not alive while keys are
    // streamed.
    if (kernel.fillsOthers)
      forEachTile(first, end, [&](Value tile, Value row) {
        onlyIf(mayBeUnfilled(anyMarked(rows.marks, row), row),
               [&] { fillOthers(tile); });
      });
    forEachTile(first, end, [&](Value tile, Value row) {
      onlyIf(anyMarked(rows.marks, row), [&] {
        // First, so that what it needs is not alive while keys are streamed.
        // Only where nobody cares what the marks are: a group's may be looked
        // at from beside it.
        onlyIf(allCount(), [&] {
          k.store(k.splat("done", 0.0, k.tileType({queryRows})), rows.marks,
                  row);
        });
        streamKeys(tile, row, /*marks=*/nullptr);
      });
    });
  });
  launch();
}

/// Launches the kernel for the rows that are marked. Where the marking kernel
/// cannot run, it runs in its place as well, for all rows: no row is marked
/// then.
void RedoEmitter::launch() {
  Value every = plan.constant(1);
  auto marking = cast<rplan::LaunchOp>(*kernel.ends.marks.buffer.user_begin());
  rplan::LaunchOp launch = k.launch();
  SmallVector<Value> args(launch.getArgs());
  args[allArgument] = every;
  marking->moveBefore(launch);
  marking.setFallbackLaunch(launch.getKernel(), launch.getGrid(), args);
}

void RedoEmitter::onlyIf(Value condition, llvm::function_ref<void()> body) {
  OpBuilder &builder = k.getBuilder();
  auto branch = scf::IfOp::create(builder, plan.getLoc(), condition,
                                  /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
  builder.setInsertionPointAfter(branch);
}

void RedoEmitter::forEachTile(
    Value first, Value end,
    llvm::function_ref<void(Value tile, Value row)> body) {
  auto loop = k.create<scf::ForOp>("tiles", first, end, k.constant(1));
  Value tile = loop.getInductionVar();
  tile.setLoc(k.named("tile_number"));
  OpBuilder::InsertionGuard guard(k.getBuilder());
  k.getBuilder().setInsertionPointToStart(loop.getBody());
  body(tile, getFirstRow("row", queryView, tile));
}

Value RedoEmitter::mayBeUnfilled(Value marked, Value row) {
  auto bounds =
      rtile::BoundsOp::create(k.getBuilder(), plan.getLoc(), queryView);
  Value empty = k.create<arith::CmpIOp>("is_empty", arith::CmpIPredicate::sge,
                                        row, bounds.getEnd());
  return k.create<arith::OrIOp>("unfilled", marked, empty);
}

/// What marks are before somebody has set them does not matter: then all count.
/// (To look at them only if not all do takes registers.)
Value RedoEmitter::anyMarked(Value view, Value row) {
  return k.create<arith::OrIOp>("some_count", someMarked(view, row),
                                allCount());
}

Value RedoEmitter::someMarked(Value view, Value row) {
  Value tile = k.load("redo_tile", view, row);
  Value marked = k.create<arith::CmpFOp>(
      "marked", arith::CmpFPredicate::OGT, tile,
      k.splat("none", 0.0, cast<RankedTensorType>(tile.getType())));
  return k.create<rtile::AnyOp>("some_marked", marked);
}

/// Where all rows count, others may be unmarking theirs: no look at a group.
Value RedoEmitter::anyOfGroup(Value first) {
  OpBuilder &builder = k.getBuilder();
  Value every = allCount();
  auto branch = scf::IfOp::create(builder, plan.getLoc(),
                                  TypeRange{builder.getI1Type()}, every,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, plan.getLoc(), every);
  builder.setInsertionPointToStart(branch.elseBlock());
  Value some =
      someMarked(rows.groupMarks, getFirstRow("row", queryView, first));
  scf::YieldOp::create(builder, plan.getLoc(), some);
  return branch.getResult(0);
}

Value RedoEmitter::allCount() {
  return k.create<arith::CmpIOp>("every", arith::CmpIPredicate::ne, all,
                                 k.constant(0));
}

} // namespace

void ringlet::emitKernel(HostPlan &plan, const Twine &name,
                         Attention &attention, const BranchKernel &kernel) {
  StreamEmitter(plan, name, attention, kernel).emit();
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name,
                         Attention &attention, const RedoKernel &kernel) {
  RedoEmitter(plan, name, attention, kernel.marking).emit();
}
