//===- FlushSums.cpp - Long sums move to memory now and then -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop that streams a softmax carries a reference, by which weights are
// measured, and running sums of them: what it yields is what it carries, times
// a factor of each row if the reference moves, plus what a step adds. Such sums
// may be cut anywhere. At the end of a step what has been summed goes to memory
// with its reference, and the loop goes on from 0; behind the last loop what
// lies in memory is added. References never fall, so what is in memory is
// multiplied by 1 or less.
//
// Which steps flush follows from the number of the step alone, as does whether
// there is something in memory: loops carry no more than before.
//
//===----------------------------------------------------------------------===//

#include "passes/TileOpt/LoopRows.h"
#include "passes/TileOpt/Passes.h"
#include "passes/TileOpt/RunningSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEFLUSHSUMS
#include "passes/TileOpt/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

static RankedTensorType getTileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

namespace {

/// Some loops that hand a state on, and where its sums may be put aside.
class Flusher {
public:
  Flusher(rtile::TotalsOp totals, const LoopRow &loops, RunningSums sums)
      : totals(totals), loops(loops), sums(std::move(sums)),
        builder(totals.getLoc(), totals) {}

  void run();

private:
  template <typename OpTy, typename... Args>
  auto create(StringRef name, Args &&...args) {
    return OpTy::create(builder, named(builder.getLoc(), name),
                        std::forward<Args>(args)...);
  }
  Value number(Type type, int64_t value) {
    return create<arith::ConstantOp>("number",
                                     builder.getIntegerAttr(type, value));
  }
  Value compare(StringRef name, arith::CmpIPredicate predicate, Value a,
                int64_t b) {
    Value other = number(a.getType(), b);
    return create<arith::CmpIOp>(name, predicate, a, other);
  }
  Value zero(Value like) {
    return createSplat(builder, "none", 0.0, getTileType(like));
  }
  Value along(Value rows, RankedTensorType type) {
    return create<rtile::BroadcastOp>("wide", type, rows, false);
  }

  int64_t getPeriod(scf::ForOp loop);
  void flushIn(scf::ForOp loop, Value before);
  void addBehind(Value any);
  /// The sum of each row, of a sum of one column or several.
  Value getRowSums(Value sum);
  /// By what the rows in memory are to be multiplied.
  Value loadFactor(Value reference);
  /// `tile` of memory times `factor`; what is not finite goes where it is 0.
  Value decay(Value tile, Value factor);
  Value load(StringRef name, Value view, Value column = {});
  void store(Value tile, Value view, Value column = {});
  /// Some columns of an accumulator, and the first of them.
  using Columns = std::pair<Value, Value>;
  SmallVector<Columns> cut(Value accumulator);

  rtile::TotalsOp totals;
  const LoopRow &loops;
  RunningSums sums;
  ImplicitLocOpBuilder builder;
};

} // namespace

/// Of the loop's variable: a power of two, so that a step finds by its bits
/// whether it ends one. Fewer than twice as many keys as asked for.
int64_t Flusher::getPeriod(scf::ForOp loop) {
  int64_t steps = llvm::divideCeil(totals.getKeys(), totals.getStep());
  return llvm::PowerOf2Ceil(steps * *getConstantIntValue(loop.getStep()));
}

Value Flusher::getRowSums(Value sum) {
  return getTileType(sum).getRank() == 1
             ? sum
             : create<rtile::ReduceOp>("row_sum", rtile::ReduceKind::sum, sum);
}

Value Flusher::load(StringRef name, Value view, Value column) {
  SmallVector<Value> offsets{totals.getRow()};
  if (column)
    offsets.push_back(column);
  return create<rtile::LoadOp>(name, view, offsets);
}

void Flusher::store(Value tile, Value view, Value column) {
  SmallVector<Value> offsets{totals.getRow()};
  if (column)
    offsets.push_back(column);
  rtile::StoreOp::create(builder, tile, view, offsets);
}

Value Flusher::loadFactor(Value reference) {
  Value change = create<arith::SubFOp>(
      "change", load("reference_before", totals.getReference()), reference);
  if (sums.exponent != 1) {
    Value unit =
        createSplat(builder, "exponent", sums.exponent, getTileType(change));
    change = create<arith::MulFOp>("change_exponent", change, unit);
  }
  return create<math::Exp2Op>("factor", change);
}

Value Flusher::decay(Value tile, Value factor) {
  RankedTensorType type = getTileType(tile);
  Value some = create<arith::CmpFOp>("counts", arith::CmpFPredicate::OGT,
                                     factor, zero(factor));
  if (type.getRank() == 2) {
    some = create<rtile::BroadcastOp>(
        "counts_wide",
        RankedTensorType::get(type.getShape(), builder.getI1Type()), some,
        false);
    factor = along(factor, type);
  }
  tile = create<arith::SelectOp>("some", some, tile, zero(tile));
  return create<arith::MulFOp>("decayed", tile, factor);
}

