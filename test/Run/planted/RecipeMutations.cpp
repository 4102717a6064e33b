//===- RecipeMutations.cpp - Mistakes of recipes ----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/planted/Edit.h"
#include "test/Run/planted/Mutations.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace ringlet;
using namespace ringlet::planted;
using differential::Data;

namespace {

bool isInLoop(Operation *op) {
  return op->getParentOfType<scf::ForOp>() != nullptr;
}

/// Calls `edit` for the kernels with a recipe.
template <typename Edit>
bool editKernels(ModuleOp module, Edit edit) {
  return editEach<rtile::FuncOp>(module, [&](rtile::FuncOp func) {
    return func.getRecipe() && edit(func);
  });
}

/// Calls `edit` for the operations of a kind in kernels with a recipe.
template <typename OpT, typename Edit>
bool editInKernels(ModuleOp module, Edit edit) {
  return editEach<OpT>(module, [&](OpT op) {
    auto func = op->template getParentOfType<rtile::FuncOp>();
    return func && func.getRecipe() && edit(op);
  });
}

/// The first step sees every key.
bool firstTileWithoutMask(ModuleOp module) {
  return editInKernels<arith::SelectOp>(module, [](arith::SelectOp select) {
    if (isInLoop(select) ||
        !select.getCondition().getDefiningOp<rtile::VisibleOp>())
      return false;
    select.getResult().replaceAllUsesWith(select.getTrueValue());
    return true;
  });
}

/// Loops begin with the step that stands before them.
bool firstTileTwice(ModuleOp module) {
  return editInKernels<scf::ForOp>(module, [](scf::ForOp loop) {
    auto rows = loop.getBody()->front().getResult(0);
    auto add = rows.getDefiningOp<arith::AddIOp>();
    if (!add)
      return false;
    rows.replaceAllUsesWith(loop.getInductionVar());
    return true;
  });
}

/// An empty run has no step, not one.
bool emptyRunWithoutStep(ModuleOp module) {
  return editInKernels<arith::MaxSIOp>(module, [](arith::MaxSIOp steps) {
    OpBuilder builder(steps);
    Value two = makeIndex(builder, steps.getLoc(), 2);
    steps.getRhsMutable().assign(two);
    return true;
  });
}

/// The masked steps before the last one are taken for whole ones.
bool tailWithoutMask(ModuleOp module) {
  return editInKernels<arith::SelectOp>(module, [](arith::SelectOp select) {
    if (!isInLoop(select) ||
        !select.getCondition().getDefiningOp<rtile::VisibleOp>())
      return false;
    select.getResult().replaceAllUsesWith(select.getTrueValue());
    return true;
  });
}

/// A rebase that leaves one of its tiles as it was.
template <unsigned tile>
bool forgetTile(ModuleOp module) {
  return editInKernels<rtile::RebaseOp>(module, [](rtile::RebaseOp rebase) {
    if (rebase.getTiles().size() <= tile)
      return false;
    rebase.getResults()[tile].replaceAllUsesWith(rebase.getTiles()[tile]);
    return true;
  });
}

bool forgetReference(ModuleOp module) {
  return editInKernels<rtile::RebaseOp>(module, [](rtile::RebaseOp rebase) {
    rebase.getNewReference().replaceAllUsesWith(rebase.getReference());
    return true;
  });
}

/// Rows whose exponents have lost too many digits are kept.
bool forgetLimit(ModuleOp module) {
  return editInKernels<rtile::RebaseOp>(module, [](rtile::RebaseOp rebase) {
    return rebase.removeLimitAttr() != nullptr;
  });
}

/// Weights of the score less the negated reference.
bool addReference(ModuleOp module) {
  return editInKernels<arith::NegFOp>(module, [](arith::NegFOp negated) {
    negated.getResult().replaceAllUsesWith(negated.getOperand());
    return true;
  });
}

/// Rows that left the range of f32 are not computed again.
bool dropMarks(ModuleOp module) {
  return editInKernels<arith::SelectOp>(module, [](arith::SelectOp select) {
    if (!llvm::any_of(select->getUsers(), [](Operation *user) {
          return isa<rtile::StoreOp>(user);
        }))
      return false;
    select.getResult().replaceAllUsesWith(select.getTrueValue());
    return true;
  });
}

/// Sums of weights that f16 cannot hold are taken for right.
bool keepSmallSums(ModuleOp module) {
  return editInKernels<arith::SelectOp>(module, [](arith::SelectOp select) {
    auto sum = select.getTrueValue().getDefiningOp<rtile::ReduceOp>();
    if (!sum || sum.getKind() != rtile::ReduceKind::sum)
      return false;
    select.getResult().replaceAllUsesWith(sum);
    return true;
  });
}

/// The delayed product takes the values of its own step.
bool delayedDotReadsAhead(ModuleOp module) {
  return editInKernels<rtile::LoadOp>(module, [](rtile::LoadOp load) {
    auto argument = dyn_cast<BlockArgument>(load.getOffsets()[0]);
    auto loop = argument
                    ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                    : scf::ForOp();
    if (!loop || argument == loop.getInductionVar())
      return false;
    Value yielded = loop.getTiedLoopYieldedValue(argument)->get();
    load.getOffsetsMutable()[0].set(yielded);
    return true;
  });
}

/// The product of the last step is left out.
bool dropLastDot(ModuleOp module) {
  return editInKernels<rtile::DotOp>(module, [](rtile::DotOp dot) {
    if (isInLoop(dot) || !dot.getInit())
      return false;
    dot.getResult().replaceAllUsesWith(dot.getInit());
    return true;
  });
}

/// The first product of the delayed kind counts twice.
bool firstDotTwice(ModuleOp module) {
  return editKernels(module, [](rtile::FuncOp func) {
    auto loops = func.getBody().front().getOps<scf::ForOp>();
    if (loops.empty())
      return false;
    scf::ForOp loop = *loops.begin();
    for (OpOperand &init : loop.getInitArgsMutable())
      if (auto number = getSplat(init.get()); number && *number == 0) {
        OpBuilder builder(loop);
        init.set(makeSplat(builder, init.get(), 1));
        return true;
      }
    return false;
  });
}

/// Both halves are the left one.
bool leftHalfTwice(ModuleOp module) {
  return editInKernels<rtile::SliceOp>(module, [](rtile::SliceOp slice) {
    if (slice.getBegin() == 0)
      return false;
    slice.setBegin(0);
    return true;
  });
}

/// Sums lose the right half.
bool rightSumMissing(ModuleOp module) {
  return editInKernels<arith::AddFOp>(module, [](arith::AddFOp sum) {
    auto left = sum.getLhs().getDefiningOp<arith::AddFOp>();
    if (!left || !sum.getRhs().getDefiningOp<rtile::FoldOp>())
      return false;
    sum.getResult().replaceAllUsesWith(left);
    return true;
  });
}

/// What is called `name` becomes operand number `number` of it.
template <typename OpTy>
bool become(ModuleOp module, StringRef name, unsigned number) {
  return editInKernels<OpTy>(module, [&](OpTy op) {
    auto location = dyn_cast<NameLoc>(op.getLoc());
    if (!location || location.getName() != name)
      return false;
    op.getResult().replaceAllUsesWith(op->getOperand(number));
    return true;
  });
}

bool dropBefore(ModuleOp module) {
  return become<arith::SelectOp>(module, "alpha", 2);
}
/// In a kernel that goes on from what others left, which is lost then.
bool joinLostRows(ModuleOp module) {
  return editInKernels<arith::AndIOp>(module, [](arith::AndIOp both) {
    auto isCalled = [](Operation *op, StringRef name) {
      auto location = dyn_cast<NameLoc>(op->getLoc());
      return location && location.getName() == name;
    };
    bool goesOn = both->getParentOfType<rtile::FuncOp>()
                      .walk([&](arith::SelectOp op) {
                        return isCalled(op, "alpha") ? WalkResult::interrupt()
                                                     : WalkResult::advance();
                      })
                      .wasInterrupted();
    if (!goesOn || !isCalled(both, "counts"))
      return false;
    both.getResult().replaceAllUsesWith(both.getRhs());
    return true;
  });
}
bool keepOwnSum(ModuleOp module) {
  return become<arith::MulFOp>(module, "l_scaled", 0);
}

/// The branches of a loop that put its sums aside.
bool editFlushes(ModuleOp module, function_ref<bool(scf::IfOp)> edit) {
  return editInKernels<scf::IfOp>(module, [&](scf::IfOp branch) {
    auto location = dyn_cast<NameLoc>(branch.getLoc());
    return location && location.getName() == "flushed" && edit(branch);
  });
}

/// Sums go on after they were put aside.
bool keepFlushed(ModuleOp module) {
  return editFlushes(module, [](scf::IfOp branch) {
    branch.getResult(1).replaceAllUsesWith(branch.elseYield().getOperand(1));
    return true;
  });
}

/// Each flush is taken for the first one.
bool overwriteTotals(ModuleOp module) {
  return editFlushes(module, [](scf::IfOp branch) {
    for (auto inner : branch.thenBlock()->getOps<scf::IfOp>()) {
      OpBuilder builder(inner);
      inner.getConditionMutable().assign(arith::ConstantOp::create(
          builder, inner.getLoc(), builder.getBoolAttr(false)));
      return true;
    }
    return false;
  });
}

/// What was put aside is measured by the reference of the end.
bool forgetFactor(ModuleOp module) {
  return become<math::Exp2Op>(module, "factor", 0);
}

/// What was put aside last is not added.
bool leaveTotals(ModuleOp module) {
  return editInKernels<arith::AddFOp>(module, [](arith::AddFOp sum) {
    auto location = dyn_cast<NameLoc>(sum.getLoc());
    if (!location || location.getName() != "acc_of_all")
      return false;
    sum.getResult().replaceAllUsesWith(sum.getRhs());
    return true;
  });
}

} // namespace

