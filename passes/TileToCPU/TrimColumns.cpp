//===- TrimColumns.cpp - Leave out columns that nobody sees -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a masked step of a streaming softmax, a key that no row of a panel sees
// has score -inf there: it is not the maximum, and its weight 0 adds nothing,
// neither to the sum nor to the accumulator. That holds for a row without a
// number as its maximum, too: its state decays by NaN with or without the key.
//
//===----------------------------------------------------------------------===//

#include "passes/Recipes/SoftmaxLoops.h"
#include "passes/TileToCPU/Decisions.h"
#include "passes/TileToCPU/Passes.h"

#include "mlir/IR/Remarks.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILETRIMCOLUMNS
#include "passes/TileToCPU/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::cpu;

namespace {

using Members = llvm::SmallSetVector<Operation *, 16>;

/// What a step computes of each column of its scores.
Members getColumnWork(SoftmaxStep &step) {
  Members work;
  SmallVector<Value> rest{step.accumulator.getLhs()};
  while (!rest.empty()) {
    Operation *op = rest.pop_back_val().getDefiningOp();
    if (!step.operations.contains(op) || isRepeated(op) || !work.insert(op) ||
        op == step.product)
      continue;
    llvm::append_range(rest, op->getOperands());
  }
  work.insert(step.tileMaximum);
  work.insert(step.tileSum);
  return work;
}

/// True if `work` and the product with the values run panel by panel, one
/// behind the other, and nothing else is in the phases of `work`.
bool isTrimmable(SoftmaxStep &step, const Members &work) {
  int64_t group = getGroup(step.accumulator);
  if (group < 0)
    return false;
  llvm::SmallDenseSet<int64_t> phases;
  for (Operation *op : work) {
    if (getGroup(op) != group)
      return false;
    phases.insert(getPhase(op));
  }
  return llvm::all_of(*step.accumulator->getBlock(), [&](Operation &op) {
    return getGroup(&op) != group || !phases.contains(getPhase(&op)) ||
           work.contains(&op);
  });
}

struct TrimColumns : ringlet::impl::RTileTrimColumnsBase<TrimColumns> {
  void runOnOperation() override {
    getOperation()->walk(
        [](Operation *op) { op->removeDiscardableAttr(trimmedAttr); });
    getOperation()->walk([&](scf::ForOp loop) {
      if (loop.getNumRegionIterArgs() == kStateSize)
        trim(loop);
    });
  }

  void trim(scf::ForOp loop) {
    Operation *yield = loop.getBody()->getTerminator();
    auto step = matchSoftmaxStep(loop.getRegionIterArgs(), yield->getOperands(),
                                 yield, nullptr);
    if (!step || !step->seen)
      return;
    // With positions, the columns that a row sees need not stand together.
    auto keys = step->seen.getKey().getDefiningOp<rtile::ViewOp>();
    int64_t width = getWidth(step->product);
    bool byAMX =
        step->product->hasAttr(amxAttr) || step->accumulator->hasAttr(amxAttr);
    int64_t multiple = byAMX ? 2 * amxSide : turnOfPairs;
    Geometry geometry =
        Geometry::of(step->product->getParentOfType<rtile::FuncOp>());
    multiple =
        std::max(multiple, geometry.columnsOfVector(getHeight(step->product)));
    if (!keys || keys.getPositions() || width % multiple != 0)
      return;
    Members work = getColumnWork(*step);
    if (!isTrimmable(*step, work))
      return;
    Builder builder(&getContext());
    for (Operation *op : work)
      op->setAttr(trimmedAttr, builder.getI64IntegerAttr(multiple));
    std::string text = llvm::formatv("masked steps of {0} keys leave out those "
                                     "that no row of a panel sees",
                                     width)
                           .str();
    remark::passed(
        loop.getLoc(),
        remark::RemarkOpts::name("TrimColumns").category("rtile-trim-columns"))
        << text;
  }
};

} // namespace
