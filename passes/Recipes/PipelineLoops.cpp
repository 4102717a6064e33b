//===- PipelineLoops.cpp - Prologue, steady loop, epilogue -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of a step are early (stage 0) or late (a higher stage). The steady
// loop does what is early in a step and what is late in the step before, so it
// carries what goes from the one to the other: the crossing values. What is
// late in the last step stands behind the loop, what is early in the first one
// in front of it.
//
// A row of loops is one pipeline if late operations are the same in all of
// them: then what one loop leaves is what the next one begins with. If the step
// in front was peeled off before, a row needs no condition: any of its loops
// may have no step at all. Otherwise each loop is a pipeline of its own, under
// the condition that it has a step.
//
// More than two stages are this, several times over: what is left of late
// stages after one expansion is one stage lower.
//
// Upstream's scf::pipelineForLoop expands one loop, and if its number of steps
// is not known it wants a predicate for each operation of prologue and epilogue
// and selects between tiles behind them. Rows and conditions around the whole
// need neither.
//
//===----------------------------------------------------------------------===//

#include "passes/Recipes/Passes.h"
#include "passes/Recipes/PipelineRow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEPIPELINELOOPS
#include "passes/Recipes/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// Expands one row.
class Expander {
public:
  explicit Expander(const PipelineRow &row)
      : row(row), rewriter(row.getFirstLoop().getLoop().getContext()) {
    pairSlots();
  }
  void run();

private:
  void pairSlots();
  SmallVector<Value> beginAtFront();
  SmallVector<Value> beginAtLoop(scf::ForOp loop, ValueRange inits);
  scf::ForOp createLoop(const Step &step, Value begin, ValueRange carried);
  void emitStep(const Step &step, ValueRange carried, IRMapping &early);
  SmallVector<Value> finish(ValueRange carried);
  Operation *emitLate(const Step &step, int64_t number, ValueRange carried,
                      IRMapping &late);
  SmallVector<Value> getNext(const Step &step, const IRMapping &early);
  Value createZero(Type type) {
    return createSplat(rewriter, "zero", 0.0, cast<RankedTensorType>(type));
  }

  const PipelineRow &row;
  IRRewriter rewriter;
  /// What the steady loop carries: carried values of the old loop that are not
  /// late, and crossing values.
  struct Carried {
    /// -1 for a crossing value.
    int64_t slot = -1;
    int64_t crossing = -1;
  };
  SmallVector<Carried> layout;
};

/// A late carried value is known only behind its late operation. In its place
/// stands what that operation adds to, if it is a product.
void Expander::pairSlots() {
  DenseSet<int64_t> placed;
  for (size_t slot = 0; slot < row.lateSlots.size(); ++slot) {
    int64_t maker = row.lateSlots[slot].first;
    if (maker < 0) {
      layout.push_back({static_cast<int64_t>(slot), -1});
      continue;
    }
    for (auto [i, crossing] : llvm::enumerate(row.crossings)) {
      bool isInit = llvm::any_of(crossing.uses, [&](auto use) {
        return use.first == maker && use.second == 2 &&
               isa<rtile::DotOp>(row.getFirstLoop().late[use.first]);
      });
      if (isInit && placed.insert(i).second) {
        layout.push_back({-1, static_cast<int64_t>(i)});
        break;
      }
    }
  }
  // The rest, those of the last operations first.
  for (int64_t i = static_cast<int64_t>(row.crossings.size()) - 1; i >= 0; --i)
    if (!placed.contains(i))
      layout.push_back({-1, i});
}

SmallVector<Value> Expander::beginAtFront() {
  scf::ForOp loop = row.getFirstLoop().getLoop();
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> carried;
  for (Carried item : layout) {
    if (item.slot >= 0) {
      carried.push_back(loop.getInitArgs()[item.slot]);
      continue;
    }
    const Crossing &crossing = row.crossings[item.crossing];
    Value value = crossing.values.front();
    carried.push_back(value ? value : createZero(crossing.type));
  }
  return carried;
}

/// What is early in the first step of `loop`.
SmallVector<Value> Expander::beginAtLoop(scf::ForOp loop, ValueRange inits) {
  const Step &step = row.getFirstLoop();
  IRMapping early;
  early.map(loop.getInductionVar(), loop.getLowerBound());
  early.map(loop.getRegionIterArgs(), inits);
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isLate(&op))
      rewriter.clone(op, early)->removeAttr(rtile::kStageAttr);
  return getNext(step, early);
}

