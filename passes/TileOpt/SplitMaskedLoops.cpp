//===- SplitMaskedLoops.cpp - Split off steps that need no mask -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/TileDialect.h"
#include "passes/TileOpt/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
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

/// A loop over key tiles, and the steps in which all rows see all keys.
struct KeyLoop {
  scf::ForOp loop;
  /// Null if no masked steps come before.
  Value wholeBegin;
  Value wholeEnd;
  /// The masks that have nothing to hide in those steps.
  SmallVector<rtile::VisibleOp> masks;
};

/// The masks in `loop` of the key tile of the step, under the conditions of
/// `source`, a run or a list.
template <typename OpTy>
SmallVector<rtile::VisibleOp>
getMasks(scf::ForOp loop, OpTy source,
         llvm::function_ref<bool(Value)> isRowOfStep) {
  DenseI64ArrayAttr grid, reach;
  if constexpr (std::is_same_v<OpTy, rtile::ListOp>) {
    grid = source.getGridAttr();
    reach = source.getReachAttr();
  }
  SmallVector<rtile::VisibleOp> masks;
  loop.getBody()->walk([&](rtile::VisibleOp mask) {
    if (mask.getQuery() == source.getQuery() &&
        mask.getQueryRow() == source.getRow() &&
        mask.getKey() == source.getKey() && isRowOfStep(mask.getKeyRow()) &&
        mask.getCausal() == source.getCausal() &&
        mask.getWindowAttr() == source.getWindowAttr() &&
        mask.getGridAttr() == grid && mask.getReachAttr() == reach &&
        !mask.getBlocks())
      masks.push_back(mask);
  });
  return masks;
}

bool hasStep(scf::ForOp loop, int64_t rows) {
  APInt step;
  return matchPattern(loop.getStep(), m_ConstantInt(&step)) &&
         step.getSExtValue() == rows;
}

KeyLoop matchRun(scf::ForOp loop, rtile::RunOp run) {
  // Parts by their number of all are for few queries: masks cost little beside
  // what is read, and every loop of a kernel is code. Only recipes want whole
  // steps.
  if (!run.getPart().empty() &&
      !run->getParentOfType<rtile::FuncOp>().getRecipe())
    return {};
  // Between views with positions no step is whole.
  auto keys = run.getKey().getDefiningOp<rtile::ViewOp>();
  if (loop.getLowerBound() != run.getBegin() ||
      loop.getUpperBound() != run.getEnd() || (keys && keys.getPositions()) ||
      !hasStep(loop, run.getKey().getType().getShape()[0]))
    return {};
  // Only a left window hides keys from some rows that come before those that
  // every row sees.
  bool leftWindow = run.getWindow() && (*run.getWindow())[0] >= 0;
  return {loop, leftWindow ? run.getWholeBegin() : Value(), run.getWholeEnd(),
          getMasks(loop, run,
                   [&](Value row) { return row == loop.getInductionVar(); })};
}

KeyLoop matchList(scf::ForOp loop, rtile::ListOp list) {
  // The index knows nothing of the end of a sequence that the kernel reads.
  auto keys = list.getKey().getDefiningOp<rtile::ViewOp>();
  if ((keys && keys.getEnd()) || loop.getLowerBound() != list.getBegin() ||
      loop.getUpperBound() != list.getEnd() || !hasStep(loop, 1))
    return {};
  auto isEntry = [&](Value row) {
    auto cast = row.getDefiningOp<arith::IndexCastOp>();
    auto entry =
        cast ? cast.getIn().getDefiningOp<memref::LoadOp>() : memref::LoadOp();
    return entry && entry.getMemRef() == list.getIndex() &&
           entry.getIndices().front() == loop.getInductionVar();
  };
  return {loop, Value(), list.getWholeEnd(), getMasks(loop, list, isEntry)};
}

KeyLoop matchLoop(scf::ForOp loop) {
  Operation *source = loop.getLowerBound().getDefiningOp();
  if (auto run = dyn_cast_if_present<rtile::RunOp>(source))
    return matchRun(loop, run);
  if (auto list = dyn_cast_if_present<rtile::ListOp>(source))
    return matchList(loop, list);
  return {};
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
    SmallVector<KeyLoop> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (KeyLoop keys = matchLoop(loop); !keys.masks.empty())
        loops.push_back(keys);
    });
    for (const KeyLoop &keys : loops)
      split(keys);
  }

  void split(const KeyLoop &keys) {
    scf::ForOp loop = keys.loop;
    OpBuilder builder(loop);
    ValueRange state = loop.getInitArgs();
    Value wholeBegin = loop.getLowerBound();
    if (keys.wholeBegin) {
      wholeBegin = keys.wholeBegin;
      state = cloneLoop(builder, loop, loop.getLowerBound(), wholeBegin, state)
                  .getResults();
    }
    scf::ForOp after =
        cloneLoop(builder, loop, keys.wholeEnd, loop.getUpperBound(), state);
    // The loop itself goes on as that over whole steps.
    for (rtile::VisibleOp mask : keys.masks)
      dropMask(mask);
    builder.setInsertionPoint(after);
    scf::ForOp whole =
        cloneLoop(builder, loop, wholeBegin, keys.wholeEnd, state);
    after.getInitArgsMutable().assign(whole.getResults());
    loop.replaceAllUsesWith(after.getResults());
    loop.erase();
    remark::passed(whole.getLoc(), remark::RemarkOpts::name("SplitMaskedLoop")
                                       .category("rtile-split-masked-loops"))
        << (keys.wholeBegin ? "steps that every row sees run without a mask, "
                              "between masked steps before and after"
                            : "steps that every row sees run without a mask, "
                              "before the masked steps");
  }
};

} // namespace
