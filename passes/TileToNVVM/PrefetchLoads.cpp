//===- PrefetchLoads.cpp - Loads issued before they are needed -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Arch/GPU.h"
#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/Passes.h"
#include "passes/TileToNVVM/Product.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEPREFETCHLOADS
#include "passes/TileToNVVM/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

/// True for a load that asynchronous copies bring to its place while the block
/// computes: nobody but matrix instructions of the same block reads it. They
/// bring bytes as they are, which are widened when they have come.
bool isAsynchronous(rtile::LoadOp load) {
  if (rtile::getWidening(load.getView()) && !isOfBytes(load))
    return false;
  return !load->use_empty() && llvm::all_of(load->getUses(), [&](OpOperand &u) {
    return isLoadedImage(u) && getBlockProduct(u.getOwner()).isOfMatrices() &&
           u.getOwner()->getBlock() == load->getBlock();
  });
}

/// True if the kernel stores to nothing that `load` may read: then it does not
/// matter when the tile is loaded.
bool isConstant(rtile::LoadOp load) {
  auto getBuffer = [](TypedValue<rtile::ViewType> view) -> Value {
    auto made = view.getDefiningOp<rtile::ViewOp>();
    return made ? made.getBuffer() : Value();
  };
  Value buffer = getBuffer(load.getView());
  if (!buffer)
    return false;
  WalkResult found =
      load->getParentOfType<rtile::FuncOp>().walk([&](rtile::StoreOp store) {
        Value written = getBuffer(store.getView());
        return !written || written == buffer ? WalkResult::interrupt()
                                             : WalkResult::advance();
      });
  return !found.wasInterrupted();
}

/// The loads of a loop's body that walk along with it, in the order in which
/// their tiles are needed.
SmallVector<rtile::LoadOp> getWalkingLoads(scf::ForOp loop) {
  Value counter = loop.getInductionVar();
  auto isKnown = [&](Value offset) {
    return offset == counter || loop.isDefinedOutsideOfLoop(offset);
  };
  auto getFirstUser = [](rtile::LoadOp load) {
    Operation *first = *load->user_begin();
    for (Operation *user : load->getUsers())
      if (user->isBeforeInBlock(first))
        first = user;
    return first;
  };
  SmallVector<rtile::LoadOp> loads;
  for (auto load : loop.getBody()->getOps<rtile::LoadOp>())
    if (isAsynchronous(load) && loop.isDefinedOutsideOfLoop(load.getView()) &&
        load.getOffsets()[0] == counter &&
        llvm::all_of(load.getOffsets(), isKnown) && isConstant(load))
      loads.push_back(load);
  llvm::stable_sort(loads, [&](rtile::LoadOp a, rtile::LoadOp b) {
    return getFirstUser(a)->isBeforeInBlock(getFirstUser(b));
  });
  return loads;
}

/// Shared memory that a block needs if no two tiles of it have one place: an
/// upper bound of what rtile-gpu-assign-shared will find.
int64_t getBytesApart(Block &block) {
  int64_t own = 0, inner = 0;
  for (Operation &op : block) {
    auto load = dyn_cast<rtile::LoadOp>(op);
    if (load && llvm::any_of(load->getUses(), needsImage))
      own += getImage(load).bytes;
    for (OpOperand &operand : op.getOpOperands())
      if (needsImage(operand) && !isLoadedImage(operand))
        own += getImage(getTile(operand.get())).bytes;
    for (Region &region : op.getRegions())
      for (Block &body : region)
        inner = std::max(inner, getBytesApart(body));
  }
  return own + inner;
}

/// True if `next` begins with the row that comes after the last turn of
/// `loop`, however many turns that has.
bool goesOn(scf::ForOp loop, scf::ForOp next) {
  if (next.getLowerBound() != loop.getUpperBound() ||
      next.getStep() != loop.getStep())
    return false;
  auto run = loop.getLowerBound().getDefiningOp<rtile::RunOp>();
  if (!run || loop.getUpperBound().getDefiningOp() != run)
    return false;
  // The bounds of whole steps lie whole steps away from the beginning.
  auto begin = cast<OpResult>(loop.getLowerBound()).getResultNumber();
  auto end = cast<OpResult>(loop.getUpperBound()).getResultNumber();
  APInt step;
  return begin < end && loop.getUpperBound() != run.getEnd() &&
         matchPattern(loop.getStep(), m_ConstantInt(&step)) &&
         step.getSExtValue() == run.getKey().getType().getShape()[0];
}

/// A loop with a tile that it carries ahead, as result number `index`.
struct Rotated {
  scf::ForOp loop;
  int64_t index;
  Value view;
  SmallVector<Value> columns;
};

