//===- LazyReference.cpp - A softmax without a running maximum -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax is the same whatever its weights are measured by, as long as they
// are numbers. So the maximum of a row's first tile, and of what others left
// for the row, serves as the reference of the whole row: the loops look for no
// maximum and decay nothing. Sums that grow all the same are moved back by a
// power of two, which costs next to nothing where none does (`rtile.rebase`).
//
// What can go wrong shows in the sum of the row, so that whoever reads it can
// compute the row in another way:
//
//   * a weight beyond f32, because a score is that far above the reference:
//     the sum is infinite or NaN;
//   * a weight whose exponent is so large that f32 has too few digits left of
//     it: `rtile.rebase` makes the row infinite;
//   * weights below f32, because the row sees no key in its first tile and has
//     reference 0: the sum is tiny. A reference that is a score has weight 1.
//   * weights below f16, for the same reason. Here the sum need not be tiny:
//     the pass makes it 0.
//
//===----------------------------------------------------------------------===//

#include "passes/Recipes/Passes.h"
#include "passes/Recipes/SoftmaxLoops.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>
#include <vector>

namespace ringlet {
#define GEN_PASS_DEF_RTILELAZYREFERENCE
#include "passes/Recipes/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// Columns of the sums that loops carry: as many as lie in one lane and the
/// three beside it.
constexpr int64_t kSumColumns = 8;
/// Sums that are carried on are below 2^kBound, which moves no row of ordinary
/// scores before its 10^5th key.
constexpr int64_t kBound = 16;
/// For weights in f16, which ends at 2^16.
constexpr int64_t kBoundF16 = 10;
/// Those of a step are below 2^kLimit, and with them weights. An exponent below
/// 2^e has 2^(e - 24) left for its last digit, of which the lse shows half: of
/// 64, 1.3e-6. With less, kernels of scores that spread widely would compute
/// many rows twice.
constexpr int64_t kLimit = 64;
/// A row with a key in its first tile has a sum of at least 1.
constexpr double kLeastSumF16 = 0.5;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct LazyLoops {
  SoftmaxStep first;
  LoopRow loops;
  std::vector<SoftmaxStep> steps;
};

std::optional<LazyLoops> matchLazyLoops(rtile::FuncOp func, std::string &why) {
  LazyLoops match;
  match.loops = getKernelLoops(func);
  if (match.loops.empty()) {
    why = "expected loops over the keys, found none";
    return std::nullopt;
  }
  scf::ForOp front = match.loops.front();
  if (front.getInitArgs().size() != kStateSize) {
    why = llvm::formatv("expected loops that carry 3 values, found {0}",
                        front.getInitArgs().size())
              .str();
    return std::nullopt;
  }
  auto first = matchSoftmaxStep({}, front.getInitArgs(), front, &why);
  if (!first) {
    why = "before the loops " + why;
    return std::nullopt;
  }
  match.first = *first;
  for (scf::ForOp loop : match.loops) {
    std::string inLoop;
    Operation *yield = loop.getBody()->getTerminator();
    auto step = matchSoftmaxStep(loop.getRegionIterArgs(), yield->getOperands(),
                                 yield, &inLoop);
    if (!step) {
      why = "in a loop " + inLoop;
      return std::nullopt;
    }
    for (BlockArgument argument : loop.getRegionIterArgs())
      for (Operation *user : argument.getUsers())
        if (!step->operations.contains(user)) {
          why = "expected the state to stay in the step, found a use by " +
                user->getName().getStringRef().str();
          return std::nullopt;
        }
    match.steps.push_back(*step);
  }
  if (first->exponents) {
    why = "expected scores that are exponents, found a factor; "
          "rtile-scale-scores comes first";
    return std::nullopt;
  }
  int64_t columns = first->product.getResult().getType().getDimSize(1);
  if (columns % kSumColumns != 0) {
    why = llvm::formatv(
              "expected a key tile of a multiple of {0} rows, found {1}",
              kSumColumns, columns)
              .str();
    return std::nullopt;
  }
  return match;
}

class Rewriter {
public:
  explicit Rewriter(LazyLoops &match)
      : match(match),
        builder(match.first.product.getLoc(), match.first.product) {
    Type f32 = builder.getF32Type();
    auto scores = match.first.product.getResult().getType();
    int64_t rows = scores.getDimSize(0);
    rowType = RankedTensorType::get({rows}, f32);
    sumType = RankedTensorType::get({rows, kSumColumns}, f32);
    wideType = RankedTensorType::get(scores.getShape(), f32);
    isF16 = match.first.accumulator.getLhs().getType().getElementType().isF16();
  }