std::vector<Mutation> planted::recipeMutations() {
  constexpr const char *joined = "fa_fwd_lazy/ringlet-to-rtile";
  constexpr const char *peel = "fa_fwd_lazy/rtile-peel-first-tile";
  constexpr const char *lazy = "fa_fwd_lazy/rtile-lazy-reference";
  constexpr const char *delay = "fa_fwd_overlap/rtile-pipeline-loops";
  constexpr const char *lazyDelay = "fa_fwd_lazy/rtile-pipeline-loops";
  constexpr const char *flush = "fa_fwd_lazy/rtile-flush-sums";
  constexpr const char *halves = "fa_fwd_lazy/rtile-split-columns";
  return {
      {"the first tile has no mask", peel, firstTileWithoutMask},
      {"the first tile counts twice", peel, firstTileTwice},
      {"a run of one step has two", peel, emptyRunWithoutStep},
      {"masked steps behind the first lose their mask", peel, tailWithoutMask},
      {"a rebase forgets the accumulator", lazy, forgetTile<0>, Data::Rising},
      {"a rebase forgets the weights", lazy, forgetTile<1>, Data::Rising},
      {"a rebase forgets the reference", lazy, forgetReference, Data::Rising},
      {"a rebase keeps rows whose digits are lost", lazy, forgetLimit,
       Data::Surge},
      {"the reference is added to scores", lazy, addReference},
      {"rows out of range are not marked", lazy, dropMarks, Data::Leap},
      {"sums of weights below f16 are kept", lazy, keepSmallSums, Data::Low},
      {"the delayed product reads a step ahead", delay, delayedDotReadsAhead},
      {"the last product is left out", delay, dropLastDot},
      {"the accumulator does not begin with 0", lazyDelay, firstDotTwice},
      {"the state of others does not join", joined, dropBefore},
      {"rows that could not be computed join", lazy, joinLostRows, Data::Leap},
      {"a state joins with its own maximum", joined, keepOwnSum},
      {"sums go on after they were put aside", flush, keepFlushed},
      {"each time sums are put aside is the first", flush, overwriteTotals},
      {"the reference of what was put aside is lost", flush, forgetFactor,
       Data::Rising},
      {"what was put aside is not added", flush, leaveTotals},
      {"both halves of the columns are the left one", halves, leftHalfTwice},
      {"sums lose the right half", halves, rightSumMissing},
  };
}