/// What the steady loop carries after the early operations of a step.
SmallVector<Value> Expander::getNext(const Step &step, const IRMapping &early) {
  int64_t number = &step - row.steps.data();
  SmallVector<Value> next;
  for (Carried item : layout) {
    if (item.slot >= 0) {
      next.push_back(early.lookupOrDefault(
          step.getLoop().getBody()->getTerminator()->getOperand(item.slot)));
      continue;
    }
    const Crossing &crossing = row.crossings[item.crossing];
    Value value = crossing.values[number];
    next.push_back(value ? early.lookupOrDefault(value)
                         : createZero(crossing.type));
  }
  return next;
}

/// Appends late operation `number`, with what crosses in `carried`. What is
/// still late after this is so one stage less.
Operation *Expander::emitLate(const Step &step, int64_t number,
                              ValueRange carried, IRMapping &late) {
  Operation *op = step.late[number];
  Operation *copy = rewriter.clone(*op, late);
  for (auto [item, value] : llvm::zip_equal(layout, carried)) {
    if (item.crossing < 0)
      continue;
    for (auto [user, operand] : row.crossings[item.crossing].uses) {
      if (user != number)
        continue;
      if (operand < copy->getNumOperands())
        copy->setOperand(operand, value);
      else
        cast<rtile::DotOp>(copy).getInitMutable().assign(value);
    }
  }
  return copy;
}

/// Appends one pass of the steady loop.
void Expander::emitStep(const Step &step, ValueRange carried,
                        IRMapping &early) {
  struct Place {
    int64_t cluster;
    bool isEarly;
    Operation *op;
  };
  SmallVector<Place> order;
  int64_t cluster = 0;
  for (Operation &op : step.getLoop().getBody()->without_terminator()) {
    if (rtile::StageAttr stage = getStage(&op))
      cluster = stage.getCluster();
    order.push_back({cluster, !isLate(&op), &op});
  }
  IRMapping late;
  llvm::stable_sort(order, [](const Place &a, const Place &b) {
    return std::pair(a.cluster, a.isEarly) < std::pair(b.cluster, b.isEarly);
  });
  for (const Place &place : order) {
    if (place.isEarly) {
      Operation *copy = rewriter.clone(*place.op, early);
      copy->setAttr(rtile::kStageAttr, rtile::StageAttr::get(copy->getContext(),
                                                             0, place.cluster));
      continue;
    }
    int64_t number = llvm::find(step.late, place.op) - step.late.begin();
    Operation *copy = emitLate(step, number, carried, late);
    rtile::StageAttr stage = getStage(copy);
    copy->setAttr(rtile::kStageAttr, rtile::StageAttr::get(copy->getContext(),
                                                           stage.getStage() - 1,
                                                           stage.getCluster()));
    // The carried value of this step is what was late in the step before.
    for (auto [slot, maker] : llvm::enumerate(row.lateSlots))
      if (maker.first == number)
        early.map(step.getLoop().getRegionIterArg(slot),
                  copy->getResult(maker.second));
  }
}

scf::ForOp Expander::createLoop(const Step &step, Value begin,
                                ValueRange carried) {
  scf::ForOp old = step.getLoop();
  auto loop = scf::ForOp::create(rewriter, old.getLoc(), begin,
                                 old.getUpperBound(), old.getStep(), carried);
  loop.getInductionVar().setLoc(old.getInductionVar().getLoc());
  IRMapping early;
  early.map(old.getInductionVar(), loop.getInductionVar());
  for (auto [item, argument] :
       llvm::zip_equal(layout, loop.getRegionIterArgs())) {
    if (item.slot >= 0) {
      early.map(old.getRegionIterArg(item.slot), argument);
      argument.setLoc(old.getRegionIterArg(item.slot).getLoc());
    } else if (Value value = row.crossings[item.crossing].values.back()) {
      argument.setLoc(nameLike(value, "_before", argument.getLoc()));
    }
  }
  // One that carries nothing comes with its end.
  if (!loop.getBody()->empty())
    rewriter.eraseOp(&loop.getBody()->back());
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  emitStep(step, loop.getRegionIterArgs(), early);
  SmallVector<Value> next = getNext(step, early);
  rewriter.setInsertionPointToEnd(loop.getBody());
  scf::YieldOp::create(rewriter, old.getLoc(), next);
  return loop;
}

/// Appends what is late in the last step; returns what the old loops gave.
SmallVector<Value> Expander::finish(ValueRange carried) {
  const Step &step = row.steps.back();
  IRMapping late;
  SmallVector<Operation *> copies;
  for (int64_t i = 0, e = step.late.size(); i < e; ++i) {
    copies.push_back(emitLate(step, i, carried, late));
    copies.back()->removeAttr(rtile::kStageAttr);
  }
  SmallVector<Value> results;
  for (int64_t slot = 0, e = row.lateSlots.size(); slot < e; ++slot) {
    std::pair<int64_t, unsigned> maker = row.lateSlots[slot];
    if (maker.first >= 0) {
      results.push_back(copies[maker.first]->getResult(maker.second));
      continue;
    }
    const auto *at =
        llvm::find_if(layout, [&](Carried item) { return item.slot == slot; });
    results.push_back(carried[at - layout.begin()]);
  }
  return results;
}