SmallVector<Flusher::Columns> Flusher::cut(Value accumulator) {
  RankedTensorType type = getTileType(accumulator);
  int64_t width = totals.getAccumulator().getType().getShape()[1];
  SmallVector<Columns> columns;
  for (int64_t first = 0; first < type.getDimSize(1); first += width) {
    Value place = number(builder.getIndexType(), first);
    if (width == type.getDimSize(1))
      return {{accumulator, place}};
    auto few = RankedTensorType::get({type.getDimSize(0), width},
                                     type.getElementType());
    columns.push_back(
        {create<rtile::SliceOp>("acc_columns", few, accumulator, first),
         place});
  }
  return columns;
}

/// At the end of each step of `loop`; `before` says whether there is something
/// in memory in front of it.
void Flusher::flushIn(scf::ForOp loop, Value before) {
  Operation *yield = loop.getBody()->getTerminator();
  builder.setInsertionPoint(yield);
  int64_t period = getPeriod(loop), step = *getConstantIntValue(loop.getStep());
  Type type = loop.getInductionVar().getType();
  Value done = create<arith::SubIOp>("done", loop.getInductionVar(),
                                     loop.getLowerBound());
  Value more = compare("has_flushed", arith::CmpIPredicate::sge, done, period);
  Value has = create<arith::OrIOp>("has_totals", before, more);
  // The steps behind which `done` goes beyond a multiple of the period.
  Value ofPeriod =
      create<arith::AndIOp>("of_period", done, number(type, period - 1));
  Value isDue =
      compare("is_due", arith::CmpIPredicate::sge, ofPeriod, period - step);

  Value reference = yield->getOperand(sums.reference);
  Value sum = yield->getOperand(sums.sum);
  Value accumulator = yield->getOperand(sums.accumulator);
  auto branch =
      scf::IfOp::create(builder, named(loop.getLoc(), "flushed"),
                        TypeRange{sum.getType(), accumulator.getType()}, isDue,
                        /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, ValueRange{sum, accumulator});
  builder.setInsertionPointToStart(branch.thenBlock());
  auto put = scf::IfOp::create(builder, has, /*withElseRegion=*/true);
  auto fill = [&](bool joins) {
    Value factor = joins ? loadFactor(reference) : Value();
    auto join = [&](StringRef name, Value own, Value view, Value column = {}) {
      if (joins) {
        Value decayed = decay(load(name, view, column), factor);
        own = create<arith::AddFOp>("total", decayed, own);
      }
      store(own, view, column);
    };
    join("sum_before", getRowSums(sum), totals.getSum());
    for (auto [columns, first] : cut(accumulator))
      join("acc_before", columns, totals.getAccumulator(), first);
    store(reference, totals.getReference());
  };
  builder.setInsertionPointToStart(put.thenBlock());
  fill(/*joins=*/true);
  builder.setInsertionPointToStart(put.elseBlock());
  fill(/*joins=*/false);
  builder.setInsertionPointToEnd(branch.thenBlock());
  // 0, but no constant: a select of constants takes an instruction of every
  // element in every step.
  Value none = create<arith::SubFOp>("none", reference, reference);
  SmallVector<Value> nothing;
  for (Value of : {sum, accumulator})
    nothing.push_back(
        getTileType(of).getRank() == 1 ? none : along(none, getTileType(of)));
  scf::YieldOp::create(builder, nothing);
  yield->setOperand(sums.sum, branch.getResult(0));
  yield->setOperand(sums.accumulator, branch.getResult(1));
}

