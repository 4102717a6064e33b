//===- PeelFirstTile.cpp - A key tile in front of loops -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/Recipes/Passes.h"
#include "passes/TileOpt/LoopRows.h"
#include "passes/TileOpt/RowRange.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEPEELFIRSTTILE
#include "passes/Recipes/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// The loops over a run as rtile-split-masked-loops leaves them, in order.
struct RunLoops {
  rtile::RunOp run;
  int64_t step = 0;
  /// Null without a left window.
  scf::ForOp left;
  scf::ForOp whole, tail;
};

/// Whether a step of `loop` masks the keys of its tile as `run` sees them: of
/// an empty run it hides everything.
bool hasMask(scf::ForOp loop, rtile::RunOp run) {
  return llvm::any_of(loop.getBody()->getOps<rtile::VisibleOp>(),
                      [&](rtile::VisibleOp seen) {
                        return seen.getQuery() == run.getQuery() &&
                               seen.getQueryRow() == run.getRow() &&
                               seen.getKey() == run.getKey() &&
                               seen.getKeyRow() == loop.getInductionVar() &&
                               seen.getCausal() == run.getCausal() &&
                               seen.getWindowAttr() == run.getWindowAttr();
                      });
}

std::optional<RunLoops> matchLoops(const LoopRow &row, std::string &why) {
  if (row.size() != 2 && row.size() != 3) {
    why = llvm::formatv("expected 2 or 3 loops over the keys, found {0}",
                        row.size())
              .str();
    return std::nullopt;
  }
  RunLoops loops;
  loops.tail = row.back();
  loops.whole = row[row.size() - 2];
  loops.left = row.size() == 3 ? row.front() : scf::ForOp();
  loops.run = loops.tail.getUpperBound().getDefiningOp<rtile::RunOp>();
  if (!loops.run) {
    why = "expected a loop up to the end of an rtile.run, found another bound";
    return std::nullopt;
  }
  rtile::RunOp run = loops.run;
  loops.step = run.getKey().getType().getShape()[0];
  Value wholeBegin = loops.left ? run.getWholeBegin() : run.getBegin();
  auto walks = [](scf::ForOp loop, Value begin, Value end) {
    return loop.getLowerBound() == begin && loop.getUpperBound() == end;
  };
  if (!walks(loops.tail, run.getWholeEnd(), run.getEnd()) ||
      !walks(loops.whole, wholeBegin, run.getWholeEnd()) ||
      (loops.left && !walks(loops.left, run.getBegin(), wholeBegin))) {
    why = "expected loops over the parts of the rtile.run, found other bounds";
    return std::nullopt;
  }
  for (scf::ForOp loop : row) {
    APInt step;
    if (!matchPattern(loop.getStep(), m_ConstantInt(&step)) ||
        step.getSExtValue() != loops.step) {
      why = llvm::formatv("expected steps of {0}, the height of the key tile, "
                          "found another step",
                          loops.step)
                .str();
      return std::nullopt;
    }
    if (!loop->hasAttr(rtile::kUnorderedAttr)) {
      why = "expected loops that are " + rtile::kUnorderedAttr.str() +
            ", found one whose steps have an order";
      return std::nullopt;
    }
  }
  for (scf::ForOp loop : row)
    for (Operation &op : *loop.getBody())
      if (mayWrite(&op)) {
        why = "expected loops that write nothing, found " +
              op.getName().getStringRef().str();
        return std::nullopt;
      }
  if (!hasMask(loops.tail, run)) {
    why = "expected a mask of the keys of the rtile.run in its last steps, "
          "found none";
    return std::nullopt;
  }
  return loops;
}

class Peeler {
public:
  explicit Peeler(const RunLoops &loops)
      : loops(loops), builder(this->loops.run.getLoc(), this->loops.run) {
    builder.setInsertionPointAfter(this->loops.run);
  }

  void run();

private:
  Value index(StringRef name, int64_t value) {
    return arith::ConstantIndexOp::create(builder,
                                          named(builder.getLoc(), name), value);
  }
  template <typename OpTy>
  Value create(StringRef name, Value a, Value b) {
    return OpTy::create(builder, named(builder.getLoc(), name), a, b);
  }
  void findLastTile();
  Value distance(StringRef name, Value row);
  SmallVector<Value> peel();
  SmallVector<Value> createLoop(scf::ForOp source, Value begin, Value end,
                                ValueRange state);

  RunLoops loops;
  ImplicitLocOpBuilder builder;
  Value step, lastRow, restRows;
};