class Prefetch {
public:
  /// Returns false if there was nothing to do.
  bool run(scf::ForOp loop) {
    SmallVector<rtile::LoadOp> loads = getWalkingLoads(loop);
    if (loads.empty())
      return false;
    // All but the first are needed after a product that hides them.
    Operation *top = &loop.getBody()->front();
    for (rtile::LoadOp load : ArrayRef(loads).drop_front())
      if (load != top)
        load->moveBefore(top);
    rotate(loop, loads.front());
    return true;
  }

private:
  void rotate(scf::ForOp loop, rtile::LoadOp load) {
    IRRewriter rewriter(loop);
    auto loadAt = [&](Value row) -> Value {
      IRMapping mapping;
      mapping.map(loop.getInductionVar(), row);
      return rewriter.clone(*load, mapping)->getResult(0);
    };
    Value init = getCarried(loop, load);
    if (!init)
      init = loadAt(loop.getLowerBound());
    Operation *last = *load->user_begin();
    for (Operation *user : load->getUsers())
      if (last->isBeforeInBlock(user))
        last = user;
    // As soon as nobody needs the tile of this turn its place is free.
    rewriter.setInsertionPointAfter(last);
    Value row = arith::AddIOp::create(rewriter, load.getLoc(),
                                      loop.getInductionVar(), loop.getStep());
    Value next = loadAt(row);
    Rotated rotated{loop, loop.getNumRegionIterArgs(), load.getView(),
                    llvm::to_vector(load.getOffsets().drop_front())};
    rewriter.setInsertionPoint(loop);
    auto result = cast<scf::ForOp>(
        *cast<LoopLikeOpInterface>(*loop).replaceWithAdditionalYields(
            rewriter, {init}, false,
            [&](OpBuilder &, Location, ArrayRef<BlockArgument>) {
              return SmallVector<Value>{next};
            }));
    load.getResult().replaceAllUsesWith(result.getRegionIterArgs().back());
    load.erase();
    result->setAttr(aheadAttr, rewriter.getDenseI64ArrayAttr({rotated.index}));
    rotated.loop = result;
    done.push_back(rotated);
  }

  /// What the loop before left for this one, or null.
  Value getCarried(scf::ForOp loop, rtile::LoadOp load) {
    for (Rotated &before : llvm::reverse(done))
      if (before.loop->getBlock() == loop->getBlock() &&
          before.view == load.getView() && goesOn(before.loop, loop) &&
          llvm::equal(before.columns, load.getOffsets().drop_front()))
        return before.loop.getResult(before.index);
    return nullptr;
  }

  SmallVector<Rotated> done;
};

struct PrefetchLoads : ringlet::impl::RTilePrefetchLoadsBase<PrefetchLoads> {
  using Base::Base;

  void runOnOperation() override {
    const arch::GPUArch *row = lookupArch(getOperation(), arch);
    if (!row)
      return signalPassFailure();
    if (!row->hasCpAsync)
      return;
    getOperation()->walk([&](rtile::FuncOp func) {
      // Roles load ahead by channels.
      if (!func.getScheduled())
        rotateAll(func, *row);
    });
  }

  void rotateAll(rtile::FuncOp func, const arch::GPUArch &row) {
    SmallVector<scf::ForOp> loops;
    func.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      if (!getWalkingLoads(loop).empty())
        loops.push_back(loop);
    });
    if (loops.empty())
      return;
    auto options = remark::RemarkOpts::name("PrefetchLoads")
                       .category("rtile-gpu-prefetch-loads")
                       .function(func.getSymName());
    SmallVector<rtile::LoadOp> staged;
    for (scf::ForOp loop : loops)
      for (rtile::LoadOp load : getWalkingLoads(loop))
        if (isOfBytes(load) && !load->hasAttr(narrowAttr))
          staged.push_back(load);
    for (rtile::LoadOp load : staged)
      load->setAttr(stagedAttr, UnitAttr::get(func.getContext()));
    int64_t bytes = getBytesApart(func.getBody().front());
    if (bytes > row.sharedBytes) {
      for (rtile::LoadOp load : staged)
        load->removeAttr(stagedAttr);
      remark::missed(func.getLoc(), options)
          << llvm::formatv(
                 "{0}: tiles apart from each other need {1} of {2} bytes of "
                 "shared memory on {3}: each is loaded when it is needed",
                 func.getSymName(), bytes, row.sharedBytes, row.name)
                 .str();
      return;
    }
    Prefetch prefetch;
    for (scf::ForOp loop : loops)
      prefetch.run(loop);
    remark::passed(func.getLoc(), options)
        << llvm::formatv("{0}: in {1} loops the first operand is loaded a turn "
                         "ahead, the others at the beginning of a turn",
                         func.getSymName(), loops.size())
               .str();
  }
};

} // namespace