  void run();

private:
  template <typename OpTy, typename... Args>
  auto create(StringRef name, Args &&...args) {
    return OpTy::create(builder, named(builder.getLoc(), name),
                        std::forward<Args>(args)...);
  }
  Value splat(StringRef name, double number, RankedTensorType type) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    return createSplat(builder, name, number, type);
  }
  void dropZeros();
  void rewriteFirst();
  Value spreadSum(Value sum);
  void delayBefore();
  void rewriteLoop(scf::ForOp loop, SoftmaxStep &step);
  void rewriteSum(scf::ForOp last);
  void normalizeLse(Value reference, Value sum);

  LazyLoops &match;
  ImplicitLocOpBuilder builder;
  RankedTensorType rowType, sumType, wideType;
  Block *entry = match.first.product->getBlock();
  bool isF16 = false;
};

/// Scores of the first tile give the reference: their maximum, or 0 if all are
/// hidden. What others left for the row has one of its own.
void Rewriter::rewriteFirst() {
  SoftmaxStep &step = match.first;
  builder.setInsertionPointAfter(step.maximum);
  bool goesOn = bool(step.sumBefore);
  Value maximum = goesOn ? step.maximum.getResult() : step.tileMaximum;
  double least = goesOn ? -std::numeric_limits<float>::max() : -kInfinity;
  Value none = splat("none", 0.0, rowType);
  Value isHidden = create<arith::CmpFOp>(
      "no_key", goesOn ? arith::CmpFPredicate::OLE : arith::CmpFPredicate::OEQ,
      maximum, splat("no_score", least, rowType));
  Value reference = create<arith::SelectOp>("m", isHidden, none, maximum);
  step.maximum.getResult().replaceUsesWithIf(reference, [&](OpOperand &use) {
    return use.getOwner() != isHidden.getDefiningOp() &&
           use.getOwner() != reference.getDefiningOp();
  });

  builder.setInsertionPoint(step.tileSum);
  Value sum = create<rtile::FoldOp>("l", sumType, step.weights);
  if (!goesOn) {
    step.tileSum.getResult().replaceAllUsesWith(sum);
    step.tileSum.erase();
    return;
  }
  Value total = match.loops.front().getInitArgs()[kSum];
  builder.setInsertionPoint(total.getDefiningOp());
  Value sumBefore = spreadSum(step.sumBefore);
  Value sums = create<arith::AddFOp>("l", sumBefore, sum);
  match.loops.front().getInitArgsMutable()[kSum].set(sums);
  delayBefore();
}

/// A sum as one of columns, each of which has the same part of it.
Value Rewriter::spreadSum(Value sum) {
  Value part = create<arith::MulFOp>("l_part", sum,
                                     splat("part", 1.0 / kSumColumns, rowType));
  return create<rtile::BroadcastOp>("l_parts", sumType, part, false);
}

/// What others left of the accumulator is read behind the first product, which
/// hides how long that takes, into registers that the first tile's scores leave
/// free.
void Rewriter::delayBefore() {
  SoftmaxStep &step = match.first;
  Operation *product = step.product;
  SmallVector<Operation *> work{step.accumulator.getInit().getDefiningOp()},
      found;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      auto tile = dyn_cast<RankedTensorType>(operand.getType());
      if (!source || source->hasTrait<OpTrait::ConstantLike>() || !tile ||
          tile.getRank() != 2 || source->getBlock() != entry ||
          !source->isBeforeInBlock(product) ||
          llvm::is_contained(found, source))
        continue;
      found.push_back(source);
      work.push_back(source);
    }
  }
  auto isLater = [&](Operation *user) {
    Operation *top = entry->findAncestorOpInBlock(*user);
    return llvm::is_contained(found, top) || product->isBeforeInBlock(top);
  };
  bool isMovable = llvm::all_of(found, [&](Operation *op) {
    return (isMemoryEffectFree(op) || isa<rtile::LoadOp>(op)) &&
           llvm::all_of(op->getUsers(), isLater);
  });
  for (Operation *op = &entry->front(); op != product; op = op->getNextNode())
    isMovable &= !mayWrite(op);
  if (!isMovable)
    return;
  llvm::sort(found,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : llvm::reverse(found))
    op->moveAfter(product);
}