/// Behind the last loop, if there is `any`. Some columns at a time, each with a
/// condition of its own: more would find no registers beside the accumulator.
void Flusher::addBehind(Value any) {
  scf::ForOp last = loops.back();
  Operation *known = any.getDefiningOp();
  builder.setInsertionPointAfter(
      known->isBeforeInBlock(last) ? last.getOperation() : known);
  Value sum = last.getResult(sums.sum);
  Value accumulator = last.getResult(sums.accumulator);
  SmallVector<OpOperand *> ofSum, ofAccumulator;
  for (OpOperand &use : sum.getUses())
    ofSum.push_back(&use);
  for (OpOperand &use : accumulator.getUses())
    ofAccumulator.push_back(&use);
  auto choose = [&](StringRef name, ValueRange otherwise,
                    function_ref<SmallVector<Value>()> body) {
    auto branch = scf::IfOp::create(builder, named(last.getLoc(), name),
                                    otherwise.getTypes(), any, true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, otherwise);
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, body());
    return branch.getResults();
  };
  Value none = createSplat(builder, "none", 0.0,
                           getTileType(last.getResult(sums.reference)));
  ValueRange rows = choose("total_rows", {sum, none}, [&] {
    Value factor = loadFactor(last.getResult(sums.reference));
    Value before = decay(load("sum_before", totals.getSum()), factor);
    RankedTensorType type = getTileType(sum);
    if (type.getRank() == 2) {
      // As many shares as there are columns.
      double share = 1.0 / static_cast<double>(type.getDimSize(1));
      before = create<arith::MulFOp>(
          "share", before,
          createSplat(builder, "share", share, getTileType(before)));
      before = along(before, type);
    }
    return SmallVector<Value>{create<arith::AddFOp>("sum_of_all", before, sum),
                              factor};
  });
  for (OpOperand *use : ofSum)
    use->set(rows[0]);
  SmallVector<Value> tiles;
  for (auto [columns, first] : cut(accumulator))
    tiles.push_back(
        choose("acc_of_all", columns, [&, own = columns, place = first] {
          Value before = decay(
              load("acc_before", totals.getAccumulator(), place), rows[1]);
          return SmallVector<Value>{
              create<arith::AddFOp>("acc_of_all", before, own)};
        })[0]);
  Value joined = tiles.front();
  if (tiles.size() != 1)
    joined = create<rtile::JoinOp>("acc_of_all", accumulator.getType(), tiles);
  for (OpOperand *use : ofAccumulator)
    use->set(joined);
}

/// The loops that may be long. Of a run, steps that need a mask are those where
/// the rows of a tile of queries see different keys: no more than it has rows.
static LoopRow getLongLoops(const LoopRow &loops) {
  auto has = [](Operation *root, TypeID type) {
    return root
        ->walk([&](Operation *op) {
          return op->getName().getTypeID() == type ? WalkResult::interrupt()
                                                   : WalkResult::advance();
        })
        .wasInterrupted();
  };
  LoopRow whole;
  for (scf::ForOp loop : loops)
    if (!has(loop, TypeID::get<rtile::VisibleOp>()))
      whole.push_back(loop);
  auto func = loops.front()->getParentOfType<rtile::FuncOp>();
  bool areOfRuns = has(func, TypeID::get<rtile::RunOp>()) &&
                   !has(func, TypeID::get<rtile::ListOp>());
  return areOfRuns && !whole.empty() ? whole : loops;
}

void Flusher::run() {
  builder.setInsertionPoint(loops.front());
  Value any =
      create<arith::ConstantOp>("has_totals", builder.getBoolAttr(false));
  for (scf::ForOp loop : getLongLoops(loops)) {
    flushIn(loop, any);
    // Its last step is behind a period if it has so many steps.
    builder.setInsertionPointAfter(loop);
    int64_t step = *getConstantIntValue(loop.getStep());
    int64_t steps = llvm::divideCeil(getPeriod(loop), step);
    Value span = create<arith::SubIOp>("span", loop.getUpperBound(),
                                       loop.getLowerBound());
    Value hasFlushed = compare("has_flushed", arith::CmpIPredicate::sgt, span,
                               (steps - 1) * step);
    any = create<arith::OrIOp>("has_totals", any, hasFlushed);
  }
  addBehind(any);
}

namespace {

struct FlushSums : ringlet::impl::RTileFlushSumsBase<FlushSums> {
  void runOnOperation() override {
    SmallVector<rtile::TotalsOp> found;
    getOperation()->walk([&](rtile::TotalsOp op) { found.push_back(op); });
    for (rtile::TotalsOp totals : found) {
      flush(totals);
      totals.erase();
    }
  }

  void flush(rtile::TotalsOp totals);
};

} // namespace

void FlushSums::flush(rtile::TotalsOp totals) {
  auto func = totals->getParentOfType<rtile::FuncOp>();
  bool isFound = false;
  std::string why = "expected loops that stream a softmax, found none";
  for (const LoopRow &loops : getLoopRows(func)) {
    if (loops.front()->getBlock() != totals->getBlock() ||
        !totals->isBeforeInBlock(loops.front()))
      continue;
    std::optional<RunningSums> sums = matchRunningSums(loops, why);
    if (!sums)
      continue;
    Flusher(totals, loops, *sums).run();
    isFound = true;
  }
  auto options = remark::RemarkOpts::name("FlushSums")
                     .category("rtile-flush-sums")
                     .function(func.getSymName());
  if (isFound)
    remark::passed(func.getLoc(), options)
        << llvm::formatv("{0}: sums of {1} keys move to memory",
                         func.getSymName(), totals.getKeys())
               .str();
  else
    remark::missed(func.getLoc(), options)
        << (func.getSymName() + ": sums of all keys stay in registers: " + why)
               .str();
}
