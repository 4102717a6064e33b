//===- SplitMutations.cpp - Wrong parts of keys -----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/planted/Edit.h"
#include "test/Run/planted/Mutations.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::planted;

namespace {

/// Calls `edit` for the loop over the states of each kernel that merges some.
bool editMerges(ModuleOp module, llvm::function_ref<bool(scf::ForOp)> edit) {
  return editEach<scf::ForOp>(module, [&](scf::ForOp loop) {
    auto kernel = loop->getParentOfType<rtile::FuncOp>();
    return kernel.getSymName().contains("_merge") && edit(loop);
  });
}

/// State -1, which is taken for state 0.
bool mergeFirstTwice(ModuleOp module) {
  return editMerges(module, [](scf::ForOp loop) {
    OpBuilder builder(loop);
    Value zero = loop.getLowerBound();
    loop.setLowerBound(makeIndex(builder, loop.getLoc(), -1));
    builder.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    Value kept = arith::MaxSIOp::create(builder, loop.getLoc(), number, zero);
    number.replaceAllUsesExcept(kept, kept.getDefiningOp());
    return true;
  });
}

bool leaveOutLast(ModuleOp module) {
  return editMerges(module, [](scf::ForOp loop) {
    OpBuilder builder(loop);
    Value one = makeIndex(builder, loop.getLoc(), 1);
    loop.setUpperBound(arith::SubIOp::create(builder, loop.getLoc(),
                                             loop.getUpperBound(), one));
    return true;
  });
}

/// What nobody wrote, where the sum says so.
bool mergeUnwritten(ModuleOp module) {
  return editMerges(module, [](scf::ForOp loop) {
    return editEach<arith::SelectOp>(
        loop->getParentOfType<ModuleOp>(), [&](arith::SelectOp select) {
          if (select->getParentOp() != loop)
            return false;
          select.getResult().replaceAllUsesWith(select.getTrueValue());
          return true;
        });
  });
}

bool forgetDecay(ModuleOp module) {
  return editMerges(module, [](scf::ForOp loop) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    // What was there before comes first.
    Value first = yield.getOperand(1);
    while (auto sum = first.getDefiningOp<arith::AddFOp>())
      first = sum.getLhs();
    auto decayed = first.getDefiningOp<arith::MulFOp>();
    if (!decayed)
      return false;
    decayed.getResult().replaceAllUsesWith(decayed.getLhs());
    return true;
  });
}

/// The steps of a part, and one of the next.
bool overlapParts(ModuleOp module) {
  return editEach<rtile::RunOp>(module, [](rtile::RunOp run) {
    if (run.getPart().empty())
      return false;
    OpBuilder builder(run->getContext());
    builder.setInsertionPointAfter(run);
    Value step =
        makeIndex(builder, run.getLoc(), run.getKey().getType().getShape()[0]);
    Value end =
        arith::AddIOp::create(builder, run.getLoc(), run.getEnd(), step);
    run.getEnd().replaceAllUsesExcept(end, end.getDefiningOp());
    return true;
  });
}

bool everyPartIsFirst(ModuleOp module) {
  return editEach<rtile::RunOp>(module, [](rtile::RunOp run) {
    if (run.getPart().empty())
      return false;
    OpBuilder builder(run);
    run.getPartMutable()[0].set(makeIndex(builder, run.getLoc(), 0));
    return true;
  });
}

/// Query rows as if a tile had one head.
bool forgetGroups(ModuleOp module) {
  return editEach<rtile::ViewOp>(module, [](rtile::ViewOp view) {
    bool isRead = llvm::any_of(view->getUsers(), [](Operation *user) {
      return isa<rtile::RunOp>(user);
    });
    if (!isRead || !view.getGroup())
      return false;
    view.removeGroupAttr();
    return true;
  });
}

} // namespace

std::vector<Mutation> planted::splitMutations() {
  constexpr const char *stage = "split/ringlet-to-rtile";
  return {
      {"a part of the keys is merged twice", stage, mergeFirstTwice},
      {"the last part of the keys is not merged", stage, leaveOutLast},
      {"what no part has written is merged", stage, mergeUnwritten},
      {"a sum is merged with another maximum", stage, forgetDecay},
      {"parts of the keys overlap", stage, overlapParts},
      {"each part of the keys is the first one", stage, everyPartIsFirst},
      {"rows of a group are those of one head", stage, forgetGroups},
  };
}
