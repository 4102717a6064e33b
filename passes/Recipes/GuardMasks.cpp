//===- GuardMasks.cpp - Masks that are needed now and then -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where every query sees every key, only the last tile of keys needs a mask,
// and only if it has rows that do not exist. Whether it has is known when the
// kernel runs. So it is whether the first tile of a list is one of those at the
// beginning that need no mask.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/TileDialect.h"
#include "passes/Recipes/Passes.h"
#include "passes/TileOpt/LoopRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEGUARDMASKS
#include "passes/Recipes/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// True if `row` is a whole number of key tiles away from the beginning of
/// `run`.
bool isStepOf(rtile::RunOp run, Value row) {
  auto sum = row.getDefiningOp<arith::AddIOp>();
  if (!sum || sum.getLhs() != run.getBegin())
    return false;
  auto rows = sum.getRhs().getDefiningOp<arith::MulIOp>();
  APInt step;
  return rows && matchPattern(rows.getRhs(), m_ConstantInt(&step)) &&
         step.getSExtValue() == run.getKey().getType().getShape()[0];
}

/// The run that tells whether `mask` is needed, or null: one without limits,
/// which leaves masks to tiles at the end of the keys.
rtile::RunOp findRun(rtile::VisibleOp mask) {
  for (auto run : mask->getBlock()->getOps<rtile::RunOp>())
    if (run.getQuery() == mask.getQuery() &&
        run.getRow() == mask.getQueryRow() && run.getKey() == mask.getKey() &&
        !run.getCausal() && !run.getWindow() && !mask.getCausal() &&
        !mask.getWindow() && isStepOf(run, mask.getKeyRow()))
      return run;
  return nullptr;
}

/// Whether all rows of the tile of `mask` exist, as a condition before it.
Value isWholeStep(OpBuilder &builder, rtile::VisibleOp mask, rtile::RunOp run) {
  Location loc = mask.getLoc();
  Value row = mask.getKeyRow();
  Value begun = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                      row, run.getBegin());
  Value before = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       row, run.getWholeEnd());
  return arith::AndIOp::create(builder, loc, begun, before);
}

/// The same for the step in front of a loop without masks: it is one of that
/// loop's if it comes before the loop's end. Null for other masks.
Value isStepOfLoop(OpBuilder &builder, rtile::VisibleOp mask) {
  if (!mask->hasAttr(kPeeledAttr))
    return nullptr;
  mask->removeAttr(kPeeledAttr);
  for (Operation *op = mask->getNextNode(); op; op = op->getNextNode())
    if (auto loop = dyn_cast<scf::ForOp>(op))
      // The loop begins one step later.
      return DominanceInfo().properlyDominates(loop.getUpperBound(), mask)
                 ? arith::CmpIOp::create(
                       builder, mask.getLoc(), arith::CmpIPredicate::sle,
                       loop.getLowerBound(), loop.getUpperBound())
                       .getResult()
                 : Value();
  return nullptr;
}

/// Masks only where `isWhole` does not hold.
void guard(rtile::VisibleOp mask, arith::SelectOp select, Value isWhole) {
  OpBuilder builder(select);
  Location loc = mask.getLoc();
  auto choice = scf::IfOp::create(
      builder, select.getLoc(), TypeRange(select.getResult().getType()),
      isWhole, /*addThenBlock=*/true, /*addElseBlock=*/true);
  select.getResult().replaceAllUsesWith(choice.getResult(0));
  builder.setInsertionPointToEnd(choice.thenBlock());
  scf::YieldOp::create(builder, loc, select.getTrueValue());
  builder.setInsertionPointToEnd(choice.elseBlock());
  auto yield = scf::YieldOp::create(builder, loc, select.getResult());
  mask->moveBefore(yield);
  select->moveBefore(yield);
}

struct GuardMasks : ringlet::impl::RTileGuardMasksBase<GuardMasks> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      if (func.getScheduled())
        return;
      SmallVector<rtile::VisibleOp> masks;
      func.walk([&](rtile::VisibleOp mask) { masks.push_back(mask); });
      for (rtile::VisibleOp mask : masks) {
        rtile::RunOp run = findRun(mask);
        bool isPeeled = mask->hasAttr(kPeeledAttr);
        if ((!run && !isPeeled) || !mask.getResult().hasOneUse())
          continue;
        auto select = dyn_cast<arith::SelectOp>(*mask.getResult().user_begin());
        if (!select || select.getCondition() != mask.getResult() ||
            select->getBlock() != mask->getBlock())
          continue;
        OpBuilder builder(select);
        Value isWhole = isPeeled ? isStepOfLoop(builder, mask)
                                 : isWholeStep(builder, mask, run);
        if (!isWhole)
          continue;
        guard(mask, select, isWhole);
        remark::passed(mask.getLoc(), remark::RemarkOpts::name("GuardMasks")
                                          .category("rtile-guard-masks")
                                          .function(func.getSymName()))
            << (func.getSymName() + ": the mask of the " +
                (isPeeled ? "first" : "last") +
                " key tile is skipped if all of its rows exist")
                   .str();
      }
    });
  }
};

} // namespace
