//===- DelayDots.cpp - Products one step later -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step's product of weights and values needs its weights, which need its
// scores: nothing in a step can run beside it. One step later it can, beside
// the scores of that step and the arithmetic on them. So loops carry what the
// product is made of, and it stands at the head of the next step.
//
//===----------------------------------------------------------------------===//

#include "passes/TileOpt/Passes.h"
#include "passes/TileOpt/SoftmaxLoops.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEDELAYDOTS
#include "passes/TileOpt/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

/// A product whose right operand is a tile loaded for it alone.
struct LoadedDot {
  rtile::DotOp dot;
  rtile::LoadOp load;
};

struct Match {
  unsigned carried = 0;
  /// Before the loops, and the one in each of them.
  LoadedDot first;
  SmallVector<scf::ForOp> loops;
  SmallVector<LoadedDot> dots;
  /// The first product of each loop.
  SmallVector<rtile::DotOp> heads;
};

/// The product that makes `value` for `consumer` and nothing else.
std::optional<LoadedDot> matchDot(Value value, Operation *consumer) {
  auto dot = value.getDefiningOp<rtile::DotOp>();
  if (!dot || dot.getTransposed() || dot->getBlock() != consumer->getBlock() ||
      !dot->hasOneUse())
    return std::nullopt;
  auto load = dot.getRhs().getDefiningOp<rtile::LoadOp>();
  if (!load || !load->hasOneUse() || load->getBlock() != dot->getBlock() ||
      load.getOffsets().size() != 2)
    return std::nullopt;
  return LoadedDot{dot, load};
}

/// Whether the two differ in nothing but operands, init and row.
bool isLike(LoadedDot a, LoadedDot b) {
  return a.load.getView() == b.load.getView() &&
         a.load.getOffsets()[1] == b.load.getOffsets()[1] &&
         a.dot.getLhs().getType() == b.dot.getLhs().getType() &&
         a.dot.getType() == b.dot.getType();
}

std::optional<Match> matchKernel(rtile::FuncOp func, std::string &why) {
  Match match;
  match.loops = getKernelLoops(func);
  if (match.loops.empty()) {
    why = "expected loops over the keys, found none";
    return std::nullopt;
  }
  scf::ForOp front = match.loops.front();
  bool isFound = false;
  for (auto [i, value] : llvm::enumerate(front.getInitArgs()))
    if (auto first = matchDot(value, front)) {
      match.first = *first;
      match.carried = i;
      isFound = true;
      break;
    }
  if (!isFound) {
    why = "expected loops that go on from a product with a loaded tile, found "
          "none";
    return std::nullopt;
  }
  for (scf::ForOp loop : match.loops) {
    for (Operation &op : *loop.getBody())
      if (!isa<rtile::LoadOp>(op) && !isMemoryEffectFree(&op)) {
        why = "expected loops that write nothing, found " +
              op.getName().getStringRef().str();
        return std::nullopt;
      }
    Operation *yield = loop.getBody()->getTerminator();
    auto dot = matchDot(yield->getOperand(match.carried), yield);
    if (!dot || !isLike(*dot, match.first) || !dot->dot.getInit()) {
      why = "expected each step to end with the product before the loops, "
            "found another value";
      return std::nullopt;
    }
    rtile::DotOp head = *loop.getBody()->getOps<rtile::DotOp>().begin();
    BlockArgument argument = loop.getRegionIterArg(match.carried);
    bool isEarly = head == dot->dot;
    for (Operation *user : argument.getUsers())
      isEarly |=
          !head->isBeforeInBlock(loop.getBody()->findAncestorOpInBlock(*user));
    if (isEarly) {
      why = "expected another product ahead of all that needs the one to "
            "delay, found none";
      return std::nullopt;
    }
    match.dots.push_back(*dot);
    match.heads.push_back(head);
  }
  return match;
}

