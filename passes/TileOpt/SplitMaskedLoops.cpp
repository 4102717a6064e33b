//===- SplitMaskedLoops.cpp - Split off steps that need no mask -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/TileDialect.h"
#include "passes/TileOpt/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILESPLITMASKEDLOOPS
#include "passes/TileOpt/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// The run whose keys `loop` walks in steps of the key tile, or null.
rtile::RunOp getRun(scf::ForOp loop) {
  auto run = loop.getLowerBound().getDefiningOp<rtile::RunOp>();
  if (!run || loop.getLowerBound() != run.getBegin() ||
      loop.getUpperBound() != run.getEnd())
    return nullptr;
  APInt step;
  if (!matchPattern(loop.getStep(), m_ConstantInt(&step)) ||
      step.getSExtValue() != run.getKey().getType().getShape()[0])
    return nullptr;
  return run;
}

/// The masks in `loop` that ask what `run` answers for whole steps.
SmallVector<rtile::VisibleOp> getMasks(scf::ForOp loop, rtile::RunOp run) {
  SmallVector<rtile::VisibleOp> masks;
  for (auto mask : loop.getBody()->getOps<rtile::VisibleOp>())
    if (mask.getQuery() == run.getQuery() &&
        mask.getQueryRow() == run.getRow() && mask.getKey() == run.getKey() &&
        mask.getKeyRow() == loop.getInductionVar() &&
        mask.getCausal() == run.getCausal() &&
        mask.getWindowAttr() == run.getWindowAttr())
      masks.push_back(mask);
  return masks;
}

/// Appends a copy of `loop` that runs from `begin` to `end` and starts from
/// `inits`.
scf::ForOp cloneLoop(OpBuilder &builder, scf::ForOp loop, Value begin,
                     Value end, ValueRange inits) {
  auto copy = cast<scf::ForOp>(builder.clone(*loop));
  copy.setLowerBound(begin);
  copy.setUpperBound(end);
  copy.getInitArgsMutable().assign(inits);
  return copy;
}

/// `select(mask, a, b)` is a where every element of the mask is set.
void dropMask(rtile::VisibleOp mask) {
  OpBuilder builder(mask);
  auto type = cast<ShapedType>(mask.getResult().getType());
  Value all = arith::ConstantOp::create(
      builder, mask.getLoc(),
      DenseElementsAttr::get(type, builder.getBoolAttr(true)));
  for (Operation *user : llvm::make_early_inc_range(mask->getUsers()))
    if (auto select = dyn_cast<arith::SelectOp>(user);
        select && select.getCondition() == mask.getResult()) {
      select.getResult().replaceAllUsesWith(select.getTrueValue());
      select.erase();
    }
  mask.getResult().replaceAllUsesWith(all);
  mask.erase();
  if (all.use_empty())
    all.getDefiningOp()->erase();
}

struct SplitMaskedLoops
    : ringlet::impl::RTileSplitMaskedLoopsBase<SplitMaskedLoops> {
  void runOnOperation() override {
    SmallVector<std::pair<scf::ForOp, rtile::RunOp>> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (rtile::RunOp run = getRun(loop); run && !getMasks(loop, run).empty())
        loops.emplace_back(loop, run);
    });
    for (auto [loop, run] : loops)
      split(loop, run);
  }

  void split(scf::ForOp loop, rtile::RunOp run) {
    OpBuilder builder(loop);
    ValueRange state = loop.getInitArgs();
    // Only a left window hides keys from some rows that come before those
    // that every row sees.
    bool leftWindow = run.getWindow() && (*run.getWindow())[0] >= 0;
    Value wholeBegin = run.getBegin();
    if (leftWindow) {
      wholeBegin = run.getWholeBegin();
      state = cloneLoop(builder, loop, run.getBegin(), wholeBegin, state)
                  .getResults();
    }
    scf::ForOp whole =
        cloneLoop(builder, loop, wholeBegin, run.getWholeEnd(), state);
    scf::ForOp after = cloneLoop(builder, loop, run.getWholeEnd(), run.getEnd(),
                                 whole.getResults());
    loop.replaceAllUsesWith(after.getResults());
    loop.erase();
    for (rtile::VisibleOp mask : getMasks(whole, run))
      dropMask(mask);
    remark::passed(whole.getLoc(), remark::RemarkOpts::name("SplitMaskedLoop")
                                       .category("rtile-split-masked-loops"))
        << (leftWindow ? "steps that every row sees run without a mask, "
                         "between masked steps before and after"
                       : "steps that every row sees run without a mask, "
                         "before the masked steps");
  }
};

} // namespace
