//===- ScheduleMutations.cpp - Mistakes of roles and channels ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Not all of them break the order of the roles: rtile-verify-schedule does not
// run here, so that the interpreter has to notice by itself.
//
//===----------------------------------------------------------------------===//

#include "test/Run/planted/Edit.h"
#include "test/Run/planted/Mutations.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::planted;

namespace {

bool isInLoop(Operation *op) {
  return op->getParentOfType<scf::ForOp>() != nullptr;
}

/// Calls `edit` for one operation after the other until it has changed one.
template <typename OpT, typename Edit>
bool editOne(ModuleOp module, Edit edit) {
  return module
      ->walk([&](OpT op) {
        return edit(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

/// A slot is given back as soon as it is there.
bool releaseAtOnce(ModuleOp module) {
  return editOne<rtile::ReleaseOp>(module, [](rtile::ReleaseOp release) {
    Operation *await = release.getSlot().getDefiningOp();
    if (!isInLoop(release) || !await)
      return false;
    release->moveAfter(await);
    return true;
  });
}

/// A slot is given back while its product runs.
bool releaseBeforeFinish(ModuleOp module) {
  return editOne<rtile::ReleaseOp>(module, [](rtile::ReleaseOp release) {
    auto finish = dyn_cast_or_null<rtile::FinishDotOp>(release->getPrevNode());
    if (!finish)
      return false;
    release->moveBefore(finish);
    return true;
  });
}

/// A slot of a loop is not given back.
bool dropRelease(ModuleOp module) {
  return editOne<rtile::ReleaseOp>(module, [](rtile::ReleaseOp release) {
    if (!isInLoop(release))
      return false;
    release.erase();
    return true;
  });
}

bool releaseTwice(ModuleOp module) {
  return editOne<rtile::ReleaseOp>(module, [](rtile::ReleaseOp release) {
    OpBuilder builder(release);
    builder.clone(*release);
    return true;
  });
}

/// The last tile of a role's loop is never copied.
bool dropLastCopy(ModuleOp module) {
  rtile::CopyOp last;
  module.walk([&](rtile::CopyOp copy) { last = copy; });
  auto acquire =
      last ? last.getSlot().getDefiningOp<rtile::AcquireOp>() : nullptr;
  if (!acquire)
    return false;
  last.erase();
  acquire.erase();
  return true;
}

/// One role sees one step less than the other.
bool loadOneStepLess(ModuleOp module) {
  return editOne<scf::ForOp>(module, [](scf::ForOp loop) {
    auto copies = loop.getBody()->getOps<rtile::CopyOp>();
    if (copies.empty())
      return false;
    OpBuilder builder(loop);
    Value up = arith::AddIOp::create(builder, loop.getLoc(),
                                     loop.getLowerBound(), loop.getStep());
    loop.getLowerBoundMutable().assign(up);
    return true;
  });
}

/// Two tiles of a step change their slots.
bool exchangeSlots(ModuleOp module) {
  return editOne<scf::ForOp>(module, [](scf::ForOp loop) {
    SmallVector<rtile::CopyOp> copies(loop.getBody()->getOps<rtile::CopyOp>());
    if (copies.size() != 2 ||
        copies[0].getSlot().getType() != copies[1].getSlot().getType())
      return false;
    Value first = copies[0].getSlot(), second = copies[1].getSlot();
    copies[0]->moveAfter(copies[1]);
    copies[0].getSlotMutable().assign(second);
    copies[1].getSlotMutable().assign(first);
    return true;
  });
}

/// Keys and values of a step are taken for each other.
bool exchangeReads(ModuleOp module) {
  return editOne<rtile::AwaitOp>(module, [](rtile::AwaitOp await) {
    if (await.getSlots().size() != 2 ||
        await.getSlots()[0].getType() != await.getSlots()[1].getType())
      return false;
    auto readOf = [&](unsigned i) {
      for (Operation *user : await.getSlots()[i].getUsers())
        if (auto read = dyn_cast<rtile::ReadOp>(user))
          return read;
      return rtile::ReadOp();
    };
    rtile::ReadOp first = readOf(0), second = readOf(1);
    if (!first || !second)
      return false;
    first.getSlotMutable().assign(await.getSlots()[1]);
    second.getSlotMutable().assign(await.getSlots()[0]);
    return true;
  });
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The copies of a loop read the row after theirs.
bool copyNextRow(ModuleOp module) {
  return editOne<rtile::CopyOp>(module, [](rtile::CopyOp copy) {
    if (!isInLoop(copy))
      return false;
    OpBuilder builder(copy);
    Value one = makeIndex(builder, copy.getLoc(), 1);
    OpOperand &row = copy.getOffsetsMutable()[0];
    row.set(arith::AddIOp::create(builder, copy.getLoc(), row.get(), one));
    return true;
  });
}

/// All copies of a loop read the rows of its first one.
bool copyFirstRow(ModuleOp module) {
  return editOne<rtile::CopyOp>(module, [](rtile::CopyOp copy) {
    auto loop = copy->getParentOfType<scf::ForOp>();
    if (!loop || copy.getOffsets()[0].getParentBlock() != loop.getBody())
      return false;
    OpBuilder builder(loop);
    copy.getOffsetsMutable()[0].set(makeIndex(builder, copy.getLoc(), 0));
    return true;
  });
}

/// Keys are copied from the view of the values.
bool copyOtherView(ModuleOp module) {
  return editEach<rtile::FuncOp>(module, [](rtile::FuncOp func) {
    SmallVector<rtile::CopyOp> copies;
    func.walk([&](rtile::CopyOp copy) {
      if (isInLoop(copy))
        copies.push_back(copy);
    });
    if (copies.size() < 2 ||
        copies[0].getView().getType() != copies[1].getView().getType() ||
        copies[0].getView() == copies[1].getView())
      return false;
    copies[0].getViewMutable().assign(copies[1].getView());
    return true;
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The second product of a step is waited for before the first one.
bool finishInOtherOrder(ModuleOp module) {
  return editOne<scf::ForOp>(module, [](scf::ForOp loop) {
    SmallVector<rtile::FinishDotOp> finishes(
        loop.getBody()->getOps<rtile::FinishDotOp>());
    if (finishes.size() != 2)
      return false;
    // What it waits for beside the product comes too late for this place.
    finishes[1].getAfterMutable().clear();
    finishes[1]->moveBefore(finishes[0]);
    return true;
  });
}

/// A product is forgotten: its sums stay as they were.
bool forgetProduct(ModuleOp module) {
  return editOne<rtile::FinishDotOp>(module, [](rtile::FinishDotOp finish) {
    auto start = finish.getPending().getDefiningOp<rtile::StartDotOp>();
    if (!start || !start.getInit() || !isInLoop(finish))
      return false;
    finish.getResult().replaceAllUsesWith(start.getInit());
    finish.erase();
    return true;
  });
}

/// What a product adds to is read while it runs.
bool readSumsEarly(ModuleOp module) {
  return editOne<rtile::FinishDotOp>(module, [](rtile::FinishDotOp finish) {
    auto start = finish.getPending().getDefiningOp<rtile::StartDotOp>();
    if (!start || !start.getInit())
      return false;
    OpBuilder builder(finish);
    Value early = arith::AddFOp::create(builder, finish.getLoc(),
                                        start.getInit(), start.getInit());
    finish.getAfterMutable().append(early);
    return true;
  });
}

/// A product does not add to what it should.
bool dropInit(ModuleOp module) {
  return editOne<rtile::StartDotOp>(module, [](rtile::StartDotOp start) {
    if (!start.getInit() || !isInLoop(start))
      return false;
    start.getInitMutable().clear();
    return true;
  });
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

/// One role skips a point that the other one does not.
bool skipInOneRole(ModuleOp module) {
  return editOne<rtile::RoleOp>(module, [](rtile::RoleOp role) {
    auto branches = role.getBody().front().getOps<scf::IfOp>();
    if (branches.empty())
      return false;
    scf::IfOp branch = *branches.begin();
    OpBuilder builder(branch);
    Value never = arith::ConstantOp::create(builder, branch.getLoc(),
                                            builder.getBoolAttr(false));
    branch.getConditionMutable().assign(never);
    return true;
  });
}

/// All roles skip the points that have rows.
bool skipTheOthers(ModuleOp module) {
  return editEach<rtile::RoleOp>(module, [](rtile::RoleOp role) {
    auto branches = role.getBody().front().getOps<scf::IfOp>();
    if (branches.empty())
      return false;
    scf::IfOp branch = *branches.begin();
    OpBuilder builder(branch);
    Value always = arith::ConstantOp::create(builder, branch.getLoc(),
                                             builder.getBoolAttr(true));
    branch.getConditionMutable().assign(
        arith::XOrIOp::create(builder, branch.getLoc(), branch.getCondition(),
                              always)
            .getResult());
    return true;
  });
}

} // namespace

std::vector<Mutation> planted::scheduleMutations() {
  constexpr const char *roles = "scheduled fa_fwd_overlap/rtile-assign-roles";
  constexpr const char *lazy = "scheduled fa_fwd_lazy/rtile-encode-tiles";
  constexpr const char *overlap = "scheduled fa_fwd_overlap/rtile-encode-tiles";
  constexpr const char *skip = "scheduled fa_fwd_lazy/rtile-skip-empty-points";
  return {
      {"a slot is released when it comes", lazy, releaseAtOnce},
      {"a slot is released before the last read", roles, releaseAtOnce},
      {"a slot is released while a product reads it", overlap,
       releaseBeforeFinish},
      {"a slot is kept", lazy, dropRelease},
      {"a slot is released twice", overlap, releaseTwice},
      {"the last tile is not copied", lazy, dropLastCopy},
      {"one role has one step less", overlap, loadOneStepLess},
      {"two copies of a step go to each other's slots", lazy, exchangeSlots},
      {"two slots of a step are read for each other", lazy, exchangeReads},
      {"copies read one row further", overlap, copyNextRow},
      {"copies read the first rows again", lazy, copyFirstRow},
      {"keys are copied from the values", lazy, copyOtherView},
      {"products finish in another order", lazy, finishInOtherOrder},
      {"a product is never finished", overlap, forgetProduct},
      {"sums are read while a product adds to them", overlap, readSumsEarly},
      {"a product begins its sum anew", lazy, dropInit},
      {"one role skips a point", skip, skipInOneRole},
      {"roles skip the points that have rows", skip, skipTheOthers},
  };
}