class Delayer {
public:
  explicit Delayer(const Match &match)
      : match(match), rewriter(match.loops.front()->getContext()) {}
  void run();

private:
  /// The delayed product: `init` + `lhs` times the tile at `row`.
  Value createDot(Value init, Value lhs, Value row) {
    LoadedDot like = match.first;
    Value tile =
        rtile::LoadOp::create(rewriter, like.load.getLoc(), like.load.getView(),
                              ValueRange{row, like.load.getOffsets()[1]});
    return rtile::DotOp::create(rewriter, like.dot.getLoc(), like.dot.getType(),
                                lhs, tile, init,
                                /*transposed=*/false);
  }
  scf::ForOp delayInLoop(size_t number, ValueRange inits);

  Match match;
  IRRewriter rewriter;
};

/// Gives the loop what the product of the step before is made of, in the place
/// of the product and in two more carried values.
scf::ForOp Delayer::delayInLoop(size_t number, ValueRange inits) {
  scf::ForOp loop = match.loops[number];
  LoadedDot old = match.dots[number];
  rewriter.setInsertionPoint(loop);
  auto newLoop = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, inits.drop_front(1), /*replaceInitOperandUsesInLoop=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
        Location loc = rewriter.getUnknownLoc();
        BlockArgument weights = arguments[0], row = arguments[1];
        weights.setLoc(named(loc, "weights_before"));
        row.setLoc(named(loc, "row_before"));
        return SmallVector<Value>{old.dot.getLhs(), old.load.getOffsets()[0]};
      }));
  newLoop.getInitArgsMutable()[match.carried].set(inits[0]);
  Value carried = newLoop.getRegionIterArg(match.carried);
  auto added = newLoop.getRegionIterArgs().take_back(2);

  rewriter.setInsertionPointAfter(match.heads[number]);
  Value delayed = createDot(carried, added[0], added[1]);
  rewriter.replaceUsesWithIf(carried, delayed, [&](OpOperand &use) {
    return use.getOwner() != delayed.getDefiningOp();
  });
  newLoop.getBody()->getTerminator()->setOperand(match.carried,
                                                 old.dot.getInit());
  rewriter.eraseOp(old.dot);
  rewriter.eraseOp(old.load);
  return newLoop;
}

void Delayer::run() {
  auto [dot, load] = match.first;
  scf::ForOp front = match.loops.front();
  rewriter.setInsertionPoint(front);
  Value init = dot.getInit();
  if (!init)
    init = createSplat(rewriter, "zero", 0.0,
                       cast<RankedTensorType>(dot.getType()));
  SmallVector<Value> inits{init, dot.getLhs(), load.getOffsets()[0]};
  remark::passed(
      dot.getLoc(),
      remark::RemarkOpts::name("DelayDots").category("rtile-delay-dots"))
      << "the product with a loaded tile runs one step late, beside the first "
         "product of the next step";
  scf::ForOp last;
  for (size_t i = 0; i < match.loops.size(); ++i) {
    last = delayInLoop(i, inits);
    auto added = last.getResults().take_back(2);
    inits = {last.getResult(match.carried), added[0], added[1]};
  }
  // The product of the last step.
  rewriter.setInsertionPointAfter(last);
  Value result = last.getResult(match.carried);
  Value late = createDot(result, inits[1], inits[2]);
  rewriter.replaceUsesWithIf(result, late, [&](OpOperand &use) {
    return use.getOwner() != late.getDefiningOp();
  });
  // The first loop now starts from the product's operands.
  rewriter.eraseOp(dot);
  rewriter.eraseOp(load);
}

struct DelayDots : ringlet::impl::RTileDelayDotsBase<DelayDots> {
  void runOnOperation() override {
    getOperation()->walk([&](rtile::FuncOp func) {
      if (func.getScheduled())
        return;
      std::string why;
      if (std::optional<Match> match = matchKernel(func, why))
        return Delayer(*match).run();
      remark::missed(
          func.getLoc(),
          remark::RemarkOpts::name("DelayDots").category("rtile-delay-dots"))
          << why;
    });
  }
};

} // namespace