/// The last step begins at `lastRow`, `restRows` rows after the run. An empty
/// run counts one step, in which no row sees a key.
void Peeler::findLastTile() {
  step = index("c" + std::to_string(loops.step), loops.step);
  Value one = index("c1", 1);
  Value begin = loops.run.getBegin();
  Value span = create<arith::SubIOp>("span", loops.run.getEnd(), begin);
  Value ceiling = create<arith::CeilDivSIOp>("full_steps", span, step);
  Value steps = create<arith::MaxSIOp>("steps", ceiling, one);
  Value rest = create<arith::SubIOp>("rest", steps, one);
  restRows = create<arith::MulIOp>("rest_rows", rest, step);
  lastRow = create<arith::AddIOp>("last_row", begin, restRows);
}

/// Rows from `row` up to the last step, 0 if it comes later.
Value Peeler::distance(StringRef name, Value row) {
  Value first = create<arith::MinSIOp>((name + "_row").str(), row, lastRow);
  return create<arith::SubIOp>(name, lastRow, first);
}

/// The last step, which begins with the state that the loops began with.
SmallVector<Value> Peeler::peel() {
  scf::ForOp source = loops.tail;
  ValueRange state =
      loops.left ? loops.left.getInitArgs() : loops.whole.getInitArgs();
  IRMapping mapping;
  mapping.map(source.getInductionVar(), lastRow);
  mapping.map(source.getRegionIterArgs(), state);
  for (Operation &op : source.getBody()->without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> next;
  for (Value value : source.getBody()->getTerminator()->getOperands())
    next.push_back(mapping.lookupOrDefault(value));
  return next;
}

/// Appends a loop over the steps of `source` from the one that ends `begin`
/// rows before the last step to the one that begins `end` rows before it.
SmallVector<Value> Peeler::createLoop(scf::ForOp source, Value begin, Value end,
                                      ValueRange state) {
  auto loop =
      scf::ForOp::create(builder, source.getLoc(), begin, end, step, state);
  loop.getInductionVar().setLoc(named(source.getLoc(), "later_rows"));
  for (auto [argument, old] :
       llvm::zip_equal(loop.getRegionIterArgs(), source.getRegionIterArgs()))
    argument.setLoc(old.getLoc());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value rows = create<arith::AddIOp>("rows", loop.getInductionVar(), step);
  Value row = create<arith::SubIOp>("key_row", lastRow, rows);
  IRMapping mapping;
  mapping.map(source.getInductionVar(), row);
  mapping.map(source.getRegionIterArgs(), loop.getRegionIterArgs());
  for (Operation &op : *source.getBody())
    builder.clone(op, mapping);
  return loop.getResults();
}

void Peeler::run() {
  scf::ForOp first = loops.left ? loops.left : loops.whole;
  findLastTile();
  // Without limits to what a row sees only the end of the keys hides any, and
  // that lies in the last step.
  bool hasTail =
      loops.left ||
      getRightLimit(loops.run.getCausal(), loops.run.getWindow()).has_value();
  Value zero = index("c0", 0);
  Value wholeFrom =
      hasTail ? distance("tail_rows", loops.run.getWholeEnd()) : zero;
  Value leftFrom =
      loops.left ? distance("whole_rows", loops.run.getWholeBegin()) : restRows;

  builder.setInsertionPoint(first);
  SmallVector<Value> state = peel();
  if (hasTail)
    state = createLoop(loops.tail, zero, wholeFrom, state);
  state = createLoop(loops.whole, wholeFrom, leftFrom, state);
  if (loops.left)
    state = createLoop(loops.left, leftFrom, restRows, state);

  int64_t count = 1 + hasTail + static_cast<bool>(loops.left);
  std::string text =
      llvm::formatv("key tiles run from the last to the first; the last stands "
                    "before {0}{1} over the others",
                    count, (count == 1 ? " loop" : " loops"))
          .str();
  remark::passed(first.getLoc(), remark::RemarkOpts::name("PeelFirstTile")
                                     .category("rtile-peel-first-tile"))
      << text;
  Block *block = first->getBlock();
  loops.tail.replaceAllUsesWith(state);
  loops.tail.erase();
  loops.whole.erase();
  if (loops.left)
    loops.left.erase();
  eraseDead(*block);
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

/// Loops over the places of a list of key tiles: those without masks, and the
/// rest.
struct ListLoops {
  /// Null if all steps have masks.
  scf::ForOp whole;
  scf::ForOp tail;
};

/// Whether a step of `loop` asks by this if it comes before the loop.
bool asksWhatCameBefore(arith::CmpIOp compare, scf::ForOp loop) {
  return compare.getPredicate() == arith::CmpIPredicate::slt &&
         compare.getLhs() == loop.getInductionVar() &&
         compare.getRhs() == loop.getLowerBound();
}

/// Whether some does: then the body computes steps of the loop before, too.
bool coversStepsBefore(scf::ForOp loop) {
  return llvm::any_of(
      loop.getBody()->getOps<arith::CmpIOp>(),
      [&](arith::CmpIOp compare) { return asksWhatCameBefore(compare, loop); });
}

bool hasMasks(scf::ForOp loop) {
  return !loop.getBody()->getOps<rtile::VisibleOp>().empty();
}

std::optional<ListLoops> matchList(const LoopRow &row) {
  if (row.size() > 2)
    return std::nullopt;
  ListLoops loops{row.size() == 2 ? row.front() : scf::ForOp(), row.back()};
  scf::ForOp first = row.front();
  if (!matchPattern(first.getLowerBound(), m_Constant()) ||
      !hasMasks(loops.tail))
    return std::nullopt;
  if (loops.whole &&
      (hasMasks(loops.whole) ||
       loops.whole.getUpperBound() != loops.tail.getLowerBound() ||
       !coversStepsBefore(loops.tail)))
    return std::nullopt;
  for (scf::ForOp loop : row)
    if (!matchPattern(loop.getStep(), m_One()) ||
        !loop->hasAttr(rtile::kUnorderedAttr) ||
        llvm::any_of(*loop.getBody(),
                     [](Operation &op) { return mayWrite(&op); }))
      return std::nullopt;
  return loops;
}

/// Puts the first step in front of the loops, with a mask that hides all of its
/// keys if there is none.
void peelList(const ListLoops &loops) {
  scf::ForOp first = loops.whole ? loops.whole : loops.tail;
  scf::ForOp tail = loops.tail;
  ImplicitLocOpBuilder builder(first.getLoc(), first);
  auto create = [&](auto type, StringRef name, auto &&...args) -> Value {
    return decltype(type)::create(builder, named(builder.getLoc(), name),
                                  args...);
  };
  Value begin = first.getLowerBound();
  Value hasStep = create(arith::CmpIOp(), "has_step", arith::CmpIPredicate::slt,
                         begin, tail.getUpperBound());
  Value next = create(arith::AddIOp(), "next_place", begin, first.getStep());
  Value rest = next;
  if (loops.whole)
    rest = create(arith::MaxSIOp(), "rest", tail.getLowerBound(), next);

  IRMapping mapping;
  mapping.map(tail.getInductionVar(), begin);
  mapping.map(tail.getRegionIterArgs(), first.getInitArgs());
  for (Operation &op : tail.getBody()->without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    auto mask = dyn_cast<rtile::VisibleOp>(copy);
    if (!mask)
      continue;
    builder.setInsertionPoint(mask);
    auto bounds = rtile::BoundsOp::create(
        builder, named(builder.getLoc(), "bounds"), mask.getKey());
    mask.getKeyRowMutable().assign(create(arith::SelectOp(), "row_or_end",
                                          hasStep, mask.getKeyRow(),
                                          bounds.getEnd()));
    if (loops.whole)
      mask->setAttr(kPeeledAttr, builder.getUnitAttr());
    builder.setInsertionPointAfter(mask);
  }
  for (auto [init, value] :
       llvm::zip_equal(first.getInitArgsMutable(),
                       tail.getBody()->getTerminator()->getOperands()))
    init.set(mapping.lookupOrDefault(value));
  // What is left of the last loop's steps are its own.
  if (loops.whole) {
    Value never =
        arith::ConstantOp::create(builder, builder.getBoolAttr(false));
    for (auto compare :
         llvm::make_early_inc_range(tail.getBody()->getOps<arith::CmpIOp>()))
      if (asksWhatCameBefore(compare, tail)) {
        compare.getResult().replaceAllUsesWith(never);
        compare.erase();
      }
  }
  first.setLowerBound(next);
  tail.setLowerBound(rest);
  remark::passed(first.getLoc(), remark::RemarkOpts::name("PeelFirstTile")
                                     .category("rtile-peel-first-tile"))
      << (loops.whole ? "the first key tile of the list stands before 2 loops "
                        "over the others"
                      : "the first key tile of the list stands before a loop "
                        "over the others");
}

struct PeelFirstTile : ringlet::impl::RTilePeelFirstTileBase<PeelFirstTile> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      if (func.getScheduled())
        return;
      for (const LoopRow &row : getLoopRows(func)) {
        std::string why;
        if (std::optional<RunLoops> loops = matchLoops(row, why)) {
          Peeler(*loops).run();
          continue;
        }
        if (std::optional<ListLoops> loops = matchList(row)) {
          peelList(*loops);
          continue;
        }
        remark::missed(scf::ForOp(row.front()).getLoc(),
                       remark::RemarkOpts::name("PeelFirstTile")
                           .category("rtile-peel-first-tile"))
            << why;
      }
    });
  }
};

} // namespace