/// Whether `loop` has a step for certain.
bool hasStep(scf::ForOp loop) {
  APInt begin, end;
  return matchPattern(loop.getLowerBound(), m_ConstantInt(&begin)) &&
         matchPattern(loop.getUpperBound(), m_ConstantInt(&end)) &&
         begin.slt(end);
}

void Expander::run() {
  scf::ForOp first = row.getFirstLoop().getLoop(),
             last = row.steps.back().getLoop();
  Location loc = first.getLoc();
  SmallVector<Value> results;
  if (row.hasFront) {
    SmallVector<Value> carried = beginAtFront();
    for (const Step &step : row.getSteps().drop_front())
      carried = createLoop(step, step.getLoop().getLowerBound(), carried)
                    .getResults();
    results = finish(carried);
  } else {
    rewriter.setInsertionPoint(first);
    scf::IfOp choice;
    if (!hasStep(first)) {
      Value isAny =
          arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                first.getLowerBound(), first.getUpperBound());
      choice = scf::IfOp::create(rewriter, loc, first.getResultTypes(), isAny,
                                 /*withElseRegion=*/true);
      rewriter.setInsertionPointToStart(choice.elseBlock());
      scf::YieldOp::create(rewriter, loc, first.getInitArgs());
      rewriter.setInsertionPointToStart(choice.thenBlock());
    }
    SmallVector<Value> carried = beginAtLoop(first, first.getInitArgs());
    Value second = arith::AddIOp::create(rewriter, loc, first.getLowerBound(),
                                         first.getStep());
    carried = createLoop(row.steps.front(), second, carried).getResults();
    results = finish(carried);
    if (choice) {
      scf::YieldOp::create(rewriter, loc, results);
      results.assign(choice.result_begin(), choice.result_end());
    }
  }
  rewriter.replaceAllUsesWith(last.getResults(), results);
  for (const Step &step : llvm::reverse(row.steps)) {
    if (step.getLoop())
      rewriter.eraseOp(step.getLoop());
    else
      for (Operation *op : llvm::reverse(step.late))
        rewriter.eraseOp(op);
  }
}

struct PipelineLoops : ringlet::impl::RTilePipelineLoopsBase<PipelineLoops> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      if (func.getScheduled())
        return;
      // Each turn takes one stage away.
      while (expandAll(func)) {
      }
      func.walk([](Operation *op) { op->removeAttr(rtile::kStageAttr); });
    });
  }

  bool expandAll(rtile::FuncOp func);
  bool expand(const LoopRow &row);
};

/// Whether a row or, where it is none, one of its loops became a pipeline.
bool PipelineLoops::expand(const LoopRow &row) {
  Location loc = scf::ForOp(row.front()).getLoc();
  auto report = [&](const PipelineRow &matched) {
    remark::passed(loc, remark::RemarkOpts::name("PipelineLoops")
                            .category("rtile-pipeline-loops"))
        << (llvm::formatv("{0} operations of a step run in the next one; {1}",
                          matched.getFirstLoop().late.size(),
                          matched.hasFront
                              ? "the first step stands in front"
                              : "prologue and epilogue run if there is a step")
                .str());
  };
  std::string why;
  if (std::optional<PipelineRow> whole =
          PipelineRow::match(row, /*hasFront=*/true, why)) {
    report(*whole);
    Expander(*whole).run();
    return true;
  }
  bool isAny = false;
  for (scf::ForOp loop : row) {
    if (std::optional<PipelineRow> single =
            PipelineRow::match(loop, /*hasFront=*/false, why)) {
      report(*single);
      Expander(*single).run();
      isAny = true;
      continue;
    }
    remark::missed(loop.getLoc(), remark::RemarkOpts::name("PipelineLoops")
                                      .category("rtile-pipeline-loops"))
        << why;
    loop.walk([](Operation *op) { op->removeAttr(rtile::kStageAttr); });
  }
  return isAny;
}

bool PipelineLoops::expandAll(rtile::FuncOp func) {
  // Inner ones first: the step in front of them lies in a loop around them.
  SmallVector<LoopRow> rows = getLoopRows(func);
  for (const LoopRow &row : llvm::reverse(rows))
    if (llvm::any_of(row, [](scf::ForOp loop) {
          return llvm::any_of(*loop.getBody(),
                              [](Operation &op) { return isLate(&op); });
        }))
      // It may have had other rows in it.
      if (expand(row))
        return true;
  return false;
}

} // namespace