void Rewriter::rewriteLoop(scf::ForOp loop, SoftmaxStep &step) {
  Value reference = loop.getRegionIterArg(kMaximum);
  BlockArgument sum = loop.getRegionIterArg(kSum);
  Value accumulator = loop.getRegionIterArg(kAccumulator);
  sum.setType(sumType);
  loop.getResult(kSum).setType(sumType);

  OpOperand &weightsUse = step.getWeightsUse();
  builder.setInsertionPoint(weightsUse.getOwner());
  // One instruction an element: scale * unscaled - reference.
  Value scale = step.getScale();
  if (!scale)
    scale = splat("scale", 1.0, wideType);
  Value negated =
      step.shift
          ? create<arith::SubFOp>("neg_m", step.shift, reference).getResult()
          : create<arith::NegFOp>("neg_m", reference).getResult();
  Value negatedWide =
      create<rtile::BroadcastOp>("neg_m_wide", wideType, negated, false);
  Value below =
      create<math::FmaOp>("below", step.getUnscaled(), scale, negatedWide);
  if (step.seen)
    below = create<arith::SelectOp>("masked", step.seen.getResult(), below,
                                    step.masked.getFalseValue());
  Value weights = create<math::Exp2Op>("p", below);
  Value tileSum = create<rtile::FoldOp>("tile_sum", sumType, weights);
  Value newSum = create<arith::AddFOp>("l_new", sum, tileSum);
  auto rebase = create<rtile::RebaseOp>(
      "rebased", reference, newSum, ValueRange{accumulator, weights},
      builder.getI64IntegerAttr(isF16 ? kBoundF16 : kBound),
      builder.getI64IntegerAttr(kLimit));
  weightsUse.set(rebase.getResults()[1]);
  step.accumulator.getInitMutable().assign(rebase.getResults()[0]);
  Operation *yield = loop.getBody()->getTerminator();
  yield->setOperand(kMaximum, rebase.getNewReference());
  yield->setOperand(kSum, rebase.getNewSums());
  eraseDead(*loop.getBody());
}

void Rewriter::rewriteSum(scf::ForOp last) {
  builder.setInsertionPointAfter(last);
  Value columns = last.getResult(kSum);
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : columns.getUses())
    uses.push_back(&use);
  Value sum = create<rtile::ReduceOp>("sum", rtile::ReduceKind::sum, columns);
  if (isF16) {
    Value isFine =
        create<arith::CmpFOp>("is_fine", arith::CmpFPredicate::OGE, sum,
                              splat("least_sum", kLeastSumF16, rowType));
    sum = create<arith::SelectOp>("sum_or_none", isFine, sum,
                                  splat("none", 0.0, rowType));
  }
  for (OpOperand *use : uses)
    use->set(sum);
  normalizeLse(last.getResult(kMaximum), sum);
}

/// Reference and log(sum) may be large and of opposite sign. Where their sum is
/// taken the digits that it would lose go from one to the other first.
void Rewriter::normalizeLse(Value reference, Value sum) {
  for (Operation *user : llvm::make_early_inc_range(sum.getUsers())) {
    auto log = dyn_cast<math::LogOp>(user);
    auto add = log && log->hasOneUse()
                   ? dyn_cast<arith::AddFOp>(*log->user_begin())
                   : arith::AddFOp();
    if (!add)
      continue;
    Value other = add.getLhs() == log.getResult() ? add.getRhs() : add.getLhs();
    auto scaled = other.getDefiningOp<arith::MulFOp>();
    if (!scaled || scaled.getLhs() != reference)
      continue;
    auto rebase =
        create<rtile::RebaseOp>("normal", reference, sum, ValueRange(),
                                builder.getI64IntegerAttr(0), IntegerAttr());
    scaled.getLhsMutable().assign(rebase.getNewReference());
    log.getOperandMutable().assign(rebase.getNewSums());
  }
}

/// What was 0 before the first step goes away: its maximum decays nothing.
void Rewriter::dropZeros() {
  if (match.first.sumBefore)
    return;
  match.first.accumulator.getInitMutable().clear();
  match.loops.front().getInitArgsMutable()[kSum].set(match.first.tileSum);
  eraseDead(*entry);
}

void Rewriter::run() {
  std::string text =
      llvm::formatv("weights of a row are measured by the maximum of its first "
                    "tile; they move where their sum exceeds 2^{0}",
                    isF16 ? kBoundF16 : kBound)
          .str();
  remark::passed(match.first.product.getLoc(),
                 remark::RemarkOpts::name("LazyReference")
                     .category("rtile-lazy-reference"))
      << text;
  dropZeros();
  rewriteFirst();
  for (auto [loop, step] : llvm::zip_equal(match.loops, match.steps))
    rewriteLoop(loop, step);
  rewriteSum(match.loops.back());
  eraseDead(*entry);
}

struct LazyReference : ringlet::impl::RTileLazyReferenceBase<LazyReference> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      if (func.getScheduled())
        return;
      std::string why;
      if (std::optional<LazyLoops> match = matchLazyLoops(func, why))
        return Rewriter(*match).run();
      remark::missed(func.getLoc(), remark::RemarkOpts::name("LazyReference")
                                        .category("rtile-lazy-reference"))
          << why;
    });
  }
};

} // namespace
